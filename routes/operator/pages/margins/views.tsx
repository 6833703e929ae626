/** The choice of a period on the pages about costs. */
import { SubmitButton, TextField } from "../../../dashboard/components/mod.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { frameTexts } from "../base/texts.ts";
import { type Period, presets } from "./margin_rows.ts";
import { marginTexts } from "./texts.ts";

/** The choice of a period: presets as links, and a form for other days. */
export function PeriodChoice({ period, href, kept, locale }: {
  period: Period;
  /** The address with another period. */
  href: (query: Readonly<Record<string, string>>) => string;
  /** Other parts of the query. */
  kept: Readonly<Record<string, string | undefined>>;
  locale: Locale;
}) {
  const t = marginTexts[locale];
  const { range, preset } = period;
  return (
    <div class="toolbar">
      <nav class="chips" aria-label={t.period}>
        {presets.map((one) => (
          <a href={href({ period: one })} aria-current={one === preset ? "true" : undefined}>
            {t.presets[one]}
          </a>
        ))}
      </nav>
      <form method="get" class="inline-form">
        {Object.entries(kept).map(([name, value]) =>
          value === undefined ? null : <input key={name} type="hidden" name={name} value={value} />
        )}
        <TextField name="from" type="date" label={t.from} value={range.fromDay} />
        <TextField name="to" type="date" label={t.to} value={range.toDay} />
        <SubmitButton tone="plain">{frameTexts[locale].show}</SubmitButton>
      </form>
    </div>
  );
}
