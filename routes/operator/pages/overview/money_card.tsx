/** Money of today and of the last 30 days: what came in, what providers cost, what is left. */
import {
  firstDayOfMonth,
  monthOfDay,
  shiftMonth,
  vietnamDay,
  vietnamDayStartMs,
} from "../../../../core/lib/time/vietnam_time.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import {
  type OperatorFigures,
  readCredited,
} from "../../../../kv/services/operations/operator_figures.ts";
import {
  marginBasisPoints,
  marginMicroVnd,
  type Margins,
  type MarginSum,
  noMargin,
  readMargins,
  sumOfMargins,
} from "../../../../kv/money/costs/margins.ts";
import type { DayRange } from "../../../../kv/money/receipts/day_sums.ts";
import {
  Card,
  type ChartColour,
  Money,
  SeriesChart,
  Stat,
  Stats,
} from "../../../dashboard/components/mod.ts";
import { formatCount, formatMoneyShort, formatPercent } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { bucketRange } from "../../../usage_api/period.ts";
import { daysBetween, shiftDay } from "../../../usage_api/range.ts";
import type { Stack } from "../../../usage_api/series.ts";
import { todayTexts } from "./today_texts.ts";

/** Views of the chart. */
const views = ["earned", "bank"] as const;

/** One of them. */
export type MoneyView = typeof views[number];

/** Reads the view of a query. */
export function moneyView(text: string | undefined): MoneyView {
  return views.find((view) => view === text) ?? "earned";
}

/** Spans of the chart: two have a bar for each day, the longest one for each month. */
const spans = ["7d", "30d", "12m"] as const;

/** One of them. */
export type MoneySpan = typeof spans[number];

/** Reads the span of a query. */
export function moneySpan(text: string | undefined): MoneySpan {
  return spans.find((span) => span === text) ?? "30d";
}

/** The days of a chart, with today. */
export function spanDays(span: MoneySpan, nowMs: number): DayRange {
  const toDay = vietnamDay(nowMs);
  switch (span) {
    case "7d":
      return { fromDay: shiftDay(toDay, -6), toDay };
    case "30d":
      return { fromDay: shiftDay(toDay, -29), toDay };
    case "12m":
      return { fromDay: firstDayOfMonth(shiftMonth(monthOfDay(toDay), -11)), toDay };
  }
}

/** Sums by day for the chart: what calls earned, and what top-ups brought. */
export interface MoneyByDay {
  readonly span: MoneySpan;
  readonly margins: Pick<Margins, "by">;
  readonly creditedByDay: ReadonlyMap<string, bigint>;
  readonly isPartial: boolean;
}

/** Reads the year before a moment: a longer scan than that of the page, so only for those who ask. */
export async function readYear(kv: KeyValueStore, nowMs: number): Promise<MoneyByDay> {
  const range = spanDays("12m", nowMs);
  const [margins, credited] = await Promise.all([
    readMargins(kv, range),
    readCredited(kv, vietnamDayStartMs(range.fromDay)),
  ]);
  return {
    span: "12m",
    margins,
    creditedByDay: credited.byDay,
    isPartial: margins.isPartial || credited.partial,
  };
}

/** Content of the card, all of the same moment. */
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

/** The days that one bar stands for: one, or those of a month. */
function daysOfBars({ span }: MoneyByDay, nowMs: number) {
  const { fromDay, toDay } = spanDays(span, nowMs);
  const days = daysBetween(fromDay, toDay);
  return span === "12m"
    ? { grain: "month" as const, bars: [...Map.groupBy(days, monthOfDay)] }
    : { grain: "day" as const, bars: days.map((day): [string, string[]] => [day, [day]]) };
}

interface ColouredStack extends Stack {
  readonly colour: ChartColour;
}

