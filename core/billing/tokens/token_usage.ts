/** Tokens of a call that are no text, as parts of `input` and `output`. An absent part is empty. */
export interface MediaParts {
  readonly inputAudio?: number;
  /** Pictures, and the frames of films. */
  readonly inputImage?: number;
  readonly outputAudio?: number;
  readonly outputImage?: number;
}

/**
 * What a call consumed, in buckets that do not overlap.
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
 * import { billedInputTokens } from "./token_usage.ts";
 * const billed = billedInputTokens({ input: 3, cacheRead: 10, cacheWrite: 2, output: 7, reasoning: 0 });
 * if (billed !== 15) throw new Error(String(billed));
 * ```
 */
export function billedInputTokens(usage: TokenUsage): number {
  return usage.input + usage.cacheRead + usage.cacheWrite;
}
