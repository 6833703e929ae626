/**
 * The money of one call: what is reserved of the wallet, side by side with what is booked under the limits of its key and
 * the budgets of its account.
 */
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { rangeOf, rangeWithin } from "../../../core/billing/price.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import type { Budget } from "../../../core/limits/budgets.ts";
import { limitsAnyPeriod, pickPeriodLimits } from "../../../core/limits/limit_table.ts";
import type {
  Extension,
  Refusal,
  Reservation,
  ReserveResult,
  WalletEngine,
} from "../../../kv/money/wallet/mod.ts";
import type { ApiKeyRecord } from "../../../kv/people/api_keys/api_keys.ts";
import type {
  KeyLimitBook,
  LimitedCall,
  LimitedKey,
  LimitRefusal,
  PeriodNeed,
} from "../../../kv/services/limits/limit_book.ts";
import {
  amountsOf,
  noAmounts,
  type PeriodAmounts,
} from "../../../kv/services/limits/spent_sums.ts";

/** Bound that keeps a call from getting the largest amount of its range. */
export type AmountBound = "balance" | LimitRefusal["reason"];

/** The result of reserving more for a running call. */
export type MoneyExtension = Extension | (LimitRefusal & { readonly outcome: "limit" });

/** Key and budgets whose limits bind a call. */
export interface LimitedCaller {
  readonly key: ApiKeyRecord;
  /** The budgets that may refuse it; absent: none. */
  readonly budgets?: readonly Budget[] | undefined;
}

/** Sources of the money of calls. */
export interface MoneySources {
  readonly wallet: WalletEngine;
  readonly limits: KeyLimitBook;
}

/** The money of one call, until the call is settled or the money released. */
export class CallMoney {
  readonly ok = true;
  readonly reservation: Reservation;
  /** Set if the reservation is smaller than the largest amount. */
  readonly boundBy: AmountBound | undefined;
  readonly #wallet: WalletEngine;
  /** Absent if no limit of the key and no budget binds the call, and once the call has ended. */
  #booking: LimitedCall | undefined;
  #bookedMicroVnd: bigint;

  constructor(
    wallet: WalletEngine,
    reservation: Reservation,
    boundBy: AmountBound | undefined,
    booking: LimitedCall | undefined,
  ) {
    this.#wallet = wallet;
    this.reservation = reservation;
    this.boundBy = boundBy;
    this.#booking = booking;
    this.#bookedMicroVnd = reservation.amountMicroVnd;
  }

  /** Amount that is booked under the limits of the call; `undefined` if none binds it. */
  get bookedMicroVnd(): bigint | undefined {
    return this.#booking === undefined ? undefined : this.#bookedMicroVnd;
  }

  /** Reserves more of the wallet alone; see {@linkcode WalletEngine.extend}. */
  extendReservation(amountMicroVnd: bigint, waitMs: number): Extension | Promise<Extension> {
    return this.#wallet.extend(this.reservation, amountMicroVnd, waitMs);
  }

  /** Books more under the limits alone: all of an amount, or what is left. */
  async extendBooking(amountMicroVnd: bigint): Promise<MoneyExtension> {
    if (this.#booking === undefined) return { outcome: "exhausted" };
    const grant = await this.#booking.extend(amountMicroVnd);
    if (!grant.ok) return { ...grant, outcome: "limit" };
    this.#bookedMicroVnd += grant.amountMicroVnd;
    return { outcome: "granted", amountMicroVnd: grant.amountMicroVnd };
  }

  /** Reserves more; see {@linkcode WalletEngine.extend}. Synchronous where the wallet is and no limit binds the call. */
  extend(amountMicroVnd: bigint, waitMs: number): MoneyExtension | Promise<MoneyExtension> {
    return this.#booking === undefined
      ? this.extendReservation(amountMicroVnd, waitMs)
      : this.#extendBoth(this.#booking, amountMicroVnd, waitMs);
  }

  /** Asks the limits first, and gives them back what the wallet did not grant. */
  async #extendBoth(
    booking: LimitedCall,
    askedMicroVnd: bigint,
    waitMs: number,
  ): Promise<MoneyExtension> {
    const booked = await this.extendBooking(askedMicroVnd);
    if (booked.outcome !== "granted") return booked;
    let gotMicroVnd = 0n;
    try {
      const extension = await this.extendReservation(booked.amountMicroVnd, waitMs);
      if (extension.outcome === "granted") gotMicroVnd = extension.amountMicroVnd;
      return extension;
    } finally {
      const missingMicroVnd = booked.amountMicroVnd - gotMicroVnd;
      this.#bookedMicroVnd -= missingMicroVnd;
      booking.giveBack(missingMicroVnd);
    }
  }

