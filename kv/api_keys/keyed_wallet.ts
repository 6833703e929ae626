/** A wallet engine that also enforces the spending limits of keys. Keys without limits cost nothing. */
import type { Clock } from "../../core/lib/time/clock.ts";
import type { Receipt } from "../../core/billing/receipt.ts";
import type { Extension, Reservation, ReserveResult, WalletEngine } from "../wallet/mod.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";
import type { ApiKeyRecord } from "./api_keys.ts";
import { KeyLimits, type KeyReservation, type LimitRefusal } from "./key_limits.ts";
import { KeySpendings } from "./key_spending.ts";

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
    amountMicroVnd: bigint,
    startedAtMs: number,
  ): ReserveResult | LimitRefusal | Promise<ReserveResult | LimitRefusal>;
}

function isLimited(key: ApiKeyRecord): boolean {
  return key.dailyLimitMicroVnd !== undefined || key.monthlyLimitMicroVnd !== undefined;
}

/** Adds the enforcement of key limits to a wallet engine. */
export function withKeyLimits(
  wallet: WalletEngine,
  kv: KeyValueStore,
  clock: Clock,
): KeyedWalletEngine {
  const spendings = new KeySpendings(kv, clock);
  const keyLimits = new KeyLimits();

  async function reserveLimited(
    key: ApiKeyRecord,
    amountMicroVnd: bigint,
    startedAtMs: number,
  ): Promise<ReserveResult | LimitRefusal> {
    const { day, month } = await spendings.periods(key, startedAtMs);
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
      // A call that ended meanwhile has released its reservation; this part must follow.
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
      // The cost is unknown until the next read of the store.
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
    settle: (...call) =>
      keyLimits.isBound(call[0]) ? settleLimited(...call) : wallet.settle(...call),
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
