/**
 * A chart of bars or lines, drawn by `chart.js`. Below it the legend, and a table with the same figures, which works
 * without script.
 */
import { type Bucket, bucketRange, type Grain } from "../../usage_api/period.ts";
import { type Metric, type Series, totalsOf } from "../../usage_api/series.ts";
import {
  formatBucket,
  formatCount,
  formatDuration,
  formatMoneyShort,
  formatPercent,
} from "../text/format.ts";
import { defineTexts, type Locale } from "../text/i18n.ts";
import { DataTable } from "./data_table.tsx";

const texts = defineTexts({
  en: {
    table: "Show as a table",
    time: "Time",
    sum: "Sum",
    before: "Period before",
    other: "others",
    noCall: "–",
  },
  vi: {
    table: "Xem dạng bảng",
    time: "Thời gian",
    sum: "Tổng",
    before: "Kỳ trước",
    other: "khác",
    noCall: "–",
  },
});

/** The assets that a page with a chart needs. */
export const chartAssets = { scripts: ["chart.js"], styles: ["chart.css"] } as const;

/** Colours with a meaning, where the parts of a chart have one; otherwise each part has that of its place. */
export type ChartColour = "cost" | "margin" | "unknown" | "failed";

export interface ChartProps {
  readonly series: Series;
  /** Colours of the parts, in their order. */
  readonly colours?: readonly (ChartColour | undefined)[] | undefined;
  readonly grain: Grain;
  /** The sums of the period before, bar by bar. */
  readonly before?: readonly (number | undefined)[] | undefined;
  /** A part of the sum of each bar, from −1 to 1, drawn as a line below the bars; absent where there is none. */
  readonly share?: {
    readonly name: string;
    readonly parts: readonly (number | undefined)[];
    /** That of all bars together. */
    readonly whole: number | undefined;
  } | undefined;
  /** Content of the chart, for screen readers. */
  readonly label: string;
  /** Names parts for people; absent: they are shown as they are. */
  readonly nameOf?: ((part: string) => string) | undefined;
  /** The address that a bar leads to. */
  readonly linkOf?: ((bucket: Bucket) => string) | undefined;
  readonly locale: Locale;
}

/** Formats a figure of a chart. Sums of money are shortened; their exact form is in lists and receipts. */
export function formatFigure(metric: Metric, value: number, locale: Locale): string {
  switch (metric) {
    case "cost":
      return formatMoneyShort(microVndOf(value), locale);
    case "first":
    case "duration":
      return value < 0 ? texts[locale].noCall : formatDuration(value, locale);
    default:
      return formatCount(Math.round(value), locale);
  }
}

function microVndOf(vnd: number): bigint {
  return BigInt(Math.round(vnd * 1e6));
}

/** Input of `chart.js`. */
/** Names of the colours as style sheets have them. */
const colourKeys: Readonly<Record<ChartColour, string>> = {
  cost: "8",
  margin: "3",
  unknown: "2",
  failed: "bad",
};

function keyOf(colours: ChartProps["colours"], at: number): string {
  const colour = colours?.[at];
  return colour === undefined ? String(at + 1) : colourKeys[colour];
}

function drawn({ series, colours, grain, before, share, linkOf, nameOf, locale }: ChartProps) {
  const t = texts[locale];
  const name = nameOf ?? ((part: string) => part);
  return {
    metric: series.metric,
    locale: locale === "vi" ? "vi-VN" : "en-GB",
    short: series.buckets.map(({ fromMs }) => formatBucket(fromMs, grain, locale, "short")),
    long: series.buckets.map(({ fromMs }) => formatBucket(fromMs, grain, locale, "long")),
    stacks: series.stacks.map((stack, at) => ({
      key: keyOf(colours, at),
      name: stack.name === "" ? t.other : name(stack.name),
      values: stack.values,
    })),
    before: before?.map((value) => value ?? null),
    beforeName: t.before,
    share: share && { name: share.name, parts: share.parts.map((part) => part ?? null) },
    sum: t.sum,
    links: linkOf === undefined ? undefined : series.buckets.map(linkOf),
  };
}

const isTimes = ({ metric }: Series) => metric === "first" || metric === "duration";

