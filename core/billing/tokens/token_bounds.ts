/**
 * Counts of tokens as a provider reports them, and how much of a report is believed: what the call itself could have
 * used, with some slack.
 *
 * Sound and pictures are parts of these counts that vendors price apart from text. A part is never larger than the
 * bucket that it belongs to, so that the rest of the bucket is text.
 */
import { maxReportedTokens, reportedModelOutputs, reportedOutputExtra } from "./limits.ts";
import { bytesPerEstimatedToken } from "./rough_estimate.ts";

/**
 * Returns reported parts within their buckets; those of no tokens are left out.
 *
 * @example
 * ```ts
 * import { partsWithin } from "./token_bounds.ts";
 * const parts = partsWithin({ inputAudio: 70, inputImage: 50, outputAudio: 0 }, { input: 100, output: 9 });
 * if (parts.inputAudio !== 70 || parts.inputImage !== 30 || "outputAudio" in parts) throw new Error("wrong");
 * ```
 */
export function partsWithin(
  parts: MediaParts,
  { input, output }: Pick<TokenUsage, "input" | "output">,
): MediaParts {
  const inputAudio = Math.min(parts.inputAudio ?? 0, input);
  const inputImage = Math.min(parts.inputImage ?? 0, input - inputAudio);
  const outputAudio = Math.min(parts.outputAudio ?? 0, output);
  const outputImage = Math.min(parts.outputImage ?? 0, output - outputAudio);
  return {
    ...(inputAudio > 0 && { inputAudio }),
    ...(inputImage > 0 && { inputImage }),
    ...(outputAudio > 0 && { outputAudio }),
    ...(outputImage > 0 && { outputImage }),
  };
}

/** Whether a usage has parts that are no text. */
export function hasMediaParts(usage: TokenUsage): boolean {
  return usage.inputAudio !== undefined || usage.inputImage !== undefined ||
    usage.outputAudio !== undefined || usage.outputImage !== undefined;
}

/** Returns the largest of rates, of which some may be absent. */
export function maxRate(first: bigint, ...others: readonly (bigint | undefined)[]): bigint {
  let max = first;
  for (const rate of others) if (rate !== undefined && rate > max) max = rate;
  return max;
}

/** Tokens of a call that are no text, as parts of `input` and `output`. An absent part is empty. */
export interface MediaParts {
  readonly inputAudio?: number;
  /** Pictures, and the frames of films. */
  readonly inputImage?: number;
  readonly outputAudio?: number;
  readonly outputImage?: number;
}

/**
 * Use of a call, in buckets that do not overlap.
 *
 * The two vendors count differently (one counts cached tokens inside the input, the other beside it), so usage is
 * read in the upstream's own style straight into these buckets and never translated number by number.
 * Each is a safe integer of 0 or more.
 */
export interface TokenUsage extends MediaParts {
  /** Prompt tokens that were neither read from nor written to a cache. */
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** The part of `cacheWrite` that is kept for an hour, where the vendor prices it differently; absent: none. */
  readonly cacheWriteHour?: number;
  /** Everything the model produced, reasoning included. */
  readonly output: number;
  /** The part of `output` that was reasoning; for display only, never priced again. */
  readonly reasoning: number;
}

/** A provider's report of a call, before it is judged. Absent counts are 0. */
export interface ReportedUsage extends TokenUsage {
  /**
   * The counts that were reported explicitly, if the others include what only a total or a list of
   * model runs shows. They remain if the rest is not believed.
   */
  readonly said?: TokenUsage;
  /** Whether a part of the report was nonsense and has been left out. */
  readonly partlyAbsurd?: true;
}

/** No tokens at all. */
export const noTokens: TokenUsage = {
  input: 0,
  cacheRead: 0,
  cacheWrite: 0,
  output: 0,
  reasoning: 0,
};

