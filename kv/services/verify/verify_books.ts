/**
 * Verifies the books of a store, each time from the last sealed day on: what `admin verify` does.
 *
 * A day that is over, and in which nothing is wrong, is sealed by a checkpoint (`checkpoint_chain.ts`) with the balances
 * of all accounts at its end. The next verification checks the chain, reads the rows since then, and compares every
 * wallet with its sealed balance plus those rows. The full one reads everything besides (`verify.ts`), and compares all
 * sealed days with their checkpoints; so does the first, since nothing is sealed then.
 *
 * A checkpoint is written only if no problem was found and no account was left undecided. Wallets are no part of it, so
 * a wrong wallet is found each time anew.
 */
import type { MasterKeys } from "../../../core/people/api_keys/seal.ts";
import { sleep } from "../../../core/lib/time/sleep.ts";
import { vietnamDay, vietnamDayStartMs } from "../../../core/lib/time/vietnam_time.ts";
import {
  completeLinesByTime,
  isLedgerLine,
  linesByTime,
} from "../../money/ledger/lines_by_time.ts";
import { ledgersPrefix } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { wholeKind } from "../../engine/store/whole_kind.ts";
import {
  appendCheckpoint,
  type Chain,
  daysBetween,
  nextDay,
  readChain,
  type SealedCheckpoint,
} from "./days/checkpoint_chain.ts";
import { deleteBalancesBefore, StoredDayBalances } from "./days/day_balances.ts";
import { DayDigests, lineAtMs } from "./days/day_digests.ts";
import { type RecentDays, verifyRecentDays } from "./recent/recent_days.ts";
import { recentBounds } from "./recent/recent_sums.ts";
import { addLines, compareSealedDays, sealedDifferences } from "./sealed_days.ts";
import type { Problem } from "./checks/verify_account.ts";
import { wrongHours } from "./checks/verify_hours.ts";
import { hash, recentIdsStart } from "./checks/verify_index.ts";
import { ledgerFingerprint } from "./checks/verify_ledger.ts";
import { maxVerifyProblems, type VerifyOptions, type VerifyReport, verifyStore } from "./verify.ts";

/**
 * Milliseconds after the end of a day before it is sealed: a call takes at most 19 minutes, its receipt may wait for a
 * store that was away, and clocks differ.
 */
const sealDelayMs = 2 * 3_600_000;

const dayMs = 86_400_000;

/** Days that one verification seals at most, some ten years; earlier ones have no checkpoint. */
const mostDaysSealed = 3_700;

/** How much is read. */
export interface BooksOptions extends Pick<VerifyOptions, "slices" | "pause" | "rowsPerPass"> {
  readonly masterKeys: MasterKeys;
  readonly nowMs: number;
  /** Reads everything, also what is sealed. */
  readonly isFull?: boolean;
  /** Compares the rows of sealed days from this one on with their checkpoints. */
  readonly fromDay?: string | undefined;
  /** Accounts and day sums in memory at once, when recent days are read. */
  readonly rowsAtOnce?: number;
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
  const isSound = chain.problems.length === 0;
  const anchor = isSound
    ? chain.checkpoints.findLast(({ balances }) => balances !== null)
    : undefined;
  const isFull = options.isFull === true || anchor === undefined;
  const problems: Problem[] = chain.problems.map((detail) => ({ kind: "seal", detail }));
  const whole = isFull ? await verifyEverything(kv, chain, options) : undefined;
  problems.push(...whole?.problems ?? []);
  const { fromDay } = options;
  if (fromDay !== undefined && !isFull) {
    const some = chain.checkpoints.filter(({ day }) => day >= fromDay);
    problems.push(...await compareSealedDays(kv, some, slices));
  }
  const startMs = anchor === undefined ? undefined : vietnamDayStartMs(nextDay(anchor.day));
  const closedEndMs = Math.max(startMs ?? 0, vietnamDayStartMs(vietnamDay(nowMs - sealDelayMs)));
  const balances = anchor?.balances ?? undefined;
  const opening = anchor === undefined || balances === undefined
    ? undefined
    : new StoredDayBalances(kv, anchor.day, balances);
  const recent = await verifyRecentDays(kv, {
    bounds: recentBounds({ startMs, closedEndMs, recentStart: await recentIdsStart(kv) }),
    openings: () => opening?.read() ?? nothing(),
    slices,
    pause,
    rowsAtOnce: options.rowsAtOnce,
  });
  problems.push(...recent.problems);
  const hoursFrom = isFull || startMs === undefined ? undefined : vietnamDay(startMs);
  for await (const wrong of wrongHours(kv, { fromDay: hoursFrom, slices })) {
    problems.push({ ...wrong, kind: "rollup" });
  }
  if (opening?.isRight === false) {
    const detail = `the balances of ${anchor?.day} are not those that were sealed`;
    problems.push({ kind: "seal", detail });
  }
  const behind = chain.checkpoints.filter(({ day }) => anchor !== undefined && day > anchor.day);
  problems.push(...sealedDifferences(behind, recent.digests));
  const distinct = [...new Map(problems.map((problem) => [textOf(problem), problem])).values()];
  const maySeal = distinct.length === 0 && recent.moving.length === 0;
  const sealedNow = maySeal
    ? await sealDays(kv, { chain, anchor, recent, closedEndMs, options })
    : [];
  const last = sealedNow.at(-1) ?? chain.checkpoints.at(-1);
  const problemCount = distinct.length +
    Math.max(0, (whole?.report.problemCount ?? 0) - maxVerifyProblems);
  return {
    ...totalsOf(chain, anchor, recent, whole?.report),
    ok: problemCount === 0,
    problems: distinct.slice(0, maxVerifyProblems),
    problemCount,
    moving: [...new Set([...recent.moving, ...whole?.report.moving ?? []])],
    full: isFull,
    sealed: last === undefined ? null : { day: last.day, seal: last.seal },
    sealedNow: sealedNow.map(({ day }) => day),
  };
}

