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
  Money,
  Notice,
  PostForm,
  SubmitButton,
  Time,
} from "../../components/mod.ts";
import { formatDateTime, formatMoney, formatMoneyShort } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import type { Visitor } from "../../page/visitor.ts";
import { walletTexts } from "./wallet_texts.ts";
import { crc32, deflateSync } from "node:zlib";
import { encode, renderSVG } from "uqr";

// Draws QR codes as PNG, which phones keep among their pictures and bank apps read from there.

/** Pixels of one module: a code of 45 modules then fits a phone's screen. */
const modulePixels = 12;

/** Light modules around the code, which readers need. */
const borderModules = 4;

const signature = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);

/** Writes a chunk of a PNG: length, type, data, and the check sum of both. */
function chunk(type: string, data: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(12 + data.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  bytes.set(new TextEncoder().encode(type), 4);
  bytes.set(data, 8);
  view.setUint32(8 + data.length, crc32(bytes.subarray(4, 8 + data.length)));
  return bytes;
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Draws a text as a black-and-white PNG with error correction M. */
export function qrPng(text: string): Uint8Array<ArrayBuffer> {
  const { data: modules } = encode(text, { ecc: "M", border: borderModules });
  const side = modules.length * modulePixels;
  const rowBytes = Math.ceil(side / 8);
  // Each row begins with its filter, 0: the bytes as they are. A set bit is white.
  const pixels = new Uint8Array((1 + rowBytes) * side);
  for (let y = 0; y < side; y++) {
    const row = modules[Math.floor(y / modulePixels)] ?? [];
    const start = y * (1 + rowBytes) + 1;
    for (let x = 0; x < side; x++) {
      if (row[Math.floor(x / modulePixels)] === true) continue;
      const at = start + (x >> 3);
      pixels[at] = (pixels[at] ?? 0) | (0x80 >> (x & 7));
    }
  }
  const head = new Uint8Array(13);
  const view = new DataView(head.buffer);
  view.setUint32(0, side);
  view.setUint32(4, side);
  head.set([1, 0, 0, 0, 0], 8); // one bit of grey, no interlace
  return joined([
    signature,
    chunk("IHDR", head),
    chunk("IDAT", new Uint8Array(deflateSync(pixels))),
    chunk("IEND", new Uint8Array(0)),
  ]);
}

// Renders QR codes as SVG on the server, so that no image service learns who pays what.

/**
 * Renders a text as SVG: error correction M, a border of four modules. Always black on white: banking apps do not read
 * inverted codes.
 */
export function renderQr(text: string): string {
  return renderSVG(text, { ecc: "M", border: 4, blackColor: "#000", whiteColor: "#fff" });
}

/** The data shown of an order. */
export interface OrderView {
  readonly order: TopupOrder;
  readonly payments: readonly TopupPayment[];
  readonly balanceMicroVnd: bigint;
  readonly nowMs: number;
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
      {status === "pending" && <PayBox order={order} visitor={visitor} />}
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
  const { order } = view;
  switch (status) {
    case "pending":
      return (
        <Notice tone="info">
          <p>
            {t.waiting} {t.validUntil(formatDateTime(order.expiresAtMs, locale))}
          </p>
          <noscript>
            <p>{t.reloadToSee}</p>
          </noscript>
        </Notice>
      );
    case "paid":
      return (
        <Notice tone="success" title={t.paid(formatMoney(order.receivedMicroVnd, locale))}>
          {order.receivedMicroVnd !== order.askedMicroVnd && (
            <p>{t.paidDiffers(formatMoney(order.askedMicroVnd, locale))}</p>
          )}
          <p>{t.newBalance(formatMoneyShort(view.balanceMicroVnd, locale))}</p>
        </Notice>
      );
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

function PayBox({ order, visitor }: { order: TopupOrder; visitor: Visitor }) {
  const { locale } = visitor;
  const t = walletTexts[locale];
  const amount = formatMoney(order.askedMicroVnd, locale);
  const amountVnd = order.askedMicroVnd / microVndPerVnd;
  const qr = renderQr(orderVietQr(order.to, order.code, amountVnd));
  return (
    <div class="columns">
      <Card title={t.scan}>
        <div class="qr" role="img" aria-label={t.qrLabel(amount, order.memo)}>{raw(qr)}</div>
        <p class="muted">{t.scanHint}</p>
        <p>
          <a
            class="button outline secondary small"
            href={`/wallet/orders/${order.code}/qr.png`}
            download={`${order.code}.png`}
          >
            {t.savePicture}
          </a>
        </p>
        <BankApps order={order} amountVnd={amountVnd} locale={locale} />
      </Card>
      <Card title={t.byHand}>
        <CopyRow
          label={t.bank}
          value={order.to.bankName}
          shown={`${order.to.bankName} (${order.to.bin})`}
          locale={locale}
        />
        <CopyRow label={t.account} value={order.to.account} locale={locale} />
        <CopyRow label={t.holder} value={order.to.holder} locale={locale} />
        <CopyRow label={t.amount} value={amountVnd.toString()} shown={amount} locale={locale} />
        <CopyRow label={t.memo} value={order.memo} locale={locale} />
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
      <summary>{t.openApp}</summary>
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
