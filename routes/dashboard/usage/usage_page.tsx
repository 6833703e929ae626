/** `/usage`: totals, chart and calls of a range of days. */
import type { Context } from "hono";
import { listApiKeys } from "../../../kv/api_keys/api_keys.ts";
import { readRefundsOf } from "../../../kv/ledger/refunds.ts";
import { netCostMicroVnd, readUsage, type Usage } from "../../../kv/receipts/usage.ts";
import { maxUsageDays } from "../../usage_api/range.ts";
import { takeCalls } from "../../usage_api/call_scan.ts";
import { billedTokens, dayBars, totalUsage, usageBy } from "../../usage_api/summary.ts";
import {
  Card,
  chartAssets,
  DataTable,
  DayChart,
  Empty,
  Icon,
  Money,
  Notice,
  Pager,
  Stat,
  Stats,
} from "../components/mod.ts";
import type { DashboardDeps } from "../deps.ts";
import { formatCount, formatMoney } from "../format.ts";
import type { Locale } from "../i18n.ts";
import { renderPage } from "../frame/layout.tsx";
import { LimitTable } from "../rate_limits/limit_table.tsx";
import { limitsInUse } from "../rate_limits/rate_view.ts";
import { rateTexts } from "../rate_limits/texts.ts";
import type { DashboardEnv } from "../visitor/visitor.ts";
import { callFilter, fitsFilter, readUsageFilter, type UsageFilter, usageQuery } from "./filter.ts";
import { CallTable } from "./call_table.tsx";
import { FilterForm, FindCall } from "./filter_form.tsx";
import { usageTexts } from "./texts.ts";

/** Calls on one page of the dashboard. */
const callsPerPage = 50;

async function loadUsagePage(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const { account } = c.get("signedIn");
  const filter = readUsageFilter(c, deps.clock.nowMs());
  const { range } = filter;
  const [all, keys, page] = await Promise.all([
    readUsage(deps.kv, account.id, range),
    listApiKeys(deps.kv, account.id),
    takeCalls(deps.kv, callFilter(filter, account.id), callsPerPage),
  ]);
  return {
    filter,
    rows: all.filter((row) => fitsFilter(row, filter)),
    models: [...new Set(all.map((row) => row.model))].sort(),
    keyNames: new Map<string, string>(keys.map((key) => [key.id, key.name])),
    refunds: await readRefundsOf(
      deps.kv,
      page.calls.flatMap((call) => call.kind === "receipt" ? [call.receipt] : []),
    ),
    ...page,
  };
}

type Loaded = Awaited<ReturnType<typeof loadUsagePage>>;

/** Shows usage and calls, or only the part that a poll refreshes. */
export async function usagePage(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
): Promise<Response> {
  const { locale } = c.get("visitor");
  const t = usageTexts[locale];
  const loaded = await loadUsagePage(c, deps);
  const { filter, rows, calls, refunds, next, keyNames, models } = loaded;
  const mark = usageMark(loaded);
  // A poll without changes gets no content, so that what the reader has opened stays open.
  if (c.req.query("seen") === mark) return c.body(null, 204);
  const limits = await limitsInUse(deps.rates, { account: c.get("signedIn").account });
  return await renderPage(
    c,
    { title: t.title, lead: t.lead, ...chartAssets },
    <>
      <FilterForm filter={filter} keyNames={keyNames} models={models} locale={locale} />
      <Card>
        <FindCall action="/receipts" locale={locale} />
      </Card>
      {limits.length > 0 && (
        <Card title={rateTexts[locale].title}>
          <p class="muted">{rateTexts[locale].now}</p>
          <LimitTable limits={limits} locale={locale} />
        </Card>
      )}
      <div id="usage-figures" {...polling(filter, mark)}>
        {filter.cut && <Notice tone="warning">{t.tooLong(maxUsageDays)}</Notice>}
        <Totals loaded={loaded} locale={locale} />
        {rows.length > 0 && (
          <div class="columns">
            <Breakdown
              title={t.byModel}
              what={t.model}
              sums={usageBy(rows, (row) => row.model)}
              locale={locale}
            />
            <Breakdown
              title={t.byKey}
              what={t.key}
              sums={usageBy(rows, (row) => keyNames.get(row.keyId) ?? t.unknownKey)}
              locale={locale}
            />
          </div>
        )}
        <Card title={t.latestCalls} actions={<ExportLinks filter={filter} locale={locale} />}>
          {calls.length === 0
            ? (
              <Empty title={t.noCalls}>
                <p>{t.noCallsHint}</p>
                <a href="/connect" class="button outline small">{t.connect}</a>
              </Empty>
            )
            : (
              <CallTable
                calls={calls}
                refunds={refunds}
                keyNames={keyNames}
                locale={locale}
              />
            )}
          <Pager
            previous={filter.before === undefined ? undefined : `/usage?${usageQuery(filter)}`}
            next={next === undefined ? undefined : `/usage?${usageQuery(filter, next)}`}
            locale={locale}
          />
        </Card>
      </div>
    </>,
  );
}

