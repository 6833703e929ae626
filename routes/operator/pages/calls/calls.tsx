/**
 * `/operator/calls`: traffic, errors and times of all customers or of one, their calls, and one call by its id.
 *
 * - Folder `routes/operator/pages/calls/`: the operator's log of calls.
 * - In: a request id, a customer, a period, how calls ended.
 * - Out: HTML with the metadata of calls, routes included.
 * - Never: shows a prompt or an answer, which are not stored, or changes anything.
 */
import { Hono } from "hono";
import { normaliseEmail } from "../../../../core/people/accounts/email_address.ts";
import { type AccountId, parseId } from "../../../../core/lib/ids/ids.ts";
import { findAccountByEmail, getAccount } from "../../../../kv/people/accounts/accounts.ts";
import { readUsage } from "../../../../kv/money/ledger/usage.ts";
import {
  Card,
  chartAssets,
  DataTable,
  Empty,
  Fact,
  Money,
  Notice,
  TextField,
  Time,
} from "../../../dashboard/components/mod.ts";
import {
  callFilter,
  callsOfAllFilter,
  FilterBar,
  readUsageFilter,
  type UsageFilter,
  usageParameters,
  usageQuery,
} from "../../../dashboard/customer/usage/filter_bar.tsx";
import {
  CallCost,
  CallPager,
  CallResult,
  callRowAttributes,
  LeftOutNotice,
  LiveNote,
  sharedOf,
} from "../../../dashboard/customer/usage/call_table.tsx";
import {
  type ChartFigures,
  readChart,
  UsageChart,
} from "../../../dashboard/customer/usage/usage_page.tsx";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import {
  type Call,
  callerOf,
  type CallPage,
  errorOf,
  findCall,
  takeCalls,
  takeCallsOfAll,
} from "../../../usage_api/search/call_scan.ts";
import { keptFor } from "../../../usage_api/range.ts";
import {
  type OperatorContext,
  type OperatorDeps,
  type OperatorPage,
  renderOperatorPage,
} from "../base/frame.tsx";
import {
  type AccountNames,
  CustomerLink,
  nameOfAccount,
  namesOf,
  Person,
} from "../base/linked_text.tsx";
import { frameTexts } from "../base/texts.ts";
import { formatCount, formatDuration } from "../../../dashboard/text/format.ts";
import { defineTexts, type Locale } from "../../../dashboard/text/i18n.ts";
import { usageTexts } from "../../../dashboard/customer/usage/texts.ts";
import { accountTexts } from "../base/account_texts.ts";
import { getApiKey } from "../../../../kv/people/api_keys/api_keys.ts";
import { readRefundsOf } from "../../../../kv/money/ledger/refunds.ts";
import { noReceiptPage } from "../../../dashboard/frame/error_pages.tsx";
import { Drawer } from "../../../dashboard/customer/usage/receipt_page.tsx";
import { ReceiptCard, RefusedCard } from "../../../dashboard/customer/usage/receipt_card.tsx";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import type { LedgerEntry } from "../../../../kv/money/ledger/ledger.ts";
import { bucketWords } from "../../../dashboard/text/bucket_names.ts";
import { marginTexts } from "../margins/texts.ts";

const callsLabel = { en: "Calls", vi: "Lượt gọi" };

const errorsLabel = { en: "Errors", vi: "Lỗi" };

const callTexts = defineTexts({
  both: {
    account: ["Customer (id or email)", "Khách hàng (mã hoặc email)"],
    route: ["Answered by", "Trả lời bởi"],
    notFound: ["There is no such customer.", "Không có khách hàng này."],
    none: ["No calls", "Không có lượt gọi"],
    noneText: ["No call fits the filter.", "Không có lượt gọi nào khớp bộ lọc."],
    call: ["Call", "Lượt gọi"],
    noCall: ["There is no call with this id", "Không có lượt gọi với mã này"],
  },
  en: {
    lead: "Answered and refused calls of all customers, the latest first. Metadata only.",
    noCallText:
      "It has no receipt, and no row of a refusal: those expire, and of a flood only some are kept. A call with an unknown key is in the log only.",
  },
  vi: {
    lead:
      "Các lượt gọi đã trả lời và bị từ chối của mọi khách hàng, mới nhất trước. Chỉ có siêu dữ liệu.",
    noCallText:
      "Lượt gọi không có biên nhận, cũng không có dòng từ chối: các dòng đó hết hạn, và khi có quá nhiều thì chỉ một phần được lưu. Lượt gọi với khoá API lạ chỉ có trong nhật ký.",
  },
});

/** Calls on one page. */
const callsPerPage = 50;

