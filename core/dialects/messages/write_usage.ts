/** Writes buckets as a Messages `usage` object (wire notes, section 9.4). */
import type { JsonObject } from "../../json.ts";
import { noTokens, type TokenUsage } from "../../money/token_usage.ts";

/** Messages counts cached tokens beside the input. No counts at all are zeros: clients expect the members. */
export function writeMessagesUsage(usage: TokenUsage | undefined): JsonObject {
  const { input, cacheRead, cacheWrite, output, reasoning } = usage ?? noTokens;
  return {
    input_tokens: input,
    cache_creation_input_tokens: cacheWrite,
    cache_read_input_tokens: cacheRead,
    output_tokens: output,
    ...(reasoning > 0 ? { output_tokens_details: { thinking_tokens: reasoning } } : {}),
  };
}