  /**
   * Books the reservation under other limits and gives back those before. A refused call has nothing booked: it may be
   * booked again, or has to end.
   */
  async moveBooking(
    limits: KeyLimitBook,
    limited: LimitedCaller,
    startedAtMs: number,
  ): Promise<LimitRefusal | undefined> {
    this.#end(noAmounts);
    const { reservation: { amountMicroVnd } } = this;
    const need = { money: amountMicroVnd };
    if (limited.budgets === undefined && !limitsAnyPeriod(limited.key)) return undefined;
    const begun = await limits.begin(limitedKey(limited), need, startedAtMs);
    if (!begun.ok) return begun;
    this.#booking = begun.call;
    this.#bookedMicroVnd = begun.amountMicroVnd;
    return undefined;
  }

  /** Debits the call; see {@linkcode WalletEngine.settle}. */
  async settle(
    ...[draft, attach, withheld]: Tail<Parameters<WalletEngine["settle"]>>
  ): Promise<Receipt> {
    // What a call used whose settlement fails is unknown until the next read of the store.
    let used = noAmounts;
    try {
      const receipt = await this.#wallet.settle(this.reservation, draft, attach, withheld);
      used = amountsOf(receipt);
      return receipt;
    } finally {
      this.#end(used);
    }
  }

  /** Gives back all of it. */
  release(): void {
    this.#wallet.release(this.reservation);
    this.#end(noAmounts);
  }

  #end(used: PeriodAmounts): void {
    this.#booking?.end(used);
    this.#booking = undefined;
  }
}

type Tail<List extends readonly unknown[]> = List extends [unknown, ...infer Rest] ? Rest : never;

/**
 * Reserves money for a call with a key: within its limits and budgets, then of the wallet. Synchronous where the wallet
 * is and none of them binds the call.
 *
 * @param startedAtMs start of the call, which decides the day and month that it counts in
 */
export function reserveMoney(
  sources: MoneySources,
  limited: LimitedCaller,
  need: PeriodNeed,
  startedAtMs: number,
): ReservedMoney | Promise<ReservedMoney> {
  const { key, budgets } = limited;
  if (budgets !== undefined || limitsAnyPeriod(key, need.makes)) {
    return reserveBooked(sources, limited, need, startedAtMs);
  }
  const { wallet } = sources;
  const bounded = (result: ReserveResult): ReservedMoney => {
    if (!result.ok) return result;
    const { reservation } = result;
    const isLess = reservation.amountMicroVnd < rangeOf(need.money).wantedMicroVnd;
    return new CallMoney(wallet, reservation, isLess ? "balance" : undefined, undefined);
  };
  const result = wallet.reserve(key.accountId, need.money);
  return result instanceof Promise ? result.then(bounded) : bounded(result);
}

/** The result of a reservation. */
export type ReservedMoney = CallMoney | Refusal | LimitRefusal;

/** Returns the limits of a key and the budgets of its account, as the book reads them. */
function limitedKey({ key, budgets }: LimitedCaller): LimitedKey {
  const { id, accountId } = key;
  return { id, accountId, ...pickPeriodLimits(key), ...defined({ budgets }) };
}

async function reserveBooked(
  { wallet, limits }: MoneySources,
  limited: LimitedCaller,
  need: PeriodNeed,
  startedAtMs: number,
): Promise<ReservedMoney> {
  const { accountId } = limited.key;
  const begun = await limits.begin(limitedKey(limited), need, startedAtMs);
  if (!begun.ok) return begun;
  const { call: booking, amountMicroVnd } = begun;
  const range = rangeOf(need.money);
  let result: ReserveResult | undefined;
  try {
    result = await wallet.reserve(accountId, rangeWithin(range, amountMicroVnd));
  } finally {
    if (result?.ok !== true) booking.end(noAmounts);
  }
  if (!result.ok) return result;
  const { reservation } = result;
  const missingMicroVnd = amountMicroVnd - reservation.amountMicroVnd;
  if (missingMicroVnd > 0n) {
    booking.giveBack(missingMicroVnd);
    return new CallMoney(wallet, reservation, "balance", booking);
  }
  const isLess = amountMicroVnd < range.wantedMicroVnd;
  return new CallMoney(wallet, reservation, isLess ? begun.boundBy : undefined, booking);
}