/** A text that changes whenever a figure of the page does. */
function usageMark({ rows, calls: listed }: Loaded): string {
  const { calls, costMicroVnd, refundedMicroVnd } = totalUsage(rows);
  return [calls, costMicroVnd, refundedMicroVnd, listed[0]?.requestId ?? ""].join("-");
}

/** Interval in which an open page polls for new calls. */
const pollEvery = "every 10s";

/** Returns the attributes by which the figures refresh themselves; older pages of the list do not change. */
function polling(filter: UsageFilter, mark: string): Record<string, string> {
  if (filter.before !== undefined) return {};
  return {
    "hx-get": `/usage?${usageQuery(filter)}&seen=${mark}`,
    "hx-trigger": pollEvery,
    "hx-select": "#usage-figures",
    "hx-swap": "outerHTML",
    "hx-status:4xx": "swap:none",
    "hx-status:5xx": "swap:none",
  };
}

function Totals({ loaded, locale }: { loaded: Loaded; locale: Locale }) {
  const t = usageTexts[locale];
  const { rows, filter } = loaded;
  const total = totalUsage(rows);
  const bars = dayBars(rows, filter.range);
  return (
    <>
      <Stats>
        <Stat
          label={t.cost}
          note={total.refundedMicroVnd > 0n
            ? t.afterRefunds(formatMoney(total.refundedMicroVnd, locale))
            : undefined}
        >
          <Money microVnd={netCostMicroVnd(total)} locale={locale} short />
        </Stat>
        <Stat label={t.calls}>{formatCount(total.calls, locale)}</Stat>
        <Stat label={t.tokens}>{formatCount(billedTokens(total), locale)}</Stat>
        <Stat label={t.failed} note={t.failedNote}>{formatCount(total.failedCalls, locale)}</Stat>
      </Stats>
      {total.calls > 0 && (
        <Card title={t.perDay}>
          <DayChart bars={bars} label={t.perDay} locale={locale} />
        </Card>
      )}
    </>
  );
}

function Breakdown({ title, what, sums, locale }: {
  title: string;
  what: string;
  sums: readonly (readonly [string, Usage])[];
  locale: Locale;
}) {
  const t = usageTexts[locale];
  return (
    <Card title={title}>
      <DataTable
        label={title}
        rows={sums}
        columns={[
          { head: what, cell: ([name]) => name },
          {
            head: t.calls,
            kind: "number",
            cell: ([, usage]) => formatCount(usage.calls, locale),
          },
          {
            head: t.tokens,
            kind: "number",
            wideOnly: true,
            cell: ([, usage]) => formatCount(billedTokens(usage), locale),
          },
          {
            head: t.cost,
            kind: "number",
            cell: ([, usage]) => <Money microVnd={netCostMicroVnd(usage)} locale={locale} short />,
          },
        ]}
      />
    </Card>
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
