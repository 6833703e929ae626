/** Money of today and of the last 30 days: what came in, what providers cost, what is left. */
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import type { OperatorFigures } from "../../../../kv/services/operations/operator_figures.ts";
import {
  marginBasisPoints,
  marginMicroVnd,
  type Margins,
  noMargin,
} from "../../../../kv/money/costs/margins.ts";
import { Card, Money, SeriesChart, Stat, Stats } from "../../../dashboard/components/mod.ts";
import { formatCount, formatMoneyShort, formatPercent } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { bucketRange } from "../../../usage_api/period.ts";
import { daysBetween, shiftDay } from "../../../usage_api/range.ts";
import type { Series } from "../../../usage_api/series.ts";
import { todayTexts } from "./today_texts.ts";

/** Days of the chart, with today. */
const chartDays = 30;

/** The days of the chart. */
export function chartRange(nowMs: number) {
  const toDay = vietnamDay(nowMs);
  return { fromDay: shiftDay(toDay, 1 - chartDays), toDay };
}

/** What the chart can show. */
const views = ["earned", "bank"] as const;

/** One of them. */
export type MoneyView = typeof views[number];

/** Reads the view of a query. */
export function moneyView(text: string | undefined): MoneyView {
  return views.find((view) => view === text) ?? "earned";
}

/** What the card shows, all of the same moment. */
export interface MoneyOfMonth {
  readonly nowMs: number;
  readonly figures: OperatorFigures;
  readonly margins: Margins;
}

/** The sums of today. */
export function MoneyFigures({ money, locale }: { money: MoneyOfMonth; locale: Locale }) {
  const t = todayTexts[locale];
  const { figures, margins, nowMs } = money;
  const today = margins.by.day.get(vietnamDay(nowMs)) ?? noMargin;
  const margin = marginMicroVnd(today);
  const share = marginBasisPoints(today);
  const month = (microVnd: bigint) => t.monthNote(formatMoneyShort(microVnd, locale));
  const isKnown = margins.total.knownCalls > 0;
  return (
    <Stats>
      <Stat label={t.toppedUp} note={month(figures.creditedMonthMicroVnd)}>
        <Money microVnd={figures.creditedTodayMicroVnd} locale={locale} />
      </Stat>
      <Stat label={t.charged} note={month(figures.revenueMonthMicroVnd)}>
        <Money microVnd={figures.revenueTodayMicroVnd} locale={locale} />
      </Stat>
      <Stat label={t.cost} note={isKnown ? month(margins.total.costMicroVnd) : t.costUnknown}>
        {isKnown ? <Money microVnd={today.costMicroVnd} locale={locale} /> : "–"}
      </Stat>
      <Stat
        label={t.margin}
        note={share === undefined ? undefined : t.shareNote(formatPercent(share / 10_000, locale))}
      >
        {margin === undefined ? "–" : <Money microVnd={margin} locale={locale} />}
      </Stat>
      <Stat label={t.liability} note={t.liabilityNote(formatCount(figures.wallets, locale))}>
        <Money microVnd={figures.liabilityMicroVnd} locale={locale} />
      </Stat>
    </Stats>
  );
}

const vndOf = (microVnd: bigint) => Number(microVnd) / 1e6;

/** A loss is a negative part: the bar of the costs then stands above what was charged. */
function earnedStacks(
  { figures, margins: { by } }: MoneyOfMonth,
  days: readonly string[],
  locale: Locale,
): Series["stacks"] {
  const t = todayTexts[locale];
  const sums = days.map((day) => by.day.get(day) ?? noMargin);
  const margins = sums.map((sum) => marginMicroVnd(sum) ?? 0n);
  const unknown = days.map((day, at) => {
    const left = (figures.revenueByDay.get(day) ?? 0n) - sums[at]!.costMicroVnd - margins[at]!;
    return left > 0n ? left : 0n;
  });
  const stacks = [
    { name: t.costs, values: sums.map(({ costMicroVnd }) => vndOf(costMicroVnd)) },
    { name: t.margins, values: margins.map(vndOf) },
    { name: t.unknown, values: unknown.map(vndOf) },
  ];
  const used = stacks.filter(({ values }) => values.some((value) => value !== 0));
  return used.length === 0 ? stacks.slice(0, 1) : used;
}

function seriesOf(money: MoneyOfMonth, view: MoneyView, locale: Locale) {
  const { figures, nowMs } = money;
  const { fromDay, toDay } = chartRange(nowMs);
  const days = daysBetween(fromDay, toDay);
  const stacks = view === "earned" ? earnedStacks(money, days, locale) : [{
    name: todayTexts[locale].received,
    values: days.map((day) => vndOf(figures.creditedByDay.get(day) ?? 0n)),
  }];
  return {
    metric: "cost" as const,
    buckets: days.flatMap((day) => bucketRange(day) ?? []),
    stacks,
  };
}

/** The chart of the last 30 days: costs and margin, or what the bank brought. */
export function MoneyCard({ money, view, locale }: {
  money: MoneyOfMonth;
  view: MoneyView;
  locale: Locale;
}) {
  const t = todayTexts[locale];
  const label = view === "earned" ? t.earnedLabel : t.bankLabel;
  return (
    <Card
      title={t.money}
      actions={
        <>
          <nav class="chips" aria-label={t.viewsLabel}>
            {views.map((one) => (
              <a
                href={one === "earned" ? "/operator" : `/operator?money=${one}`}
                aria-current={one === view ? "true" : undefined}
              >
                {t.views[one]}
              </a>
            ))}
          </nav>
          <a href="/operator/margins?period=30d&by=day">{t.allMargins}</a>
        </>
      }
    >
      <SeriesChart
        series={seriesOf(money, view, locale)}
        grain="day"
        label={label}
        locale={locale}
      />
    </Card>
  );
}
