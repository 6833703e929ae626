/**
 * Verifies the books of a store, each time from the last sealed day on: what `admin verify` does.
 *
 * A day that is over, and in which nothing is wrong, is sealed by a checkpoint (`checkpoint_chain.ts`) with the balances
 * of all accounts at its end. The next verification checks the chain, reads the rows since then, and compares every
 * wallet with its sealed balance plus those rows. The full one is the same without a beginning, and compares all sealed
 * days with their checkpoints besides; so does the first, since nothing is sealed then.
 *
 * A checkpoint is written only if no problem was found and no account was left undecided. Wallets are no part of it, so
 * a wrong wallet is found each time anew.
 *
 * - Folder `kv/services/verify/`: verification of a whole store, its checkpoints, and its export.
 * - In: a store, also one in use.
 * - Out: a report with every problem, checkpoints of the days that are right, or records as JSON lines without
 *   secrets.
 * - Never: changes what it verifies; it writes checkpoints, how it ended, and copies of ledger lines that an earlier
 *   release left out.
 */
import type { MasterKeys } from "../../../core/people/api_keys/seal.ts";
import { sleep } from "../../../core/lib/time/sleep.ts";
import { daysBetween, vietnamDay, vietnamDayStartMs } from "../../../core/lib/time/vietnam_time.ts";
import { completeLinesByTime } from "../../money/ledger/ledger.ts";
import { checkTopups, type TopupCheck } from "../../money/payments/topup_checks.ts";
import { proofHeadKey } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import {
  appendCheckpoint,
  type Chain,
  cutChain,
  type DroppedCommits,
  nextDay,
  readChain,
  type SealedCheckpoint,
  type SignedHead,
} from "./days/checkpoint_chain.ts";
import { deleteBalancesBefore, StoredDayBalances } from "./days/day_balances.ts";
import { type BooksTotals, type VerifiedDays, verifyDays } from "./scan/verify_days.ts";
import { recentIdsStart, scanBounds } from "./scan/scan_sums.ts";
import { compareSealedDays, compareSealedLines, sealedDifferences } from "./sealed_days.ts";
import { listDropped } from "./days/dropped_rows.ts";
import { type KeptBalances, openKeptBalances, readKeptBalances } from "./days/kept_balances.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { maxProblemsListed, type Problem, ProblemList } from "./checks/problems.ts";
import { noteVerification } from "./last_verification.ts";
import { wrongTagSums } from "./checks/verify_tag_sums.ts";
import { wrongHours } from "./checks/verify_sums.ts";
import { addAuditLine, commandLine } from "../../people/audit/operator_audit.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import { dayMs, hourMs } from "../../../core/lib/time/durations.ts";

// Verifies the invariants of a whole store, and lists what violates them:
//
// 1. available + Σ leases = Σ credits − Σ debits − Σ charges, for every account and in all;
// 2. nothing is negative except a wallet within the debt limit in its row;
// 3. every receipt is in the index of its account, once, and day sums equal the sums of receipts;
// 4. every line of the ledger is the one that its operation wrote, and no operation has a second
//    one;
// 5. refunds per day, key and model equal the refund lines of those calls, and none exceeds the
//    cost of its call;
// 6. every failed video task was refunded its cost, once, and every open one will be polled again;
// 7. no call has two receipts;
// 8. the sums of claims on providers, by day and route, equal those of the receipts;
// 9. the versions of the catalogue form one chain with the head at its end, their contents are as
//    they were written, and receipts name no version that does not exist;
// 10. sums by tag equal the sums of receipts;
// 11. credit that was given is within its budgets, and what is left, spent and expired of each grant
//    agrees with the ledger and the wallet (`verify_credits.ts`).
// 12. the members of organisations are those that are counted, and each finds the organisation.
//
// May run beside a live service. One scan in the order of time sums everything. Accounts that look
// wrong, or were in use meanwhile, are looked at again, and those that still do are checked one by
// one; a reading counts only if nothing changed during it, and is repeated after a pause. Receipts of
// days that the scan verified are not read again. Accounts that keep changing are reported as
// `moving`: they are neither verified nor wrong. The totals are those of the scan, and exact only if
// nothing changes.

/** The result of a verification. */
export interface VerifyReport extends BooksTotals {
  /** Set if no problem was found. Accounts in `moving` are not verified by it. */
  readonly ok: boolean;
  /** The first problems; `problemCount` has the number of all. */
  readonly problems: readonly Problem[];
  readonly problemCount: number;
  /** Accounts that kept changing. */
  readonly moving: readonly AccountId[];
}