/** A loss is a negative part: the bar of the costs then stands above what was charged. */
function earnedStacks(sums: readonly MarginSum[], locale: Locale): readonly ColouredStack[] {
  const t = todayTexts[locale];
  const unknown = (sum: MarginSum) => sum.revenueMicroVnd - sum.knownRevenueMicroVnd;
  const stacks = [
    {
      name: t.costs,
      colour: "cost",
      values: sums.map(({ costMicroVnd }) => vndOf(costMicroVnd)),
    },
    {
      name: t.margins,
      colour: "margin",
      values: sums.map((sum) => vndOf(marginMicroVnd(sum) ?? 0n)),
    },
    { name: t.unknown, colour: "unknown", values: sums.map((sum) => vndOf(unknown(sum))) },
  ] as const;
  const used = stacks.filter(({ values }) => values.some((value) => value !== 0));
  return used.length === 0 ? stacks.slice(0, 1) : used;
}

function shareOf(sum: MarginSum): number | undefined {
  const basisPoints = marginBasisPoints(sum);
  return basisPoints === undefined ? undefined : basisPoints / 10_000;
}

/** The bars of a chart, and the line of the margin's share where costs are known. */
function drawnMoney(money: MoneyByDay, view: MoneyView, nowMs: number, locale: Locale) {
  const t = todayTexts[locale];
  const { grain, bars } = daysOfBars(money, nowMs);
  const buckets = bars.flatMap(([id]) => bucketRange(id) ?? []);
  if (view === "bank") {
    const received = bars.map(([, days]) =>
      vndOf(days.reduce((sum, day) => sum + (money.creditedByDay.get(day) ?? 0n), 0n))
    );
    const series = {
      metric: "cost" as const,
      buckets,
      stacks: [{ name: t.received, values: received }],
    };
    return { series, colours: undefined, grain, share: undefined };
  }
  const of = (days: readonly string[]) =>
    sumOfMargins(days.flatMap((day) => money.margins.by.day.get(day) ?? []));
  const sums = bars.map(([, days]) => of(days));
  const whole = shareOf(sumOfMargins(sums));
  const stacks = earnedStacks(sums, locale);
  return {
    series: { metric: "cost" as const, buckets, stacks },
    colours: stacks.map(({ colour }) => colour),
    grain,
    share: whole === undefined
      ? undefined
      : { name: t.marginShare, parts: sums.map(shareOf), whole },
  };
}

/** Links of which one is where the page is. */
function Chips<One extends string>({ label, all, chosen, nameOf, hrefOf }: {
  label: string;
  all: readonly One[];
  chosen: One;
  nameOf: (one: One) => string;
  hrefOf: (one: One) => string;
}) {
  return (
    <nav class="chips" aria-label={label}>
      {all.map((one) => (
        <a href={hrefOf(one)} aria-current={one === chosen ? "true" : undefined}>{nameOf(one)}</a>
      ))}
    </nav>
  );
}

/** The address of the page with another chart; what is usual is not named. */
function chartPath(view: MoneyView, span: MoneySpan): string {
  const query = new URLSearchParams({
    ...view !== "earned" && { money: view },
    ...span !== "30d" && { span },
  });
  return query.size === 0 ? "/operator" : `/operator?${query}`;
}

/** The chart: costs and margin with its share, or what the bank brought. */
export function MoneyCard({ money, view, nowMs, locale }: {
  money: MoneyByDay;
  view: MoneyView;
  nowMs: number;
  locale: Locale;
}) {
  const t = todayTexts[locale];
  const { span } = money;
  return (
    <Card
      title={t.money[span]}
      actions={
        <>
          <Chips
            label={t.viewsLabel}
            all={views}
            chosen={view}
            nameOf={(one) => t.views[one]}
            hrefOf={(one) => chartPath(one, span)}
          />
          <Chips
            label={t.spansLabel}
            all={spans}
            chosen={span}
            nameOf={(one) => t.spans[one]}
            hrefOf={(one) => chartPath(view, one)}
          />
          <a href="/operator/margins?period=30d&by=day">{t.allMargins}</a>
        </>
      }
    >
      <SeriesChart
        {...drawnMoney(money, view, nowMs, locale)}
        label={view === "earned" ? t.earnedLabel : t.bankLabel}
        locale={locale}
      />
      {money.isPartial && <p class="muted">{t.partial}</p>}
    </Card>
  );
}
