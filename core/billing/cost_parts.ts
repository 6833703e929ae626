/** Divides the cost of a call by what it is for, in parts that sum up to it. */
import { billedInputTokens } from "./tokens/token_bounds.ts";
import { appliedRate, countTokens, type TokenBucket } from "./tariff.ts";
import { ratesFor, tokensPerRate } from "./price.ts";
import { toolChargesMicroVnd } from "./usage/hosted_tools.ts";
import type { Receipt } from "./usage/receipt.ts";

/** Part of a cost. `units` are calls, images or seconds, where tokens are not paid. */
export type CostPart = "input" | "cache_read" | "cache_write" | "output" | "units" | "tools";

/** Members of a receipt about its cost. */
export type CostedReceipt = Pick<
  Receipt,
  "costMicroVnd" | "usage" | "price" | "units" | "toolCharges" | "ownKey"
>;

const parts: Readonly<Record<TokenBucket, CostPart>> = {
  input: "input",
  input_audio: "input",
  input_image: "input",
  cache_read: "cache_read",
  cache_write: "cache_write",
  cache_write_1h: "cache_write",
  output: "output",
  output_audio: "output",
  output_image: "output",
};

/**
 * Computes the parts of a cost in µVND, which sum up to it. Empty where the outcome of the call, what the wallet had left,
 * or a fee has set another charge than its price.
 *
 * @example
 * ```ts
 * import { applyPrice } from "./price.ts";
 * import { costParts } from "./cost_parts.ts";
 * const usage = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0 };
 * const price = applyPrice({ unit: "token", vndPerMtok: 0.5 });
 * const receipt = { usage, price, units: 2, costMicroVnd: 1n };
 * if ([...costParts(receipt)].join(" ") !== "input,1 output,0") throw new Error("rounded up once");
 * ```
 */
export function costParts(receipt: CostedReceipt): ReadonlyMap<CostPart, bigint> {
  const found = new Map<CostPart, bigint>();
  const add = (part: CostPart, amountMicroVnd: bigint) =>
    found.set(part, (found.get(part) ?? 0n) + amountMicroVnd);
  addPriced(receipt, add);
  const tools = toolChargesMicroVnd(receipt.toolCharges ?? []);
  if (tools > 0n) add("tools", tools);
  const sum = [...found.values()].reduce((all, amount) => all + amount, 0n);
  return sum === receipt.costMicroVnd ? found : new Map();
}

function addPriced(
  { usage, price, units }: CostedReceipt,
  add: (part: CostPart, amountMicroVnd: bigint) => void,
): void {
  if (price.unit !== "token") return add("units", BigInt(units) * price.perUnitMicroVnd);
  if (usage === undefined || billedInputTokens(usage) + usage.output === 0) return;
  const rates = ratesFor(price, usage);
  const hasRate = (bucket: TokenBucket) => appliedRate(rates, bucket) !== undefined;
  // The whole is rounded up once, so each part is what the rounded sum grows by.
  let tokenRates = 0n;
  let sum = 0n;
  countTokens(usage, hasRate, (bucket, tokens) => {
    tokenRates += BigInt(tokens) * (appliedRate(rates, bucket) ?? 0n);
    const rounded = (tokenRates + tokensPerRate - 1n) / tokensPerRate;
    add(parts[bucket], rounded - sum);
    sum = rounded;
  });
}
