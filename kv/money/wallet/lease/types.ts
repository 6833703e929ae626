/** The interface of the wallet engine. */
import type { AccountId, InstanceId } from "../../../../core/lib/ids/ids.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import type { ReservationAmount } from "../../../../core/billing/price.ts";

/** Money reserved for one call. Settle or release it exactly once. */
export interface Reservation {
  readonly accountId: AccountId;
  /** Grows with {@linkcode WalletEngine.extend}. */
  readonly amountMicroVnd: bigint;
}

/** The result of reserving more for a running call. */
export type Extension =
  /** More than 0, and at most what was asked for. */
  | { readonly outcome: "granted"; readonly amountMicroVnd: bigint }
  /** The wallet has nothing more, or the call has ended meanwhile. */
  | { readonly outcome: "exhausted" }
  /** The store does not answer, so the balance is unknown. */
  | { readonly outcome: "unavailable" };

/** Why a call is not admitted. The figures were read from the store for this refusal. */
export interface Refusal {
  readonly ok: false;
  /**
   * - `insufficient`: the wallet is worth less than the call needs.
   * - `on_hold`: the wallet is worth enough, but other running calls have reserved the money.
   * - `unavailable`: the store does not answer, the wallet engine is closing, or too many
   *   settlements wait.
   */
  readonly reason: "insufficient" | "on_hold" | "unavailable";
  readonly neededMicroVnd: bigint;
  /** Amount that was free for this call. */
  readonly availableMicroVnd: bigint;
  /** Reserved by other calls, of this instance and of others. */
  readonly reservedMicroVnd: bigint;
  /** Debt of the account for calls that ended. */
  readonly owedMicroVnd: bigint;
}

/** The result of a reservation. */
export type ReserveResult = { readonly ok: true; readonly reservation: Reservation } | Refusal;

/** A receipt before its cost and shortfall are known. */
export type ReceiptDraft =
  & Omit<Receipt, "accountId" | "costMicroVnd" | "shortfallMicroVnd" | "heldMicroVnd">
  & {
    /** The price of the call, which the wallet may be unable to cover in full. 0 for free calls. */
    readonly priceMicroVnd: bigint;
  };

/** Adds rows of other modules to a settlement. */
export interface RowWriter {
  set(key: Deno.KvKey, value: unknown, options?: { readonly expireIn?: number }): unknown;
  delete(key: Deno.KvKey): unknown;
}

/**
 * Rows that become visible together with the receipt or not at all. They are written
 * unconditionally: a failing check would stop the settlements of all calls in the commit. `apply`
 * is called once, at once.
 */
export interface Attachment {
  /** Upper bound of the number of rows, at most `maxAttachedRows`. */
  readonly mutations: number;
  apply(op: RowWriter): void;
}

/** Settlement in place of a call's own, whose client was refused the answer meanwhile. */
export interface WithheldAnswer {
  /** The receipt of a free call, with the same request id. */
  readonly draft: ReceiptDraft;
  readonly attach?: Attachment | undefined;
}

/** The balance of an account, by where the money is. */
export interface Balance {
  /**
   * In the wallet row, where any instance can draw it. Negative if more is leased than the account
   * had.
   */
  readonly availableMicroVnd: bigint;
  /** In leases of running instances. Figures of other instances may lag by a second. */
  readonly leasedMicroVnd: bigint;
  /** The part of `leasedMicroVnd` that running calls of this instance have reserved. */
  readonly reservedMicroVnd: bigint;
  /** `availableMicroVnd + leasedMicroVnd`; negative if the account owes. */
  readonly totalMicroVnd: bigint;
}

/** Progress of the indexing that follows settlements. */
export interface IndexProgress {
  /** Receipts indexed in this step. */
  readonly indexed: number;
  /** Receipts that still wait. */
  readonly waiting: number;
}

/** Load that the engine puts on the store. */
export interface WalletLoad {
  /** Calls that ended and whose receipts are not durable yet. */
  readonly unsettled: number;
  /** Number of them that are in no commit yet. */
  readonly queued: number;
  /** Number of repeats of what the store refused or did not answer. */
  readonly retries: number;
}

/** Admits calls against the money of accounts, and settles them. */
export interface WalletEngine {
  /** Changes when the instance lease is lost. */
  readonly instanceId: InstanceId;
  /**
   * `false` if the store does not answer or a bug has stopped the engine: no call should be sent to
   * this instance.
   */
  readonly healthy: boolean;
  readonly load: WalletLoad;

  /**
   * Reserves money for a call before it is sent to a provider. Synchronous while the lease has
   * room, which is the usual case; otherwise it draws from the wallet, and refuses only after
   * reading the wallet. If other reservations alone prevent it, it waits for them, for at most
   * `waitMs` if given. Of a range, it reserves the largest amount if there is that much, and otherwise
   * what `fittingMicroVnd` says.
   */
  reserve(
    accountId: AccountId,
    amount: ReservationAmount,
    waitMs?: number,
  ): ReserveResult | Promise<ReserveResult>;

  /**
   * Reserves more for a running call: all of `amountMicroVnd`, or what is left. Synchronous while
   * the lease has room; otherwise it waits for other reservations for at most `waitMs`. A
   * reservation may have one extension at a time; the call may be settled or released meanwhile.
   */
  extend(
    reservation: Reservation,
    amountMicroVnd: bigint,
    waitMs: number,
  ): Extension | Promise<Extension>;

  /**
   * Debits a finished call and writes its receipt; resolves when both are durable. The charge is
   * the price, or the reservation and what the wallet can add; the receipt names the rest as
   * shortfall. Repeats the commit until it succeeds or the wallet engine is closed.
   *
   * `withheld` is asked whenever the call goes into a commit. A commit that was sent before may land all the same: then
   * the receipt has a cost, and the caller refunds it.
   *
   * @throws {InvariantError} if the reservation was settled or released before, or a value is out
   * of bounds
   * @throws {StoppedError} if the wallet engine was closed before the store answered
   */
  settle(
    reservation: Reservation,
    draft: ReceiptDraft,
    attach?: Attachment,
    withheld?: () => WithheldAnswer | undefined,
  ): Promise<Receipt>;

  /**
   * Releases the reservation of a call that never reached a provider.
   *
   * @throws {InvariantError} if the reservation was settled or released before
   */
  release(reservation: Reservation): void;

  balance(accountId: AccountId): Promise<Balance>;

  /**
   * Renews the instance lease. The timer of the engine calls it; tests with a still timer call it
   * themselves.
   */
  heartbeat(): Promise<void>;

  /**
   * Does one bounded step of the work that follows settlements: lease rows, index, day sums, idle
   * leases. The timer of the engine calls it too.
   */
  indexOnce(): Promise<IndexProgress>;

  /** Settles and indexes everything that waits, returns the leases and ends the instance. */
  close(): Promise<void>;
}
