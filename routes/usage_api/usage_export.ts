/**
 * `GET /v1/usage/export`: the receipts of a period as one file, streamed: CSV, lines of JSON, or Parquet. The files of the
 * pages are made here, too. All have the fields of `receipt_json.ts`, and memory does not grow with the period.
 */
import { csvHead, csvRow, type CsvValue } from "../../core/lib/base/csv.ts";
import { parseVnd } from "../../core/billing/money/micro_vnd.ts";
import type { CallTag } from "../../core/billing/usage/call_tags.ts";
import type { Receipt } from "../../core/billing/usage/receipt.ts";
import type { AccountId } from "../../core/lib/ids/ids.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import { vietnamDay } from "../../core/lib/time/vietnam_time.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { readRefundsOf } from "../../kv/money/ledger/refunds.ts";
import { listApiKeys } from "../../kv/people/api_keys/api_keys.ts";
import type { Column, ColumnType } from "../../kv/services/warehouse/parquet.ts";
import { fileStream, wrongParameter } from "../http/query.ts";
import { type Answer, keyAskedFor, seesKeyNames, tagAskedFor } from "./calls.ts";
import { boundedRange, maxUsageDays, rangeMs, requireRange } from "./range.ts";
import { receiptColumns, receiptJson, type ReceiptRow } from "./receipt_json.ts";
import { scanReceipts } from "./search/call_scan.ts";

/** Rows that are read, and written, at once: a large file is not written in a million small pieces. */
const rowsPerChunk = 200;

/** Rows of a group of a Parquet file: encoding one keeps a processor for some ten milliseconds. */
const rowsOfGroup = 2_000;

/** The columns whose cells are no text, beside amounts (`_vnd`), times (`_at`), durations (`_ms`) and tokens (`_tokens`). */
const cellTypes: Readonly<Record<string, ColumnType>> = {
  status: "count",
  units: "number",
  stream: "flag",
  estimated: "flag",
};

/** Returns what the cells of a column are, by its name, which says it. */
function typeOf(name: string): ColumnType {
  if (name.endsWith("_vnd")) return "vnd";
  if (name.endsWith("_at")) return "time";
  if (name.endsWith("_ms")) return "number";
  if (name.endsWith("_tokens")) return "count";
  return Object.hasOwn(cellTypes, name) ? cellTypes[name] ?? "text" : "text";
}

function columnOf(name: string, cell: (row: ReceiptRow) => CsvValue): Column<ReceiptRow> {
  const about = "";
  const textOf = (row: ReceiptRow) => {
    const value = cell(row);
    return value === undefined || value === null || value === "" ? undefined : String(value);
  };
  const type = typeOf(name);
  const through = <Value>(read: (text: string) => Value) => (row: ReceiptRow) => {
    const text = textOf(row);
    return text === undefined ? undefined : read(text);
  };
  switch (type) {
    case "vnd":
      return { name, type, about, cell: through(parseVnd) };
    case "time":
      return { name, type, about, cell: through(Date.parse) };
    case "count":
    case "number":
      return { name, type, about, cell: through(Number) };
    case "flag":
      return { name, type, about, cell: through((text) => text === "true") };
    case "text":
      return { name, type, about, cell: textOf };
  }
}

/** The columns of the Parquet file: those of the CSV file, with the types of their cells. */
const parquetColumns = receiptColumns.map(({ name, cell }) => columnOf(name, cell));

/** A form of the file. */
export interface ExportForm {
  readonly type: string;
  readonly extension: string;
  /** Writes the file of groups of rows. */
  write(
    groups: AsyncIterable<readonly ReceiptRow[]>,
  ): AsyncIterable<string | Uint8Array<ArrayBuffer>>;
}

async function* eachOf<Item>(groups: AsyncIterable<readonly Item[]>): AsyncGenerator<Item> {
  for await (const group of groups) yield* group;
}

