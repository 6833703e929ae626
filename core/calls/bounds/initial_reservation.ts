/** Computes how much money a chat call reserves when it begins. */
import { worstCaseCost } from "../../billing/price.ts";
import type { AppliedPrice } from "../../billing/receipt.ts";
import type { ChatBounds } from "./chat_bounds.ts";

/** The money that is reserved before a chat call is sent. */
export interface InitialReservation {
  readonly costMicroVnd: bigint;
  /** Tokens of output that the reservation pays for. */
  readonly outputTokens: number;
}

/**
 * Computes the first reservation of a call. Input is charged as soon as the call is sent, so all of its bound is
 * reserved. The output of a stream can be stopped, so only the expected output is reserved, and more as it comes. A
 * call that is not streamed cannot be stopped, so all that it may cost is reserved. Fees of hosted tools are reserved in
 * full either way.
 *
 * @example
 * ```ts
 * import { initialReservation } from "./initial_reservation.ts";
 * import { applyPrice } from "../../billing/price.ts";
 * const price = applyPrice({ unit: "token", vndPerMtok: 8_300 });
 * const input = { tokens: 100, believableTokens: 100, isText: true, namesUnseen: false };
 * const bounds = { input, outputTokens: 128_000, toolFeesMicroVnd: 0n, costMicroVnd: 1_063_230_000n };
 * const initial = initialReservation(bounds, price, { stream: true, expectedTokens: 2_000 });
 * if (initial.costMicroVnd !== 17_430_000n || initial.outputTokens !== 2_000) throw new Error("wrong reservation");
 * ```
 */
export function initialReservation(
  bounds: Pick<ChatBounds, "input" | "outputTokens" | "toolFeesMicroVnd" | "costMicroVnd">,
  price: AppliedPrice,
  { stream, expectedTokens }: { readonly stream: boolean; readonly expectedTokens: number },
): InitialReservation {
  const outputTokens = Math.min(expectedTokens, bounds.outputTokens);
  if (!stream || price.unit !== "token" || outputTokens === bounds.outputTokens) {
    return { costMicroVnd: bounds.costMicroVnd, outputTokens: bounds.outputTokens };
  }
  const { tokens: inputTokens, isText } = bounds.input;
  const tokensMicroVnd = worstCaseCost(price, { inputTokens, outputTokens, isText });
  return { costMicroVnd: tokensMicroVnd + bounds.toolFeesMicroVnd, outputTokens };
}
