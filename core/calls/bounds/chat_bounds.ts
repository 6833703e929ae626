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
import { askedTier, askedTools } from "../../wire/billable_features/asked_tier.ts";
import type { BillableFeature } from "../../wire/contract/features.ts";
import { maxToolFees, type ReservedTool, reservedTools } from "../../billing/usage/hosted_tools.ts";
import {
  hasCachePrice,
  maxPerOutputToken,
  toolPricesOf,
  worstCaseCost,
} from "../../billing/price.ts";
import type { AppliedPrice } from "../../billing/usage/receipt.ts";
import { roughPromptTokens } from "../../billing/tokens/rough_estimate.ts";
import type { ChatRequest } from "../request/chat_request.ts";
import { hostedToolsAskedFor } from "../request/billable_features.ts";
import { type InputBound, inputBound } from "./input_bound.ts";
import type { JsonBody } from "../body/json_body.ts";
import { wantedOutputTokens } from "./output_limit.ts";
import { type PromptPrefixes, promptPrefixes } from "../request/prompt_prefixes.ts";
import type { ReservationRange } from "../../billing/reservation_range.ts";
import { defined } from "../../lib/base/defined.ts";
import { isJsonObject, type OutlineObject } from "../../lib/json/json.ts";

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
  /** The conversation may come to another account at a provider: there are several routes or keys. */
  readonly mayMove: boolean;
  /** The tier of service that the request asks for. */
  readonly tier: string;
  /** The price at which money is reserved: with the highest factor of a tier that the call may get. */
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
 *
 * @param hasSeveralKeys whether a provider of the model has several keys, of which a conversation keeps one
 */
export function chatBounds(
  request: ChatRequest,
  body: JsonBody,
  model: Model,
  price: AppliedPrice,
  hasSeveralKeys = false,
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
  const toolFeesMicroVnd = maxToolFees(tools);
  const tier = askedTier(request.style, outline);
  const reserved = reservedPrice(price, tier);
  const input = inputBound({
    body: outline,
    bodyBytes: bytes.length,
    contextWindow,
    hostedTools: hostedTools.length,
  });
  const mayMove = model.routes.length > 1 || hasSeveralKeys;
  return {
    outputTokens,
    wantedOutputTokens: wantedOutputTokens(request, model),
    input,
    estimatedInputTokens: roughPromptTokens(outline),
    hostedTools,
    tools,
    tier,
    reservedPrice: reserved,
    toolFeesMicroVnd,
    mayMove,
    prefixes: (price.unit === "token" && (request.stream || hasCachePrice(price))) ||
        mayMove
      ? promptPrefixes(model.id, request.style, outline)
      : undefined,
    costMicroVnd:
      worstCaseCost(reserved, { inputTokens: input.tokens, outputTokens, isText: input.isText }) +
      toolFeesMicroVnd,
  };
}

// Computes how much money a chat call reserves when it begins, and which limit of output the provider gets if that is
// less than the call may cost.

/**
 * Fewest output tokens of one answer that a lowered limit leaves: the least that the Responses vendor takes, and too
 * few for an answer of any use.
 */
const leastLimitTokens = 16;

/** What a chat call reserves when it begins. */
export interface InitialReservation {
  readonly range: ReservationRange;
  /**
   * The output follows the reservation: the stream can be stopped when its money is used up. Any other call gets a limit
   * that the reservation covers.
   */
  readonly isStoppable: boolean;
  /**
   * Reserved if the money does not cover the lowest limit that the request allows: what is expected, and all that there
   * is beyond. The request keeps its limit, and what it costs beyond its money becomes debt, as far as the account may
   * owe. Absent if the lowest limit is below what is expected.
   */
  readonly unlimited: ReservationRange | undefined;
}

/** What decides the first reservation, beside the bounds. */
export interface ReservationBasis {
  readonly stream: boolean;
  /** Output tokens to reserve for a stream; `Infinity` if its output is hidden. See `OutputExpectations.tokens`. */
  readonly expectedTokens: number;
  /** Output tokens that a call usually has. See `OutputExpectations.usualTokens`. */
  readonly usualTokens: number;
  /** Fewest output tokens of all answers together with which the call makes sense. See {@linkcode leastOutputTokens}. */
  readonly leastTokens: number;
  /** `false`: see `ReservationRange.waits`. */
  readonly waits?: boolean | undefined;
}

type QuotedBounds = Pick<
  ChatBounds,
  "input" | "outputTokens" | "toolFeesMicroVnd" | "costMicroVnd" | "reservedPrice"
>;

