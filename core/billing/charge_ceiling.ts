/**
 * The ceiling of a charge.
 *
 * Whatever a provider reports, its customer pays no more than a small multiple of the worst case
 * that was known before the call; the rest is between the provider and the operator.
 */
import { hasMediaParts, maxRate, partsWithin } from "./usage/media_parts.ts";
import type { AppliedPrice, TokenRates } from "./usage/receipt.ts";
import { costOfTokens, ratesFor, tokensPerRate } from "./price.ts";
import { billedInputTokens, type TokenUsage } from "./tokens/token_bounds.ts";

/**
 * Multiple of the worst case. Not one: tokenizers of a model differ from route to route, some
 * vendors let reasoning exceed the caller's bound, and the frame of a short prompt can be longer
 * than the prompt.
 */
export const chargeMultiple = 4n;
/**
 * The multiple for tools that the provider runs: it reads the prompt again with each result, ten
 * times and more.
 */
export const chargeMultipleWithHostedTools = 12n;

/**
 * Computes the ceiling of a call.
 *
 * @param worstCaseMicroVnd see `ChatBounds`
 * @param hostedTools the route that answered runs tools for the call
 */
export function chargeCeiling(worstCaseMicroVnd: bigint, hostedTools: boolean): bigint {
  return worstCaseMicroVnd * (hostedTools ? chargeMultipleWithHostedTools : chargeMultiple);
}

/**
 * Returns the usage if its cost is within the ceiling, else as much of it as is. Output is left out
 * first, since input has a bound of its own.
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
  const inputCost = costOfTokens(price, withParts({ ...usage, output: 0 }, usage));
  if (inputCost > ceilingMicroVnd) return inputWithin(usage, ceilingMicroVnd, inputCost);
  // The price of output is not 0: the cost of the input alone is within the ceiling.
  const left = (ceilingMicroVnd - inputCost) * tokensPerRate;
  const rates = ratesFor(price, usage);
  // With sound or pictures in it, the output is cut as if all of it had its highest rate.
  const output = Math.min(usage.output, Number(left / maxOf(rates, usage)));
  const cut = { ...usage, output, reasoning: Math.min(usage.reasoning, output) };
  return hasMediaParts(usage) ? withParts(cut, usage) : cut;
}

/** Returns the highest rate of the output that there is. */
function maxOf(rates: TokenRates, { outputAudio, outputImage }: TokenUsage): bigint {
  return maxRate(
    rates.outputPerMtokMicroVnd,
    outputAudio === undefined ? undefined : rates.outputAudioPerMtokMicroVnd,
    outputImage === undefined ? undefined : rates.outputImagePerMtokMicroVnd,
  );
}

/** Returns a usage with the parts of another, as far as they fit. */
function withParts(usage: TokenUsage, parts: TokenUsage): TokenUsage {
  const { inputAudio: _a, inputImage: _b, outputAudio: _c, outputImage: _d, ...buckets } = usage;
  return { ...buckets, ...partsWithin(parts, buckets) };
}

/** Takes the same share of each kind of input, and no output. */
function inputWithin(usage: TokenUsage, ceilingMicroVnd: bigint, inputCost: bigint): TokenUsage {
  const share = (tokens: number) => Number(BigInt(tokens) * ceilingMicroVnd / inputCost);
  const { cacheWriteHour, inputAudio = 0, inputImage = 0 } = usage;
  const parts = { inputAudio: share(inputAudio), inputImage: share(inputImage) };
  const text = share(usage.input - inputAudio - inputImage);
  const input = text + parts.inputAudio + parts.inputImage;
  return {
    input,
    ...partsWithin(parts, { input, output: 0 }),
    cacheRead: share(usage.cacheRead),
    cacheWrite: share(usage.cacheWrite),
    ...(cacheWriteHour !== undefined && { cacheWriteHour: share(cacheWriteHour) }),
    output: 0,
    reasoning: 0,
  };
}

/** The bounds of a truthful report that nothing in a request can exceed. */
export interface ProvenBounds {
  /** `undefined` if the text of the request does not bound the input. */
  readonly inputTokens: number | undefined;
  readonly outputTokens: number;
  /** Most bytes of output, reasoning included. */
  readonly outputBytes: number;
  /** Most bytes of the answer itself, which the caller bounds. */
  readonly answerBytes: number;
}

/** The bytes that arrived. */
export interface WrittenBytes {
  readonly outputBytes: number;
  /** Absent if they are not counted separately. */
  readonly answerBytes?: number | undefined;
}

/** Whether more arrived than the caller's bound, or the model, allows. */
export function wroteTooMuch(
  { outputBytes, answerBytes = 0 }: WrittenBytes,
  proven: ProvenBounds,
): boolean {
  return outputBytes > proven.outputBytes || answerBytes > proven.answerBytes;
}

/** The side of a report that is impossible. */
export type Implausible = "input" | "output";

/**
 * Returns which side of a call is false, not just doubtful: no prompt of a caller can make a
 * truthful provider report it. Routes are judged by this.
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
