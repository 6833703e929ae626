/**
 * The fee of calls that a provider key of the organisation's own served: a share of the price that the call would have
 * had, rounded up to a µVND once. Fees are hundredths of a per cent.
 */
import type { ReservationRange } from "./price.ts";

/** Units of a fee in a per cent. */
const unitsPerPercent = 100;

/** A fee of all of the price. */
const wholeFee = 10_000n;

/** Reads a fee that is written in per cent, with two decimals at most. */
export function feeOfPercent(percent: number): number {
  return Math.round(percent * unitsPerPercent);
}

/** Writes a fee in per cent. */
export function percentOfFee(fee: number): number {
  return fee / unitsPerPercent;
}

/**
 * Computes the charge of a call from its price.
 *
 * @example
 * ```ts
 * import { ownKeyFee } from "./own_key_fee.ts";
 * if (ownKeyFee(1_001n, 500) !== 51n || ownKeyFee(1_001n, 0) !== 0n) throw new Error("5 %, rounded up");
 * ```
 */
export function ownKeyFee(priceMicroVnd: bigint, fee: number): bigint {
  return (priceMicroVnd * BigInt(fee) + wholeFee - 1n) / wholeFee;
}

/** Lowers what a call reserves to the fee of it. */
export function rangeAtFee(range: ReservationRange, fee: number): ReservationRange {
  return {
    ...range,
    wantedMicroVnd: ownKeyFee(range.wantedMicroVnd, fee),
    expectedMicroVnd: ownKeyFee(range.expectedMicroVnd, fee),
    leastMicroVnd: ownKeyFee(range.leastMicroVnd, fee),
  };
}

/** Computes the price up to which an amount pays the fee; without a fee, any amount pays all of it. */
export function priceAtFee(amountMicroVnd: bigint, fee: number, allMicroVnd: bigint): bigint {
  return fee === 0 ? allMicroVnd : amountMicroVnd * wholeFee / BigInt(fee);
}
