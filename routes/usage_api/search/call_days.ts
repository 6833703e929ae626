/**
 * Says in which hours calls may fit a filter, by the sums of the hours, so that a search for rare calls passes over the
 * others. A day whose sums are not complete (before an upgrade, or beyond the time for which hours are kept) counts as
 * one in which every hour may have such calls.
 */
import { idTimeMs, type RequestId } from "../../../core/lib/ids/ids.ts";
import { maxCallMs } from "../../../core/lib/base/limits.ts";
import { shiftDay, vietnamDay, vietnamDayStartMs } from "../../../core/lib/time/vietnam_time.ts";
import {
  firstRefusedHoursDay,
  readRefusedHours,
} from "../../../kv/services/calls/refused_hours.ts";
import {
  type HourRow,
  hourRowOf,
  readHours,
  vietnamHour,
} from "../../../kv/money/receipts/hour_sums.ts";
import { type DaySumCell, usageSum } from "../../../kv/money/receipts/day_sums.ts";
import { endOfIndexBucket } from "../../../kv/money/receipts/receipt_index.ts";
import type { IdSpan, IndexSpan } from "../../../kv/money/receipts/newest_receipts.ts";
import { readDaySumsOfDay } from "../../../kv/money/ledger/usage.ts";
import {
  daySumCellOf,
  daySumsOfDayPrefix,
  hourCellOf,
  hourSumsOfAccountPrefix,
  indexPageKey,
  newestOnIndexPage,
} from "../../../kv/engine/schema/keys.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import { firstRowsOf } from "../../../kv/engine/store/read_ahead.ts";
import {
  asksForFailures,
  type CallFilter,
  firstIdAt,
  fitsCell,
  fitsErrorKind,
  isSelective,
  mayFitHour,
} from "./call_filter.ts";
import { dayMs, hourMs } from "../../../core/lib/time/durations.ts";

/** The hours of a day in which calls may fit. */
interface HoursOfDay {
  readonly hours: ReadonlySet<number> | "all";
  /** Calls that fit are in the index of failed calls, if anywhere. */
  readonly areFailures: boolean;
}

const cellName = ({ keyId, model }: DaySumCell): string => `${keyId} ${model}`;

/** Days that are read at once: those for which hours are kept, and those of a store with an archive. */
const daysPerRead = 40;

/** Cells of a day that are read together with those of other days; one with more is read by itself. */
const maxCellsOfDay = 300;

const timeOf = (id: string): number => idTimeMs("request", id as RequestId);

/** Hours of a day that follow each other. */
interface HoursInARow {
  readonly startMs: number;
  readonly endMs: number;
  readonly onlyFailed: boolean;
}

