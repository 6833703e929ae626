/**
 * Counts how many calls of each model were answered, by hour, for the public uptime. Counts do not say who called.
 *
 * - Folder `core/routing/history/`: counts of calls by model, hour and day, for the public uptime and history.
 * - In: how calls ended, and how fast they were.
 * - Out: counts that can be added, shares of answered calls, quantiles.
 * - Never: says who called, or reads the store: `kv/services/status/` keeps the counts.
 */
import { vietnamDayNumber } from "../../lib/time/vietnam_time.ts";
import { hourMs } from "../../lib/time/durations.ts";

// Counts calls by model and day, with their speed, for the public history. Counts do not say who called.
//
// A day is kept as one row of each process, so the speed of a day is a histogram: rows of several processes add up.

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
 * import { DayHistory, sumOf } from "./availability.ts";
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

/** Counts of a model on a day. */
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

/** Calls of one model in one hour. */
export interface AvailabilityCount {
  answered: number;
  failed: number;
}

/** Counts by model id. */
export type AvailabilityCounts = Readonly<Record<string, Readonly<AvailabilityCount>>>;

/** Returns the hour of a moment, counted from 1970. */
export function hourOf(atMs: number): number {
  return Math.floor(atMs / hourMs);
}

/**
 * The counts of this process for the current hour; earlier ones are in the store.
 *
 * @example
 * ```ts
 * import { Availability, uptime } from "./availability.ts";
 * const availability = new Availability(0);
 * availability.note("m", true, 1);
 * availability.note("m", true, 2);
 * availability.note("m", false, 3);
 * const { counts } = availability.current(4);
 * if (uptime([counts], "m") !== 2 / 3) throw new Error("wrong");
 * ```
 */
export class Availability {
  #hour: number;
  #counts: Record<string, AvailabilityCount> = {};
  #finished: { readonly hour: number; readonly counts: AvailabilityCounts } | undefined;

  constructor(nowMs: number) {
    this.#hour = hourOf(nowMs);
  }

  #turn(nowMs: number): void {
    const hour = hourOf(nowMs);
    if (hour <= this.#hour) return;
    this.#finished = { hour: this.#hour, counts: this.#counts };
    this.#hour = hour;
    this.#counts = {};
  }

  /** A call ended: `answered` unless every route failed it. Calls refused for their own faults do not count. */
  note(modelId: string, answered: boolean, nowMs: number): void {
    this.#turn(nowMs);
    const count = this.#counts[modelId] ??= { answered: 0, failed: 0 };
    if (answered) count.answered++;
    else count.failed++;
  }

  /** The current hour and its counts. */
  current(nowMs: number): { readonly hour: number; readonly counts: AvailabilityCounts } {
    this.#turn(nowMs);
    return { hour: this.#hour, counts: this.#counts };
  }

  /** The previous hour, returned once, so that its last minute is written too. */
  takeFinished(): { readonly hour: number; readonly counts: AvailabilityCounts } | undefined {
    const finished = this.#finished;
    this.#finished = undefined;
    return finished;
  }
}

/** Computes the share of calls that were answered; `undefined` if there were none. */
export function uptime(hours: readonly AvailabilityCounts[], modelId: string): number | undefined {
  let answered = 0;
  let failed = 0;
  for (const counts of hours) {
    const count = counts[modelId];
    answered += count?.answered ?? 0;
    failed += count?.failed ?? 0;
  }
  return answered + failed === 0 ? undefined : answered / (answered + failed);
}
