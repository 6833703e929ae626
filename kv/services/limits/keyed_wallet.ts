/** A wallet engine that also enforces the limits of keys of a day or month. Keys without limits cost nothing. */
import { limitsAnyPeriod, pickPeriodLimits } from "../../../core/limits/limit_table.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import {
  rangeOf,
  rangeWithin,
  type ReservationAmount,
} from "../../../core/billing/reservation_range.ts";
import type {
  Extension,
  Refusal,
  Reservation,
  ReserveResult,
  WalletEngine,
} from "../../money/wallet/mod.ts";
import type { ApiKeyRecord } from "../../people/api_keys/api_keys.ts";
import {
  amountsOf,
  type KeyLimitBook,
  type LimitedCall,
  type LimitRefusal,
  noAmounts,
  type PeriodAmounts,
  type PeriodNeed,
} from "./limit_book.ts";

/** What keeps a call from getting the largest amount of its range. */
export type AmountBound = "balance" | "key_limit";

/** A reservation for a call with a key. */
export interface KeyedReservation {
  readonly ok: true;
  readonly reservation: Reservation;
  /** Set if the reservation is smaller than the largest amount. */
  readonly boundBy?: AmountBound | undefined;
}

/** The result of a reservation for a call with a key. */
export type KeyedReserveResult = KeyedReservation | Refusal | LimitRefusal;

/** The result of reserving more for a running call with a key. */
export type KeyedExtension = Extension | (LimitRefusal & { readonly outcome: "key_limit" });

/** A wallet engine that also enforces the limits of keys. */
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
   * @param startedAtMs start of the call, which decides the day and month that it counts in
   */
  reserveFor(
    key: ApiKeyRecord,
    need: PeriodNeed,
    startedAtMs: number,
  ): KeyedReserveResult | Promise<KeyedReserveResult>;
}

/** Adds the enforcement of key limits to a wallet engine. */
export function withKeyLimits(wallet: WalletEngine, book: KeyLimitBook): KeyedWalletEngine {
  const limitedCalls = new WeakMap<Reservation, LimitedCall>();

  async function reserveLimited(
    key: ApiKeyRecord,
    need: PeriodNeed,
    startedAtMs: number,
  ): Promise<KeyedReserveResult> {
    const { id, accountId } = key;
    const limited = { id, accountId, ...pickPeriodLimits(key) };
    const begun = await book.begin(limited, need, startedAtMs);
    if (!begun.ok) return begun;
    const { call, amountMicroVnd } = begun;
    const range = rangeOf(need.money);
    let result: ReserveResult | undefined;
    try {
      result = await wallet.reserve(accountId, rangeWithin(range, amountMicroVnd));
    } finally {
      if (result?.ok !== true) call.end(noAmounts);
    }
    if (!result.ok) return result;
    const { reservation } = result;
    limitedCalls.set(reservation, call);
    const reservedMicroVnd = reservation.amountMicroVnd;
    if (reservedMicroVnd < amountMicroVnd) {
      call.giveBack(amountMicroVnd - reservedMicroVnd);
      return { ...result, boundBy: "balance" };
    }
    return { ...result, boundBy: amountMicroVnd < range.wantedMicroVnd ? "key_limit" : undefined };
  }

  function reserveUnlimited(
    accountId: ApiKeyRecord["accountId"],
    amount: ReservationAmount,
  ): KeyedReserveResult | Promise<KeyedReserveResult> {
    const bounded = (result: ReserveResult): KeyedReserveResult =>
      result.ok && result.reservation.amountMicroVnd < rangeOf(amount).wantedMicroVnd
        ? { ...result, boundBy: "balance" }
        : result;
    const result = wallet.reserve(accountId, amount);
    return result instanceof Promise ? result.then(bounded) : bounded(result);
  }

  async function extendLimited(
    call: LimitedCall,
    [reservation, askedMicroVnd, waitMs]: Parameters<WalletEngine["extend"]>,
  ): Promise<KeyedExtension> {
    const grant = await call.extend(askedMicroVnd);
    if (!grant.ok) return { ...grant, outcome: "key_limit" };
    let gotMicroVnd = 0n;
    try {
      const extension = await wallet.extend(reservation, grant.amountMicroVnd, waitMs);
      if (extension.outcome === "granted") gotMicroVnd = extension.amountMicroVnd;
      return extension;
    } finally {
      call.giveBack(grant.amountMicroVnd - gotMicroVnd);
    }
  }

  function end(reservation: Reservation, used: PeriodAmounts): void {
    limitedCalls.get(reservation)?.end(used);
    limitedCalls.delete(reservation);
  }

  async function settleLimited(...call: Parameters<WalletEngine["settle"]>): Promise<Receipt> {
    const [reservation] = call;
    try {
      const receipt = await wallet.settle(...call);
      end(reservation, amountsOf(receipt));
      return receipt;
    } catch (error) {
      // What it used is unknown until the next read of the store.
      end(reservation, noAmounts);
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
    reserve: (accountId, amount, waitMs) => wallet.reserve(accountId, amount, waitMs),
    reserveFor: (key, need, startedAtMs) =>
      limitsAnyPeriod(key, need)
        ? reserveLimited(key, need, startedAtMs)
        : reserveUnlimited(key.accountId, need.money),
    extend: (...args) => wallet.extend(...args),
    extendFor(...args) {
      const call = limitedCalls.get(args[0]);
      return call === undefined ? wallet.extend(...args) : extendLimited(call, args);
    },
    settle: (...call) =>
      limitedCalls.has(call[0]) ? settleLimited(...call) : wallet.settle(...call),
    release(reservation) {
      wallet.release(reservation);
      end(reservation, noAmounts);
    },
    balance: (accountId) => wallet.balance(accountId),
    heartbeat: () => wallet.heartbeat(),
    indexOnce: () => wallet.indexOnce(),
    close: () => wallet.close(),
  };
}
