/** A strip with a bar for each day, coloured by how many calls were answered. */
import { formatDate, formatPercentage } from "../../text/format.ts";
import { defineTexts, type Locale } from "../../text/i18n.ts";
import type { Clock } from "../../../../core/lib/time/clock.ts";
import { vietnamDayNumber } from "../../../../core/lib/time/vietnam_time.ts";
import {
  type CountedDay,
  type DaySum,
  sumOf,
} from "../../../../core/routing/history/availability.ts";
import { historyDays, readDayHistory } from "../../../../kv/services/status/availability.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";

// Reads the public history for pages, at most once per minute, however many visitors ask.

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

/** Shares of answered calls from which a day counts as good, and as one with issues; below is bad. */
const goodShare = 0.995;
const busyShare = 0.95;

const texts = defineTexts({
  both: {
    noCalls: ["no calls", "không có lượt gọi"],
    few: ["too few calls to judge", "quá ít lượt gọi để đánh giá"],
    today: ["today", "hôm nay"],
  },
  en: {
    counted:
      "Counted are calls that reached a model. Not counted: those refused for a mistake of the request, a limit or an empty wallet, and those that their caller ended. Grey days had too few calls to judge.",
    summary: (days: number, uptime: string) => `Last ${days} days: ${uptime} of calls answered`,
    nothing: (days: number) => `Last ${days} days: no calls yet`,
    ago: (days: number) => `${days} days ago`,
  },
  vi: {
    counted:
      "Tính các lượt gọi đã đến mô hình. Không tính: lượt bị từ chối do yêu cầu sai, do giới hạn hoặc do ví trống, và lượt do người gọi ngắt. Ngày màu xám có quá ít lượt gọi để đánh giá.",
    summary: (days, uptime) => `${days} ngày qua: ${uptime} lượt gọi được trả lời`,
    nothing: (days) => `${days} ngày qua: chưa có lượt gọi`,
    ago: (days) => `${days} ngày trước`,
  },
});

/**
 * Formats a share, never rounded up to 100 %.
 *
 * @example
 * ```ts
 * import { formatShare } from "./history_strip.tsx";
 * if (formatShare(0.99999, "en") !== "99.99\u00a0%") throw new Error();
 * if (formatShare(1, "vi") !== "100\u00a0%") throw new Error();
 * ```
 */
export function formatShare(share: number, locale: Locale): string {
  return share === 1
    ? formatPercentage(100, locale)
    : formatPercentage(Math.floor(share * 10_000) / 100, locale, 2);
}

/** The share of calls of all days that were answered; `undefined` if there were none. */
export function uptimeOf(days: readonly HistoryDay[]): number | undefined {
  const calls = days.reduce((sum, { sum: day }) => sum + (day?.calls ?? 0), 0);
  const answered = days.reduce(
    (sum, { sum: day }) => sum + (day?.calls ?? 0) * (day?.uptime ?? 0),
    0,
  );
  return calls === 0 ? undefined : answered / calls;
}

/** Calls of a day below which its share says nothing: one failure of a dozen is no outage. */
const fewCalls = 20;

function toneOf({ sum }: HistoryDay): string {
  if (sum === undefined) return "none";
  if (sum.calls < fewCalls) return "few";
  return sum.uptime >= goodShare ? "good" : sum.uptime >= busyShare ? "busy" : "bad";
}

/** The strip, with its summary for screen readers. */
export function HistoryStrip({ days, locale }: { days: readonly HistoryDay[]; locale: Locale }) {
  const t = texts[locale];
  const share = uptimeOf(days);
  const summary = share === undefined
    ? t.nothing(days.length)
    : t.summary(days.length, formatShare(share, locale));
  return (
    <div class="history">
      <div class="history-strip" role="img" aria-label={summary}>
        {days.map((day) => {
          const tone = toneOf(day);
          const said = day.sum === undefined
            ? t.noCalls
            : tone === "few"
            ? t.few
            : formatShare(day.sum.uptime, locale);
          return (
            <span
              class={tone}
              title={`${formatDate(day.day * dayMs, locale)}: ${said}`}
            />
          );
        })}
      </div>
      <div class="history-ends">
        <span>{t.ago(days.length - 1)}</span>
        <span>{summary}</span>
        <span>{t.today}</span>
      </div>
      <p class="history-note">{t.counted}</p>
    </div>
  );
}
