/**
 * Checks one account exactly, also while it is used: a reading counts only if nothing changed
 * during it.
 *
 * - Folder `kv/services/verify/checks/`: each rule of the books once, for one account or one kind of row.
 * - In: rows of the store, and what they have to agree with.
 * - Out: problems, by account and kind.
 * - Never: decides which rows are looked at; full and recent verification do that.
 */
import type { AccountId, InstanceId, LedgerId, RequestId } from "../../../../core/lib/ids/ids.ts";
import type { TimeSlices } from "../../../../core/lib/time/time_slices.ts";
import { listBatches } from "../../../engine/store/batches.ts";
import {
  ledgerOperationIdOf,
  ledgerOperationsPrefix,
  ledgerPrefix,
} from "../../../engine/schema/keys.ts";
import type { LedgerEntry } from "../../../money/ledger/ledger.ts";
import { type LeaseRow, readLeasesOf } from "../../../money/balances/leases.ts";
import { indexedAmong } from "../../../money/receipts/receipt_index.ts";
import { refundDisagreements } from "./verify_refunds.ts";
import {
  checkIndexedCalls,
  KnownReceipts,
  type ProvedSums,
  readDaySums,
  sumReceipts,
  versionOf,
} from "./verify_sums.ts";
import { readWallet } from "../../../money/balances/wallets.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { listBatchRows } from "../../../engine/store/read_ahead.ts";

// Checks that each line of the ledger equals the row of its operation, and that each such row has
// its line. Otherwise a cause could have moved money twice, or could do so again.

/** Computes a text that is equal for a line and the row of its operation. */
export function ledgerFingerprint(entry: LedgerEntry): string {
  const { ledgerId, accountId, amountMicroVnd, kind, operationId } = entry;
  return [ledgerId, accountId, amountMicroVnd, kind, operationId].join(" ");
}

/**
 * Lists the differences between the lines of one account and their operations. Reads every
 * operation of the store, since these rows are found by their cause only; the lines of the account
 * bound the memory.
 */
async function ledgerDisagreements(
  kv: KeyValueStore,
  accountId: AccountId,
): Promise<string[]> {
  const found: string[] = [];
  const lines = new Map<LedgerId, LedgerEntry>();
  const page = { batchSize: listBatchRows };
  for await (const { value } of kv.list<LedgerEntry>({ prefix: ledgerPrefix(accountId) }, page)) {
    if (value.accountId === accountId) lines.set(value.ledgerId, value);
    else found.push(`the line ${value.ledgerId} names another account`);
  }
  for await (const row of kv.list<LedgerEntry>({ prefix: ledgerOperationsPrefix() }, page)) {
    const operation = row.value;
    const cause = ledgerOperationIdOf(row.key);
    if (operation.accountId !== accountId) continue;
    const line = lines.get(operation.ledgerId);
    lines.delete(operation.ledgerId);
    if (line === undefined) {
      found.push(`${cause} has moved money, but its line is missing`);
    } else if (
      ledgerFingerprint(line) !== ledgerFingerprint(operation) || cause !== line.operationId
    ) {
      found.push(`${cause} and its line ${line.ledgerId} disagree`);
    }
  }
  for (const { ledgerId, operationId } of lines.values()) {
    found.push(`the line ${ledgerId} is not the one that ${operationId} wrote`);
  }
  return found;
}

/** Readings of an account in use before it is reported as changing. */
const verifyAccountAttempts = 5;

/** A violated invariant. */
export interface Problem {
  readonly accountId?: AccountId;
  readonly kind:
    | "balance"
    | "catalog"
    | "claim"
    | "credit"
    | "index"
    | "ledger"
    | "refund"
    | "rollup"
    | "row"
    | "seal"
    | "twice"
    | "video";
  readonly detail: string;
}

/** A charge of a batch to the lease of an account. */
export interface PendingCharge {
  readonly instanceId: InstanceId;
  readonly commit: number;
  readonly chargedMicroVnd: bigint;
}

/** Computes what is left of a lease from its row and the later batches of its instance. */
export function leaseLeftMicroVnd(lease: LeaseRow, charges: Iterable<PendingCharge>): bigint {
  let leftMicroVnd = lease.remainingMicroVnd;
  for (const { instanceId, commit, chargedMicroVnd } of charges) {
    if (instanceId === lease.instanceId && commit > lease.asOfCommit) {
      leftMicroVnd -= chargedMicroVnd;
    }
  }
  return leftMicroVnd;
}

/** What an account has at one moment. */
export interface Holdings {
  readonly availableMicroVnd: bigint;
  readonly leasedMicroVnd: bigint;
  readonly negativeLease: boolean;
  readonly tail: readonly RequestId[];
  /** Equal for two readings if and only if nothing changed in between. */
  readonly version: string;
}

