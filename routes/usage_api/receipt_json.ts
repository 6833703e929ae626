/**
 * The fields of a receipt, each once: its member in the JSON of the API and of exports, its columns in CSV, and its
 * schema in OpenAPI. Amounts are exact, in VND; in JSON they are decimal strings, so that readers do not round them. At
 * the end the form of OpenRouter, for tools that look calls up there.
 */
import type { CsvColumn } from "../../core/lib/base/csv.ts";
import { fieldColumns, fieldsJson } from "../../core/lib/json/fields.ts";
import { parseId, type RequestId } from "../../core/lib/ids/ids.ts";
import type { Json, JsonObject } from "../../core/lib/json/json.ts";
import { type CallFailure, failureOf, streamEndOf } from "../../core/billing/usage/call_failure.ts";
import { type ToolCharge, toolChargesMicroVnd } from "../../core/billing/usage/hosted_tools.ts";
import { formatVnd } from "../../core/billing/money/micro_vnd.ts";
import { billedInputTokens, type TokenUsage } from "../../core/billing/tokens/token_bounds.ts";
import {
  answeringRegion,
  type AppliedPrice,
  type Attempt,
  type McpCallRecord,
  type OwnKeyCharge,
  type Receipt,
} from "../../core/billing/usage/receipt.ts";
import { percentOfFee } from "../../core/billing/own_key_fee.ts";
import { tagsText } from "../../core/billing/usage/call_tags.ts";
import { vietnamIsoTime } from "../../core/lib/time/vietnam_time.ts";
import type { LedgerEntry } from "../../kv/money/ledger/ledger.ts";
import { providerOfRoute } from "../../kv/money/ledger/provider_claims.ts";
import {
  always,
  constant,
  count,
  dateTime,
  type DescribedField,
  isoTime,
  listField,
  maybeText,
  nullableField,
  objectField,
  objectSchema,
  optional,
  text,
  vnd,
} from "../../core/lib/json/schemas.ts";

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

const priceSchema: JsonObject = {
  anyOf: [
    objectSchema("The price of tokens.", tokenPriceFields),
    objectSchema("The price of another unit.", unitPriceFields),
  ],
};

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

const mcpCallFields: readonly DescribedField<McpCallRecord>[] = [
  always("server", text, ({ server }) => server),
  always("tool", text, ({ tool }) => tool),
  always("failed", { type: "boolean" }, ({ failed }) => failed),
  always("ms", { type: "number" }, ({ ms }) => ms),
];

const attemptFields: readonly DescribedField<Attempt>[] = [
  always("outcome", text, ({ outcome }) => outcome),
  always("ms", { type: "number" }, ({ ms }) => ms),
  // The provider, if the organisation's own key was used.
  optional("own_key", text, ({ ownKey, route }) => ownKey && providerOfRoute(route)),
];

/** The use of a provider key of the organisation, as a receipt says it. */
type OwnKeyUse = OwnKeyCharge & { readonly provider: string };

const ownKeyFields: readonly DescribedField<OwnKeyUse>[] = [
  always("provider", text, ({ provider }) => provider),
  // The price of the call, of which the fee was charged.
  always("price_vnd", vnd, ({ priceMicroVnd }) => formatVnd(priceMicroVnd)),
  always("fee_percent", { type: "number" }, ({ fee }) => percentOfFee(fee)),
];

function ownKeyUse({ route, ownKey }: Receipt): OwnKeyUse | undefined {
  return ownKey && { ...ownKey, provider: providerOfRoute(route ?? "") };
}

/** A receipt with what is kept apart from it. */
export interface ReceiptRow {
  readonly receipt: Receipt;
  /** The ledger's line that gave the cost back, if it was: the receipt itself never changes. */
  readonly refund: LedgerEntry | undefined;
  /** The name of the key; `null`: the key is gone. Absent: not asked for, so JSON has no such member. */
  readonly keyName?: string | null;
}

/** A field that is a column of CSV, too, under the same name; see {@linkcode ReceiptField} for its rank. */
function inCsv<Row>(field: DescribedField<Row>, rank = 0) {
  return { ...field, csv: true as const, rank };
}

