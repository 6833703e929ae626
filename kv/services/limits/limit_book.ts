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
import {
  type PeriodLimits,
  type PeriodLimitSet,
  periodLimitsOf,
} from "../../../core/limits/limit_table.ts";
import { systemTimer, type Timer } from "../../../core/lib/time/deadlines.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import { vietnamDay } from "../../../core/lib/time/vietnam_time.ts";
import { netCostMicroVnd, readUsage } from "../../money/ledger/usage.ts";
import type { ApiKeyRecord } from "../../people/api_keys/api_keys.ts";

// Remembers what each key with limits has spent in a month and on its days (Vietnam time), and reads
// it again every few seconds, since other instances spend with the same key and refunds arrive.

/** Months of keys whose spending is remembered per instance; bounds the memory. */
const maxLimitedKeysKept = 10_000;

/** Milliseconds after which the remembered spending of a key is read again. */
const keySpendingStaleMs = 5_000;

/** What is needed of a key to enforce its limits. */
export type LimitedKey = Pick<ApiKeyRecord, "id" | "accountId" | keyof PeriodLimits>;

/** The sum that one key spent in a day or a month, as far as this instance knows. */
export interface PeriodSum {
  settledMicroVnd: bigint;
  reservedMicroVnd: bigint;
  /** Cost of calls that ended while the store was being read, which the read may have missed. */
  endedMeanwhileMicroVnd: bigint;
}

/** The sums of one key: of a month, and of the days on which it spent something. */
interface Spending {
  readonly month: PeriodSum;
  readonly days: Map<string, PeriodSum>;
  readAtMs: number;
  reading: Promise<void> | undefined;
}

/** The sums of the day and month that a call counts in. */
export type Periods = Readonly<Record<PeriodLimitSet["window"], PeriodSum>>;

function eachSum({ day, month }: Periods): PeriodSum[] {
  return [day, month];
}

function noSum(): PeriodSum {
  return { settledMicroVnd: 0n, reservedMicroVnd: 0n, endedMeanwhileMicroVnd: 0n };
}

function sumOfDay(spending: Spending, day: string): PeriodSum {
  const known = spending.days.get(day);
  if (known !== undefined) return known;
  const sum = noSum();
  spending.days.set(day, sum);
  return sum;
}

function monthOf(day: string): string {
  return day.slice(0, 7);
}

/** The spending of all keys with limits that this instance has served. */
class KeySpendings {
  readonly #kv: KeyValueStore;
  readonly #clock: Clock;
  /** By key and month: a call that began before the turn of a month counts in the month of its start. */
  readonly #spendings = new Map<string, Spending>();

  constructor(kv: KeyValueStore, clock: Clock) {
    this.#kv = kv;
    this.#clock = clock;
  }

  /** Returns the current sums of the day and month in which a call began. */
  async periods(key: LimitedKey, startedAtMs: number): Promise<Periods> {
    const today = vietnamDay(startedAtMs);
    const spending = await this.#fresh(key, monthOf(today));
    return { day: sumOfDay(spending, today), month: spending.month };
  }

  #spending(keyId: ApiKeyId, month: string): Spending {
    const id = `${keyId} ${month}`;
    let spending = this.#spendings.get(id);
    if (spending === undefined) {
      if (this.#spendings.size >= maxLimitedKeysKept) this.#forgetIdle();
      spending = { month: noSum(), days: new Map(), readAtMs: -Infinity, reading: undefined };
      this.#spendings.set(id, spending);
    }
    return spending;
  }

  /** Removes months without running calls, but none that was just read: a call may be about to reserve against it. */
  #forgetIdle(): void {
    for (const [id, spending] of this.#spendings) {
      const isIdle = spending.month.reservedMicroVnd === 0n && spending.reading === undefined;
      if (isIdle && !this.#isFresh(spending)) this.#spendings.delete(id);
    }
  }

