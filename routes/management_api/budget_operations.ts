/** Operations on budgets, on required tags and on the activity log of an organisation. */
import { z } from "zod";
import { formatVnd } from "../../core/billing/money/micro_vnd.ts";
import { GatewayError } from "../../core/lib/errors/errors.ts";
import { parseId } from "../../core/lib/ids/ids.ts";
import { fieldsJson } from "../../core/lib/json/fields.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import {
  always,
  constant,
  dateTime,
  type DescribedField,
  isoTime,
  listOf,
  text,
} from "../../core/lib/json/schemas.ts";
import { maxTags } from "../../core/billing/usage/call_tags.ts";
import { type BudgetInput, budgetInputSchema } from "../../core/limits/budget_input.ts";
import { type Budget, budgetEnds, budgetWindows } from "../../core/limits/budgets.ts";
import {
  addBudget,
  editBudget,
  listBudgets,
  removeBudget,
} from "../../kv/people/accounts/budgets.ts";
import { areRequiredTags, setRequiredTags } from "../../kv/people/accounts/required_tags.ts";
import { activityActs, isActivityAct } from "../../kv/people/audit/account_activity.ts";
import { rowLimit, wrongParameter } from "../http/query.ts";
import { activityListFields, activityPage } from "../usage_api/activity.ts";
import { listing, managementRows } from "./lists.ts";
import {
  type AnswerShape,
  goneFields,
  goneShape,
  type ManagementCall,
  type ManagementOperation,
  withBody,
} from "./operation.ts";

const id = z.string().min(1).max(100);

const budgetBody = z.strictObject({
  name: z.string().trim().min(1).max(60),
  subject: z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("account") }),
    z.strictObject({ kind: z.literal("key"), key_id: id }),
    z.strictObject({ kind: z.literal("model"), model: id }),
    z.strictObject({ kind: z.literal("tag"), key: id, value: id }),
    z.strictObject({ kind: z.literal("member"), member_id: id }),
    z.strictObject({ kind: z.literal("team"), team_id: id }),
  ]),
  window: z.enum(budgetWindows),
  amount_vnd: z.int().min(1),
  at_limit: z.enum(budgetEnds).default("refuse"),
});

type BudgetBody = z.infer<typeof budgetBody>;

/** Turns the names of the API into those of the one schema of budgets, which decides. */
function inputOf({ name, subject, window, amount_vnd, at_limit }: BudgetBody): BudgetInput {
  const named = (): unknown => {
    switch (subject.kind) {
      case "account":
      case "model":
        return subject;
      case "key":
        return { kind: "key", keyId: subject.key_id };
      case "tag":
        return { kind: "tag", tag: { key: subject.key, value: subject.value } };
      case "member":
        return { kind: "member", memberId: subject.member_id };
      case "team":
        return { kind: "team", teamId: subject.team_id };
    }
  };
  const input = { name, subject: named(), window, amountVnd: amount_vnd, atLimit: at_limit };
  return budgetInputSchema.parse(input);
}

function subjectJson({ subject }: Budget): JsonObject {
  switch (subject.kind) {
    case "account":
      return { kind: "account" };
    case "model":
      return { kind: "model", model: subject.model };
    case "key":
      return { kind: "key", key_id: subject.keyId };
    case "tag":
      return { kind: "tag", key: subject.tag.key, value: subject.tag.value };
    case "member":
      return { kind: "member", member_id: subject.memberId };
    case "team":
      return { kind: "team", team_id: subject.teamId };
  }
}

const budgetFields: readonly DescribedField<Budget>[] = [
  constant("object", "budget"),
  always("id", text, ({ id }) => id),
  always("name", text, ({ name }) => name),
  always("subject", { type: "object" }, subjectJson),
  always("window", { type: "string", enum: [...budgetWindows] }, ({ window }) => window),
  always("amount_vnd", text, ({ amountMicroVnd }) => formatVnd(amountMicroVnd)),
  always("at_limit", { type: "string", enum: [...budgetEnds] }, ({ atLimit }) => atLimit),
  always("created_at", dateTime, ({ createdAtMs }) => isoTime(createdAtMs)),
];

const budgetShape: AnswerShape = {
  name: "Budget",
  description: "A budget: an amount for a part of the calls, over a window of time.",
  fields: budgetFields,
};

function missing(): GatewayError {
  return new GatewayError("not_found", "There is no such budget");
}

async function create(call: ManagementCall<BudgetBody>): Promise<JsonObject> {
  const { deps, account, by, nowMs, body } = call;
  const budget = await addBudget(deps.kv, account.id, inputOf(body), { by, nowMs });
  if (budget === undefined) throw missing();
  await deps.control.refresh();
  return fieldsJson(budgetFields, budget);
}

async function change(call: ManagementCall<BudgetBody>): Promise<JsonObject> {
  const { deps, account, by, nowMs, body, param } = call;
  const done = { by, nowMs };
  const budget = await editBudget(deps.kv, account.id, param("id"), inputOf(body), done);
  if (budget === undefined) throw missing();
  await deps.control.refresh();
  return fieldsJson(budgetFields, budget);
}

