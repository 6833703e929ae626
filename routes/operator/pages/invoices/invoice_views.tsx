/** The table of invoice requests on the operator's pages. */
import type { Invoice } from "../../../../core/trade/invoices/invoice.ts";
import { DataTable, Time } from "../../../dashboard/components/mod.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { invoiceTexts } from "../../../dashboard/customer/invoices/invoices_texts.ts";
import { sharedInvoiceColumns } from "../../../dashboard/customer/invoices/invoices_views.tsx";
import { NothingHere } from "../base/list_parts.tsx";

/** The table of invoice requests. */
export function InvoiceTable({ invoices, locale }: {
  invoices: readonly Invoice[];
  locale: Locale;
}) {
  const t = invoiceTexts[locale];
  const { buyer, total, state } = sharedInvoiceColumns(locale);
  return (
    <DataTable
      label={t.title}
      rows={invoices}
      empty={<NothingHere locale={locale} />}
      columns={[
        {
          head: t.day,
          kind: "one-line",
          cell: (invoice) => (
            <a href={`/operator/invoices/${invoice.id}`}>
              <Time atMs={invoice.requestedAtMs} locale={locale} />
            </a>
          ),
        },
        buyer,
        { head: t.taxCode, cell: (invoice) => invoice.buyer.taxCode ?? "" },
        total,
        {
          head: t.number,
          cell: ({ issued }) => issued === undefined ? "" : `${issued.series} ${issued.number}`,
        },
        state,
      ]}
    />
  );
}
