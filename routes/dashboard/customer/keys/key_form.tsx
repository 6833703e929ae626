/** Validates the form of a key and converts it to the stored form. */
import { recordOf } from "../../../../core/lib/base/record_of.ts";
import type { Catalog } from "../../../../core/catalog/catalog.ts";
import { isAddressRange } from "../../../../core/people/api_keys/api_key.ts";
import { fromVnd, microVndPerVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { parseTypedVnd } from "../../../../core/billing/money/read_amount.ts";
import { vietnamDay, vietnamDayStartMs } from "../../../../core/lib/time/vietnam_time.ts";
import type { ApiKeyOptions } from "../../../../kv/people/api_keys/api_keys.ts";
import {
  type LimitName,
  limitTable,
  periodKind,
  type PeriodLimitName,
  periodLimitNames,
  type PeriodLimits,
  periodLimitsFrom,
  type PeriodMeter,
  rateLimitsOf,
} from "../../../../core/limits/limit_table.ts";
import {
  limitsAnything,
  type RateLimits,
  rateLimitsFrom,
} from "../../../../core/limits/rate_limits.ts";
import type { Team } from "../../../../kv/people/organisations/teams.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import type { PostedForm } from "../../page/form_data.ts";
import { type Locale, parseTypedLimit } from "../../text/i18n.ts";
import { parseDay, shiftDay } from "../../../usage_api/range.ts";
import type { KeyTexts } from "./texts.ts";
import { SelectField, TextField } from "../../components/mod.ts";
import { rateTexts } from "../rate_limits/limit_table.tsx";

/** The rate limits that can bind a key. */
const keyRateNames = rateLimitsOf("key");

/** The limits that the form has, in its order. */
const keyLimitNames = [...periodLimitNames, ...keyRateNames];

type KeyLimitTexts = Readonly<Record<(typeof keyLimitNames)[number], string>>;

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

export type KeyFormResult =
  | { readonly ok: true; readonly options: ApiKeyOptions }
  | { readonly ok: false; readonly values: KeyFormValues; readonly errors: KeyFormErrors };

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

const maxNameChars = 60;
const maxRanges = 50;
/** Above any wallet, and small enough for a safe integer. */
const maxLimitMicroVnd = fromVnd(1_000_000_000_000);

/** How amounts of a day or month are typed. */
const periodFields: Record<PeriodMeter, {
  /** What is stored for one. */
  readonly perUnit: bigint;
  readonly parse: (text: string) => bigint | undefined;
  readonly wrong: (t: KeyTexts) => string;
}> = {
  money: { perUnit: microVndPerVnd, parse: parseTypedLimitVnd, wrong: (t) => t.amountWrong },
  images: { perUnit: 1n, parse: parseTypedImages, wrong: (t) => t.rateWrong },
};

function parseTypedImages(text: string): bigint | undefined {
  const limit = parseTypedLimit(text);
  return limit === undefined ? undefined : BigInt(limit);
}

function typedPeriodLimit(record: PeriodLimits, name: PeriodLimitName): string {
  const limit = record[limitTable[name].stored];
  return limit === undefined
    ? ""
    : (limit / periodFields[periodKind(name).meter].perUnit).toString();
}

/** Returns the last moment of a day in Vietnam (UTC+7). */
function endOfDayMs(day: string): number {
  return vietnamDayStartMs(shiftDay(day, 1));
}

function readingOf(text: string): KeyFormValues["reading"] {
  return text === "account" || text === "own" ? text : "";
}

/** Fills the form with the limits of a key. */
export function keyFormOf(record: ApiKeyOptions): KeyFormValues {
  return {
    name: record.name,
    team: record.teamId ?? "",
    expiry: record.expiresAtMs === undefined ? "" : vietnamDay(record.expiresAtMs - 1),
    ...recordOf(periodLimitNames, (limit) => typedPeriodLimit(record, limit)),
    ...recordOf(keyRateNames, (limit) => record.rateLimits?.[limit]?.toString() ?? ""),
    ips: record.allowedIps?.join("\n") ?? "",
    models: record.allowedModels ?? [],
    reading: record.readsOnlyOwnCalls === true ? "own" : "account",
  };
}

/** Whether two keys have the same form. */
export function isSameKeyForm(one: ApiKeyOptions, other: ApiKeyOptions): boolean {
  return JSON.stringify(keyFormOf(one)) === JSON.stringify(keyFormOf(other));
}

/** Parses a limit of money. */
function parseTypedLimitVnd(text: string): bigint | undefined {
  const amountMicroVnd = parseTypedVnd(text) ?? 0n;
  return amountMicroVnd > 0n && amountMicroVnd < maxLimitMicroVnd ? amountMicroVnd : undefined;
}

/** Models of the key that are no longer in the catalogue: they still limit it, and may return. */
function formerModels(models: readonly string[], catalog: Catalog): string[] {
  return models.filter((id) => catalog.find(id)?.id !== id);
}

/** What is typed into the fields of limits. */
interface TypedLimits {
  readonly rates: RateLimits;
  readonly periods: PeriodLimits;
  readonly errors: KeyFormErrors;
}

/** Reads the limits of a form; an empty field sets none. */
function typedLimitsOf(values: KeyLimitTexts, t: KeyTexts): TypedLimits {
  const errors: { -readonly [Name in LimitName]?: string } = {};
  const rates = rateLimitsFrom(keyRateNames, (name) => {
    const limit = parseTypedLimit(values[name]);
    if (values[name] !== "" && limit === undefined) errors[name] = t.rateWrong;
    return limit;
  });
  const periods = periodLimitsFrom((name) => {
    const { parse, wrong } = periodFields[periodKind(name).meter];
    const limit = parse(values[name]);
    if (values[name] !== "" && limit === undefined) errors[name] = wrong(t);
    return limit;
  });
  return { rates, periods, errors };
}

/** What the validation of a form depends on. */
export interface KeyFormContext {
  readonly texts: KeyTexts;
  readonly catalog: Catalog;
  readonly nowMs: number;
  /** The models of the key now; absent for a new one. */
  readonly models?: readonly string[] | undefined;
  /** The teams of the organisation. */
  readonly teams: readonly Team[];
}

/**
 * Validates the form and returns all problems at once.
 *
 * A key that is limited to models which all left the catalogue stays limited to them. No tick means every model, so
 * ticks of unknown models are an error and never a key without limits.
 */
export function parseKeyForm(form: PostedForm, context: KeyFormContext): KeyFormResult {
  const { texts: t, catalog, nowMs } = context;
  const known = new Set(context.models);
  const ticked = form.all("models");
  const values: KeyFormValues = {
    name: form.text("name"),
    team: form.text("team"),
    expiry: form.text("expiry"),
    ...recordOf(keyLimitNames, (limit) => form.text(limit)),
    ips: form.text("ips"),
    models: ticked.filter((id) => known.has(id) || catalog.find(id)?.id === id),
    reading: readingOf(form.text("reading")),
  };
  const ranges = values.ips.split(/[\s,;]+/).filter((text) => text !== "");
  const badRange = ranges.find((text) => !isAddressRange(text));
  const day = parseDay(values.expiry);
  const expiryOk = values.expiry === "" || (day !== undefined && endOfDayMs(day) > nowMs);
  const typed = typedLimitsOf(values, t);
  const errors: KeyFormErrors = {
    ...typed.errors,
    ...(values.name === "" && { name: t.nameMissing }),
    ...([...values.name].length > maxNameChars && { name: t.nameLong }),
    ...(!expiryOk && { expiry: t.expiryWrong }),
    ...(ranges.length > maxRanges && { ips: t.ipMany }),
    ...(badRange !== undefined && { ips: t.ipWrong(badRange.slice(0, 60)) }),
    ...(ticked.length > 0 && values.models.length === 0 && { models: t.modelsGone }),
  };
  if (Object.keys(errors).length > 0) return { ok: false, values, errors };
  const limits: Omit<ApiKeyOptions, "name"> = {
    ...(day !== undefined && { expiresAtMs: endOfDayMs(day) }),
    ...(values.models.length > 0 && { allowedModels: values.models }),
    ...(ranges.length > 0 && { allowedIps: ranges }),
    ...typed.periods,
    ...(limitsAnything(typed.rates) && { rateLimits: typed.rates }),
  };
  const isLimited = Object.keys(limits).length > 0;
  const readsOnlyOwnCalls = values.reading === "own" || (values.reading === "" && isLimited);
  const teamId = context.teams.find(({ id }) => id === values.team)?.id;
  const options: ApiKeyOptions = {
    name: values.name,
    ...defined({ teamId }),
    ...limits,
    ...(readsOnlyOwnCalls && { readsOnlyOwnCalls }),
  };
  return { ok: true, options };
}

// The form fields of a key, new or existing.

interface KeyFieldsProps {
  readonly values: KeyFormValues;
  readonly errors: KeyFormErrors;
  readonly catalog: Catalog;
  /** The models to which the key is limited now. */
  readonly models: readonly string[];
  /** The teams of the organisation; none: the form has no field for one. */
  readonly teams: readonly Team[];
  readonly texts: KeyTexts;
  readonly today: string;
  readonly locale: Locale;
}

/** The fields of a key in its forms. */
export function KeyFields(
  { values, errors, catalog, models, teams, texts: t, today, locale }: KeyFieldsProps,
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
        maxlength={60}
        autocomplete="off"
        hint={t.nameHint}
        error={errors.name}
      />
      {teams.length > 0 && (
        <SelectField
          name="team"
          label={t.team}
          value={values.team}
          options={[
            { value: "", label: t.noTeam },
            ...teams.map(({ id, name }) => ({ value: id, label: name })),
          ]}
        />
      )}
      <details open={limitsOpen}>
        <summary>{t.limits}</summary>
        <p class="muted">{t.limitsHint}</p>
        <ExpiryAndPeriods
          values={values}
          errors={errors}
          texts={t}
          today={today}
          locale={locale}
        />
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

function ExpiryAndPeriods(
  { values, errors, texts: t, today, locale }: Pick<
    KeyFieldsProps,
    "values" | "errors" | "texts" | "today" | "locale"
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
      {periodLimitNames.map((name) => (
        <TextField
          name={name}
          label={rateTexts[locale].names[name]}
          value={values[name]}
          inputmode="numeric"
          autocomplete="off"
          error={errors[name]}
        />
      ))}
    </div>
  );
}

function RateFields(
  { values, errors, locale }: Pick<KeyFieldsProps, "values" | "errors" | "locale">,
) {
  const t = rateTexts[locale];
  return (
    <div class="fields">
      {keyRateNames.map((name, at) => (
        <TextField
          name={name}
          label={t.names[name]}
          value={values[name]}
          inputmode="numeric"
          autocomplete="off"
          maxlength={16}
          hint={at === 0 ? t.keyHint : undefined}
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
