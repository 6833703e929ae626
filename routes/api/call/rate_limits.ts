/**
 * Admits calls under the rate limits that bind them, and words their refusals. A call that nothing limits does not come
 * here.
 */
import type { Model } from "../../../core/catalog/catalog.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { RatedCall, RateRefusal } from "../../../core/limits/rate_book.ts";
import {
  type LimitSubject,
  limitTable,
  type RateLimitName,
  type RateMeter,
} from "../../../core/limits/limit_table.ts";
import { type RateSources, rateSubjects } from "../../../core/limits/rate_limits.ts";
import type { ReservationRange } from "../../../core/billing/reservation_range.ts";
import type { TokenUsage } from "../../../core/billing/tokens/token_bounds.ts";
import type { Principal } from "../../../kv/people/api_keys/key_directory.ts";
import { counted } from "../../http/query.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { Incoming } from "./incoming.ts";
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

const unitOf: Record<RateLimitName, readonly [one: string, more: string]> = {
  requestsPerMinute: ["request per minute", "requests per minute"],
  tokensPerMinute: ["token per minute", "tokens per minute"],
  vndPerHour: ["VND per hour", "VND per hour"],
  callsAtOnce: ["call at once", "calls at once"],
};

function subjectInWords(scope: LimitSubject, { id }: Pick<Model, "id">): string {
  switch (scope) {
    case "account":
      return "this account";
    case "key":
      return "this API key";
    case "model":
      return `the model ${id}`;
    case "account_model":
      return `this account on the model ${id}`;
  }
}

/** What a refusal says of calls that need different amounts of a limit. */
const amountTexts: Record<RateMeter, {
  /** Why a call can never be admitted. */
  readonly tooLarge: (needed: string, rule: string) => string;
  /** What is left, after the limit. */
  readonly left: (left: string, needed: string) => string;
}> = {
  calls: { tooLarge: (_needed, rule) => `The rate limit is ${rule}`, left: () => "" },
  tokens: {
    tooLarge: (needed, rule) =>
      `Request too large: the prompt needs about ${needed} tokens, and the rate limit is ${rule}. ` +
      "Send a shorter prompt",
    left: (left, needed) => `; ${left} are left and this call is expected to need ${needed}`,
  },
  money: {
    tooLarge: (needed, rule) =>
      `Request too large: it is expected to cost ${needed} VND, and the rate limit is ${rule}. Ask for less at once`,
    left: (_left, needed) => `; this call is expected to cost ${needed} VND`,
  },
};

/** The error of a refused call: which limit, its value, and when to try again. */
export function rateRefusalError(refusal: RateRefusal, model: Pick<Model, "id">): GatewayError {
  const { scope, limitName, limit, needed, retryAfterMs, figures } = refusal;
  const kind = limitTable[limitName];
  const texts = amountTexts[kind.meter];
  const unit = unitOf[limitName][limit === 1 ? 0 : 1];
  const rule = `${counted(limit)} ${unit} for ${subjectInWords(scope, model)}`;
  if (retryAfterMs === undefined) {
    return new GatewayError("rate_limit_reached", texts.tooLarge(counted(needed), rule), {
      retry: false,
    });
  }
  const retryAfterSeconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  const header = "header" in kind ? kind.header : undefined;
  const remaining = header === undefined ? 0 : figures[header]?.remaining ?? 0;
  const left = texts.left(counted(remaining), counted(needed));
  const then = kind.window === "at_once"
    ? "Try again when one of them has ended"
    : `Try again in ${retryAfterSeconds} s`;
  return new GatewayError("rate_limit_reached", `Rate limit reached: ${rule}${left}. ${then}`, {
    retryAfterSeconds,
  });
}
