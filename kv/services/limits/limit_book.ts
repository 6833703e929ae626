/**
 * What keys use of their limits of a day or month, as calls reserve and end. Threads of one process share one book, so
 * that a limit holds over all of them; another thread reaches it by messages.
 */
import {
  fittingMicroVnd,
  rangeOf,
  type ReservationAmount,
  type ReservationRange,
} from "../../../core/billing/reservation_range.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import type { ApiKeyId } from "../../../core/lib/ids/ids.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import {
  type PeriodLimitName,
  type PeriodLimits,
  type PeriodLimitSet,
  periodLimitsOf,
  type PeriodMeter,
} from "../../../core/limits/limit_table.ts";
import { systemTimer, type Timer } from "../../../core/lib/time/deadlines.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import { vietnamDay, vietnamPeriodEndMs } from "../../../core/lib/time/vietnam_time.ts";
import { netCostMicroVnd, readUsage } from "../../money/ledger/usage.ts";
import type { ApiKeyRecord } from "../../people/api_keys/api_keys.ts";

// What is counted: the money and the images of calls.

/** Amounts by what is counted: money in µVND, images by number. */
export type PeriodAmounts = Readonly<Record<PeriodMeter, bigint>>;

/** Nothing of anything. */
export const noAmounts: PeriodAmounts = { money: 0n, images: 0n };

/** Amounts of a call. No limit of what is absent binds it. */
type CallAmounts = { readonly [Meter in PeriodMeter]?: bigint | undefined };

function plus(amounts: PeriodAmounts, more: CallAmounts, times = 1n): PeriodAmounts {
  const { money, images } = amounts;
  return {
    money: money + times * (more.money ?? 0n),
    images: images + times * (more.images ?? 0n),
  };
}

/** Returns what a receipt, or a sum of receipts of one model, counts. */
export function amountsOf(
  { kind, units, costMicroVnd }: Pick<Receipt, "units" | "costMicroVnd"> & {
    readonly kind: Receipt["kind"] | undefined;
  },
): PeriodAmounts {
  return { money: costMicroVnd, images: kind === "image" ? BigInt(units) : 0n };
}

// Remembers what each key with limits has used in a month and on its days (Vietnam time), and reads it
// again every few seconds, since other instances serve calls of the same key and refunds arrive.

/** Months of keys whose use is remembered per instance; bounds the memory. */
const maxLimitedKeysKept = 10_000;

/** Milliseconds after which the remembered use of a key is read again. */
const keyUseStaleMs = 5_000;

/** What is needed of a key to enforce its limits. */
export type LimitedKey = Pick<ApiKeyRecord, "id" | "accountId" | keyof PeriodLimits>;

/** What one key used in a day or a month, as far as this instance knows. */
interface PeriodSum {
  settled: PeriodAmounts;
  reserved: PeriodAmounts;
  /** Of calls that ended while the store was being read, which the read may have missed. */
  endedMeanwhile: PeriodAmounts;
}

/** The sums of one key: of a month, and of the days on which it used something. */
interface KeyUse {
  readonly month: PeriodSum;
  readonly days: Map<string, PeriodSum>;
  readAtMs: number;
  reading: Promise<void> | undefined;
}

/** The sums of the day and month that a call counts in. */
interface Periods extends Readonly<Record<PeriodLimitSet["window"], PeriodSum>> {
  readonly startedAtMs: number;
}

function eachSum({ day, month }: Periods): PeriodSum[] {
  return [day, month];
}

function noSum(): PeriodSum {
  return { settled: noAmounts, reserved: noAmounts, endedMeanwhile: noAmounts };
}

function sumOfDay(use: KeyUse, day: string): PeriodSum {
  const known = use.days.get(day);
  if (known !== undefined) return known;
  const sum = noSum();
  use.days.set(day, sum);
  return sum;
}

function monthOf(day: string): string {
  return day.slice(0, 7);
}

