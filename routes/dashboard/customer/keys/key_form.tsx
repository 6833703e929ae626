/** The form of a key: its fields, and what a posted one says as the acts on keys take it. */
import { recordOf } from "../../../../core/lib/base/record_of.ts";
import type { Catalog } from "../../../../core/catalog/catalog.ts";
import { microVndPerVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { parseTypedCount, parseTypedVnd } from "../../../../core/billing/money/read_amount.ts";
import { maxNameChars } from "../../../../core/lib/base/names.ts";
import { vietnamDay, vietnamDayStartMs } from "../../../../core/lib/time/vietnam_time.ts";
import type { ApiKeyOptions } from "../../../../kv/people/api_keys/api_keys.ts";
import {
  limitTable,
  periodKind,
  type PeriodLimitName,
  periodLimitNames,
  type PeriodLimits,
  rateLimitsOf,
} from "../../../../core/limits/limit_table.ts";
import type { Team } from "../../../../kv/people/organisations/teams.ts";
import type { PostedForm } from "../../page/form_data.ts";
import type { Locale } from "../../text/i18n.ts";
import { parseDay, shiftDay } from "../../../usage_api/range.ts";
import {
  type KeyLimitName,
  keyLimitNames,
  limitMember,
  maxAddressRanges,
  maxLimitOf,
} from "../../../acts/keys.ts";
import type { KeyTexts } from "./texts.ts";
import { SelectField, TextField } from "../../components/mod.ts";
import type { LimitInUse } from "../../page/rate_view.ts";
import { formatCount } from "../../text/format.ts";
import { LimitMatrix, rateTexts } from "../rate_limits/limit_table.tsx";

/** The rate limits that can bind a key. */
const keyRateNames = rateLimitsOf("key");

type KeyLimitTexts = Readonly<Record<KeyLimitName, string>>;

/** The fields as text, to show the form again: each limit that can bind a key is one by its name. */
export interface KeyFormValues extends KeyLimitTexts {
  readonly name: string;
  /** The id of its team; empty: none. */
  readonly team: string;
  readonly expiry: string;
  readonly ips: string;
  readonly models: readonly string[];
  /** The calls that the key may read; empty: decided by its limits. */
  readonly reading: "" | KeyReading;
}

/** The calls that a key may read: those of the whole account, or its own only. */
export type KeyReading = "account" | "own";

/** The errors of a form, by field. */
export type KeyFormErrors = Partial<Record<keyof KeyFormValues, string>>;

/** The form of a new key. */
export const emptyKeyForm: KeyFormValues = {
  name: "",
  team: "",
  expiry: "",
  ...recordOf(keyLimitNames, () => ""),
  ips: "",
  models: [],
  reading: "",
};

function typedPeriodLimit(record: PeriodLimits, name: PeriodLimitName, locale: Locale): string {
  const limit = record[limitTable[name].stored];
  if (limit === undefined) return "";
  return formatCount(periodKind(name).meter === "money" ? limit / microVndPerVnd : limit, locale);
}

function typedRate(limit: number | undefined, locale: Locale): string {
  return limit === undefined ? "" : formatCount(limit, locale);
}

/** Returns the last moment of a day in Vietnam (UTC+7). */
function endOfDayMs(day: string): number {
  return vietnamDayStartMs(shiftDay(day, 1));
}

function readingOf(text: string): KeyFormValues["reading"] {
  return text === "account" || text === "own" ? text : "";
}

/** Fills the form with the settings of a key. A team that was deleted is none. */
export function keyFormOf(
  record: ApiKeyOptions,
  { teams, locale }: { readonly teams: readonly Team[]; readonly locale: Locale },
): KeyFormValues {
  return {
    name: record.name,
    team: teams.find(({ id }) => id === record.teamId)?.id ?? "",
    expiry: record.expiresAtMs === undefined ? "" : vietnamDay(record.expiresAtMs - 1),
    ...recordOf(periodLimitNames, (limit) => typedPeriodLimit(record, limit, locale)),
    ...recordOf(keyRateNames, (limit) => typedRate(record.rateLimits?.[limit], locale)),
    ips: record.allowedIps?.join("\n") ?? "",
    models: record.allowedModels ?? [],
    reading: record.readsOnlyOwnCalls === true ? "own" : "account",
  };
}

/** Models of the key that are no longer in the catalogue: they still limit it, and may return. */
function formerModels(models: readonly string[], catalog: Catalog): string[] {
  return models.filter((id) => catalog.find(id)?.id !== id);
}

/** Reads what was typed; a form without a field for teams leaves the team as it is. */
export function readKeyForm(form: PostedForm, shown: KeyFormValues): KeyFormValues {
  return {
    name: form.text("name"),
    team: form.all("team")[0] ?? shown.team,
    expiry: form.text("expiry"),
    ...recordOf(keyLimitNames, (limit) => form.text(limit)),
    ips: form.text("ips"),
    models: form.all("models"),
    reading: readingOf(form.text("reading")),
  };
}

function rangesOf(ips: string): string[] {
  return ips.split(/[\s,;]+/).filter((text) => text !== "");
}

/** Reads a limit; what cannot be read is sent as it is, and refused. */
function sentLimit(name: KeyLimitName, text: string): number | string {
  if (limitTable[name].meter !== "money") return parseTypedCount(text, maxLimitOf(name)) ?? text;
  const amountMicroVnd = parseTypedVnd(text);
  return amountMicroVnd === undefined ? text : Number(amountMicroVnd / microVndPerVnd);
}

function sentExpiry(text: string): string | null {
  const day = parseDay(text);
  if (day === undefined) return text === "" ? null : text;
  return new Date(endOfDayMs(day)).toISOString();
}

/**
 * Says what a form asks for: the fields that differ from those that were shown. An unchanged form changes nothing, also
 * where it shows less than there is, such as the day of a moment.
 */
export function sentKeyForm(
  values: KeyFormValues,
  shown: KeyFormValues,
): Readonly<Record<string, unknown>> {
  const { name, team, expiry, ips, models, reading } = values;
  const changed = (field: keyof KeyFormValues) => values[field] !== shown[field];
  const listed = (some: readonly string[]) => some.length === 0 ? null : some;
  const typed = keyLimitNames.filter((limit) => values[limit] !== "");
  return {
    ...(changed("name") && { name }),
    ...(changed("team") && { teamId: team === "" ? null : team }),
    ...(changed("expiry") && { expiresAt: sentExpiry(expiry) }),
    ...(keyLimitNames.some(changed) && {
      limits: Object.fromEntries(
        typed.map((limit) => [limitMember(limit), sentLimit(limit, values[limit])]),
      ),
    }),
    ...(changed("ips") && { allowedIps: listed(rangesOf(ips)) }),
    ...(models.toSorted().join() !== shown.models.toSorted().join() &&
      { allowedModels: listed(models) }),
    ...(reading !== "" && changed("reading") && { readsOnlyOwnCalls: reading === "own" }),
  };
}

/** Says what is wrong with a form, by the members of the input that are. */
export function keyFormErrors(
  values: KeyFormValues,
  wrong: readonly string[],
  t: KeyTexts,
): KeyFormErrors {
  const ranges = rangesOf(values.ips);
  const range = wrong.find((member) => member.startsWith("allowedIps."))?.split(".")[1];
  const ipWrong = range === undefined
    ? t.ipMany(maxAddressRanges)
    : t.ipWrong((ranges[Number(range)] ?? "").slice(0, 60));
  const has = (name: string) => wrong.some((member) => member.split(".")[0] === name);
  const wrongLimits = keyLimitNames.filter((name) => wrong.includes(`limits.${limitMember(name)}`));
  return {
    ...Object.fromEntries(wrongLimits.map((name) => [
      name,
      limitTable[name].meter === "money" ? t.amountWrong : t.rateWrong,
    ])),
    ...(has("name") && { name: values.name === "" ? t.nameMissing : t.nameWrong(maxNameChars) }),
    ...(has("teamId") && { team: t.teamWrong }),
    ...(has("expiresAt") && { expiry: t.expiryWrong }),
    ...(has("allowedIps") && { ips: ipWrong }),
    ...(has("allowedModels") && { models: t.modelsGone }),
  };
}

// The form fields of a key, new or existing.

interface KeyFieldsProps {
  readonly values: KeyFormValues;
  readonly errors: KeyFormErrors;
  readonly catalog: Catalog;
  /** The models to which the key is limited now. */
  readonly models: readonly string[];
  /** Use of the limits of the key. */
  readonly limits: readonly LimitInUse[];
  /** The teams to choose from; none: the form has no field for one. */
  readonly teams: readonly Team[];
  readonly texts: KeyTexts;
  readonly today: string;
  readonly locale: Locale;
  /** Whether the limits are shown at once, also where none is set. */
  readonly isOpen?: boolean;
}

/** The fields of a key in its forms. */
export function KeyFields(
  { values, errors, catalog, models, limits, teams, texts: t, today, locale, isOpen = false }:
    KeyFieldsProps,
) {
  const limitsOpen = [...Object.entries(values), ...Object.entries(errors)].some(
    ([name, value]) =>
      name !== "name" && name !== "team" && value.length > 0 && value !== "account",
  );
  return (
    <>
      <TextField
        name="name"
        label={t.name}
        value={values.name}
        required
        maxlength={maxNameChars}
        autocomplete="off"
        hint={t.nameHint}
        error={errors.name}
      />
      {teams.length > 0 && (
        <SelectField
          name="team"
          label={t.team}
          value={values.team}
          error={errors.team}
          options={[
            { value: "", label: t.noTeam },
            ...teams.map(({ id, name }) => ({ value: id, label: name })),
          ]}
        />
      )}
      <details open={isOpen || limitsOpen}>
        <summary>{t.limits}</summary>
        <p class="muted">{t.limitsHint} {rateTexts[locale].keyHint}</p>
        <div class="key-limits">
          <div>
            <LimitMatrix
              names={keyLimitNames}
              values={values}
              errors={errors}
              limits={limits}
              locale={locale}
            />
            <p class="muted">{rateTexts[locale].matrixHint}</p>
            <TextField
              name="ips"
              label={t.ips}
              value={values.ips}
              rows={2}
              maxlength={3000}
              hint={t.ipsHint}
              error={errors.ips}
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
          </div>
          <div>
            <TextField
              name="expiry"
              type="date"
              label={t.expiry}
              value={values.expiry}
              min={today}
              hint={t.expiryHint}
              error={errors.expiry}
            />
            <ModelChoice
              offered={catalog.models.map(({ id }) => id)}
              former={formerModels(models, catalog)}
              ticked={values.models}
              error={errors.models}
              texts={t}
            />
          </div>
        </div>
      </details>
    </>
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
