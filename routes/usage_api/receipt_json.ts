/**
 * The fields of a receipt, each once: its member in the JSON of the API and of exports, its columns in CSV, and its
 * schema in OpenAPI. Amounts are exact, in VND; in JSON they are decimal strings, so that readers do not round them.
 */
import type { CsvColumn } from "../../core/lib/base/csv.ts";
import { fieldColumns, fieldsJson } from "../../core/lib/json/fields.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import { type CallFailure, failureOf, streamEndOf } from "../../core/billing/usage/call_failure.ts";
import { type ToolCharge, toolChargesMicroVnd } from "../../core/billing/usage/hosted_tools.ts";
import { formatVnd } from "../../core/billing/money/micro_vnd.ts";
import { billedInputTokens, type TokenUsage } from "../../core/billing/tokens/token_bounds.ts";
import {
  answeringRegion,
  type AppliedPrice,
  type Attempt,
  type Receipt,
} from "../../core/billing/usage/receipt.ts";
import { vietnamIsoTime } from "../../core/lib/time/vietnam_time.ts";
import type { LedgerEntry } from "../../kv/money/ledger/ledger.ts";
import {
  always,
  constant,
  count,
  dateTime,
  type DescribedField,
  listField,
  maybeText,
  objectSchema,
  optional,
  orNull,
  text,
} from "../../core/lib/json/schemas.ts";

/** The schema of an amount. */
export const vnd: JsonObject = {
  type: "string",
  pattern: "^-?\\d+(\\.\\d+)?$",
  description: "An exact amount in VND.",
};

const shown = (microVnd: bigint | undefined) =>
  microVnd === undefined ? undefined : formatVnd(microVnd);

type PriceOf<Unit extends AppliedPrice["unit"]> = AppliedPrice & { readonly unit: Unit };

const tokenPriceFields: readonly DescribedField<PriceOf<"token">>[] = [
  constant("unit", "1M tokens"),
  always("input_vnd", vnd, (price) => formatVnd(price.inputPerMtokMicroVnd)),
  always("output_vnd", vnd, (price) => formatVnd(price.outputPerMtokMicroVnd)),
  always("cache_read_vnd", vnd, (price) => formatVnd(price.cacheReadPerMtokMicroVnd)),
  always("cache_write_vnd", vnd, (price) => formatVnd(price.cacheWritePerMtokMicroVnd)),
  always(
    "cache_write_1h_vnd",
    vnd,
    (price) => formatVnd(price.cacheWriteHourPerMtokMicroVnd ?? price.cacheWritePerMtokMicroVnd),
  ),
  optional("input_audio_vnd", vnd, (price) => shown(price.inputAudioPerMtokMicroVnd)),
  optional("input_image_vnd", vnd, (price) => shown(price.inputImagePerMtokMicroVnd)),
  optional("output_audio_vnd", vnd, (price) => shown(price.outputAudioPerMtokMicroVnd)),
  optional("output_image_vnd", vnd, (price) => shown(price.outputImagePerMtokMicroVnd)),
];

const unitPriceFields: readonly DescribedField<Exclude<AppliedPrice, { unit: "token" }>>[] = [
  always("unit", text, ({ unit }) => unit),
  always("vnd", vnd, ({ perUnitMicroVnd }) => formatVnd(perUnitMicroVnd)),
];

function priceJson(price: AppliedPrice): JsonObject {
  return price.unit === "token"
    ? fieldsJson(tokenPriceFields, price)
    : fieldsJson(unitPriceFields, price);
}

const endFields: readonly DescribedField<Pick<CallFailure, "code" | "message">>[] = [
  always("code", text, ({ code }) => code),
  always("message", text, ({ message }) => message),
];

/** The fields of an error of a call. */
export const failureFields: readonly DescribedField<CallFailure>[] = [
  always("type", text, ({ type }) => type),
  ...endFields,
];

const toolFields: readonly DescribedField<ToolCharge>[] = [
  always("tool", text, ({ tool }) => tool),
  always("uses", count, ({ uses }) => uses),
  always("vnd_per_use", vnd, ({ perUseMicroVnd }) => formatVnd(perUseMicroVnd)),
  always("cost_vnd", vnd, ({ uses, perUseMicroVnd }) => formatVnd(BigInt(uses) * perUseMicroVnd)),
];

const attemptFields: readonly DescribedField<Attempt>[] = [
  always("outcome", text, ({ outcome }) => outcome),
  always("ms", { type: "number" }, ({ ms }) => ms),
];

