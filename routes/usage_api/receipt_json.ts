/**
 * Writes receipts as JSON of the API and of exports, and as CSV rows. Amounts are exact, in VND.
 */
import type { JsonObject } from "../../core/lib/json/json.ts";
import { failureOf, streamEndOf } from "../../core/billing/usage/call_failure.ts";
import { toolChargesMicroVnd } from "../../core/billing/usage/hosted_tools.ts";
import { formatVnd } from "../../core/billing/money/micro_vnd.ts";
import { defined } from "../../core/lib/base/defined.ts";
import { billedInputTokens } from "../../core/billing/tokens/token_bounds.ts";
import {
  answeringRegion,
  type AppliedPrice,
  type Receipt,
} from "../../core/billing/usage/receipt.ts";
import { vietnamIsoTime } from "../../core/lib/time/vietnam_time.ts";
import type { LedgerEntry } from "../../kv/money/ledger/ledger.ts";

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

/**
 * Converts a receipt to JSON. Amounts are decimal strings in VND, so that readers do not round
 * them.
 *
 * Attempts show their result and time only: the providers that were tried are known to the operator
 * alone.
 *
 * @param refund the ledger's line that gave the cost back, if it was: the receipt itself never changes
 */
export function receiptJson(receipt: Receipt, refund: LedgerEntry | undefined): JsonObject {
  const { usage } = receipt;
  return {
    object: "receipt",
    request_id: receipt.requestId,
    key_id: receipt.keyId,
    started_at: new Date(receipt.startedAtMs).toISOString(),
    kind: receipt.kind,
    model: receipt.model,
    mapped_from: receipt.mappedFrom ?? null,
    style: receipt.style,
    region: receipt.region ?? null,
    answered_in: answeringRegion(receipt) ?? null,
    status: receipt.status,
    outcome: receipt.outcome,
    /** In our words: a provider's message may repeat the prompt, so it is not kept. */
    error: failureJson(receipt),
    ended_by: streamEndJson(receipt),
    stream: receipt.stream,
    latency_ms: receipt.latencyMs,
    first_output_ms: receipt.firstOutputMs ?? null,
    usage: usage === undefined ? null : {
      billed_input_tokens: billedInputTokens(usage),
      input_tokens: usage.input,
      cache_read_tokens: usage.cacheRead,
      cache_write_tokens: usage.cacheWrite,
      cache_write_1h_tokens: usage.cacheWriteHour ?? 0,
      output_tokens: usage.output,
      reasoning_tokens: usage.reasoning,
      ...defined({
        input_audio_tokens: usage.inputAudio,
        input_image_tokens: usage.inputImage,
        output_audio_tokens: usage.outputAudio,
        output_image_tokens: usage.outputImage,
      }),
    },
    estimated: receipt.estimated,
    units: receipt.units,
    service_tier: receipt.serviceTier ?? null,
    catalog_version: receipt.catalogVersion ?? null,
    price: priceJson(receipt.price),
    hosted_tools: (receipt.toolCharges ?? []).map(({ tool, uses, perUseMicroVnd }) => ({
      tool,
      uses,
      vnd_per_use: formatVnd(perUseMicroVnd),
      cost_vnd: formatVnd(BigInt(uses) * perUseMicroVnd),
    })),
    cost_vnd: formatVnd(receipt.costMicroVnd),
    shortfall_vnd: formatVnd(receipt.shortfallMicroVnd),
    refunded_vnd: formatVnd(refund?.amountMicroVnd ?? 0n),
    refunded_at: refund === undefined ? null : new Date(refund.atMs).toISOString(),
    attempts: receipt.attempts.map(({ outcome, ms }) => ({ outcome, ms })),
  };
}

/** The column names of the CSV export. */
export const receiptColumns: readonly string[] = [
  "request_id",
  "started_at",
  "key_id",
  "key_name",
  "kind",
  "model",
  "mapped_from",
  "style",
  "status",
  "outcome",
  "stream",
  "latency_ms",
  "first_output_ms",
  "input_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "output_tokens",
  "reasoning_tokens",
  "estimated",
  "units",
  "price_unit",
  "price_vnd",
  "output_price_vnd",
  "cost_vnd",
  "shortfall_vnd",
  "refunded_vnd",
  "region",
  "answered_in",
  "hosted_tools",
  "hosted_tools_vnd",
  "ended_by",
];

/** Returns the cells of a receipt, in the order of {@linkcode receiptColumns}. */
export function receiptCells(
  receipt: Receipt,
  keyName: string,
  refund: LedgerEntry | undefined,
): string[] {
  const { usage, price, toolCharges = [] } = receipt;
  const tokens = price.unit === "token";
  return [
    receipt.requestId,
    vietnamIsoTime(receipt.startedAtMs),
    receipt.keyId,
    keyName,
    receipt.kind,
    receipt.model,
    receipt.mappedFrom ?? "",
    receipt.style,
    String(receipt.status),
    receipt.outcome,
    String(receipt.stream),
    String(receipt.latencyMs),
    String(receipt.firstOutputMs ?? ""),
    String(usage?.input ?? ""),
    String(usage?.cacheRead ?? ""),
    String(usage?.cacheWrite ?? ""),
    String(usage?.output ?? ""),
    String(usage?.reasoning ?? ""),
    String(receipt.estimated),
    String(receipt.units),
    tokens ? "1M tokens" : price.unit,
    tokens ? formatVnd(price.inputPerMtokMicroVnd) : formatVnd(price.perUnitMicroVnd),
    tokens ? formatVnd(price.outputPerMtokMicroVnd) : "",
    formatVnd(receipt.costMicroVnd),
    formatVnd(receipt.shortfallMicroVnd),
    formatVnd(refund?.amountMicroVnd ?? 0n),
    receipt.region ?? "",
    answeringRegion(receipt) ?? "",
    toolCharges.map(({ tool, uses }) => `${tool} ${uses}`).join("; "),
    toolCharges.length === 0 ? "" : formatVnd(toolChargesMicroVnd(toolCharges)),
    receipt.endCode ?? "",
  ];
}
