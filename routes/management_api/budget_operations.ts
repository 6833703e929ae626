/** Operations on budgets, on required tags and on the activity log of an organisation. */
import { formatVnd } from "../../core/billing/money/micro_vnd.ts";
import { parseId } from "../../core/lib/ids/ids.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import { always, constant, dateTime, isoTime, listOf, text } from "../../core/lib/json/schemas.ts";
import { type Budget, budgetEnds, budgetWindows } from "../../core/limits/budgets.ts";
import { listBudgets } from "../../kv/people/accounts/budgets.ts";
import { activityActs, isActivityAct } from "../../kv/people/audit/account_activity.ts";
import { rowLimit, wrongParameter } from "../http/query.ts";
import { activityListFields, activityPage } from "../usage_api/activity.ts";
import {
  budgetChange,
  budgetCreation,
  budgetDeletion,
  requiredTagsChange,
} from "../acts/budgets.ts";
import { listing, managementRows } from "./lists.ts";
import {
  actOperation,
  found,
  goneShape,
  type ManagementOperation,
  organisationPath,
  reading,
  shape,
} from "./operation.ts";

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

const budgetShape = shape<Budget>(
  "Budget",
  "A budget: an amount for a part of the calls, over a window of time.",
  [
    constant("object", "budget"),
    always("id", text, ({ id }) => id),
    always("name", text, ({ name }) => name),
    always("subject", { type: "object" }, subjectJson),
    always("window", { type: "string", enum: [...budgetWindows] }, ({ window }) => window),
    always("amount_vnd", text, ({ amountMicroVnd }) => formatVnd(amountMicroVnd)),
    always("at_limit", { type: "string", enum: [...budgetEnds] }, ({ atLimit }) => atLimit),
    always("created_at", dateTime, ({ createdAtMs }) => isoTime(createdAtMs)),
  ],
);

const tagsShape = shape<readonly string[]>(
  "RequiredTags",
  "The keys of tags without which calls are refused.",
  [
    constant("object", "required_tags"),
    always("tags", listOf(text), (tags) => [...tags]),
  ],
);

const tagsPath = `${organisationPath}/required-tags`;

const tagsOperations: readonly ManagementOperation[] = [
  reading({
    id: "getRequiredTags",
    path: tagsPath,
    summary: "Required tags",
    description: "The keys of tags that each call must have.",
    act: "view_budgets",
    answer: tagsShape,
    read: ({ account }) => account.requiredTags ?? [],
  }),
  actOperation({
    operation: requiredTagsChange,
    method: "patch",
    path: tagsPath,
    summary: "Replace the required tags",
    description:
      "Calls without one of them are refused with 400, on all instances within two seconds.",
    answer: tagsShape,
    example: { tags: ["team", "env"] },
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
  }),
  actOperation({
    operation: budgetCreation,
    method: "post",
    path: budgetsPath,
    summary: "Make a budget",
    description:
      "In whole VND, of what the organisation has. At its amount a budget refuses calls with 402, or only tells.",
    answer: budgetShape,
    example,
  }),
  reading({
    id: "getBudget",
    path: `${budgetsPath}/{id}`,
    summary: "One budget",
    description: "A budget by its id.",
    act: "view_budgets",
    answer: budgetShape,
    async read({ deps, account, param }) {
      const budgets = await listBudgets(deps.kv, account.id);
      return found(budgets.find(({ id }) => id === param("id")), "budget");
    },
  }),
  actOperation({
    operation: budgetChange,
    method: "patch",
    path: `${budgetsPath}/{id}`,
    summary: "Change a budget",
    description: "What is left out stays as it is; what was spent stays spent.",
    answer: budgetShape,
    example: { amount_vnd: 8_000_000 },
  }),
  actOperation({
    operation: budgetDeletion,
    method: "delete",
    path: `${budgetsPath}/{id}`,
    summary: "Delete a budget",
    description: "Calls that it refused are served again.",
    answer: goneShape,
  }),
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
