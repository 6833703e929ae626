/**
 * What the owner of a key allows it to spend per day and month (Vietnam time), held to before a call is admitted.
 *
 * Calls in flight count with the most they may cost, so a limit is never passed by many calls at once. What other
 * instances spend, and what was refunded, is learned every few seconds: between two looks a key can pass its limit by
 * what others admit. A call counts in the day and month in which it began, as its receipt does, however late it is
 * admitted or ends; a refund counts in the period of its call.
 */
import { invariant } from "../../core/lib/assert.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import type { ApiKeyId } from "../../core/lib/ids.ts";
import type { Receipt } from "../../core/billing/receipt.ts";
import { vietnamDay } from "../../core/lib/time/vietnam_time.ts";
import type { ApiKeyRecord } from "./api_keys.ts";
import type { Extension, Reservation, ReserveResult, WalletEngine } from "../wallet/mod.ts";
import { netCostMicroVnd, readUsage } from "../receipts/usage.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";

/** API keys with limits of their own whose spending is remembered per instance. */
const maxLimitedKeysKept = 10_000;

/**
 * Milliseconds after which the remembered spending of a key is read again: other instances spend with it too.
 */
const keySpendingStaleMs = 5_000;

/** A call that the key's own limit does not allow. */
export interface LimitRefusal {
  readonly ok: false;
  readonly reason: "key_limit";
  readonly period: "day" | "month";
  readonly limitMicroVnd: bigint;
  /** Spent and promised in that period. */
  readonly spentMicroVnd: bigint;
}

/** What became of an attempt to reserve more for a call with a key. */
export type KeyedExtension = Extension | (LimitRefusal & { readonly outcome: "key_limit" });

/** A wallet engine that also holds keys to their own limits. */
export interface KeyedWalletEngine extends WalletEngine {
  /** Like {@linkcode WalletEngine.extend}, for a call of {@linkcode reserveFor}. */
  extendFor(
    reservation: Reservation,
    amountMicroVnd: bigint,
    waitMs: number,
  ): KeyedExtension | Promise<KeyedExtension>;

  /**
   * Like {@linkcode WalletEngine.reserve}, for a call with this key.
   *
   * @param startedAtMs when the call began: the time of its receipt, and so the day and month that it counts in
   */
  reserveFor(
    key: ApiKeyRecord,
    amountMicroVnd: bigint,
    startedAtMs: number,
  ): ReserveResult | LimitRefusal | Promise<ReserveResult | LimitRefusal>;
}

/** What one key spent in a day or a month, as far as this instance knows. */
interface PeriodSum {
  settledMicroVnd: bigint;
  reservedMicroVnd: bigint;
  /** What calls cost that ended while the store is read: the reading may have come too early to see them. */
  endedMeanwhileMicroVnd: bigint;
}

/** What one key spent in one month, and on those of its days that have anything. */
interface Spending {
  readonly month: PeriodSum;
  readonly days: Map<string, PeriodSum>;
  readAtMs: number;
  reading: Promise<void> | undefined;
}

/** The day and month that a call counts in. */
interface Periods {
  readonly day: PeriodSum;
  readonly month: PeriodSum;
}

/** What one call holds of the limits of its key. */
interface KeyReservation extends Periods {
  readonly key: ApiKeyRecord;
  amountMicroVnd: bigint;
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

class KeyLimits {
  readonly #kv: KeyValueStore;
  readonly #clock: Clock;
  /** By key and month: a call that began before the turn of a month is held to the limits of that one. */
  readonly #spendings = new Map<string, Spending>();
  readonly #reservations = new WeakMap<Reservation, KeyReservation>();

  constructor(kv: KeyValueStore, clock: Clock) {
    this.#kv = kv;
    this.#clock = clock;
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

  /** Forgets only what would be read again: somebody may be about to hold against what has just been read. */
  #forgetIdle(): void {
    for (const [id, spending] of this.#spendings) {
      const isIdle = spending.month.reservedMicroVnd === 0n && spending.reading === undefined;
      if (isIdle && !this.#isFresh(spending)) this.#spendings.delete(id);
    }
  }

  #isFresh({ readAtMs }: Spending): boolean {
    return this.#clock.monotonicMs() - readAtMs <= keySpendingStaleMs;
  }

