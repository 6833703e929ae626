/** The chart of pages with a log of calls: its figures as tabs, by model or key, a grain, and the period before. */
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { type Grain, periodBefore } from "../../../usage_api/period.ts";
import {
  metrics,
  readSeries,
  type Series,
  totalsOf,
  withoutEmptyEdges,
} from "../../../usage_api/series.ts";
import { SeriesChart } from "../../components/mod.ts";
import type { Locale } from "../../text/i18n.ts";
import { type UsageFilter, usageQuery } from "./filter.ts";
import { usageTexts } from "./texts.ts";

/** Bars that stay when empty ones are cut off the edges. */
const leastBars = 8;

/** The figures of a chart. */
export interface ChartFigures {
  readonly series: Series;
  /** By bar; absent for times. */
  readonly before: readonly (number | undefined)[] | undefined;
}

/** Reads the figures of the chart that a filter asks for. */
export async function readChart(
  kv: KeyValueStore,
  filter: UsageFilter,
  accountId: AccountId | undefined,
): Promise<ChartFigures> {
  const { period, metric, by, keyId, model } = filter;
  const query = { accountId, period, metric, by, keyId, model };
  const isTimes = metric === "first" || metric === "duration";
  const [series, earlier] = await Promise.all([
    readSeries(kv, query),
    isTimes ? undefined : readSeries(kv, { ...query, period: periodBefore(period) }),
  ]);
  const { series: cut, cutBars } = withoutEmptyEdges(series, leastBars);
  const sums = earlier && totalsOf(earlier);
  // A period without any call is no comparison.
  if (sums === undefined || sums.every((sum) => sum === 0)) {
    return { series: cut, before: undefined };
  }
  return { series: cut, before: cut.buckets.map((_, at) => sums[at + cutBars]) };
}

interface UsageChartProps {
  readonly path: string;
  readonly filter: UsageFilter;
  readonly figures: ChartFigures;
  readonly keyNames?: ReadonlyMap<string, string> | undefined;
  readonly also?: Readonly<Record<string, string>>;
  readonly locale: Locale;
}

/** The chart with its tabs. A bar leads to its calls. */
export function UsageChart(
  { path, filter, figures, keyNames, also = {}, locale }: UsageChartProps,
) {
  const t = usageTexts[locale];
  const { metric, by, period } = filter;
  const href = (change: Record<string, string | undefined>) =>
    `${path}?${usageQuery(filter, { ...also, ...change })}`;
  const isStacked = metric === "cost" || metric === "calls" || metric === "tokens";
  const nameOf = (part: string) =>
    isStacked && by === "key" ? keyNames?.get(part) ?? t.unknownKey : part;
  const isEmpty = figures.series.stacks.every(({ values }) => values.every((value) => value <= 0));
  return (
    <section class="card chart-card" id="chart">
      <div class="card-head">
        <nav class="tabs" aria-label={t.figures}>
          {metrics.map((one) => (
            <a
              href={`${href({ metric: one === "cost" ? undefined : one })}#chart`}
              aria-current={one === metric ? "true" : undefined}
            >
              {t.metrics[one]}
            </a>
          ))}
        </nav>
        <div class="chips">
          {isStacked && keyNames !== undefined && (["model", "key"] as const).map((one) => (
            <a
              class="chip"
              href={`${href({ by: one === "model" ? undefined : one })}#chart`}
              aria-current={one === by ? "true" : undefined}
            >
              {one === "model" ? t.byModel : t.byKey}
            </a>
          ))}
          {period.grains.length > 1 &&
            period.grains.map((grain: Grain) => (
              <a
                class="chip"
                href={`${href({ grain })}#chart`}
                aria-current={grain === period.grain ? "true" : undefined}
              >
                {t.grains[grain]}
              </a>
            ))}
        </div>
      </div>
      {isEmpty ? <p class="muted">{t.emptyChart}</p> : (
        <SeriesChart
          series={figures.series}
          grain={period.grain}
          before={figures.before}
          label={`${t.metrics[metric]}, ${t.grains[period.grain]}`}
          nameOf={nameOf}
          linkOf={({ id }) => `${href({ at: id })}#calls`}
          locale={locale}
        />
      )}
    </section>
  );
}
