/**
 * Decides how much money a call begins with where there is too little for all that it may cost. Wallets and limits of
 * keys use the same rule.
 */

/** How much money a call may begin with. */
export interface ReservationRange {
  /** The most that the call can cost; it gets this where the money suffices. */
  readonly wantedMicroVnd: bigint;
  /** What calls like this one usually need. The call waits for other calls rather than begin with less. */
  readonly expectedMicroVnd: bigint;
  /** What the call begins with at least, once no other call holds money or its wait is over. */
  readonly leastMicroVnd: bigint;
  /**
   * The call may cost more than it gets, so it takes all that there is: then only one such call of an account runs at a
   * time, and what it costs beyond its money is bounded.
   */
  readonly takesAll?: boolean;
  /** `false`: the call is refused at once where it would wait for other calls, since one of them waits for it. */
  readonly waits?: boolean;
}

/** An exact amount, or a range of amounts. */
export type ReservationAmount = bigint | ReservationRange;

/** Returns an amount as a range. */
export function rangeOf(amount: ReservationAmount): ReservationRange {
  return typeof amount === "bigint"
    ? { wantedMicroVnd: amount, expectedMicroVnd: amount, leastMicroVnd: amount }
    : amount;
}

/** Money that a call can have. */
export interface FreeMoney {
  /** What there is, without debt. */
  readonly ownMicroVnd: bigint;
  /** The same with what may be owed. */
  readonly budgetMicroVnd: bigint;
  /** No other call is known to hold money. */
  readonly isAlone: boolean;
}

/**
 * The part of the free money, as a divisor, that a call takes if no other call runs: long answers are cut late, and
 * calls that follow at once find something.
 */
const shareAlone = 2n;
/** The part of what is left that each further call takes, so that ten at once run together. */
const shareBesideOthers = 8n;

/**
 * Returns what a call gets of the free money, `undefined` if it should wait or be refused. A call whose worst case does
 * not fit gets a share, if that is more than it is expected to need. Debt is used for the worst case and for what is
 * expected, never for a share.
 *
 * @param takesRest whether the call takes less than it is expected to need
 *
 * @example
 * ```ts
 * import { fittingMicroVnd } from "./reservation_range.ts";
 * const range = { wantedMicroVnd: 1_000n, expectedMicroVnd: 20n, leastMicroVnd: 1n };
 * const free = (amount: bigint) => ({ ownMicroVnd: amount, budgetMicroVnd: amount, isAlone: true });
 * if (fittingMicroVnd(range, free(400n), false) !== 200n) throw new Error("a half");
 * if (fittingMicroVnd(range, free(15n), false) !== undefined) throw new Error("less than expected");
 * if (fittingMicroVnd(range, free(15n), true) !== 15n) throw new Error("the rest");
 * ```
 */
export function fittingMicroVnd(
  range: ReservationRange,
  { ownMicroVnd, budgetMicroVnd, isAlone }: FreeMoney,
  takesRest: boolean,
): bigint | undefined {
  const { wantedMicroVnd, expectedMicroVnd, leastMicroVnd, takesAll = false } = range;
  if (budgetMicroVnd >= wantedMicroVnd) return wantedMicroVnd;
  if (takesAll) return budgetMicroVnd >= expectedMicroVnd ? budgetMicroVnd : undefined;
  const share = ownMicroVnd / (isAlone ? shareAlone : shareBesideOthers);
  if (share > expectedMicroVnd) return share;
  if (budgetMicroVnd >= expectedMicroVnd) return expectedMicroVnd;
  return takesRest && budgetMicroVnd >= leastMicroVnd ? budgetMicroVnd : undefined;
}

/** Lowers a range to what another bound has granted. */
export function rangeWithin(range: ReservationRange, grantedMicroVnd: bigint): ReservationRange {
  const within = (amount: bigint) => amount < grantedMicroVnd ? amount : grantedMicroVnd;
  return {
    ...range,
    wantedMicroVnd: within(range.wantedMicroVnd),
    expectedMicroVnd: within(range.expectedMicroVnd),
    leastMicroVnd: within(range.leastMicroVnd),
  };
}