async function* nothing(): AsyncGenerator<never> {}

function textOf({ accountId, kind, detail }: Problem): string {
  return [accountId, kind, detail].join(" ");
}

/** Reads everything, and compares all sealed days with their checkpoints. */
async function verifyEverything(
  kv: KeyValueStore,
  chain: Chain,
  options: BooksOptions,
): Promise<{ readonly report: VerifyReport; readonly problems: readonly Problem[] }> {
  const { slices } = options;
  const last = chain.checkpoints.at(-1);
  const openMs = last === undefined ? 0 : vietnamDayStartMs(nextDay(last.day));
  await completeLinesByTime(kv, openMs, slices);
  const digests = new DayDigests();
  const report = await verifyStore(kv, { ...options, digests });
  await addLines(kv, digests, { slices });
  const problems = [...report.problems, ...sealedDifferences(chain.checkpoints, digests)];
  const copies = await copyProblem(kv, options);
  if (copies !== undefined) problems.push({ kind: "ledger", detail: copies });
  return { report, problems };
}

/** Compares all ledger lines with their copies by time, except those of the last hours, which may be added meanwhile. */
async function copyProblem(
  kv: KeyValueStore,
  { nowMs, slices }: BooksOptions,
): Promise<string | undefined> {
  const [lines, copies] = [{ count: 0, print: 0 }, { count: 0, print: 0 }];
  const add = (sum: typeof lines, line: unknown) => {
    if (!isLedgerLine(line) || lineAtMs(line.ledgerId) >= nowMs - sealDelayMs) return;
    sum.count++;
    sum.print = (sum.print + hash(ledgerFingerprint(line))) >>> 0;
  };
  for await (const { value } of wholeKind(kv, { prefix: ledgersPrefix() }, slices)) {
    add(lines, value);
  }
  for await (const { value } of linesByTime(kv, undefined, slices)) add(copies, value);
  if (lines.count === copies.count && lines.print === copies.print) return undefined;
  return `${lines.count} ledger lines and their ${copies.count} copies by time differ`;
}

/** Writes the checkpoints of the days that are over. Another process may be faster; then its are in the chain. */
async function sealDays(
  kv: KeyValueStore,
  { chain, anchor, recent, closedEndMs, options }: {
    readonly chain: Chain;
    readonly anchor: SealedCheckpoint | undefined;
    readonly recent: RecentDays;
    readonly closedEndMs: number;
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
  const sealed: SealedCheckpoint[] = [];
  for (const day of last === undefined ? days.slice(-mostDaysSealed) : days) {
    const checkpoint = {
      ...recent.digests.of(day),
      day,
      balances: day === lastDay ? balances : null,
      sealedAtMs: options.nowMs,
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

/** The totals of everything: what was read, and for sealed days what their checkpoints say. */
function totalsOf(
  chain: Chain,
  anchor: SealedCheckpoint | undefined,
  recent: RecentDays,
  whole: VerifyReport | undefined,
) {
  if (whole !== undefined) return whole;
  let ledger = recent.ledgerMicroVnd;
  let charged = recent.chargedMicroVnd;
  for (const { day, ledgerMicroVnd, chargedMicroVnd } of chain.checkpoints) {
    if (anchor === undefined || day > anchor.day) continue;
    ledger += ledgerMicroVnd;
    charged += chargedMicroVnd;
  }
  const { accounts, receipts, availableMicroVnd, leasedMicroVnd, owedMicroVnd } = recent;
  const sums = { ledgerMicroVnd: ledger, chargedMicroVnd: charged };
  return { accounts, receipts, availableMicroVnd, leasedMicroVnd, owedMicroVnd, ...sums };
}