/** Reads what an account has. */
export async function readHoldings(kv: KeyValueStore, accountId: AccountId): Promise<Holdings> {
  const wallet = await readWallet(kv, accountId);
  const leases = await readLeasesOf(kv, accountId);
  const charges: PendingCharge[] = [];
  const tail: RequestId[] = [];
  for await (const { instanceId, commit, parts } of listBatches(kv)) {
    for (const part of parts) {
      if (part.accountId !== accountId) continue;
      charges.push({ instanceId, commit, chargedMicroVnd: part.chargedMicroVnd });
      tail.push(...part.requestIds);
    }
  }
  const left = leases.map((lease) => leaseLeftMicroVnd(lease, charges));
  return {
    availableMicroVnd: wallet.availableMicroVnd,
    leasedMicroVnd: left.reduce((sum, leftMicroVnd) => sum + leftMicroVnd, 0n),
    negativeLease: left.some((leftMicroVnd) => leftMicroVnd < 0n),
    tail,
    version: [wallet.versionstamp, ...leases.map((lease) => lease.versionstamp), ...tail].join(),
  };
}

/** Knowledge from the scan, and how to let calls run in between. */
export interface AccountCheckOptions {
  readonly known: ProvedSums;
  readonly slices: TimeSlices | undefined;
  /**
   * Accounts whose ledger lines and operations differed in the scan: only theirs are compared one
   * by one, since that reads the operations of all accounts. Absent: every account's.
   */
  readonly doubtfulLedgers?: ReadonlySet<AccountId> | undefined;
}

/** Checks one account. `moving`: it kept changing; repeat when it is quieter. */
export async function verifyAccount(
  kv: KeyValueStore,
  accountId: AccountId,
  { known, slices, doubtfulLedgers }: AccountCheckOptions,
): Promise<Problem[] | "moving"> {
  const receipts = new KnownReceipts();
  const isLedgerDoubtful = doubtfulLedgers?.has(accountId) ?? true;
  for (let attempt = 0; attempt < verifyAccountAttempts; attempt++) {
    const before = await readHoldings(kv, accountId);
    const stored = await readDaySums(kv, accountId);
    let movedMicroVnd = 0n;
    for await (const { value } of kv.list<LedgerEntry>({ prefix: ledgerPrefix(accountId) })) {
      movedMicroVnd += value.amountMicroVnd;
    }
    const disagreements = isLedgerDoubtful ? await ledgerDisagreements(kv, accountId) : [];
    const refunds = await refundDisagreements(kv, accountId);
    const indexed = await checkIndexedCalls(kv, accountId, { stored, known, slices, receipts });
    const inIndex = await indexedAmong(kv, accountId, before.tail);
    const unindexedIds = before.tail.filter((requestId) => !inIndex.has(requestId));
    const unindexed = await sumReceipts(kv, unindexedIds, { slices, receipts });
    const sums = await readDaySums(kv, accountId);
    const after = await readHoldings(kv, accountId);
    if (before.version !== after.version || versionOf(stored) !== versionOf(sums)) continue;
    const chargedMicroVnd = indexed.costMicroVnd + unindexed.costMicroVnd;
    const missing = indexed.missing + unindexed.missing;
    return [
      ...balanceProblems(accountId, after, movedMicroVnd, chargedMicroVnd),
      ...disagreements.map((detail) => ({ accountId, kind: "ledger" as const, detail })),
      ...refunds.map((detail) => ({ accountId, kind: "refund" as const, detail })),
      ...(missing > 0
        ? [{ accountId, kind: "index" as const, detail: `${missing} receipts are missing` }]
        : []),
      ...indexed.wrongSums.map((id) => {
        return { accountId, kind: "rollup" as const, detail: `the day sum ${id} is wrong` };
      }),
    ];
  }
  return "moving";
}

/** Compares what an account has with what moved and was charged. */
export function balanceProblems(
  accountId: AccountId,
  holdings: Holdings,
  movedMicroVnd: bigint,
  chargedMicroVnd: bigint,
): Problem[] {
  const problems: Problem[] = [];
  const worth = holdings.availableMicroVnd + holdings.leasedMicroVnd;
  if (holdings.negativeLease) {
    problems.push({ accountId, kind: "balance", detail: "more was charged than was leased" });
  }
  if (worth !== movedMicroVnd - chargedMicroVnd) {
    problems.push({
      accountId,
      kind: "balance",
      detail: `available ${holdings.availableMicroVnd} + leased ${holdings.leasedMicroVnd} is ` +
        `${worth - movedMicroVnd + chargedMicroVnd} µVND off from ledger ${movedMicroVnd} − ` +
        `charges ${chargedMicroVnd}`,
    });
  }
  return problems;
}
