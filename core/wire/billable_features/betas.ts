/**
 * Finds values of the header `anthropic-beta` that raise the price of tokens. All others only unlock fields, which are
 * judged as fields; agents send many of them with every call.
 */
import type { Outline } from "../../lib/json/json.ts";
import type { BillableFeature } from "../contract/features.ts";

/** Prompts beyond 200,000 tokens at up to twice the rate. Models that charge the normal rate for them need no beta. */
const longContext = /^context-1m(?:-|$)/i;
const feature: BillableFeature = "long_context";

function isBillable(beta: string): boolean {
  return longContext.test(beta.trim());
}

/** Whether a body has such a value, where some hosts accept them: a list, or a string with commas. */
export function hasBillableBeta(value: Outline): boolean {
  if (typeof value === "string") return value.split(",").some(isBillable);
  return Array.isArray(value) && value.some(hasBillableBeta);
}

/** Values of `anthropic-beta`, sorted by whether a route may get them. */
export interface SortedBetas {
  /** The header for the provider; `undefined`: none. */
  readonly kept: string | undefined;
  /** Names of dropped values, for `x-gateway-conversion`. */
  readonly dropped: readonly string[];
}

/**
 * Removes the values that a route does not allow from the header. The provider then enforces its normal limits, with
 * errors that agents can handle.
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