/** Options of {@linkcode verifyStore}. */
export interface VerifyOptions {
  /** Accounts and day sums in memory at once; a larger store takes more passes. */
  readonly rowsAtOnce?: number | undefined;
  /** Lets calls run in between, if the service runs on this thread. */
  readonly slices?: TimeSlices | undefined;
  /** Waits before accounts that were in use are read again. */
  readonly pause?: (durationMs: number) => Promise<void>;
}

/**
 * Verifies a store: everything in it, without regard to checkpoints. `rowsAtOnce` bounds the memory independently of
 * the number of receipts.
 *
 * @example
 * ```ts
 * import { verifyStore } from "./verify_books.ts";
 * using kv = await Deno.openKv(":memory:");
 * const report = await verifyStore(kv);
 * if (!report.ok) throw new Error("an empty store is right");
 * ```
 */
export async function verifyStore(
  kv: KeyValueStore,
  options: VerifyOptions = {},
): Promise<VerifyReport> {
  const { totals, problems, moving } = await verifyAllDays(kv, options, { closedEndMs: 0 });
  return { ...totals, ...reportOf(problems), moving };
}

async function* nothing(): AsyncGenerator<never> {}

/** Verifies all days whose receipts are there as if none was sealed, and sums the balances up to a moment. */
async function verifyAllDays(
  kv: KeyValueStore,
  { slices, pause = sleep, rowsAtOnce }: VerifyOptions,
  { closedEndMs, kept, opening }: {
    readonly closedEndMs: number;
    /** Set if receipts were dropped: with what is left of them begins everything. */
    readonly kept?: KeptBalances | undefined;
    readonly opening?: StoredDayBalances | undefined;
  },
): Promise<VerifiedDays> {
  const recentStart = await recentIdsStart(kv);
  const startMs = kept && vietnamDayStartMs(nextDay(kept.day));
  return await verifyDays(kv, {
    bounds: scanBounds({ startMs, closedEndMs, recentStart }),
    openings: () => opening?.read() ?? nothing(),
    slices,
    pause,
    rowsAtOnce,
    keptDay: kept?.day,
  });
}

function reportOf(
  { count, listed }: ProblemList,
): Pick<VerifyReport, "ok" | "problems" | "problemCount"> {
  return { ok: count === 0, problems: listed, problemCount: count };
}

/**
 * Milliseconds after the end of a day before it is sealed: a call takes at most 19 minutes, its receipt may wait for a
 * store that was away, and clocks differ.
 */
const sealDelayMs = 2 * hourMs;

/** Days that one verification seals at most, some ten years; earlier ones have no checkpoint. */
const maxDaysSealed = 3_700;

/** Options of how much is read. */
export interface BooksOptions extends VerifyOptions {
  readonly masterKeys: MasterKeys;
  readonly nowMs: number;
  /** Reads everything, also what is sealed. */
  readonly isFull?: boolean;
  /** Compares the rows of sealed days from this one on with their checkpoints. */
  readonly fromDay?: string | undefined;
  /** Seals from all rows instead of the last sealed balances: those of a chain that was cut are gone. */
  readonly withoutBalances?: boolean;
}

/** The result. `receipts` is the number that was read. */
export interface BooksReport extends VerifyReport {
  /** Whether everything was read. */
  readonly full: boolean;
  /** The last day of the chain with its seal; keep it elsewhere to prove that the chain was not put back. */
  readonly sealed: { readonly day: string; readonly seal: string } | null;
  /** Days that this verification has sealed. */
  readonly sealedNow: readonly string[];
}

