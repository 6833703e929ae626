/** The fields of a monthly statement in JSON, each with its schema in OpenAPI. Amounts are exact, in VND. */
import { formatVnd, microVndPerVnd } from "../../../core/billing/money/micro_vnd.ts";
import { fieldsJson } from "../../../core/lib/json/fields.ts";
import type { JsonObject } from "../../../core/lib/json/json.ts";
import {
  always,
  constant,
  count,
  dateTime,
  type DescribedField,
  listField,
  listOf,
  maybeText,
  objectField,
  objectSchema,
  optional,
  optionalField,
  text,
  vnd,
} from "../../../core/lib/json/schemas.ts";
import { vietnamIsoTime } from "../../../core/lib/time/vietnam_time.ts";
import { type Invoice, invoiceStates } from "../../../core/trade/invoices/invoice.ts";
import { formatVatRate } from "../../../core/trade/invoices/vat.ts";
import type { LedgerEntry } from "../../../kv/money/ledger/ledger.ts";
import {
  changeOf,
  type Statement,
  type StatementLine,
} from "../../../kv/money/ledger/statement.ts";
import type {
  CallSum,
  KindSum,
  MonthStatement,
  TaxedTopup,
} from "../../../kv/money/statements/month_statement.ts";
import type { UsageSum } from "../../../kv/money/receipts/day_sums.ts";

const day: JsonObject = { type: "string", format: "date" };

const maybeVnd: JsonObject = { type: ["string", "null"] };

const shown = (amountVnd: bigint | undefined) =>
  amountVnd === undefined ? null : formatVnd(amountVnd * microVndPerVnd);

const usageFields: readonly DescribedField<UsageSum>[] = [
  always("calls", count, ({ calls }) => calls),
  always(
    "input_tokens",
    count,
    (sum) => sum.inputTokens + sum.cacheReadTokens + sum.cacheWriteTokens,
  ),
  always("output_tokens", count, ({ outputTokens }) => outputTokens),
  always("units", count, ({ units }) => units),
  always("cost_vnd", vnd, ({ costMicroVnd }) => formatVnd(costMicroVnd)),
];

function callFields(
  name: string,
  schema: JsonObject,
  more: readonly DescribedField<CallSum>[] = [],
): readonly DescribedField<CallSum>[] {
  return [
    always(name, schema, ({ of }: CallSum) => of),
    ...more,
    ...usageFields.map(({ name, schema, value }) =>
      always<CallSum>(name, schema, ({ usage }) => value(usage) ?? null)
    ),
  ];
}

const kindFields: readonly DescribedField<KindSum>[] = [
  always("kind", text, ({ kind }) => kind),
  always("count", count, (sum) => sum.count),
  always("amount_vnd", vnd, ({ microVnd }) => formatVnd(microVnd)),
];

/** The fields of a line of the ledger. */
export const movementFields: readonly DescribedField<LedgerEntry>[] = [
  always("ledger_id", text, ({ ledgerId }) => ledgerId),
  always("booked_at", dateTime, ({ atMs }) => vietnamIsoTime(atMs)),
  always("kind", text, ({ kind }) => kind),
  always("detail", text, ({ reason }) => reason),
  always("request_id", maybeText, ({ requestId }) => requestId ?? null),
  always("amount_vnd", vnd, ({ amountMicroVnd }) => formatVnd(amountMicroVnd)),
];

const topupFields: readonly DescribedField<TaxedTopup>[] = [
  always("ledger_id", text, ({ entry }) => entry.ledgerId),
  always("gross_vnd", vnd, ({ entry }) => formatVnd(entry.amountMicroVnd)),
  // `null` where the operator has no rate for the day.
  always("vat_rate", maybeText, ({ rate }) => rate === undefined ? null : formatVatRate(rate)),
  always("net_vnd", maybeVnd, ({ split }) => shown(split?.netVnd)),
  always("vat_vnd", maybeVnd, ({ split }) => shown(split?.vatVnd)),
];

