/** Sources of a provider's key: the field of the form that offers the environment and each stored key. */
import { type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import type { StoredKey } from "../../../../kv/services/vault/stored_keys.ts";
import { SelectField } from "../../../dashboard/components/mod.ts";
import { defineTexts, type Locale } from "../../../dashboard/text/i18n.ts";
import type { PostedForm } from "../../../dashboard/page/form_data.ts";

const texts = defineTexts({
  both: {
    source: ["Key from", "Khoá lấy từ"],
    environment: ["Environment variables", "Biến môi trường"],
    kept: ["Several, as in the JSON", "Nhiều nơi, như trong JSON"],
  },
  en: {
    hint: "A stored key takes the place of the variables. They are added under Provider keys.",
    stored: (name: string, fingerprint: string) => `Stored key ${name} (${fingerprint})`,
    missing: (name: string) => `Stored key ${name} (missing)`,
  },
  vi: {
    hint: "Khoá đã lưu thay cho các biến. Khoá được thêm ở mục Khoá nhà cung cấp.",
    stored: (name, fingerprint) => `Khoá đã lưu ${name} (${fingerprint})`,
    missing: (name) => `Khoá đã lưu ${name} (không còn)`,
  },
});

/** The name of the field. */
const field = "keySource";

/** Its values beside the names of stored keys, which are lower-case. */
const fromEnvironment = "ENVIRONMENT";
const asWritten = "AS_WRITTEN";

/** A stored key that the form offers. */
export type OfferedKey = Pick<StoredKey, "name" | "fingerprint">;

/** The one stored key of an entry; `undefined`: it has none, or more than the field can say. */
function onlyStored({ apiKeyVault, apiKeyEnv }: JsonObject): string | undefined {
  const stored = [apiKeyVault ?? []].flat();
  const [only] = stored;
  return stored.length === 1 && apiKeyEnv === undefined && typeof only === "string"
    ? only
    : undefined;
}

/** The field. */
export function KeySourceField({ entry, storedKeys, error, locale }: {
  readonly entry: JsonObject;
  readonly storedKeys: readonly OfferedKey[];
  readonly error: string | undefined;
  readonly locale: Locale;
}) {
  const t = texts[locale];
  const named = onlyStored(entry);
  const isMissing = named !== undefined && storedKeys.every(({ name }) => name !== named);
  const isMixed = named === undefined && entry["apiKeyVault"] !== undefined;
  return (
    <SelectField
      name={field}
      label={t.source}
      hint={t.hint}
      error={error}
      value={named ?? (isMixed ? asWritten : fromEnvironment)}
      options={[
        { value: fromEnvironment, label: t.environment },
        ...storedKeys.map(({ name, fingerprint }) => ({
          value: name,
          label: t.stored(name, fingerprint),
        })),
        ...(isMissing ? [{ value: named, label: t.missing(named) }] : []),
        ...(isMixed ? [{ value: asWritten, label: t.kept }] : []),
      ]}
    />
  );
}

/**
 * Puts what the field says into an entry.
 *
 * @param variables what the form has as `apiKeyEnv`
 */
export function withKeySource(
  form: PostedForm,
  before: JsonObject,
  variables: Json | undefined,
): JsonObject {
  const { apiKeyEnv: _, apiKeyVault, ...entry } = before;
  const source = form.text(field);
  const written = variables === undefined ? {} : { apiKeyEnv: variables };
  // A form without the field, and one that leaves it, change nothing about stored keys.
  if (source === asWritten || source === "") {
    return { ...entry, ...written, ...(apiKeyVault !== undefined && { apiKeyVault }) };
  }
  return source === fromEnvironment ? { ...entry, ...written } : { ...entry, apiKeyVault: source };
}
