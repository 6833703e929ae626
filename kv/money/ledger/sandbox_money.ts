/**
 * Finds and voids the play money of a sandbox: in production it would buy answers of real providers. Accounts got it
 * once each, by a line of the ledger whose operation id begins with `demo:`.
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { ledgerOperationsSelector, sandboxMoneyEndKey } from "../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { addAuditLine, commandLine } from "../../people/audit/operator_audit.ts";
import { readLeasesOf } from "../balances/leases.ts";
import { readWallet } from "../balances/wallets.ts";
import { debit, type LedgerEntry } from "./ledger.ts";
import { systemReasonText } from "./system_reasons.ts";

/** Rest of an account that can be sandbox money. */
export interface HeldSandboxMoney {
  readonly accountId: AccountId;
  /** At most what the account was given. */
  readonly leftMicroVnd: bigint;
  /** Leased by instances that run or ended without giving it back: it cannot be taken at the moment. */
  readonly isLeased: boolean;
}

/** Result of a run of {@linkcode voidSandboxMoney}. */
export interface VoidedSandboxMoney {
  readonly accounts: number;
  readonly voidedMicroVnd: bigint;
  /** Accounts whose money an instance has leased: stop the gateway and repeat. */
  readonly leased: readonly AccountId[];
}

const givenPrefix = "demo:";
const voidedPrefix = "demo:void:";

/** Sandbox money that was given since the last {@linkcode endSandboxMoney}. */
export interface SandboxMoney {
  /** Whether any was given. */
  readonly wasGiven: boolean;
  /** The accounts that have some left. */
  readonly held: readonly HeldSandboxMoney[];
}

/** Finds sandbox money in a store. */
export async function findSandboxMoney(kv: KeyValueStore): Promise<SandboxMoney> {
  const end = await kv.get<{ readonly atMs: number }>(sandboxMoneyEndKey());
  const endedAtMs = end.value?.atMs ?? -Infinity;
  const given: LedgerEntry[] = [];
  const voided = new Set<AccountId>();
  for await (const { value } of kv.list<LedgerEntry>(ledgerOperationsSelector(givenPrefix))) {
    if (value.operationId.startsWith(voidedPrefix)) voided.add(value.accountId);
    else if (value.atMs > endedAtMs) given.push(value);
  }
  const held: HeldSandboxMoney[] = [];
  for (const { accountId, amountMicroVnd } of given) {
    if (voided.has(accountId)) continue;
    const { availableMicroVnd } = await readWallet(kv, accountId);
    const leases = await readLeasesOf(kv, accountId);
    const leasedMicroVnd = leases.reduce((sum, lease) => sum + lease.remainingMicroVnd, 0n);
    const totalMicroVnd = availableMicroVnd + leasedMicroVnd;
    if (totalMicroVnd <= 0n) continue;
    const leftMicroVnd = totalMicroVnd < amountMicroVnd ? totalMicroVnd : amountMicroVnd;
    held.push({ accountId, leftMicroVnd, isLeased: availableMicroVnd < leftMicroVnd });
  }
  return { wasGiven: given.length > 0, held };
}

/** Notes that no sandbox money is left, so that what accounts pay in later is not taken for it. */
export async function endSandboxMoney(kv: KeyValueStore, nowMs: number): Promise<void> {
  await kv.set(sandboxMoneyEndKey(), { atMs: nowMs });
}

const voidReason = systemReasonText({ kind: "voided" });

/** Adds the audit line of what is taken back. No lease has any of it, so the wallet row has the whole balance. */
async function addVoidLine(
  operation: AtomicWrite,
  kv: KeyValueStore,
  { accountId, leftMicroVnd, nowMs }: Pick<HeldSandboxMoney, "accountId" | "leftMicroVnd"> & {
    readonly nowMs: number;
  },
): Promise<void> {
  const { availableMicroVnd: balanceBeforeMicroVnd } = await readWallet(kv, accountId);
  addAuditLine(operation, commandLine, {
    act: "wallet_adjusted",
    subject: accountId,
    detail: `${voidedPrefix}${accountId}: ${voidReason}`,
    atMs: nowMs,
    money: {
      accountId,
      amountMicroVnd: -leftMicroVnd,
      balanceBeforeMicroVnd,
      balanceAfterMicroVnd: balanceBeforeMicroVnd - leftMicroVnd,
    },
  });
}

/** Takes back what accounts have left of sandbox money, by a line of the ledger each. Safe to repeat. */
export async function voidSandboxMoney(
  kv: KeyValueStore,
  nowMs: number,
): Promise<VoidedSandboxMoney> {
  let accounts = 0;
  let voidedMicroVnd = 0n;
  const leased: AccountId[] = [];
  for (const { accountId, leftMicroVnd, isLeased } of (await findSandboxMoney(kv)).held) {
    const moved = isLeased ? undefined : await debit(kv, {
      accountId,
      amountMicroVnd: leftMicroVnd,
      kind: "demo",
      operationId: `${voidedPrefix}${accountId}`,
      reason: voidReason,
      atMs: nowMs,
      attach: (operation) => addVoidLine(operation, kv, { accountId, leftMicroVnd, nowMs }),
    });
    if (moved?.status === "applied") {
      accounts++;
      voidedMicroVnd += leftMicroVnd;
    } else leased.push(accountId);
  }
  if (leased.length === 0) await endSandboxMoney(kv, nowMs);
  return { accounts, voidedMicroVnd, leased };
}