/** What the book depends on. */
export interface LimitBookDeps {
  readonly kv: KeyValueStore;
  readonly clock: Clock;
  readonly timer?: Timer;
  /** The kind of a model; `undefined` if it has left the catalogue: then what it made counts as money alone. */
  readonly kindOf: (model: string) => Receipt["kind"] | undefined;
}

/** The use of all keys with limits that this instance has served. */
class KeyUses {
  readonly #deps: LimitBookDeps;
  /** By key and month: a call that began before the turn of a month counts in the month of its start. */
  readonly #uses = new Map<string, KeyUse>();

  constructor(deps: LimitBookDeps) {
    this.#deps = deps;
  }

  /** Returns the current sums of the day and month in which a call began. */
  async periods(key: LimitedKey, startedAtMs: number): Promise<Periods> {
    const today = vietnamDay(startedAtMs);
    const use = await this.#fresh(key, monthOf(today));
    return { day: sumOfDay(use, today), month: use.month, startedAtMs };
  }

  #useOf(keyId: ApiKeyId, month: string): KeyUse {
    const id = `${keyId} ${month}`;
    let use = this.#uses.get(id);
    if (use === undefined) {
      if (this.#uses.size >= maxLimitedKeysKept) this.#forgetIdle();
      use = { month: noSum(), days: new Map(), readAtMs: -Infinity, reading: undefined };
      this.#uses.set(id, use);
    }
    return use;
  }

  /** Removes months without running calls, but none that was just read: a call may be about to reserve against it. */
  #forgetIdle(): void {
    for (const [id, use] of this.#uses) {
      const { money, images } = use.month.reserved;
      const isIdle = money === 0n && images === 0n && use.reading === undefined;
      if (isIdle && !this.#isFresh(use)) this.#uses.delete(id);
    }
  }

  #isFresh({ readAtMs }: KeyUse): boolean {
    return this.#deps.clock.monotonicMs() - readAtMs <= keyUseStaleMs;
  }

  async #read(key: LimitedKey, month: string, use: KeyUse): Promise<void> {
    const { kv, clock, kindOf } = this.#deps;
    const askedAtMs = clock.monotonicMs();
    const sums = () => [use.month, ...use.days.values()];
    for (const sum of sums()) sum.endedMeanwhile = noAmounts;
    const rows = await readUsage(kv, key.accountId, {
      fromDay: `${month}-01`,
      toDay: `${month}-31`,
    });
    // A call that ended meanwhile may count twice until the next read. Too high a sum delays a call; too low a
    // sum would let the key exceed its limit.
    for (const sum of sums()) sum.settled = sum.endedMeanwhile;
    for (const { keyId, day, model, usage } of rows) {
      if (keyId !== key.id) continue;
      const costMicroVnd = netCostMicroVnd(usage);
      const used = amountsOf({ kind: kindOf(model), units: usage.units, costMicroVnd });
      for (const sum of [use.month, sumOfDay(use, day)]) sum.settled = plus(sum.settled, used);
    }
    use.readAtMs = askedAtMs;
  }

  /** Returns up-to-date sums of a month, with at most one read per key and month at a time. */
  #fresh(key: LimitedKey, month: string): KeyUse | Promise<KeyUse> {
    const use = this.#useOf(key.id, month);
    if (this.#isFresh(use)) return use;
    use.reading ??= this.#read(key, month, use).finally(() => use.reading = undefined);
    return use.reading.then(() => use);
  }
}

// Enforces the limits that the owner of a key sets per day and month (Vietnam time), before a call is
// admitted.
//
// Running calls count with the most that they may use, so many calls at once cannot exceed a limit.
// The use of other instances and refunds are read every few seconds: between two reads a key can
// exceed its limit by what other instances admit. A call counts in the day and month of its start,
// like its receipt, however late it is admitted or ends; a refund counts in the period of its call.