/** Milliseconds for which a chart of all customers is kept, which reads the rows of all of them. */
const chartKeptMs = 60_000;

/** Charts that are kept at once. */
const maxChartsKept = 50;

function given(text: string | undefined): string | undefined {
  const trimmed = text?.trim().slice(0, 256);
  return trimmed === "" ? undefined : trimmed;
}

/** The customer whom a search names by id or address; `undefined` if there is none. */
async function accountIdOf({ kv }: OperatorDeps, text: string): Promise<AccountId | undefined> {
  const id = parseId("account", text);
  if (id !== undefined) return id;
  const email = normaliseEmail(text);
  return email === undefined ? undefined : (await findAccountByEmail(kv, email))?.id;
}

/** Calls that the page is about. */
interface Asked {
  readonly filter: UsageFilter;
  /** The customer, as typed. */
  readonly account: string | undefined;
  readonly accountId: AccountId | undefined;
}

const nothing: CallPage = { calls: [], next: undefined };

/** Reads a page of calls; none for a customer who does not exist. */
async function readCalls({ kv }: OperatorDeps, { filter, account, accountId }: Asked) {
  if (account === undefined) {
    return await takeCallsOfAll(kv, callsOfAllFilter(filter), callsPerPage);
  }
  return accountId === undefined
    ? nothing
    : await takeCalls(kv, callFilter(filter, accountId), callsPerPage);
}

async function readAsked(c: OperatorContext, deps: OperatorDeps): Promise<Asked> {
  const account = given(c.req.query("account"));
  const filter = readUsageFilter(c, deps.clock.nowMs(), account === undefined ? "24h" : "30d");
  return {
    // Tags are the customer's own words, and no sums of all accounts are by them.
    filter: { ...filter, tag: undefined, by: filter.by === "key" ? "key" : "model" },
    account,
    accountId: account === undefined ? undefined : await accountIdOf(deps, account),
  };
}

/** The models that one may choose: those of the customer, or those in the chart. */
async function modelsOf(
  { kv }: OperatorDeps,
  { filter, accountId }: Asked,
  { series }: ChartFigures,
): Promise<string[]> {
  const names = accountId === undefined
    ? filter.by === "model" && filter.metric !== "errors"
      ? series.stacks.map(({ name }) => name).filter((name) => name !== "")
      : []
    : (await readUsage(kv, accountId, filter.period.range)).map(({ model }) => model);
  return [...new Set(names)].sort();
}

/** Reads the chart of the page. */
type ChartOf = (asked: Asked) => Promise<ChartFigures>;

function chartsOf({ kv, clock }: OperatorDeps): ChartOf {
  const ofAll = keptFor<ChartFigures>({ clock, keptMs: chartKeptMs, most: maxChartsKept });
  return (asked) => {
    const { filter, account, accountId } = asked;
    if (account !== undefined) return readChart(kv, filter, accountId);
    const { period: { range, preset, grain }, metric, by, model } = filter;
    const name = JSON.stringify([range, preset, grain, metric, by, model]);
    return ofAll(name, () => readChart(kv, filter, undefined));
  };
}

async function callListPage(c: OperatorContext, deps: OperatorDeps, chartOf: ChartOf) {
  const { locale } = c.get("visitor");
  const t = callTexts[locale];
  const wanted = parseId("request", given(c.req.query("id")) ?? "");
  if (wanted !== undefined) return c.redirect(`/operator/calls/${wanted}`, 303);
  const asked = await readAsked(c, deps);
  const { filter, account, accountId } = asked;
  const isUnknown = account !== undefined && accountId === undefined;
  const [page, figures] = await Promise.all([readCalls(deps, asked), chartOf(asked)]);
  const names = await customersOf(deps, page);
  const also: Record<string, string> = account === undefined ? {} : { account };
  const models = await modelsOf(deps, asked, figures);
  return await renderOperatorPage(
    c,
    {
      lead: t.lead,
      scripts: [...chartAssets.scripts, "log.js"],
      styles: chartAssets.styles,
    },
    <>
      <CustomerForm filter={filter} account={account} locale={locale} />
      {given(c.req.query("id")) !== undefined && <Notice tone="warning">{t.noCall}</Notice>}
      {isUnknown && <Notice tone="warning">{t.notFound}</Notice>}
      <FilterBar
        path="/operator/calls"
        filter={filter}
        models={models}
        also={also}
        locale={locale}
      />
      {!isUnknown && (
        <div id="usage-figures">
          <UsageChart
            path="/operator/calls"
            filter={filter}
            figures={figures}
            also={also}
            locale={locale}
          />
        </div>
      )}
      <Card
        id="calls"
        title={callsLabel[locale]}
        actions={filter.before === undefined && (
          <LiveNote href={`/operator/calls?${usageQuery(filter, also)}`} locale={locale} />
        )}
      >
        <Log asked={asked} page={page} names={names} locale={locale} />
      </Card>
    </>,
  );
}

