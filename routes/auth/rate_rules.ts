/**
 * How often people may try. Rules by IP address stop one machine; rules by e-mail address stop many machines that try
 * one person, and floods of mails to somebody who never asked. Whom each is asked of is in `sign_in_budgets.ts`.
 */
import { addressBlock } from "../../core/lib/net/ip_address.ts";
import { resetMailMs } from "../../kv/accounts/tokens.ts";
import { countTry, type RateRule, type RateVerdict } from "../../kv/accounts/rate_limits.ts";
import type { KeyValueStore } from "../../kv/store/key_value_store.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

export const rateRules = {
  signInByAddress: { name: "sign_in_address", count: 60, windowMs: 15 * minuteMs },
  /** All strangers together, at one account. */
  signInByStranger: { name: "sign_in_email", count: 15, windowMs: 15 * minuteMs },
  /** One browser or address from which the account was signed in to before. */
  signInByKnownPlace: { name: "sign_in_known_place", count: 15, windowMs: 15 * minuteMs },
  signUpByAddress: { name: "sign_up_address", count: 20, windowMs: hourMs },
  /** Sign-ups from one IP address for one e-mail address, and from all: no later one may wait for a stranger's. */
  signUpMailByAddress: { name: "sign_up_mail_address", count: 3, windowMs: hourMs },
  signUpMailByEmail: { name: "sign_up_mail_email", count: 10, windowMs: hourMs },
  /** Mails of one kind to one mailbox, by all strangers together: half as long as the links in them work. */
  mailByStranger: { name: "mail_stranger", count: 1, windowMs: resetMailMs / 2 },
  /** The same by one browser or address from which the account was signed in to before. */
  mailByKnownPlace: { name: "mail_known_place", count: 5, windowMs: hourMs },
  /** Reset mails that somebody who is signed in asks for. */
  mailByAccount: { name: "mail_account", count: 5, windowMs: hourMs },
  /** Mails to an address that somebody who is signed in wants to use. */
  mailToNewAddress: { name: "mail_email", count: 5, windowMs: hourMs },
  forgotByAddress: { name: "forgot_address", count: 20, windowMs: hourMs },
  linkByAddress: { name: "link_address", count: 20, windowMs: hourMs },
  /** Tokens have 256 bits and need no limit; the password asked for beside one does. */
  tokenByAddress: { name: "token_address", count: 60, windowMs: 15 * minuteMs },
  openIdByAddress: { name: "openid_address", count: 60, windowMs: 15 * minuteMs },
  /** A password asked for once more by somebody who is signed in. */
  passwordByAccount: { name: "password_account", count: 10, windowMs: 15 * minuteMs },
  /** Changes that write several rows: keys and the like. */
  changesByAccount: { name: "changes_account", count: 120, windowMs: hourMs },
} as const satisfies Record<string, RateRule>;

/** Counts a try by the caller's IP address, IPv6 by its /64. */
export function countTryByAddress(
  kv: KeyValueStore,
  rule: RateRule,
  address: string,
  nowMs: number,
): Promise<RateVerdict> {
  return countTry(kv, rule, addressBlock(address), nowMs);
}