/** Verifies the books, and seals the days that are over. */
export async function verifyBooks(kv: KeyValueStore, options: BooksOptions): Promise<BooksReport> {
  const { masterKeys, nowMs, slices, pause = sleep } = options;
  const chain = await readChain(kv, masterKeys);
  const isSound = chain.problems.length === 0 && options.withoutBalances !== true;
  const anchor = isSound
    ? chain.checkpoints.findLast(({ balances }) => balances !== null)
    : undefined;
  const isFull = options.isFull === true || anchor === undefined;
  const problems = new ProblemList();
  for (const detail of chain.problems) problems.add({ kind: "seal", detail });
  const startMs = anchor === undefined ? undefined : vietnamDayStartMs(nextDay(anchor.day));
  const closedEndMs = Math.max(startMs ?? 0, vietnamDayStartMs(vietnamDay(nowMs - sealDelayMs)));
  const { kept, problem } = await readKeptBalances(kv, masterKeys);
  if (problem !== undefined) problems.add({ kind: "seal", detail: problem });
  const dropped = await listDropped(kv, masterKeys, chain.checkpoints.at(-1)?.droppedCommits);
  for (const detail of dropped.problems) problems.add({ kind: "seal", detail });
  const whole = isFull
    ? await verifyEverything(kv, { chain, kept }, options, closedEndMs)
    : undefined;
  if (whole !== undefined) problems.addAll(whole.problems);
  const { fromDay } = options;
  if (fromDay !== undefined && !isFull) {
    const some = chain.checkpoints.filter(({ day }) => day >= fromDay && !isDropped(day, kept));
    problems.addAll(await compareSealedDays(kv, some, slices));
  }
  const balances = anchor?.balances ?? undefined;
  const opening = anchor === undefined || balances === undefined
    ? undefined
    : new StoredDayBalances(kv, anchor.day, balances);
  const recent = anchor === undefined && whole !== undefined ? whole : await verifyDays(kv, {
    bounds: scanBounds({ startMs, closedEndMs, recentStart: await recentIdsStart(kv) }),
    openings: () => opening?.read() ?? nothing(),
    slices,
    pause,
    rowsAtOnce: options.rowsAtOnce,
    keptDay: kept?.day,
  });
  if (recent !== whole) problems.addAll(recent.problems);
  const hoursFrom = isFull || startMs === undefined ? undefined : vietnamDay(startMs);
  // A reading of all days has compared all hours.
  if (!isFull || kept !== undefined) {
    for await (const wrong of wrongHours(kv, { fromDay: hoursFrom, slices })) {
      problems.add({ ...wrong, kind: "rollup" });
    }
  }
  const tagsFrom = hoursFrom ?? (kept && nextDay(kept.day));
  const today = vietnamDay(nowMs);
  const tags = { fromDay: tagsFrom, today, archived: whole?.tagged, slices };
  for await (const wrong of wrongTagSums(kv, tags)) {
    problems.add({ ...wrong, kind: "rollup" });
  }
  if (opening?.isRight === false) {
    const detail = `the balances of ${anchor?.day} are not those that were sealed`;
    problems.add({ kind: "seal", detail });
  }
  const behind = chain.checkpoints.filter(({ day }) => anchor !== undefined && day > anchor.day);
  problems.addAll(sealedDifferences(behind, recent.digests));
  const upTo = chain.checkpoints.filter(({ day }) => anchor !== undefined && day <= anchor.day);
  const maySeal = problems.count === 0 && recent.moving.length === 0;
  const sealedNow = maySeal
    ? await sealDays(kv, {
      chain,
      anchor,
      recent,
      closedEndMs,
      droppedCommits: dropped.commits,
      options,
    })
    : [];
  const last = sealedNow.at(-1) ?? chain.checkpoints.at(-1);
  return {
    ...whole?.totals ?? withSealed(recent.totals, upTo),
    ...reportOf(problems),
    moving: [...new Set([...recent.moving, ...whole?.moving ?? []])],
    full: isFull,
    sealed: last === undefined ? null : { day: last.day, seal: last.seal },
    sealedNow: sealedNow.map(({ day }) => day),
  };
}

/**
 * Verifies the books, and the notices of the bank with the orders that they paid.
 *
 * @param besides lists what is wrong beside the books, once these were read
 */
export async function verifyMoney(
  kv: KeyValueStore,
  options: BooksOptions,
  besides: (isFull: boolean) => Promise<ProblemList> = () => Promise.resolve(new ProblemList()),
): Promise<{ readonly books: BooksReport; readonly topups: TopupCheck }> {
  const alone = await verifyBooks(kv, options);
  const books = withProblems(alone, await besides(alone.full));
  const topups = await checkTopups(kv, options.nowMs);
  const problems = books.problemCount + topups.problems.length;
  // A store that takes no writes hides nothing of what was found; that it is too old an alert says.
  await noteVerification(kv, books.full, { atMs: options.nowMs, problems }).catch(() => {});
  return { books, topups };
}

function withProblems(books: BooksReport, { count, listed }: ProblemList): BooksReport {
  return {
    ...books,
    ok: books.ok && count === 0,
    problems: [...books.problems, ...listed].slice(0, maxProblemsListed),
    problemCount: books.problemCount + count,
  };
}

/** Whether the receipts of a day were dropped. */
export function isDropped(day: string, kept: KeptBalances | undefined): boolean {
  return kept !== undefined && day < kept.day;
}

