/** Parts of the invoice pages, partly shared with the operator's. */
import type { Context } from "hono";
import { microVndPerVnd } from "../../../../core/billing/money/micro_vnd.ts";
import type { Invoice, InvoiceState } from "../../../../core/trade/invoices/invoice.ts";
import { issuedFieldNames } from "../../../../core/trade/invoices/invoice_export.ts";
import type { VatRate } from "../../../../core/trade/invoices/vat.ts";
import type { UninvoicedOrder } from "../../../../kv/money/invoices/invoiced_orders.ts";
import { invoiceFileResponse } from "../../../payments/invoice_file.ts";
import {
  Badge,
  type BadgeTone,
  Card,
  type Column,
  DataTable,
  Empty,
  Fact,
  Icon,
  Money,
  Time,
} from "../../components/mod.ts";
import { notFoundPage } from "../../frame/error_pages.tsx";
import { formatMoney, formatPercentage } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import { invoiceTexts } from "./invoices_texts.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

const tones: Readonly<Record<InvoiceState, BadgeTone>> = {
  requested: "busy",
  exported: "busy",
  issued: "good",
  sent: "good",
  rejected: "bad",
  replaced: "neutral",
};

function InvoiceBadge({ state, locale }: { state: InvoiceState; locale: Locale }) {
  return <Badge tone={tones[state]}>{invoiceTexts[locale].states[state]}</Badge>;
}

/** The list of paid orders for which an invoice can be requested. */
export function OpenOrders(
  { orders, locale }: { orders: readonly UninvoicedOrder[]; locale: Locale },
) {
  const t = invoiceTexts[locale];
  return (
    <DataTable
      label={t.open}
      rows={orders}
      empty={
        <Empty title={t.noneOpen}>
          <p>{t.noneOpenText}</p>
        </Empty>
      }
      columns={[
        { head: t.code, phone: "first", cell: ({ order }) => <code>{order.code}</code> },
        {
          head: t.day,
          phone: "second",
          cell: ({ order }) => (
            <Time atMs={order.paidAtMs ?? order.createdAtMs} locale={locale} dateOnly />
          ),
        },
        {
          head: t.notInvoiced,
          kind: "number",
          phone: "first-end",
          cell: ({ amountMicroVnd }) => <Money microVnd={amountMicroVnd} locale={locale} />,
        },
        {
          head: t.request,
          kind: "buttons",
          hiddenHead: true,
          phone: "below",
          cell: ({ order }) => (
            <a
              href={`/invoices/new?order=${order.code}`}
              class="button outline secondary small"
              aria-label={`${t.request}: ${order.code}`}
            >
              {t.request}
            </a>
          ),
        },
      ]}
    />
  );
}

/** The columns that customers and operators both see. */
export function sharedInvoiceColumns(locale: Locale) {
  const t = invoiceTexts[locale];
  return {
    buyer: { head: t.buyer, cell: (invoice) => invoice.buyer.legalName },
    total: {
      head: t.total,
      kind: "number",
      cell: (invoice) => <Money microVnd={vnd(invoice.grossVnd)} locale={locale} />,
    },
    state: {
      head: t.state,
      cell: (invoice) => <InvoiceBadge state={invoice.state} locale={locale} />,
    },
  } as const satisfies Record<string, Column<Invoice>>;
}

/** The table of requests with their states. */
export function Requests({ invoices, locale }: { invoices: readonly Invoice[]; locale: Locale }) {
  const t = invoiceTexts[locale];
  const { buyer, total, state } = sharedInvoiceColumns(locale);
  return (
    <DataTable
      label={t.mine}
      rows={invoices}
      empty={
        <Empty title={t.noneMine}>
          <p>{t.noneMineText}</p>
        </Empty>
      }
      columns={[
        {
          head: t.day,
          kind: "one-line",
          phone: "second",
          cell: (invoice) => (
            <a href={`/invoices/${invoice.id}`}>
              <Time atMs={invoice.requestedAtMs} locale={locale} dateOnly />
            </a>
          ),
        },
        { head: t.code, phone: "first", cell: basisText },
        { ...buyer, wideOnly: true },
        { ...total, phone: "second-end" },
        { ...state, phone: "first-end" },
      ]}
    />
  );
}

/** Converts whole đồng to µVND for display. */
function vnd(wholeVnd: bigint): bigint {
  return microVndPerVnd * wholeVnd;
}

function basisText(invoice: Invoice): string {
  return invoice.basis.kind === "orders" ? invoice.basis.codes.join(" ") : invoice.basis.month;
}

/** A rate of VAT: a percentage, or the class of what is not taxed. */
function vatRateText(rate: VatRate, locale: Locale): string {
  return "percent" in rate ? formatPercentage(rate.percent, locale) : rate.untaxed;
}

/** The data that is or will be printed on the invoice. Also used on the operator's page. */
export function InvoiceFacts({ invoice, locale }: { invoice: Invoice; locale: Locale }) {
  const t = invoiceTexts[locale];
  const { buyer, issued } = invoice;
  const facts: [string, string | undefined][] = [
    [t.code, basisText(invoice)],
    [t.legalName, buyer.legalName],
    [t.taxCode, buyer.taxCode],
    [t.address, buyer.address],
    [t.email, buyer.email],
    [t.phone, buyer.phone],
    [t.net, formatMoney(vnd(invoice.netVnd), locale)],
    [t.vat(vatRateText(invoice.rate, locale)), formatMoney(vnd(invoice.vatVnd), locale)],
    [t.total, `${formatMoney(vnd(invoice.grossVnd), locale)} (${invoice.amountInWords})`],
    ...issuedFieldNames.map((name): [string, string | undefined] => [
      t.issuedFields[name],
      issued?.[name],
    ]),
    [t.replaces, invoice.replaces],
    [t.note, invoice.note === "" ? undefined : invoice.note],
  ];
  return (
    <Card title={<InvoiceBadge state={invoice.state} locale={locale} />}>
      <dl class="facts">
        {facts.filter(([, value]) => value !== undefined).map(([name, value]) => (
          <Fact name={name}>{value}</Fact>
        ))}
      </dl>
    </Card>
  );
}

/** The files of an invoice as downloads. */
export function InvoiceFiles({ invoice, base, locale }: {
  invoice: Invoice;
  /** The path before the id: the customer's or the operator's. */
  base: string;
  locale: Locale;
}) {
  if (invoice.files.length === 0) return <p class="muted">{invoiceTexts[locale].noFiles}</p>;
  return (
    <ul>
      {invoice.files.map((file) => (
        <li>
          <a href={`${base}/${invoice.id}/files/${file.fileId}`} download={file.name}>
            <Icon name="download" /> {file.name}
          </a>
        </li>
      ))}
    </ul>
  );
}

/** Answers with the file of the path as a download; it is never displayed inside the dashboard. */
export async function fileResponse(c: Context<DashboardEnv>, kv: KeyValueStore, invoice: Invoice) {
  const response = await invoiceFileResponse(kv, invoice, c.req.param("fileId") ?? "");
  return response ?? await notFoundPage(c);
}
