/** What the provider of an ended chat call counted, by which the operator pays for it. */
import type { Outcome } from "../../billing/usage/receipt.ts";
import type { ProviderUse } from "../../billing/provider_cost.ts";
import { tierName, usualTier } from "../../billing/service_tiers.ts";
import type { TokenUsage } from "../../billing/tokens/token_usage.ts";
import type { EndedReading } from "./chat_charge.ts";

/** The end of a chat call. */
export interface EndedUse {
  readonly outcome: Outcome;
  readonly reading: EndedReading | undefined;
  /** The tokens that are charged to the customer. */
  readonly charged: TokenUsage;
  /** The tier of service that was asked for, if the route got the request for it. */
  readonly carriedTier: string | undefined;
}

/**
 * Returns what the provider counted: its whole report, also where the customer is not charged for all of it. Of a stream
 * that ended early, the report has the prompt and only the first few tokens of output, so the larger output counts.
 */
export function providerUseOf(end: EndedUse): ProviderUse {
  const { reading, outcome, charged, carriedTier } = end;
  const reported = reading?.usage;
  const isWhole = reading !== undefined && !reading.usageRejected &&
    (outcome === "completed" || reading.stopReason !== undefined);
  const usage = reported === undefined
    ? charged
    : isWhole || reported.output >= charged.output
    ? reported
    : { ...reported, output: charged.output };
  const named = reading?.serviceTier;
  const tier = named === undefined || named === "" ? carriedTier : tierName(named);
  return {
    usage,
    ...(tier !== undefined && tier !== usualTier && { tier }),
    ...(reading?.toolUses !== undefined && { toolUses: reading.toolUses }),
  };
}
