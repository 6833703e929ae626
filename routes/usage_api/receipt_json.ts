/**
 * The fields of a receipt, each once: its member in the JSON of the API and of exports, its columns in CSV, and its
 * schema in OpenAPI. Amounts are exact, in VND; in JSON they are decimal strings, so that readers do not round them.
 */
import type { CsvColumn } from "../../core/lib/base/csv.ts";
import { fieldColumns, fieldsJson } from "../../core/lib/json/fields.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import { failureOf, streamEndOf } from "../../core/billing/usage/call_failure.ts";
import { toolChargesMicroVnd } from "../../core/billing/usage/hosted_tools.ts";
import { formatVnd } from "../../core/billing/money/micro_vnd.ts";
import { defined } from "../../core/lib/base/defined.ts";
import { billedInputTokens, type TokenUsage } from "../../core/billing/tokens/token_bounds.ts";
import {
  answeringRegion,
  type AppliedPrice,
  type Receipt,
} from "../../core/billing/usage/receipt.ts";
import { vietnamIsoTime } from "../../core/lib/time/vietnam_time.ts";
import type { LedgerEntry } from "../../kv/money/ledger/ledger.ts";
import {
  constant,
  count,
  dateTime,
  type DescribedField,
  maybeText,
  optional,
  propertiesOf,
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

function priceJson(price: AppliedPrice): JsonObject {
  if (price.unit !== "token") return { unit: price.unit, vnd: formatVnd(price.perUnitMicroVnd) };
  const { cacheWriteHourPerMtokMicroVnd = price.cacheWritePerMtokMicroVnd } = price;
  return {
    unit: "1M tokens",
    input_vnd: formatVnd(price.inputPerMtokMicroVnd),
    output_vnd: formatVnd(price.outputPerMtokMicroVnd),
    cache_read_vnd: formatVnd(price.cacheReadPerMtokMicroVnd),
    cache_write_vnd: formatVnd(price.cacheWritePerMtokMicroVnd),
    cache_write_1h_vnd: formatVnd(cacheWriteHourPerMtokMicroVnd),
    ...defined({
      input_audio_vnd: shown(price.inputAudioPerMtokMicroVnd),
      input_image_vnd: shown(price.inputImagePerMtokMicroVnd),
      output_audio_vnd: shown(price.outputAudioPerMtokMicroVnd),
      output_image_vnd: shown(price.outputImagePerMtokMicroVnd),
    }),
  };
}

function failureJson(receipt: Receipt): JsonObject | null {
  const failure = failureOf(receipt);
  return failure === undefined ? null : { ...failure };
}

function streamEndJson(receipt: Receipt): JsonObject | null {
  const end = streamEndOf(receipt);
  return end === undefined ? null : { ...end };
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
    schema: {
      type: ["object", "null"],
      properties: { type: text, code: text, message: text },
      description: "Why a call failed, in the gateway's words; null for a call that was answered.",
    },
    // A provider's message may repeat the prompt, so it is not kept.
    value: ({ receipt }) => failureJson(receipt),
  },
  {
    name: "ended_by",
    schema: {
      type: ["object", "null"],
      properties: { code: text, message: text },
      description:
        "What ended a stream that was not whole: `call_timeout`, `upstream_timeout`, `insufficient_balance` …; null for other calls.",
    },
    value: ({ receipt }) => streamEndJson(receipt),
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
    schema: { type: ["object", "null"], properties: propertiesOf(usageFields) },
    value: ({ receipt: { usage } }) => usage === undefined ? null : fieldsJson(usageFields, usage),
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
    schema: { type: "object" },
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
    name: "hosted_tools",
    schema: {
      type: "array",
      items: { type: "object" },
      description:
        "Tools that the provider ran for a fee: `tool`, `uses`, `vnd_per_use`, `cost_vnd`.",
    },
    value: ({ receipt: { toolCharges = [] } }) =>
      toolCharges.map(({ tool, uses, perUseMicroVnd }) => ({
        tool,
        uses,
        vnd_per_use: formatVnd(perUseMicroVnd),
        cost_vnd: formatVnd(BigInt(uses) * perUseMicroVnd),
      })),
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
  optional(
    "attempts",
    { type: "array", items: { type: "object" } },
    ({ receipt }) => receipt.attempts.map(({ outcome, ms }) => ({ outcome, ms })),
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
