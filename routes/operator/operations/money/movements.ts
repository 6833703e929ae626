/** Operations that move money: corrections of wallets, and bank notices that are credited by hand. */
import { z } from "zod";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { parseTypedVnd } from "../../../../core/billing/money/read_amount.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { parseOrderCode } from "../../../../core/trade/bank/order_code.ts";
import { followCredited } from "../../../../kv/money/credits/credited_transfers.ts";
import { isOwnOperationId, type LedgerEntry } from "../../../../kv/money/ledger/ledger.ts";
import {
  assignBankNotice,
  type AssignmentResult,
  type AssignTarget,
} from "../../../../kv/money/payments/bank_assignment.ts";
import { getBankNotice } from "../../../../kv/money/payments/bank_notices.ts";
import { isPerson, type Operator } from "../../../../kv/people/audit/operator_audit.ts";
import { findApprovers } from "../../../../kv/people/operators/approval_mails.ts";
import type { Authority } from "../../../../kv/people/operators/operator_authority.ts";
import {
  type PendingAct,
  requestApproval,
  type RequestResult,
} from "../../../../kv/services/operations/approvals.ts";
import {
  type AdjustmentResult,
  adjustWallet,
} from "../../../../kv/services/operations/wallet_adjustment.ts";
import { namedAccount } from "../contract/named_account.ts";
import {
  balanceIn,
  commonRefusals,
  deciderOf,
  operation,
  type OperationDeps,
  refused,
} from "../contract/operation.ts";
import { lineText, maxReasonChars, proseText, reasonText } from "../contract/texts.ts";
import { seenBy, seenMark, timeOf } from "./moved_money.ts";
import { namedNotice, noticeState, stateJson } from "./notices.ts";

// Repeats amounts in the answer, so that a slip is noticed.

/** Formats an amount with spaces between thousands: half of the readers would take a dot or a comma for a fraction. */
function spaced(amountMicroVnd: bigint): string {
  return `${formatVnd(amountMicroVnd).replace(/\B(?=(\d{3})+(?!\d))/g, " ")} VND`;
}

/**
 * Describes what became of a movement.
 *
 * @param amountMicroVnd above 0 for a credit
 *
 * @example
 * ```ts
 * import { movementSummary } from "./movements.ts";
 * const text = movementSummary(1_050_000_000_000n, "applied");
 * if (text !== "Credited 1 050 000 VND") throw new Error(text);
 * ```
 */
export function movementSummary(
  amountMicroVnd: bigint,
  status: "applied" | "duplicate" | "asked",
): string {
  const isCredit = amountMicroVnd > 0n;
  const amount = spaced(isCredit ? amountMicroVnd : -amountMicroVnd);
  if (status === "applied") return `${isCredit ? "Credited" : "Debited"} ${amount}`;
  return status === "duplicate"
    ? `Nothing moved: this operation has ${isCredit ? "credited" : "debited"} ${amount} before`
    : `Nothing moved: ${amount} wait for a second operator`;
}

// What both operations share.

/** Characters of the shortest reason for a correction of a wallet. */
const minReasonChars = 3;

/** Characters of the shortest operation id given by hand: a shorter one would be used again by accident. */
const minOperationIdChars = 8;

/** Characters of the longest operation id given by hand. */
const maxOperationIdChars = 100;

const typedVnd = z.string().transform((text, context) => {
  const amountMicroVnd = parseTypedVnd(text);
  if (amountMicroVnd !== undefined) return amountMicroVnd;
  context.addIssue("must be an amount in whole VND, such as 50000, 50.000 or -50k");
  return z.NEVER;
});

const entryRow = z.object({
  ledgerId: z.string(),
  accountId: z.string(),
  amountVnd: z.string().describe("Above 0: credited; below: debited."),
  kind: z.string(),
  operationId: z.string(),
  reason: z.string(),
  at: z.iso.datetime(),
});

