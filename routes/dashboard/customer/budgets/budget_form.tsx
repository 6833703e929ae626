/** The form of a budget: its fields, and how what was typed becomes one. */
import { microVndPerVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { parseTypedVnd } from "../../../../core/billing/money/read_amount.ts";
import { parseTag, tagText } from "../../../../core/billing/usage/call_tags.ts";
import { maxNameChars } from "../../../../core/lib/base/names.ts";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import {
  type Budget,
  budgetEnds,
  type BudgetSubject,
  budgetWindows,
} from "../../../../core/limits/budgets.ts";
import { SelectField, TextField } from "../../components/mod.ts";
import type { Member } from "../../../../kv/people/organisations/members.ts";
import type { Team } from "../../../../kv/people/organisations/teams.ts";
import type { PostedForm } from "../../page/form_data.ts";
import type { Locale } from "../../text/i18n.ts";
import { budgetTexts } from "./budget_texts.ts";
import { subjectWords } from "./budget_views.tsx";

/** Values that are typed into the form. */
export interface BudgetValues {
  readonly name: string;
  /** `account`, `tag`, or a kind with an id: `key:…`, `model:…`, `member:…`, `team:…`. */
  readonly of: string;
  readonly tag: string;
  readonly window: string;
  readonly amount: string;
  readonly atLimit: string;
}

/** The form of a new budget. */
export const emptyBudget: BudgetValues = {
  name: "",
  of: "account",
  tag: "",
  window: "month",
  amount: "",
  atLimit: "refuse",
};

/** Problems of a form, by field. */
export type BudgetErrors = Partial<Record<keyof BudgetValues, string>>;

function valueOf(subject: BudgetSubject): string {
  switch (subject.kind) {
    case "account":
    case "tag":
      return subject.kind;
    case "key":
      return `key:${subject.keyId}`;
    case "model":
      return `model:${subject.model}`;
    case "member":
      return `member:${subject.memberId}`;
    case "team":
      return `team:${subject.teamId}`;
  }
}

function subjectOf({ of, tag }: BudgetValues): BudgetSubject | undefined {
  const at = of.indexOf(":");
  const [kind, id] = at < 0 ? [of, ""] : [of.slice(0, at), of.slice(at + 1)];
  switch (kind) {
    case "account":
      return { kind };
    case "tag": {
      const parsed = parseTag(tag);
      return parsed && { kind, tag: parsed };
    }
    case "key": {
      const keyId = parseId("apiKey", id);
      return keyId && { kind, keyId };
    }
    case "model":
      return { kind, model: id };
    case "member":
      return { kind, memberId: id };
    case "team":
      return { kind, teamId: id };
    default:
      return undefined;
  }
}

/** Fills the form with a budget. */
export function valuesOf(
  { name, subject, window, amountMicroVnd, atLimit }: Budget,
): BudgetValues {
  return {
    name,
    of: valueOf(subject),
    tag: subject.kind === "tag" ? tagText(subject.tag) : "",
    window,
    amount: (amountMicroVnd / microVndPerVnd).toString(),
    atLimit,
  };
}

/** Reads a posted form: what was typed, and what it says as the acts on budgets take it. */
export function readBudget(
  form: PostedForm,
): { readonly values: BudgetValues; readonly sent: Readonly<Record<string, unknown>> } {
  const values: BudgetValues = {
    name: form.text("name"),
    of: form.text("of"),
    tag: form.text("tag"),
    window: form.text("window"),
    amount: form.text("amount"),
    atLimit: form.text("atLimit"),
  };
  const amountMicroVnd = parseTypedVnd(values.amount);
  const subject = subjectOf(values);
  const sent = {
    name: values.name,
    subject: subject?.kind === "tag" ? { kind: "tag", ...subject.tag } : subject,
    window: values.window,
    amountVnd: amountMicroVnd === undefined ? null : Number(amountMicroVnd / microVndPerVnd),
    atLimit: values.atLimit,
  };
  return { values, sent };
}

/** Says what is wrong with a form, by the members of the input that are. */
export function budgetErrors(
  values: BudgetValues,
  wrong: ReadonlySet<string>,
  locale: Locale,
): BudgetErrors {
  const t = budgetTexts[locale];
  return {
    ...(wrong.has("name") && { name: t.nameWrong }),
    ...(wrong.has("amountVnd") && { amount: t.amountWrong }),
    ...(wrong.has("subject") &&
      (values.of === "tag" ? { tag: t.tagWrong } : { of: t.subjectWrong })),
  };
}

/** Choices for the subject of a budget. */
export interface BudgetChoices {
  readonly keyNames: ReadonlyMap<string, string>;
  readonly models: readonly string[];
  readonly teams: readonly Team[];
  /** Empty for an organisation of one. */
  readonly members: readonly Member[];
}

function subjectOptions(
  { keyNames, models, teams, members }: BudgetChoices,
  chosen: BudgetValues,
  locale: Locale,
) {
  const t = budgetTexts[locale];
  const options = [
    { value: "account", label: t.subjects.account },
    { value: "tag", label: t.aTag },
    ...[...keyNames].map(([id, name]) => ({
      value: `key:${id}`,
      label: `${t.subjects.key}: ${name}`,
    })),
    ...models.map((model) => ({ value: `model:${model}`, label: `${t.subjects.model}: ${model}` })),
    ...teams.map(({ id, name }) => ({ value: `team:${id}`, label: `${t.subjects.team}: ${name}` })),
    ...members.map(({ personId, email }) => ({
      value: `member:${personId}`,
      label: `${t.subjects.member}: ${email ?? personId}`,
    })),
  ];
  // A key or model that is gone, or a member or team, stays what the budget is of.
  const subject = options.some(({ value }) => value === chosen.of) ? undefined : subjectOf(chosen);
  return subject === undefined
    ? options
    : [{ value: chosen.of, label: subjectWords(subject, keyNames, locale) }, ...options];
}

/** The fields of a budget. */
export function BudgetFields({ values, errors, choices, locale }: {
  readonly values: BudgetValues;
  readonly errors: BudgetErrors;
  readonly choices: BudgetChoices;
  readonly locale: Locale;
}) {
  const t = budgetTexts[locale];
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
      <SelectField
        name="of"
        label={t.of}
        value={values.of}
        options={subjectOptions(choices, values, locale)}
        error={errors.of}
      />
      <TextField
        name="tag"
        label={t.tag}
        value={values.tag}
        maxlength={150}
        autocomplete="off"
        placeholder="team=search"
        hint={t.tagHint}
        error={errors.tag}
      />
      <TextField
        name="amount"
        label={t.amount}
        value={values.amount}
        required
        inputmode="numeric"
        autocomplete="off"
        error={errors.amount}
      />
      <SelectField
        name="window"
        label={t.window}
        value={values.window}
        options={budgetWindows.map((value) => ({ value, label: t.windows[value] }))}
      />
      <SelectField
        name="atLimit"
        label={t.atLimit}
        value={values.atLimit}
        options={budgetEnds.map((value) => ({ value, label: t.ends[value] }))}
      />
    </>
  );
}
