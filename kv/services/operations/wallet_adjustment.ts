/** Corrects wallets for operators. There is no "set balance", only movements with a reason. */
import { invariant } from "../../../core/lib/base/assert.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { Account } from "../../people/accounts/accounts.ts";
import type { BalanceOf } from "../../money/payments/bank_assignment.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import { accountKey, approvalOfFormKey, ledgerOperationKey } from "../../engine/schema/keys.ts";
import { credit, debit, type MovementResult } from "../../money/ledger/ledger.ts";
import { addAuditLine, type MovedMoney, type Operator } from "../../people/audit/operator_audit.ts";
import { type Authority, authorize, isAsSeen } from "../../people/operators/operator_authority.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";

/** A correction of a wallet: a positive amount is credited, a negative one debited. */
export interface Adjustment {
  readonly accountId: AccountId;
  readonly amountMicroVnd: bigint;
  readonly reason: string;
}

/** The operator, the time and the authority of a correction. */
export interface AdjustmentContext {
  readonly operator: Operator;
  readonly nowMs: number;
  /**
   * The id of the approval or of the submitted form: a form that is sent twice moves money once.
   */
  readonly caseId: string;
  readonly authority: Authority;
  readonly balanceOf: BalanceOf;
  /** The mark of the facts that the operator has seen; see `kv/people/operators/operator_authority.ts`. */
  readonly seen?: string | undefined;
}

/**
 * The result of an adjustment. `target`: the account is gone. `insufficient`: the wallet has too
 * little. `state`: the form has moved something else. `beneficiary`, `limit`: see `authorize`.
 * `busy`: the rows kept changing. `changed`: the facts are not those that the operator has seen.
 */
export type AdjustmentResult =
  | { readonly ok: true }
  | {
    readonly ok: false;
    readonly why:
      | "target"
      | "insufficient"
      | "state"
      | "beneficiary"
      | "limit"
      | "busy"
      | "changed";
  };

/** Returns the operation id under which a case moves money. */
export function adjustmentOperationId(caseId: string): string {
  return `adj:${caseId}`;
}

/** Attempts of one adjustment; only other operators compete for these rows. */
const adjustAttempts = 4;

/**
 * Credits or debits a wallet, once per case id. A deleted account gets no credit, even if the
 * adjustment was requested earlier.
 */
export async function adjustWallet(
  kv: KeyValueStore,
  adjustment: Adjustment,
  context: AdjustmentContext,
): Promise<AdjustmentResult> {
  invariant(adjustment.amountMicroVnd !== 0n, "an adjustment moves something");
  const outcome = await compareAndSet(() => tryToAdjust(kv, adjustment, context), {
    attempts: adjustAttempts,
  });
  return outcome === "conflict" ? { ok: false, why: "busy" } : outcome.done;
}

type Refusal = Extract<AdjustmentResult, { ok: false }>["why"];
type Attempt = { readonly done: AdjustmentResult } | "again";

async function tryToAdjust(
  kv: KeyValueStore,
  adjustment: Adjustment,
  context: AdjustmentContext,
): Promise<Attempt> {
  const { operator, nowMs, caseId, authority, seen } = context;
  const { accountId, amountMicroVnd } = adjustment;
  const refused = (why: Refusal) => ({ done: { ok: false, why } as const });
  const [account, earlier, asked] = await kv.getMany<[Account, unknown, unknown]>([
    accountKey(accountId),
    ledgerOperationKey(adjustmentOperationId(caseId)),
    approvalOfFormKey(caseId),
  ]);
  // A repeated form does not count towards the limit again, nor is it checked against it.
  if (earlier.value !== null) return attemptOf(await move(kv, adjustment, context, () => {}));
  if (account.value === null) return refused("target");
  if (amountMicroVnd > 0n && account.value.deletedAtMs !== undefined) return refused("target");
  if (!isAsSeen(seen, { amountMicroVnd, account: account.value })) return refused("changed");
  // The form has requested a second operator, so it must not move the money alone later.
  if (authority.kind === "alone" && asked.value !== null) return refused("limit");
  const allowed = await authorize(kv, authority, {
    operator,
    account: account.value,
    amountMicroVnd,
    nowMs,
  });
  if (!allowed.ok) return refused(allowed.why);
  const result = await move(kv, adjustment, context, (operation, money) => {
    // If the account is deleted or changed in between, the attempt is repeated.
    if (amountMicroVnd > 0n || seen !== undefined) operation.check(account);
    allowed.attach(operation);
    if (authority.kind === "approved") authority.attach(operation, money);
    else operation.check(asked);
  });
  return attemptOf(result);
}

async function move(
  kv: KeyValueStore,
  { accountId, amountMicroVnd, reason }: Adjustment,
  { operator, nowMs, caseId, authority, balanceOf }: AdjustmentContext,
  attach: (operation: AtomicWrite, money: MovedMoney) => void,
): Promise<MovementResult> {
  const movement = {
    accountId,
    amountMicroVnd: amountMicroVnd > 0n ? amountMicroVnd : -amountMicroVnd,
    kind: "admin" as const,
    operationId: adjustmentOperationId(caseId),
    reason,
    atMs: nowMs,
    async attach(operation: AtomicWrite) {
      const balanceBeforeMicroVnd = await balanceOf(accountId);
      const money: MovedMoney = {
        accountId,
        amountMicroVnd,
        balanceBeforeMicroVnd,
        balanceAfterMicroVnd: balanceBeforeMicroVnd + amountMicroVnd,
        ...(authority.kind === "approved" && { requestedBy: authority.requestedBy.email }),
      };
      addAuditLine(operation, operator, {
        act: "wallet_adjusted",
        subject: accountId,
        detail: `${amountMicroVnd} µVND: ${reason}`,
        atMs: nowMs,
        money,
      });
      attach(operation, money);
    },
  };
  return amountMicroVnd > 0n ? await credit(kv, movement) : await debit(kv, movement);
}

function attemptOf(result: MovementResult): Attempt {
  switch (result.status) {
    case "applied":
    case "duplicate":
      return { done: { ok: true } };
    case "insufficient":
      return { done: { ok: false, why: "insufficient" } };
    case "mismatch":
      return { done: { ok: false, why: "state" } };
    case "conflict":
      return "again";
  }
}
