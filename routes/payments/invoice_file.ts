/** Answers with a file of an invoice as a download, for pages and programs. */
import type { Invoice } from "../../core/trade/invoices/invoice.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { readInvoiceFile } from "../../kv/money/invoices/invoice_files.ts";

/** Returns `undefined` if the invoice has no such file. */
export async function invoiceFileResponse(
  kv: KeyValueStore,
  invoice: Invoice,
  fileId: string,
): Promise<Response | undefined> {
  const file = invoice.files.find((one) => one.fileId === fileId);
  const bytes = file === undefined ? undefined : await readInvoiceFile(kv, invoice.id, file);
  if (file === undefined || bytes === undefined) return undefined;
  const extension = file.type === "application/pdf" ? "pdf" : "xml";
  return new Response(bytes, {
    headers: {
      "content-type": file.type,
      "content-disposition": `attachment; filename="${invoice.id}.${extension}"; ` +
        `filename*=UTF-8''${encodeURIComponent(file.name)}`,
    },
  });
}
