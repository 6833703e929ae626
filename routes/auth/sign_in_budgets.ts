/**
 * Chooses the budget that a password try or a mail request counts against. Browsers and addresses
 * from which the account was used before have budgets of their own; all others share one. So
 * attackers can lock out only other unknown browsers, and the owner of the mailbox can always sign
 * in by a mailed link.
 */
import { hashSecret } from "../../core/people/accounts/secret_token.ts";
import { addressBlock } from "../../core/net/addresses/ip_address.ts";
import { type AccountId, parseId } from "../../core/lib/ids/ids.ts";
import { findAccountByEmail } from "../../kv/people/accounts/accounts.ts";
import { areKnownPlaces, type PlaceHash } from "../../kv/people/accounts/sessions.ts";
import {
  countTry,
  forgetTries,
  type RateRule,
  type RateVerdict,
} from "../../kv/people/accounts/rate_limits.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { resetMailMs } from "../../kv/people/accounts/tokens.ts";
import { dayMs, hourMs, minuteMs } from "../../core/lib/time/durations.ts";

// The rate limits of sign-in and of mails. Rules by IP address stop one machine; rules by e-mail
// address stop many machines that attack one account, and floods of mails to one mailbox.
// `sign_in_budgets.ts` decides which rule counts a request.

/** Every rate limit of sign-in, mails and account changes. */
export const rateRules = {
  signInByAddress: { name: "sign_in_address", count: 60, windowMs: 15 * minuteMs },
  /** Password tries of all unknown browsers together on one account. */
  signInByStranger: { name: "sign_in_email", count: 15, windowMs: 15 * minuteMs },
  /** Password tries of one browser or address from which the account was signed in to before. */
  signInByKnownPlace: { name: "sign_in_known_place", count: 15, windowMs: 15 * minuteMs },
  signUpByAddress: { name: "sign_up_address", count: 20, windowMs: hourMs },
  /**
   * Sign-ups from one IP address for one e-mail address, and from one IP address in all: nobody
   * waits for the sign-ups of others.
   */
  signUpMailByAddress: { name: "sign_up_mail_address", count: 3, windowMs: hourMs },
  signUpMailByEmail: { name: "sign_up_mail_email", count: 10, windowMs: hourMs },
  /**
   * Mails of one kind to one mailbox, requested by all unknown browsers together. The window is half as long as the
   * links in the mails are valid.
   */
  mailByStranger: { name: "mail_stranger", count: 1, windowMs: resetMailMs / 2 },
  /** The same, requested by one browser or address from which the account was signed in to before. */
  mailByKnownPlace: { name: "mail_known_place", count: 5, windowMs: hourMs },
  /** Password reset mails requested by an account that is signed in. */
  mailByAccount: { name: "mail_account", count: 5, windowMs: hourMs },
  /** Mails that confirm a new address, requested by an account that is signed in. */
  mailToNewAddress: { name: "mail_email", count: 5, windowMs: hourMs },
  forgotByAddress: { name: "forgot_address", count: 20, windowMs: hourMs },
  linkByAddress: { name: "link_address", count: 20, windowMs: hourMs },
  /**
   * Uses of mailed tokens. They have 256 bits and need no limit; the password that is asked for
   * with one does.
   */
  tokenByAddress: { name: "token_address", count: 60, windowMs: 15 * minuteMs },
  /** Uses of links that switch mails off: large mail services send those of many people. */
  mailsOffByAddress: { name: "mails_off_address", count: 600, windowMs: hourMs },
  /** Requests to be mailed about incidents. */
  incidentMailsByAddress: { name: "incident_mails_address", count: 10, windowMs: hourMs },
  /** Mails that ask one address to confirm it, whoever requests them. */
  incidentMailsByEmail: { name: "incident_mails_email", count: 2, windowMs: dayMs },
  /**
   * Codes that applications redeem. They have 256 bits and need no limit; the rows that wrong ones would write do. One
   * server redeems those of many people.
   */
  appCodeByAddress: { name: "app_code_address", count: 600, windowMs: hourMs },
  openIdByAddress: { name: "openid_address", count: 60, windowMs: 15 * minuteMs },
  /** Confirmations of the password by an account that is signed in. */
  passwordByAccount: { name: "password_account", count: 10, windowMs: 15 * minuteMs },
  /**
   * One-time codes: a million exist and three are valid at any time, so six tries in ten minutes are not enough to
   * guess one.
   */
  codeTries: { name: "second_factor", count: 6, windowMs: 10 * minuteMs },
  /** Challenges for passkeys, each of which is a row. Nobody guesses a signature. */
  passkeyByAddress: { name: "passkey_address", count: 60, windowMs: 15 * minuteMs },
  /** Changes of a person, on pages and with management keys together. All instances read what they write. */
  changesByAccount: { name: "changes_account", count: 240, windowMs: hourMs },
} as const satisfies Record<string, RateRule>;

/** Counts a request by the caller's IP address; IPv6 addresses count by their /64. */
export function countTryByAddress(
  kv: KeyValueStore,
  rule: RateRule,
  address: string,
  nowMs: number,
): Promise<RateVerdict> {
  return countTry(kv, rule, addressBlock(address), nowMs);
}

/** The address and the browser that sent a request. */
export interface Origin {
  /** The token in the browser's cookie, if it has one. */
  readonly browser: string | undefined;
  readonly address: string;
}

/** Whether a text has the form of the gateway's browser tokens: 43 characters of base64url. */
export function isBrowserToken(token: string | undefined): token is string {
  return token !== undefined && /^[\w-]{43}$/.test(token);
}

/** Lists the places of an origin: its browser first, if it has a token, then its address. */
export async function placesOf({ browser, address }: Origin): Promise<PlaceHash[]> {
  const ofAddress = await hashSecret("known-address", addressBlock(address));
  return isBrowserToken(browser)
    ? [await hashSecret("known-browser", browser), ofAddress]
    : [ofAddress];
}

/**
 * Finds a place that the account of an address has used before; `undefined` for unknown places and
 * for addresses without an account.
 */
interface Familiarity {
  readonly place: PlaceHash;
  readonly isBrowser: boolean;
  readonly accountId: AccountId;
}

/** Read if there is no account, so that both cases take the same time. */
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
  // Other people behind the same IP address may have used up its budget; a known browser is not
  // affected.
  if (known?.isBrowser === true) return await byPlace();
  const byAddress = await countTryByAddress(kv, rateRules.signInByAddress, origin.address, nowMs);
  return byAddress.allowed ? await byPlace() : byAddress;
}

/** Mails that let the reader into an account and that anybody can request. */
export type OpeningMail = "reset_password" | "sign_in_link";

/**
 * Counts one requested mail. Unknown browsers together cause at most one mail of a kind in half the
 * time that its link is valid: the owner of the mailbox always has a valid link and is not flooded.
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

/**
 * Resets the shared budget after a link was used: that link is no longer valid, so the next mail
 * may be sent at once.
 */
export async function linkWasUsed(kv: KeyValueStore, email: string, nowMs: number): Promise<void> {
  for (const kind of ["reset_password", "sign_in_link"] satisfies OpeningMail[]) {
    await forgetTries(kv, rateRules.mailByStranger, `${kind} ${email}`, nowMs);
  }
}