/** The refusal of a call that a limit of its key does not allow. */
export interface LimitRefusal {
  readonly ok: false;
  readonly reason: "key_limit";
  readonly limitName: PeriodLimitName;
  readonly limit: bigint;
  /** Used and reserved in that period. */
  readonly used: bigint;
  /** What the call needs of the limit. */
  readonly needed: bigint;
  /** When the period ends. */
  readonly endsInMs: number;
  /** The limit would allow the call if no other call had reserved of it, and the call has waited for them. */
  readonly isHeld?: boolean;
}

/** What one running call has reserved of the limits of its key. */
interface KeyReservation {
  readonly key: LimitedKey;
  readonly periods: Periods;
  amounts: PeriodAmounts;
}

/** The limits of money of a key. */
function moneyLimitsOf(key: LimitedKey): PeriodLimitSet[] {
  return periodLimitsOf(key).filter(({ meter }) => meter === "money");
}

/** The reservations of running calls against the limits of their keys. */
class KeyLimits {
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns the limit that forbids some amounts, if one does. */
  refusal(key: LimitedKey, periods: Periods, amounts: CallAmounts): LimitRefusal | undefined {
    for (const { limitName, meter, window, limit } of periodLimitsOf(key)) {
      const needed = amounts[meter];
      if (needed === undefined) continue;
      const { settled, reserved } = periods[window];
      const used = settled[meter] + reserved[meter];
      if (used + needed <= limit) continue;
      const endsInMs = vietnamPeriodEndMs(window, periods.startedAtMs) - this.#clock.nowMs();
      return { ok: false, reason: "key_limit", limitName, limit, used, needed, endsInMs };
    }
    return undefined;
  }

  /** Reserves amounts, or returns the limit that forbids them. */
  reserve(key: LimitedKey, periods: Periods, amounts: CallAmounts): LimitRefusal | undefined {
    const refused = this.refusal(key, periods, amounts);
    if (refused !== undefined) return refused;
    for (const sum of eachSum(periods)) sum.reserved = plus(sum.reserved, amounts);
    return undefined;
  }

  release(periods: Periods, amounts: CallAmounts): void {
    for (const sum of eachSum(periods)) {
      sum.reserved = plus(sum.reserved, amounts, -1n);
      const { money, images } = sum.reserved;
      invariant(money >= 0n && images >= 0n, "what a key has reserved is never negative");
    }
  }

  /** Whether the limits would allow an amount if no call had reserved of them, and one has. */
  isHeld(key: LimitedKey, periods: Periods, amountMicroVnd: bigint): boolean {
    return periods.month.reserved.money > 0n &&
      moneyLimitsOf(key).every(({ window, limit }) =>
        periods[window].settled.money + amountMicroVnd <= limit
      );
  }

  /** Returns how much of `amountMicroVnd` the limits of a key still allow. */
  roomMicroVnd(key: LimitedKey, periods: Periods, amountMicroVnd: bigint): bigint {
    let room = amountMicroVnd;
    for (const { window, limit } of moneyLimitsOf(key)) {
      const { settled, reserved } = periods[window];
      const left = limit - settled.money - reserved.money;
      if (left < room) room = left;
    }
    return room;
  }

