/** Looks for receipts and calls that do not name each other, where money alone may come out right. */
import { InvariantError } from "../../../../core/lib/base/assert.ts";
import type { AccountId, RequestId } from "../../../../core/lib/ids/ids.ts";
import type { TimeSlices } from "../../../../core/lib/time/time_slices.ts";
import { receiptPageKey, receiptsPrefix } from "../../../engine/schema/keys.ts";
import { maxReceiptsPerRead, readReceipts } from "../../../money/receipts/receipts.ts";
import { decodeReceiptPage } from "../../../money/receipts/receipt_pages.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { wholeKind } from "../../../engine/store/read_ahead.ts";
import { groupsOf, inParallel } from "../../../engine/store/in_parallel.ts";
import { indexedIds } from "./account_index.ts";
import { hash, isIndexed, type ScanBounds, type Tally } from "./scan_sums.ts";
import type { Problem } from "../checks/problems.ts";
import { readable, readableBatches } from "../checks/readable_rows.ts";

/** Calls in memory at once, some 50 MB; with more of them a part of the ids is compared at a time. */
const defaultCallsAtOnce = 200_000;

/** Calls to look at. */
export interface StrayCallsOptions {
  readonly bounds: Pick<ScanBounds, "startId" | "recentStart">;
  readonly slices: TimeSlices | undefined;
  readonly callsAtOnce?: number;
}

/**
 * Finds receipts that neither the index nor a batch names, and calls of batches and of the index without a receipt, which
 * shows only in a reading of all receipts. Batches are read first, since each was written with its receipts; then
 * receipts, batches again, and the index: a receipt is in its batch until the index has it. So calls that are settled
 * meanwhile look right; those that only the index named are looked up at the end.
 */
export async function strayCalls(
  kv: KeyValueStore,
  doubtful: ReadonlyMap<AccountId, Tally>,
  options: StrayCallsOptions,
): Promise<Problem[]> {
  if (doubtful.size === 0) return [];
  // Each doubling halves what is in memory, so that it fits at last.
  for (let parts = 1;; parts *= 2) {
    const found = await strayInParts(kv, doubtful, parts, options);
    if (found !== undefined) return problemsOf(found);
  }
}

interface StrayCalls {
  /** Accounts with receipts that nothing names. */
  readonly unindexed: Set<AccountId>;
  /** Calls without a receipt, by account. */
  readonly missing: Map<AccountId, number>;
}

function problemsOf({ missing, unindexed }: StrayCalls): Problem[] {
  const index = (accountId: AccountId, detail: string): Problem => {
    return { accountId, kind: "index", detail };
  };
  return [
    ...[...missing].map(([id, calls]) => index(id, `${calls} receipts are missing`)),
    ...[...unindexed].map((id) => index(id, "receipts and index differ")),
  ];
}

/** Finds the stray calls, a part of the ids at a time. Returns nothing if a part has too many calls for the memory. */
async function strayInParts(
  kv: KeyValueStore,
  doubtful: ReadonlyMap<AccountId, Tally>,
  parts: number,
  { bounds: { startId, recentStart }, slices, callsAtOnce = defaultCallsAtOnce }: StrayCallsOptions,
): Promise<StrayCalls | undefined> {
  const isOldRight = [...doubtful.values()].every((tally) => isIndexed(tally).old);
  const from = isOldRight && recentStart > startId ? recentStart : startId;
  const stray: StrayCalls = { unindexed: new Set(), missing: new Map() };
  for (let part = 0; part < parts; part++) {
    const isOurs = (accountId: AccountId, requestId: RequestId) =>
      requestId >= from && doubtful.has(accountId) && hash(requestId) % parts === part;
    const accounts = doubtful.keys();
    const asked = { accounts, from, isOurs, slices, callsAtOnce };
    if (!await addStrayCalls(kv, stray, asked)) return undefined;
  }
  return stray;
}

/** Adds the stray calls among some. Returns false if there are too many for the memory. */
async function addStrayCalls(
  kv: KeyValueStore,
  stray: StrayCalls,
  { accounts, from, isOurs, slices, callsAtOnce }: {
    readonly accounts: Iterable<AccountId>;
    readonly from: string;
    readonly isOurs: (accountId: AccountId, requestId: RequestId) => boolean;
    readonly slices: TimeSlices | undefined;
    readonly callsAtOnce: number;
  },
): Promise<boolean> {
  const inBatches = new Map<RequestId, AccountId>();
  for await (const { parts } of readableBatches(kv)) {
    for (const { accountId, requestIds } of parts) {
      for (const id of requestIds) if (isOurs(accountId, id)) inBatches.set(id, accountId);
    }
  }
  const unindexed = new Map<RequestId, AccountId>();
  const prefix = receiptsPrefix();
  const selector = from === "" ? { prefix } : { prefix, start: receiptPageKey(from) };
  for await (const page of wholeKind<unknown>(kv, selector, slices)) {
    for (const { accountId, requestId } of readable(() => decodeReceiptPage(page))) {
      if (inBatches.get(requestId) === accountId) inBatches.delete(requestId);
      if (isOurs(accountId, requestId)) unindexed.set(requestId, accountId);
    }
    if (unindexed.size > callsAtOnce) return false;
  }
  /** Whether a receipt of the account waited for its name, which it has now. */
  const named = (accountId: AccountId, requestId: RequestId): boolean =>
    unindexed.get(requestId) === accountId && unindexed.delete(requestId);
  for await (const { parts } of readableBatches(kv)) {
    for (const { accountId, requestIds } of parts) {
      for (const id of requestIds) named(accountId, id);
    }
  }
  const miss = (accountId: AccountId) =>
    stray.missing.set(accountId, (stray.missing.get(accountId) ?? 0) + 1);
  await inParallel(accounts, async (accountId) => {
    const { ids } = await indexedIds(kv, accountId, from);
    const unseen = ids.filter((id) => isOurs(accountId, id) && !named(accountId, id));
    for (const some of groupsOf(unseen, maxReceiptsPerRead)) {
      for (const id of await withoutReceipt(kv, accountId, some)) {
        miss(accountId);
        inBatches.delete(id);
      }
      await slices?.rest();
    }
  });
  for (const accountId of inBatches.values()) miss(accountId);
  for (const accountId of unindexed.values()) stray.unindexed.add(accountId);
  return true;
}

/** Returns those calls of an account that have no receipt. One that cannot be read is one; the scan has reported it. */
async function withoutReceipt(
  kv: KeyValueStore,
  accountId: AccountId,
  ids: readonly RequestId[],
): Promise<readonly RequestId[]> {
  try {
    const receipts = (await readReceipts(kv, ids)).filter((one) => one.accountId === accountId);
    const found = new Set(receipts.map(({ requestId }) => requestId));
    return ids.filter((id) => !found.has(id));
  } catch (error) {
    if (!(error instanceof InvariantError)) throw error;
    if (ids.length < 2) return [];
    const half = Math.ceil(ids.length / 2);
    return [
      ...await withoutReceipt(kv, accountId, ids.slice(0, half)),
      ...await withoutReceipt(kv, accountId, ids.slice(half)),
    ];
  }
}
