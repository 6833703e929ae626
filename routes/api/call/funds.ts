/**
 * Reserves what a call needs to begin: room under the rate limits that bind it, and then money. Chat and media begin
 * here alike.
 */
import type { Model } from "../../../core/catalog/catalog.ts";
import type { RatedCall, RatedEnd } from "../../../core/limits/rate_book.ts";
import { type RateSources, rateSubjects } from "../../../core/limits/rate_limits.ts";
import type { ReservationRange } from "../../../core/billing/price.ts";
import { priceAtFee } from "../../../core/billing/own_key_fee.ts";
import type { ChatBounds } from "../../../core/calls/bounds/chat_bounds.ts";
import type { TokenUsage } from "../../../core/billing/tokens/token_bounds.ts";
import type { Principal } from "../../../kv/people/api_keys/key_directory.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { Incoming } from "./incoming.ts";
import {
  limitError,
  moveBooking,
  type RangeRequest,
  rateRefusalError,
  reserveWithin,
  type Terms,
} from "./admission.ts";
import type { RunningCall } from "../gateway/access_watch.ts";
import type { KeyedCall } from "../gateway/keyed_call.ts";
import type { CallMoney } from "./call_money.ts";

/** Output tokens to expect of a key that has not called a model yet: some paragraphs. */
const firstOutputTokens = 1_000;

/** Tokens that a call is expected to need. */
export interface ExpectedTokens {
  readonly input: number;
  readonly output: number;
}

/** Expected need of a call. */
interface Expected {
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
function isRateLimited(
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
async function beginRated(
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

/** Needs of a call to begin. */
interface FundsRequest extends RangeRequest {
  readonly expectedTokens: ExpectedTokens;
}

/** Limits of several models of one call, of which one answered after the others were tried. */
class RatedCalls implements RatedCall {
  readonly #calls: readonly (RatedCall | undefined)[];

  constructor(calls: readonly (RatedCall | undefined)[]) {
    this.#calls = calls;
  }

  end(end: RatedEnd): void {
    for (const call of this.#calls) call?.end(end);
  }
}

/** Funds that a call holds until it is settled or abandoned. */
export interface Funds {
  readonly money: CallMoney;
  /** Set if rate limits bind the call. */
  rated: RatedCall | undefined;
  /** Set if the client sent an idempotency key. */
  readonly keyedCall: KeyedCall | undefined;
  /** Its time, and what stops it. An object, since a closure made beside the request would retain its body. */
  readonly running: RunningCall;
}

/**
 * Reserves room under the limits, then money. A call that cannot pay does not count.
 *
 * @throws {GatewayError} 429 naming the rate limit; the refusals of {@linkcode reserveWithin}
 */
export async function reserveFunds(
  gateway: Gateway,
  incoming: Incoming,
  terms: Terms,
  request: FundsRequest,
): Promise<Funds> {
  const { principal, model, stream } = terms;
  const { expectedTokens: tokens, range } = request;
  const rated = isRateLimited(gateway, principal, model)
    ? await beginRated(gateway, incoming, terms, { tokens, money: range })
    : undefined;
  let isReserved = false;
  try {
    const money = await reserveWithin(gateway, terms, request);
    isReserved = true;
    incoming.isAdmitted = true;
    const running = gateway.calls.begin(stream ? principal : undefined);
    return { money, rated, keyedCall: incoming.keyedCall, running };
  } finally {
    if (!isReserved) rated?.end({ tokens: 0, isCounted: false });
  }
}

/** Computes the price up to which a call of a model is paid for: more than it holds, if it is charged a fee of its price. */
export function paidPrice(
  { ownKeys }: Pick<Gateway, "ownKeys">,
  model: Model,
  { costMicroVnd }: Pick<ChatBounds, "costMicroVnd">,
  { reservation: { amountMicroVnd } }: Pick<CallMoney, "reservation">,
): bigint {
  const fee = ownKeys?.feeOf(model);
  return fee === undefined ? amountMicroVnd : priceAtFee(amountMicroVnd, fee, costMicroVnd);
}

/**
 * Moves what a call holds to another model, before the first output of any: the model's own rate limits count the call,
 * and budgets that bind the model take the place of those that bound the one before. The money of the wallet stays.
 *
 * @throws {GatewayError} 429 naming the rate limit, 402 naming the budget or the limit of the key: nothing is held of them
 * then
 */
export async function moveFunds(
  gateway: Gateway,
  terms: Terms,
  funds: Funds,
  { input, output }: ExpectedTokens,
): Promise<void> {
  const { principal, model } = terms;
  const subjects = rateSubjects(sourcesOf(gateway, principal, model))
    ?.filter(({ scope }) => scope === "model" || scope === "account_model") ?? [];
  const { reservation: { amountMicroVnd } } = funds.money;
  const begun = subjects.length === 0 ? undefined : await gateway.rates.begin({
    subjects,
    tokens: input + output,
    inputTokens: input,
    cost: { expectedMicroVnd: amountMicroVnd, leastMicroVnd: amountMicroVnd },
  });
  if (begun?.ok === false) throw rateRefusalError(begun, model);
  let isMoved = false;
  try {
    const refusal = await moveBooking(gateway, terms, funds.money);
    if (refusal !== undefined) throw limitError(refusal, model);
    isMoved = true;
  } finally {
    if (!isMoved) begun?.call.end({ tokens: 0, isCounted: false });
  }
  if (begun !== undefined) funds.rated = new RatedCalls([funds.rated, begun.call]);
}
