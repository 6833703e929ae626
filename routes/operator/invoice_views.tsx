/** Invoice requests as operators see them. */
import { vietnamDateTime } from "../../core/topup/bank_time.ts";
import type { Invoice } from "../../core/topup/invoice.ts";
import { Empty, Money, TableFrame } from "../dashboard/components/mod.ts";
import type { Locale } from "../dashboard/i18n.ts";
import { invoiceTexts } from "../dashboard/invoices_texts.ts";
import { InvoiceBadge, vnd } from "../dashboard/invoices_views.tsx";
import { frameTexts } from "./texts.ts";

export function InvoiceTable({ invoices, locale }: {
  invoices: readonly Invoice[];
  locale: Locale;
}) {
  const t = invoiceTexts[locale];
  if (invoices.length === 0) {
    return (
      <Empty title={frameTexts[locale].nothing}>
        <p>{frameTexts[locale].nothingText}</p>
      </Empty>
    );
  }
  return (
    <TableFrame label={t.title}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t.day}</th>
            <th scope="col">{t.buyer}</th>
            <th scope="col">{t.taxCode}</th>
            <th scope="col" class="number">{t.total}</th>
            <th scope="col">{t.number}</th>
            <th scope="col">{t.state}</th>
          </tr>
        </thead>
        <tbody>
          {invoices.map((invoice) => (
            <tr>
              <td class="nowrap">
                <a href={`/operator/invoices/${invoice.id}`}>
                  {vietnamDateTime(invoice.requestedAtMs)}
                </a>
              </td>
              <td>{invoice.buyer.legalName}</td>
              <td>{invoice.buyer.taxCode ?? ""}</td>
              <td class="number">
                <Money microVnd={vnd(invoice.grossVnd)} locale={locale} />
              </td>
              <td>
                {invoice.issued === undefined
                  ? ""
                  : `${invoice.issued.series} ${invoice.issued.number}`}
              </td>
              <td>
                <InvoiceBadge state={invoice.state} locale={locale} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  );
}
