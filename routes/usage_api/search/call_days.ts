/**
 * Says in which hours calls may fit a filter, by the sums of the hours, so that a search for rare calls passes over the
 * others. A day whose sums are not complete (before an upgrade, or beyond the time for which hours are kept) counts as
 * one in which every hour may have such calls.
 */
import { idTimeMs, type RequestId } from "../../../core/lib/ids/ids.ts";
import { maxCallMs } from "../../../core/lib/base/limits.ts";
import { vietnamDay, vietnamDayStartMs } from "../../../core/lib/time/vietnam_time.ts";
import {
  firstRefusedHoursDay,
  readRefusedHours,
} from "../../../kv/services/calls/refused_hours.ts";
import { readHours, vietnamHour } from "../../../kv/money/receipts/hour_sums.ts";
import { readDaySumsOfDay } from "../../../kv/money/ledger/usage.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import {
  asksForFailures,
  type CallFilter,
  firstIdAt,
  fitsCell,
  fitsErrorKind,
  isSelective,
  mayFitHour,
} from "./call_filter.ts";
import { hourMs } from "../../../core/lib/time/durations.ts";

/** The hours of a day in which calls may fit. */
interface HoursOfDay {
  readonly hours: ReadonlySet<number> | "all";
  /** Calls that fit are in the index of failed calls, if anywhere. */
  readonly areFailures: boolean;
}

/** Milliseconds by which an id may be later than the start of its call, after a clock was set back. */
const clockSlackMs = 60_000;

/** The end of the highest of some hours that lies below a moment, or else the begin of its day. */
function below(atMs: number, hours: ReadonlySet<number> | "all", slackMs: number): RequestId {
  const dayStartMs = vietnamDayStartMs(vietnamDay(atMs));
  if (hours === "all") return firstIdAt(atMs);
  const ends = [...hours].map((hour) => dayStartMs + (hour + 1) * hourMs + slackMs)
    .filter((endMs) => endMs <= atMs);
  return firstIdAt(Math.max(dayStartMs, ...ends));
}

const everyHour: HoursOfDay = { hours: "all", areFailures: false };

/** The days of one search. */
export class CallDays {
  readonly #kv: KeyValueStore;
  readonly #filter: CallFilter;
  readonly #isSelective: boolean;
  readonly #receipts = new Map<string, HoursOfDay>();
  readonly #refused = new Map<string, ReadonlySet<number> | "all">();
  #firstCounted: string | undefined;

  constructor(kv: KeyValueStore, filter: CallFilter) {
    this.#kv = kv;
    this.#filter = filter;
    this.#isSelective = isSelective(filter);
  }

  /** Whether the calls of a day that fit are all in the index of failed calls. */
  async areFailures(day: string): Promise<boolean> {
    return (await this.#receiptsOf(day)).areFailures;
  }

  /**
   * Whether the receipt of a call may fit. Its hour is that of its start, which is minutes after the time of its id at
   * most, or a little before it if a clock was set back.
   */
  async mayHaveReceipt(requestId: RequestId): Promise<boolean> {
    if (!this.#isSelective) return true;
    const atMs = idTimeMs("request", requestId);
    return await this.#mayStart(atMs) || await this.#mayStart(atMs + maxCallMs) ||
      await this.#mayStart(atMs - clockSlackMs);
  }

  async #mayStart(atMs: number): Promise<boolean> {
    const { hours } = await this.#receiptsOf(vietnamDay(atMs));
    return hours === "all" || hours.has(vietnamHour(atMs));
  }

  /** The point to which a search goes on below a call that cannot fit: the end of the next hour with some, or its day. */
  async receiptsBelow(requestId: RequestId): Promise<RequestId> {
    const atMs = idTimeMs("request", requestId);
    const { hours } = await this.#receiptsOf(vietnamDay(atMs));
    return below(atMs, hours, clockSlackMs);
  }

  /** Whether a refused call may fit. */
  async mayHaveRefused(requestId: RequestId): Promise<boolean> {
    if (!this.#isSelective) return true;
    const atMs = idTimeMs("request", requestId);
    const hours = await this.#refusedOf(vietnamDay(atMs));
    return hours === "all" || hours.has(vietnamHour(atMs));
  }

  /** The same as {@linkcode receiptsBelow} for refused calls. */
  async refusedBelow(requestId: RequestId): Promise<RequestId> {
    const atMs = idTimeMs("request", requestId);
    return below(atMs, await this.#refusedOf(vietnamDay(atMs)), 0);
  }

  async #receiptsOf(day: string): Promise<HoursOfDay> {
    const known = this.#receipts.get(day) ?? await this.#readReceipts(day);
    this.#receipts.set(day, known);
    return known;
  }

  async #readReceipts(day: string): Promise<HoursOfDay> {
    if (!this.#isSelective) return everyHour;
    const filter = this.#filter;
    const { accountId } = filter;
    // The hours are read first: sums that grow in between only make the day count as not complete.
    const rows = await Array.fromAsync(readHours(this.#kv, day, accountId));
    const sums = await readDaySumsOfDay(this.#kv, accountId, day);
    const hours = new Set<number>();
    let isComplete = true;
    for (const { cell, usage } of sums) {
      if (!fitsCell(cell, filter)) continue;
      const row = rows.find(({ cell: { keyId, model } }) =>
        keyId === cell.keyId && model === cell.model
      );
      const counted = [...row?.sums.hours.values() ?? []].reduce(
        (sum, { calls }) => sum + calls,
        0,
      );
      if (row === undefined || counted !== usage.calls) isComplete = false;
      for (const [hour, sum] of row?.sums.hours ?? []) if (mayFitHour(sum, filter)) hours.add(hour);
    }
    return isComplete ? { hours, areFailures: asksForFailures(filter) } : everyHour;
  }

  async #refusedOf(day: string): Promise<ReadonlySet<number> | "all"> {
    const known = this.#refused.get(day) ?? await this.#readRefused(day);
    this.#refused.set(day, known);
    return known;
  }

  /** The day in which counting began has calls that were not counted. */
  async #readRefused(day: string): Promise<ReadonlySet<number> | "all"> {
    this.#firstCounted ??= await firstRefusedHoursDay(this.#kv) ?? "~";
    if (day <= this.#firstCounted) return "all";
    const hours = new Set<number>();
    for await (const row of readRefusedHours(this.#kv, day, this.#filter.accountId)) {
      // A row without a model is of calls whose model is unknown, which fit no model.
      if (!fitsCell(row.cell, this.#filter)) continue;
      for (const [hour, errors] of row.hours) {
        if ([...errors.keys()].some((kind) => fitsErrorKind(kind, this.#filter))) hours.add(hour);
      }
    }
    return hours;
  }
}