/** Writes an object, or `null` where there is none. */
function jsonOrNull<Inner>(
  fields: readonly DescribedField<Inner>[],
  inner: Inner | undefined,
): JsonObject | null {
  return inner === undefined ? null : fieldsJson(fields, inner);
}

/** A receipt with what is kept apart from it. */
export interface ReceiptRow {
  readonly receipt: Receipt;
  /** The ledger's line that gave the cost back, if it was: the receipt itself never changes. */
  readonly refund: LedgerEntry | undefined;
  /** The name of the key; `null`: the key is gone. Absent: not asked for, so JSON has no such member. */
  readonly keyName?: string | null;
}

const usageFields: readonly DescribedField<TokenUsage>[] = [
  optional("billed_input_tokens", count, billedInputTokens),
  { name: "input_tokens", schema: count, value: ({ input }) => input, csv: true },
  { name: "cache_read_tokens", schema: count, value: ({ cacheRead }) => cacheRead, csv: true },
  { name: "cache_write_tokens", schema: count, value: ({ cacheWrite }) => cacheWrite, csv: true },
  optional("cache_write_1h_tokens", count, ({ cacheWriteHour }) => cacheWriteHour ?? 0),
  { name: "output_tokens", schema: count, value: ({ output }) => output, csv: true },
  { name: "reasoning_tokens", schema: count, value: ({ reasoning }) => reasoning, csv: true },
  optional("input_audio_tokens", count, ({ inputAudio }) => inputAudio),
  optional("input_image_tokens", count, ({ inputImage }) => inputImage),
  optional("output_audio_tokens", count, ({ outputAudio }) => outputAudio),
  optional("output_image_tokens", count, ({ outputImage }) => outputImage),
];

/** A field of receipts. */
interface ReceiptField extends DescribedField<ReceiptRow> {
  /**
   * Its columns follow those of lower ranks; absent: 0. A new column takes the next rank, so that it ends the row, and
   * programs that read columns by number keep working.
   */
  readonly rank?: number;
}

/**
 * The fields, in the order of JSON. Attempts show their result and time only: the providers that were tried are known to
 * the operator alone.
 */
