/**
 * The parts of a call's tokens that are sound or pictures, which vendors price apart from text.
 *
 * A part is never larger than the bucket that it belongs to, so that the rest of the bucket is text.
 */
import type { MediaParts, TokenUsage } from "../tokens/token_bounds.ts";

/**
 * Returns reported parts within their buckets; those of no tokens are left out.
 *
 * @example
 * ```ts
 * import { partsWithin } from "./media_parts.ts";
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
