/** The shape of rate limits in `gateway.json`. */
import { z } from "zod";

/** A limit above any provider's, small enough to be counted in a slot. */
const mostRateLimit = 1_000_000_000;

const limit = z.int().min(1).max(mostRateLimit).optional();

const rateLimits = z.strictObject({
  requestsPerMinute: limit.describe("Calls in any 60 seconds."),
  tokensPerMinute: limit.describe(
    "Tokens in any 60 seconds: prompts and answers, cached prompts left out.",
  ),
  callsAtOnce: limit.describe(
    "Calls that run at the same time, from admission to the end of the answer.",
  ),
});

/** The schema of the limits of all accounts and keys. */
export const defaultRateLimitsSchema = z.strictObject({
  account: rateLimits.optional().describe("Of each account; operators set others for single ones."),
  key: rateLimits.optional().describe("Of each key; owners of keys may set lower ones."),
}).optional().describe("Rate limits; default: none. See docs/operations/limits.md.");

/** The schema of the limits of a model. */
export const modelRateLimitsSchema = z.strictObject({
  all: rateLimits.optional().describe("Of all calls of the model together."),
  account: rateLimits.optional().describe("Of the calls of each account."),
}).optional().describe(
  "Rate limits of this model, beside those of accounts and keys; default: none.",
);
