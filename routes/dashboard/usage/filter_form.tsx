/** The forms of the usage page: its filter, and the search for one call. */
import { errorTable } from "../../../core/errors.ts";
import type { ErrorFilter } from "../../usage_api/call_filter.ts";
import { SelectField, TextField } from "../components/mod.ts";
import type { Locale } from "../i18n.ts";
import type { UsageFilter } from "./filter.ts";
import { usageTexts } from "./texts.ts";

/** Single statuses that one may look for: those that a caller can do something about. */
const statuses = ["400", "401", "402", "403", "404", "413", "429"];

const errorCodes = Object.keys(errorTable).sort();

/** The filter; what is chosen applies at once. */
export function FilterForm({ filter, keyNames, models, locale }: {
  filter: UsageFilter;
  keyNames: ReadonlyMap<string, string>;
  models: readonly string[];
  locale: Locale;
}) {
  const t = usageTexts[locale];
  const all = { value: "", label: t.all };
  return (
    <form method="get" action="/usage" class="card inline-form" data-autosubmit>
      <TextField name="from" type="date" label={t.from} value={filter.range.fromDay} />
      <TextField name="to" type="date" label={t.to} value={filter.range.toDay} />
      <SelectField
        name="key"
        label={t.key}
        value={filter.keyId ?? ""}
        options={[all, ...[...keyNames].map(([value, label]) => ({ value, label }))]}
      />
      <SelectField
        name="model"
        label={t.model}
        value={filter.model ?? ""}
        options={[all, ...models.map((model) => ({ value: model, label: model }))]}
      />
      <ErrorFields filter={filter} locale={locale} />
      <TextField
        name="until"
        type="datetime-local"
        step="1"
        label={t.until}
        value={filter.until}
      />
      <button type="submit" class="outline secondary">{t.apply}</button>
    </form>
  );
}

/** The fields that choose how calls ended. */
export function ErrorFields({ filter, locale }: { filter: ErrorFilter; locale: Locale }) {
  const t = usageTexts[locale];
  const all = { value: "", label: t.all };
  return (
    <>
      <SelectField
        name="status"
        label={t.callStatus}
        value={filter.status ?? ""}
        options={[
          all,
          { value: "ok", label: t.statusOk },
          { value: "error", label: t.statusError },
          { value: "refused", label: t.refused },
          ...statuses.map((status) => ({ value: status, label: status })),
          { value: "5xx", label: "5xx" },
        ]}
      />
      <SelectField
        name="error"
        label={t.error}
        value={filter.error ?? ""}
        options={[all, ...errorCodes.map((code) => ({ value: code, label: code }))]}
      />
    </>
  );
}

/** The search for a call by its id. */
export function FindCall({ action, locale }: { action: string; locale: Locale }) {
  const t = usageTexts[locale];
  return (
    <form method="get" action={action} class="inline-form">
      <TextField
        name="id"
        type="search"
        label={t.findCall}
        placeholder="req_…"
        maxlength={80}
        required
      />
      <button type="submit" class="outline secondary">{t.find}</button>
    </form>
  );
}
