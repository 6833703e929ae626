/**
 * The spending of keys with limits, as calls reserve and end. Threads of one process share one book, so that a limit
 * holds over all of them; another thread reaches it by messages.
 */
import type { Clock } from "../../core/lib/time/clock.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";
import { KeyLimits, type KeyReservation, type LimitRefusal } from "./key_limits.ts";
import { KeySpendings, type LimitedKey } from "./key_spending.ts";

/** An amount that the limits of a key allow. */
export interface LimitGrant {
  readonly ok: true;
  readonly amountMicroVnd: bigint;
}

/** What one running call has reserved of the limits of its key. */
export interface LimitedCall {
  /** Reserves as much of an amount as the limits allow, if that is anything. */
  extend(amountMicroVnd: bigint): LimitGrant | LimitRefusal | Promise<LimitGrant | LimitRefusal>;
  /** Returns a part that the call did not get. */
  giveBack(amountMicroVnd: bigint): void;
  /** Replaces the reservation by what the call cost. Safe to call twice. */
  end(costMicroVnd: bigint): void;
}

/** The reservations of running calls against the limits of their keys. */
export interface KeyLimitBook {
  /**
   * Reserves an amount for a call that begins.
   *
   * @param startedAtMs decides the day and month that the call counts in
   */
  begin(
    key: LimitedKey,
    amountMicroVnd: bigint,
    startedAtMs: number,
  ): Promise<LimitRefusal | { readonly ok: true; readonly call: LimitedCall }>;
}

class BookedCall implements LimitedCall {
  readonly #limits: KeyLimits;
  readonly #reservation: KeyReservation;
  #hasEnded = false;

  constructor(limits: KeyLimits, reservation: KeyReservation) {
    this.#limits = limits;
    this.#reservation = reservation;
  }

  extend(askedMicroVnd: bigint): LimitGrant | LimitRefusal {
    const reservation = this.#reservation;
    const room = this.#limits.roomMicroVnd(reservation, askedMicroVnd);
    const amountMicroVnd = room > 0n ? room : askedMicroVnd;
    const refusal = this.#limits.reserve(reservation.key, reservation, amountMicroVnd);
    if (refusal !== undefined) return refusal;
    // A call that ended meanwhile has released its reservation; this part must follow.
    if (this.#hasEnded) this.#limits.release(reservation, amountMicroVnd);
    else reservation.amountMicroVnd += amountMicroVnd;
    return { ok: true, amountMicroVnd };
  }

  giveBack(amountMicroVnd: bigint): void {
    if (this.#hasEnded) return;
    this.#reservation.amountMicroVnd -= amountMicroVnd;
    this.#limits.release(this.#reservation, amountMicroVnd);
  }

  end(costMicroVnd: bigint): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#limits.end(this.#reservation, costMicroVnd);
  }
}

/** Opens the book of a process. */
export function openKeyLimitBook(kv: KeyValueStore, clock: Clock): KeyLimitBook {
  const spendings = new KeySpendings(kv, clock);
  const limits = new KeyLimits();
  return {
    async begin(key, amountMicroVnd, startedAtMs) {
      const { day, month } = await spendings.periods(key, startedAtMs);
      const refusal = limits.reserve(key, { day, month }, amountMicroVnd);
      if (refusal !== undefined) return refusal;
      const call = new BookedCall(limits, { key, day, month, amountMicroVnd });
      return { ok: true, call };
    },
  };
}
