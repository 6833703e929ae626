/**
 * The form of the settings of calls, on the pages of an organisation, a team and a key.
 *
 * - Folder `routes/dashboard/customer/call_settings/`: how calls are served, as an organisation, its teams and its keys
 *   set it.
 * - In: forms of a signed-in customer.
 * - Out: HTML, and what the acts of `routes/acts/` take.
 * - Never: decides what a call may do.
 */
import { microVndPerVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { parseTypedVnd } from "../../../../core/billing/money/read_amount.ts";
import type { CallSettings } from "../../../../core/calls/request/call_settings.ts";
import { routeSorts } from "../../../../core/calls/request/route_preferences.ts";
import { recordOf } from "../../../../core/lib/base/record_of.ts";
import { settingPriceNames } from "../../../acts/call_settings.ts";
import type { CommonRefusal, RefusalRow, Refused } from "../../../acts/operation.ts";
import { CheckboxField, SelectField, TextField } from "../../components/mod.ts";
import type { PostedForm } from "../../page/form_data.ts";
import { formatCount } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import { callSettingsTexts } from "./texts.ts";

const boundLists = ["allowedModels", "only", "ignore", "regions", "mcpServers"] as const;
const defaultLists = ["models", "order"] as const;
const lists = [...boundLists, ...defaultLists] as const;
const flags = ["dataCollection", "zdr", "noImages", "noFiles"] as const;
const choices = ["allowFallbacks", "sort", "costInUsage", "autoCache"] as const;
const fields = [...lists, ...settingPriceNames, ...flags, ...choices, "rules"] as const;

/** The most characters of a list of names as it is typed. */
const maxListChars = 5_000;

/** The most characters of rules as they are typed. */
const maxRulesChars = 6_000;

/** Field of the form: a member of the settings, or one of their prices. */
type Field = typeof fields[number];

/** The fields as text, to show the form again. */
export type CallSettingsValues = Readonly<Record<Field, string>>;

/** Names a field apart from those of other forms on the page. */
function fieldName(field: Field): string {
  return `calls-${field}`;
}

function yesOrNo(value: boolean | undefined): string {
  return value === undefined ? "" : value ? "yes" : "no";
}

/** Fills the form with settings. */
export function callSettingsValues(
  calls: CallSettings = {},
  locale: Locale,
): CallSettingsValues {
  return {
    ...recordOf(lists, (name) => calls[name]?.join(", ") ?? ""),
    ...(calls.mcpServers?.length === 0 && { mcpServers: noServers }),
    ...recordOf(settingPriceNames, (name) => {
      const amount = calls.maxPrice?.[name];
      return amount === undefined ? "" : formatCount(amount / microVndPerVnd, locale);
    }),
    dataCollection: calls.forbidsTraining === true ? "yes" : "",
    zdr: calls.forbidsRetention === true ? "yes" : "",
    noImages: calls.noImages === true ? "yes" : "",
    noFiles: calls.noFiles === true ? "yes" : "",
    allowFallbacks: yesOrNo(calls.allowFallbacks),
    sort: calls.sort ?? "",
    costInUsage: yesOrNo(calls.tellsCost),
    autoCache: yesOrNo(calls.autoCache),
    rules: calls.rules?.map(({ name, action, pattern }) => `${action} ${name} ${pattern}`)
      .join("\n") ?? "",
  };
}

/** Reads what was typed. */
export function readCallSettings(form: PostedForm): CallSettingsValues {
  return recordOf(fields, (field) => form.text(fieldName(field)));
}

/** Reads a price; what cannot be read is sent as it is, and refused. */
function sentPrice(text: string): number | string {
  const amountMicroVnd = parseTypedVnd(text);
  return amountMicroVnd === undefined ? text : Number(amountMicroVnd / microVndPerVnd);
}

/** Reads rules, one a line: `mask card \d{16}`. A pattern may have spaces. */
function sentRules(text: string): object[] {
  return text.split(/\r?\n/).filter((line) => line.trim() !== "").map((line) => {
    const [, action = "", name = "", pattern = ""] = /^\s*(\S+)\s+(\S+) (.*)$/.exec(line) ?? [];
    return { action, name, pattern };
  });
}

/** The word for an empty list of MCP servers, which forbids all. */
const noServers = "none";

function sentNames(text: string): readonly string[] {
  if (text.trim().toLowerCase() === noServers) return [];
  return text.split(/[\s,;]+/).filter((name) => name !== "");
}

function sentChoice(text: string): boolean | string {
  return text === "yes" || (text === "no" ? false : text);
}

/** Returns what a form asks for, as the acts take it; `null`: no settings. */
export function sentCallSettings(values: CallSettingsValues): object | null {
  const typed = (names: readonly Field[]) => names.filter((name) => values[name] !== "");
  const some = (names: readonly Field[], of: (text: string) => unknown) =>
    typed(names).map((name) => [name, of(values[name])] as const);
  const prices = some(settingPriceNames, sentPrice);
  const sent = [
    ...some(lists, sentNames),
    ...some(["allowFallbacks", "costInUsage", "autoCache"], sentChoice),
    ...some(["sort"], (text) => text),
    ...some(["rules"], sentRules),
    ...some(["dataCollection"], () => "deny"),
    ...some(["zdr", "noImages", "noFiles"], () => true),
    ...(prices.length === 0 ? [] : [["maxPrice", Object.fromEntries(prices)] as const]),
  ];
  return sent.length === 0 ? null : Object.fromEntries(sent);
}

/** The errors of a form, by field. */
export type CallSettingsErrors = Partial<Record<Field, string>>;

function errorOf(field: Field, locale: Locale): string {
  const t = callSettingsTexts[locale];
  if (lists.some((name) => name === field)) return t.wrongNames;
  if (field === "rules") return t.wrongRules;
  return settingPriceNames.some((name) => name === field) ? t.wrongPrice : t.wrong;
}

/** Says what is wrong with a form; `undefined` if the refusal is about none of its fields. */
export function callSettingsErrors<Why extends string>(
  { refusals }: { readonly refusals: Readonly<Record<Why, RefusalRow>> },
  outcome: Refused<Why> | CommonRefusal,
  locale: Locale,
): CallSettingsErrors | undefined {
  const members = "why" in outcome
    ? [refusals[outcome.why].field ?? ""]
    : outcome.common === "input"
    ? outcome.issues.map(({ field }) => field)
    : [];
  const wrong = fields.filter((field) =>
    members.some((member) => {
      const [calls, name, price] = member.split(".");
      return calls === "calls" && (name === field || (name === "maxPrice" && price === field));
    })
  );
  if (wrong.length === 0) return undefined;
  return Object.fromEntries(wrong.map((field) => [field, errorOf(field, locale)]));
}

interface FieldsProps {
  readonly values: CallSettingsValues;
  readonly errors: CallSettingsErrors;
  readonly locale: Locale;
  /** The owner of the settings. A key has its models in another one; a preset has the route alone. */
  readonly of?: "all" | "key" | "preset";
}

/** The fields of the form. */
export function CallSettingsFields({ values, errors, locale, of = "all" }: FieldsProps) {
  const t = callSettingsTexts[locale];
  const isPreset = of === "preset";
  const about = (field: Field) => ({
    name: fieldName(field),
    label: t.labels[field],
    error: errors[field],
  });
  const choice = (field: Field, options: Readonly<Record<string, string>>) => (
    <SelectField
      {...about(field)}
      value={values[field]}
      options={Object.entries({ "": t.unset, ...options }).map(([value, label]) => ({
        value,
        label,
      }))}
    />
  );
  const list = (field: Field) => (
    <TextField
      {...about(field)}
      value={values[field]}
      hint={field === "mcpServers" ? t.hosts : t.names}
      maxlength={maxListChars}
      autocomplete="off"
    />
  );
  const box = (field: Field) => <CheckboxField {...about(field)} checked={values[field] !== ""} />;
  return (
    <div class="columns">
      <fieldset>
        <legend>{isPreset ? t.presetBounds : t.bounds}</legend>
        {boundLists.filter((field) =>
          of === "all" || (field !== "allowedModels" && (!isPreset || field !== "mcpServers"))
        ).map(list)}
        {flags.filter((field) => !isPreset || field === "dataCollection" || field === "zdr").map(
          box,
        )}
        {!isPreset && (
          <TextField
            {...about("rules")}
            value={values.rules}
            rows={3}
            hint={t.rulesHint}
            maxlength={maxRulesChars}
            autocomplete="off"
          />
        )}
        {settingPriceNames.map((field) => (
          <TextField
            {...about(field)}
            value={values[field]}
            inputmode="decimal"
            maxlength={20}
            autocomplete="off"
          />
        ))}
      </fieldset>
      <fieldset>
        <legend>{t.defaults}</legend>
        {defaultLists.map(list)}
        {choice("allowFallbacks", { yes: t.yes, no: t.no })}
        {choice("sort", recordOf(routeSorts, (sort) => t.sorts[sort]))}
        {!isPreset && choice("costInUsage", { yes: t.yes, no: t.no })}
        {!isPreset && choice("autoCache", { yes: t.yes, no: t.no })}
      </fieldset>
    </div>
  );
}
