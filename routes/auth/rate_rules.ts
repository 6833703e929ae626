/**
 * The rate limits of sign-in and of mails. Rules by IP address stop one machine; rules by e-mail
 * address stop many machines that attack one account, and floods of mails to one mailbox.
 * `sign_in_budgets.ts` decides which rule counts a request.
 */
import { addressBlock } from "../../core/net/addresses/ip_address.ts";
import { resetMailMs } from "../../kv/people/accounts/tokens.ts";
import { countTry, type RateRule, type RateVerdict } from "../../kv/people/accounts/rate_limits.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

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
  openIdByAddress: { name: "openid_address", count: 60, windowMs: 15 * minuteMs },
  /** Confirmations of the password by an account that is signed in. */
  passwordByAccount: { name: "password_account", count: 10, windowMs: 15 * minuteMs },
  /** Changes that write several rows, such as new keys. */
  changesByAccount: { name: "changes_account", count: 120, windowMs: hourMs },
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
