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
import { organisationProblems } from "../checks/verify_organisations.ts";
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

import {
  catalogProblems,
  claimDisagreements,
  type ClaimRows,
  readClaimRows,
} from "../checks/verify_catalog.ts";
import { creditProblems } from "../checks/verify_credits.ts";
import { allCopyProblems, copiedCells, copyDisagreements } from "../checks/verify_day_copies.ts";
import { allWrongHours } from "../checks/verify_sums.ts";
import { refundDisagreements } from "../checks/verify_refunds.ts";
import { type DaySumCell } from "../../../money/receipts/day_sums.ts";
import { type Problem, ProblemList } from "../checks/problems.ts";
import type { Writable } from "../../../../core/lib/base/assert.ts";
import { exactProblems } from "./exact_account.ts";
import { strayCalls } from "./stray_calls.ts";

/** Accounts and day sums in memory at once: 700 bytes each, some 140 MB. More of them take more passes. */
const defaultRowsAtOnce = 200_000;

/** Milliseconds of the pauses before further readings of accounts in use. */
const restPausesMs = [200, 1_000, 3_000] as const;

export interface DaysOptions {
  readonly bounds: ScanBounds;
  readonly openings: () => AsyncIterable<DayBalance>;
  readonly slices: TimeSlices | undefined;
  readonly pause: (durationMs: number) => Promise<void>;
  readonly rowsAtOnce?: number | undefined;
  /** Set if receipts were dropped: the day up to which they were. */
  readonly keptDay: string | undefined;
}

/** The sums of what was read. */
export interface BooksTotals {
  readonly accounts: number;
  readonly receipts: number;
  readonly availableMicroVnd: bigint;
  readonly leasedMicroVnd: bigint;
  /** Debts of accounts with a negative balance; part of the two sums above. */
  readonly owedMicroVnd: bigint;
  /** Σ credits − Σ debits. */
  readonly ledgerMicroVnd: bigint;
  readonly chargedMicroVnd: bigint;
}

/** Findings about the days. */
export interface VerifiedDays {
  readonly problems: ProblemList;
  /** Accounts that kept changing. */
  readonly moving: readonly AccountId[];
  readonly digests: DayDigests;
  /** Accounts of which an archive has sums by tag, if all rows were read. */
  readonly tagged: ReadonlySet<AccountId>;
  /** The balances at the end of the last day that is over. */
  readonly closings: DayBalancePages;
  readonly totals: BooksTotals;
}

/** Verifies everything since the beginning, or all there is. */
export async function verifyDays(
  kv: KeyValueStore,
  options: DaysOptions,
): Promise<VerifiedDays> {
  const { bounds, openings, slices } = options;
  const problems = new ProblemList();
  const moving: AccountId[] = [];
  const tagged = new Set<AccountId>();
  const digests = new DayDigests();
  const claims = new ClaimSums();
  const closings = new DayBalancePages();
  const isWhole = bounds.start === undefined;
  const claimsBefore = isWhole ? await readClaimRows(kv, slices) : undefined;
  const totals: Writable<BooksTotals> = {
    accounts: 0,
    receipts: 0,
    availableMicroVnd: 0n,
    leasedMicroVnd: 0n,
    owedMicroVnd: 0n,
    ledgerMicroVnd: 0n,
    chargedMicroVnd: 0n,
  };
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
    addTotals(totals, scan);
    for (const accountId of scan.tagged) tagged.add(accountId);
    latestOnReceipts = Math.max(latestOnReceipts, scan.latestCatalogVersion);
    problems.addAll(scan.problems);
    const second = await settleSuspects(kv, scan, options);
    problems.addAll(second.problems);
    moving.push(...second.moving);
    problems.addAll(await otherProblems(kv, scan, options));
    problems.addAll(
      await (isWhole
        ? allCopyProblems(kv, scan.compared, slices)
        : copyDisagreements(kv, cellsWithCosts(scan.sums))),
    );
    if (isWhole) {
      for await (const wrong of allWrongHours(kv, scan.compared, slices)) {
        problems.add({ ...wrong, kind: "rollup" });
      }
    }
    from = scan.end;
  } while (from !== undefined);
  problems.addAll(await problemsOfKinds(kv, options, { claims, claimsBefore, latestOnReceipts }));
  return { problems, moving, digests, tagged, closings, totals };
}