function entryJson({ ledgerId, accountId, amountMicroVnd, ...entry }: LedgerEntry) {
  const { kind, operationId, reason, atMs } = entry;
  const amountVnd = formatVnd(amountMicroVnd);
  return { ledgerId, accountId, amountVnd, kind, operationId, reason, at: timeOf(atMs) };
}

const asked = z.string().optional()
  .describe("The request that waits for a second operator, if one may not move the sum alone.");

/** The authority of one operator; the owner of the machine has it without a limit. */
function aloneIn({ topup }: Pick<OperationDeps, "topup">): Authority {
  return { kind: "alone", limitMicroVnd: topup.approvalAboveMicroVnd };
}

/** Asks for the approval of a second operator, once for each form. */
async function ask(
  deps: OperationDeps,
  act: PendingAct,
  by: { readonly operator: Operator; readonly nowMs: number; readonly formId?: string },
): Promise<RequestResult> {
  const { kv, operators = [], hintMail } = deps;
  const approvers = await findApprovers(kv, operators);
  const result = await requestApproval(kv, act, { ...by, balanceOf: balanceIn(deps), approvers });
  if (result.ok) hintMail?.();
  return result;
}

type Failure<Result extends { readonly ok: boolean }> = Extract<Result, { readonly ok: false }>;

function adjustmentRefusal(result: Failure<AdjustmentResult> | Failure<RequestResult>): string {
  switch (result.why) {
    case "state":
      return "entry" in result
        ? `this operation id was used for ${
          formatVnd(result.entry.amountMicroVnd)
        } VND, "${result.entry.reason}"; use another`
        : "this operation id was used for something else; use another";
    case "insufficient":
      return `the wallet has ${formatVnd(result.availableMicroVnd)} VND that no running call holds`;
    case "target":
      return "the account is deleted";
    case "busy":
      return "the wallet kept changing; try again";
    case "beneficiary":
      return "who acts may profit from the wallet";
    case "changed":
    case "limit":
      return commonRefusals[result.why];
  }
}

/** Credits or debits a wallet. */
export const adjustAccount = operation({
  name: "accounts.adjust",
  summary: "Credits or debits a wallet, once for each operation id",
  effect: "acts",
  authority: "person",
  input: z.strictObject({
    account: z.string(),
    vnd: typedVnd,
    reason: proseText(maxReasonChars, minReasonChars),
    // The store would write all halves of characters as the same one, under which the movement would not be found.
    operationId: lineText(maxOperationIdChars, minOperationIdChars).refine(
      (id) => !isOwnOperationId(id),
      "is the gateway's own (a bank notice is credited on the operator's pages); use another",
    ),
    seen: seenMark,
  }),
  output: z.object({
    summary: z.string(),
    status: z.enum(["applied", "duplicate", "asked"]),
    entry: entryRow.optional(),
    approval: asked,
    balanceVnd: z.string(),
  }),
  async run(deps, { account: text, vnd: amountMicroVnd, reason, operationId, seen }, act) {
    const named = await namedAccount(deps.kv, text);
    if (!named.ok) return named;
    const adjustment = { accountId: named.account.id, amountMicroVnd, reason };
    const operator = deciderOf(act);
    const { nowMs } = act;
    const context = { nowMs, balanceOf: balanceIn(deps), seen: seenBy(operator, seen) };
    const result = await adjustWallet(
      deps.kv,
      adjustment,
      isPerson(operator)
        ? { ...context, operator, caseId: operationId, authority: aloneIn(deps) }
        : { ...context, operator, operationId },
    );
    const pending = { kind: "adjust", ...adjustment } as const;
    const waits = !result.ok && result.why === "limit" && isPerson(operator)
      ? await ask(deps, pending, { operator, nowMs, formId: operationId })
      : undefined;
    const failure = waits ?? result;
    if (!failure.ok) {
      const message = `Nothing was moved: ${adjustmentRefusal(failure)}`;
      return { ...refused(failure.why, "invalid_request", message), act: pending };
    }
    const status = result.ok ? result.status : "asked" as const;
    const balance = await deps.wallet.balance(adjustment.accountId);
    return {
      ok: true,
      body: {
        summary: movementSummary(amountMicroVnd, status),
        status,
        ...(result.ok && { entry: entryJson(result.entry) }),
        ...(waits?.ok === true && { approval: waits.approval.id }),
        balanceVnd: formatVnd(balance.totalMicroVnd),
      },
    };
  },
});

