/**
 * `/wallet`: balance, top-up orders, statement, low-balance mail.
 *
 * - Folder `routes/dashboard/customer/wallet/`: the pages of the wallet: balance, top-up orders, statement.
 * - In: forms of a signed-in customer.
 * - Out: HTML, and acts of `routes/acts/money.ts`.
 * - Never: credits a wallet: an order is only a promise.
 */
import { type Context, Hono } from "hono";
import { formatVnd, microVndPerVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { voucherCodeChars } from "../../../../core/trade/credits/campaign.ts";
import { topupMaxMicroVnd, topupMinMicroVnd } from "../../../../core/trade/settings/settings.ts";
import { bankApps, orderVietQr } from "../../../../core/trade/bank/receiving_account.ts";
import { parseTypedAmount } from "../../../../core/billing/money/read_amount.ts";
import {
  firstDayOfMonth,
  monthOfDay,
  vietnamDay,
  vietnamIsoTime,
} from "../../../../core/lib/time/vietnam_time.ts";
import { readPots } from "../../../../kv/money/balances/grant_book.ts";
import { bonusOn, readRunningOffers } from "../../../../kv/money/credits/running_offers.ts";
import { lastLines, readStatement } from "../../../../kv/money/ledger/statement.ts";
import {
  listTopupOrders,
  listTopupPayments,
  orderStatus,
  readOwnOrder,
  type TopupOrder,
  type TopupPayment,
} from "../../../../kv/money/payments/topups.ts";
import {
  lowBalanceChange,
  topupCancellation,
  topupOrdering,
  voucherRedemption,
} from "../../../acts/money.ts";
import {
  AskSupport,
  Card,
  CopyRow,
  Fact,
  Icon,
  Money,
  Notice,
  PostForm,
  SubmitButton,
  TextField,
  Time,
} from "../../components/mod.ts";
import { notFoundPage } from "../../frame/error_pages.tsx";
import { readForm } from "../../page/form_data.ts";
import { qrPng, renderQr } from "../../../http/qr_code.ts";
import {
  formatClock,
  formatDate,
  formatDateTime,
  formatMoney,
  formatMoneyShort,
} from "../../text/format.ts";
import { requireAccount } from "../../visitor/identify.ts";
import { renderPage } from "../../frame/layout.tsx";
import { mayVisit } from "../../page/page_acts.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import { performForm, refusalView, spentProblem } from "../../visitor/acting.ts";
import {
  CreditCard,
  ExpiryNotice,
  NoTopUp,
  OrderTable,
  TopUpCard,
  WalletFigures,
} from "./wallet_views.tsx";
import { creditTexts, walletTexts } from "./wallet_texts.ts";
import type { WalletDeps } from "./deps.ts";
import { StatementTable } from "./wallet_statement.tsx";
import { monthDownload, statementDownload, statementPage } from "./wallet_statement_pages.tsx";
import type { PageDeclaration } from "../../page/page.ts";
import { raw } from "hono/html";
import type { Locale } from "../../text/i18n.ts";

/** Movements shown on the wallet page; the statement has all. */
const shownLines = 10;

type PageContext = Context<DashboardEnv>;

const shownOrders = 20;

/** Message about the act before the page is shown. */
interface WalletMessage {
  /** Why nothing was done, if no field is at fault. */
  readonly problem?: string;
  readonly amountError?: string;
  readonly markError?: string;
  readonly saved?: boolean;
  /** Amount that a voucher code gave, now or before. */
  readonly redeemed?: string;
  /** A voucher code that was refused, and why. */
  readonly voucher?: { readonly code: string; readonly error: string };
}

async function walletPage(
  c: PageContext,
  deps: WalletDeps,
  message: WalletMessage = {},
) {
  const visitor = c.get("visitor");
  const { account } = c.get("signedIn");
  const t = walletTexts[visitor.locale];
  const nowMs = deps.clock.nowMs();
  const today = vietnamDay(nowMs);
  const [balance, pots, orders, statement, offers] = await Promise.all([
    deps.wallet.balance(account.id),
    readPots(deps.kv, account.id, async (id) => (await deps.wallet.balance(id)).totalMicroVnd),
    listTopupOrders(deps.kv, account.id, { count: shownOrders }),
    readStatement(deps.kv, account.id, {
      fromDay: firstDayOfMonth(monthOfDay(today)),
      toDay: today,
    }),
    readRunningOffers(deps.kv, { atMs: nowMs, accountId: account.id }),
  ]);
  const mayTopUp = mayVisit(visitor.signedIn, "/wallet/orders", "POST");
  const mark = account.lowBalanceMicroVnd;
  const { problem, amountError, markError, voucher } = message;
  const failed = [problem, amountError, markError, voucher].some((one) => one !== undefined);
  return await renderPage(
    c,
    { title: t.title, lead: t.lead, status: failed ? 400 : 200 },
    <>
      {problem !== undefined && <Notice tone="danger">{problem}</Notice>}
      {message.saved === true && <Notice tone="success">{t.saved}</Notice>}
      {message.redeemed !== undefined && <Notice tone="success">{message.redeemed}</Notice>}
      <ExpiryNotice pots={pots} nowMs={nowMs} locale={visitor.locale} />
      <WalletFigures balance={balance} pots={pots} locale={visitor.locale} />
      {!mayTopUp
        ? <p class="muted" id="top-up">{t.mayNotTopUp}</p>
        : deps.topup.receivingAccounts.length === 0
        ? <NoTopUp visitor={visitor} email={account.email ?? account.id} />
        : <TopUpCard visitor={visitor} offers={offers} error={amountError} />}
      <CreditCard
        pots={pots}
        visitor={visitor}
        code={voucher?.code}
        error={voucher?.error}
      />
      <Card title={t.orders}>
        <OrderTable orders={orders} nowMs={nowMs} locale={visitor.locale} />
      </Card>
      <Card title={t.statement} actions={<a href="/wallet/statement">{t.allMovements}</a>}>
        <StatementTable statement={lastLines(statement, shownLines)} locale={visitor.locale} />
      </Card>
      {mayTopUp && <LowBalanceCard visitor={visitor} mark={mark} error={markError} />}
    </>,
  );
}

function LowBalanceCard({ visitor, mark, error }: {
  visitor: Visitor;
  mark: bigint | undefined;
  error: string | undefined;
}) {
  const t = walletTexts[visitor.locale];
  return (
    <Card title={t.warn}>
      <p>{t.warnText}</p>
      <PostForm visitor={visitor} action="/wallet/low-balance" class="inline-form">
        <TextField
          name="mark"
          label={t.warnField}
          inputmode="numeric"
          value={mark === undefined ? "" : formatVnd(mark)}
          error={error}
        />
        <SubmitButton tone="plain">{t.save}</SubmitButton>
      </PostForm>
    </Card>
  );
}

/** Reads an amount in whole VND as typed; null for everything else. */
function typedVnd(text: string): number | null {
  const microVnd = parseTypedAmount(text);
  return microVnd === undefined || microVnd % microVndPerVnd !== 0n
    ? null
    : Number(microVnd / microVndPerVnd);
}

async function makeOrder(c: PageContext, deps: WalletDeps) {
  const { locale } = c.get("visitor");
  const t = walletTexts[locale];
  const form = await readForm(c);
  const sent = { amountVnd: typedVnd(form.text("amount")) };
  const made = await performForm(c, deps, topupOrdering, sent, form);
  if (made.ok) return c.redirect(`/wallet/orders/${made.body.code}`, 303);
  const [least, most] = [topupMinMicroVnd, topupMaxMicroVnd].map((one) => formatMoney(one, locale));
  const wrong = { amountError: t.badAmount(least ?? "", most ?? "") };
  const view = refusalView<"amount" | "too_many" | "off", WalletMessage>(made, locale, {
    refusals: { amount: wrong, too_many: { amountError: t.tooMany }, off: {} },
    spent: (problem) => ({ problem }),
    otherwise: wrong,
  });
  return await walletPage(c, deps, view);
}

/** Finds the order of the path, if it belongs to the visitor; those of others do not exist for it. */
async function ownOrder(c: PageContext, deps: WalletDeps): Promise<TopupOrder | undefined> {
  return await readOwnOrder(deps.kv, c.get("signedIn").account.id, c.req.param("code") ?? "");
}

async function viewOf(c: PageContext, order: TopupOrder, deps: WalletDeps): Promise<OrderView> {
  const nowMs = deps.clock.nowMs();
  const [payments, balance, offers] = await Promise.all([
    listTopupPayments(deps.kv, order.code),
    deps.wallet.balance(order.accountId),
    readRunningOffers(deps.kv, { atMs: nowMs, accountId: order.accountId }),
  ]);
  return {
    order,
    payments,
    balanceMicroVnd: balance.totalMicroVnd,
    bonusMicroVnd: bonusOn(offers, order.askedMicroVnd),
    nowMs,
    invoices: deps.topup.vatRates.length > 0 && mayVisit(c.get("signedIn"), "/invoices/new"),
  };
}

async function orderPage(c: PageContext, deps: WalletDeps) {
  const order = await ownOrder(c, deps);
  if (order === undefined) return await notFoundPage(c);
  const visitor = c.get("visitor");
  const view = await viewOf(c, order, deps);
  return await renderPage(
    c,
    { title: walletTexts[visitor.locale].order(order.code) },
    <OrderPanel view={view} visitor={visitor} />,
  );
}

/**
 * Answers a poll with the part of the page that changes, or 204 while nothing changed, so that nothing flickers or is
 * read out again.
 */
async function orderPanel(c: PageContext, deps: WalletDeps) {
  const order = await ownOrder(c, deps);
  if (order === undefined) return c.body(null, 404);
  if (c.req.query("seen") === orderMark(order, deps.clock.nowMs())) return c.body(null, 204);
  return await c.html(
    <OrderPanel view={await viewOf(c, order, deps)} visitor={c.get("visitor")} />,
  );
}

/** Sends the QR code as a picture to keep: bank apps on the same phone read it from there. */
async function orderPicture(c: PageContext, deps: WalletDeps) {
  const order = await ownOrder(c, deps);
  if (order === undefined) return await notFoundPage(c);
  const amountVnd = order.askedMicroVnd / microVndPerVnd;
  return c.body(qrPng(orderVietQr(order.to, order.code, amountVnd)), 200, {
    "content-type": "image/png",
    "content-disposition": `attachment; filename="${order.code}.png"`,
  });
}

async function cancelOrder(c: PageContext, deps: WalletDeps) {
  const sent = { id: c.req.param("code") };
  const outcome = await performForm(c, deps, topupCancellation, sent);
  if (outcome.ok) return c.redirect(`/wallet/orders/${outcome.body.code}`, 303);
  const problem = spentProblem(outcome, c.get("visitor").locale);
  return problem === undefined ? await notFoundPage(c) : await walletPage(c, deps, { problem });
}

async function setLowBalance(c: PageContext, deps: WalletDeps) {
  const { locale } = c.get("visitor");
  const t = walletTexts[locale];
  const typed = (await readForm(c)).text("mark");
  // An empty field ends the warnings; what cannot be read is no amount.
  const sent = { amountVnd: typed === "" ? null : typedVnd(typed) ?? NaN };
  const changed = await performForm(c, deps, lowBalanceChange, sent);
  if (changed.ok) {
    c.set("signedIn", { ...c.get("signedIn"), account: changed.body });
    return await walletPage(c, deps, { saved: true });
  }
  const view = refusalView<"closed", WalletMessage>(changed, locale, {
    refusals: { closed: {} },
    spent: (problem) => ({ problem }),
    otherwise: { markError: t.badMark },
  });
  return await walletPage(c, deps, view);
}

/** Redeems a voucher code. */
async function redeem(c: PageContext, deps: WalletDeps) {
  const { locale } = c.get("visitor");
  const t = creditTexts[locale];
  const sent = { code: (await readForm(c)).text("code") };
  const result = await performForm(c, deps, voucherRedemption, sent);
  if (!result.ok) {
    const problem = spentProblem(result, locale);
    if (problem !== undefined) return await walletPage(c, deps, { problem });
    const { startsAtMs, why } = "why" in result
      ? result
      : { startsAtMs: undefined, why: "typo" } as const;
    const error = startsAtMs === undefined
      ? t.refusals[why]
      : t.validFrom(formatDateTime(startsAtMs, locale));
    const code = sent.code.slice(0, 2 * voucherCodeChars);
    return await walletPage(c, deps, { voucher: { code, error } });
  }
  const { entry: { amountMicroVnd, grant, atMs }, isRepeated } = result.body;
  const amount = formatMoney(amountMicroVnd, locale);
  // Also what is sent again because the answer was lost: an error would suggest that the credit is lost, too.
  if (isRepeated) {
    const redeemed = t.repeated(amount, formatDateTime(atMs, locale));
    return await walletPage(c, deps, { redeemed });
  }
  const redeemed = grant?.expiresAtMs === undefined
    ? t.redeemed(amount)
    : t.redeemedUntil(amount, formatDate(grant.expiresAtMs, locale));
  return await walletPage(c, deps, { redeemed });
}

// The page of a top-up order: QR code, account data to copy, and a state that refreshes itself.

/** The data shown of an order. */
interface OrderView {
  readonly order: TopupOrder;
  readonly payments: readonly TopupPayment[];
  readonly balanceMicroVnd: bigint;
  readonly nowMs: number;
  /** Bonus of an offer, once the sum has arrived. */
  readonly bonusMicroVnd: bigint;
  /** Invoices can be requested here. */
  readonly invoices: boolean;
}

/** A text that changes with every visible change: a poll with the same mark gets no content. */
function orderMark(order: TopupOrder, nowMs: number): string {
  return `${orderStatus(order, nowMs)}-${order.receivedMicroVnd}`;
}

/** Returns the interval of polls: short while the money may arrive at any moment. */
function pollEvery(status: ReturnType<typeof orderStatus>): string | undefined {
  if (status === "pending") return "every 3s";
  return status === "expired" ? "every 15s" : undefined;
}

/**
 * The part of the page that refreshes itself. The answer to a poll is empty until something changed, so that screen
 * readers do not repeat it.
 */
function OrderPanel({ view, visitor }: { view: OrderView; visitor: Visitor }) {
  const { order, nowMs } = view;
  const status = orderStatus(order, nowMs);
  const every = pollEvery(status);
  const polling = every === undefined ? {} : {
    "hx-get": `/wallet/orders/${order.code}/panel?seen=${orderMark(order, nowMs)}`,
    "hx-trigger": every,
    "hx-swap": "outerHTML",
    "hx-status:4xx": "swap:none",
    "hx-status:5xx": "swap:none",
  };
  return (
    <div id="order" {...polling}>
      <OrderNotice view={view} status={status} locale={visitor.locale} />
      {status === "pending" && <PayBox view={view} visitor={visitor} />}
      {view.payments.length > 0 && <Payments view={view} locale={visitor.locale} />}
      <OrderActions view={view} status={status} visitor={visitor} />
    </div>
  );
}

function OrderNotice({ view, status, locale }: {
  view: OrderView;
  status: ReturnType<typeof orderStatus>;
  locale: Locale;
}) {
  const t = walletTexts[locale];
  switch (status) {
    case "pending":
      return null;
    case "paid":
      return <PaidNotice view={view} locale={locale} />;
    case "expired":
      return (
        <Notice tone="warning" title={t.expired}>
          <p>{t.expiredText}</p>
        </Notice>
      );
    case "cancelled":
      return <Notice tone="warning">{t.cancelled}</Notice>;
  }
}

/** Says what arrived, above all where it is less than was asked for. */
function PaidNotice({ view, locale }: { view: OrderView; locale: Locale }) {
  const t = walletTexts[locale];
  const { order: { askedMicroVnd, receivedMicroVnd }, balanceMicroVnd } = view;
  const [asked, received] = [askedMicroVnd, receivedMicroVnd].map((one) =>
    formatMoney(one, locale)
  );
  const isShort = receivedMicroVnd < askedMicroVnd;
  return (
    <Notice
      tone={isShort ? "warning" : "success"}
      title={isShort ? t.paidLess(received ?? "", asked ?? "") : t.paid(received ?? "")}
    >
      {isShort && <p>{t.missing(formatMoney(askedMicroVnd - receivedMicroVnd, locale))}</p>}
      {receivedMicroVnd > askedMicroVnd && <p>{t.paidMore(asked ?? "")}</p>}
      <p>{t.newBalance(formatMoneyShort(balanceMicroVnd, locale))}</p>
    </Notice>
  );
}

/** The sum, its bonus, and how long the page waits: what a payer checks against the bank's app. */
function OrderHead({ view, locale }: { view: OrderView; locale: Locale }) {
  const t = walletTexts[locale];
  const { order, bonusMicroVnd } = view;
  return (
    <div class="order-head" role="status">
      <p class="order-sum">
        <Money microVnd={order.askedMicroVnd} locale={locale} />
      </p>
      {bonusMicroVnd > 0n && (
        <p class="order-bonus">{t.youGet(formatMoney(bonusMicroVnd, locale))}</p>
      )}
      <p class="muted">
        <span class="wait-dot" aria-hidden="true"></span> {t.waiting} ·{" "}
        {t.openUntil(formatClock(order.expiresAtMs))}{" "}
        <time
          datetime={vietnamIsoTime(order.expiresAtMs)}
          class="only-with-script"
          data-left=""
          aria-hidden="true"
        >
        </time>
      </p>
      <noscript>
        <p>{t.reloadToSee}</p>
      </noscript>
    </div>
  );
}

function PayBox({ view, visitor }: { view: OrderView; visitor: Visitor }) {
  const { order } = view;
  const { locale } = visitor;
  const t = walletTexts[locale];
  const amount = formatMoney(order.askedMicroVnd, locale);
  const amountVnd = order.askedMicroVnd / microVndPerVnd;
  const qr = renderQr(orderVietQr(order.to, order.code, amountVnd));
  return (
    <div class="columns order-pay">
      <section class="card">
        <OrderHead view={view} locale={locale} />
        <div class="qr" role="img" aria-label={t.qrLabel(amount, order.memo)}>{raw(qr)}</div>
        <div class="order-acts">
          <a
            class="button outline secondary"
            href={`/wallet/orders/${order.code}/qr.png`}
            download={`${order.code}.png`}
            aria-label={t.savePicture}
          >
            <Icon name="download" /> {t.saveQr}
          </a>
          <BankApps order={order} amountVnd={amountVnd} locale={locale} />
        </div>
        <p class="muted order-hint">{t.scanHint}</p>
      </section>
      <Card title={t.byHand}>
        <CopyRow label={t.account} value={order.to.account} locale={locale} />
        <CopyRow label={t.memo} value={order.memo} locale={locale} />
        <CopyRow label={t.amount} value={amountVnd.toString()} shown={amount} locale={locale} />
        <CopyRow
          label={t.bank}
          value={order.to.bankName}
          shown={`${order.to.bankName} (${order.to.bin})`}
          locale={locale}
        />
        <CopyRow label={t.holder} value={order.to.holder} locale={locale} />
        <p class="muted">
          <AskSupport visitor={visitor}>{t.notArrived(order.code)}</AskSupport>
        </p>
      </Card>
    </div>
  );
}

/** Links to bank apps, for the phone that shows this page and cannot scan itself. */
function BankApps({ order, amountVnd, locale }: {
  order: TopupOrder;
  amountVnd: bigint;
  locale: Locale;
}) {
  const t = walletTexts[locale];
  const list = bankApps(order.to, { amountVnd, memo: order.memo });
  if (list.length === 0) return null;
  return (
    <details class="bank-apps">
      <summary class="button">
        <Icon name="bank" /> {t.openApp}
      </summary>
      <p class="muted">{t.openAppHint}</p>
      <ul>
        {list.map(({ name, href }) => (
          <li>
            <a href={href} rel="noreferrer">{name}</a>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Payments({ view, locale }: { view: OrderView; locale: Locale }) {
  const t = walletTexts[locale];
  return (
    <Card title={t.payments}>
      <dl class="facts">
        {view.payments.map((payment) => (
          <Fact name={<Time atMs={payment.creditedAtMs} locale={locale} />}>
            <Money microVnd={payment.amountMicroVnd} locale={locale} />
          </Fact>
        ))}
      </dl>
    </Card>
  );
}

function OrderActions({ view, status, visitor }: {
  view: OrderView;
  status: ReturnType<typeof orderStatus>;
  visitor: Visitor;
}) {
  const t = walletTexts[visitor.locale];
  const { code } = view.order;
  return (
    <div class="actions">
      <a href="/wallet">{t.back}</a>
      {status === "paid" && view.invoices && (
        <a href={`/invoices/new?order=${code}`}>{t.askInvoice}</a>
      )}
      {status === "pending" && (
        <PostForm
          visitor={visitor}
          action={`/wallet/orders/${code}/cancel`}
          confirm={t.cancelConfirm}
        >
          <SubmitButton tone="plain" small>{t.cancel}</SubmitButton>
        </PostForm>
      )}
    </div>
  );
}

/** Registers the wallet pages. */
export function createWalletPages(deps: WalletDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  app.get("/wallet", requireAccount, (c) => walletPage(c, deps));
  app.post("/wallet/orders", requireAccount, (c) => makeOrder(c, deps));
  app.get("/wallet/orders/:code", requireAccount, (c) => orderPage(c, deps));
  app.get("/wallet/orders/:code/panel", requireAccount, (c) => orderPanel(c, deps));
  app.get("/wallet/orders/:code/qr.png", requireAccount, (c) => orderPicture(c, deps));
  app.post("/wallet/orders/:code/cancel", requireAccount, (c) => cancelOrder(c, deps));
  app.get("/wallet/statement", requireAccount, (c) => statementPage(c, deps));
  app.get("/wallet/statements/:file", requireAccount, (c) => monthDownload(c, deps));
  app.get("/wallet/statement.csv", requireAccount, (c) => statementDownload(c, deps));
  app.post("/wallet/vouchers", requireAccount, (c) => redeem(c, deps));
  app.post("/wallet/low-balance", requireAccount, (c) => setLowBalance(c, deps));
  return app;
}

export const walletPages: PageDeclaration<WalletDeps> = {
  navigation: {
    href: "/wallet",
    icon: "wallet",
    group: "money",
    label: { en: "Wallet", vi: "Ví" },
  },
  routes: createWalletPages,
};
