/**
 * `/`: balance, usage and next steps of an account. Visitors see the landing page.
 *
 * - Folder `routes/dashboard/home/`: the overview of an account, and the landing page of visitors.
 * - In: balance, usage, keys and receipts of the account.
 * - Out: HTML.
 * - Never: moves money.
 */
import { type Context, Hono } from "hono";
import type { AccountId } from "../../../core/lib/ids.ts";
import { vietnamDay } from "../../../core/lib/time/vietnam_time.ts";
import { type ApiKeyRecord, isActive, listApiKeys } from "../../../kv/api_keys/api_keys.ts";
import type { Receipt } from "../../../core/billing/receipt.ts";
import { listReceipts } from "../../../kv/receipts/receipts.ts";
import { readRefundsOf } from "../../../kv/ledger/refunds.ts";
import type { Balance } from "../../../kv/wallet/mod.ts";
import { netCostMicroVnd, readUsage, type UsageRow } from "../../../kv/receipts/usage.ts";
import { Card, chartAssets, DayChart, Icon, Money, Stat, Stats } from "../components/mod.ts";
import type { DashboardDeps } from "../deps.ts";
import { formatCount, formatMoney } from "../format.ts";
import { defineTexts, type Locale } from "../i18n.ts";
import { renderPage } from "../frame/layout.tsx";
import { shiftDay } from "../../usage_api/days.ts";
import { PublicHistory } from "../status/public_history.ts";
import { answeredCall } from "../../usage_api/call_scan.ts";
import { CallTable } from "../usage/call_table.tsx";
import { dayBars, totalUsage, usageSince } from "../../usage_api/summary.ts";
import type { DashboardEnv } from "../visitor/visitor.ts";
import { landingPage } from "./landing.tsx";
import type { PageDeclaration } from "../page.ts";

const latestCalls = 6;

const texts = defineTexts({
  en: {
    title: "Overview",
    balance: "Balance",
    reserved: (amount: string) => `${amount} held by running calls`,
    topUp: "Top up",
    today: "Today",
    week: "Last 7 days",
    month: "Last 30 days",
    calls: (count: number) => `${formatCount(count, "en")} ${count === 1 ? "call" : "calls"}`,
    perDay: "Cost per day, last 30 days",
    latest: "Latest calls",
    allCalls: "All calls",
    start: "Three steps to your first answer",
    steps: {
      topUp: "Fill your wallet",
      topUpText: "Scan a QR code with your banking app. From ₫10,000.",
      topUpSandbox: "It holds play money here; the wallet page explains how to get some.",
      topUpOff: "The operator fills it: top-up by bank transfer is not set up here yet.",
      key: "Create an API key",
      keyText: "One key per machine or application, so that a lost one can be revoked alone.",
      call: "Make your first call",
      callText: "Copy a snippet for your SDK, or try a model right here.",
    },
    done: "done",
  },
  vi: {
    title: "Tổng quan",
    balance: "Số dư",
    reserved: (amount) => `${amount} đang giữ cho lượt gọi đang chạy`,
    topUp: "Nạp tiền",
    today: "Hôm nay",
    week: "7 ngày qua",
    month: "30 ngày qua",
    calls: (count) => `${formatCount(count, "vi")} lượt gọi`,
    perDay: "Chi phí theo ngày, 30 ngày qua",
    latest: "Lượt gọi gần đây",
    allCalls: "Mọi lượt gọi",
    start: "Ba bước đến câu trả lời đầu tiên",
    steps: {
      topUp: "Nạp tiền vào ví",
      topUpText: "Quét mã QR bằng ứng dụng ngân hàng. Từ 10.000 ₫.",
      topUpSandbox: "Ở đây ví giữ tiền thử; trang ví chỉ cách nhận.",
      topUpOff: "Bên vận hành nạp giúp bạn: ở đây chưa mở nạp tiền qua ngân hàng.",
      key: "Tạo khoá API",
      keyText: "Mỗi máy hay ứng dụng một khoá API, để khi lộ chỉ phải thu hồi đúng khoá API đó.",
      call: "Thực hiện lượt gọi đầu tiên",
      callText: "Sao chép đoạn mã cho SDK của bạn, hoặc chạy thử ngay tại đây.",
    },
    done: "xong",
  },
});

interface Overview {
  readonly balance: Balance;
  readonly rows: readonly UsageRow[];
  readonly receipts: readonly Receipt[];
  readonly refunds: Awaited<ReturnType<typeof readRefundsOf>>;
  readonly keys: readonly ApiKeyRecord[];
  readonly today: string;
}

async function loadOverview(deps: DashboardDeps, accountId: AccountId): Promise<Overview> {
  const today = vietnamDay(deps.clock.nowMs());
  const [balance, rows, page, keys] = await Promise.all([
    deps.wallet.balance(accountId),
    readUsage(deps.kv, accountId, { fromDay: shiftDay(today, -29), toDay: today }),
    listReceipts(deps.kv, accountId, { limit: latestCalls }),
    listApiKeys(deps.kv, accountId),
  ]);
  const { receipts } = page;
  return { balance, rows, receipts, refunds: await readRefundsOf(deps.kv, receipts), keys, today };
}

