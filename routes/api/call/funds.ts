/** Reserves what a call needs to begin: room under its rate limits, and then money. Chat and media begin here alike. */
import type { RatedCall } from "../../../core/limits/rate_book.ts";
import type { RunningCall } from "../gateway/access_watch.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { KeyedCall } from "../gateway/keyed_call.ts";
import { type RangeRequest, reserveWithin } from "./admission.ts";
import type { CallMoney } from "./call_money.ts";
import type { Incoming } from "./incoming.ts";
import { beginRated, type ExpectedTokens, isRateLimited } from "./rate_limits.ts";
import type { Terms } from "./terms.ts";

/** What a call needs to begin. */
export interface FundsRequest extends RangeRequest {
  readonly expectedTokens: ExpectedTokens;
}

/** What a call holds until it is settled or abandoned. */
export interface Funds {
  readonly money: CallMoney;
  /** Set if rate limits bind the call. */
  readonly rated: RatedCall | undefined;
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
