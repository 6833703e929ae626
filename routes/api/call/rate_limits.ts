/** Admits calls under the rate limits that bind them. A call that nothing limits does not come here. */
import type { Model } from "../../../core/catalog/catalog.ts";
import type { RatedCall } from "../../../core/limits/rate_book.ts";
import { type RateSources, rateSubjects } from "../../../core/limits/rate_limits.ts";
import type { ReservationRange } from "../../../core/billing/price.ts";
import type { TokenUsage } from "../../../core/billing/tokens/token_bounds.ts";
import type { Principal } from "../../../kv/people/api_keys/key_directory.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { Incoming } from "./incoming.ts";
import { rateRefusalError } from "./limit_refusals.ts";
import type { Terms } from "./terms.ts";

/** Output tokens to expect of a key that has not called a model yet: some paragraphs. */
const firstOutputTokens = 1_000;

/** Tokens that a call is expected to need. */
export interface ExpectedTokens {
  readonly input: number;
  readonly output: number;
}

/** What a call is expected to need. */
export interface Expected {
  readonly tokens: ExpectedTokens;
  readonly money: ReservationRange;
}

function sourcesOf(
  { catalog }: Gateway,
  { accountId, key, accountRateLimits }: Principal,
  model: Model,
): RateSources {
  return {
    accountId,
    keyId: key.id,
    defaults: catalog.current.rateLimits,
    account: accountRateLimits,
    key: key.rateLimits,
    model,
  };
}

/** Whether anything may limit the rate of a call. */
export function isRateLimited(
  { catalog }: Gateway,
  { key, accountRateLimits }: Principal,
  model: Model,
): boolean {
  return catalog.current.rateLimits !== undefined || accountRateLimits !== undefined ||
    key.rateLimits !== undefined || model.rateLimits !== undefined;
}

/**
 * Counts a call against its limits.
 *
 * @returns what has to be told how the call ended; `undefined` if nothing limits it
 * @throws {GatewayError} `rate_limit_reached`, naming the limit
 */
export async function beginRated(
  gateway: Gateway,
  incoming: Incoming,
  { principal, model }: Pick<Terms, "principal" | "model">,
  expected: Expected,
): Promise<RatedCall | undefined> {
  const subjects = rateSubjects(sourcesOf(gateway, principal, model));
  if (subjects === undefined) return undefined;
  const { tokens: { input, output }, money: { expectedMicroVnd, leastMicroVnd } } = expected;
  const begun = await gateway.rates.begin({
    subjects,
    tokens: input + output,
    inputTokens: input,
    cost: { expectedMicroVnd, leastMicroVnd },
  });
  incoming.rateFigures = begun.figures;
  if (begun.ok) return begun.call;
  throw rateRefusalError(begun, model);
}

/** Estimates the output of a chat call: what calls of the key to the model had of late, and never more than it asks for. */
export function expectedOutput(
  { expectations }: Gateway,
  { key }: Principal,
  model: Model,
  most: number,
): number {
  const average = expectations.averageTokens(model, key.id) ?? firstOutputTokens;
  return Math.min(most, Math.round(average));
}

/** Tokens that count against limits: not those that the provider read from its cache. */
export function ratedTokens(usage: TokenUsage | undefined): number {
  return usage === undefined ? 0 : usage.input + usage.cacheWrite + usage.output;
}
