/**
 * Counts how many calls of each model were answered, by hour, for the public uptime. Counts do not say who called.
 *
 * - Folder `core/routing/history/`: counts of calls by model, hour and day, for the public uptime and history.
 * - In: how calls ended, and how fast they were.
 * - Out: counts that can be added, shares of answered calls, quantiles.
 * - Never: says who called, or reads the store: `kv/services/status/` keeps the counts.
 */

/** Calls of one model in one hour. */
export interface AvailabilityCount {
  answered: number;
  failed: number;
}

/** Counts by model id. */
export type AvailabilityCounts = Readonly<Record<string, Readonly<AvailabilityCount>>>;

const hourMs = 3_600_000;

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
