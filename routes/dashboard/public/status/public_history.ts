/** Reads the public history for pages, at most once per minute, however many visitors ask. */
import type { Clock } from "../../../../core/lib/time/clock.ts";
import { vietnamDayNumber } from "../../../../core/lib/time/vietnam_time.ts";
import {
  type CountedDay,
  type DaySum,
  sumOf,
} from "../../../../core/routing/history/day_history.ts";
import { historyDays, readDayHistory } from "../../../../kv/services/status/day_history.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

/** Milliseconds between two readings. */
const historyCacheMs = 60_000;

/** A day of a strip. */
export interface HistoryDay {
  /** As `vietnamDayNumber` numbers it. */
  readonly day: number;
  /** Absent: there were no calls. */
  readonly sum: DaySum | undefined;
}

/** The history of all models. */
export class PublicHistory {
  readonly #deps: { readonly kv: KeyValueStore; readonly clock: Clock };
  #readAtMs = -Infinity;
  #reading: Promise<readonly CountedDay[]> = Promise.resolve([]);

  constructor(deps: { readonly kv: KeyValueStore; readonly clock: Clock }) {
    this.#deps = deps;
  }

  /** Rows of the last {@linkcode historyDays} days. A store that fails is an error of the page. */
  rows(): Promise<readonly CountedDay[]> {
    const { kv, clock } = this.#deps;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#readAtMs > historyCacheMs) {
      this.#readAtMs = nowMs;
      this.#reading = readDayHistory(kv, this.today());
      this.#reading.catch(() => this.#readAtMs = -Infinity);
    }
    return this.#reading;
  }

  /** The number of today. */
  today(): number {
    return vietnamDayNumber(this.#deps.clock.nowMs());
  }
}

/**
 * Sums rows by day, the oldest first.
 *
 * @param modelId absent: all models
 */
export function historyOf(
  rows: readonly CountedDay[],
  { today, days = historyDays, modelId }: {
    readonly today: number;
    readonly days?: number;
    readonly modelId?: string;
  },
): readonly HistoryDay[] {
  const byDay = Map.groupBy(rows, ({ day }) => day);
  return Array.from({ length: days }, (_, index) => {
    const day = today - days + 1 + index;
    const counts = (byDay.get(day) ?? []).map((row) => row.counts);
    return { day, sum: sumOf(counts, modelId) };
  });
}
