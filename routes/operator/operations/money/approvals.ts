/** Operations on requests for the approval of a second operator. */
import { z } from "zod";
import { invariant } from "../../../../core/lib/base/assert.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { followCredited } from "../../../../kv/money/credits/credited_transfers.ts";
import type { MovedMoney } from "../../../../kv/people/audit/operator_audit.ts";
import {
  type Approval,
  decideApproval,
  type DecisionResult,
  getApproval,
  listApprovals,
  moneyOfApproval,
} from "../../../../kv/services/operations/approvals.ts";
import { listCursor, listLimit, listOf, listRead, wrongCursor } from "../contract/lists.ts";
import {
  balanceIn,
  commonRefusals,
  deciderOf,
  operation,
  refused,
  refusedAs,
} from "../contract/operation.ts";
import { movedMoney, movedMoneyJson, seenBy, seenMark, timeOf } from "./moved_money.ts";

const person = z.object({
  accountId: z.string().optional().describe("Absent for the owner of the machine."),
  email: z.string(),
});

const approvalRow = z.object({
  id: z.string(),
  state: z.enum(["pending", "approved", "refused"]),
  kind: z.enum(["adjust", "assign"]),
  amountVnd: z.string(),
  reason: z.string(),
  requestedBy: person,
  requestedAt: z.iso.datetime(),
  decidedBy: person.optional(),
  decidedAt: z.iso.datetime().optional(),
  money: movedMoney.optional()
    .describe("While it waits with the balance of now, decided with that of the movement."),
});

function approvalJson(approval: Approval, money: MovedMoney | undefined) {
  const { id, state, act, requestedBy, requestedAtMs, decidedBy, decidedAtMs } = approval;
  return {
    id,
    state,
    kind: act.kind,
    amountVnd: formatVnd(act.amountMicroVnd),
    reason: act.reason,
    requestedBy,
    requestedAt: timeOf(requestedAtMs),
    ...defined({ decidedBy }),
    ...(decidedAtMs !== undefined && { decidedAt: timeOf(decidedAtMs) }),
    ...(money !== undefined && { money: movedMoneyJson(money) }),
  };
}

/** Lists requests for the approval of a second operator. */
export const listApprovalRequests = operation({
  name: "approvals.list",
  summary: "What waits for a second operator and what was decided, newest first; persons decide",
  effect: "reads",
  input: z.strictObject({ before: listCursor, limit: listLimit }),
  output: listOf(approvalRow),
  async run({ kv, wallet }, { before: cursor, limit }) {
    const before = cursor === undefined ? undefined : parseId("approval", cursor);
    if (cursor !== undefined && before === undefined) return wrongCursor("the id of a request");
    const approvals = await listApprovals(kv, limit + 1, before);
    const balanceOf = balanceIn({ wallet });
    const shown = await Promise.all(approvals.map(async (approval) => ({
      id: approval.id,
      row: approvalJson(approval, await moneyOfApproval(kv, approval, balanceOf)),
    })));
    return {
      ok: true,
      body: listRead(shown, { limit, row: ({ row }) => row, id: ({ id }) => id }),
    };
  },
});

const refusals: Readonly<
  Record<Extract<DecisionResult, { readonly ok: false }>["why"], string>
> = {
  missing: "there is no such request",
  self: "who asked cannot approve",
  decided: "it is decided",
  insufficient: "the wallet has too little that no running call holds",
  state: "something else was moved under its id, or its notice is decided",
  target: "the order or account is gone, or closed",
  taken: "another sum, or another wallet, was credited under the id of its notice",
  beneficiary: "who asked or who approves may profit from the wallet",
  ...commonRefusals,
};

/** Approves or refuses a request. */
export const decideRequest = operation({
  name: "approvals.decide",
  summary: "Approves or refuses what waits for a second operator; approving moves the money",
  effect: "acts",
  authority: "person",
  input: z.strictObject({
    approval: z.string(),
    verdict: z.enum(["approve", "refuse"]),
    seen: seenMark,
  }),
  output: approvalRow,
  async run(deps, { approval: text, verdict, seen }, act) {
    const { kv, hintMail } = deps;
    const id = parseId("approval", text);
    if (id === undefined) {
      return refused("missing", "invalid_request", `Not a request: ${text}`, "approval");
    }
    const operator = deciderOf(act);
    const balanceOf = balanceIn(deps);
    const result = await decideApproval(kv, id, verdict, {
      operator,
      nowMs: act.nowMs,
      balanceOf,
      onCredited: followCredited,
      seen: seenBy(operator, seen),
    });
    if (!result.ok) return refusedAs(result.why, refusals, "Nothing was decided");
    hintMail?.();
    const decided = await getApproval(kv, id);
    invariant(decided !== undefined, "requests are kept");
    return {
      ok: true,
      body: approvalJson(decided, await moneyOfApproval(kv, decided, balanceOf)),
    };
  },
});
