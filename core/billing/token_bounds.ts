/** How far a provider's report of tokens is believed: what the call itself could have used, with some slack. */
import { limits } from "../limits.ts";
import { bytesPerEstimatedToken } from "./tokens/rough_estimate.ts";

/** The most tokens of a call. A report beyond them is absurd, and our own count never passes them either. */
export interface TokenBounds {
  /** Input, what was read from caches and written to them included. */
  readonly input: number;
  /** Output that the request asked for. */
  readonly askedOutput: number;
  /** Output that the model can produce at all: hidden reasoning, and text that went on beyond what was asked for. */
  readonly possibleOutput: number;
  /** The caller asked for no more than this: our own count ends here. By default that of the model. */
  readonly wantedOutput?: number;
}

export interface BoundedCall {
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  /** Answers asked for. */
  readonly choices: number;
  /** Output tokens that were reserved, those of all answers. */
  readonly reservedOutputTokens: number;
  /** The most that the caller can want: its own bound, or where it set none that of the model with some slack. */
  readonly wantedOutputTokens?: number;
  /** Our own count of the prompt. */
  readonly estimatedInputTokens: number;
  /** Input tokens that were reserved. */
  readonly reservedInputTokens?: number;
  /** What the bytes that were sent can be at most, with what they name. */
  readonly believableInputTokens?: number;
  /** The request asks for tools that the provider runs, and was let through with them. */
  readonly hostedTools: boolean;
}

/**
 * The bounds of a call. They are wider than what was reserved, since a report that is a little larger than foreseen is
 * true as a rule; the reasons for each width stand in {@linkcode limits}.
 *
 * @example
 * ```ts
 * import { tokenBounds } from "./token_bounds.ts";
 * const bounds = tokenBounds({
 *   contextWindow: 100_000,
 *   maxOutputTokens: 10_000,
 *   choices: 1,
 *   reservedOutputTokens: 100,
 *   estimatedInputTokens: 12,
 *   hostedTools: false,
 * });
 * if (bounds.input !== 200_000 || bounds.askedOutput !== 264) throw new Error("wrong bounds");
 * ```
 */
export function tokenBounds(call: BoundedCall): TokenBounds {
  const { contextWindow } = call;
  const contexts = call.hostedTools ? limits.reportedContextsWithTools : limits.reportedContexts;
  const longText = Math.min(
    call.estimatedInputTokens * bytesPerEstimatedToken,
    contextWindow * limits.reportedContextsOfLongText,
  );
  const askedOutput = call.reservedOutputTokens * limits.reportedOutputFactor +
    limits.reportedOutputExtra;
  // A tool of the provider reads the prompt again with each of its results; what they hold is not in the request.
  const sent = call.hostedTools
    ? (call.reservedInputTokens ?? Infinity) * limits.reportedContextsWithTools
    : call.believableInputTokens ?? Infinity;
  return {
    input: counted(Math.min(Math.max(contextWindow * contexts, longText), sent)),
    askedOutput: counted(askedOutput),
    possibleOutput: counted(Math.max(
      askedOutput,
      call.maxOutputTokens * call.choices * limits.reportedModelOutputs,
    )),
    ...(call.wantedOutputTokens !== undefined &&
      { wantedOutput: counted(call.wantedOutputTokens) }),
  };
}

function counted(tokens: number): number {
  return Math.min(tokens, limits.usageTokens);
}