  /** Replaces the reservation of a call that ended by what it used. */
  end({ periods, amounts }: KeyReservation, used: PeriodAmounts): void {
    this.release(periods, amounts);
    for (const sum of eachSum(periods)) {
      sum.settled = plus(sum.settled, used);
      sum.endedMeanwhile = plus(sum.endedMeanwhile, used);
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
  /** Replaces the reservation by what the call used. Safe to call twice. */
  end(used: PeriodAmounts): void;
}

/** What a call wants of the limits of its key. */
export interface PeriodNeed {
  readonly money: ReservationAmount;
  /** Images that it asks for. Absent: it is no call for images, and their limits do not bind it. */
  readonly images?: number | undefined;
}

/** The reservations of running calls against the limits of their keys. */
export interface KeyLimitBook {
  /**
   * Reserves what a call needs to begin: of a range of money, what `fittingMicroVnd` says. A call with a range waits for
   * others that have reserved of the limit.
   *
   * @param startedAtMs decides the day and month that the call counts in
   */
  begin(
    key: LimitedKey,
    need: PeriodNeed,
    startedAtMs: number,
  ): Promise<LimitRefusal | BegunCall>;
}

/** A call that the limits of its key allow. */
export interface BegunCall {
  readonly ok: true;
  readonly call: LimitedCall;
  /** The money that is reserved of the limits. */
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
    const { key, periods } = reservation;
    const room = this.#limits.roomMicroVnd(key, periods, askedMicroVnd);
    const amountMicroVnd = room > 0n ? room : askedMicroVnd;
    const more = { money: amountMicroVnd };
    const refusal = this.#limits.reserve(key, periods, more);
    if (refusal !== undefined) return refusal;
    // A call that ended meanwhile has released its reservation; this part must follow.
    if (this.#hasEnded) this.#limits.release(periods, more);
    else reservation.amounts = plus(reservation.amounts, more);
    return { ok: true, amountMicroVnd };
  }

  giveBack(amountMicroVnd: bigint): void {
    if (this.#hasEnded) return;
    const part = { money: amountMicroVnd };
    this.#reservation.amounts = plus(this.#reservation.amounts, part, -1n);
    this.#limits.release(this.#reservation.periods, part);
    if (amountMicroVnd > 0n) this.#onFreed();
  }

  end(used: PeriodAmounts): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#limits.end(this.#reservation, used);
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
export function openKeyLimitBook(deps: LimitBookDeps): KeyLimitBook {
  const { clock, timer = systemTimer } = deps;
  const uses = new KeyUses(deps);
  const limits = new KeyLimits(clock);
  const waiting = new WaitingCalls();

  /** Reserves what a call can have; `undefined` if it should wait for others. */
  function book(
    key: LimitedKey,
    periods: Periods,
    { range, images }: { readonly range: ReservationRange; readonly images: bigint | undefined },
    canWait: boolean,
  ): LimitRefusal | BegunCall | undefined {
    // First, since a call that may make no images has no money to wait for.
    const refusedImages = limits.refusal(key, periods, { images });
    if (refusedImages !== undefined) return refusedImages;
    const { wantedMicroVnd, leastMicroVnd } = range;
    const isHeld = limits.isHeld(key, periods, leastMicroVnd);
    const mayWait = canWait && isHeld;
    const roomMicroVnd = limits.roomMicroVnd(key, periods, wantedMicroVnd);
    const isAlone = periods.month.reserved.money === 0n;
    const free = { ownMicroVnd: roomMicroVnd, budgetMicroVnd: roomMicroVnd, isAlone };
    const fitting = fittingMicroVnd(range, free, !mayWait);
    if (fitting === undefined && mayWait) return undefined;
    const amountMicroVnd = fitting ?? leastMicroVnd;
    const amounts = { money: amountMicroVnd, images };
    const refusal = limits.reserve(key, periods, amounts);
    if (refusal !== undefined) {
      return isHeld && leastMicroVnd < wantedMicroVnd ? { ...refusal, isHeld } : refusal;
    }
    const reservation = { key, periods, amounts: plus(noAmounts, amounts) };
    const call = new BookedCall(limits, reservation, () => waiting.freed(key.id));
    return { ok: true, call, amountMicroVnd };
  }

  return {
    async begin(key, need, startedAtMs) {
      const range = rangeOf(need.money);
      const images = need.images === undefined ? undefined : BigInt(need.images);
      let canWait = range.waits !== false && range.leastMicroVnd < range.wantedMicroVnd &&
        !waiting.isFull(key.id);
      let wake = () => {};
      let stopTimer: (() => void) | undefined;
      try {
        for (;;) {
          const periods = await uses.periods(key, startedAtMs);
          const begun = book(key, periods, { range, images }, canWait);
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
