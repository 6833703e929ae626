/** `/usage`: figures, chart and log of the calls of a period. */
import type { Context } from "hono";
import { readRefundsOf } from "../../../../kv/money/ledger/refunds.ts";
import { readTagUsage, readUsage } from "../../../../kv/money/ledger/usage.ts";
import { takeCalls } from "../../../usage_api/search/call_scan.ts";
import { asksForFailures } from "../../../usage_api/search/call_filter.ts";
import { maxUsageDays } from "../../../usage_api/range.ts";
import {
  Card,
  chartAssets,
  Empty,
  Icon,
  Money,
  Notice,
  SeriesChart,
  Stat,
  Stats,
  withoutEmptyEdges,
} from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { formatCount, formatMoneyShort } from "../../text/format.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { Locale } from "../../text/i18n.ts";
import { NearBudget, readBudgets } from "../budgets/budget_views.tsx";
import { LimitTable, rateTexts } from "../rate_limits/limit_table.tsx";
import { limitsInUse } from "../../page/rate_view.ts";
import type { DashboardEnv, SignedIn } from "../../page/visitor.ts";
import { CallPager, CallTable, LeftOutNotice, LiveNote } from "./call_table.tsx";
import {
  callFilter,
  FilterBar,
  readUsageFilter,
  type UsageFilter,
  usageQuery,
} from "./filter_bar.tsx";
import { errorKindName } from "./failure_words.ts";
import { readViews, SavedViews } from "./saved_views.tsx";
import { usageTexts } from "./texts.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { bucketRange, type Grain, periodBefore, periodOfBar } from "../../../usage_api/period.ts";
import {
  type CallTotals,
  metricsOf,
  ofNone,
  readSeries,
  readTotals,
  type Series,
  type StackBy,
  stackedTag,
  totalsOf,
} from "../../../usage_api/series.ts";
import { isKeyGroup } from "../../../usage_api/summary.ts";
import type { Account } from "../../../../kv/people/accounts/accounts.ts";
import { listMembers } from "../../../../kv/people/organisations/members.ts";
import { organisationFacts } from "../../../../kv/people/organisations/organisations.ts";
import { listTeams } from "../../../../kv/people/organisations/teams.ts";
import { may } from "../../../../core/people/organisations/acts.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";

/** Reads the names by the ids of the keys; `undefined`: the role does not see keys. */
async function readKeyNames(
  kv: KeyValueStore,
  { account, role }: Pick<SignedIn, "account" | "role">,
): Promise<ReadonlyMap<string, string> | undefined> {
  if (!may(role, "view_keys")) return undefined;
  return new Map((await listApiKeys(kv, account.id)).map(({ id, name }) => [id, name]));
}

// The chart of pages with a log of calls: its figures as tabs, by model or key, a grain, and the period before.

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
  const { period, metric, by, keyId, model, tag, status, error } = filter;
  const query = { accountId, period, metric, by, keyId, model, tag, status, error };
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
  /** Absent: the bars are of models only. */
  readonly callers?: Callers | undefined;
  readonly also?: Readonly<Record<string, string>>;
  /** Keys of tags by whose values the bars can be stacked. */
  readonly tagKeys?: readonly string[];
  readonly locale: Locale;
}

/** Groups by which the bars of one organisation can be stacked. */
export interface Callers {
  readonly stacks: readonly StackBy[];
  /** Names of keys and teams by their ids, and of members if the bars are stacked by them. */
  readonly names: ReadonlyMap<string, string>;
}

/** Reads by what the bars of an organisation can be stacked: by member and team where it has several. */
export async function readCallers(
  { kv }: DashboardDeps,
  account: Account,
  { by }: Pick<UsageFilter, "by">,
  keyNames: ReadonlyMap<string, string> | undefined,
): Promise<Callers> {
  const [members, teams] = await Promise.all([
    by === "member" ? listMembers(kv, account) : [],
    listTeams(kv, account.id),
  ]);
  const groups: StackBy[] = keyNames === undefined ? [] : ["key"];
  if (organisationFacts(account).memberCount > 1) groups.push("member");
  if (teams.length > 0) groups.push("team");
  return {
    stacks: ["model", ...groups],
    names: new Map([
      ...keyNames ?? [],
      ...teams.map(({ id, name }) => [id, name] as const),
      ...members.map(({ personId, email }) => [personId, email ?? personId] as const),
    ]),
  };
}

