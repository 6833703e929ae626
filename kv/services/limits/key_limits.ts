/**
 * Enforces the spending limits that the owner of a key sets per day and month (Vietnam time), before
 * a call is admitted.
 *
 * Running calls count with the most they may cost, so many calls at once cannot exceed a limit. The
 * spending of other instances and refunds are read every few seconds: between two reads a key can
 * exceed its limit by what other instances admit. A call counts in the day and month of its start,
 * like its receipt, however late it is admitted or ends; a refund counts in the period of its call.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import type { LimitedKey, Periods, PeriodSum } from "./key_spending.ts";

/** The refusal of a call that a limit of its key does not allow. */
export interface LimitRefusal {
  readonly ok: false;
  readonly reason: "key_limit";
  readonly period: "day" | "month";
  readonly limitMicroVnd: bigint;
  /** Spent and reserved in that period. */
  readonly spentMicroVnd: bigint;
  /** The limit would allow the call if no other call had reserved of it, and the call has waited for them. */
  readonly isHeld?: boolean;
}

/** What one running call has reserved of the limits of its key. */
export interface KeyReservation extends Periods {
  readonly key: LimitedKey;
  amountMicroVnd: bigint;
}

/** The reservations of running calls against the limits of their keys. */
export class KeyLimits {
  /** Reserves an amount, or returns the limit that forbids it. */
  reserve(
    key: LimitedKey,
    { day, month }: Periods,
    amountMicroVnd: bigint,
  ): LimitRefusal | undefined {
    const checks = [
      ["day", key.dailyLimitMicroVnd, day],
      ["month", key.monthlyLimitMicroVnd, month],
    ] as const;
    for (const [period, limitMicroVnd, { settledMicroVnd, reservedMicroVnd }] of checks) {
      const spentMicroVnd = settledMicroVnd + reservedMicroVnd;
      if (limitMicroVnd !== undefined && spentMicroVnd + amountMicroVnd > limitMicroVnd) {
        return { ok: false, reason: "key_limit", period, limitMicroVnd, spentMicroVnd };
      }
    }
    for (const sum of [day, month]) sum.reservedMicroVnd += amountMicroVnd;
    return undefined;
  }

  release({ day, month }: Periods, amountMicroVnd: bigint): void {
    for (const sum of [day, month]) {
      sum.reservedMicroVnd -= amountMicroVnd;
      invariant(sum.reservedMicroVnd >= 0n, "the reserved amount of a key is never negative");
    }
  }

  /** Whether the limits would allow an amount if no call had reserved of them, and one has. */
  isHeld(key: LimitedKey, { day, month }: Periods, amountMicroVnd: bigint): boolean {
    const fits = (limit: bigint | undefined, { settledMicroVnd }: PeriodSum) =>
      limit === undefined || settledMicroVnd + amountMicroVnd <= limit;
    return month.reservedMicroVnd > 0n && fits(key.dailyLimitMicroVnd, day) &&
      fits(key.monthlyLimitMicroVnd, month);
  }

  /** Returns how much of `amountMicroVnd` the limits of a key still allow. */
  roomMicroVnd(
    { key, day, month }: Pick<KeyReservation, "key" | "day" | "month">,
    amountMicroVnd: bigint,
  ): bigint {
    let room = amountMicroVnd;
    for (
      const [limit, { settledMicroVnd, reservedMicroVnd }] of [
        [key.dailyLimitMicroVnd, day],
        [key.monthlyLimitMicroVnd, month],
      ] as const
    ) {
      if (limit === undefined) continue;
      const left = limit - settledMicroVnd - reservedMicroVnd;
      if (left < room) room = left;
    }
    return room;
  }

  /** Replaces the reservation of a call that ended by its cost. */
  end(reservation: KeyReservation, costMicroVnd: bigint): void {
    this.release(reservation, reservation.amountMicroVnd);
    for (const sum of [reservation.day, reservation.month]) {
      sum.settledMicroVnd += costMicroVnd;
      sum.endedMeanwhileMicroVnd += costMicroVnd;
    }
  }
}
