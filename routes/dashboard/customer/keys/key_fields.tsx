/** The form fields of a key, new or existing. */
import type { Catalog } from "../../../../core/catalog/catalog.ts";
import { SelectField, TextField } from "../../components/mod.ts";
import { formerModels, type KeyFormErrors, type KeyFormValues } from "./key_form.tsx";
import type { Locale } from "../../text/i18n.ts";
import { rateTexts } from "../rate_limits/texts.ts";
import type { KeyTexts } from "./texts.ts";

interface KeyFieldsProps {
  readonly values: KeyFormValues;
  readonly errors: KeyFormErrors;
  readonly catalog: Catalog;
  /** The models to which the key is limited now. */
  readonly models: readonly string[];
  readonly texts: KeyTexts;
  readonly today: string;
  readonly locale: Locale;
}

/** The fields of a key in its forms. */
export function KeyFields(
  { values, errors, catalog, models, texts: t, today, locale }: KeyFieldsProps,
) {
  const limitsOpen = [...Object.entries(values), ...Object.entries(errors)].some(
    ([name, value]) => name !== "name" && value.length > 0 && value !== "account",
  );
  return (
    <>
      <TextField
        name="name"
        label={t.name}
        value={values.name}
        required
        maxlength={60}
        autocomplete="off"
        hint={t.nameHint}
        error={errors.name}
      />
      <details open={limitsOpen}>
        <summary>{t.limits}</summary>
        <p class="muted">{t.limitsHint}</p>
        <ExpiryAndSpending values={values} errors={errors} texts={t} today={today} />
        <RateFields values={values} errors={errors} locale={locale} />
        <TextField
          name="ips"
          label={t.ips}
          value={values.ips}
          rows={3}
          maxlength={3000}
          hint={t.ipsHint}
          error={errors.ips}
        />
        <ModelChoice
          offered={catalog.models.map(({ id }) => id)}
          former={formerModels(models, catalog)}
          ticked={values.models}
          error={errors.models}
          texts={t}
        />
        <SelectField
          name="reading"
          label={t.reading}
          value={values.reading}
          hint={t.readingHint}
          options={[
            ...(values.reading === "" ? [{ value: "", label: t.readings.byLimits }] : []),
            { value: "account", label: t.readings.account },
            { value: "own", label: t.readings.own },
          ]}
        />
      </details>
    </>
  );
}

function ExpiryAndSpending(
  { values, errors, texts: t, today }: Pick<
    KeyFieldsProps,
    "values" | "errors" | "texts" | "today"
  >,
) {
  return (
    <div class="fields">
      <TextField
        name="expiry"
        type="date"
        label={t.expiry}
        value={values.expiry}
        min={today}
        hint={t.expiryHint}
        error={errors.expiry}
      />
      <TextField
        name="dailyLimit"
        label={t.dailyLimit}
        value={values.dailyLimit}
        inputmode="numeric"
        autocomplete="off"
        error={errors.dailyLimit}
      />
      <TextField
        name="monthlyLimit"
        label={t.monthlyLimit}
        value={values.monthlyLimit}
        inputmode="numeric"
        autocomplete="off"
        error={errors.monthlyLimit}
      />
    </div>
  );
}

function RateFields(
  { values, errors, locale }: Pick<KeyFieldsProps, "values" | "errors" | "locale">,
) {
  const t = rateTexts[locale];
  return (
    <div class="fields">
      {(["requestsPerMinute", "tokensPerMinute", "callsAtOnce"] as const).map((name) => (
        <TextField
          name={name}
          label={t.names[name]}
          value={values[name]}
          inputmode="numeric"
          autocomplete="off"
          maxlength={16}
          hint={name === "requestsPerMinute" ? t.keyHint : undefined}
          error={errors[name]}
        />
      ))}
    </div>
  );
}

interface ModelChoiceProps {
  readonly offered: readonly string[];
  readonly former: readonly string[];
  readonly ticked: readonly string[];
  readonly error: string | undefined;
  readonly texts: KeyTexts;
}

function ModelChoice({ offered, former, ticked, error, texts: t }: ModelChoiceProps) {
  const box = (id: string, note?: string) => (
    <label>
      <input type="checkbox" name="models" value={id} checked={ticked.includes(id)} />
      {id}
      {note !== undefined && " "}
      {note !== undefined && <span class="muted">({note})</span>}
    </label>
  );
  return (
    <fieldset aria-describedby={error === undefined ? undefined : "models-error"}>
      <legend>{t.models}</legend>
      <div class="choices">
        {former.map((id) => box(id, t.modelGone))}
        {offered.map((id) => box(id))}
      </div>
      <small>{t.modelsHint}</small>
      {error !== undefined && <small class="field-error" id="models-error">{error}</small>}
    </fieldset>
  );
}
