/** The fields of a key: for a new one and for the settings of one that exists. */
import type { Catalog } from "../../../core/catalog/catalog.ts";
import { TextField } from "../components/mod.ts";
import type { KeyFormErrors, KeyFormValues } from "./key_form.ts";
import type { KeyTexts } from "./texts.ts";

interface KeyFieldsProps {
  readonly values: KeyFormValues;
  readonly errors: KeyFormErrors;
  readonly catalog: Catalog;
  readonly texts: KeyTexts;
  readonly today: string;
}

export function KeyFields({ values, errors, catalog, texts: t, today }: KeyFieldsProps) {
  const limitsOpen = Object.entries(values).some(([name, value]) =>
    name !== "name" && value.length > 0
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
        <TextField
          name="ips"
          label={t.ips}
          value={values.ips}
          rows={3}
          maxlength={3000}
          hint={t.ipsHint}
          error={errors.ips}
        />
        <fieldset>
          <legend>{t.models}</legend>
          <div class="choices">
            {catalog.models.map((model) => (
              <label>
                <input
                  type="checkbox"
                  name="models"
                  value={model.id}
                  checked={values.models.includes(model.id)}
                />
                {model.id}
              </label>
            ))}
          </div>
          <small>{t.modelsHint}</small>
        </fieldset>
      </details>
    </>
  );
}
