/** The overview of an account that has calls: money and its pace, how calls fare, the chart, and the latest calls. */
import type { Context } from "hono";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { may } from "../../../../core/people/organisations/acts.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";
import { readRefundsOf } from "../../../../kv/money/ledger/refunds.ts";
import { netCostMicroVnd, readUsage, type UsageRow } from "../../../../kv/money/ledger/usage.ts";
import type { Balance } from "../../../../kv/money/wallet/mod.ts";
import { type Call, errorOf, takeCalls } from "../../../usage_api/search/call_scan.ts";
import {
  errorRate,
  type Health,
  readHealth,
  totalUsage,
  usageBy,
  usageSince,
} from "../../../usage_api/summary.ts";
import { shiftDay } from "../../../usage_api/range.ts";
import { Card, Money, Stat, Stats, Time } from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { formatCount, formatDuration, formatMoney, formatMoneyShort } from "../../text/format.ts";
import { defineTexts, type Locale } from "../../text/i18n.ts";
import { CallTable, FailureLine, LiveNote, sharedOf } from "../../customer/usage/call_table.tsx";
import { ErrorStat } from "../../customer/usage/error_stat.tsx";
import { readUsageFilter } from "../../customer/usage/filter_bar.tsx";
import { readCallers, readChart, UsageChart } from "../../customer/usage/usage_page.tsx";
import { mayVisit } from "../../page/page_acts.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";

const latestCalls = 8;
const lastErrors = 5;
const topModels = 5;

/** Days before today whose mean is the usual day. */
const usualDays = 7;

/** Days beyond which a runway is not said: the pace of a week says nothing about a year. */
const longestRunwayDays = 365;

const texts = defineTexts({
  both: {
    balance: ["Balance", "Số dư"],
    topUp: ["Top up", "Nạp tiền"],
    today: ["Today", "Hôm nay"],
    week: ["Last 7 days", "7 ngày qua"],
    month: ["Last 30 days", "30 ngày qua"],
    duration: ["Duration, 24 h", "Thời gian, 24 giờ"],
    none: ["–", "–"],
    latest: ["Latest calls", "Lượt gọi gần đây"],
    allCalls: ["All calls", "Mọi lượt gọi"],
    topModels: ["Models, 30 days", "Mô hình, 30 ngày"],
    lastErrors: ["Last errors, 7 days", "Lỗi gần đây, 7 ngày"],
    noErrors: ["No call failed or was refused.", "Không có lượt gọi nào lỗi hay bị từ chối."],
    allErrors: ["All errors", "Mọi lỗi"],
  },
  en: {
    reserved: (amount: string) => `${amount} held by running calls`,
    lasts: (days: number) =>
      days === 1 ? "lasts about a day at this pace" : `lasts about ${days} days at this pace`,
    usual: (amount: string) => `usual day: ${amount}`,
    calls: (count: number) => `${formatCount(count, "en")} ${count === 1 ? "call" : "calls"}`,
    durationNote: (median: string) => `p95 · median ${median}`,
  },
  vi: {
    reserved: (amount) => `${amount} đang giữ cho lượt gọi đang chạy`,
    lasts: (days) => `đủ dùng khoảng ${days} ngày với mức này`,
    usual: (amount) => `ngày thường: ${amount}`,
    calls: (count) => `${formatCount(count, "vi")} lượt gọi`,
    durationNote: (median) => `p95 · trung vị ${median}`,
  },
});

/** Content of the overview. */
export interface Overview {
  readonly balance: Balance;
  readonly rows: readonly UsageRow[];
  readonly calls: readonly Call[];
  readonly errors: readonly Call[];
  readonly health: Health;
  readonly refunds: Awaited<ReturnType<typeof readRefundsOf>>;
  readonly keys: Awaited<ReturnType<typeof listApiKeys>>;
  readonly today: string;
}

