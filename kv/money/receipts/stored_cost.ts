/** The element of a stored receipt that says what the call cost the operator. */
import { invariant } from "../../../core/lib/base/assert.ts";
import { unknownProviderCost } from "../../../core/billing/provider_cost.ts";
import type { ProviderCost } from "../../../core/billing/usage/receipt.ts";

/** 0 if the cost is not known; otherwise µVND, the card, and units by bucket in turn. */
export type StoredCost = 0 | [costMicroVnd: string, card: string, ...units: (string | number)[]];

/** Encodes the cost of a call. */
export function storedCost(cost: ProviderCost): StoredCost {
  if (cost.kind === "unknown") return 0;
  const stored: StoredCost = [cost.costMicroVnd.toString(), cost.card];
  for (const bucket in cost.units) stored.push(bucket, cost.units[bucket]!);
  return stored;
}

/**
 * Decodes the cost of a call; `undefined` if none is stored.
 *
 * @throws {InvariantError} if it is no cost
 */
export function providerCostOf(stored: StoredCost | undefined): ProviderCost | undefined {
  if (stored === undefined) return undefined;
  if (stored === 0) return unknownProviderCost;
  const [microVnd, card, ...rest] = stored;
  const units: Record<string, number> = {};
  for (let at = 0; at + 1 < rest.length; at += 2) {
    const [bucket, count] = [rest[at], rest[at + 1]];
    invariant(
      typeof bucket === "string" && typeof count === "number" && Number.isSafeInteger(count) &&
        count > 0,
      "not units of a provider",
    );
    units[bucket] = count;
  }
  const costMicroVnd = BigInt(microVnd);
  invariant(costMicroVnd >= 0n && typeof card === "string", "not a cost of a provider");
  return { kind: "known", card, units, costMicroVnd };
}
