/**
 * The ceiling of a charge. Whatever a provider reports, its customer pays no more than a small multiple of the worst case
 * that was known before the call; what is beyond it is between the provider and us.
 */
import type { AppliedPrice } from "./receipt.ts";
import { costOfTokens } from "./price.ts";
import { billedInputTokens, type TokenUsage } from "./token_usage.ts";

/**
 * Times the worst case. Not one: tokenizers of a model differ from route to route, some vendors let reasoning pass the
 * caller's bound, and the frame of a short prompt can be longer than the prompt.
 */
export const chargeMultiple = 4n;
/** With tools that the provider runs it reads the prompt again with each result, ten times and more. */
export const chargeMultipleWithHostedTools = 12n;

/**
 * The ceiling of a call.
 *
 * @param worstCaseMicroVnd see `ChatBounds`
 * @param hostedTools the route that answered runs tools for the call
 */
export function chargeCeiling(worstCaseMicroVnd: bigint, hostedTools: boolean): bigint {
  return worstCaseMicroVnd * (hostedTools ? chargeMultipleWithHostedTools : chargeMultiple);
}

/**
 * The usage itself if its cost is within the ceiling; else as much of it as is. Output is left out first: input has a
 * bound of its own.
 *
 * @example
 * ```ts
 * import { withinCeiling } from "./charge_ceiling.ts";
 * import { applyPrice } from "./price.ts";
 * const price = applyPrice({ unit: "token", vndPerMtok: 1_000 });
 * const usage = { input: 10, cacheRead: 0, cacheWrite: 0, output: 500, reasoning: 400 };
 * const cut = withinCeiling(usage, price, 110_000n);
 * if (cut.input !== 10 || cut.output !== 100 || cut.reasoning !== 100) throw new Error("beyond the ceiling");
 * ```
 */
export function withinCeiling(
  usage: TokenUsage,
  price: AppliedPrice,
  ceilingMicroVnd: bigint,
): TokenUsage {
  if (price.unit !== "token") return usage;
  if (costOfTokens(price, usage) <= ceilingMicroVnd) return usage;
  const inputCost = costOfTokens(price, { ...usage, output: 0 });
  if (inputCost > ceilingMicroVnd) return inputWithin(usage, ceilingMicroVnd, inputCost);
  // The price of output is not 0: with input alone the cost is within the ceiling.
  const output = Number((ceilingMicroVnd - inputCost) / price.outputMicroVnd);
  return { ...usage, output, reasoning: Math.min(usage.reasoning, output) };
}

/** The same share of each kind of input, and no output. */
function inputWithin(usage: TokenUsage, ceilingMicroVnd: bigint, inputCost: bigint): TokenUsage {
  const share = (tokens: number) => Number(BigInt(tokens) * ceilingMicroVnd / inputCost);
  return {
    input: share(usage.input),
    cacheRead: share(usage.cacheRead),
    cacheWrite: share(usage.cacheWrite),
    output: 0,
    reasoning: 0,
  };
}

/** What bounds the truth of a report, as far as nothing the caller sends can pass it. */
export interface ProvenBounds {
  /** `undefined` where the text of the request does not bound the input. */
  readonly inputTokens: number | undefined;
  readonly outputTokens: number;
  /** Bytes that the output can be, reasoning included … */
  readonly outputBytes: number;
  /** … and the answer itself, which the caller bounds. */
  readonly answerBytes: number;
}

/** What came, in bytes. */
export interface WrittenBytes {
  readonly outputBytes: number;
  /** Absent where they are not told apart. */
  readonly answerBytes?: number | undefined;
}

/** More came than the caller's bound, or the model, can be. */
export function wroteTooMuch(
  { outputBytes, answerBytes = 0 }: WrittenBytes,
  proven: ProvenBounds,
): boolean {
  return outputBytes > proven.outputBytes || answerBytes > proven.answerBytes;
}

/** What a provider did that cannot be. */
export type Implausible = "input" | "output";

/**
 * Tells which side of a call is false, not just doubtful: no prompt and no wording of a caller can bring a truthful
 * provider to it. Routes are judged by this.
 */
export function implausibleSide(
  reported: TokenUsage | undefined,
  written: WrittenBytes,
  proven: ProvenBounds,
): Implausible | undefined {
  if (wroteTooMuch(written, proven)) return "output";
  if (reported === undefined) return undefined;
  const { inputTokens } = proven;
  if (inputTokens !== undefined && billedInputTokens(reported) > inputTokens) return "input";
  const text = reported.output - reported.reasoning;
  return text > Math.max(proven.outputTokens, written.outputBytes) ? "output" : undefined;
}