/** Keys of tags with a chip of their own. */
const maxTagChips = 3;

function stacksOf(by: StackBy, { stacks }: Callers, tagKeys: readonly string[]): StackBy[] {
  const chosen = stackedTag(by);
  const keys = new Set([...chosen === undefined ? [] : [chosen], ...tagKeys]);
  return [...stacks, ...[...keys].slice(0, maxTagChips).map((key) => `tag:${key}` as const)];
}

/** The name of a part of the bars. */
function partName(part: string, by: StackBy, { names }: Callers, locale: Locale): string {
  const t = usageTexts[locale];
  switch (by) {
    case "key":
      return names.get(part) ?? t.unknownKey;
    case "member":
    case "team":
      return part === ofNone ? t.ofNone[by] : names.get(part) ?? t.formerly[by];
    default:
      return part;
  }
}

function stackName(by: StackBy, locale: Locale): string {
  const t = usageTexts[locale];
  return by === "model" || by === "key" || isKeyGroup(by) ? t.by[by] : stackedTag(by) ?? "";
}

/** The chart with its tabs. A bar leads to its calls. */
export function UsageChart(
  { path, filter, figures, callers, tagKeys = [], also = {}, locale }: UsageChartProps,
) {
  const t = usageTexts[locale];
  const { metric, by, period } = filter;
  const href = (change: Record<string, string | undefined>) =>
    `${path}?${usageQuery(filter, { ...also, ...change })}`;
  const isStacked = metric === "cost" || metric === "calls" || metric === "tokens";
  const nameOf = (part: string) => {
    if (metric === "errors") return errorKindName(part, locale);
    return isStacked && callers !== undefined ? partName(part, by, callers, locale) : part;
  };
  const isEmpty = figures.series.stacks.every(({ values }) => values.every((value) => value <= 0));
  return (
    <section class="card chart-card" id="chart">
      <div class="card-head">
        <nav class="tabs" aria-label={t.figures}>
          {metricsOf(filter).map((one, at) => (
            <a
              href={`${href({ metric: at === 0 ? undefined : one })}#chart`}
              aria-current={one === metric ? "true" : undefined}
            >
              {t.metrics[one]}
            </a>
          ))}
        </nav>
        <div class="card-actions">
          {isStacked && callers !== undefined && (
            <div class="chips">
              {stacksOf(by, callers, tagKeys).map((one) => (
                <a
                  href={`${href({ by: one === "model" ? undefined : one })}#chart`}
                  aria-current={one === by ? "true" : undefined}
                >
                  {stackName(one, locale)}
                </a>
              ))}
            </div>
          )}
          {period.grains.length > 1 && (
            <div class="chips">
              {period.grains.map((grain: Grain) => (
                <a
                  href={`${href({ grain })}#chart`}
                  aria-current={grain === period.grain ? "true" : undefined}
                >
                  {t.grains[grain]}
                </a>
              ))}
            </div>
          )}
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

/** Calls on one page of the dashboard. */
const callsPerPage = 50;

async function loadCalls(c: Context<DashboardEnv>, deps: DashboardDeps, filter: UsageFilter) {
  const { account } = c.get("signedIn");
  const [keyNames, page] = await Promise.all([
    readKeyNames(deps.kv, c.get("signedIn")),
    takeCalls(deps.kv, callFilter(filter, account.id), callsPerPage),
  ]);
  const receipts = page.calls.flatMap((call) => call.kind === "receipt" ? [call.receipt] : []);
  return {
    ...page,
    keyNames,
    refunds: await readRefundsOf(deps.kv, receipts),
  };
}

async function loadUsagePage(c: Context<DashboardEnv>, deps: DashboardDeps, filter: UsageFilter) {
  const { account } = c.get("signedIn");
  const { tag, period: { range } } = filter;
  const usage = tag === undefined
    ? readUsage(deps.kv, account.id, range)
    : readTagUsage(deps.kv, account.id, range, tag);
  const bar = filter.at === undefined ? undefined : bucketRange(filter.at);
  const period = bar === undefined ? filter.period : periodOfBar(filter.period, bar);
  const log = loadCalls(c, deps, filter);
  const [rows, callers, totals, figures] = await Promise.all([
    usage,
    log.then(({ keyNames }) => readCallers(deps, account, filter, keyNames)),
    usage.then((rows) => readTotals(deps.kv, { ...filter, period, accountId: account.id }, rows)),
    readChart(deps.kv, filter, account.id),
  ]);
  const models = [...new Set(rows.map((row) => row.model))].sort();
  return { models, totals, figures, callers, log: await log };
}

type Loaded = Awaited<ReturnType<typeof loadUsagePage>>;
type Log = Awaited<ReturnType<typeof loadCalls>>;

/** The keys of tags that the listed calls have, the most frequent first. */
function tagKeysOf({ calls }: Log): string[] {
  const counts = new Map<string, number>();
  for (const call of calls) {
    const tags = call.kind === "receipt" ? call.receipt.tags : undefined;
    for (const { key } of tags ?? []) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].sort(([, one], [, other]) => other - one).map(([key]) => key);
}

/** Shows usage and calls. */
export async function usagePage(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
): Promise<Response> {
  const { locale } = c.get("visitor");
  const t = usageTexts[locale];
  const filter = readUsageFilter(c, deps.clock.nowMs());
  if (filter.wrongTag !== undefined) return await wrongTagPage(c, deps, filter);
  const loaded = await loadUsagePage(c, deps, filter);
  const { models, figures, log } = loaded;
  const { account } = c.get("signedIn");
  const [limits, budgets, views] = await Promise.all([
    limitsInUse(deps.rates, { account }),
    readBudgets(deps, account.id),
    readViews(c, deps),
  ]);
  return await renderPage(
    c,
    {
      title: t.title,
      actions: <ExportLinks filter={filter} locale={locale} />,
      scripts: [...chartAssets.scripts, "log.js"],
      styles: chartAssets.styles,
    },
    <>
      <SavedViews views={views} filter={filter} visitor={c.get("visitor")} />
      <FilterBar
        path="/usage"
        filter={filter}
        keyNames={log.keyNames}
        hasTags
        models={models}
        count={loaded.totals.calls}
        locale={locale}
      />
      <NearBudget budgets={budgets} visitor={c.get("visitor")} />
      {limits.length > 0 && (
        <Card title={rateTexts[locale].title}>
          <p class="muted">{rateTexts[locale].now}</p>
          <LimitTable limits={limits} locale={locale} />
        </Card>
      )}
      {filter.period.cut && <Notice tone="warning">{t.tooLong(maxUsageDays)}</Notice>}
      <div id="usage-figures">
        <Totals totals={loaded.totals} filter={filter} locale={locale} />
        <UsageChart
          path="/usage"
          filter={filter}
          figures={figures}
          callers={loaded.callers}
          tagKeys={tagKeysOf(log)}
          locale={locale}
        />
      </div>
      <Card
        title={t.latestCalls}
        id="calls"
        actions={filter.before === undefined &&
          <LiveNote href={`/usage?${usageQuery(filter)}`} locale={locale} />}
      >
        <LogOf log={log} filter={filter} locale={locale} />
      </Card>
    </>,
  );
}

/** Shows the filter alone: figures without a tag would look like those with it. */
export async function wrongTagPage(
  c: Context<DashboardEnv>,
  { kv, catalog }: DashboardDeps,
  filter: UsageFilter,
): Promise<Response> {
  const { locale } = c.get("visitor");
  const t = usageTexts[locale];
  return await renderPage(
    c,
    { title: t.title, status: 422 },
    <FilterBar
      path="/usage"
      filter={filter}
      keyNames={await readKeyNames(kv, c.get("signedIn"))}
      hasTags
      models={catalog.models.map(({ id }) => id)}
      locale={locale}
    />,
  );
}

function LogOf({ log, filter, locale }: { log: Log; filter: UsageFilter; locale: Locale }) {
  const t = usageTexts[locale];
  const { calls, next, refunds, keyNames } = log;
  const path = `/usage?${usageQuery(filter)}`;
  return (
    <div
      class="log"
      data-log={filter.before === undefined ? `/usage/live?${usageQuery(filter)}` : undefined}
      data-mark={callsMark(log)}
    >
      <LeftOutNotice calls={calls} locale={locale} />
      {calls.length === 0 && next === undefined
        ? (
          <Empty title={t.noCalls}>
            <p>{t.noCallsHint}</p>
            <a href="/connect" class="button outline small">{t.connect}</a>
          </Empty>
        )
        : <CallTable calls={calls} refunds={refunds} keyNames={keyNames} locale={locale} />}
      <CallPager
        page={log}
        isFull={calls.length >= callsPerPage}
        newer={filter.before === undefined ? undefined : path}
        older={next === undefined ? undefined : `/usage?${usageQuery(filter, { before: next })}`}
        locale={locale}
      />
    </div>
  );
}

/** A text that changes whenever the list does. */
function callsMark({ calls, refunds }: Pick<Log, "calls" | "refunds">): string {
  const [first, last] = [calls[0]?.requestId ?? "", calls.at(-1)?.requestId ?? ""];
  return [first.slice(-20), last.slice(-20), calls.length, refunds.size].join("-");
}

/**
 * `/usage/live`: the newest calls of the list for an open page, which puts those that it lacks on top. Without changes
 * since `seen` it is 204.
 */
export async function liveCalls(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const { locale } = c.get("visitor");
  const filter = readUsageFilter(c, deps.clock.nowMs());
  const log = await loadCalls(c, deps, { ...filter, before: undefined });
  const mark = callsMark(log);
  if (c.req.query("seen") === mark) return c.body(null, 204);
  return await c.html(
    <LogOf log={log} filter={{ ...filter, before: undefined }} locale={locale} />,
  );
}

function Totals({ totals, filter, locale }: {
  totals: CallTotals;
  filter: UsageFilter;
  locale: Locale;
}) {
  const t = usageTexts[locale];
  const { calls, failedCalls, tokens, costMicroVnd, refundedMicroVnd } = totals;
  if (asksForFailures(filter)) {
    return (
      <Stats>
        <Stat label={t.failed}>{formatCount(failedCalls, locale)}</Stat>
        <Stat label={t.cost}>{t.notCharged}</Stat>
      </Stats>
    );
  }
  return (
    <Stats>
      <Stat
        label={t.cost}
        note={refundedMicroVnd > 0n
          ? t.afterRefunds(formatMoneyShort(refundedMicroVnd, locale))
          : undefined}
      >
        <Money microVnd={costMicroVnd} locale={locale} />
      </Stat>
      <Stat label={t.calls}>{formatCount(calls, locale)}</Stat>
      <Stat label={t.tokens}>{formatCount(tokens, locale)}</Stat>
      {filter.status === undefined && (
        <Stat label={t.failed} note={t.failedNote}>{formatCount(failedCalls, locale)}</Stat>
      )}
    </Stats>
  );
}

function ExportLinks({ filter, locale }: { filter: UsageFilter; locale: Locale }) {
  const t = usageTexts[locale];
  const query = usageQuery(filter);
  return (
    <>
      <a
        href={`/usage/export.csv?${query}`}
        class="button outline secondary small"
        aria-label={`${t.exportLabel}: ${t.exportCsv}`}
      >
        <Icon name="download" /> {t.exportCsv}
      </a>
      <a
        href={`/usage/export.json?${query}`}
        class="button outline secondary small"
        aria-label={`${t.exportLabel}: ${t.exportJson}`}
      >
        <Icon name="download" /> {t.exportJson}
      </a>
    </>
  );
}
