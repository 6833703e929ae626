/**
 * Values of the header `anthropic-beta` that make tokens dearer by themselves. All others only unlock fields, and
 * those are judged where they stand; agents send many of them with every call.
 */
import type { Json } from "../../lib/json/json.ts";
import type { BillableFeature } from "./features.ts";

/** Prompts beyond 200,000 tokens at up to twice the rate. Models for which they have their normal price need no beta. */
const longContext = /^context-1m(?:-|$)/i;
const feature: BillableFeature = "long_context";

function isBillable(beta: string): boolean {
  return longContext.test(beta.trim());
}

/** The same values in a request body, where some hosts take them: a list, or words with commas. */
export function hasBillableBeta(value: Json): boolean {
  if (typeof value === "string") return value.split(",").some(isBillable);
  return Array.isArray(value) && value.some(hasBillableBeta);
}

/** Values of `anthropic-beta`, sorted by whether a route may get them. */
export interface SortedBetas {
  /** What goes to the provider; `undefined`: no header at all. */
  readonly kept: string | undefined;
  /** Names what was left out, for `x-gateway-conversion`. */
  readonly dropped: readonly string[];
}

/**
 * Takes the values that a route does not allow out of the header. The provider then enforces its normal limits, in
 * words that agents know how to answer.
 *
 * @example
 * ```ts
 * import { sortBetas } from "./betas.ts";
 * const { kept, dropped } = sortBetas("a-2025-01-01, context-1m-2025-08-07", new Set());
 * if (kept !== "a-2025-01-01" || dropped[0] !== "anthropic-beta.context-1m") throw new Error(kept);
 * ```
 */
export function sortBetas(header: string, allow: ReadonlySet<BillableFeature>): SortedBetas {
  if (allow.has(feature) || !hasBillableBeta(header)) return { kept: header, dropped: [] };
  const kept = header.split(",").map((beta) => beta.trim()).filter((beta) => !isBillable(beta));
  return {
    kept: kept.length === 0 ? undefined : kept.join(","),
    dropped: ["anthropic-beta.context-1m"],
  };
}
