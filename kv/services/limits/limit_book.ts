/**
 * The spending of keys with limits, as calls reserve and end. Threads of one process share one book, so that a limit
 * holds over all of them; another thread reaches it by messages.
 */
import {
  fittingMicroVnd,
  rangeOf,
  type ReservationAmount,
  type ReservationRange,
} from "../../../core/billing/reservation_range.ts";
import type { ApiKeyId } from "../../../core/lib/ids/ids.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import { systemTimer, type Timer } from "../../../core/lib/time/deadlines.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { KeyLimits, type KeyReservation, type LimitRefusal } from "./key_limits.ts";
import { KeySpendings, type LimitedKey, type Periods } from "./key_spending.ts";

/**
 * Milliseconds that a call waits for what other calls have reserved of a limit, if it can begin with less than it
 * wants: as long as for money of the wallet.
 */
const limitWaitMs = 15_000;
/** Calls of one key that may wait at once; further ones take what there is. Bounds the memory. */
const maxWaitingCallsPerKey = 1_000;

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
   * Reserves an amount for a call that begins: of a range, what `fittingMicroVnd` says. A call with a range waits for
   * others that have reserved of the limit.
   *
   * @param startedAtMs decides the day and month that the call counts in
   */
  begin(
    key: LimitedKey,
    amount: ReservationAmount,
    startedAtMs: number,
  ): Promise<LimitRefusal | BegunCall>;
}

/** A call that the limits of its key allow. */
export interface BegunCall {
  readonly ok: true;
  readonly call: LimitedCall;
  /** What is reserved of the limits. */
  readonly amountMicroVnd: bigint;
}

class BookedCall implements LimitedCall {
  readonly #limits: KeyLimits;
  readonly #reservation: KeyReservation;
  readonly #onFreed: () => void;
  #hasEnded = false;

  /** @param onFreed called when the call has returned what it does not need */
  constructor(limits: KeyLimits, reservation: KeyReservation, onFreed: () => void) {
    this.#limits = limits;
    this.#reservation = reservation;
    this.#onFreed = onFreed;
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
    if (amountMicroVnd > 0n) this.#onFreed();
  }

  end(costMicroVnd: bigint): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#limits.end(this.#reservation, costMicroVnd);
    this.#onFreed();
  }
}

/** Calls that wait for what others have reserved of the limits of their key. */
class WaitingCalls {
  readonly #waiting = new Map<ApiKeyId, Set<() => void>>();

  isFull(id: ApiKeyId): boolean {
    return (this.#waiting.get(id)?.size ?? 0) >= maxWaitingCallsPerKey;
  }

  /** Waits for {@linkcode freed}. `onWaiting` gets a function that ends the wait. */
  wait(id: ApiKeyId, onWaiting: (wake: () => void) => void): Promise<void> {
    const calls = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, calls);
    return new Promise((resolve) => {
      const wake = () => {
        calls.delete(wake);
        if (calls.size === 0) this.#waiting.delete(id);
        resolve();
      };
      calls.add(wake);
      onWaiting(wake);
    });
  }

  /** Wakes the calls that wait for a key, the longest waiting first. */
  freed(id: ApiKeyId): void {
    for (const wake of [...this.#waiting.get(id) ?? []]) wake();
  }
}

/** Opens the book of a process. */
export function openKeyLimitBook(
  kv: KeyValueStore,
  clock: Clock,
  timer: Timer = systemTimer,
): KeyLimitBook {
  const spendings = new KeySpendings(kv, clock);
  const limits = new KeyLimits();
  const waiting = new WaitingCalls();

  /** Reserves what a call can have; `undefined` if it should wait for others. */
  function book(
    key: LimitedKey,
    periods: Periods,
    range: ReservationRange,
    canWait: boolean,
  ): LimitRefusal | BegunCall | undefined {
    const { wantedMicroVnd, leastMicroVnd } = range;
    const isHeld = limits.isHeld(key, periods, leastMicroVnd);
    const mayWait = canWait && isHeld;
    const roomMicroVnd = limits.roomMicroVnd({ key, ...periods }, wantedMicroVnd);
    const isAlone = periods.month.reservedMicroVnd === 0n;
    const free = { ownMicroVnd: roomMicroVnd, budgetMicroVnd: roomMicroVnd, isAlone };
    const fitting = fittingMicroVnd(range, free, !mayWait);
    if (fitting === undefined && mayWait) return undefined;
    const amountMicroVnd = fitting ?? leastMicroVnd;
    const refusal = limits.reserve(key, periods, amountMicroVnd);
    if (refusal !== undefined) {
      return isHeld && leastMicroVnd < wantedMicroVnd ? { ...refusal, isHeld } : refusal;
    }
    const { day, month } = periods;
    const reservation = { key, day, month, amountMicroVnd };
    const call = new BookedCall(limits, reservation, () => waiting.freed(key.id));
    return { ok: true, call, amountMicroVnd };
  }

  return {
    async begin(key, amount, startedAtMs) {
      const range = rangeOf(amount);
      let canWait = range.waits !== false && range.leastMicroVnd < range.wantedMicroVnd &&
        !waiting.isFull(key.id);
      let wake = () => {};
      let stopTimer: (() => void) | undefined;
      try {
        for (;;) {
          const periods = await spendings.periods(key, startedAtMs);
          const begun = book(key, periods, range, canWait);
          if (begun !== undefined) return begun;
          stopTimer ??= timer.start(() => {
            canWait = false;
            wake();
          }, limitWaitMs);
          await waiting.wait(key.id, (known) => wake = known);
        }
      } finally {
        stopTimer?.();
      }
    },
  };
}
