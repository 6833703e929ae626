/** The calls of a range as a file, streamed: CSV for spreadsheets, JSON for programs. */
import type { Context } from "hono";
import { csvCell } from "../../../core/topup/csv.ts";
import type { Receipt } from "../../../core/receipt.ts";
import { listApiKeys } from "../../../kv/api_keys.ts";
import { rangeMs } from "../../usage_api/range.ts";
import { receiptCells, receiptColumns, receiptJson } from "../../usage_api/receipt_json.ts";
import { scanReceipts } from "../../usage_api/receipt_scan.ts";
import type { DashboardDeps } from "../deps.ts";
import type { DashboardEnv } from "../visitor.ts";
import { readUsageFilter } from "./filter.ts";

interface FileForm {
  readonly type: string;
  readonly extension: string;
  readonly start: string;
  row(receipt: Receipt, keyName: string, first: boolean): string;
  readonly end: string;
}

const csvRow = (cells: readonly string[]) => `${cells.map(csvCell).join(",")}\r\n`;

export const csvForm: FileForm = {
  type: "text/csv; charset=utf-8",
  extension: "csv",
  // The mark tells spreadsheets that this is UTF-8.
  start: `\ufeff${csvRow(receiptColumns)}`,
  row: (receipt, keyName) => csvRow(receiptCells(receipt, keyName)),
  end: "",
};

export const jsonForm: FileForm = {
  type: "application/json",
  extension: "json",
  start: "[",
  row: (receipt, keyName, first) =>
    `${first ? "\n" : ",\n"}${JSON.stringify({ ...receiptJson(receipt), key_name: keyName })}`,
  end: "\n]\n",
};

/** Rows joined into one chunk, so that a large file is not a million tiny writes. */
const rowsPerChunk = 200;

async function* fileText(
  receipts: AsyncIterable<Receipt>,
  keyNames: ReadonlyMap<string, string>,
  form: FileForm,
): AsyncGenerator<string, void, void> {
  let chunk = form.start;
  let count = 0;
  for await (const receipt of receipts) {
    chunk += form.row(receipt, keyNames.get(receipt.keyId) ?? "", count === 0);
    count++;
    if (count % rowsPerChunk === 0) {
      yield chunk;
      chunk = "";
    }
  }
  yield chunk + form.end;
}

export async function exportFile(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  form: FileForm,
): Promise<Response> {
  const { account } = c.get("signedIn");
  const { range, keyId, model } = readUsageFilter(c, deps.clock.nowMs());
  const keys = await listApiKeys(deps.kv, account.id);
  const keyNames = new Map<string, string>(keys.map((key) => [key.id, key.name]));
  const receipts = scanReceipts(deps.kv, {
    accountId: account.id,
    ...rangeMs(range),
    keyId,
    model,
  });
  const text = ReadableStream.from(fileText(receipts, keyNames, form));
  const name = `calls-${range.fromDay}-to-${range.toDay}.${form.extension}`;
  return c.body(text.pipeThrough(new TextEncoderStream()), 200, {
    "content-type": form.type,
    "content-disposition": `attachment; filename="${name}"`,
  });
}
