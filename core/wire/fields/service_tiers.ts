/** Service tiers in the words that Chat and Responses share, for servers that have words of their own. */

/** The vendor's words, in requests and answers alike. */
const known: ReadonlySet<string> = new Set([
  "auto",
  "default",
  "flex",
  "scale",
  "priority",
  "fast",
]);

/** What the words of others come to: Groq's, those of the Messages vendor, capacity that was bought in advance. */
const others: ReadonlyMap<string, string> = new Map([
  ["on_demand", "default"],
  ["standard", "default"],
  ["batch", "default"],
  ["provisioned", "default"],
  ["performance", "priority"],
]);

/**
 * The vendor's word for a tier; `undefined` for none, and for a word that nothing is known of.
 *
 * @example
 * ```ts
 * import { knownTier } from "./service_tiers.ts";
 * const told = ["flex", "on_demand", "provisioned", ""].map(knownTier);
 * if (told.join() !== "flex,default,default,") throw new Error(told.join());
 * ```
 */
export function knownTier(word: string): string | undefined {
  return known.has(word) ? word : others.get(word);
}
