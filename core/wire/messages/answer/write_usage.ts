/**
 * Writes token buckets as a Messages `usage` object.
 *
 * See docs/internals/WIRE_FORMATS.md#usage.
 */
import type { JsonObject } from "../../../lib/json/json.ts";
import { noTokens, type TokenUsage } from "../../../billing/tokens/token_usage.ts";

/** Translates a service tier into the vendor's value; the vendor always sends one. */
export function writeMessagesTier(tier: string | undefined): { readonly service_tier: string } {
  return { service_tier: tier === "priority" ? "priority" : "standard" };
}

/** Writes usage in the counting of Messages: cached tokens are not part of the input. Without usage all are zero. */
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
