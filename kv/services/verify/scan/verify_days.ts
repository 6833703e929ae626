/**
 * Verifies the days from a beginning on, and every wallet against its balance at that moment, in as many passes over
 * those days as the memory needs. Without a beginning it reads all rows, also those that no receipt or line leads to.
 *
 * - Folder `kv/services/verify/scan/`: verification of days: one scan of all accounts, and a second look at those that
 *   it suspects.
 * - In: a store in use, and the balances that the last checkpoint sealed, if there is one.
 * - Out: problems of those days, and of wallets against their balances.
 * - Never: reports an account at the first sight: what changed meanwhile is looked at again.
 */
import { type AccountId, beforeIdsOf } from "../../../../core/lib/ids/ids.ts";
import type { TimeSlices } from "../../../../core/lib/time/time_slices.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { claimCellOf, claimDaysRange } from "../../../engine/schema/keys.ts";
import { claimSum, ClaimSums } from "../../../money/ledger/provider_claims.ts";
import { type KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { readAhead } from "../../../engine/store/read_ahead.ts";
import { openWithoutTask, verifyVideos, verifyVideosOf } from "../../videos/mod.ts";
import { type DayBalance, DayBalancePages } from "../days/day_balances.ts";
import { DayDigests } from "../days/day_digests.ts";
import { Scan } from "./scan.ts";
import { recheck } from "./second_look.ts";
import { isIndexed, type ScanBounds, type ScanSums, type Tally } from "./scan_sums.ts";
import { type Problem } from "../checks/verify_account.ts";
import {
  catalogProblems,
  claimDisagreements,
  type ClaimRows,
  readClaimRows,
} from "../checks/verify_catalog.ts";
import { creditProblems } from "../checks/verify_credits.ts";
import { allCopyProblems, copiedCells, copyDisagreements } from "../checks/verify_day_copies.ts";
import { refundDisagreements } from "../checks/verify_refunds.ts";
import { type DaySumCell } from "../../../money/receipts/day_sums.ts";

import { exactProblems } from "./exact_account.ts";
import { strayCalls } from "./stray_calls.ts";
/** Accounts and day sums in memory at once, some 150 MB; more of them take more passes. */
const defaultRowsAtOnce = 400_000;

/** Milliseconds of the pauses before further readings of accounts in use. */
const restPausesMs = [200, 1_000, 3_000] as const;

export interface DaysOptions {
  readonly bounds: ScanBounds;
  readonly openings: () => AsyncIterable<DayBalance>;
  readonly slices: TimeSlices | undefined;
  readonly pause: (durationMs: number) => Promise<void>;
  readonly rowsAtOnce?: number | undefined;
}

/** What was found. */
export interface VerifiedDays {
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

/** Verifies everything since the beginning, or all there is. */
export async function verifyDays(
  kv: KeyValueStore,
  options: DaysOptions,
): Promise<VerifiedDays> {
  const { bounds, openings, slices } = options;
  const problems: Problem[] = [];
  const moving: AccountId[] = [];
  const digests = new DayDigests();
  const claims = new ClaimSums();
  const closings = new DayBalancePages();
  const isWhole = bounds.start === undefined;
  const claimsBefore = isWhole ? await readClaimRows(kv, slices) : undefined;
  const totals = { accounts: 0, receipts: 0, available: 0n, leased: 0n, owed: 0n };
  let ledger = 0n;
  let charged = 0n;
  let latestOnReceipts = 0;
  let from: AccountId | undefined;
  do {
    const isFirst = from === undefined;
    const scan: Scan = new Scan(kv, {
      bounds,
      openings,
      from,
      rowsAtOnce: options.rowsAtOnce ?? defaultRowsAtOnce,
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
    if (!isWhole) problems.push(...await copyDisagreements(kv, cellsWithCosts(scan.sums)));
    from = scan.end;
  } while (from !== undefined);
  problems.push(...await problemsOfKinds(kv, options, { claims, claimsBefore, latestOnReceipts }));
  return {
    problems: distinct(problems),
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

/** Checks the kinds of rows that belong to no single account. */
async function problemsOfKinds(
  kv: KeyValueStore,
  { bounds, slices }: DaysOptions,
  { claims, claimsBefore, latestOnReceipts }: {
    readonly claims: ClaimSums;
    /** Set if all rows are read: the claims as they were before the receipts. */
    readonly claimsBefore: ClaimRows | undefined;
    readonly latestOnReceipts: number;
  },
): Promise<Problem[]> {
  const fromDay = bounds.start?.day;
  const isWhole = fromDay === undefined;
  const problems: Problem[] = [];
  problems.push(
    ...await (isWhole
      ? allCopyProblems(kv, slices)
      : copyDisagreements(kv, copiedCells(kv, fromDay, slices))),
  );
  problems.push(
    ...claimsBefore === undefined
      ? await claimProblems(kv, claims, bounds)
      : claimDisagreements(claimsBefore, claims, await readClaimRows(kv, slices)),
  );
  for await (const problem of isWhole ? verifyVideos(kv) : openWithoutTask(kv)) {
    problems.push(problem);
  }
  problems.push(...await catalogProblems(kv, { latestOnReceipts, isFull: isWhole }));
  problems.push(...await creditProblems(kv, { fromMs: bounds.start?.atMs, slices }));
  return problems;
}

function* cellsWithCosts({ cells }: ScanSums): Generator<DaySumCell> {
  for (const { cell, old, recent } of cells.values()) {
    if (old.providers !== undefined || recent?.providers !== undefined) yield cell;
  }
}

/** Leaves out what two checks have found alike. */
export function distinct(problems: readonly Problem[]): Problem[] {
  const textOf = ({ accountId, kind, detail }: Problem) => [accountId, kind, detail].join(" ");
  return [...new Map(problems.map((problem) => [textOf(problem), problem])).values()];
}

/** Decides about the accounts that the scan suspects. */
async function settleSuspects(
  kv: KeyValueStore,
  scan: Scan,
  { bounds, slices, pause }: DaysOptions,
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
      const known = scan.proved;
      const found = await exactProblems(kv, accountId, { bounds, openingMicroVnd, known, slices });
      if (found === "moving") moving.add(accountId);
      else problems.push(...found);
    }
    left = moving;
  }
  // Money may be right without them: a charge that only a lost batch told was never subtracted.
  problems.push(...await strayCalls(kv, doubtful, { bounds, slices }));
  return { problems, moving: [...left] };
}

/** The accounts whose receipts were not those of index and batches when the scan read one after the other. */
function doubtfulOf(
  sums: ScanSums,
  suspects: readonly AccountId[],
): ReadonlyMap<AccountId, Tally> {
  const tallies = suspects.map((accountId) => [accountId, sums.tally(accountId)] as const);
  return new Map(tallies.filter(([, tally]) => {
    const { old, recent } = isIndexed(tally);
    return !old || !recent;
  }));
}

/** Checks refunds and videos of the accounts that had some. */
async function otherProblems(
  kv: KeyValueStore,
  scan: Scan,
  { bounds, pause }: DaysOptions,
): Promise<Problem[]> {
  const problems: Problem[] = [];
  const isWhole = bounds.start === undefined;
  for (const accountId of scan.refunded) {
    let found = new Set(await refundDisagreements(kv, accountId));
    if (found.size > 0) {
      // A refund that was made between two reads looks wrong once.
      await pause(restPausesMs[0]);
      found = found.intersection(new Set(await refundDisagreements(kv, accountId)));
    }
    for (const detail of found) problems.push({ accountId, kind: "refund", detail });
  }
  if (isWhole) return problems;
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
  { start, closedEndMs }: ScanBounds,
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
