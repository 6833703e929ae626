/** Streams the calls of a range as a file: CSV for spreadsheets, JSON for programs. */
import type { Context } from "hono";
import { csvHead, csvRow } from "../../../../core/lib/base/csv.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";
import { readRefundsOf } from "../../../../kv/money/ledger/refunds.ts";
import { csvDownloadHeaders } from "../../../http/query.ts";
import { receiptColumns, receiptJson, type ReceiptRow } from "../../../usage_api/receipt_json.ts";
import { scanReceipts } from "../../../usage_api/call_scan.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { readUsageFilter } from "./filter_bar.tsx";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

interface FileForm {
  headers(fileName: string): Readonly<Record<string, string>>;
  readonly extension: string;
  readonly start: string;
  row(call: ReceiptRow, first: boolean): string;
  readonly end: string;
}

/** The export as CSV. */
export const csvForm: FileForm = {
  headers: csvDownloadHeaders,
  extension: "csv",
  start: csvHead(receiptColumns),
  row: (call) => csvRow(receiptColumns, call),
  end: "",
};

/** The export as JSON. */
export const jsonForm: FileForm = {
  headers: (fileName) => ({
    "content-type": "application/json",
    "content-disposition": `attachment; filename="${fileName}"`,
  }),
  extension: "json",
  start: "[",
  row: (call, first) => `${first ? "\n" : ",\n"}${JSON.stringify(receiptJson(call))}`,
  end: "\n]\n",
};

/** Rows joined into one chunk, so that a large file is not written in a million small pieces. */
const rowsPerChunk = 200;

async function* fileText(
  kv: KeyValueStore,
  receipts: AsyncIterable<Receipt>,
  keyNames: ReadonlyMap<string, string>,
  form: FileForm,
): AsyncGenerator<string, void, void> {
  yield form.start;
  let isFirst = true;
  for await (const some of groupsOf(receipts, rowsPerChunk)) {
    const refunds = await readRefundsOf(kv, some);
    let chunk = "";
    for (const receipt of some) {
      const keyName = keyNames.get(receipt.keyId) ?? "";
      chunk += form.row(
        { receipt, keyName, refund: refunds.get(receipt.requestId) },
        isFirst,
      );
      isFirst = false;
    }
    yield chunk;
  }
  yield form.end;
}

async function* groupsOf<Item>(
  items: AsyncIterable<Item>,
  size: number,
): AsyncGenerator<Item[], void, void> {
  let group: Item[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < size) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

/** Streams the calls that match the filter of the query. */
export async function exportFile(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  form: FileForm,
): Promise<Response> {
  const { account } = c.get("signedIn");
  const { period, keyId, model, tag } = readUsageFilter(c, deps.clock.nowMs());
  const keys = await listApiKeys(deps.kv, account.id);
  const keyNames = new Map<string, string>(keys.map((key) => [key.id, key.name]));
  const receipts = scanReceipts(deps.kv, {
    accountId: account.id,
    fromMs: period.fromMs,
    untilMs: period.untilMs,
    keyId,
    model,
    tag,
  });
  const text = ReadableStream.from(fileText(deps.kv, receipts, keyNames, form));
  const name = `calls-${period.range.fromDay}-to-${period.range.toDay}.${form.extension}`;
  return c.body(text.pipeThrough(new TextEncoderStream()), 200, form.headers(name));
}
