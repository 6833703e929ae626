/** Prices as the operator writes them, and the cost of a call under them: pure and exact. */
import { invariant } from "../lib/assert.ts";
import { maxReportedTokens } from "./limits.ts";
import type { AppliedPrice } from "./receipt.ts";
import { fromVnd } from "./micro_vnd.ts";
import type { TokenUsage } from "./token_usage.ts";

/** One step of a price by length, in whole seconds, both ends included. */
export interface VideoPriceTier {
  readonly fromSeconds: number;
  readonly toSeconds: number;
  readonly vnd: number;
}

/** A price in the catalogue. Whole VND; the list figure is derived, never stored. */
export type CataloguePrice =
  | {
    readonly unit: "token";
    /** Per 1,000,000 tokens, input and output alike unless the next fields differ. */
    readonly vndPerMtok: number;
    readonly outputVndPerMtok?: number | undefined;
    readonly cacheReadVndPerMtok?: number | undefined;
    readonly cacheWriteVndPerMtok?: number | undefined;
  }
  | { readonly unit: "request"; readonly vnd: number }
  | { readonly unit: "image"; readonly vnd: number }
  | { readonly unit: "video"; readonly tiers: readonly VideoPriceTier[] };

/**
 * Fixes the unit prices at admission. A video price needs the seconds of the request.
 *
 * @throws {InvariantError} if a video length has no tier: the request should have been refused
 * before
 */
export function applyPrice(price: CataloguePrice, seconds?: number): AppliedPrice {
  switch (price.unit) {
    case "token": {
      // VND per million tokens equals µVND per token.
      const inputMicroVnd = BigInt(price.vndPerMtok);
      return {
        unit: "token",
        inputMicroVnd,
        outputMicroVnd: BigInt(price.outputVndPerMtok ?? price.vndPerMtok),
        cacheReadMicroVnd: BigInt(price.cacheReadVndPerMtok ?? price.vndPerMtok),
        cacheWriteMicroVnd: BigInt(price.cacheWriteVndPerMtok ?? price.vndPerMtok),
      };
    }
    case "request":
    case "image":
      return { unit: price.unit, perUnitMicroVnd: fromVnd(price.vnd) };
    case "video": {
      const tier = price.tiers.find((t) =>
        seconds !== undefined && seconds >= t.fromSeconds && seconds <= t.toSeconds
      );
      invariant(tier !== undefined, `No price for a video of ${seconds} seconds`);
      return { unit: "video", perUnitMicroVnd: fromVnd(tier.vnd) };
    }
  }
}

/** Whether a call under a price may cost nothing. */
export function mayBeFree(price: CataloguePrice): boolean {
  switch (price.unit) {
    case "token":
      return price.vndPerMtok === 0 || price.outputVndPerMtok === 0;
    case "request":
    case "image":
      return price.vnd === 0;
    case "video":
      return price.tiers.some(({ vnd }) => vnd === 0);
  }
}

/**
 * Computes the cost of usage in tokens.
 *
 * @example
 * ```ts
 * import { applyPrice, costOfTokens } from "./price.ts";
 * const price = applyPrice({ unit: "token", vndPerMtok: 8_300 });
 * const cost = costOfTokens(price, { input: 100, cacheRead: 0, cacheWrite: 0, output: 50, reasoning: 0 });
 * if (cost !== 1_245_000n) throw new Error(String(cost)); // 1.245 VND
 * ```
 *
 * @throws {InvariantError} if the price is not per token or a bucket is no whole number of 0 or
 * more
 */
export function costOfTokens(price: AppliedPrice, usage: TokenUsage): bigint {
  invariant(price.unit === "token", `Cannot price tokens per ${price.unit}`);
  const { input, cacheRead, cacheWrite, output } = usage;
  for (const count of [input, cacheRead, cacheWrite, output]) {
    invariant(
      Number.isSafeInteger(count) && count >= 0 && count <= maxReportedTokens,
      `A token count is out of bounds: ${count}`,
    );
  }
  return BigInt(input) * price.inputMicroVnd + BigInt(cacheRead) * price.cacheReadMicroVnd +
    BigInt(cacheWrite) * price.cacheWriteMicroVnd + BigInt(output) * price.outputMicroVnd;
}

/** Computes the cost of `units` calls, images or videos. */
export function costOfUnits(price: AppliedPrice, units: number): bigint {
  invariant(price.unit !== "token", "Cannot price units per token");
  invariant(Number.isSafeInteger(units) && units >= 0, `Units are out of bounds: ${units}`);
  return BigInt(units) * price.perUnitMicroVnd;
}

/**
 * Computes the most that a chat call can cost, which is reserved before it is admitted. Input is
 * priced at the most expensive input bucket, since the effect of the provider's cache is not known
 * yet.
 */
export function worstCaseCost(
  price: AppliedPrice,
  bound: { readonly inputTokens: number; readonly outputTokens: number },
): bigint {
  if (price.unit !== "token") return price.perUnitMicroVnd;
  invariant(Number.isSafeInteger(bound.inputTokens) && bound.inputTokens >= 0, "Input bound");
  invariant(Number.isSafeInteger(bound.outputTokens) && bound.outputTokens >= 0, "Output bound");
  let dearest = price.inputMicroVnd;
  if (price.cacheReadMicroVnd > dearest) dearest = price.cacheReadMicroVnd;
  if (price.cacheWriteMicroVnd > dearest) dearest = price.cacheWriteMicroVnd;
  return BigInt(bound.inputTokens) * dearest + BigInt(bound.outputTokens) * price.outputMicroVnd;
}
