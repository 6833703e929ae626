/** A strip with a bar for each day, coloured by how many calls were answered. */
import { formatDecimal } from "../../../../core/billing/money/display.ts";
import { formatDate } from "../../text/format.ts";
import { defineTexts, type Locale } from "../../text/i18n.ts";
import type { HistoryDay } from "./public_history.ts";

/** Shares of answered calls from which a day counts as good, and as disturbed; below is bad. */
const goodShare = 0.995;
const disturbedShare = 0.95;

const dayMs = 86_400_000;

const texts = defineTexts({
  en: {
    noCalls: "no calls",
    summary: (days: number, uptime: string) => `Last ${days} days: ${uptime} of calls answered`,
    nothing: (days: number) => `Last ${days} days: no calls yet`,
    ago: (days: number) => `${days} days ago`,
    today: "today",
  },
  vi: {
    noCalls: "không có lượt gọi",
    summary: (days, uptime) => `${days} ngày qua: ${uptime} lượt gọi được trả lời`,
    nothing: (days) => `${days} ngày qua: chưa có lượt gọi`,
    ago: (days) => `${days} ngày trước`,
    today: "hôm nay",
  },
});

/**
 * Formats a share, never rounded up to 100 %.
 *
 * @example
 * ```ts
 * import { formatShare } from "./history_strip.tsx";
 * if (formatShare(0.99999, "en") !== "99.99 %" || formatShare(1, "vi") !== "100 %") throw new Error();
 * ```
 */
export function formatShare(share: number, locale: Locale): string {
  if (share === 1) return "100 %";
  return `${formatDecimal((Math.floor(share * 10_000) / 100).toFixed(2), locale)} %`;
}

/** The share of calls of all days that were answered; `undefined` if there were none. */
function uptimeOf(days: readonly HistoryDay[]): number | undefined {
  const calls = days.reduce((sum, { sum: day }) => sum + (day?.calls ?? 0), 0);
  const answered = days.reduce(
    (sum, { sum: day }) => sum + (day?.calls ?? 0) * (day?.uptime ?? 0),
    0,
  );
  return calls === 0 ? undefined : answered / calls;
}

function toneOf({ sum }: HistoryDay): string {
  if (sum === undefined) return "none";
  return sum.uptime >= goodShare ? "good" : sum.uptime >= disturbedShare ? "busy" : "bad";
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
          const said = day.sum === undefined ? t.noCalls : formatShare(day.sum.uptime, locale);
          return (
            <span
              class={toneOf(day)}
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
    </div>
  );
}
