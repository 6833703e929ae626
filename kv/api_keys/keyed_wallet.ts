/** A wallet engine that also enforces the spending limits of keys. Keys without limits cost nothing. */
import { defined } from "../../core/lib/defined.ts";
import type { Receipt } from "../../core/billing/receipt.ts";
import type { Extension, Reservation, ReserveResult, WalletEngine } from "../wallet/mod.ts";
import type { ApiKeyRecord } from "./api_keys.ts";
import type { LimitRefusal } from "./key_limits.ts";
import type { KeyLimitBook, LimitedCall } from "./limit_book.ts";

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
export function withKeyLimits(wallet: WalletEngine, book: KeyLimitBook): KeyedWalletEngine {
  const limitedCalls = new WeakMap<Reservation, LimitedCall>();

  async function reserveLimited(
    key: ApiKeyRecord,
    amountMicroVnd: bigint,
    startedAtMs: number,
  ): Promise<ReserveResult | LimitRefusal> {
    const { id, accountId, dailyLimitMicroVnd, monthlyLimitMicroVnd } = key;
    const limited = {
      id,
      accountId,
      ...defined({ dailyLimitMicroVnd, monthlyLimitMicroVnd }),
    };
    const begun = await book.begin(limited, amountMicroVnd, startedAtMs);
    if (!begun.ok) return begun;
    let result: ReserveResult | undefined;
    try {
      result = await wallet.reserve(accountId, amountMicroVnd);
    } finally {
      if (result?.ok !== true) begun.call.end(0n);
    }
    if (result.ok) limitedCalls.set(result.reservation, begun.call);
    return result;
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

  function end(reservation: Reservation, costMicroVnd: bigint): void {
    limitedCalls.get(reservation)?.end(costMicroVnd);
    limitedCalls.delete(reservation);
  }

  async function settleLimited(...call: Parameters<WalletEngine["settle"]>): Promise<Receipt> {
    const [reservation] = call;
    try {
      const receipt = await wallet.settle(...call);
      end(reservation, receipt.costMicroVnd);
      return receipt;
    } catch (error) {
      // The cost is unknown until the next read of the store.
      end(reservation, 0n);
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
      const call = limitedCalls.get(args[0]);
      return call === undefined ? wallet.extend(...args) : extendLimited(call, args);
    },
    settle: (...call) =>
      limitedCalls.has(call[0]) ? settleLimited(...call) : wallet.settle(...call),
    release(reservation) {
      wallet.release(reservation);
      end(reservation, 0n);
    },
    balance: (accountId) => wallet.balance(accountId),
    heartbeat: () => wallet.heartbeat(),
    indexOnce: () => wallet.indexOnce(),
    close: () => wallet.close(),
  };
}
