/**
 * What the owner of a key allows it to spend per day and month (Vietnam time), held to before a call is admitted.
 *
 * Calls in flight count with the most they may cost, so a limit is never passed by many calls at once. What other
 * instances spend, and what was refunded, is learned every few seconds: between two looks a key can pass its limit by
 * what others admit. A refund counts in the period of its call.
 */
import { invariant } from "../core/assert.ts";
import type { Clock } from "../core/clock.ts";
import type { ApiKeyId } from "../core/ids.ts";
import { limits } from "../core/limits.ts";
import type { Receipt } from "../core/receipt.ts";
import { vietnamDay } from "../core/vietnam_time.ts";
import type { ApiKeyRecord } from "./api_keys.ts";
import type { Reservation, ReserveResult, Teller } from "./teller/mod.ts";
import { netCostMicroVnd, readUsage } from "./usage.ts";

/** A call that the key's own limit does not allow. */
export interface LimitRefusal {
  readonly ok: false;
  readonly reason: "key_limit";
  readonly period: "day" | "month";
  readonly limitMicroVnd: bigint;
  /** Spent and promised in that period. */
  readonly spentMicroVnd: bigint;
}

/** A teller that also holds keys to their own limits. */
export interface KeyedTeller extends Teller {
  /** Like {@linkcode Teller.reserve}, for a call with this key. */
  reserveFor(
    key: ApiKeyRecord,
    amountMicroVnd: bigint,
  ): ReserveResult | LimitRefusal | Promise<ReserveResult | LimitRefusal>;
}

/** What one key spent, as far as this instance knows. */
interface Spending {
  day: string;
  dayMicroVnd: bigint;
  monthMicroVnd: bigint;
  heldMicroVnd: bigint;
  /** What calls cost that ended while the store is read: the reading may have come too early to see them. */
  endedMeanwhileMicroVnd: bigint;
  readAtMs: number;
  reading: Promise<void> | undefined;
}

function monthOf(day: string): string {
  return day.slice(0, 7);
}

class KeyLimits {
  readonly #kv: Deno.Kv;
  readonly #clock: Clock;
  readonly #spendings = new Map<ApiKeyId, Spending>();
  readonly #holds = new WeakMap<Reservation, { spending: Spending; amountMicroVnd: bigint }>();

  constructor(kv: Deno.Kv, clock: Clock) {
    this.#kv = kv;
    this.#clock = clock;
  }

  #spending(keyId: ApiKeyId): Spending {
    let spending = this.#spendings.get(keyId);
    if (spending === undefined) {
      if (this.#spendings.size >= limits.limitedKeysKept) this.#forgetIdle();
      spending = {
        day: "",
        dayMicroVnd: 0n,
        monthMicroVnd: 0n,
        heldMicroVnd: 0n,
        endedMeanwhileMicroVnd: 0n,
        readAtMs: -Infinity,
        reading: undefined,
      };
      this.#spendings.set(keyId, spending);
    }
    return spending;
  }

