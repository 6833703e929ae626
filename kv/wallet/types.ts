/** What the rest of the gateway sees of the wallet engine. */
import type { AccountId, InstanceId } from "../../core/lib/ids.ts";
import type { Receipt } from "../../core/billing/receipt.ts";

/** Money that is promised to one call. Settle or release it exactly once. */
export interface Reservation {
  readonly accountId: AccountId;
  /** Grows with {@linkcode WalletEngine.extend}. */
  readonly amountMicroVnd: bigint;
}

/** What became of an attempt to reserve more for a call that runs. */
export type Extension =
  /** At most what was asked for, and more than nothing. */
  | { readonly outcome: "granted"; readonly amountMicroVnd: bigint }
  /** There is nothing more to be had, or the call has ended meanwhile. */
  | { readonly outcome: "exhausted" }
  /** The store does not answer: nobody knows. */
  | { readonly outcome: "unavailable" };

/** Why a call is not admitted. All figures were true in the store at that moment. */
export interface Refusal {
  readonly ok: false;
  /**
   * - `insufficient`: the wallet is worth less than what is needed.
   * - `on_hold`: it is worth enough, but other calls in flight hold it.
   * - `unavailable`: the store does not answer, or the wallet engine is closing or has more to settle than it may keep.
   */
  readonly reason: "insufficient" | "on_hold" | "unavailable";
  readonly neededMicroVnd: bigint;
  /** What this call could have had. */
  readonly availableMicroVnd: bigint;
  /** Promised to other calls, here and in other instances. */
  readonly reservedMicroVnd: bigint;
  /** What the account owes for calls that ended. */
  readonly owedMicroVnd: bigint;
}

export type ReserveResult = { readonly ok: true; readonly reservation: Reservation } | Refusal;

/** A receipt before the money is known. */
export type ReceiptDraft =
  & Omit<Receipt, "accountId" | "costMicroVnd" | "shortfallMicroVnd">
  & {
    /** What the call costs; the wallet may be unable to cover it. 0 for calls that are free. */
    readonly priceMicroVnd: bigint;
  };

/** Takes rows of others into a settlement. */
export interface RowWriter {
  set(key: Deno.KvKey, value: unknown, options?: { readonly expireIn?: number }): unknown;
  delete(key: Deno.KvKey): unknown;
}

/**
 * Rows that become visible together with the receipt, or not at all. Unconditional writes only: a failing check would
 * stop the settlements of everyone else in the same commit. Called once, at once.
 */
export interface Attachment {
  /** At most this many rows (see `maxAttachedRows`). */
  readonly mutations: number;
  apply(op: RowWriter): void;
}

/** What a wallet is worth, and where it is. */
export interface Balance {
  /** In the wallet row: any instance can draw it. Negative where more is leased than there was. */
  readonly availableMicroVnd: bigint;
  /** In leases of running instances; those of other instances may lag by a second. */
  readonly leasedMicroVnd: bigint;
  /** The part of it that calls in flight here hold. */
  readonly reservedMicroVnd: bigint;
  /** available + leased; negative where the account owes. */
  readonly totalMicroVnd: bigint;
}

/** What is left to do behind the settlements. */
export interface IndexProgress {
  /** Receipts indexed in this step. */
  readonly indexed: number;
  /** Receipts that wait. */
  readonly waiting: number;
}

export interface WalletEngine {
  /** Changes when the instance lease was lost. */
  readonly instanceId: InstanceId;
  /** `false` when the store does not answer or a bug stopped the wallet engine: no call should be sent here. */
  readonly healthy: boolean;

  /**
   * Promises money to a call before it is sent upstream. Synchronous while the lease has room, which is nearly always;
   * otherwise it draws from the wallet and never refuses without having read the wallet just then. Where only the reservations
   * of other calls stand in the way it waits a while for them, at most `waitMs` if that is given.
   */
  reserve(
    accountId: AccountId,
    amountMicroVnd: bigint,
    waitMs?: number,
  ): ReserveResult | Promise<ReserveResult>;

  /**
   * Promises more to a call that runs: all of `amountMicroVnd`, or what there still is. Synchronous while the lease has
   * room. Waits for what other calls hold for at most `waitMs`. At most one extension of a reservation at a time; the
   * call may be settled or released meanwhile.
   */
  extend(
    reservation: Reservation,
    amountMicroVnd: bigint,
    waitMs: number,
  ): Extension | Promise<Extension>;

  /**
   * Debits a finished call and writes its receipt; resolves when both are durable. The charge is the price, or what is
   * reserved and can still be had; the rest is the receipt's shortfall.
   *
   * Never given up silently: it is tried again until the wallet engine is closed.
   *
   * @throws {InvariantError} if the reservation was settled or released before, or a value is out of bounds
   * @throws {StoppedError} if the wallet engine was closed before the store answered
   */
  settle(reservation: Reservation, draft: ReceiptDraft, attach?: Attachment): Promise<Receipt>;

  /**
   * Gives a reservation back: the call never reached a provider.
   *
   * @throws {InvariantError} if the reservation was settled or released before
   */
  release(reservation: Reservation): void;

  balance(accountId: AccountId): Promise<Balance>;

  /** Renews the instance lease. The wallet engine does so by itself; a parameter of its timer. */
  heartbeat(): Promise<void>;

  /** One bounded step behind the settlements: lease rows, index, day sums, idle leases. Runs by itself as well. */
  indexOnce(): Promise<IndexProgress>;

  /** Settles and indexes everything, returns the leases and ends the instance. */
  close(): Promise<void>;
}