/** Reads everything, after it has added the copies of lines that earlier releases left out. */
async function verifyEverything(
  kv: KeyValueStore,
  { chain: { checkpoints }, kept }: {
    readonly chain: Chain;
    readonly kept: KeptBalances | undefined;
  },
  options: BooksOptions,
  closedEndMs: number,
): Promise<VerifiedDays> {
  const last = checkpoints.at(-1);
  const openMs = last === undefined ? 0 : vietnamDayStartMs(nextDay(last.day));
  await completeLinesByTime(kv, openMs, options.slices);
  const opening = kept && openKeptBalances(kv, kept);
  const all = await verifyAllDays(kv, options, { closedEndMs, kept, opening });
  const { problems, digests } = all;
  const after = checkpoints.filter(({ day }) => kept === undefined || day > kept.day);
  problems.addAll(sealedDifferences(after, digests));
  if (kept === undefined) return all;
  if (opening?.isRight === false) {
    problems.add({
      kind: "seal",
      detail: `the kept balances of ${kept.day} are not those that were sealed`,
    });
  }
  const { slices } = options;
  const ofTheDay = checkpoints.filter(({ day }) => day === kept.day);
  problems.addAll(await compareSealedDays(kv, ofTheDay, slices));
  const before = checkpoints.filter(({ day }) => isDropped(day, kept));
  problems.addAll(await compareSealedLines(kv, before, slices));
  return { ...all, totals: withSealed(all.totals, [...before, ...ofTheDay]) };
}

/** Writes the checkpoints of the days that are over. Another process may be faster; then its are in the chain. */
async function sealDays(
  kv: KeyValueStore,
  { chain, anchor, recent, closedEndMs, droppedCommits, options }: {
    readonly chain: Chain;
    readonly anchor: SealedCheckpoint | undefined;
    readonly recent: VerifiedDays;
    readonly closedEndMs: number;
    readonly droppedCommits: DroppedCommits;
    readonly options: BooksOptions;
  },
): Promise<SealedCheckpoint[]> {
  const lastDay = vietnamDay(closedEndMs - dayMs);
  let last = chain.checkpoints.at(-1);
  const firstDay = last === undefined ? recent.digests.firstDay : nextDay(last.day);
  if (firstDay === undefined || firstDay > lastDay) return [];
  const days = daysBetween(firstDay, lastDay);
  const balances = recent.closings.summary();
  await recent.closings.write(kv, lastDay);
  const signed = (await kv.get<SignedHead>(proofHeadKey())).value;
  const sealed: SealedCheckpoint[] = [];
  for (const day of last === undefined ? days.slice(-maxDaysSealed) : days) {
    const checkpoint = {
      ...recent.digests.of(day),
      day,
      balances: day === lastDay ? balances : null,
      sealedAtMs: options.nowMs,
      ...(Object.keys(droppedCommits).length > 0 && { droppedCommits }),
      ...(signed !== null && { signed: { day: signed.day, digest: signed.digest } }),
    };
    const added = await appendCheckpoint(kv, options.masterKeys, checkpoint, last);
    if (added === undefined) return sealed;
    sealed.push(added);
    last = added;
  }
  // Those of the anchor stay: another process may read them at this moment.
  if (anchor !== undefined) await deleteBalancesBefore(kv, anchor.day);
  return sealed;
}

/** Adds what the checkpoints say of the sealed days, which were not read. */
function withSealed(
  totals: BooksTotals,
  sealed: readonly SealedCheckpoint[],
): BooksTotals {
  let { ledgerMicroVnd, chargedMicroVnd } = totals;
  for (const checkpoint of sealed) {
    ledgerMicroVnd += checkpoint.ledgerMicroVnd;
    chargedMicroVnd += checkpoint.chargedMicroVnd;
  }
  return { ...totals, ledgerMicroVnd, chargedMicroVnd };
}

// Seals days anew that no longer are as they were sealed, after a person has found out why: a call was settled very
// late, a row was repaired, a master key is lost. Never automatic, and an act in the audit log.

/**
 * Verifies everything. If nothing is wrong except the seals, it removes the checkpoints from a day on and seals the days
 * again; else it changes nothing.
 */
export async function resealDays(
  kv: KeyValueStore,
  fromDay: string,
  options: BooksOptions,
): Promise<BooksReport> {
  const { kept } = await readKeptBalances(kv, options.masterKeys);
  if (kept !== undefined && fromDay <= kept.day) {
    throw new GatewayError(
      "invalid_request",
      `Receipts up to ${kept.day} were dropped, or are what everything is verified from: their seals stay`,
    );
  }
  const whole = { ...options, isFull: true };
  const report = await verifyBooks(kv, whole);
  const isOnlySeals = report.problems.every(({ kind }) => kind === "seal") &&
    report.problems.length === report.problemCount;
  if (!isOnlySeals) return report;
  await cutChain(kv, fromDay, (op) =>
    addAuditLine(op, commandLine, {
      act: "days_resealed",
      subject: fromDay,
      detail: report.problems.map(({ detail }) => detail).join("; "),
      atMs: options.nowMs,
    }));
  // The balances before a cut left with the seals of later nights.
  return await verifyBooks(kv, { ...whole, withoutBalances: true });
}