/** Reads what the overview shows. */
export async function loadOverview(deps: DashboardDeps, accountId: AccountId): Promise<Overview> {
  const { kv } = deps;
  const nowMs = deps.clock.nowMs();
  const today = vietnamDay(nowMs);
  const untilMs = nowMs + 1;
  const list = (fromMs: number, count: number, status?: string) =>
    takeCalls(kv, { accountId, fromMs, untilMs, status }, count);
  const [balance, rows, latest, failed, health, keys] = await Promise.all([
    deps.wallet.balance(accountId),
    readUsage(kv, accountId, { fromDay: shiftDay(today, -29), toDay: today }),
    list(0, latestCalls),
    list(nowMs - 7 * dayMs, lastErrors, "error"),
    readHealth(kv, { fromMs: nowMs - dayMs, untilMs, accountId }),
    listApiKeys(kv, accountId),
  ]);
  const receipts = latest.calls.flatMap((call) => call.kind === "receipt" ? [call.receipt] : []);
  const refunds = await readRefundsOf(kv, receipts);
  return { balance, rows, calls: latest.calls, errors: failed.calls, health, refunds, keys, today };
}

/** The mean cost of the days before today, from the first of them with a call on; `undefined` without such a day. */
function usualDayMicroVnd({ rows, today }: Overview): bigint | undefined {
  const firstDay = shiftDay(today, -usualDays);
  const before = rows.filter(({ day }) => day >= firstDay && day < today);
  const first = before.map(({ day }) => day).sort()[0];
  if (first === undefined) return undefined;
  const days = Math.round((Date.parse(today) - Date.parse(first)) / dayMs);
  return netCostMicroVnd(totalUsage(before)) / BigInt(days);
}

/** Number of days that the balance lasts at the pace of the usual day. */
function runwayDays({ balance }: Overview, usualMicroVnd: bigint | undefined): number | undefined {
  if (usualMicroVnd === undefined || usualMicroVnd <= 0n || balance.totalMicroVnd <= 0n) {
    return undefined;
  }
  const days = Number(balance.totalMicroVnd / usualMicroVnd);
  return days < 1 || days > longestRunwayDays ? undefined : days;
}

function BalanceNote({ overview, usualMicroVnd, visitor }: {
  overview: Overview;
  usualMicroVnd: bigint | undefined;
  visitor: Visitor;
}) {
  const { locale } = visitor;
  const t = texts[locale];
  const { reservedMicroVnd } = overview.balance;
  const days = runwayDays(overview, usualMicroVnd);
  return (
    <>
      {days !== undefined && <>{t.lasts(days)}.{" "}</>}
      {reservedMicroVnd > 0n
        ? t.reserved(formatMoneyShort(reservedMicroVnd, locale))
        : mayVisit(visitor.signedIn, "/wallet/orders", "POST") && <a href="/wallet">{t.topUp}</a>}
    </>
  );
}

function SpendStat({ label, rows, note, locale }: {
  label: string;
  rows: readonly UsageRow[];
  note?: string | undefined;
  locale: Locale;
}) {
  const usage = totalUsage(rows);
  const calls = texts[locale].calls(usage.calls);
  return (
    <Stat label={label} note={note === undefined ? calls : `${calls}, ${note}`}>
      <Money microVnd={netCostMicroVnd(usage)} locale={locale} />
    </Stat>
  );
}

