/** Corrects wallets for operators. There is no "set balance", only movements with a reason. */
import { invariant } from "../../../core/lib/base/assert.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { type Account, hasOnlyBooks, mailReaderOf } from "../../people/accounts/accounts.ts";
import { addMail } from "../../engine/outbox/outbox.ts";
import type { BalanceOf } from "../../money/payments/bank_assignment.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import { accountKey, approvalOfFormKey, ledgerOperationKey } from "../../engine/schema/keys.ts";
import { credit, debit, type LedgerEntry, type MovementResult } from "../../money/ledger/ledger.ts";
import {
  addAuditLine,
  type commandLine,
  type Decider,
  type MovedMoney,
} from "../../people/audit/operator_audit.ts";
import { type Authority, authorize, isAsSeen } from "../../people/operators/operator_authority.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";

/** A correction of a wallet: a positive amount is credited, a negative one debited. */
export interface Adjustment {
  readonly accountId: AccountId;
  readonly amountMicroVnd: bigint;
  readonly reason: string;
}

interface AdjustmentMoment {
  readonly nowMs: number;
  readonly balanceOf: BalanceOf;
  /** The mark of the facts that the operator has seen; see `kv/people/operators/operator_authority.ts`. */
  readonly seen?: string | undefined;
}

/** An operator, or the owner of the machine who approves, and the authority of the correction. */
export interface OperatorAdjustment extends AdjustmentMoment {
  readonly operator: Decider;
  /**
   * The id of the approval or of the submitted form: a form that is sent twice moves money once.
   */
  readonly caseId: string;
  readonly authority: Authority;
}

/** The owner of the machine, whom no limit binds. */
export interface OwnerAdjustment extends AdjustmentMoment {
  readonly operator: typeof commandLine;
  /** The owner's own, under which the correction counts once; never one of the gateway. */
  readonly operationId: string;
}

/** Actor, time and authority of a correction. */
export type AdjustmentContext = OperatorAdjustment | OwnerAdjustment;

/**
 * The result of an adjustment. `target`: the account is gone. `insufficient`: the wallet has too
 * little. `state`: the form or the operation id has moved something else. `beneficiary`, `limit`: see `authorize`.
 * `busy`: the rows kept changing. `changed`: the facts are not those that the operator has seen.
 */
export type AdjustmentResult =
  | {
    readonly ok: true;
    /** `duplicate`: the case had moved the money before. */
    readonly status: "applied" | "duplicate";
    readonly entry: LedgerEntry;
  }
  | {
    readonly ok: false;
    readonly why: "insufficient";
    readonly availableMicroVnd: bigint;
  }
  | { readonly ok: false; readonly why: "state"; readonly entry: LedgerEntry }
  | {
    readonly ok: false;
    readonly why: "target" | "beneficiary" | "limit" | "busy" | "changed";
  };

/** Returns the operation id under which a case moves money. */
export function adjustmentOperationId(caseId: string): string {
  return `adj:${caseId}`;
}

/** Attempts of one adjustment; only other operators compete for these rows. */
const adjustAttempts = 4;

/**
 * Credits or debits a wallet, once per case or operation id. A deleted account gets no credit, even if the
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

type Attempt = { readonly done: AdjustmentResult } | "again";

function operationIdOf(context: AdjustmentContext): string {
  return "operationId" in context ? context.operationId : adjustmentOperationId(context.caseId);
}

async function tryToAdjust(
  kv: KeyValueStore,
  adjustment: Adjustment,
  context: AdjustmentContext,
): Promise<Attempt> {
  const { accountId, amountMicroVnd } = adjustment;
  const { seen } = context;
  const [account, earlier] = await kv.getMany<[Account, unknown]>([
    accountKey(accountId),
    ledgerOperationKey(operationIdOf(context)),
  ]);
  // A repeated form does not count towards the limit again, nor is it checked against it.
  if (earlier.value !== null) return attemptOf(await move(kv, adjustment, context, () => {}));
  if (account.value === null) return { done: { ok: false, why: "target" } };
  if (amountMicroVnd > 0n && hasOnlyBooks(account.value)) {
    return { done: { ok: false, why: "target" } };
  }
  if (!isAsSeen(seen, { amountMicroVnd, account: account.value })) {
    return { done: { ok: false, why: "changed" } };
  }
  const allowed = await allow(kv, amountMicroVnd, account.value, context);
  if (!allowed.ok) return { done: allowed };
  const result = await move(kv, adjustment, context, (operation, money) => {
    // If the account is deleted or changed in between, the attempt is repeated.
    if (amountMicroVnd > 0n || seen !== undefined) operation.check(account);
    allowed.attach(operation, money);
    const reader = account.value === null
      ? undefined
      : mailReaderOf(account.value, "wallet_adjusted");
    if (reader !== undefined) {
      const { reason } = adjustment;
      const job = { kind: "wallet_adjusted", ...reader, amountMicroVnd, reason } as const;
      addMail(operation, job, { nowMs: context.nowMs });
    }
  });
  return attemptOf(result);
}

type Attach = (operation: AtomicWrite, money: MovedMoney) => void;

type Allowed =
  | { readonly ok: true; readonly attach: Attach }
  | { readonly ok: false; readonly why: "beneficiary" | "limit" };

/** Decides about the authority, and returns what the commit has to check and write for it. */
async function allow(
  kv: KeyValueStore,
  amountMicroVnd: bigint,
  account: Account,
  context: AdjustmentContext,
): Promise<Allowed> {
  if ("operationId" in context) return { ok: true, attach: () => {} };
  const { operator, authority, caseId, nowMs } = context;
  const asked = await kv.get(approvalOfFormKey(caseId));
  // The form has requested a second operator, so it must not move the money alone later.
  if (authority.kind === "alone" && asked.value !== null) return { ok: false, why: "limit" };
  const allowed = await authorize(kv, authority, { operator, account, amountMicroVnd, nowMs });
  if (!allowed.ok) return allowed;
  return {
    ok: true,
    attach(operation, money) {
      allowed.attach(operation);
      if (authority.kind === "approved") authority.attach(operation, money);
      else operation.check(asked);
    },
  };
}

async function move(
  kv: KeyValueStore,
  { accountId, amountMicroVnd, reason }: Adjustment,
  context: AdjustmentContext,
  attach: Attach,
): Promise<MovementResult> {
  const { operator, nowMs, balanceOf } = context;
  const operationId = operationIdOf(context);
  const authority = "authority" in context ? context.authority : undefined;
  const movement = {
    accountId,
    amountMicroVnd: amountMicroVnd > 0n ? amountMicroVnd : -amountMicroVnd,
    kind: "admin" as const,
    operationId,
    reason,
    atMs: nowMs,
    async attach(operation: AtomicWrite) {
      const balanceBeforeMicroVnd = await balanceOf(accountId);
      const money: MovedMoney = {
        accountId,
        amountMicroVnd,
        balanceBeforeMicroVnd,
        balanceAfterMicroVnd: balanceBeforeMicroVnd + amountMicroVnd,
        ...(authority?.kind === "approved" && { requestedBy: authority.requestedBy.email }),
      };
      addAuditLine(operation, operator, {
        act: "wallet_adjusted",
        subject: accountId,
        detail: `${operationId}: ${reason}`,
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
      return { done: { ok: true, ...result } };
    case "insufficient":
      return {
        done: { ok: false, why: "insufficient", availableMicroVnd: result.availableMicroVnd },
      };
    case "mismatch":
      return { done: { ok: false, why: "state", entry: result.entry } };
    case "conflict":
      return "again";
  }
}
