/** The page of a top-up order: QR code, account data to copy, and a state that refreshes itself. */
import { raw } from "hono/html";
import { microVndPerVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { bankApps, orderVietQr } from "../../../../core/trade/bank/receiving_account.ts";
import {
  orderStatus,
  type TopupOrder,
  type TopupPayment,
} from "../../../../kv/money/payments/topups.ts";
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
  Time,
} from "../../components/mod.ts";
import { vietnamIsoTime } from "../../../../core/lib/time/vietnam_time.ts";
import { renderQr } from "../../../http/qr_code.ts";
import { formatClock, formatMoney, formatMoneyShort } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import type { Visitor } from "../../page/visitor.ts";
import { walletTexts } from "./wallet_texts.ts";

/** The data shown of an order. */
export interface OrderView {
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
export function orderMark(order: TopupOrder, nowMs: number): string {
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
export function OrderPanel({ view, visitor }: { view: OrderView; visitor: Visitor }) {
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