  #isFresh({ readAtMs }: Spending): boolean {
    return this.#clock.monotonicMs() - readAtMs <= keySpendingStaleMs;
  }

  async #read(key: LimitedKey, month: string, spending: Spending): Promise<void> {
    const askedAtMs = this.#clock.monotonicMs();
    const sums = () => [spending.month, ...spending.days.values()];
    for (const sum of sums()) sum.endedMeanwhileMicroVnd = 0n;
    const rows = await readUsage(this.#kv, key.accountId, {
      fromDay: `${month}-01`,
      toDay: `${month}-31`,
    });
    // A call that ended meanwhile may count twice until the next read. Too high a sum delays a call; too low a
    // sum would let the key exceed its limit.
    for (const sum of sums()) sum.settledMicroVnd = sum.endedMeanwhileMicroVnd;
    for (const { keyId, day, usage } of rows) {
      if (keyId !== key.id) continue;
      spending.month.settledMicroVnd += netCostMicroVnd(usage);
      sumOfDay(spending, day).settledMicroVnd += netCostMicroVnd(usage);
    }
    spending.readAtMs = askedAtMs;
  }

  /** Returns up-to-date sums of a month, with at most one read per key and month at a time. */
  #fresh(key: LimitedKey, month: string): Spending | Promise<Spending> {
    const spending = this.#spending(key.id, month);
    if (this.#isFresh(spending)) return spending;
    spending.reading ??= this.#read(key, month, spending)
      .finally(() => spending.reading = undefined);
    return spending.reading.then(() => spending);
  }
}

// Enforces the spending limits that the owner of a key sets per day and month (Vietnam time), before
// a call is admitted.
//
// Running calls count with the most they may cost, so many calls at once cannot exceed a limit. The
// spending of other instances and refunds are read every few seconds: between two reads a key can
// exceed its limit by what other instances admit. A call counts in the day and month of its start,
// like its receipt, however late it is admitted or ends; a refund counts in the period of its call.

/** The refusal of a call that a limit of its key does not allow. */
export interface LimitRefusal {
  readonly ok: false;
  readonly reason: "key_limit";
  readonly period: PeriodLimitSet["window"];
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
class KeyLimits {
  /** Reserves an amount, or returns the limit that forbids it. */
  reserve(
    key: LimitedKey,
    periods: Periods,
    amountMicroVnd: bigint,
  ): LimitRefusal | undefined {
    for (const { window: period, limitMicroVnd } of periodLimitsOf(key)) {
      const { settledMicroVnd, reservedMicroVnd } = periods[period];
      const spentMicroVnd = settledMicroVnd + reservedMicroVnd;
      if (spentMicroVnd + amountMicroVnd > limitMicroVnd) {
        return { ok: false, reason: "key_limit", period, limitMicroVnd, spentMicroVnd };
      }
    }
    for (const sum of eachSum(periods)) sum.reservedMicroVnd += amountMicroVnd;
    return undefined;
  }

  release(periods: Periods, amountMicroVnd: bigint): void {
    for (const sum of eachSum(periods)) {
      sum.reservedMicroVnd -= amountMicroVnd;
      invariant(sum.reservedMicroVnd >= 0n, "the reserved amount of a key is never negative");
    }
  }

  /** Whether the limits would allow an amount if no call had reserved of them, and one has. */
  isHeld(key: LimitedKey, periods: Periods, amountMicroVnd: bigint): boolean {
    return periods.month.reservedMicroVnd > 0n &&
      periodLimitsOf(key).every(({ window, limitMicroVnd }) =>
        periods[window].settledMicroVnd + amountMicroVnd <= limitMicroVnd
      );
  }

  /** Returns how much of `amountMicroVnd` the limits of a key still allow. */
  roomMicroVnd(
    { key, ...periods }: Omit<KeyReservation, "amountMicroVnd">,
    amountMicroVnd: bigint,
  ): bigint {
    let room = amountMicroVnd;
    for (const { window, limitMicroVnd } of periodLimitsOf(key)) {
      const { settledMicroVnd, reservedMicroVnd } = periods[window];
      const left = limitMicroVnd - settledMicroVnd - reservedMicroVnd;
      if (left < room) room = left;
    }
    return room;
  }

  /** Replaces the reservation of a call that ended by its cost. */
  end(reservation: KeyReservation, costMicroVnd: bigint): void {
    this.release(reservation, reservation.amountMicroVnd);
    for (const sum of eachSum(reservation)) {
      sum.settledMicroVnd += costMicroVnd;
      sum.endedMeanwhileMicroVnd += costMicroVnd;
    }
  }
}

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
