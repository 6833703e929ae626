/**
 * Who is counted against what when somebody tries a password or asks for a mail. Browsers and addresses from which the
 * account was used before have budgets of their own; all others share the strangers' budget. So strangers can slow down
 * strangers only, and whoever owns the mailbox gets in by a mailed link even then.
 */
import { hashSecret } from "../../core/accounts/secret_token.ts";
import { addressBlock } from "../../core/lib/net/ip_address.ts";
import { type AccountId, parseId } from "../../core/lib/ids.ts";
import { findAccountByEmail } from "../../kv/accounts/accounts.ts";
import { areKnownPlaces, type PlaceHash } from "../../kv/accounts/known_places.ts";
import { countTry, forgetTries, type RateVerdict } from "../../kv/accounts/rate_limits.ts";
import { countTryByAddress, rateRules } from "./rate_rules.ts";
import type { KeyValueStore } from "../../kv/store/key_value_store.ts";

/** Where a request comes from. */
export interface Origin {
  /** The token of the browser's cookie, if it has one. */
  readonly browser: string | undefined;
  readonly address: string;
}

/** Tokens of ours have 43 characters; other texts are no browser of ours. */
export function isBrowserToken(token: string | undefined): token is string {
  return token !== undefined && /^[\w-]{43}$/.test(token);
}

/** The places that an origin stands for; the browser first, if it has a token. */
export async function placesOf({ browser, address }: Origin): Promise<PlaceHash[]> {
  const ofAddress = await hashSecret("known-address", addressBlock(address));
  return isBrowserToken(browser)
    ? [await hashSecret("known-browser", browser), ofAddress]
    : [ofAddress];
}

/** A known place of the account behind an address; `undefined` for strangers and for addresses without an account. */
interface Familiarity {
  readonly place: PlaceHash;
  readonly isBrowser: boolean;
  readonly accountId: AccountId;
}

/** Read in place of an account where there is none, so that both take the same time. */
const absentAccount = parseId("account", `acc_${"0".repeat(25)}`);

async function familiarityOf(
  kv: KeyValueStore,
  email: string | undefined,
  origin: Origin,
  nowMs: number,
): Promise<Familiarity | undefined> {
  const account = email === undefined ? undefined : await findAccountByEmail(kv, email);
  const accountId = account?.id ?? absentAccount;
  if (accountId === undefined) return undefined;
  const places = await placesOf(origin);
  const known = await areKnownPlaces(kv, accountId, places, nowMs);
  const at = known.indexOf(true);
  const place = places[at];
  return place === undefined ? undefined : { place, isBrowser: at < places.length - 1, accountId };
}

/**
 * Counts one try of a password.
 *
 * @param typed what was typed as an e-mail address, for the budget of addresses that are none
 */
export async function countPasswordTry(
  kv: KeyValueStore,
  { email, typed, nowMs }: {
    readonly email: string | undefined;
    readonly typed: string;
    readonly nowMs: number;
  },
  origin: Origin,
): Promise<RateVerdict> {
  const known = await familiarityOf(kv, email, origin, nowMs);
  const byPlace = () =>
    known === undefined
      ? countTry(kv, rateRules.signInByStranger, email ?? typed.toLowerCase(), nowMs)
      : countTry(kv, rateRules.signInByKnownPlace, `${known.accountId} ${known.place}`, nowMs);
  // Others behind the same address may have used up what it may try; a known browser is not one of them.
  if (known?.isBrowser === true) return await byPlace();
  const byAddress = await countTryByAddress(kv, rateRules.signInByAddress, origin.address, nowMs);
  return byAddress.allowed ? await byPlace() : byAddress;
}

/** Mails that open an account, asked for by anybody. */
export type OpeningMail = "reset_password" | "sign_in_link";

/**
 * Counts one mail that somebody asks for. Strangers together cause one of a kind in a window that is half as long as its
 * link works: whoever owns the mailbox has one that works, and is not flooded.
 */
export async function countOpeningMail(
  kv: KeyValueStore,
  { kind, email, nowMs }: {
    readonly kind: OpeningMail;
    readonly email: string;
    readonly nowMs: number;
  },
  origin: Origin,
): Promise<RateVerdict> {
  const known = await familiarityOf(kv, email, origin, nowMs);
  return known === undefined
    ? await countTry(kv, rateRules.mailByStranger, `${kind} ${email}`, nowMs)
    : await countTry(kv, rateRules.mailByKnownPlace, `${known.accountId} ${known.place}`, nowMs);
}

/** After a link was used: strangers may cause the next mail at once, since this one works no more. */
export async function linkWasUsed(kv: KeyValueStore, email: string, nowMs: number): Promise<void> {
  for (const kind of ["reset_password", "sign_in_link"] satisfies OpeningMail[]) {
    await forgetTries(kv, rateRules.mailByStranger, `${kind} ${email}`, nowMs);
  }
}
