/**
 * Reads calls of an archive by what it has in columns, a bounded number of them: the days in which calls fit are known
 * by the sums of their days, and those that the database looks at are counted.
 */
import { beforeIdsOf } from "../../../core/lib/ids/ids.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";
import { vietnamDay, vietnamDayStartMs } from "../../../core/lib/time/vietnam_time.ts";
import type { ArchivedCallsAsked, ArchivedCallsRead } from "../../engine/store/key_value_store.ts";
import { timeWithin } from "./archived_pages.ts";
import { requestIdOf, storedTextOf } from "./receipt_rows.ts";
import type { ReceiptArchive, TimeRange } from "./receipt_archive.ts";

/** Calls that the database looks at for one reading with a filter: some 30 milliseconds. */
export const maxCallsScanned = 20_000;

/** Places in which calls may fit. */
interface Places {
  readonly ranges: readonly TimeRange[];
  /** Everything down to this id is within them, or does not fit. */
  readonly reached: string;
  readonly scanned: number;
}

type SomeArchive = Pick<ReceiptArchive, "callsThatFit" | "callsByDay" | "timeOfCall">;

/** Reads the calls that an archive has. */
export async function archivedCalls(
  archive: SomeArchive,
  asked: ArchivedCallsAsked,
): Promise<ArchivedCallsRead> {
  const { from, before, limit, ...filter } = asked;
  if (from >= before) return { calls: [], reached: from, scanned: 0 };
  const { ranges, reached, scanned } = await placesOf(archive, asked);
  if (ranges.length === 0) return { calls: [], reached, scanned };
  const found = await archive.callsThatFit({ filter, ranges, from, before, limit });
  const last = found.length < limit ? undefined : found.at(-1);
  return {
    calls: found.map((call) => [requestIdOf(call), storedTextOf(call)]),
    reached: last === undefined ? reached : requestIdOf(last),
    scanned,
  };
}

async function placesOf(archive: SomeArchive, asked: ArchivedCallsAsked): Promise<Places> {
  const { accountId, from, keyId, model, onlyFailed, statusFrom, statusBefore, tag } = asked;
  const whole = timeWithin(asked);
  const isNarrow = keyId !== undefined || model !== undefined || onlyFailed === true ||
    statusFrom !== undefined || statusBefore !== undefined || tag !== undefined;
  if (!isNarrow) return { ranges: [whole], reached: from, scanned: 0 };
  if (accountId !== undefined) return await placesOfAccount(archive, accountId, asked, whole);
  const atMs = await archive.timeOfCall(whole, maxCallsScanned);
  if (atMs === undefined) return { ranges: [whole], reached: from, scanned: maxCallsScanned };
  const ranges = [{ fromMs: atMs, toMs: whole.toMs }];
  return { ranges, reached: laterOf(beforeIdsOf("request", atMs), from), scanned: maxCallsScanned };
}

async function placesOfAccount(
  archive: SomeArchive,
  accountId: string,
  asked: ArchivedCallsAsked,
  whole: TimeRange,
): Promise<Places> {
  const { from, limit, statusFrom, statusBefore, tag } = asked;
  const days = await archive.callsByDay(accountId, asked, {
    fromDay: vietnamDay(whole.fromMs),
    toDay: vietnamDay(whole.toMs - 1),
  });
  const areExact = statusFrom === undefined && statusBefore === undefined && tag === undefined;
  const ranges: TimeRange[] = [];
  let [scanned, fitting] = [0, 0];
  for (const { day, calls, fitting: some } of days) {
    if (some === 0) continue;
    const fromMs = vietnamDayStartMs(day);
    // One more than wanted: those of the first day and the last may lie outside.
    if (scanned >= maxCallsScanned || (areExact && fitting > limit && ranges.length > 1)) {
      return { ranges, reached: reachedBy(ranges, from), scanned };
    }
    ranges.push({
      fromMs: Math.max(fromMs, whole.fromMs),
      toMs: Math.min(fromMs + dayMs, whole.toMs),
    });
    scanned += calls;
    fitting += some;
  }
  return { ranges, reached: from, scanned };
}

function reachedBy(ranges: readonly TimeRange[], from: string): string {
  const last = ranges.at(-1);
  return last === undefined ? from : laterOf(beforeIdsOf("request", last.fromMs), from);
}

const laterOf = (one: string, other: string): string => one > other ? one : other;
