/** Validates e-mail addresses and brings them to the form that the store uses. */

/** The longest address that can be delivered to (RFC 5321, section 4.5.3.1.3 less the brackets). */
const longestAddressChars = 254;
const longestLocalPartChars = 64;

/**
 * Letters, digits and the marks of RFC 5322 `atext`, in dot-separated runs. No quoted local parts:
 * none is in use.
 */
const localPart = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
const domainLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Normalises an address to the one form under which it is stored and compared; `undefined` if it is
 * not an address.
 *
 * Trimmed, NFKC, lower case: no provider in use distinguishes `Ann@` from `ann@`, but people type
 * both. Dots and `+tags` are kept: they matter at some providers, and two customers must never be
 * merged. Only ASCII is accepted, so that a look-alike letter cannot imitate another customer's
 * address, and no line break reaches a mail header.
 *
 * @example
 * ```ts
 * import { normaliseEmail } from "./email_address.ts";
 * if (normaliseEmail(" Ann.Lee+gw@Example.COM ") !== "ann.lee+gw@example.com") throw new Error();
 * if (normaliseEmail("ann@localhost") !== undefined) throw new Error("a domain has a dot");
 * if (normaliseEmail("a@b.vn\r\nBcc: c@d.vn") !== undefined) throw new Error("a line break came through");
 * ```
 */
export function normaliseEmail(text: string): string | undefined {
  const email = text.normalize("NFKC").trim().toLowerCase();
  if (email.length > longestAddressChars) return undefined;
  const at = email.lastIndexOf("@");
  if (at < 1 || at > longestLocalPartChars) return undefined;
  if (!localPart.test(email.slice(0, at))) return undefined;
  const labels = email.slice(at + 1).split(".");
  if (labels.length < 2 || !labels.every((label) => domainLabel.test(label))) return undefined;
  return /^\d+$/.test(labels.at(-1)!) ? undefined : email;
}
