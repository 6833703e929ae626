/**
 * Checks accounts again that looked wrong, or were in use, during a scan of recent days.
 *
 * Each is read at a moment of its own: wallet, leases and ledger between two equal readings, index and day sums between
 * two others. Which receipts count at that moment follows from the commits in which they were settled (`BatchWatch`),
 * so an account is verified although it is in use. Accounts that do not come out right are checked by
 * `exact_account.ts`, which alone decides that something is wrong.
 */
import {
  type AccountId,
  beforeIdsOf,
  type InstanceId,
  type RequestId,
} from "../../../../core/lib/ids/ids.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import type { TimeSlices } from "../../../../core/lib/time/time_slices.ts";
import type { Writable } from "../../../../core/lib/base/assert.ts";
import type { LedgerEntry } from "../../../money/ledger/ledger.ts";
import {
  addReceipt,
  addUsage,
  daySumCell,
  noUsage,
  sameUsage,
  type UsageSum,
} from "../../../money/receipts/day_sums.ts";
import { decodeReceiptPage } from "../../../money/receipts/receipt_pages.ts";
import {
  ledgerByTimeKey,
  ledgerFromSelector,
  ledgerPrefix,
  receiptPageKey,
  receiptsPrefix,
} from "../../../engine/schema/keys.ts";
import { keysPerRead, type KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { readAhead, wholeKind } from "../../../engine/store/read_ahead.ts";
import { type LeaseRow, readLeasesOf } from "../../../money/balances/leases.ts";
import { readWallet } from "../../../money/balances/wallets.ts";
import { groupsOf, inParallel } from "../../../engine/store/in_parallel.ts";
import { indexedIds } from "./account_index.ts";
import { isIndexed, openDaySums, type ScanBounds, type ScanSums } from "./scan_sums.ts";
import { readable, readableBatches } from "../checks/readable_rows.ts";
import { type DaySums, sumId, versionOf } from "../checks/verify_sums.ts";
import { sleepUnless } from "../../../../core/lib/time/sleep.ts";

// Records in which commit calls were settled, while batch rows come and go. A lease row says up to which commit charges
// are subtracted from it, so with the commits of all calls a wallet in use can be verified as of the moment when its
// rows were read, without waiting for a moment in which nothing happens.

/** Milliseconds between two readings: a batch row exists for at least half a second. */
const pollEveryMs = 100;

/** Calls that are recorded at most: some 100 MB. A longer watch decides nothing about further calls. */
const maxCalls = 500_000;

/** Call with the place where it was settled. */
export interface WatchedCall {
  readonly instanceId: InstanceId;
  readonly commit: number;
  /** The number of the reading that saw it first. */
  readonly poll: number;
}

/** Watches the batches of some accounts until it is disposed of. */
class BatchWatch implements AsyncDisposable {
  readonly #kv: KeyValueStore;
  readonly #accounts: ReadonlySet<AccountId>;
  readonly #calls = new Map<RequestId, WatchedCall>();
  readonly #running: Promise<void>;
  #polls = 0;
  readonly #stop = new AbortController();
  #current: Promise<void> = Promise.resolve();

  constructor(kv: KeyValueStore, accounts: ReadonlySet<AccountId>) {
    this.#kv = kv;
    this.#accounts = accounts;
    this.#running = this.#run();
    // Told by `poll`, whoever awaits it.
    this.#running.catch(() => {});
  }

  /** Number of readings that are complete. */
  get polls(): number {
    return this.#polls;
  }

  /** Whether calls were left out. */
  get isFull(): boolean {
    return this.#calls.size >= maxCalls;
  }

  find(requestId: RequestId): WatchedCall | undefined {
    return this.#calls.get(requestId);
  }

  /** Reads the batches once more, from their begin on. */
  async poll(): Promise<void> {
    this.#current = this.#current.then(() => this.#read());
    await this.#current;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.poll();
      await sleepUnless(pollEveryMs, this.#stop.signal);
    }
  }

  async #read(): Promise<void> {
    for await (const { instanceId, commit, parts } of readableBatches(this.#kv)) {
      for (const { accountId, requestIds } of parts) {
        if (!this.#accounts.has(accountId)) continue;
        for (const requestId of requestIds) {
          if (this.isFull) return;
          if (this.#calls.has(requestId)) continue;
          this.#calls.set(requestId, { instanceId, commit, poll: this.#polls + 1 });
        }
      }
    }
    this.#polls++;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running.catch(() => {});
  }
}

/** Readings of an account until two in a row are equal. */
const stableReadAttempts = 5;

/** Rounds over the accounts that did not come out right: each sees them at another moment. */
const rounds = 3;

/** Milliseconds between two rounds. */
const roundPauseMs = 300;

/** Needs of a second look. */
export interface SecondLookOptions {
  readonly bounds: ScanBounds;
  /** The sums of the scan, of which those of old calls are final. */
  readonly sums: ScanSums;
  readonly slices: TimeSlices | undefined;
  readonly pause: (durationMs: number) => Promise<void>;
}

/** An account at a moment. */
interface AccountSnapshot {
  readonly stored: DaySums;
  readonly indexed: ReadonlySet<RequestId>;
  readonly leases: ReadonlyMap<InstanceId, LeaseRow>;
  /** Available and leased by the rows, without the charges that lease rows lack. */
  readonly rowsMicroVnd: bigint;
  readonly ledgerMicroVnd: bigint;
  /** Readings of the batches that were complete before. */
  readonly polls: number;
  /** Charges of recent calls that the rows have subtracted. */
  chargedMicroVnd: bigint;
  /** Day sums of the recent calls that are indexed. */
  readonly cells: Map<string, Writable<UsageSum>>;
  /** Indexed calls whose receipts were read. */
  found: number;
  isDoubtful: boolean;
}

/** Returns the accounts that did not come out right. */
export async function recheck(
  kv: KeyValueStore,
  suspects: Iterable<AccountId>,
  options: SecondLookOptions,
): Promise<Set<AccountId>> {
  let left = new Set(suspects);
  for (let round = 0; round < rounds && left.size > 0; round++) {
    if (round > 0) await options.pause(roundPauseMs);
    left = await oneRound(kv, left, options);
  }
  return left;
}

async function oneRound(
  kv: KeyValueStore,
  suspects: ReadonlySet<AccountId>,
  options: SecondLookOptions,
): Promise<Set<AccountId>> {
  const snapshots = new Map<AccountId, AccountSnapshot>();
  await using watch = new BatchWatch(kv, suspects);
  await watch.poll();
  await inParallel(suspects, async (accountId) => {
    const snapshot = await snapshotOf(kv, accountId, watch, options);
    if (snapshot !== undefined) snapshots.set(accountId, snapshot);
  });
  // What was settled before the last snapshot is in the batches now, or was seen there.
  await watch.poll();
  if (watch.isFull) return new Set(suspects);
  await addRecentReceipts(kv, snapshots, watch, options);
  const left = new Set<AccountId>();
  for (const accountId of suspects) {
    const snapshot = snapshots.get(accountId);
    if (snapshot === undefined || !isRight(accountId, snapshot, options)) left.add(accountId);
  }
  return left;
}

/** Reads an account at a moment; nothing if it kept changing. */
async function snapshotOf(
  kv: KeyValueStore,
  accountId: AccountId,
  watch: BatchWatch,
  { bounds, sums }: SecondLookOptions,
): Promise<AccountSnapshot | undefined> {
  const { sumStartId, recentStart, start } = bounds;
  const from = sumStartId > recentStart ? sumStartId : recentStart;
  const readDaySums = () => openDaySums(kv, accountId, bounds);
  const derived = await readStable(readDaySums, versionOf, () => indexedIds(kv, accountId, from));
  if (derived === undefined || derived.inside.problems.length > 0) return undefined;
  const polls = watch.polls;
  const readRows = async () => {
    const [wallet, leases] = await Promise.all([
      readWallet(kv, accountId),
      readLeasesOf(kv, accountId),
    ]);
    return { wallet, leases };
  };
  const held = await readStable(
    readRows,
    ({ wallet, leases }) => [wallet, ...leases].map((row) => row.versionstamp).join(),
    () => linesSince(kv, accountId, start?.atMs),
  );
  if (held === undefined) return undefined;
  const ledgerMicroVnd = held.inside.reduce((sum, line) => sum + line.amountMicroVnd, 0n);
  const isNews = ledgerMicroVnd !== sums.tally(accountId).ledgerMicroVnd;
  if (isNews && !await haveCopies(kv, held.inside)) return undefined;
  const { wallet, leases } = held.around;
  return {
    stored: derived.around,
    indexed: new Set(derived.inside.ids),
    leases: new Map(leases.map((lease) => [lease.instanceId, lease])),
    rowsMicroVnd: leases.reduce(
      (sum, { remainingMicroVnd }) => sum + remainingMicroVnd,
      wallet.availableMicroVnd,
    ),
    ledgerMicroVnd,
    polls,
    chargedMicroVnd: 0n,
    cells: new Map(),
    found: 0,
    isDoubtful: false,
  };
}

/** Reads one thing between two equal readings of another. */
async function readStable<Around, Inside>(
  around: () => Promise<Around>,
  version: (read: Around) => string,
  inside: () => Promise<Inside>,
): Promise<{ readonly around: Around; readonly inside: Inside } | undefined> {
  let before = await around();
  for (let attempt = 0; attempt < stableReadAttempts; attempt++) {
    const read = await inside();
    const after = await around();
    if (version(before) === version(after)) return { around: after, inside: read };
    before = after;
  }
  return undefined;
}

/** Whether lines that the scan may not have seen are among the copies by time. */
async function haveCopies(kv: KeyValueStore, lines: readonly LedgerEntry[]): Promise<boolean> {
  for (const group of groupsOf(lines, keysPerRead)) {
    const keys = group.map(({ ledgerId }) => ledgerByTimeKey(ledgerId));
    const copies = await kv.getMany<unknown[]>(keys);
    if (copies.some(({ versionstamp }) => versionstamp === null)) return false;
  }
  return true;
}

/** Reads the ledger lines of an account from a moment on; all if there is no moment. */
export async function linesSince(
  kv: KeyValueStore,
  accountId: AccountId,
  fromMs: number | undefined,
): Promise<LedgerEntry[]> {
  const selector = fromMs === undefined
    ? { prefix: ledgerPrefix(accountId) }
    : ledgerFromSelector(accountId, beforeIdsOf("ledger", fromMs));
  const rows = readAhead<LedgerEntry>(kv, selector);
  return await Array.fromAsync(rows, ({ value }) => value);
}

async function addRecentReceipts(
  kv: KeyValueStore,
  snapshots: ReadonlyMap<AccountId, AccountSnapshot>,
  watch: BatchWatch,
  { bounds, slices }: SecondLookOptions,
): Promise<void> {
  const { sumStartId, recentStart } = bounds;
  const from = sumStartId > recentStart ? sumStartId : recentStart;
  const prefix = receiptsPrefix();
  const selector = from === "" ? { prefix } : { prefix, start: receiptPageKey(from) };
  for await (const page of wholeKind<unknown>(kv, selector, slices)) {
    for (const receipt of readable(() => decodeReceiptPage(page))) {
      const snapshot = snapshots.get(receipt.accountId);
      if (snapshot === undefined || receipt.requestId <= recentStart) continue;
      addRecentReceipt(snapshot, receipt, watch, bounds);
    }
  }
}

function addRecentReceipt(
  snapshot: AccountSnapshot,
  receipt: Receipt,
  watch: BatchWatch,
  bounds: ScanBounds,
): void {
  const { requestId, costMicroVnd } = receipt;
  const isIndexed = snapshot.indexed.has(requestId);
  if (isIndexed) {
    snapshot.found++;
    const cell = daySumCell(receipt);
    if (bounds.start === undefined || cell.day >= bounds.start.day) {
      const id = sumId(cell);
      const sum = snapshot.cells.get(id) ?? { ...noUsage };
      addReceipt(sum, receipt);
      snapshot.cells.set(id, sum);
    }
  }
  if (requestId < bounds.startId) return;
  const settled = watch.find(requestId);
  if (settled === undefined) {
    // Indexed before the watch began, so the lease row has it; else settled later.
    if (isIndexed) snapshot.chargedMicroVnd += costMicroVnd;
    return;
  }
  const lease = snapshot.leases.get(settled.instanceId);
  if (lease !== undefined) {
    if (settled.commit <= lease.asOfCommit) snapshot.chargedMicroVnd += costMicroVnd;
  } else if (isIndexed || settled.poll <= snapshot.polls) {
    // The lease was used up or returned after the charge, else it would still be there.
    snapshot.chargedMicroVnd += costMicroVnd;
  } else snapshot.isDoubtful = true;
}

function isRight(
  accountId: AccountId,
  snapshot: AccountSnapshot,
  { sums }: SecondLookOptions,
): boolean {
  const tally = sums.tallies.get(accountId);
  if (tally === undefined || snapshot.isDoubtful || snapshot.found !== snapshot.indexed.size) {
    return false;
  }
  if (!isIndexed(tally).old) return false;
  const charged = tally.oldChargedMicroVnd + snapshot.chargedMicroVnd;
  if (snapshot.rowsMicroVnd !== tally.openingMicroVnd + snapshot.ledgerMicroVnd - charged) {
    return false;
  }
  let printed = 0;
  const right = new Map(snapshot.cells);
  for (const [id, { cell, old }] of sums.cellsOf(accountId)) {
    if (cell.accountId === accountId) right.set(id, addUsage(old, right.get(id) ?? noUsage));
  }
  for (const [id, { sum }] of snapshot.stored) {
    if (!right.has(id) && sums.prints.isSame(id, sum)) {
      printed++;
      continue;
    }
    if (!sameUsage(sum, right.get(id) ?? noUsage)) return false;
    right.delete(id);
  }
  return printed === sums.prints.countOf(tally.number) &&
    [...right.values()].every((sum) => sameUsage(sum, noUsage));
}
