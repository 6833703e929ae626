/**
 * Writes buckets as a Messages `usage` object.
 *
 * See docs/internals/WIRE_FORMATS.md#usage.
 */
import type { JsonObject } from "../../lib/json/json.ts";
import { noTokens, type TokenUsage } from "../../billing/token_usage.ts";

/** The vendor's word for a tier of the conversation; it always says one. */
export function writeMessagesTier(tier: string | undefined): { readonly service_tier: string } {
  return { service_tier: tier === "priority" ? "priority" : "standard" };
}

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
