/**
 * How often people may try. Rules by IP address stop one machine; rules by e-mail address stop many machines that try
 * one person, and floods of mails to somebody who never asked.
 */
import { addressBlock } from "../../core/ip_address.ts";
import { countTry, type RateRule, type RateVerdict } from "../../kv/rate_limits.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

export const rateRules = {
  signInByAddress: { name: "sign_in_address", count: 60, windowMs: 15 * minuteMs },
  signInByEmail: { name: "sign_in_email", count: 15, windowMs: 15 * minuteMs },
  signUpByAddress: { name: "sign_up_address", count: 20, windowMs: hourMs },
  /** Mails of any kind that a stranger can cause to one mailbox. */
  mailByEmail: { name: "mail_email", count: 5, windowMs: hourMs },
  forgotByAddress: { name: "forgot_address", count: 20, windowMs: hourMs },
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
  kv: Deno.Kv,
  rule: RateRule,
  address: string,
  nowMs: number,
): Promise<RateVerdict> {
  return countTry(kv, rule, addressBlock(address), nowMs);
}
