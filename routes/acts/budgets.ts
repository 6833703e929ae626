/** Acts on budgets, and on the tags that calls must have. */
import { z } from "zod";
import { maxTags } from "../../core/billing/usage/call_tags.ts";
import { budgetChangeSchema, budgetInputSchema } from "../../core/limits/budget_input.ts";
import { type BudgetSubject, maxBudgets, subjectText } from "../../core/limits/budgets.ts";
import {
  addBudget,
  editBudget,
  listBudgets,
  removeBudget,
} from "../../kv/people/accounts/budgets.ts";
import { areRequiredTags, setRequiredTags } from "../../kv/people/accounts/account_settings.ts";
import { getApiKey } from "../../kv/people/api_keys/api_keys.ts";
import { listMemberIds } from "../../kv/people/organisations/members.ts";
import { listTeams } from "../../kv/people/organisations/teams.ts";
import { type ActDeps, type Acting, done, operation, refused } from "./operation.ts";

const id = z.string().min(1).max(64);

const noBudget = { code: "not_found", message: "There is no such budget" } as const;
const noSubject = {
  code: "invalid_request",
  field: "subject",
  message: "the organisation has no such key, model, member or team",
} as const;

/** Whether a budget of this subject would bind anything: what it names is there, and of the organisation. */
async function isThere(
  { kv, catalog }: ActDeps,
  { account }: Acting,
  subject: BudgetSubject,
): Promise<boolean> {
  switch (subject.kind) {
    case "account":
    case "tag":
      return true;
    case "key":
      return await getApiKey(kv, account.id, subject.keyId) !== undefined;
    case "model":
      return catalog.find(subject.model)?.id === subject.model;
    case "member":
      return (await listMemberIds(kv, account)).some((one) => one === subject.memberId);
    case "team":
      return (await listTeams(kv, account.id)).some((one) => one.id === subject.teamId);
  }
}

/** Makes a budget. */
export const budgetCreation = operation({
  name: "createBudget",
  act: "change_budgets",
  line: "budgets_changed",
  input: budgetInputSchema,
  refusals: {
    full: { code: "invalid_request", message: `There are ${maxBudgets} budgets already` },
    subject: noSubject,
    closed: { code: "not_found", message: "The organisation was deleted" },
  },
  async run(deps, acting, input) {
    const { account, by, nowMs } = acting;
    if (!await isThere(deps, acting, input.subject)) return refused("subject");
    if ((await listBudgets(deps.kv, account.id)).length >= maxBudgets) return refused("full");
    const budget = await addBudget(deps.kv, account.id, input, { by, nowMs });
    await deps.control.refresh();
    return budget === undefined ? refused("closed") : done(budget);
  },
});

/** Changes a budget: what is left out stays as it is, and what was spent stays spent. */
export const budgetChange = operation({
  name: "changeBudget",
  act: "change_budgets",
  line: "budgets_changed",
  input: budgetChangeSchema.extend({ id }),
  refusals: { missing: noBudget, subject: noSubject },
  async run(deps, acting, { id, ...change }) {
    const { account, by, nowMs } = acting;
    const former = (await listBudgets(deps.kv, account.id)).find((one) => one.id === id);
    if (former === undefined) return refused("missing");
    const { subject } = change;
    // What a budget was made for may be gone since.
    const isNew = subject !== undefined && subjectText(subject) !== subjectText(former.subject);
    if (isNew && !await isThere(deps, acting, subject)) return refused("subject");
    const budget = await editBudget(deps.kv, account.id, id, change, { by, nowMs });
    await deps.control.refresh();
    return budget === undefined ? refused("missing") : done(budget);
  },
});

/** Deletes a budget; calls that it refused are served again. */
export const budgetDeletion = operation({
  name: "deleteBudget",
  act: "change_budgets",
  line: "budgets_changed",
  input: z.strictObject({ id }),
  refusals: { missing: noBudget },
  async run({ kv, control }, { account, by, nowMs }, { id }) {
    const isGone = await removeBudget(kv, account.id, id, { by, nowMs });
    await control.refresh();
    return isGone ? done(id) : refused("missing");
  },
});

/** Replaces the tags without which calls are refused. */
export const requiredTagsChange = operation({
  name: "changeRequiredTags",
  act: "change_budgets",
  line: "required_tags_changed",
  input: z.strictObject({
    tags: z.array(z.string().max(100)).max(100)
      .refine(areRequiredTags, `must be at most ${maxTags} keys of tags such as team`),
  }),
  refusals: { closed: { code: "not_found", message: "The organisation was deleted" } },
  async run({ kv, control }, { account, by, nowMs }, { tags }) {
    const changed = await setRequiredTags(kv, account.id, tags, { by, nowMs });
    await control.refresh();
    return changed === undefined ? refused("closed") : done(changed.requiredTags ?? []);
  },
});