function CustomerForm({ filter, account, locale }: {
  filter: UsageFilter;
  account: string | undefined;
  locale: "en" | "vi";
}) {
  return (
    <form method="get" action="/operator/calls" class="inline-form before-form">
      {Object.entries(usageParameters(filter)).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
      <TextField name="account" type="search" label={callTexts[locale].account} value={account} />
      <button type="submit" class="outline secondary">{frameTexts[locale].show}</button>
    </form>
  );
}

/** The addresses of the customers whose calls are on a page. */
async function customersOf({ kv }: OperatorDeps, { calls }: CallPage): Promise<AccountNames> {
  return await namesOf(kv, calls.map((call) => callerOf(call).accountId));
}

function Log({ asked: { filter, account }, page, names, locale }: {
  asked: Asked;
  page: CallPage;
  names: AccountNames;
  locale: "en" | "vi";
}) {
  const { calls, next } = page;
  const also: Record<string, string> = account === undefined ? {} : { account };
  const href = (path: string, before?: string) =>
    `${path}?${usageQuery(filter, { ...also, ...before !== undefined && { before } })}`;
  return (
    <div
      class="log"
      data-log={filter.before === undefined ? href("/operator/calls/live") : undefined}
      data-mark={markOf(page)}
    >
      <LeftOutNotice calls={calls} locale={locale} />
      <OperatorCallTable calls={calls} names={names} locale={locale} />
      <CallPager
        page={page}
        isFull={calls.length >= callsPerPage}
        newer={filter.before === undefined ? undefined : href("/operator/calls")}
        older={next === undefined ? undefined : href("/operator/calls", next)}
        locale={locale}
      />
    </div>
  );
}

function markOf({ calls }: CallPage): string {
  return [calls[0]?.requestId ?? "", calls.at(-1)?.requestId ?? "", calls.length].join("-");
}

/** `/operator/calls/live`: the newest calls, for an open page; 204 if they are those that it has seen. */
async function liveCalls(c: OperatorContext, deps: OperatorDeps) {
  const asked = await readAsked(c, deps);
  const page = await readCalls(deps, asked);
  if (c.req.query("seen") === markOf(page)) return c.body(null, 204);
  const names = await customersOf(deps, page);
  return await c.html(
    <Log asked={asked} page={page} names={names} locale={c.get("visitor").locale} />,
  );
}

// The table of calls for operators: as customers see it, with the customer and the route.

function callerName(call: Call, names: AccountNames): string {
  const { accountId } = callerOf(call);
  return names.get(accountId) ?? accountId;
}

/** The table of calls. */
function OperatorCallTable({ calls, names, locale }: {
  calls: readonly Call[];
  names: AccountNames;
  locale: Locale;
}) {
  const t = callTexts[locale];
  const usage = usageTexts[locale];
  return (
    <DataTable
      label={callsLabel[locale]}
      rows={calls}
      rowAttributes={({ requestId }) => callRowAttributes(requestId)}
      empty={
        <Empty title={t.none}>
          <p>{t.noneText}</p>
        </Empty>
      }
      columns={[
        {
          head: frameTexts[locale].when,
          sortable: true,
          kind: "one-line",
          cell: (call) => (
            <a href={`/operator/calls/${call.requestId}`}>
              <Time atMs={sharedOf(call).atMs} locale={locale} relative />
            </a>
          ),
        },
        {
          head: accountTexts[locale].customer,
          kind: "long",
          sortable: true,
          wideOnly: true,
          cell: (call) => {
            const { accountId } = callerOf(call);
            return <CustomerLink id={accountId} names={names} />;
          },
        },
        {
          head: usage.model,
          sortable: true,
          cell: (call) => {
            const error = errorOf(call);
            return (
              <>
                {sharedOf(call).model ?? "–"}
                <small class="narrow-only muted">
                  <Person address={callerName(call, names)} />
                </small>
                {error !== undefined && (
                  <>
                    <br />
                    <code>{error}</code>
                  </>
                )}
              </>
            );
          },
        },
        {
          head: usage.outcome,
          cell: (call) => <CallResult call={call} locale={locale} />,
        },
        {
          head: t.route,
          kind: "long",
          wideOnly: true,
          cell: (call) => (call.kind === "receipt" ? call.receipt.route : undefined) ?? "–",
        },
        {
          head: usage.latency,
          sortable: true,
          kind: "number",
          wideOnly: true,
          cell: (call) => {
            const { latencyMs } = sharedOf(call);
            return <data value={String(latencyMs)}>{formatDuration(latencyMs, locale)}</data>;
          },
        },
        {
          head: usage.cost,
          sortable: true,
          kind: "number",
          wideOnly: true,
          cell: (call) => <CallCost call={call} locale={locale} />,
        },
      ]}
    />
  );
}

// `/operator/calls/:id`: all data of one call of any customer.

// The part of a call's page that shows what the call cost the operator.

/** Charge of the provider for a call, and what is left. */
function CostLines({ receipt, refund, locale }: {
  receipt: Receipt;
  refund: LedgerEntry | undefined;
  locale: Locale;
}) {
  const t = marginTexts[locale];
  const { providerCost: cost } = receipt;
  if (cost?.kind !== "known") {
    return (
      <Card title={t.callCost}>
        <p class="muted">{t.callUnknown}</p>
      </Card>
    );
  }
  const revenue = receipt.costMicroVnd - (refund?.amountMicroVnd ?? 0n);
  return (
    <Card title={t.callCost}>
      <dl class="facts">
        <Fact name={t.revenue}>
          <Money microVnd={revenue} locale={locale} exact />
        </Fact>
        <Fact name={t.cost}>
          <Money microVnd={cost.costMicroVnd} locale={locale} exact />
        </Fact>
        <Fact name={t.margin}>
          <Money microVnd={revenue - cost.costMicroVnd} locale={locale} exact />
        </Fact>
        <Fact name={t.units}>
          {Object.entries(cost.units).map(([bucket, units]) =>
            `${bucketWords(bucket, locale)} ${formatCount(units, locale)}`
          ).join(", ")}
        </Fact>
        <Fact name={t.rateCard}>
          <code>{cost.card}</code>
        </Fact>
      </dl>
    </Card>
  );
}

/** Shows a call of any customer. */
async function callPage(c: OperatorContext, { kv }: OperatorDeps) {
  const visitor = c.get("visitor");
  const { locale } = visitor;
  const t = callTexts[locale];
  const requestId = parseId("request", c.req.param("id") ?? "");
  const call = requestId === undefined ? undefined : await findCall(kv, requestId);
  if (call === undefined) return await noReceiptPage(c, { title: t.noCall, text: t.noCallText });
  const { accountId, keyId } = callerOf(call);
  const [key, account] = await Promise.all([
    getApiKey(kv, accountId, keyId),
    getAccount(kv, accountId),
  ]);
  const keyName = key?.name ?? usageTexts[locale].unknownKey;
  const refund = call.kind === "receipt"
    ? (await readRefundsOf(kv, [call.receipt])).get(call.requestId)
    : undefined;
  const facts = (
    <>
      <dl class="facts">
        <Fact name={accountTexts[locale].customer}>
          <a href={`/operator/accounts/${accountId}`}>{nameOfAccount(account, accountId)}</a>
        </Fact>
        {call.kind === "receipt" && call.receipt.route !== undefined && (
          <Fact name={t.route}>{call.receipt.route}</Fact>
        )}
      </dl>
      {call.kind === "refused"
        ? <RefusedCard call={call.refused} keyName={keyName} visitor={visitor} />
        : (
          <ReceiptCard
            receipt={call.receipt}
            keyName={keyName}
            refund={refund}
            visitor={visitor}
            namesRoutes
          />
        )}
    </>
  );
  if (c.req.query("fragment") === "drawer") {
    return await c.html(
      <Drawer title={t.call} href={`/operator/calls/${call.requestId}`} locale={locale}>
        {facts}
      </Drawer>,
    );
  }
  return await renderOperatorPage(
    c,
    { title: t.call },
    <>
      <Card>{facts}</Card>
      {call.kind === "receipt" && call.receipt.providerCost !== undefined && (
        <CostLines receipt={call.receipt} refund={refund} locale={locale} />
      )}
    </>,
  );
}

/** Registers the pages of calls. */
function createCallPages(deps: OperatorDeps): Hono<DashboardEnv> {
  const chartOf = chartsOf(deps);
  return new Hono<DashboardEnv>()
    .get("/operator/calls", (c) => callListPage(c, deps, chartOf))
    .get("/operator/calls/live", (c) => liveCalls(c, deps))
    .get("/operator/calls/:id", (c) => callPage(c, deps));
}

export const callPages: OperatorPage = {
  link: { href: "/operator/calls", label: callsLabel },
  views: [{ href: "/operator/calls?status=error", label: errorsLabel }],
  routes: createCallPages,
};