function addTotals(totals: Writable<BooksTotals>, { holdings, receipts, sums }: Scan): void {
  totals.accounts += holdings.accounts;
  totals.receipts += receipts;
  totals.availableMicroVnd += holdings.availableMicroVnd;
  totals.leasedMicroVnd += holdings.leasedMicroVnd;
  totals.owedMicroVnd += holdings.owedMicroVnd;
  for (const tally of sums.tallies.values()) {
    totals.ledgerMicroVnd += tally.ledgerMicroVnd;
    totals.chargedMicroVnd += tally.chargedMicroVnd;
  }
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
): Promise<ProblemList> {
  const fromDay = bounds.start?.day;
  const isWhole = fromDay === undefined;
  const problems = new ProblemList();
  if (fromDay !== undefined) {
    problems.addAll(await copyDisagreements(kv, copiedCells(kv, fromDay, slices)));
  }
  problems.addAll(
    claimsBefore === undefined
      ? await claimProblems(kv, claims, bounds)
      : claimDisagreements(claimsBefore, claims, await readClaimRows(kv, slices)),
  );
  for await (const problem of isWhole ? verifyVideos(kv) : openWithoutTask(kv)) {
    problems.add(problem);
  }
  for await (const problem of organisationProblems(kv, slices)) problems.add(problem);
  problems.addAll(await catalogProblems(kv, { latestOnReceipts, isFull: isWhole }));
  problems.addAll(await creditProblems(kv, { fromMs: bounds.start?.atMs, slices }));
  return problems;
}

function* cellsWithCosts({ cells }: ScanSums): Generator<DaySumCell> {
  for (const { cell, old, recent } of cells.values()) {
    if (old.providers !== undefined || recent?.providers !== undefined) yield cell;
  }
}

/** Decides about the accounts that the scan suspects. */
async function settleSuspects(
  kv: KeyValueStore,
  scan: Scan,
  { bounds, slices, pause }: DaysOptions,
): Promise<{ readonly problems: ProblemList; readonly moving: readonly AccountId[] }> {
  const suspects = [...scan.suspects.difference(scan.reported)];
  const { sums } = scan;
  let left = await recheck(kv, suspects, { bounds, sums, slices, pause });
  const problems = new ProblemList();
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
      else problems.addAll(found);
    }
    left = moving;
  }
  // Money may be right without them: a charge that only a lost batch told was never subtracted.
  problems.addAll(await strayCalls(kv, doubtful, { bounds, slices }));
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
  { bounds, pause, keptDay }: DaysOptions,
): Promise<ProblemList> {
  const problems = new ProblemList();
  const isWhole = bounds.start === undefined;
  for (const accountId of scan.refunded) {
    let found = new Set(await refundDisagreements(kv, accountId, keptDay));
    if (found.size > 0) {
      // A refund that was made between two reads looks wrong once.
      await pause(restPausesMs[0]);
      found = found.intersection(new Set(await refundDisagreements(kv, accountId, keptDay)));
    }
    for (const detail of found) problems.add({ accountId, kind: "refund", detail });
  }
  if (isWhole) return problems;
  const { startId, start } = bounds;
  const refundStartId = start === undefined ? "" : beforeIdsOf("ledger", start.atMs);
  for (const accountId of scan.filmed.union(scan.refunded)) {
    const videos = verifyVideosOf(kv, accountId, { startId, refundStartId });
    for await (const problem of videos) problems.add(problem);
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
