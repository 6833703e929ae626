/** Translates service tiers of other vendors into the values that Chat and Responses share. */
import type { Warnings } from "../contract/warnings.ts";

/** The vendor's values, in requests and in answers. */
const known: ReadonlySet<string> = new Set([
  "auto",
  "default",
  "flex",
  "scale",
  "priority",
  "fast",
]);

/** Values of others: Groq, the Messages vendor, and capacity bought in advance. */
const others: ReadonlyMap<string, string> = new Map([
  ["on_demand", "default"],
  ["standard", "default"],
  ["batch", "default"],
  ["provisioned", "default"],
  ["performance", "priority"],
]);

/** Tiers that every provider gives without being asked. */
const usual: ReadonlySet<string> = new Set(["auto", "default", "standard", "on_demand"]);

/** Warns of a tier that is not carried, unless it asks for the usual one. */
export function warnOfTier(
  { tier, path }: { readonly tier: string; readonly path: string },
  warnings: Warnings,
): void {
  if (!usual.has(tier)) warnings.add(path);
}

/**
 * Returns the vendor's value for a tier; `undefined` if there is none or the value is unknown.
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
