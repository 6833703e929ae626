/** Shared parts of the operator's lists. */
import { Empty, SubmitButton, TextField } from "../../../dashboard/components/mod.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { frameTexts } from "./texts.ts";

/** The message in place of an empty list. */
export function NothingHere({ locale }: { locale: Locale }) {
  const t = frameTexts[locale];
  return (
    <Empty title={t.nothing}>
      <p>{t.nothingText}</p>
    </Empty>
  );
}

/** The search form of a list. */
export function SearchForm({ query, hint, locale }: {
  query: string;
  hint: string;
  locale: Locale;
}) {
  const t = frameTexts[locale];
  return (
    <form method="get" class="inline-form">
      <TextField name="q" label={t.search} type="search" hint={hint} value={query} />
      <SubmitButton tone="plain">{t.show}</SubmitButton>
    </form>
  );
}
