/** Reserves what a call needs to begin: room under its rate limits, and then money. Chat and media begin here alike. */
import type { Model } from "../../../core/catalog/catalog.ts";
import type { RatedCall } from "../../../core/limits/rate_book.ts";
import type { KeyedReservation } from "../../../kv/services/limits/keyed_wallet.ts";
import type { Principal } from "../../../kv/people/api_keys/key_directory.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { type RangeRequest, reserveWithin } from "./admission.ts";
import type { Incoming } from "./incoming.ts";
import { beginRated, type ExpectedTokens, isRateLimited } from "./rate_limits.ts";

/** What a call needs to begin. */
export interface FundsRequest extends RangeRequest {
  readonly principal: Principal;
  readonly model: Model;
  readonly expectedTokens: ExpectedTokens;
}

/** What a call holds until it is settled or abandoned. */
export interface Funds extends KeyedReservation {
  /** Set if rate limits bind the call. */
  readonly rated: RatedCall | undefined;
}

/**
 * Reserves room under the limits, then money. A call that cannot pay does not count.
 *
 * @throws {GatewayError} 429 naming the rate limit; the refusals of {@linkcode reserveWithin}
 */
export async function reserveFunds(
  gateway: Gateway,
  incoming: Incoming,
  request: FundsRequest,
): Promise<Funds> {
  const { principal, model, expectedTokens: tokens, range } = request;
  const rated = isRateLimited(gateway, principal, model)
    ? await beginRated(gateway, incoming, principal, model, { tokens, money: range })
    : undefined;
  let isReserved = false;
  try {
    const { reservation, boundBy } = await reserveWithin(gateway.wallet, principal, request);
    isReserved = true;
    incoming.isAdmitted = true;
    return { ok: true, reservation, boundBy, rated };
  } finally {
    if (!isReserved) rated?.end({ tokens: 0, isCounted: false });
  }
}