/**
 * Computes the first reservation of a call. Input is charged as soon as the call is sent, so all of its bound is
 * reserved; fees of hosted tools as well. The output of a stream can be stopped, so only the expected output is
 * reserved, and more as it comes. A call that is not streamed, or whose output is hidden, cannot be stopped, so all
 * that it may cost is reserved if there is so much money. If not, the call begins with less, and the provider gets the
 * limit that is paid for.
 *
 * @example
 * ```ts
 * import { initialReservation } from "./chat_bounds.ts";
 * import { applyPrice } from "../../billing/price.ts";
 * const reservedPrice = applyPrice({ unit: "token", vndPerMtok: 8_300 });
 * const input = { tokens: 100, believableTokens: 100, isText: true, namesUnseen: false };
 * const bounds = { input, outputTokens: 128_000, toolFeesMicroVnd: 0n, costMicroVnd: 1_063_230_000n, reservedPrice };
 * const basis = { stream: true, expectedTokens: 2_000, usualTokens: 2_000, leastTokens: 16 };
 * if (initialReservation(bounds, basis).range.wantedMicroVnd !== 17_430_000n) throw new Error("all of it");
 * const whole = initialReservation(bounds, { ...basis, stream: false });
 * if (whole.range.wantedMicroVnd !== 1_063_230_000n) throw new Error("not the worst case");
 * if (whole.range.expectedMicroVnd !== 17_430_000n) throw new Error("not what is usual");
 * ```
 */
export function initialReservation(
  bounds: QuotedBounds,
  basis: ReservationBasis,
): InitialReservation {
  const { stream, expectedTokens, usualTokens, leastTokens } = basis;
  const waits = defined({ waits: basis.waits });
  const isStoppable = stream && Number.isFinite(expectedTokens);
  if (isStoppable) {
    const expectedMicroVnd = costOf(bounds, expectedTokens);
    const leastMicroVnd = costOf(bounds, leastLimitTokens);
    return {
      isStoppable,
      range: { wantedMicroVnd: expectedMicroVnd, expectedMicroVnd, leastMicroVnd, ...waits },
      unlimited: undefined,
    };
  }
  const { costMicroVnd } = bounds;
  const leastMicroVnd = costOf(bounds, leastTokens);
  const usualMicroVnd = costOf(bounds, usualTokens);
  const isUsual = leastMicroVnd <= usualMicroVnd;
  const range = {
    wantedMicroVnd: costMicroVnd,
    expectedMicroVnd: isUsual ? usualMicroVnd : leastMicroVnd,
    leastMicroVnd,
    ...waits,
  };
  const unlimited = {
    wantedMicroVnd: costMicroVnd,
    expectedMicroVnd: usualMicroVnd,
    leastMicroVnd: usualMicroVnd,
    takesAll: true,
    ...waits,
  };
  return { isStoppable, range, unlimited: isUsual ? undefined : unlimited };
}

/** Computes the most that a call with so many output tokens can cost; calls priced by other units have one price. */
function costOf(bounds: QuotedBounds, tokens: number): bigint {
  const { outputTokens, input, toolFeesMicroVnd, costMicroVnd, reservedPrice } = bounds;
  if (reservedPrice.unit !== "token" || tokens >= outputTokens) return costMicroVnd;
  const most = { inputTokens: input.tokens, outputTokens: tokens, isText: input.isText };
  return worstCaseCost(reservedPrice, most) + toolFeesMicroVnd;
}

/** Computes the output tokens that a reserved amount pays for. */
export function paidOutputTokens(bounds: QuotedBounds, amountMicroVnd: bigint): number {
  if (amountMicroVnd >= bounds.costMicroVnd) return bounds.outputTokens;
  const forOutput = amountMicroVnd - costOf(bounds, 0);
  const tokenMicroVnd = maxPerOutputToken(bounds.reservedPrice, bounds.input.tokens);
  if (forOutput <= 0n || tokenMicroVnd === 0n) return 0;
  return Math.min(Number(forOutput / tokenMicroVnd), bounds.outputTokens);
}

/**
 * Computes the limit of one answer that a reserved amount pays for; `undefined` if the request does not allow a limit
 * that low.
 */
export function paidLimit(
  bounds: QuotedBounds,
  request: Pick<ChatRequest, "style" | "choices" | "compacts">,
  body: OutlineObject,
  amountMicroVnd: bigint,
): number | undefined {
  const paidTokens = paidOutputTokens(bounds, amountMicroVnd);
  const leastTokens = Math.min(leastOutputTokens(request, body), bounds.outputTokens);
  return paidTokens < leastTokens ? undefined : Math.floor(paidTokens / request.choices);
}

/**
 * Computes the fewest output tokens, of all answers together, to which a call can be limited. The Messages style
 * requires more than the budget for thinking. Infinite where no limit can be sent.
 */
export function leastOutputTokens(
  { style, choices, compacts }: Pick<ChatRequest, "style" | "choices" | "compacts">,
  body: OutlineObject,
): number {
  if (compacts === true) return Infinity;
  return (leastLimitTokens + (style === "messages" ? thinkingBudget(body) : 0)) * choices;
}

function thinkingBudget({ thinking }: OutlineObject): number {
  if (!isJsonObject(thinking)) return 0;
  const { budget_tokens: budget } = thinking;
  return typeof budget === "number" && budget > 0 ? budget : 0;
}
