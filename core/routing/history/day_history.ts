/**
 * Counts calls by model and day, with their speed, for the public history. Counts do not say who called.
 *
 * A day is kept as one row of each process, so the speed of a day is a histogram: rows of several processes add up.
 */
import { vietnamDayNumber } from "../../lib/time/vietnam_time.ts";

/**
 * Upper bounds of the histogram's buckets, in milliseconds: each half again as much as the one before, so that a
 * quantile is at most a third too high. Slower answers are in one more bucket.
 */
const speedBoundsMs = [
  100,
  150,
  220,
  330,
  500,
  750,
  1_100,
  1_700,
  2_500,
  3_800,
  5_700,
  8_500,
  13_000,
  19_000,
  29_000,
];

/** Calls of one model on one day. */
export interface DayCount {
  answered: number;
  failed: number;
  /** Answered calls by the time to their first output, a number for each bucket. */
  readonly speed: number[];
}

/** Counts by model id. */
export type DayCounts = Readonly<Record<string, Readonly<DayCount>>>;

/** The counts of a day, as one process has them. */
export interface CountedDay {
  /** As {@linkcode vietnamDayNumber} numbers it. */
  readonly day: number;
  readonly counts: DayCounts;
}

/**
 * The counts of this process for the current day; earlier ones are in the store.
 *
 * @example
 * ```ts
 * import { DayHistory, sumOf } from "./day_history.ts";
 * const history = new DayHistory(0);
 * history.note("m", 1, 400);
 * history.note("m", 2, 90);
 * history.note("m", 3, undefined);
 * const sum = sumOf([history.current(4).counts], "m");
 * if (sum?.uptime !== 2 / 3 || sum.p50FirstOutputMs !== 100) throw new Error(JSON.stringify(sum));
 * ```
 */
export class DayHistory {
  #day: number;
  #counts: Record<string, DayCount> = {};
  #finished: CountedDay | undefined;

  constructor(nowMs: number) {
    this.#day = vietnamDayNumber(nowMs);
  }

  #turn(nowMs: number): void {
    const day = vietnamDayNumber(nowMs);
    if (day <= this.#day) return;
    this.#finished = { day: this.#day, counts: this.#counts };
    this.#day = day;
    this.#counts = {};
  }

  /**
   * A call ended.
   *
   * @param firstOutputMs `undefined` if every route failed it
   */
  note(modelId: string, nowMs: number, firstOutputMs: number | undefined): void {
    this.#turn(nowMs);
    const count = this.#counts[modelId] ??= {
      answered: 0,
      failed: 0,
      speed: Array<number>(speedBoundsMs.length + 1).fill(0),
    };
    if (firstOutputMs === undefined) {
      count.failed++;
      return;
    }
    count.answered++;
    const at = speedBoundsMs.findIndex((boundMs) => firstOutputMs <= boundMs);
    const bucket = at === -1 ? speedBoundsMs.length : at;
    count.speed[bucket] = (count.speed[bucket] ?? 0) + 1;
  }

  /** The current day and its counts. */
  current(nowMs: number): CountedDay {
    this.#turn(nowMs);
    return { day: this.#day, counts: this.#counts };
  }

  /** The previous day, returned once, so that its last minute is written too. */
  takeFinished(): CountedDay | undefined {
    const finished = this.#finished;
    this.#finished = undefined;
    return finished;
  }
}

/** What the counts of a model say. */
export interface DaySum {
  readonly calls: number;
  /** Share of calls that were answered. */
  readonly uptime: number;
  /** Upper bounds of the buckets with these quantiles; absent: no call was answered, or slower than any bound. */
  readonly p50FirstOutputMs: number | undefined;
  readonly p95FirstOutputMs: number | undefined;
}

function quantileMs(speed: readonly number[], share: number): number | undefined {
  const answered = speed.reduce((sum, count) => sum + count, 0);
  let seen = 0;
  for (const [bucket, count] of speed.entries()) {
    seen += count;
    if (answered > 0 && seen >= answered * share) return speedBoundsMs[bucket];
  }
  return undefined;
}

/** Sums the counts of a model, or of all models without `modelId`; `undefined` if there were no calls. */
export function sumOf(rows: readonly DayCounts[], modelId?: string): DaySum | undefined {
  let answered = 0;
  let failed = 0;
  const speed: number[] = [];
  for (const row of rows) {
    const counts = modelId === undefined ? Object.values(row) : [row[modelId]];
    for (const count of counts) {
      answered += count?.answered ?? 0;
      failed += count?.failed ?? 0;
      for (const [bucket, calls] of (count?.speed ?? []).entries()) {
        speed[bucket] = (speed[bucket] ?? 0) + calls;
      }
    }
  }
  const calls = answered + failed;
  if (calls === 0) return undefined;
  return {
    calls,
    uptime: answered / calls,
    p50FirstOutputMs: quantileMs(speed, 0.5),
    p95FirstOutputMs: quantileMs(speed, 0.95),
  };
}