/** Finds the owner of the money as typed: an order code, an account id or an e-mail address. */
async function targetOf(
  { kv }: Pick<OperationDeps, "kv">,
  typed: string,
): Promise<AssignTarget | undefined> {
  const code = parseOrderCode(typed.toUpperCase());
  if (code !== undefined) return { kind: "order", code };
  // A deleted account is refused by its own name.
  const id = parseId("account", typed);
  if (id !== undefined) return { kind: "account", accountId: id };
  const named = await namedAccount(kv, typed);
  return named.ok ? { kind: "account", accountId: named.account.id } : undefined;
}

const assignmentRefusals: Readonly<
  Record<(Failure<AssignmentResult> | Failure<RequestResult>)["why"], string>
> = {
  missing: "there is no such notice",
  state: "its state does not allow this: somebody has decided, or it is no money in",
  target: "there is no such open order or account",
  taken: "another sum, or another wallet, was credited by hand under the id of the notice",
  beneficiary: "who acts may profit from the wallet",
  ...commonRefusals,
};

/** Credits a bank notice. */
export const assignNotice = operation({
  name: "notices.assign",
  summary: "Credits a bank notice to an order or an account, once",
  effect: "acts",
  authority: "person",
  input: z.strictObject({
    notice: z.string(),
    target: z.string().describe("The code of an order; or an account by its id or address."),
    reason: reasonText,
    seen: seenMark,
  }),
  output: z.object({
    summary: z.string(),
    status: z.enum(["applied", "asked"]),
    state: noticeState.optional(),
    approval: asked,
  }),
  async run(deps, { notice, target: typed, reason, seen }, act) {
    const named = namedNotice(notice);
    if (!named.ok) return named;
    const { ref } = named;
    const row = (await getBankNotice(deps.kv, ref)).value;
    if (row === null) {
      return refused("missing", "not_found", `There is no such notice: ${notice}`, "notice");
    }
    const target = await targetOf(deps, typed);
    if (target === undefined) {
      const text = `There is no such order or account: ${typed}`;
      return refused("target", "invalid_request", text, "target");
    }
    const operator = deciderOf(act);
    const { nowMs } = act;
    const { amountMicroVnd } = row.event;
    const assignment = { ref, target, reason };
    const result = await assignBankNotice(deps.kv, assignment, {
      operator,
      nowMs,
      balanceOf: balanceIn(deps),
      seen: seenBy(operator, seen),
      authority: aloneIn(deps),
      onCredited: followCredited,
    });
    const pending = { kind: "assign", amountMicroVnd, ...assignment } as const;
    const waits = !result.ok && result.why === "limit" && isPerson(operator)
      ? await ask(deps, pending, { operator, nowMs })
      : undefined;
    const failure = waits ?? result;
    if (!failure.ok) {
      const message = `Nothing was moved: ${assignmentRefusals[failure.why]}`;
      return { ...refused(failure.why, "invalid_request", message), act: pending };
    }
    if (result.ok) deps.hintMail?.();
    const status = result.ok ? "applied" as const : "asked" as const;
    return {
      ok: true,
      body: {
        summary: movementSummary(amountMicroVnd, status),
        status,
        ...(result.ok && { state: stateJson(result.state) }),
        ...defined({ approval: waits?.ok === true ? waits.approval.id : undefined }),
      },
    };
  },
});