export const receiptFields: readonly ReceiptField[] = [
  constant("object", "receipt"),
  {
    name: "request_id",
    isRequired: true,
    schema: text,
    value: ({ receipt }) => receipt.requestId,
    csv: true,
    rank: -1,
  },
  {
    name: "key_id",
    schema: text,
    value: ({ receipt }) => receipt.keyId,
    csv: [
      { name: "key_id", cell: ({ receipt }) => receipt.keyId },
      { name: "key_name", cell: ({ keyName }) => keyName },
    ],
  },
  {
    name: "started_at",
    schema: dateTime,
    value: ({ receipt }) => new Date(receipt.startedAtMs).toISOString(),
    csv: [{ name: "started_at", cell: ({ receipt }) => vietnamIsoTime(receipt.startedAtMs) }],
    rank: -1,
  },
  { name: "kind", schema: text, value: ({ receipt }) => receipt.kind, csv: true },
  {
    name: "model",
    isRequired: true,
    schema: text,
    value: ({ receipt }) => receipt.model,
    csv: true,
  },
  {
    name: "mapped_from",
    schema: maybeText,
    value: ({ receipt }) => receipt.mappedFrom ?? null,
    csv: true,
  },
  { name: "style", schema: text, value: ({ receipt }) => receipt.style, csv: true },
  {
    name: "region",
    schema: maybeText,
    value: ({ receipt }) => receipt.region ?? null,
    csv: true,
    rank: 1,
  },
  {
    name: "answered_in",
    schema: maybeText,
    value: ({ receipt }) => answeringRegion(receipt) ?? null,
    csv: true,
    rank: 1,
  },
  {
    name: "status",
    isRequired: true,
    schema: { type: "integer" },
    value: ({ receipt }) => receipt.status,
    csv: true,
  },
  {
    name: "outcome",
    isRequired: true,
    schema: text,
    value: ({ receipt }) => receipt.outcome,
    csv: true,
  },
  {
    name: "error",
    schema: orNull(objectSchema(
      "Why a call failed, in the gateway's words; null for a call that was answered.",
      failureFields,
    )),
    // A provider's message may repeat the prompt, so it is not kept.
    value: ({ receipt }) => jsonOrNull(failureFields, failureOf(receipt)),
  },
  {
    name: "ended_by",
    schema: orNull(objectSchema(
      "What ended a stream that was not whole: `call_timeout`, `upstream_timeout`, `insufficient_balance` …; null for other calls.",
      endFields,
    )),
    value: ({ receipt }) => jsonOrNull(endFields, streamEndOf(receipt)),
    csv: [{ name: "ended_by", cell: ({ receipt }) => receipt.endCode }],
    rank: 3,
  },
  {
    name: "stream",
    schema: { type: "boolean" },
    value: ({ receipt }) => receipt.stream,
    csv: true,
  },
  {
    name: "latency_ms",
    schema: { type: "number" },
    value: ({ receipt }) => receipt.latencyMs,
    csv: true,
  },
  {
    name: "first_output_ms",
    schema: { type: ["number", "null"] },
    value: ({ receipt }) => receipt.firstOutputMs ?? null,
    csv: true,
  },
  {
    name: "usage",
    schema: orNull(objectSchema("Tokens, by what they were.", usageFields)),
    value: ({ receipt: { usage } }) => jsonOrNull(usageFields, usage),
    csv: fieldColumns(usageFields).map(({ name, cell }) => ({
      name,
      cell: ({ receipt: { usage } }) => usage === undefined ? undefined : cell(usage),
    })),
  },
  {
    name: "estimated",
    schema: { type: "boolean" },
    value: ({ receipt }) => receipt.estimated,
    csv: true,
  },
  {
    name: "units",
    schema: { type: "number" },
    value: ({ receipt }) => receipt.units,
    csv: true,
  },
  optional("service_tier", {
    type: ["string", "null"],
    description: "The tier of service whose factor the price contains.",
  }, ({ receipt }) => receipt.serviceTier ?? null),
  optional("catalog_version", {
    type: ["integer", "null"],
    description: "The version of the catalogue whose price and routes the call had.",
  }, ({ receipt }) => receipt.catalogVersion ?? null),
  {
    name: "price",
    schema: {
      anyOf: [
        objectSchema("The price of tokens.", tokenPriceFields),
        objectSchema("The price of another unit.", unitPriceFields),
      ],
    },
    value: ({ receipt }) => priceJson(receipt.price),
    csv: [
      {
        name: "price_unit",
        cell: ({ receipt: { price } }) => price.unit === "token" ? "1M tokens" : price.unit,
      },
      {
        name: "price_vnd",
        cell: ({ receipt: { price } }) =>
          formatVnd(price.unit === "token" ? price.inputPerMtokMicroVnd : price.perUnitMicroVnd),
      },
      {
        name: "output_price_vnd",
        cell: ({ receipt: { price } }) =>
          price.unit === "token" ? formatVnd(price.outputPerMtokMicroVnd) : undefined,
      },
    ],
  },
  {
    ...listField<ReceiptRow, ToolCharge>(
      "hosted_tools",
      "A tool that the provider ran for a fee.",
      toolFields,
      ({ receipt: { toolCharges = [] } }) => toolCharges,
    ),
    csv: [
      {
        name: "hosted_tools",
        cell: ({ receipt: { toolCharges = [] } }) =>
          toolCharges.map(({ tool, uses }) => `${tool} ${uses}`).join("; "),
      },
      {
        name: "hosted_tools_vnd",
        cell: ({ receipt: { toolCharges = [] } }) =>
          toolCharges.length === 0 ? undefined : formatVnd(toolChargesMicroVnd(toolCharges)),
      },
    ],
    rank: 2,
  },
  {
    name: "cost_vnd",
    isRequired: true,
    schema: vnd,
    value: ({ receipt }) => formatVnd(receipt.costMicroVnd),
    csv: true,
  },
  {
    name: "shortfall_vnd",
    schema: vnd,
    value: ({ receipt }) => formatVnd(receipt.shortfallMicroVnd),
    csv: true,
  },
  {
    name: "refunded_vnd",
    schema: vnd,
    value: ({ refund }) => formatVnd(refund?.amountMicroVnd ?? 0n),
    csv: true,
  },
  optional(
    "refunded_at",
    maybeText,
    ({ refund }) => refund === undefined ? null : new Date(refund.atMs).toISOString(),
  ),
  listField(
    "attempts",
    "A try at a provider.",
    attemptFields,
    ({ receipt }) => receipt.attempts,
  ),
  // Its column is beside the id.
  optional("key_name", maybeText, ({ keyName }) => keyName),
];

/** Converts a receipt to JSON. */
export function receiptJson(row: ReceiptRow): JsonObject {
  return fieldsJson(receiptFields, row);
}

/** The columns of the CSV export. */
export const receiptColumns: readonly CsvColumn<ReceiptRow>[] = fieldColumns(
  receiptFields.toSorted(({ rank: one = 0 }, { rank: other = 0 }) => one - other),
);
