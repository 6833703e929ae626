/**
 * Computes the most that a chat call can cost, and an estimate of its prompt, before a provider is asked.
 *
 * - Folder `core/calls/bounds/`: what a chat call can cost and how long its output may get.
 * - In: the request, the capabilities and prices of its model, figures of earlier calls.
 * - Out: bounds in tokens and bytes, the amount to reserve, the charge of an ended call.
 * - Never: asks a provider or a wallet, or keeps text of a prompt.
 */
import type { Model } from "../../catalog/catalog.ts";
import { reservedPrice } from "../../billing/service_tiers.ts";
import { askedTier } from "../../wire/billable_features/asked_tier.ts";
import { askedTools } from "../../wire/billable_features/asked_tools.ts";
import type { BillableFeature } from "../../wire/contract/features.ts";
import {
  mostToolFees,
  type ReservedTool,
  reservedTools,
} from "../../billing/usage/hosted_tools.ts";
import { hasCachePrice, toolPricesOf, worstCaseCost } from "../../billing/price.ts";
import type { AppliedPrice } from "../../billing/usage/receipt.ts";
import { estimateOutputTokens, roughPromptTokens } from "../../billing/tokens/rough_estimate.ts";
import type { ChatRequest } from "../request/chat_request.ts";
import { hostedToolsAskedFor } from "../request/billable_features.ts";
import { type InputBound, inputBound } from "./input_bound.ts";
import type { JsonBody } from "../body/json_body.ts";
import { wantedOutputTokens } from "./output_limit.ts";
import { type PromptPrefixes, promptPrefixes } from "../request/prompt_prefixes.ts";

/** The bounds of a chat call that are known before it is sent. */
export interface ChatBounds {
  /** Output tokens of all answers together. */
  readonly outputTokens: number;
  /** The most output tokens that the caller can want: see {@linkcode wantedOutputTokens}. */
  readonly wantedOutputTokens: number;
  readonly input: InputBound;
  /** Our own count of the prompt's tokens, for a provider that reports none. An estimate, not a bound. */
  readonly estimatedInputTokens: number;
  /** Hosted tools that the request asks for: they may add more to the prompt than is in the request. */
  readonly hostedTools: readonly BillableFeature[];
  /** Of these, the tools that have a fee. */
  readonly tools: readonly ReservedTool[];
  /** The most that their fees can be; a part of `costMicroVnd`. */
  readonly toolFeesMicroVnd: bigint;
  /**
   * Hashes of the beginning of the prompt. For a stream, which may break after some output; and for a whole answer after
   * which the provider may have the prompt in its cache, at a price of its own.
   */
  readonly prefixes?: PromptPrefixes | undefined;
  /** The tier of service that the request asks for. */
  readonly tier: string;
  /** The price at which money is reserved: at the dearest tier that the call may get. */
  readonly reservedPrice: AppliedPrice;
  /** The most that the call can cost; see `initial_reservation.ts` for what is reserved. */
  readonly costMicroVnd: bigint;
}

/** Lowers the bounds of a call to fewer output tokens, of all answers together. */
export function withinOutput(bounds: ChatBounds, outputTokens: number): ChatBounds {
  const { reservedPrice, input, toolFeesMicroVnd } = bounds;
  const most = { inputTokens: input.tokens, outputTokens, isText: input.isText };
  return {
    ...bounds,
    outputTokens,
    wantedOutputTokens: outputTokens,
    costMicroVnd: worstCaseCost(reservedPrice, most) + toolFeesMicroVnd,
  };
}

/**
 * Computes the bounds of a request. Everything that needs the prompt is computed here, so that a stream need not keep
 * the prompt in memory for its settlement.
 */
export function chatBounds(
  request: ChatRequest,
  body: JsonBody,
  model: Model,
  price: AppliedPrice,
): ChatBounds {
  const { outline, bytes } = body;
  const { maxOutputTokens, contextWindow } = model;
  const outputTokens = Math.min(request.maxTokens ?? maxOutputTokens, maxOutputTokens) *
    request.choices;
  const hostedTools = hostedToolsAskedFor({ style: request.style, body: outline });
  const prices = toolPricesOf(model.price);
  const tools = hostedTools.length === 0 || prices === undefined
    ? []
    : reservedTools(prices, askedTools(request.style, outline), request.choices);
  const toolFeesMicroVnd = mostToolFees(tools);
  const tier = askedTier(request.style, outline);
  const reserved = reservedPrice(price, tier);
  const input = inputBound({
    body: outline,
    bodyBytes: bytes.length,
    contextWindow,
    hostedTools: hostedTools.length,
  });
  return {
    outputTokens,
    wantedOutputTokens: wantedOutputTokens(request, model),
    input,
    // The prompts of completions may be lists of tokens, which their bytes count better.
    estimatedInputTokens: outline["prompt"] === undefined
      ? roughPromptTokens(outline)
      : estimateOutputTokens(bytes.length),
    hostedTools,
    tools,
    tier,
    reservedPrice: reserved,
    toolFeesMicroVnd,
    prefixes: (price.unit === "token" && (request.stream || hasCachePrice(price))) ||
        model.routes.length > 1
      ? promptPrefixes(model.id, request.style, outline)
      : undefined,
    costMicroVnd:
      worstCaseCost(reserved, { inputTokens: input.tokens, outputTokens, isText: input.isText }) +
      toolFeesMicroVnd,
  };
}