/** The chart with its legend and its table. */
export function SeriesChart(props: ChartProps) {
  const { series, colours, before, share, label, nameOf = (part) => part, locale } = props;
  const t = texts[locale];
  return (
    <figure class="chart-figure">
      <div class="chart" role="img" aria-label={label} data-chart={JSON.stringify(drawn(props))}>
      </div>
      <figcaption class="chart-legend">
        {series.stacks.map(({ name, values }, at) => (
          <span>
            <i class={`chart-key chart-key-${keyOf(colours, at)}`} aria-hidden="true"></i>
            {name === "" ? t.other : nameOf(name)}
            {!isTimes(series) && (
              <span class="muted">
                {formatFigure(series.metric, values.reduce((sum, one) => sum + one, 0), locale)}
              </span>
            )}
          </span>
        ))}
        {share !== undefined && (
          <span>
            <i class="chart-key chart-key-share" aria-hidden="true"></i>
            {share.name}
            <span class="muted">{formatShare(share.whole, locale)}</span>
          </span>
        )}
        {before !== undefined && (
          <span>
            <i class="chart-key chart-key-before" aria-hidden="true"></i>
            {t.before}
            <span class="muted">
              {formatFigure(
                series.metric,
                before.reduce((sum: number, one) => sum + (one ?? 0), 0),
                locale,
              )}
            </span>
          </span>
        )}
      </figcaption>
      <details>
        <summary>{t.table}</summary>
        <FigureTable {...props} />
      </details>
    </figure>
  );
}

function formatShare(part: number | undefined, locale: Locale): string {
  return part === undefined ? texts[locale].noCall : formatPercent(part, locale);
}

function FigureTable({ series, grain, before, share, label, nameOf, linkOf, locale }: ChartProps) {
  const t = texts[locale];
  const totals = totalsOf(series);
  const rows = series.buckets.map((bucket, at) => ({ bucket, at }))
    .filter(({ at }) => series.stacks.some(({ values }) => values[at]! > 0))
    .reverse();
  const figure = (value: number) => formatFigure(series.metric, value, locale);
  return (
    <DataTable
      label={label}
      rows={rows}
      columns={[
        {
          head: t.time,
          kind: "one-line",
          cell: ({ bucket }) => {
            const text = formatBucket(bucket.fromMs, grain, locale, "long");
            return linkOf === undefined ? text : <a href={linkOf(bucket)}>{text}</a>;
          },
        },
        ...isTimes(series) ? [] : [{
          head: t.sum,
          kind: "number" as const,
          cell: ({ at }: { at: number }) => figure(totals[at]!),
        }],
        ...series.stacks.map(({ name, values }) => ({
          head: name === "" ? t.other : nameOf?.(name) ?? name,
          kind: "number" as const,
          wideOnly: !isTimes(series),
          cell: ({ at }: { at: number }) => figure(values[at]!),
        })),
        ...share === undefined ? [] : [{
          head: share.name,
          kind: "number" as const,
          cell: ({ at }: { at: number }) => formatShare(share.parts[at], locale),
        }],
        ...before === undefined ? [] : [{
          head: t.before,
          kind: "number" as const,
          wideOnly: true,
          cell: ({ at }: { at: number }) => figure(before[at] ?? 0),
        }],
      ]}
    />
  );
}

/** One bar of a chart of days. */
export interface DayBar {
  /** `YYYY-MM-DD` */
  readonly day: string;
  readonly costMicroVnd: bigint;
  readonly calls: number;
}

/** A chart of costs per day. */
export function DayChart({ bars, label, locale }: {
  bars: readonly DayBar[];
  label: string;
  locale: Locale;
}) {
  const values = bars.map(({ costMicroVnd }) => Number(costMicroVnd) / 1e6);
  const series: Series = {
    metric: "cost",
    buckets: bars.flatMap(({ day }) => bucketRange(day) ?? []),
    stacks: [{ name: label, values }],
  };
  return <SeriesChart series={series} grain="day" label={label} locale={locale} />;
}

/** Whether a figure says that there were no calls. */
function isEmpty({ stacks }: Series, at: number): boolean {
  return stacks.every(({ values }) => values[at]! <= 0);
}

/**
 * Cuts empty bars off both ends, but leaves a few, so that one bar alone is not taken for the whole period.
 *
 * @returns the rest, and how many bars were cut off its begin
 */
export function withoutEmptyEdges(
  series: Series,
  least: number,
): { readonly series: Series; readonly cutBars: number } {
  let [first, end] = [0, series.buckets.length];
  while (end - first > least && isEmpty(series, first)) first++;
  while (end - first > least && isEmpty(series, end - 1)) end--;
  const stacks = series.stacks.map(({ name, values }) => ({
    name,
    values: values.slice(first, end),
  }));
  const cut = { ...series, buckets: series.buckets.slice(first, end), stacks };
  return { series: cut, cutBars: first };
}
