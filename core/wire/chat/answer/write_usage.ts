/**
 * Writes token buckets as a Chat `usage` object.
 *
 * See docs/internals/WIRE_FORMATS.md#usage.
 */
import type { JsonObject } from "../../../lib/json/json.ts";
import type { TokenUsage } from "../../../billing/tokens/token_usage.ts";

/** Writes usage in the counting of Chat: cached tokens are part of the prompt, reasoning of the completion. */
export function writeChatUsage(usage: TokenUsage): JsonObject {
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: {
      cached_tokens: usage.cacheRead,
      cache_write_tokens: usage.cacheWrite,
      audio_tokens: usage.inputAudio ?? 0,
    },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoning,
      audio_tokens: usage.outputAudio ?? 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}