const usageFields: readonly DescribedField<TokenUsage>[] = [
  always("billed_input_tokens", count, billedInputTokens),
  inCsv(always("input_tokens", count, ({ input }) => input)),
  inCsv(always("cache_read_tokens", count, ({ cacheRead }) => cacheRead)),
  inCsv(always("cache_write_tokens", count, ({ cacheWrite }) => cacheWrite)),
  always("cache_write_1h_tokens", count, ({ cacheWriteHour }) => cacheWriteHour ?? 0),
  inCsv(always("output_tokens", count, ({ output }) => output)),
  inCsv(always("reasoning_tokens", count, ({ reasoning }) => reasoning)),
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
  inCsv(always("request_id", text, ({ receipt }) => receipt.requestId), -1),
  {
    ...always<ReceiptRow>("key_id", text, ({ receipt }) => receipt.keyId),
    csv: [
      { name: "key_id", cell: ({ receipt }) => receipt.keyId },
      { name: "key_name", cell: ({ keyName }) => keyName },
    ],
  },
  {
    ...always<ReceiptRow>(
      "started_at",
      dateTime,
      ({ receipt }) => new Date(receipt.startedAtMs).toISOString(),
    ),
    csv: [{ name: "started_at", cell: ({ receipt }) => vietnamIsoTime(receipt.startedAtMs) }],
    rank: -1,
  },
  inCsv(always("kind", text, ({ receipt }) => receipt.kind)),
  inCsv(always("model", text, ({ receipt }) => receipt.model)),
  inCsv(always("mapped_from", maybeText, ({ receipt }) => receipt.mappedFrom ?? null)),
  inCsv(always("style", text, ({ receipt }) => receipt.style)),
  inCsv(always("region", maybeText, ({ receipt }) => receipt.region ?? null), 1),
  inCsv(always("answered_in", maybeText, ({ receipt }) => answeringRegion(receipt) ?? null), 1),
  inCsv(always("status", { type: "integer" }, ({ receipt }) => receipt.status)),
  inCsv(always("outcome", text, ({ receipt }) => receipt.outcome)),
  // A provider's message may repeat the prompt, so it is not kept.
  nullableField(
    "error",
    "Why a call failed, in the gateway's words; null for a call that was answered.",
    failureFields,
    ({ receipt }) => failureOf(receipt),
  ),
  {
    ...nullableField(
      "ended_by",
      "What ended a stream that was not whole: `call_timeout`, `upstream_timeout`, `insufficient_balance` …; null for other calls.",
      endFields,
      ({ receipt }: ReceiptRow) => streamEndOf(receipt),
    ),
    csv: [{ name: "ended_by", cell: ({ receipt }) => receipt.endCode }],
    rank: 3,
  },
  {
    ...always<ReceiptRow>(
      "tags",
      {
        type: "object",
        additionalProperties: { type: "string" },
        description: "The tags of the call, from `x-gateway-tags` and the fields of its style.",
      },
      ({ receipt: { tags = [] } }) =>
        Object.fromEntries(tags.map(({ key, value }) => [key, value])),
    ),
    csv: [{
      name: "tags",
      cell: ({ receipt: { tags } }) => tags === undefined ? undefined : tagsText(tags),
    }],
    rank: 4,
  },
  inCsv(always("stream", { type: "boolean" }, ({ receipt }) => receipt.stream)),
  inCsv(always("latency_ms", { type: "number" }, ({ receipt }) => receipt.latencyMs)),
  inCsv(
    always(
      "first_output_ms",
      { type: ["number", "null"] },
      ({ receipt }) => receipt.firstOutputMs ?? null,
    ),
  ),
  {
    ...nullableField(
      "usage",
      "Tokens, by what they were.",
      usageFields,
      ({ receipt }: ReceiptRow) => receipt.usage,
    ),
    csv: fieldColumns(usageFields).map(({ name, cell }) => ({
      name,
      cell: ({ receipt: { usage } }) => usage === undefined ? undefined : cell(usage),
    })),
  },
  inCsv(always("estimated", { type: "boolean" }, ({ receipt }) => receipt.estimated)),
  inCsv(always("units", { type: "number" }, ({ receipt }) => receipt.units)),
  always("service_tier", {
    type: ["string", "null"],
    description: "The tier of service whose factor the price contains.",
  }, ({ receipt }) => receipt.serviceTier ?? null),
  always("catalog_version", {
    type: ["integer", "null"],
    description: "The version of the catalogue whose price and routes the call had.",
  }, ({ receipt }) => receipt.catalogVersion ?? null),
  {
    ...always<ReceiptRow>("price", priceSchema, ({ receipt }) => priceJson(receipt.price)),
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
    ...nullableField(
      "own_key",
      "The organisation's own key that served the call: `cost_vnd` is a fee of the price. Null: none did.",
      ownKeyFields,
      ({ receipt }: ReceiptRow) => ownKeyUse(receipt),
    ),
    csv: [
      { name: "own_key", cell: ({ receipt }) => ownKeyUse(receipt)?.provider },
      { name: "own_key_price_vnd", cell: ({ receipt }) => shown(receipt.ownKey?.priceMicroVnd) },
    ],
    rank: 6,
  },
  inCsv(always("cost_vnd", vnd, ({ receipt }) => formatVnd(receipt.costMicroVnd))),
  inCsv(
    always(
      "held_vnd",
      {
        ...maybeText,
        description:
          "What was reserved of the wallet for the call, in VND; what `cost_vnd` does not take of it went back. " +
          "Null: its receipt does not say.",
      },
      ({ receipt }) => shown(receipt.heldMicroVnd) ?? null,
    ),
    5,
  ),
  inCsv(always("shortfall_vnd", vnd, ({ receipt }) => formatVnd(receipt.shortfallMicroVnd))),
  inCsv(always("refunded_vnd", vnd, ({ refund }) => formatVnd(refund?.amountMicroVnd ?? 0n))),
  always(
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
  {
    ...listField<ReceiptRow, McpCallRecord>(
      "mcp_calls",
      "A call of a tool of an MCP server that the gateway made.",
      mcpCallFields,
      ({ receipt: { mcpCalls = [] } }) => mcpCalls,
    ),
    csv: [{
      name: "mcp_calls",
      cell: ({ receipt: { mcpCalls = [] } }) =>
        mcpCalls.map(({ server, tool }) => `${server} ${tool}`).join("; "),
    }],
    rank: 7,
  },
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

// The form in which OpenRouter writes a call (`GenerationResponse` of its OpenAPI document). Amounts are in VND; what the
// gateway does not keep, as the reason of an end, or tells the operator alone, as the provider, is `null`.

const maybeCount: JsonObject = { type: ["integer", "null"], minimum: 0 };
const milliseconds: JsonObject = { type: ["number", "null"] };
const amount: JsonObject = {
  type: "number",
  description: "An amount in VND, with up to six decimals; the receipt has it as exact text.",
};

/** Up to nine billion VND a number holds six decimals exactly. */
const vndNumber = (microVnd: bigint) => Number(formatVnd(microVnd));

/** Charge that has stayed. */
const keptMicroVnd = ({ receipt, refund }: ReceiptRow) =>
  receipt.costMicroVnd - (refund?.amountMicroVnd ?? 0n);

/** The kinds of calls by the names of OpenRouter; a moderation has none there. */
const apiTypes: Readonly<Record<Receipt["kind"], string | null>> = {
  chat: "completions",
  completion: "completions",
  embedding: "embeddings",
  image: "image",
  speech: "tts",
  transcription: "stt",
  video: "video",
  rerank: "rerank",
  moderation: null,
};

/** Time from the first output to the last, or of the whole call, where nothing came before the end. */
function generationMs({ latencyMs, firstOutputMs }: Receipt): number {
  return firstOutputMs === undefined ? latencyMs : Math.max(0, latencyMs - firstOutputMs);
}

function promptTokens({ usage }: Receipt): number | null {
  return usage === undefined ? null : billedInputTokens(usage);
}

/** Charged uses of a tool. */
function toolUses({ toolCharges = [] }: Receipt, named: string): number {
  return toolCharges.filter(({ tool }) => tool === named)
    .reduce((sum, { uses }) => sum + uses, 0);
}

const ofReceipt = (
  name: string,
  schema: JsonObject,
  value: (receipt: Receipt) => Json,
) => always<ReceiptRow>(name, schema, ({ receipt }) => value(receipt));

const dataFields: readonly DescribedField<ReceiptRow>[] = [
  ofReceipt("id", text, ({ requestId }) => requestId),
  ofReceipt("request_id", text, ({ requestId }) => requestId),
  constant("upstream_id", null),
  always("total_cost", amount, (row) => vndNumber(keptMicroVnd(row))),
  always("usage", amount, (row) => vndNumber(keptMicroVnd(row))),
  constant("currency", "VND"),
  constant("cache_discount", null),
  constant("upstream_inference_cost", null),
  ofReceipt("is_byok", { type: "boolean" }, ({ ownKey }) => ownKey !== undefined),
  ofReceipt("created_at", dateTime, ({ startedAtMs }) => isoTime(startedAtMs)),
  ofReceipt("api_type", maybeText, ({ kind }) => apiTypes[kind]),
  ofReceipt("model", text, ({ model }) => model),
  ofReceipt("streamed", { type: "boolean" }, ({ stream }) => stream),
  ofReceipt("cancelled", { type: "boolean" }, ({ outcome }) => outcome === "client_gone"),
  ofReceipt("latency", milliseconds, ({ firstOutputMs, latencyMs }) => firstOutputMs ?? latencyMs),
  ofReceipt("generation_time", milliseconds, generationMs),
  constant("moderation_latency", null),
  ofReceipt("tokens_prompt", maybeCount, promptTokens),
  ofReceipt("tokens_completion", maybeCount, ({ usage }) => usage?.output ?? null),
  ofReceipt("native_tokens_prompt", maybeCount, promptTokens),
  ofReceipt("native_tokens_completion", maybeCount, ({ usage }) => usage?.output ?? null),
  ofReceipt("native_tokens_reasoning", maybeCount, ({ usage }) => usage?.reasoning ?? null),
  ofReceipt("native_tokens_cached", maybeCount, ({ usage }) => usage?.cacheRead ?? null),
  constant("native_tokens_completion_images", null),
  constant("num_media_prompt", null),
  constant("num_input_audio_prompt", null),
  ofReceipt(
    "num_media_completion",
    maybeCount,
    ({ kind, units }) => kind === "image" ? units : null,
  ),
  constant("num_search_results", null),
  ofReceipt("num_fetches", maybeCount, (receipt) => toolUses(receipt, "web_fetch")),
  ofReceipt("service_tier", maybeText, ({ serviceTier }) => serviceTier ?? null),
  ofReceipt("data_region", text, ({ region }) => region ?? "global"),
  ofReceipt("provider_name", maybeText, (receipt) => ownKeyUse(receipt)?.provider ?? null),
  constant("provider_responses", null),
  constant("finish_reason", null),
  constant("native_finish_reason", null),
  constant("origin", ""),
  constant("http_referer", null),
  constant("user_agent", null),
  constant("external_user", null),
  constant("app_id", null),
  constant("preset_id", null),
  constant("workspace_id", null),
  constant("router", null),
  constant("web_search_engine", null),
];

/** The fields of the answer. */
export const generationFields: readonly DescribedField<ReceiptRow>[] = [
  objectField("data", "The call.", dataFields, (row) => row),
];

/**
 * Returns the request of an id: that of a request, or one that the gateway wrote into an answer, as `chatcmpl-…`, which
 * ends with the same characters.
 *
 * @example
 * ```ts
 * import { requestIdIn } from "./receipt_json.ts";
 * if (requestIdIn("chatcmpl-0mwojiy9c0058ty1ozbefk5u3") !== "req_0mwojiy9c0058ty1ozbefk5u3") throw new Error();
 * if (requestIdIn("chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT") !== undefined) throw new Error("a provider's own id");
 * ```
 */
export function requestIdIn(id: string): RequestId | undefined {
  const changing = /(?:^|[^0-9A-Za-z])([0-9a-z]+)$/.exec(id)?.[1];
  return changing === undefined ? undefined : parseId("request", `req_${changing}`);
}
