/**
 * `/budgets`: lists, makes, changes and deletes budgets, and says which tags calls must have.
 *
 * - Folder `routes/dashboard/customer/budgets/`: the pages of budgets, and the line about those that are nearly used up.
 * - In: forms of a signed-in customer, sums of what is spent.
 * - Out: HTML, changed rows in `kv/people/accounts/`.
 * - Never: moves money, or admits or refuses a call.
 */
import { type Context, Hono } from "hono";
import { may } from "../../../../core/people/organisations/acts.ts";
import {
  type Budget,
  budgetEnds,
  type BudgetSubject,
  budgetWindows,
  maxBudgets,
} from "../../../../core/limits/budgets.ts";
import { listBudgets } from "../../../../kv/people/accounts/budgets.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";
import {
  budgetChange,
  budgetCreation,
  budgetDeletion,
  requiredTagsChange,
} from "../../../acts/budgets.ts";
import type { CommonRefusal, Refused } from "../../../acts/operation.ts";
import {
  Card,
  Empty,
  fieldsOf,
  Icon,
  Notice,
  PostForm,
  SelectField,
  SubmitButton,
  TextField,
} from "../../components/mod.ts";
import { notFoundPage } from "../../frame/error_pages.tsx";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardDeps } from "../../page/deps.ts";
import { type PostedForm, readForm } from "../../page/form_data.ts";
import { mayVisit } from "../../page/page_acts.ts";
import type { PageDeclaration } from "../../page/page.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { listMembers, type Member } from "../../../../kv/people/organisations/members.ts";
import { listTeams, type Team } from "../../../../kv/people/organisations/teams.ts";
import { performForm, spentProblem, spentWords } from "../../visitor/acting.ts";
import { requireAccount } from "../../visitor/identify.ts";
import { budgetTexts } from "./budget_texts.ts";
import {
  BudgetTable,
  type ListedBudget,
  NearBudget,
  readBudgets,
  subjectWords,
} from "./budget_views.tsx";
import { microVndPerVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { parseTypedVnd } from "../../../../core/billing/money/read_amount.ts";
import { parseTag, tagText } from "../../../../core/billing/usage/call_tags.ts";
import { maxNameChars } from "../../../../core/lib/base/names.ts";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import type { Locale } from "../../text/i18n.ts";

type PageContext = Context<DashboardEnv>;

/** Subjects of budgets of the organisation, beside models. */
async function readSubjects(c: PageContext, { kv }: DashboardDeps) {
  const { account, role } = c.get("signedIn");
  const { hiddenKey } = budgetTexts[c.get("visitor").locale];
  const seesKeys = may(role, "view_keys");
  const [keys, teams, members] = await Promise.all([
    listApiKeys(kv, account.id),
    listTeams(kv, account.id),
    listMembers(kv, account),
  ]);
  const keyNames = new Map<string, string>(
    keys.map(({ id, name }) => [id, seesKeys ? name : hiddenKey]),
  );
  const names = new Map<string, string>([
    ...keyNames,
    ...teams.map(({ id, name }) => [id, name] as const),
    ...members.map(({ personId, email }) => [personId, email ?? personId] as const),
  ]);
  return { keyNames, names, teams, members: members.length > 1 ? members : [] };
}

interface ListState {
  /** Why nothing was changed. */
  readonly problem?: string;
  /** Text that was typed into the field of required tags, if it is wrong. */
  readonly wrongTags?: string;
}

async function listPage(
  c: PageContext,
  deps: DashboardDeps,
  { problem, wrongTags }: ListState = {},
): Promise<Response> {
  const { locale } = c.get("visitor");
  const t = budgetTexts[locale];
  const { account } = c.get("signedIn");
  const [budgets, { names }] = await Promise.all([
    readBudgets(deps, account.id),
    readSubjects(c, deps),
  ]);
  return await renderPage(
    c,
    {
      title: t.title,
      lead: t.lead,
      status: problem === undefined && wrongTags === undefined ? 200 : 422,
      ...(mayVisit(c.get("signedIn"), "/budgets/new") && {
        actions: (
          <a class="button" href="/budgets/new">
            <Icon name="plus" /> {t.make}
          </a>
        ),
      }),
    },
    <>
      {problem !== undefined && <Notice tone="danger">{problem}</Notice>}
      <NearBudget budgets={budgets.filter(({ isUsedUp }) => isUsedUp)} visitor={c.get("visitor")} />
      <Budgets budgets={budgets} names={names} c={c} />
      <RequiredTags c={c} wrongTags={wrongTags} />
    </>,
  );
}

function Budgets({ budgets, names, c }: {
  readonly budgets: readonly ListedBudget[];
  readonly names: ReadonlyMap<string, string>;
  readonly c: PageContext;
}) {
  const visitor = c.get("visitor");
  const t = budgetTexts[visitor.locale];
  return (
    <Card title={t.count(budgets.length, maxBudgets)}>
      {budgets.length === 0
        ? (
          <Empty title={t.none}>
            <p>{t.noneHint}</p>
          </Empty>
        )
        : <BudgetTable budgets={budgets} keyNames={names} visitor={visitor} />}
    </Card>
  );
}

function RequiredTags({ c, wrongTags }: {
  readonly c: PageContext;
  readonly wrongTags: string | undefined;
}) {
  const visitor = c.get("visitor");
  const t = budgetTexts[visitor.locale];
  const { requiredTags = [] } = c.get("signedIn").account;
  if (!mayVisit(visitor.signedIn, "/budgets/tags", "POST")) {
    return requiredTags.length === 0
      ? null
      : <Card title={t.required} id="required-tags">{requiredTags.join(", ")}</Card>;
  }
  return (
    <Card title={t.required} id="required-tags">
      <PostForm visitor={visitor} action="/budgets/tags">
        <TextField
          name="tags"
          label={t.required}
          value={wrongTags ?? requiredTags.join(", ")}
          maxlength={500}
          autocomplete="off"
          placeholder="team, env"
          hint={t.requiredHint}
          error={wrongTags === undefined ? undefined : t.requiredWrong}
        />
        <div class="actions">
          <SubmitButton tone="plain">{t.save}</SubmitButton>
        </div>
      </PostForm>
    </Card>
  );
}

interface FormState {
  readonly values: BudgetValues;
  readonly errors?: BudgetErrors;
  readonly problem?: string;
}

/** Shows the form of a budget that is there, or of a new one. */
async function formPage(
  c: PageContext,
  deps: DashboardDeps,
  budget: Budget | undefined,
  state?: FormState,
): Promise<Response> {
  const visitor = c.get("visitor");
  const t = budgetTexts[visitor.locale];
  const subjects = await readSubjects(c, deps);
  const models = deps.catalog.models.map(({ id }) => id);
  const values = state?.values ?? (budget === undefined ? emptyBudget : valuesOf(budget));
  const action = budget === undefined ? "/budgets" : `/budgets/${budget.id}`;
  return await renderPage(
    c,
    {
      title: budget === undefined ? t.newTitle : t.editTitle,
      status: state === undefined ? 200 : 422,
    },
    <>
      <Card>
        {state?.problem !== undefined && <Notice tone="danger">{state.problem}</Notice>}
        <PostForm visitor={visitor} action={action}>
          <BudgetFields
            values={values}
            errors={state?.errors ?? {}}
            choices={{ ...subjects, models }}
            locale={visitor.locale}
          />
          <div class="actions">
            <SubmitButton>{budget === undefined ? t.create : t.save}</SubmitButton>
            <a href="/budgets">{t.cancel}</a>
          </div>
        </PostForm>
      </Card>
      {budget !== undefined && (
        <Card>
          <PostForm
            visitor={visitor}
            action={`/budgets/${budget.id}/remove`}
            confirm={t.removeAsk}
          >
            <SubmitButton tone="danger">{t.remove}</SubmitButton>
          </PostForm>
        </Card>
      )}
    </>,
  );
}

/** Why a form did nothing, as its page says it: the fields at fault, or a problem of all. */
function refusedForm(
  c: PageContext,
  outcome: Refused<"subject" | "full" | "closed" | "missing"> | CommonRefusal,
  values: BudgetValues,
): FormState | "missing" {
  const { locale } = c.get("visitor");
  const t = budgetTexts[locale];
  const errors = (fields: readonly string[]) => budgetErrors(values, new Set(fields), locale);
  if ("why" in outcome) {
    switch (outcome.why) {
      case "subject":
        return { values, errors: errors(["subject"]) };
      case "full":
        return { values, problem: t.full(maxBudgets) };
      case "missing":
      case "closed":
        return "missing";
    }
  }
  switch (outcome.common) {
    case "input":
      return {
        values,
        errors: errors(outcome.issues.map(({ field }) => field.split(".")[0] ?? "")),
      };
    case "spent":
      return { values, problem: spentWords(locale, outcome.retryAfterSeconds) };
    case "not_allowed":
      return "missing";
  }
}

async function makeBudget(c: PageContext, deps: DashboardDeps): Promise<Response> {
  const { values, sent } = readBudget(await readForm(c));
  const outcome = await performForm(c, deps, budgetCreation, sent);
  if (outcome.ok) return c.redirect("/budgets", 303);
  const state = refusedForm(c, outcome, values);
  return state === "missing" ? await notFoundPage(c) : await formPage(c, deps, undefined, state);
}

async function budgetOf(c: PageContext, { kv }: DashboardDeps): Promise<Budget | undefined> {
  const budgets = await listBudgets(kv, c.get("signedIn").account.id);
  return budgets.find(({ id }) => id === c.req.param("id"));
}

async function changeBudget(c: PageContext, deps: DashboardDeps): Promise<Response> {
  const budget = await budgetOf(c, deps);
  if (budget === undefined) return await notFoundPage(c);
  const { values, sent } = readBudget(await readForm(c));
  const outcome = await performForm(c, deps, budgetChange, { id: budget.id, ...sent });
  if (outcome.ok) return c.redirect("/budgets", 303);
  const state = refusedForm(c, outcome, values);
  return state === "missing" ? await notFoundPage(c) : await formPage(c, deps, budget, state);
}

async function deleteBudget(c: PageContext, deps: DashboardDeps): Promise<Response> {
  const sent = { id: c.req.param("id") };
  const outcome = await performForm(c, deps, budgetDeletion, sent);
  const problem = outcome.ok ? undefined : spentProblem(outcome, c.get("visitor").locale);
  if (problem !== undefined) return await listPage(c, deps, { problem });
  // One that is gone already is what the form wanted.
  return c.redirect("/budgets", 303);
}

async function requireTags(c: PageContext, deps: DashboardDeps): Promise<Response> {
  const typed = (await readForm(c)).text("tags");
  const tags = typed.split(/[\s,]+/).filter((key) => key !== "");
  const outcome = await performForm(c, deps, requiredTagsChange, {
    tags,
  });
  if (outcome.ok) return c.redirect("/budgets#required-tags", 303);
  const problem = spentProblem(outcome, c.get("visitor").locale);
  return await listPage(
    c,
    deps,
    problem === undefined ? { wrongTags: typed.slice(0, 500) } : { problem },
  );
}

// The form of a budget: its fields, and how what was typed becomes one.

/** Values that are typed into the form. */
interface BudgetValues {
  readonly name: string;
  /** `account`, `tag`, or a kind with an id: `key:…`, `model:…`, `member:…`, `team:…`. */
  readonly of: string;
  readonly tag: string;
  readonly window: string;
  readonly amount: string;
  readonly atLimit: string;
}

/** The form of a new budget. */
const emptyBudget: BudgetValues = {
  name: "",
  of: "account",
  tag: "",
  window: "month",
  amount: "",
  atLimit: "refuse",
};

/** Problems of a form, by field. */
type BudgetErrors = Partial<Record<keyof BudgetValues, string>>;

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
function valuesOf(
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
function readBudget(
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
function budgetErrors(
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
interface BudgetChoices {
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
function BudgetFields({ values, errors, choices, locale }: {
  readonly values: BudgetValues;
  readonly errors: BudgetErrors;
  readonly choices: BudgetChoices;
  readonly locale: Locale;
}) {
  const t = budgetTexts[locale];
  const field = fieldsOf<keyof BudgetValues>(t, values, errors);
  return (
    <>
      <TextField
        {...field("name")}
        required
        maxlength={maxNameChars}
        autocomplete="off"
        hint={t.nameHint}
      />
      <SelectField {...field("of")} options={subjectOptions(choices, values, locale)} />
      <TextField
        {...field("tag")}
        maxlength={150}
        autocomplete="off"
        placeholder="team=search"
        hint={t.tagHint}
      />
      <TextField {...field("amount")} required inputmode="numeric" autocomplete="off" />
      <SelectField
        {...field("window")}
        options={budgetWindows.map((value) => ({ value, label: t.windows[value] }))}
      />
      <SelectField
        {...field("atLimit")}
        options={budgetEnds.map((value) => ({ value, label: t.ends[value] }))}
      />
    </>
  );
}

function createBudgetPages(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .use("/budgets/*", requireAccount)
    .get("/budgets", (c) => listPage(c, deps))
    .post("/budgets", (c) => makeBudget(c, deps))
    .get("/budgets/new", (c) => formPage(c, deps, undefined))
    .post("/budgets/tags", (c) => requireTags(c, deps))
    .get("/budgets/:id", async (c) => {
      const budget = await budgetOf(c, deps);
      return budget === undefined ? await notFoundPage(c) : await formPage(c, deps, budget);
    })
    .post("/budgets/:id", (c) => changeBudget(c, deps))
    .post("/budgets/:id/remove", (c) => deleteBudget(c, deps));
}

export const budgetPages: PageDeclaration<DashboardDeps> = {
  navigation: {
    href: "/budgets",
    icon: "bank",
    group: "money",
    label: { en: "Budgets", vi: "Ngân sách" },
  },
  routes: createBudgetPages,
};