  #forgetIdle(): void {
    for (const [keyId, spending] of this.#spendings) {
      if (spending.heldMicroVnd === 0n) this.#spendings.delete(keyId);
    }
  }

  async #read(key: ApiKeyRecord, spending: Spending): Promise<void> {
    const day = vietnamDay(this.#clock.nowMs());
    const askedAtMs = this.#clock.monotonicMs();
    spending.endedMeanwhileMicroVnd = 0n;
    const rows = await readUsage(this.#kv, key.accountId, {
      fromDay: `${monthOf(day)}-01`,
      toDay: day,
    });
    let dayMicroVnd = 0n;
    let monthMicroVnd = 0n;
    for (const row of rows) {
      if (row.keyId !== key.id) continue;
      monthMicroVnd += netCostMicroVnd(row.usage);
      if (row.day === day) dayMicroVnd += netCostMicroVnd(row.usage);
    }
    spending.day = day;
    // What the reading has seen already counts twice until the next one: too much is a late call, too little is money.
    spending.dayMicroVnd = dayMicroVnd + spending.endedMeanwhileMicroVnd;
    spending.monthMicroVnd = monthMicroVnd + spending.endedMeanwhileMicroVnd;
    spending.readAtMs = askedAtMs;
  }

  /** Brings the figures up to date; at most one read per key at a time. */
  fresh(key: ApiKeyRecord): Spending | Promise<Spending> {
    const spending = this.#spending(key.id);
    const isFresh = this.#clock.monotonicMs() - spending.readAtMs <= limits.keySpendingStaleMs &&
      spending.day === vietnamDay(this.#clock.nowMs());
    if (isFresh) return spending;
    spending.reading ??= this.#read(key, spending).finally(() => spending.reading = undefined);
    return spending.reading.then(() => spending);
  }

  /** Promises an amount, or says which limit forbids it. */
  hold(key: ApiKeyRecord, spending: Spending, amountMicroVnd: bigint): LimitRefusal | undefined {
    const checks = [
      ["day", key.dailyLimitMicroVnd, spending.dayMicroVnd],
      ["month", key.monthlyLimitMicroVnd, spending.monthMicroVnd],
    ] as const;
    for (const [period, limitMicroVnd, settledMicroVnd] of checks) {
      const spentMicroVnd = settledMicroVnd + spending.heldMicroVnd;
      if (limitMicroVnd !== undefined && spentMicroVnd + amountMicroVnd > limitMicroVnd) {
        return { ok: false, reason: "key_limit", period, limitMicroVnd, spentMicroVnd };
      }
    }
    spending.heldMicroVnd += amountMicroVnd;
    return undefined;
  }

  unhold(spending: Spending, amountMicroVnd: bigint): void {
    spending.heldMicroVnd -= amountMicroVnd;
    invariant(spending.heldMicroVnd >= 0n, "a key never holds less than nothing");
  }

  bind(reservation: Reservation, spending: Spending, amountMicroVnd: bigint): void {
    this.#holds.set(reservation, { spending, amountMicroVnd });
  }

  /** Whether a reservation counts against limits. */
  isBound(reservation: Reservation): boolean {
    return this.#holds.has(reservation);
  }

  /** A call ended: what it held becomes what it cost. */
  end(reservation: Reservation, costMicroVnd: bigint): void {
    const hold = this.#holds.get(reservation);
    if (hold === undefined) return;
    this.#holds.delete(reservation);
    this.unhold(hold.spending, hold.amountMicroVnd);
    hold.spending.dayMicroVnd += costMicroVnd;
    hold.spending.monthMicroVnd += costMicroVnd;
    hold.spending.endedMeanwhileMicroVnd += costMicroVnd;
  }
}

function isLimited(key: ApiKeyRecord): boolean {
  return key.dailyLimitMicroVnd !== undefined || key.monthlyLimitMicroVnd !== undefined;
}

/** Adds the limits of keys to a teller. Keys without limits cost nothing. */
export function withKeyLimits(teller: Teller, kv: Deno.Kv, clock: Clock): KeyedTeller {
  const keyLimits = new KeyLimits(kv, clock);

  async function reserveLimited(
    key: ApiKeyRecord,
    amountMicroVnd: bigint,
  ): Promise<ReserveResult | LimitRefusal> {
    const spending = await keyLimits.fresh(key);
    const refusal = keyLimits.hold(key, spending, amountMicroVnd);
    if (refusal !== undefined) return refusal;
    let result: ReserveResult | undefined;
    try {
      result = await teller.reserve(key.accountId, amountMicroVnd);
    } finally {
      if (result?.ok !== true) keyLimits.unhold(spending, amountMicroVnd);
    }
    if (result.ok) keyLimits.bind(result.reservation, spending, amountMicroVnd);
    return result;
  }

  async function settleLimited(...call: Parameters<Teller["settle"]>): Promise<Receipt> {
    const [reservation] = call;
    try {
      const receipt = await teller.settle(...call);
      keyLimits.end(reservation, receipt.costMicroVnd);
      return receipt;
    } catch (error) {
      // Nobody knows yet what it cost; the next look at the store tells.
      keyLimits.end(reservation, 0n);
      throw error;
    }
  }

  return {
    get instanceId() {
      return teller.instanceId;
    },
    get healthy() {
      return teller.healthy;
    },
    reserve: (accountId, amountMicroVnd) => teller.reserve(accountId, amountMicroVnd),
    reserveFor: (key, amountMicroVnd) =>
      isLimited(key)
        ? reserveLimited(key, amountMicroVnd)
        : teller.reserve(key.accountId, amountMicroVnd),
    settle: (reservation, draft, attach) =>
      keyLimits.isBound(reservation)
        ? settleLimited(reservation, draft, attach)
        : teller.settle(reservation, draft, attach),
    release(reservation) {
      teller.release(reservation);
      keyLimits.end(reservation, 0n);
    },
    balance: (accountId) => teller.balance(accountId),
    heartbeat: () => teller.heartbeat(),
    indexOnce: () => teller.indexOnce(),
    close: () => teller.close(),
  };
}
