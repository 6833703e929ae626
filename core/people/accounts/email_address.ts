/** Validates e-mail addresses and brings them to the form that the store uses. */
import { parseUrl } from "../../lib/runtime/built_ins.ts";

// Finds the mailbox of an address, to detect that two accounts may belong to one person; never to
// grant access.

/** Providers that deliver an address with and without dots to the same mailbox, under their one name. */
const dotlessDomains: ReadonlyMap<string, string> = new Map([
  ["gmail.com", "gmail.com"],
  ["googlemail.com", "gmail.com"],
]);

/**
 * Returns the mailbox behind a normalised address: without its `+tag`, and without dots where the
 * provider ignores them.
 *
 * @example
 * ```ts
 * import { mailboxOf } from "./email_address.ts";
 * if (mailboxOf("ann.lee+wallet@googlemail.com") !== "annlee@gmail.com") throw new Error("two people");
 * if (mailboxOf("ann.lee@example.com") === mailboxOf("annlee@example.com")) throw new Error("one person");
 * ```
 */
export function mailboxOf(email: string): string {
  const at = email.lastIndexOf("@");
  if (at < 0) return email;
  const domain = email.slice(at + 1);
  const tagAt = email.indexOf("+");
  // A local part that begins with a plus has no name before its tag.
  const local = email.slice(0, tagAt > 0 && tagAt < at ? tagAt : at);
  const dotless = dotlessDomains.get(domain);
  return dotless === undefined ? `${local}@${domain}` : `${local.replaceAll(".", "")}@${dotless}`;
}

// The page to open after signing in.

/**
 * Reads a path of this site from a `next` parameter; `fallback` for anything that could lead
 * elsewhere.
 *
 * Only printable ASCII without the backslash is accepted: browsers drop tabs and line breaks and
 * read `\` as `/`. The path is then resolved and must still be of this origin. The fragment is
 * dropped.
 *
 * @example
 * ```ts
 * import { returnPath } from "./email_address.ts";
 * if (returnPath("/keys?page=2", "/") !== "/keys?page=2") throw new Error();
 * if (returnPath("//evil.example/", "/") !== "/") throw new Error();
 * if (returnPath("/\\evil.example", "/") !== "/") throw new Error();
 * ```
 */
export function returnPath(next: string | undefined, fallback: string): string {
  if (next === undefined || !/^\/[\x21-\x5b\x5d-\x7e]*$/.test(next)) return fallback;
  const here = new URL("https://here.invalid");
  const url = parseUrl(next, here);
  if (url === null || url.origin !== here.origin || url.pathname.startsWith("//")) return fallback;
  return url.pathname + url.search;
}

/** Most characters of an address that can be delivered to (RFC 5321, section 4.5.3.1.3 less the brackets). */
export const maxEmailChars = 254;
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
  if (email.length > maxEmailChars) return undefined;
  const at = email.lastIndexOf("@");
  if (at < 1 || at > longestLocalPartChars) return undefined;
  if (!localPart.test(email.slice(0, at))) return undefined;
  const labels = email.slice(at + 1).split(".");
  if (labels.length < 2 || !labels.every((label) => domainLabel.test(label))) return undefined;
  return /^\d+$/.test(labels.at(-1)!) ? undefined : email;
}