/** The fields of an invoice. */
export const invoiceFields: readonly DescribedField<Invoice>[] = [
  always("id", text, ({ id }) => id),
  always("state", { type: "string", enum: [...invoiceStates] }, ({ state }) => state),
  always("series", maybeText, ({ issued }) => issued?.series ?? null),
  always("number", maybeText, ({ issued }) => issued?.number ?? null),
  always("vat_rate", text, ({ rate }) => formatVatRate(rate)),
  always("gross_vnd", vnd, ({ grossVnd }) => formatVnd(grossVnd * microVndPerVnd)),
  always("net_vnd", vnd, ({ netVnd }) => formatVnd(netVnd * microVndPerVnd)),
  always("vat_vnd", vnd, ({ vatVnd }) => formatVnd(vatVnd * microVndPerVnd)),
];

/** The fields of the statement of a month. */
export const statementFields: readonly DescribedField<MonthStatement>[] = [
  constant("object", "statement"),
  always("month", text, ({ month }) => month),
  constant("currency", "VND"),
  constant("time_zone", "+07:00"),
  always("from", day, ({ fromDay }) => fromDay),
  always("to", day, ({ toDay }) => toDay),
  // Whether the month is over.
  always("complete", { type: "boolean" }, ({ isOpen }) => !isOpen),
  always("account_id", text, ({ holder }) => holder.accountId),
  always("opening_vnd", vnd, ({ openingMicroVnd }) => formatVnd(openingMicroVnd)),
  listField("kinds", "The movements of a kind.", kindFields, ({ kinds }) => kinds),
  objectField("calls", "All calls; their cost is a debit.", usageFields, ({ calls }) => calls),
  always("closing_vnd", vnd, ({ closingMicroVnd }) => formatVnd(closingMicroVnd)),
  listField("movements", "A line of the ledger.", movementFields, ({ movements }) => movements),
  listField("days", "The calls of a day.", callFields("day", day), ({ byDay }) => byDay),
  listField("models", "The calls of a model.", callFields("model", text), ({ byModel }) => byModel),
  listField(
    "keys",
    "The calls of a key; its name is null if it has none.",
    callFields("key_id", text, [always("name", maybeText, ({ name }) => name ?? null)]),
    ({ byKey }) => byKey,
  ),
  listField("topups", "The tax in what was paid in.", topupFields, ({ topups }) => topups),
  // Absent for a key whose role, or whose maker, may not see invoices.
  optional(
    "invoices",
    listOf(objectSchema("An invoice.", invoiceFields)),
    ({ invoices }) => invoices?.map((invoice) => fieldsJson(invoiceFields, invoice)),
  ),
];

/** A month in the list. */
export interface ListedMonth {
  readonly month: string;
  readonly isOpen: boolean;
}

/** The fields of the list of months. */
export const statementListFields: readonly DescribedField<readonly ListedMonth[]>[] = [
  constant("object", "list"),
  listField("data", "A month, the newest first.", [
    constant("object", "statement"),
    always("month", text, ({ month }: ListedMonth) => month),
    always("complete", { type: "boolean" }, ({ isOpen }: ListedMonth) => !isOpen),
  ], (months) => months),
];

const lineFields: readonly DescribedField<StatementLine>[] = [
  always("day", day, (line) => line.day),
  // `usage`: the calls of the day, after its other lines.
  always("kind", text, (line) => line.kind === "usage" ? "usage" : line.entry.kind),
  always("change_vnd", vnd, (line) => formatVnd(changeOf(line))),
  always("balance_vnd", vnd, ({ balanceMicroVnd }) => formatVnd(balanceMicroVnd)),
  optional("calls", count, (line) => line.kind === "usage" ? line.calls : undefined),
  optionalField(
    "movement",
    "The line of the ledger.",
    movementFields,
    (line: StatementLine) => line.kind === "ledger" ? line.entry : undefined,
  ),
];

/** The fields of the statement of a period of days. */
export const periodFields: readonly DescribedField<Statement>[] = [
  constant("object", "period_statement"),
  constant("currency", "VND"),
  constant("time_zone", "+07:00"),
  always("from", day, ({ fromDay }) => fromDay),
  always("to", day, ({ toDay }) => toDay),
  always("opening_vnd", vnd, ({ openingMicroVnd }) => formatVnd(openingMicroVnd)),
  always("closing_vnd", vnd, ({ closingMicroVnd }) => formatVnd(closingMicroVnd)),
  // Whether older lines of the period are only in the opening balance: ask for a shorter period.
  always("is_cut", { type: "boolean" }, ({ truncated }) => truncated),
  listField(
    "lines",
    "A movement or the calls of a day, oldest first.",
    lineFields,
    ({ lines }) => lines,
  ),
];
