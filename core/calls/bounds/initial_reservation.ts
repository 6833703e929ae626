/**
 * Computes how much money a chat call reserves when it begins, and which limit of output the provider gets if that is
 * less than the call may cost.
 */
import type { ReservationRange } from "../../billing/reservation_range.ts";
import { mostPerOutputToken, worstCaseCost } from "../../billing/price.ts";
import type { ChatRequest } from "../request/chat_request.ts";
import { defined } from "../../lib/base/defined.ts";
import { isJsonObject, type OutlineObject } from "../../lib/json/json.ts";
import type { ChatBounds } from "./chat_bounds.ts";

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
 * import { initialReservation } from "./initial_reservation.ts";
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
  const tokenMicroVnd = mostPerOutputToken(bounds.reservedPrice, bounds.input.tokens);
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