async function remove(call: ManagementCall<unknown>): Promise<JsonObject> {
  const { deps, account, by, nowMs, param } = call;
  const isGone = await removeBudget(deps.kv, account.id, param("id"), { by, nowMs });
  if (!isGone) throw missing();
  await deps.control.refresh();
  return fieldsJson(goneFields, { id: param("id") });
}

const tagsBody = z.strictObject({ tags: z.array(z.string().max(100)).max(100) });

const tagsFields: readonly DescribedField<readonly string[]>[] = [
  constant("object", "required_tags"),
  always("tags", listOf(text), (tags) => [...tags]),
];

const tagsAnswer = {
  path: "/v1/organisation/required-tags",
  answer: {
    name: "RequiredTags",
    description: "The keys of tags without which calls are refused.",
    fields: tagsFields,
  },
} as const;

async function requireTags(call: ManagementCall<z.infer<typeof tagsBody>>): Promise<JsonObject> {
  const { deps, account, by, nowMs, body: { tags } } = call;
  if (!areRequiredTags(tags)) {
    throw wrongParameter("tags", `must be at most ${maxTags} keys of tags such as team`);
  }
  const changed = await setRequiredTags(deps.kv, account.id, tags, { by, nowMs });
  await deps.control.refresh();
  return fieldsJson(tagsFields, changed?.requiredTags ?? []);
}

const tagsOperations: readonly ManagementOperation[] = [
  {
    ...tagsAnswer,
    id: "getRequiredTags",
    method: "get",
    summary: "Required tags",
    description: "The keys of tags that each call must have.",
    act: "view_budgets",
    errors: [],
    run: ({ account }) => Promise.resolve(fieldsJson(tagsFields, account.requiredTags ?? [])),
  },
  withBody({
    ...tagsAnswer,
    id: "changeRequiredTags",
    method: "patch",
    summary: "Replace the required tags",
    description:
      "Calls without one of them are refused with 400, on all instances within two seconds.",
    act: "change_budgets",
    errors: ["invalid_request", "overloaded"],
    body: { schema: tagsBody, example: { tags: ["team", "env"] } },
    run: requireTags,
  }),
];

const example: JsonObject = {
  name: "Search team",
  subject: { kind: "tag", key: "team", value: "search" },
  window: "month",
  amount_vnd: 5_000_000,
  at_limit: "refuse",
};

const budgetsPath = "/v1/organisation/budgets";

/** The operations. */
export const budgetOperations: readonly ManagementOperation[] = [
  listing({
    id: "listBudgets",
    path: budgetsPath,
    summary: "Budgets",
    description: "The budgets of the organisation, oldest first.",
    act: "view_budgets",
    item: budgetShape,
    rows: ({ deps, account }) => listBudgets(deps.kv, account.id),
    idOf: ({ id }) => id,
    json: (budget) => fieldsJson(budgetFields, budget),
  }),
  withBody({
    id: "createBudget",
    method: "post",
    path: budgetsPath,
    summary: "Make a budget",
    description: "In whole VND. At its amount a budget refuses calls with 402, or only tells.",
    act: "change_budgets",
    answer: budgetShape,
    errors: ["invalid_request", "overloaded", "not_found"],
    body: { schema: budgetBody, example },
    run: create,
  }),
  {
    id: "getBudget",
    method: "get",
    path: `${budgetsPath}/{id}`,
    summary: "One budget",
    description: "A budget by its id.",
    act: "view_budgets",
    answer: budgetShape,
    errors: ["not_found"],
    async run({ deps, account, param }) {
      const budgets = await listBudgets(deps.kv, account.id);
      const budget = budgets.find(({ id }) => id === param("id"));
      if (budget === undefined) throw missing();
      return fieldsJson(budgetFields, budget);
    },
  },
  withBody({
    id: "changeBudget",
    method: "patch",
    path: `${budgetsPath}/{id}`,
    summary: "Replace a budget",
    description: "The body is the whole budget; what was spent stays spent.",
    act: "change_budgets",
    answer: budgetShape,
    errors: ["invalid_request", "not_found", "overloaded"],
    body: { schema: budgetBody, example },
    run: change,
  }),
  {
    id: "deleteBudget",
    method: "delete",
    path: `${budgetsPath}/{id}`,
    summary: "Delete a budget",
    description: "Calls that it refused are served again.",
    act: "change_budgets",
    answer: goneShape,
    errors: ["not_found", "overloaded"],
    run: remove,
  },
  ...tagsOperations,
  {
    id: "listOrganisationActivity",
    method: "get",
    path: "/v1/organisation/activity",
    summary: "Activity",
    description: `Who did what, newest first; \`act\` is one of ${activityActs.join(", ")}.`,
    act: "view_activity",
    answer: { name: "ActivityList", description: "A page of lines.", fields: activityListFields },
    isList: true,
    errors: ["invalid_request"],
    run: async ({ deps, account, query }) => {
      const act = query.get("act") ?? undefined;
      if (act !== undefined && !isActivityAct(act)) throw wrongParameter("act", "is no act");
      const after = query.get("after");
      const before = after === null ? undefined : parseId("activity", after);
      if (after !== null && before === undefined) {
        throw wrongParameter("after", "must be the id of a line");
      }
      const count = rowLimit(query, managementRows);
      return await activityPage(deps.kv, account.id, { count, before, act });
    },
  },
];
