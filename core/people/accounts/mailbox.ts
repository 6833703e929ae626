/**
 * Finds the mailbox of an address, to detect that two accounts may belong to one person; never to
 * grant access.
 */

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
 * import { mailboxOf } from "./mailbox.ts";
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
