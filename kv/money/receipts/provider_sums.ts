/**
 * Sums what calls cost the operator, as a part of day sums: by route and rate card. Calls before and after the end of a
 * UTC day are summed apart, since invoices of providers have UTC days and day sums those of Vietnam.
 */
import type { Writable } from "../../../core/lib/base/assert.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { vietnamDayNumber } from "../../../core/lib/time/vietnam_time.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";

/** The sum of the calls of one route at one rate card. */
export interface ProviderSum {
  readonly calls: number;
  /** Amount that customers paid for them. */
  readonly revenueMicroVnd: bigint;
  readonly costMicroVnd: bigint;
  /** By bucket of the card. */
  readonly units: Readonly<Record<string, number>>;
}

/** Sums by the text of {@linkcode providerCellId}. */
export type ProviderSums = Readonly<Record<string, ProviderSum>>;

/** Cell that a sum is of. */
export interface ProviderCell {
  /** Whether the calls belong to the UTC day that began on the day before. */
  readonly isEarly: boolean;
  /** `undefined`: the cost is not known. `*`: several cards, of a sum with too many parts. */
  readonly card: string | undefined;
  /** `*`: several routes, of a sum with too many parts. */
  readonly route: string;
}

/** The card or route of a joined sum. */
export const joinedCells = "*";

const unknownCard = "-";

/**
 * Most cells and buckets of one day sum, so that its row stays within 64 KiB. A sum with more is joined: it keeps its
 * money and loses its buckets. Whether it is joined follows from its calls, not from their order.
 */
export const maxProviderParts = 500;

function providerCellId({ isEarly, card, route }: ProviderCell): string {
  return `${isEarly ? "e" : "l"} ${card ?? unknownCard} ${route}`;
}

/** Takes the text of a cell apart. */
export function providerCellOf(id: string): ProviderCell {
  const [half, card, ...route] = id.split(" ");
  return {
    isEarly: half === "e",
    card: card === unknownCard ? undefined : card,
    route: route.join(" "),
  };
}

/** Whether a moment is in the part of a Vietnamese day that belongs to the UTC day before. */
function isEarly(atMs: number): boolean {
  return Math.floor(atMs / dayMs) < vietnamDayNumber(atMs);
}

/** Adds two sums. */
function addSum(one: ProviderSum | undefined, other: ProviderSum): ProviderSum {
  if (one === undefined) return other;
  const units: Record<string, number> = { ...one.units };
  for (const bucket in other.units) {
    units[bucket] = (units[bucket] ?? 0) + other.units[bucket]!;
  }
  return {
    calls: one.calls + other.calls,
    revenueMicroVnd: one.revenueMicroVnd + other.revenueMicroVnd,
    costMicroVnd: one.costMicroVnd + other.costMicroVnd,
    units,
  };
}

function isJoined(id: string): boolean {
  return id.endsWith(` ${joinedCells}`);
}

function joined(sums: ProviderSums): ProviderSums {
  const result: Record<string, ProviderSum> = {};
  for (const [id, sum] of Object.entries(sums)) {
    const cell = providerCellOf(id);
    const card = cell.card === undefined ? undefined : joinedCells;
    const into = providerCellId({ isEarly: cell.isEarly, card, route: joinedCells });
    result[into] = addSum(result[into], { ...sum, units: {} });
  }
  return result;
}

function hasTooManyParts(sums: ProviderSums): boolean {
  let parts = 0;
  for (const id in sums) parts += 1 + Object.keys(sums[id]!.units).length;
  return parts > maxProviderParts;
}

/** Adds the sums of two day sums. */
export function addProviderSums(
  one: ProviderSums | undefined,
  other: ProviderSums | undefined,
): ProviderSums | undefined {
  if (one === undefined) return other;
  if (other === undefined) return one;
  const sums: Record<string, ProviderSum> = { ...one };
  for (const id in other) sums[id] = addSum(sums[id], other[id]!);
  return Object.keys(sums).some(isJoined) || hasTooManyParts(sums) ? joined(sums) : sums;
}

/** Returns the sum of one receipt; `undefined` if its cost was not asked for. */
export function providerSumOf(receipt: Receipt): ProviderSums | undefined {
  const { providerCost, route, startedAtMs, costMicroVnd } = receipt;
  if (providerCost === undefined || route === undefined) return undefined;
  const isKnown = providerCost.kind === "known";
  const card = isKnown ? providerCost.card : undefined;
  return {
    [providerCellId({ isEarly: isEarly(startedAtMs), card, route })]: {
      calls: 1,
      revenueMicroVnd: costMicroVnd,
      costMicroVnd: isKnown ? providerCost.costMicroVnd : 0n,
      units: isKnown ? providerCost.units : {},
    },
  };
}

/** A sum that its owner may change. */
type OwnProviderSum = Writable<Omit<ProviderSum, "units">> & { units: Record<string, number> };

/** Sums to which only their owner refers, so that receipts can be added in place. */
export type OwnProviderSums = Record<string, OwnProviderSum>;

/** Adds a receipt to sums in place where it has no new part, and returns the sums with it. */
export function addProviderReceipt(
  sums: OwnProviderSums | undefined,
  receipt: Receipt,
): OwnProviderSums | undefined {
  const { providerCost, route, startedAtMs, costMicroVnd } = receipt;
  if (providerCost === undefined || route === undefined) return sums;
  const isKnown = providerCost.kind === "known";
  const card = isKnown ? providerCost.card : undefined;
  const id = providerCellId({ isEarly: isEarly(startedAtMs), card, route });
  const own = sums?.[id];
  if (own === undefined || isJoined(id) || (isKnown && hasOther(own.units, providerCost.units))) {
    return ownSums(addProviderSums(sums, providerSumOf(receipt)));
  }
  own.calls++;
  own.revenueMicroVnd += costMicroVnd;
  if (isKnown) {
    own.costMicroVnd += providerCost.costMicroVnd;
    for (const bucket in providerCost.units) own.units[bucket]! += providerCost.units[bucket]!;
  }
  return sums;
}

function hasOther(own: ProviderSum["units"], units: ProviderSum["units"]): boolean {
  for (const bucket in units) if (own[bucket] === undefined) return true;
  return false;
}

/** Copies sums: a receipt's units are parts of them. */
function ownSums(sums: ProviderSums | undefined): OwnProviderSums | undefined {
  return sums && Object.fromEntries(
    Object.entries(sums).map(([id, sum]) => [id, { ...sum, units: { ...sum.units } }]),
  );
}

/** Whether two sums are equal. */
export function sameProviderSums(
  one: ProviderSums = {},
  other: ProviderSums = {},
): boolean {
  const ids = Object.keys(one);
  return ids.length === Object.keys(other).length && ids.every((id) => {
    const [left, right] = [one[id]!, other[id]];
    return right !== undefined && left.calls === right.calls &&
      left.revenueMicroVnd === right.revenueMicroVnd &&
      left.costMicroVnd === right.costMicroVnd && sameUnits(left.units, right.units);
  });
}

function sameUnits(one: ProviderSum["units"], other: ProviderSum["units"]): boolean {
  const buckets = Object.keys(one);
  return buckets.length === Object.keys(other).length &&
    buckets.every((bucket) => one[bucket] === other[bucket]);
}