function SpendStat({ label, rows, locale }: {
  label: string;
  rows: readonly UsageRow[];
  locale: Locale;
}) {
  const usage = totalUsage(rows);
  const t = texts[locale];
  return (
    <Stat label={label} note={t.calls(usage.calls)}>
      <Money microVnd={netCostMicroVnd(usage)} locale={locale} short />
    </Stat>
  );
}

function Step({ done, href, title, text, doneText }: {
  done: boolean;
  href: string;
  title: string;
  text: string;
  doneText: string;
}) {
  return (
    <li class={done ? "step done" : "step"}>
      <span class="step-mark">{done && <Icon name="check" />}</span>
      <div>
        {done
          ? (
            <strong>
              {title} <span class="visually-hidden">({doneText})</span>
            </strong>
          )
          : (
            <a href={href}>
              <strong>{title}</strong>
            </a>
          )}
        <p>{text}</p>
      </div>
    </li>
  );
}

/** The way in which money reaches a wallet on this gateway. */
function topUpText({ offers, sandbox }: DashboardDeps, locale: Locale): string {
  const { steps } = texts[locale];
  if (offers.bankTransfer) return steps.topUpText;
  return sandbox ? steps.topUpSandbox : steps.topUpOff;
}

function FirstSteps({ overview, deps, locale }: {
  overview: Overview;
  deps: DashboardDeps;
  locale: Locale;
}) {
  const t = texts[locale];
  const nowMs = deps.clock.nowMs();
  const called = overview.receipts.length > 0;
  return (
    <Card title={t.start}>
      <ol class="steps">
        <Step
          done={overview.balance.totalMicroVnd > 0n || called}
          href="/wallet"
          title={t.steps.topUp}
          text={topUpText(deps, locale)}
          doneText={t.done}
        />
        <Step
          done={overview.keys.some((key) => isActive(key, nowMs))}
          href="/keys"
          title={t.steps.key}
          text={t.steps.keyText}
          doneText={t.done}
        />
        <Step
          done={called}
          href="/connect"
          title={t.steps.call}
          text={t.steps.callText}
          doneText={t.done}
        />
      </ol>
    </Card>
  );
}

function Figures({ overview, locale }: { overview: Overview; locale: Locale }) {
  const t = texts[locale];
  const { balance, rows, today } = overview;
  const held = balance.reservedMicroVnd === 0n
    ? undefined
    : t.reserved(formatMoney(balance.reservedMicroVnd, locale));
  return (
    <Stats>
      <Stat label={t.balance} note={held ?? <a href="/wallet">{t.topUp}</a>}>
        <Money microVnd={balance.totalMicroVnd} locale={locale} short />
      </Stat>
      <SpendStat label={t.today} rows={usageSince(rows, today)} locale={locale} />
      <SpendStat label={t.week} rows={usageSince(rows, shiftDay(today, -6))} locale={locale} />
      <SpendStat label={t.month} rows={rows} locale={locale} />
    </Stats>
  );
}

async function overviewPage(c: Context<DashboardEnv>, deps: DashboardDeps, accountId: AccountId) {
  const { locale } = c.get("visitor");
  const t = texts[locale];
  const overview = await loadOverview(deps, accountId);
  const { rows, receipts, refunds, keys, today } = overview;
  const bars = dayBars(rows, { fromDay: shiftDay(today, -29), toDay: today });
  return await renderPage(
    c,
    { title: t.title, ...chartAssets },
    <>
      <Figures overview={overview} locale={locale} />
      {receipts.length === 0 ? <FirstSteps overview={overview} deps={deps} locale={locale} /> : (
        <>
          <Card title={t.perDay}>
            <DayChart bars={bars} label={t.perDay} locale={locale} />
          </Card>
          <Card title={t.latest} actions={<a href="/usage">{t.allCalls}</a>}>
            <CallTable
              calls={receipts.map(answeredCall)}
              refunds={refunds}
              keyNames={new Map(keys.map((key) => [key.id, key.name]))}
              locale={locale}
            />
          </Card>
        </>
      )}
    </>,
  );
}

function createHomePage(deps: DashboardDeps): Hono<DashboardEnv> {
  const history = new PublicHistory(deps);
  return new Hono<DashboardEnv>().get("/", (c) => {
    const { signedIn } = c.get("visitor");
    return signedIn === undefined
      ? landingPage(c, deps, history)
      : overviewPage(c, deps, signedIn.account.id);
  });
}

export const homePage: PageDeclaration<DashboardDeps> = {
  navigation: {
    href: "/",
    icon: "home",
    label: { en: "Overview", vi: "Tổng quan" },
  },
  routes: createHomePage,
};