/** The figures at the top. */
export function Figures({ overview, visitor }: { overview: Overview; visitor: Visitor }) {
  const { locale } = visitor;
  const t = texts[locale];
  const { balance, rows, today, health } = overview;
  const usual = usualDayMicroVnd(overview);
  const p95 = health.calls.latency.quantileMs(0.95);
  const median = health.calls.latency.quantileMs(0.5);
  return (
    <Stats>
      <Stat
        label={t.balance}
        note={<BalanceNote overview={overview} usualMicroVnd={usual} visitor={visitor} />}
      >
        <Money microVnd={balance.totalMicroVnd} locale={locale} />
      </Stat>
      <SpendStat
        label={t.today}
        rows={usageSince(rows, today)}
        note={usual === undefined ? undefined : t.usual(formatMoney(roundedVnd(usual), locale))}
        locale={locale}
      />
      <SpendStat label={t.week} rows={usageSince(rows, shiftDay(today, -6))} locale={locale} />
      <SpendStat label={t.month} rows={rows} locale={locale} />
      {errorRate(health) !== undefined && (
        <ErrorStat
          health={health}
          href="/usage?period=24h&status=error&metric=errors"
          locale={locale}
        />
      )}
      {health.calls.latency.size > 0 && (
        <Stat label={t.duration} note={t.durationNote(formatDuration(median ?? 0, locale))}>
          {formatDuration(p95 ?? 0, locale)}
        </Stat>
      )}
    </Stats>
  );
}

function roundedVnd(microVnd: bigint): bigint {
  const vnd = 1_000_000n;
  return microVnd < vnd ? microVnd : microVnd / vnd * vnd;
}

function TopModels({ rows, locale }: { rows: readonly UsageRow[]; locale: Locale }) {
  return (
    <ul class="ranking">
      {usageBy(rows, (row) => row.model).slice(0, topModels).map(([model, usage]) => (
        <li>
          <a href={`/usage?period=30d&model=${encodeURIComponent(model)}`}>{model}</a>
          <Money microVnd={netCostMicroVnd(usage)} locale={locale} />
        </li>
      ))}
    </ul>
  );
}

function LastErrors({ errors, locale }: { errors: readonly Call[]; locale: Locale }) {
  const t = texts[locale];
  if (errors.length === 0) return <p class="muted">{t.noErrors}</p>;
  return (
    <ul class="ranking">
      {errors.map((call) => (
        <li>
          <span>
            <a href={`/receipts/${call.requestId}`}>
              <code>{errorOf(call) ?? String(sharedOf(call).status)}</code>
            </a>{" "}
            <span class="muted">
              <FailureLine call={call} locale={locale} />
            </span>
          </span>
          <Time atMs={sharedOf(call).atMs} locale={locale} relative />
        </li>
      ))}
    </ul>
  );
}

/** The part of the overview that an account with calls has below its figures. */
export async function Activity({ c, deps, overview, locale }: {
  c: Context<DashboardEnv>;
  deps: DashboardDeps;
  overview: Overview;
  locale: Locale;
}) {
  const t = texts[locale];
  const { rows, calls, errors, refunds, keys } = overview;
  const asked = readUsageFilter(c, deps.clock.nowMs());
  const filter = { ...asked, before: undefined, at: undefined };
  const { signedIn } = c.get("visitor");
  const account = signedIn?.account;
  const keyNames = signedIn && may(signedIn.role, "view_keys")
    ? new Map<string, string>(keys.map((key) => [key.id, key.name]))
    : undefined;
  const [figures, callers] = await Promise.all([
    readChart(deps.kv, filter, account?.id),
    account && readCallers(deps, account, filter, keyNames),
  ]);
  return (
    <>
      <UsageChart
        path="/usage"
        filter={filter}
        figures={figures}
        callers={callers}
        locale={locale}
      />
      <div class="columns">
        {rows.length > 0 && (
          <Card title={t.topModels}>
            <TopModels rows={rows} locale={locale} />
          </Card>
        )}
        <Card
          title={t.lastErrors}
          actions={<a href="/usage?period=7d&status=error">{t.allErrors}</a>}
        >
          <LastErrors errors={errors} locale={locale} />
        </Card>
      </div>
      <Card
        title={t.latest}
        actions={
          <>
            <LiveNote href="/" locale={locale} />
            <a href="/usage">{t.allCalls}</a>
          </>
        }
      >
        <div class="log" data-log="/usage/live?period=24h" data-mark="" data-most={latestCalls}>
          <CallTable calls={calls} refunds={refunds} keyNames={keyNames} locale={locale} />
        </div>
      </Card>
    </>
  );
}