/** Yields the hours of a day, the latest first. */
function* hoursInARow(
  day: string,
  { hours, areFailures: onlyFailed }: HoursOfDay,
): Generator<HoursInARow> {
  const dayStartMs = vietnamDayStartMs(day);
  if (hours === "all") {
    return yield { startMs: dayStartMs, endMs: dayStartMs + dayMs, onlyFailed: false };
  }
  const inOrder = [...hours].sort((one, other) => other - one);
  for (let at = 0; at < inOrder.length;) {
    let next = at + 1;
    while (next < inOrder.length && inOrder[next] === (inOrder[next - 1] ?? 0) - 1) next++;
    const [last = 0, first = 0] = [inOrder[at], inOrder[next - 1]];
    yield {
      startMs: dayStartMs + first * hourMs,
      endMs: dayStartMs + (last + 1) * hourMs,
      onlyFailed,
    };
    at = next;
  }
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

  /**
   * Yields the parts of the index in which receipts may fit, the latest first: at least one for each day with some. The hour of a receipt is that of its start, which is minutes after the time of its id
   * at most, or a little before it if a clock was set back.
   */
  async *spans({ from, before }: IdSpan): AsyncGenerator<IndexSpan, void, void> {
    if (!this.#isSelective) return yield { from, before, onlyFailed: false };
    let pending: IndexSpan | undefined;
    for await (const { startMs, endMs, onlyFailed } of this.#times({ from, before })) {
      const top = pending === undefined ? before : pending.from;
      const spanEnd = firstIdAt(endMs + clockSlackMs);
      const spanFrom = firstIdAt(startMs - maxCallMs);
      const span = {
        from: spanFrom < from ? from : spanFrom,
        before: spanEnd < top ? spanEnd : top,
        onlyFailed,
      };
      // A day of which not all is known may have calls where the one behind it has only failed ones.
      if (pending?.onlyFailed === true && !onlyFailed && spanEnd > pending.from) {
        if (spanEnd < pending.before) yield { ...pending, from: spanEnd };
        pending = { ...span, before: spanEnd < pending.before ? spanEnd : pending.before };
        continue;
      }
      if (span.before <= span.from) continue;
      if (pending !== undefined) yield pending;
      pending = span;
    }
    if (pending !== undefined) yield pending;
  }

  /** Yields the times of hours in which calls may fit, the latest first, those of a day that follow each other as one. */
  async *#times(span: IdSpan): AsyncGenerator<HoursInARow, void, void> {
    const newestMs = await this.#callMs(span, true);
    if (newestMs === undefined) return;
    let day = vietnamDay(Math.min(newestMs, timeOf(span.before)) + maxCallMs);
    let firstDay = vietnamDay(Math.max(0, timeOf(span.from) - clockSlackMs));
    for (let isFirst = true; day >= firstDay; isFirst = false) {
      if (!isFirst) {
        // An archive is searched by itself.
        const oldestMs = await this.#callMs(span, false) ?? newestMs;
        const oldestDay = vietnamDay(oldestMs - clockSlackMs);
        if (oldestDay > firstDay) firstDay = oldestDay;
      }
      const days = Array.from({ length: daysPerRead }, (_, at) => shiftDay(day, -at))
        .filter((one) => one >= firstDay);
      await this.#learn(days);
      for (const one of days) yield* hoursInARow(one, this.#receipts.get(one) ?? everyHour);
      day = shiftDay(day, -daysPerRead);
    }
  }

  /** The time of the newest call that the store has in the index within a span, or of the oldest one. */
  async #callMs({ from, before }: IdSpan, isNewest: boolean): Promise<number | undefined> {
    const { accountId } = this.#filter;
    const range = {
      start: indexPageKey(accountId, from),
      end: indexPageKey(accountId, endOfIndexBucket(before)),
    };
    const [[row] = []] = await firstRowsOf(this.#kv, [range], 1, isNewest);
    return row && idTimeMs("request", newestOnIndexPage(row.key));
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

  /** Reads the sums of days, in one statement where none has very many; only those that fit are decoded. */
  async #learn(days: readonly string[]): Promise<void> {
    const { accountId, keyId } = this.#filter;
    // The hours are read first: sums that grow in between only make the day count as not complete.
    const hourRanges = days.map((day) => hourSumsOfAccountPrefix(day, accountId, keyId));
    const sumRanges = days.map((day) => daySumsOfDayPrefix(accountId, day, keyId));
    const ranges = [...hourRanges, ...sumRanges].map((prefix) => ({ prefix }));
    const rows = await firstRowsOf(this.#kv, ranges, maxCellsOfDay);
    for (const [at, day] of days.entries()) {
      const [hours, sums] = [rows[at] ?? [], rows[days.length + at] ?? []];
      const isMore = hours.length >= maxCellsOfDay || sums.length >= maxCellsOfDay;
      this.#receipts.set(
        day,
        isMore ? await this.#readWhole(day) : this.#hoursOf(
          hours.filter(({ key }) => fitsCell(hourCellOf(key), this.#filter)).map(hourRowOf),
          sums.map(({ key, value }) => ({ cell: daySumCellOf(key), value }))
            .filter(({ cell }) => fitsCell(cell, this.#filter))
            .map(({ cell, value }) => ({ cell, calls: usageSum(value).calls })),
        ),
      );
    }
  }

  async #readWhole(day: string): Promise<HoursOfDay> {
    const { accountId } = this.#filter;
    const hours = await Array.fromAsync(readHours(this.#kv, day, accountId));
    const sums = await readDaySumsOfDay(this.#kv, accountId, day);
    return this.#hoursOf(hours, sums.map(({ cell, usage: { calls } }) => ({ cell, calls })));
  }

  #hoursOf(
    rows: readonly HourRow[],
    sums: readonly { readonly cell: DaySumCell; readonly calls: number }[],
  ): HoursOfDay {
    const filter = this.#filter;
    const byCell = new Map(rows.map((row) => [cellName(row.cell), row]));
    const hours = new Set<number>();
    for (const { cell, calls } of sums) {
      if (!fitsCell(cell, filter)) continue;
      const row = byCell.get(cellName(cell));
      let counted = 0;
      for (const [hour, sum] of row?.sums.hours ?? []) {
        counted += sum.calls;
        if (mayFitHour(sum, filter)) hours.add(hour);
      }
      if (counted !== calls) return everyHour;
    }
    return { hours, areFailures: asksForFailures(filter) };
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