  async #read(key: ApiKeyRecord, month: string, spending: Spending): Promise<void> {
    const askedAtMs = this.#clock.monotonicMs();
    const sums = () => [spending.month, ...spending.days.values()];
    for (const sum of sums()) sum.endedMeanwhileMicroVnd = 0n;
    const rows = await readUsage(this.#kv, key.accountId, {
      fromDay: `${month}-01`,
      toDay: `${month}-31`,
    });
    // What the reading has seen already counts twice until the next one: too much is a late call, too little is money.
    for (const sum of sums()) sum.settledMicroVnd = sum.endedMeanwhileMicroVnd;
    for (const { keyId, day, usage } of rows) {
      if (keyId !== key.id) continue;
      spending.month.settledMicroVnd += netCostMicroVnd(usage);
      sumOfDay(spending, day).settledMicroVnd += netCostMicroVnd(usage);
    }
    spending.readAtMs = askedAtMs;
  }

  /** Brings the figures of a month up to date; at most one read per key and month at a time. */
  fresh(key: ApiKeyRecord, month: string): Spending | Promise<Spending> {
    const spending = this.#spending(key.id, month);
    if (this.#isFresh(spending)) return spending;
    spending.reading ??= this.#read(key, month, spending)
      .finally(() => spending.reading = undefined);
    return spending.reading.then(() => spending);
  }

  /** Promises an amount, or says which limit forbids it. */
  reserve(
    key: ApiKeyRecord,
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
      invariant(sum.reservedMicroVnd >= 0n, "a key never reserves less than nothing");
    }
  }

  bind(reservation: Reservation, keyReservation: KeyReservation): void {
    this.#reservations.set(reservation, keyReservation);
  }

  /** What a reservation holds, while it counts against limits. */
  reservationOf(reservation: Reservation): KeyReservation | undefined {
    return this.#reservations.get(reservation);
  }

  /** What a key may still spend, at most `amountMicroVnd`. */
  roomMicroVnd({ key, day, month }: KeyReservation, amountMicroVnd: bigint): bigint {
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

  /** Whether a reservation counts against limits. */
  isBound(reservation: Reservation): boolean {
    return this.#reservations.has(reservation);
  }

  /** A call ended: what it held becomes what it cost. */
  end(reservation: Reservation, costMicroVnd: bigint): void {
    const keyReservation = this.#reservations.get(reservation);
    if (keyReservation === undefined) return;
    this.#reservations.delete(reservation);
    this.release(keyReservation, keyReservation.amountMicroVnd);
    for (const sum of [keyReservation.day, keyReservation.month]) {
      sum.settledMicroVnd += costMicroVnd;
      sum.endedMeanwhileMicroVnd += costMicroVnd;
    }
  }
}

function isLimited(key: ApiKeyRecord): boolean {
  return key.dailyLimitMicroVnd !== undefined || key.monthlyLimitMicroVnd !== undefined;
}

/** Adds the limits of keys to a wallet engine. Keys without limits cost nothing. */
export function withKeyLimits(
  wallet: WalletEngine,
  kv: KeyValueStore,
  clock: Clock,
): KeyedWalletEngine {
  const keyLimits = new KeyLimits(kv, clock);

  async function reserveLimited(
    key: ApiKeyRecord,
    amountMicroVnd: bigint,
    startedAtMs: number,
  ): Promise<ReserveResult | LimitRefusal> {
    const today = vietnamDay(startedAtMs);
    const spending = await keyLimits.fresh(key, monthOf(today));
    const day = sumOfDay(spending, today);
    const { month } = spending;
    const refusal = keyLimits.reserve(key, { day, month }, amountMicroVnd);
    if (refusal !== undefined) return refusal;
    let result: ReserveResult | undefined;
    try {
      result = await wallet.reserve(key.accountId, amountMicroVnd);
    } finally {
      if (result?.ok !== true) keyLimits.release({ day, month }, amountMicroVnd);
    }
    if (result.ok) keyLimits.bind(result.reservation, { key, day, month, amountMicroVnd });
    return result;
  }

  async function extendLimited(
    keyReservation: KeyReservation,
    [reservation, askedMicroVnd, waitMs]: Parameters<WalletEngine["extend"]>,
  ): Promise<KeyedExtension> {
    const room = keyLimits.roomMicroVnd(keyReservation, askedMicroVnd);
    const amountMicroVnd = room > 0n ? room : askedMicroVnd;
    const refusal = keyLimits.reserve(keyReservation.key, keyReservation, amountMicroVnd);
    if (refusal !== undefined) return { ...refusal, outcome: "key_limit" };
    let grantedMicroVnd = 0n;
    try {
      const extension = await wallet.extend(reservation, amountMicroVnd, waitMs);
      if (extension.outcome === "granted") grantedMicroVnd = extension.amountMicroVnd;
      return extension;
    } finally {
      // Ended meanwhile, its reservation has gone back, and this part must follow.
      const isOpen = keyLimits.isBound(reservation);
      if (isOpen) keyReservation.amountMicroVnd += grantedMicroVnd;
      keyLimits.release(keyReservation, isOpen ? amountMicroVnd - grantedMicroVnd : amountMicroVnd);
    }
  }

  async function settleLimited(...call: Parameters<WalletEngine["settle"]>): Promise<Receipt> {
    const [reservation] = call;
    try {
      const receipt = await wallet.settle(...call);
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
      return wallet.instanceId;
    },
    get healthy() {
      return wallet.healthy;
    },
    reserve: (accountId, amountMicroVnd, waitMs) =>
      wallet.reserve(accountId, amountMicroVnd, waitMs),
    reserveFor: (key, amountMicroVnd, startedAtMs) =>
      isLimited(key)
        ? reserveLimited(key, amountMicroVnd, startedAtMs)
        : wallet.reserve(key.accountId, amountMicroVnd),
    extend: (...args) => wallet.extend(...args),
    extendFor(...args) {
      const keyReservation = keyLimits.reservationOf(args[0]);
      return keyReservation === undefined
        ? wallet.extend(...args)
        : extendLimited(keyReservation, args);
    },
    settle: (reservation, draft, attach) =>
      keyLimits.isBound(reservation)
        ? settleLimited(reservation, draft, attach)
        : wallet.settle(reservation, draft, attach),
    release(reservation) {
      wallet.release(reservation);
      keyLimits.end(reservation, 0n);
    },
    balance: (accountId) => wallet.balance(accountId),
    heartbeat: () => wallet.heartbeat(),
    indexOnce: () => wallet.indexOnce(),
    close: () => wallet.close(),
  };
}