/**
 * Sums the tokens billed as input: fresh, read from a cache and written to one.
 *
 * @example
 * ```ts
 * import { billedInputTokens } from "./token_bounds.ts";
 * const billed = billedInputTokens({ input: 3, cacheRead: 10, cacheWrite: 2, output: 7, reasoning: 0 });
 * if (billed !== 15) throw new Error(String(billed));
 * ```
 */
export function billedInputTokens(usage: TokenUsage): number {
  return usage.input + usage.cacheRead + usage.cacheWrite;
}

/**
 * Context windows of reported input that are believed: configured windows are rounded (128,000 for 131,072),
 * the routes of a model differ, and a compaction reads the prompt a second time.
 */
const reportedContexts = 2;

/**
 * Context windows of reported input that are believed where the text sent could fill them at a token per
 * byte: the configured window is too small then.
 */
const reportedContextsOfLongText = 4;

/**
 * Context windows of reported input that are believed where the provider may run tools, since it reads
 * everything again after each. One vendor stops after 10 rounds; 404,500 tokens on a window of 200,000 were
 * recorded.
 */
const reportedContextsWithTools = 12;

/**
 * Multiple of the requested output that a report may reach: markers of tool calls count, and tokenizers
 * differ.
 */
const reportedOutputFactor = 2;

/**
 * The most tokens of a call. A report beyond them is not believed, and the gateway's own count
 * stays within them too.
 */
export interface TokenBounds {
  /** Input, what was read from caches and written to them included. */
  readonly input: number;
  /** Output that the request asks for. */
  readonly askedOutput: number;
  /**
   * Output that the model can produce at all: hidden reasoning, and text beyond what was requested.
   */
  readonly possibleOutput: number;
  /**
   * Output that the caller requested at most, where the gateway's own count ends. By default that
   * of the model.
   */
  readonly wantedOutput?: number;
}

/** The facts about a call that bound its tokens. */
export interface BoundedCall {
  readonly contextWindow: number;
  readonly maxOutputTokens: number;
  /** Answers requested. */
  readonly choices: number;
  /** Output tokens that were reserved, for all answers. */
  readonly reservedOutputTokens: number;
  /**
   * The most that the caller can want: its own bound, or without one that of the model with some
   * slack.
   */
  readonly wantedOutputTokens?: number;
  /** The gateway's own count of the prompt. */
  readonly estimatedInputTokens: number;
  /** Input tokens that were reserved. */
  readonly reservedInputTokens?: number;
  /** The most tokens that the sent bytes, and what they refer to, can be. */
  readonly believableInputTokens?: number;
  /** Whether the request uses tools that the provider runs, and was admitted with them. */
  readonly hostedTools: boolean;
}

/**
 * Computes the bounds of a call. They are wider than what was reserved, since a report that is
 * slightly larger than expected is usually true; the constants above give the reason for each
 * width.
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
  const contexts = call.hostedTools ? reportedContextsWithTools : reportedContexts;
  const longText = Math.min(
    call.estimatedInputTokens * bytesPerEstimatedToken,
    contextWindow * reportedContextsOfLongText,
  );
  const askedOutput = call.reservedOutputTokens * reportedOutputFactor +
    reportedOutputExtra;
  // A tool of the provider reads the prompt again with each of its results, whose contents are not
  // in the request.
  const sent = call.hostedTools
    ? (call.reservedInputTokens ?? Infinity) * reportedContextsWithTools
    : call.believableInputTokens ?? Infinity;
  return {
    input: counted(Math.min(Math.max(contextWindow * contexts, longText), sent)),
    askedOutput: counted(askedOutput),
    possibleOutput: counted(Math.max(
      askedOutput,
      call.maxOutputTokens * call.choices * reportedModelOutputs,
    )),
    ...(call.wantedOutputTokens !== undefined &&
      { wantedOutput: counted(call.wantedOutputTokens) }),
  };
}

function counted(tokens: number): number {
  return Math.min(tokens, maxReportedTokens);
}