/** The forms, by the name that `format` has. */
export const exportForms = {
  csv: {
    type: "text/csv; charset=utf-8",
    extension: "csv",
    async *write(groups) {
      yield csvHead(receiptColumns);
      for await (const rows of groups) {
        yield rows.map((row) => csvRow(receiptColumns, row)).join("");
      }
    },
  },
  ndjson: {
    type: "application/x-ndjson",
    extension: "ndjson",
    async *write(groups) {
      for await (const rows of groups) {
        yield rows.map((row) => `${JSON.stringify(receiptJson(row))}\n`).join("");
      }
    },
  },
  parquet: {
    type: "application/vnd.apache.parquet",
    extension: "parquet",
    async *write(groups) {
      const { parquetFile } = await import("../../kv/services/warehouse/parquet.ts");
      yield* parquetFile(parquetColumns, eachOf(groups), rowsOfGroup);
    },
  },
} as const satisfies Readonly<Record<string, ExportForm>>;

type ExportFormName = keyof typeof exportForms;

function isFormName(name: string): name is ExportFormName {
  return Object.hasOwn(exportForms, name);
}

/** The values of `format`. */
export const exportFormNames = Object.keys(exportForms).filter(isFormName);

/** One JSON list, as the pages download it. */
export const jsonListForm: ExportForm = {
  type: "application/json",
  extension: "json",
  async *write(groups) {
    yield "[";
    let separator = "\n";
    for await (const rows of groups) {
      yield separator + rows.map((row) => JSON.stringify(receiptJson(row))).join(",\n");
      separator = ",\n";
    }
    yield "\n]\n";
  },
};

/** The receipts that are exported. */
export interface ExportFilter {
  readonly accountId: AccountId;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  readonly tag?: CallTag | undefined;
}

/** Reads the rows of an export in groups, with refunds and the names of keys. */
export async function* rowGroups(
  kv: KeyValueStore,
  filter: ExportFilter,
  keyNames: ReadonlyMap<string, string>,
): AsyncGenerator<readonly ReceiptRow[], void, void> {
  const rowsOf = async (some: readonly Receipt[]) => {
    const refunds = await readRefundsOf(kv, some);
    return some.map((receipt): ReceiptRow => ({
      receipt,
      keyName: keyNames.get(receipt.keyId) ?? "",
      refund: refunds.get(receipt.requestId),
    }));
  };
  let group: Receipt[] = [];
  for await (const receipt of scanReceipts(kv, filter)) {
    group.push(receipt);
    if (group.length < rowsPerChunk) continue;
    yield await rowsOf(group);
    group = [];
  }
  if (group.length > 0) yield await rowsOf(group);
}

/** Streams an export under a name without its extension; the names of keys are only for whoever sees keys. */
export async function exportResponse(
  kv: KeyValueStore,
  filter: ExportFilter,
  form: ExportForm,
  { name, seesKeys }: { readonly name: string; readonly seesKeys: boolean },
): Promise<Response> {
  const keys = seesKeys ? await listApiKeys(kv, filter.accountId) : [];
  const keyNames = new Map<string, string>(keys.map((key) => [key.id, key.name]));
  const encoder = new TextEncoder();
  async function* bytes() {
    for await (const part of form.write(rowGroups(kv, filter, keyNames))) {
      yield typeof part === "string" ? encoder.encode(part) : part;
    }
  }
  return new Response(await fileStream(bytes()), {
    headers: {
      "content-type": form.type,
      "content-disposition": `attachment; filename="${name}.${form.extension}"`,
    },
  });
}

/** Answers with the receipts of a period as a file. */
export function usageExportAnswer(
  { kv, clock }: { readonly kv: KeyValueStore; readonly clock: Pick<Clock, "nowMs"> },
): Answer {
  return async (c, reader) => {
    const { searchParams } = new URL(c.req.url);
    const { range, cut } = boundedRange(requireRange(searchParams, vietnamDay(clock.nowMs())));
    if (cut) throw wrongParameter("from", `at most ${maxUsageDays} days at once`);
    const format = c.req.query("format") ?? "csv";
    if (!isFormName(format)) {
      throw wrongParameter("format", `must be one of ${exportFormNames.join(", ")}`);
    }
    const filter = {
      accountId: reader.accountId,
      ...rangeMs(range),
      keyId: keyAskedFor(c, reader),
      model: c.req.query("model"),
      tag: tagAskedFor(c),
    };
    const name = `calls-${range.fromDay}-to-${range.toDay}`;
    return await exportResponse(kv, filter, exportForms[format], {
      name,
      seesKeys: await seesKeyNames(kv, reader),
    });
  };
}
