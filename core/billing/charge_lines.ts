/** Takes the charge of a receipt apart into the lines of a bill, which add up to it. */
import { appliedRate, countTokens, type TokenBucket } from "./tariff.ts";
import type { CountedTool } from "./usage/hosted_tools.ts";
import type { AppliedPrice, Receipt } from "./usage/receipt.ts";
import { ratesFor, tokensPerRate } from "./price.ts";

/** Item that a line charges for. */
export type ChargedItem =
  | { readonly kind: "tokens"; readonly bucket: TokenBucket }
  | { readonly kind: "units"; readonly unit: Exclude<AppliedPrice["unit"], "token"> }
  | { readonly kind: "tool"; readonly tool: CountedTool };

/** One line of a bill: so many at such a price. */
export interface ChargeLine {
  readonly item: ChargedItem;
  readonly count: number;
  /** For 1,000,000 tokens, one unit, or one use. */
  readonly priceMicroVnd: bigint;
  /** Rounded down to a µVND: a charge is rounded up once, over all its tokens. */
  readonly amountMicroVnd: bigint;
}

/** The lines of a charge. */
export interface ChargeLines {
  readonly lines: readonly ChargeLine[];
  /** Difference of the lines, rounded up once, from the charge: 0 unless that had another reason, or was a fee. */
  readonly differenceMicroVnd: bigint;
}

function linesOfPrice(
  { price, usage, units }: Pick<Receipt, "price" | "usage" | "units">,
): ChargeLine[] {
  if (price.unit !== "token") {
    const { unit, perUnitMicroVnd } = price;
    return [{
      item: { kind: "units", unit },
      count: units,
      priceMicroVnd: perUnitMicroVnd,
      amountMicroVnd: BigInt(units) * perUnitMicroVnd,
    }];
  }
  if (usage === undefined) return [];
  const lines: ChargeLine[] = [];
  const rates = ratesFor(price, usage);
  countTokens(usage, (bucket) => appliedRate(rates, bucket) !== undefined, (bucket, count) => {
    const priceMicroVnd = appliedRate(rates, bucket) ?? 0n;
    const amountMicroVnd = BigInt(count) * priceMicroVnd / tokensPerRate;
    lines.push({ item: { kind: "tokens", bucket }, count, priceMicroVnd, amountMicroVnd });
  });
  return lines;
}

/** Lines of the money that was held for a call: held and added are what was charged and returned. */
export interface HoldLines {
  readonly heldMicroVnd: bigint;
  /** Taken from the wallet at the end, since the price was above what was held; 0 unless `returnedMicroVnd` is. */
  readonly addedMicroVnd: bigint;
  readonly chargedMicroVnd: bigint;
  readonly returnedMicroVnd: bigint;
}

/**
 * Returns where the money of a receipt went; `undefined` if it does not say what was held.
 *
 * @example
 * ```ts
 * import { holdLines } from "./charge_lines.ts";
 * const lines = holdLines({ heldMicroVnd: 360n, costMicroVnd: 66n });
 * if (lines?.returnedMicroVnd !== 294n || lines.addedMicroVnd !== 0n) throw new Error("wrong");
 * ```
 */
export function holdLines(
  { heldMicroVnd, costMicroVnd }: Pick<Receipt, "heldMicroVnd" | "costMicroVnd">,
): HoldLines | undefined {
  if (heldMicroVnd === undefined) return undefined;
  const leftMicroVnd = heldMicroVnd - costMicroVnd;
  return {
    heldMicroVnd,
    addedMicroVnd: leftMicroVnd < 0n ? -leftMicroVnd : 0n,
    chargedMicroVnd: costMicroVnd,
    returnedMicroVnd: leftMicroVnd > 0n ? leftMicroVnd : 0n,
  };
}

/**
 * Returns the lines of a receipt; none for a call that was free.
 *
 * @example
 * ```ts
 * import { chargeLines } from "./charge_lines.ts";
 * import { applyPrice } from "./price.ts";
 * const price = applyPrice({ unit: "token", vndPerMtok: 9, outputVndPerMtok: 45 });
 * const usage = { input: 1_179, cacheRead: 0, cacheWrite: 0, output: 100, reasoning: 0 };
 * const { lines, differenceMicroVnd } = chargeLines({
 *   price, usage, units: 0, costMicroVnd: 15_111n, shortfallMicroVnd: 0n,
 * });
 * const text = lines.map(({ count, amountMicroVnd }) => `${count}: ${amountMicroVnd}`).join();
 * if (text !== "1179: 10611,100: 4500" || differenceMicroVnd !== 0n) throw new Error(text);
 * ```
 */
export function chargeLines(
  receipt: Pick<
    Receipt,
    "price" | "usage" | "units" | "toolCharges" | "costMicroVnd" | "shortfallMicroVnd" | "ownKey"
  >,
): ChargeLines {
  const priceMicroVnd = receipt.costMicroVnd + receipt.shortfallMicroVnd;
  if ((receipt.ownKey?.priceMicroVnd ?? priceMicroVnd) === 0n) {
    return { lines: [], differenceMicroVnd: 0n };
  }
  const lines = linesOfPrice(receipt);
  for (const { tool, uses, perUseMicroVnd } of receipt.toolCharges ?? []) {
    lines.push({
      item: { kind: "tool", tool },
      count: uses,
      priceMicroVnd: perUseMicroVnd,
      amountMicroVnd: BigInt(uses) * perUseMicroVnd,
    });
  }
  const sumMicroVnd = lines.reduce((sum, { amountMicroVnd }) => sum + amountMicroVnd, 0n);
  const differenceMicroVnd = priceMicroVnd - sumMicroVnd;
  // Each line was rounded down by less than a µVND.
  const isRounding = differenceMicroVnd >= 0n && differenceMicroVnd <= BigInt(lines.length);
  return { lines, differenceMicroVnd: isRounding ? 0n : differenceMicroVnd };
}
