/**
 * `/`: balance, usage and next steps of an account. Visitors see the landing page.
 *
 * - Folder `routes/dashboard/public/home/`: the overview of an account, and the landing page of visitors.
 * - In: balance, usage, keys and receipts of the account.
 * - Out: HTML.
 * - Never: moves money.
 */
import { type Context, Hono } from "hono";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { isActive } from "../../../../kv/people/api_keys/api_keys.ts";
import { Card, chartAssets, Icon } from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { NearBudget, readBudgets } from "../../customer/budgets/budget_views.tsx";
import { defineTexts, type Locale } from "../../text/i18n.ts";
import { renderPage } from "../../frame/layout.tsx";
import {
  type BooksState,
  readBooksState,
} from "../../../../kv/services/verify/last_verification.ts";
import {
  readRunningOffers,
  type RunningOffers,
} from "../../../../kv/money/credits/running_offers.ts";
import { keptFor } from "../../../usage_api/range.ts";
import { PublicHistory } from "../status/history_strip.tsx";
import { mayVisit } from "../../page/page_acts.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import { landingPage } from "./landing.tsx";
import { Activity, Figures, loadOverview, type Overview } from "./overview.tsx";
import type { PageDeclaration } from "../../page/page.ts";

const texts = defineTexts({
  en: {
    title: "Overview",
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
    tryModel: "Try a model",
    newKey: "New API key",
  },
  vi: {
    title: "Tổng quan",
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
    tryModel: "Thử một mô hình",
    newKey: "Khoá API mới",
  },
});

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

function FirstSteps({ overview, deps, visitor: { locale, signedIn } }: {
  overview: Overview;
  deps: DashboardDeps;
  visitor: Visitor;
}) {
  const t = texts[locale];
  const nowMs = deps.clock.nowMs();
  const called = overview.calls.length > 0;
  return (
    <Card title={t.start}>
      <ol class="steps">
        {mayVisit(signedIn, "/wallet/orders", "POST") && (
          <Step
            done={overview.balance.totalMicroVnd > 0n || called}
            href="/wallet"
            title={t.steps.topUp}
            text={topUpText(deps, locale)}
            doneText={t.done}
          />
        )}
        {mayVisit(signedIn, "/keys/new") && (
          <Step
            done={overview.keys.some((key) => isActive(key, nowMs))}
            href="/keys"
            title={t.steps.key}
            text={t.steps.keyText}
            doneText={t.done}
          />
        )}
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

/** Acts of the page that the visitor may do. */
function OverviewActions({ visitor: { locale, signedIn } }: { visitor: Visitor }) {
  const t = texts[locale];
  return (
    <>
      {mayVisit(signedIn, "/playground") && (
        <a href="/playground" class="button outline secondary wide-only">
          <Icon name="playground" /> {t.tryModel}
        </a>
      )}
      {mayVisit(signedIn, "/keys/new") && (
        <a href="/keys/new" class="button wide-only">
          <Icon name="plus" /> {t.newKey}
        </a>
      )}
    </>
  );
}

async function overviewPage(c: Context<DashboardEnv>, deps: DashboardDeps, accountId: AccountId) {
  const { locale } = c.get("visitor");
  const [overview, budgets] = await Promise.all([
    loadOverview(deps, accountId),
    readBudgets(deps, accountId),
  ]);
  return await renderPage(
    c,
    {
      title: texts[locale].title,
      actions: <OverviewActions visitor={c.get("visitor")} />,
      scripts: [...chartAssets.scripts, "log.js"],
      styles: chartAssets.styles,
    },
    <>
      <NearBudget budgets={budgets} visitor={c.get("visitor")} />
      <Figures overview={overview} visitor={c.get("visitor")} />
      {overview.calls.length === 0
        ? <FirstSteps overview={overview} deps={deps} visitor={c.get("visitor")} />
        : await Activity({ c, deps, overview, locale })}
    </>,
  );
}

/** Milliseconds for which the state of the books is kept: strangers ask for it, and it changes once a day. */
const booksKeptMs = 60_000;

/** The same of offers, which may end at any moment. */
const offersKeptMs = 10_000;

function createHomePage(deps: DashboardDeps): Hono<DashboardEnv> {
  const history = new PublicHistory(deps);
  const kept = keptFor<BooksState>({ clock: deps.clock, keptMs: booksKeptMs, most: 1 });
  const books = () => kept("books", () => readBooksState(deps.kv));
  const keptOffers = keptFor<RunningOffers>({ clock: deps.clock, keptMs: offersKeptMs, most: 1 });
  const running = () =>
    keptOffers("offers", () => readRunningOffers(deps.kv, { atMs: deps.clock.nowMs() }));
  return new Hono<DashboardEnv>().get("/", (c) => {
    const { signedIn } = c.get("visitor");
    return signedIn === undefined
      ? landingPage(c, deps, { history, books, running })
      : overviewPage(c, deps, signedIn.account.id);
  });
}

export const homePage: PageDeclaration<DashboardDeps> = {
  isShared: true,
  navigation: {
    href: "/",
    icon: "home",
    group: "build",
    label: { en: "Overview", vi: "Tổng quan" },
  },
  routes: createHomePage,
};
