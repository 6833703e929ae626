/**
 * Verifies the days that are not sealed yet, and every wallet against its sealed balance, in as many passes over those
 * days as the memory needs.
 *
 * - Folder `kv/services/verify/recent/`: verification of the days since the last checkpoint.
 * - In: a store in use, and the balances that the last checkpoint sealed.
 * - Out: problems of those days, and of wallets against their sealed balances.
 * - Never: reports an account at the first sight: what changed meanwhile is looked at again.
 */
import { InvariantError } from "../../../../core/lib/base/assert.ts";
import { type AccountId, beforeIdsOf, type RequestId } from "../../../../core/lib/ids/ids.ts";
import type { TimeSlices } from "../../../../core/lib/time/time_slices.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import {
  claimCellOf,
  claimDaysRange,
  ledgerByTimeKey,
  ledgerOperationKey,
  receiptPageKey,
  receiptsPrefix,
} from "../../../engine/schema/keys.ts";
import { claimSum, ClaimSums } from "../../../money/ledger/provider_claims.ts";
import { decodeReceiptPage } from "../../../money/receipts/receipt_pages.ts";
import { listBatches } from "../../../engine/store/batches.ts";
import { keysPerRead, type KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { readAhead, wholeKind } from "../../../engine/store/read_ahead.ts";
import { openWithoutTask, verifyVideosOf } from "../../videos/mod.ts";
import { type DayBalance, DayBalancePages } from "../days/day_balances.ts";
import { DayDigests } from "../days/day_digests.ts";
import { groupsOf, inParallel } from "../../../engine/store/in_parallel.ts";
import { indexedIds } from "./recent_index.ts";
import { RecentScan } from "./recent_scan.ts";
import { linesSince, recheck } from "./recent_second_look.ts";
import { type RecentBounds, recentDaySums, type RecentSums } from "./recent_sums.ts";
import {
  balanceProblems,
  type Holdings,
  ledgerFingerprint,
  type Problem,
  readHoldings,
  verifyAccount,
} from "../checks/verify_account.ts";
import { catalogProblems, claimDisagreements } from "../checks/verify_catalog.ts";
import { creditProblems } from "../checks/verify_credits.ts";
import { copiedCells, copyDisagreements } from "../checks/verify_day_copies.ts";
import { type AccountPrints, isIndexed, readable } from "../checks/verify_index.ts";
import { refundDisagreements } from "../checks/verify_refunds.ts";
import type { LedgerEntry } from "../../../money/ledger/ledger.ts";
import {
  addReceipts,
  daySumCell,
  noUsage,
  sameUsage,
  type UsageSum,
} from "../../../money/receipts/day_sums.ts";
import { KnownReceipts, sumId, versionOf } from "../checks/verify_sums.ts";

// Checks one account exactly from the first day that is not sealed: a reading counts only if nothing changed during it.

/** Readings of an account in use before it is reported as changing. */
const attempts = 5;

/** Receipts in memory at once. */
const receiptsAtOnce = 1_000;

/** What is known of an account. */
export interface RecentAccountOptions {
  readonly bounds: RecentBounds;
  readonly openingMicroVnd: bigint;
  readonly slices: TimeSlices | undefined;
}

/** Checks an account. `moving`: it kept changing; repeat when it is quieter. */
async function verifyRecentAccount(
  kv: KeyValueStore,
  accountId: AccountId,
  options: RecentAccountOptions,
): Promise<Problem[] | "moving"> {
  const { bounds, openingMicroVnd, slices } = options;
  const receipts = new KnownReceipts();
  for (let attempt = 0; attempt < attempts; attempt++) {
    const before = await readHoldings(kv, accountId);
    const stored = await recentDaySums(kv, accountId, bounds);
    const lines = await linesSince(kv, accountId, bounds.start?.atMs);
    const lineProblems = await problemsOfLines(kv, accountId, lines);
    const index = await indexedIds(kv, accountId, bounds.sumStartId);
    const calls = await sumCalls(kv, {
      holdings: before,
      indexed: index.ids,
      bounds,
      slices,
      receipts,
    });
    const sums = await recentDaySums(kv, accountId, bounds);
    const after = await readHoldings(kv, accountId);
    if (before.version !== after.version || versionOf(stored) !== versionOf(sums)) continue;
    const moved = lines.reduce((sum, line) => sum + line.amountMicroVnd, openingMicroVnd);
    const problems = [...index.problems, ...lineProblems];
    problems.push(...balanceProblems(accountId, after, moved, calls.costMicroVnd));
    if (calls.missing > 0) {
      const detail = `${calls.missing} receipts are missing`;
      problems.push({ accountId, kind: "index", detail });
    }
    for (const id of new Set([...stored.keys(), ...calls.sums.keys()])) {
      if (sameUsage(stored.get(id)?.sum ?? noUsage, calls.sums.get(id) ?? noUsage)) continue;
      problems.push({ accountId, kind: "rollup", detail: `the day sum ${id} is wrong` });
    }
    return await explained(kv, accountId, problems, options);
  }
  return "moving";
}

/** Sums the receipts of an account since the start: those in the index, and those of batches. */
async function sumCalls(
  kv: KeyValueStore,
  { holdings, indexed, bounds, slices, receipts }: {
    readonly holdings: Holdings;
    readonly indexed: readonly RequestId[];
    readonly bounds: RecentBounds;
    readonly slices: TimeSlices | undefined;
    readonly receipts: KnownReceipts;
  },
) {
  const inIndex = new Set(indexed);
  const unindexed = holdings.tail.filter((id) => !inIndex.has(id) && id >= bounds.startId);
  const sums = new Map<string, UsageSum>();
  let costMicroVnd = 0n;
  let found = 0;
  for (const ids of groupsOf([...indexed, ...unindexed], receiptsAtOnce)) {
    for (const receipt of await receipts.read(kv, ids)) {
      found++;
      if (receipt.requestId >= bounds.startId) costMicroVnd += receipt.costMicroVnd;
      const cell = daySumCell(receipt);
      const isCounted = bounds.start === undefined || cell.day >= bounds.start.day;
      if (!isCounted || !inIndex.has(receipt.requestId)) continue;
      const id = sumId(cell);
      sums.set(id, addReceipts(sums.get(id) ?? noUsage, [receipt]));
    }
    await slices?.rest();
  }
  return { sums, costMicroVnd, missing: indexed.length + unindexed.length - found };
}

/** Compares lines with their copies by time and the rows of their operations. */
async function problemsOfLines(
  kv: KeyValueStore,
  accountId: AccountId,
  lines: readonly LedgerEntry[],
): Promise<Problem[]> {
  const problems: Problem[] = [];
  const found = (detail: string) => problems.push({ accountId, kind: "ledger", detail });
  for (const group of groupsOf(lines, Math.floor(keysPerRead / 2))) {
    const keys = group.flatMap(({ ledgerId, operationId }) => [
      ledgerByTimeKey(ledgerId),
      ledgerOperationKey(operationId),
    ]);
    const rows = await kv.getMany<(LedgerEntry | null)[]>(keys);
    group.forEach((line, at) => {
      const [copy, operation] = [rows[2 * at]?.value, rows[2 * at + 1]?.value];
      const print = ledgerFingerprint(line);
      if (copy === null || copy === undefined) {
        found(
          `the line ${line.ledgerId} has no copy by time: an earlier release wrote it, and ` +
            "`admin verify --full` adds the copy, or it was added by hand",
        );
      }
      if (operation === null || operation === undefined || ledgerFingerprint(operation) !== print) {
        found(`the line ${line.ledgerId} is not the one that ${line.operationId} wrote`);
      }
    });
  }
  return problems;
}

/** A balance that all rows of the account prove differs from a sealed one because rows of sealed days changed. */
async function explained(
  kv: KeyValueStore,
  accountId: AccountId,
  problems: Problem[],
  { bounds: { start }, slices }: RecentAccountOptions,
): Promise<Problem[]> {
  if (start === undefined || !problems.some(({ kind }) => kind === "balance")) return problems;
  const known = { versions: new Map<string, string>(), unwritten: new Map() };
  const whole = await verifyAccount(kv, accountId, { known, slices });
  if (whole === "moving" || whole.some(({ kind }) => kind === "balance")) return problems;
  const detail =
    `all rows of the account prove its balance, but not its sealed balance before ${start.day}: ` +
    "rows of sealed days were changed, added or deleted (`admin verify --full` names the days)";
  return [...problems.filter(({ kind }) => kind !== "balance"), {
    accountId,
    kind: "seal",
    detail,
  }];
}

/** Accounts and day sums in memory at once, some 150 MB; more of them take more passes. */
const recentRowsAtOnce = 400_000;

/** Milliseconds of the pauses before further readings of accounts in use. */
const restPausesMs = [200, 1_000, 3_000] as const;

export interface RecentDaysOptions {
  readonly bounds: RecentBounds;
  readonly openings: () => AsyncIterable<DayBalance>;
  readonly slices: TimeSlices | undefined;
  readonly pause: (durationMs: number) => Promise<void>;
  readonly rowsAtOnce?: number | undefined;
}

/** What was found. */
export interface RecentDays {
  readonly problems: readonly Problem[];
  /** Accounts that kept changing. */
  readonly moving: readonly AccountId[];
  readonly digests: DayDigests;
  /** The balances at the end of the last day that is over. */
  readonly closings: DayBalancePages;
  readonly accounts: number;
  readonly receipts: number;
  readonly availableMicroVnd: bigint;
  readonly leasedMicroVnd: bigint;
  readonly owedMicroVnd: bigint;
  readonly ledgerMicroVnd: bigint;
  readonly chargedMicroVnd: bigint;
}

/** Verifies everything since the first day that is not sealed. */
export async function verifyRecentDays(
  kv: KeyValueStore,
  options: RecentDaysOptions,
): Promise<RecentDays> {
  const { bounds, openings, slices } = options;
  const problems: Problem[] = [];
  const moving: AccountId[] = [];
  const digests = new DayDigests();
  const claims = new ClaimSums();
  const closings = new DayBalancePages();
  const totals = { accounts: 0, receipts: 0, available: 0n, leased: 0n, owed: 0n };
  let ledger = 0n;
  let charged = 0n;
  let latestOnReceipts = 0;
  let from: AccountId | undefined;
  do {
    const isFirst = from === undefined;
    const scan: RecentScan = new RecentScan(kv, {
      bounds,
      openings,
      from,
      rowsAtOnce: options.rowsAtOnce ?? recentRowsAtOnce,
      closings,
      digests: isFirst ? digests : undefined,
      claims: isFirst ? claims : undefined,
      slices,
    });
    await scan.run();
    totals.accounts += scan.totals.accounts;
    totals.receipts += scan.receipts;
    latestOnReceipts = Math.max(latestOnReceipts, scan.latestCatalogVersion);
    totals.available += scan.totals.available;
    totals.leased += scan.totals.leased;
    totals.owed += scan.totals.owed;
    for (const tally of scan.sums.tallies.values()) {
      ledger += tally.ledgerMicroVnd;
      charged += tally.chargedMicroVnd;
    }
    problems.push(...scan.problems);
    const second = await settleSuspects(kv, scan, options);
    problems.push(...second.problems);
    moving.push(...second.moving);
    problems.push(...await otherProblems(kv, scan, options));
    const cells = [...scan.sums.cells.values()].filter(({ old, recent }) =>
      old.providers !== undefined || recent?.providers !== undefined
    ).map(({ cell }) => cell);
    problems.push(...await copyDisagreements(kv, cells));
    from = scan.end;
  } while (from !== undefined);
  problems.push(...await copyDisagreements(kv, copiedCells(kv, bounds.start?.day, slices)));
  problems.push(...await claimProblems(kv, claims, bounds));
  for await (const problem of openWithoutTask(kv)) problems.push(problem);
  problems.push(...await catalogProblems(kv, { latestOnReceipts, isFull: false }));
  problems.push(...await creditProblems(kv, { fromMs: bounds.start?.atMs, slices }));
  return {
    problems,
    moving,
    digests,
    closings,
    accounts: totals.accounts,
    receipts: totals.receipts,
    availableMicroVnd: totals.available,
    leasedMicroVnd: totals.leased,
    owedMicroVnd: totals.owed,
    ledgerMicroVnd: ledger,
    chargedMicroVnd: charged,
  };
}

/** Decides about the accounts that the scan suspects. */
async function settleSuspects(
  kv: KeyValueStore,
  scan: RecentScan,
  { bounds, slices, pause }: RecentDaysOptions,
): Promise<{ readonly problems: readonly Problem[]; readonly moving: readonly AccountId[] }> {
  const unreadable = new Set(scan.problems.map(({ accountId }) => accountId));
  const suspects = [...scan.suspects].filter((accountId) => !unreadable.has(accountId));
  const { sums } = scan;
  let left = await recheck(kv, suspects, { bounds, sums, slices, pause });
  const problems: Problem[] = [];
  const doubtful = doubtfulOf(sums, suspects);
  for (const durationMs of [0, ...restPausesMs]) {
    if (left.size === 0) break;
    if (durationMs > 0) await pause(durationMs);
    const moving = new Set<AccountId>();
    for (const accountId of left) {
      const { openingMicroVnd } = sums.tally(accountId);
      const found = await exactProblems(kv, accountId, { bounds, openingMicroVnd, slices });
      if (found === "moving") moving.add(accountId);
      else problems.push(...found);
    }
    left = moving;
  }
  // Money may be right without them: a charge that only a lost batch told was never subtracted.
  const stray = await strayCalls(kv, doubtful, { bounds, slices });
  const known = new Set(
    problems.map(({ accountId, kind, detail }) => [accountId, kind, detail].join()),
  );
  for (const problem of stray) {
    const { accountId, kind, detail } = problem;
    if (!known.has([accountId, kind, detail].join())) problems.push(problem);
  }
  return { problems, moving: [...left] };
}

async function exactProblems(
  kv: KeyValueStore,
  accountId: AccountId,
  options: RecentAccountOptions,
): Promise<Problem[] | "moving"> {
  try {
    return await verifyRecentAccount(kv, accountId, options);
  } catch (error) {
    if (!(error instanceof InvariantError)) throw error;
    return [{ accountId, kind: "row", detail: error.message }];
  }
}

/** The accounts whose receipts were not those of index and batches when the scan read one after the other. */
function doubtfulOf(
  sums: RecentSums,
  suspects: readonly AccountId[],
): ReadonlyMap<AccountId, AccountPrints> {
  const doubtful = new Map<AccountId, AccountPrints>();
  for (const accountId of suspects) {
    const tally = sums.tally(accountId);
    const prints = {
      old: { receipts: tally.oldReceiptsPrint, index: tally.oldIndexPrint },
      recent: { receipts: tally.recentReceiptsPrint, index: tally.recentIndexPrint },
    };
    if (!isIndexed(prints)) doubtful.set(accountId, prints);
  }
  return doubtful;
}

/**
 * Finds receipts that neither the index nor a batch names, and calls of batches without a receipt, which shows only in a
 * reading of all receipts. Batches are read first, since each was written with its receipts; then receipts, batches
 * again, and the index: a receipt is in its batch until the index has it. So calls that are settled meanwhile look right.
 */
async function strayCalls(
  kv: KeyValueStore,
  doubtful: ReadonlyMap<AccountId, AccountPrints>,
  { bounds: { startId, recentStart }, slices }: Pick<RecentDaysOptions, "bounds" | "slices">,
): Promise<Problem[]> {
  if (doubtful.size === 0) return [];
  const isOldRight = [...doubtful.values()].every(({ old }) => old.receipts === old.index);
  const from = isOldRight && recentStart > startId ? recentStart : startId;
  const missing = new Map<RequestId, AccountId>();
  for await (const { parts } of listBatches(kv)) {
    for (const { accountId, requestIds } of parts) {
      if (!doubtful.has(accountId)) continue;
      for (const id of requestIds) if (id >= from) missing.set(id, accountId);
    }
  }
  const unindexed = new Map<RequestId, AccountId>();
  const prefix = receiptsPrefix();
  const selector = from === "" ? { prefix } : { prefix, start: receiptPageKey(from) };
  for await (const page of wholeKind<unknown>(kv, selector, slices)) {
    for (const { accountId, requestId } of readable(() => decodeReceiptPage(page))) {
      missing.delete(requestId);
      if (requestId >= from && doubtful.has(accountId)) unindexed.set(requestId, accountId);
    }
  }
  for await (const { parts } of listBatches(kv)) {
    for (const { requestIds } of parts) for (const id of requestIds) unindexed.delete(id);
  }
  await inParallel(doubtful.keys(), async (accountId) => {
    const { ids } = await indexedIds(kv, accountId, from);
    for (const id of ids) unindexed.delete(id);
  });
  const index = (accountId: AccountId, detail: string): Problem => ({
    accountId,
    kind: "index",
    detail,
  });
  const lost = Map.groupBy(missing.values(), (accountId) => accountId);
  return [
    ...[...lost].map(([id, calls]) => index(id, `${calls.length} receipts are missing`)),
    ...[...new Set(unindexed.values())].map((id) => index(id, "receipts and index differ")),
  ];
}

/** Checks refunds and videos of the accounts that had some. */
async function otherProblems(
  kv: KeyValueStore,
  scan: RecentScan,
  { bounds, pause }: RecentDaysOptions,
): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const accountId of scan.refunded) {
    let found = new Set(await refundDisagreements(kv, accountId));
    if (found.size > 0) {
      // A refund that was made between two reads looks wrong once.
      await pause(restPausesMs[0]);
      found = found.intersection(new Set(await refundDisagreements(kv, accountId)));
    }
    for (const detail of found) problems.push({ accountId, kind: "refund", detail });
  }
  const { startId, start } = bounds;
  const refundStartId = start === undefined ? "" : beforeIdsOf("ledger", start.atMs);
  for (const accountId of scan.filmed.union(scan.refunded)) {
    const videos = verifyVideosOf(kv, accountId, { startId, refundStartId });
    for await (const problem of videos) problems.push(problem);
  }
  return problems;
}

/** Compares the claims on providers of the days that are over, whose rows do not change any more. */
async function claimProblems(
  kv: KeyValueStore,
  receipts: ClaimSums,
  { start, closedEndMs }: RecentBounds,
): Promise<Problem[]> {
  const fromDay = start?.day ?? "";
  const toDay = vietnamDay(closedEndMs - 1);
  if (toDay < fromDay) return [];
  const rows = new ClaimSums();
  const problems: Problem[] = [];
  for await (const entry of readAhead<unknown>(kv, claimDaysRange({ fromDay, toDay }))) {
    try {
      rows.addSum(claimCellOf(entry.key), claimSum(entry));
    } catch (error) {
      const detail = `${entry.key.join(" ")}: ${error instanceof Error ? error.message : error}`;
      problems.push({ kind: "row", detail });
    }
  }
  const closed = new ClaimSums();
  for (const { day, route, ...sum } of receipts.inOrder()) {
    if (day <= toDay) closed.addSum({ day, route }, sum);
  }
  const read = { sums: rows, version: "", problems };
  return claimDisagreements(read, closed, read);
}
