/**
 * Reserves money for calls that start, and more for calls that run: from the lease if it has room,
 * else from the wallet.
 */
import type { Clock } from "../../../core/lib/time/clock.ts";
import type { Timer } from "../../../core/lib/time/deadlines.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import {
  rangeOf,
  type ReservationAmount,
  type ReservationRange,
} from "../../../core/billing/price.ts";
import { kvCallMs } from "../../engine/store/store_deadlines.ts";
import {
  freeMicroVnd,
  isOfSmallWallet,
  type Lease,
  LeaseReservation,
  recheckDelayMs,
  type ReservationQueue,
  type ReservedOnLease,
  unavailable,
} from "./lease/lease_book.ts";
import type { Pipeline } from "./settle/pipeline.ts";
import type { Granted, Waiter } from "./settle/transfers.ts";
import type { Extension, Refusal, ReserveResult } from "./lease/types.ts";
import { leasedElsewhereMicroVnd, type StoreAccess } from "./settle/wallet_view.ts";

/** Multiple of the largest recent reservation below which a lease is drawn ahead. */
const lowLeaseFactor = 2n;

/** Part of the last draw ahead, as a divisor, below which the next one begins. */
const earlyDrawShare = 4n;

export interface ReservingOptions extends StoreAccess {
  readonly clock: Clock;
  readonly timer: Timer;
  /** Returns `false` while no call may start. */
  readonly admits: () => boolean;
  /** Whether other instances may have the store open. */
  readonly isShared: boolean;
}

/** The answer to a call that got money. */
interface ReservedAmount extends ReservedOnLease {
  readonly ok: true;
}

/** Amount that is asked of a wallet. */
interface Asked {
  readonly range: ReservationRange;
  /** Takes less than it is expected to need. */
  readonly takesRest?: boolean;
  /** Takes any amount up to the wanted one, for a call that runs. */
  readonly partial?: boolean;
}

/** Makes and extends reservations. */
export class Reserving {
  readonly #pipeline: Pipeline;
  readonly #queue: ReservationQueue;
  readonly #options: ReservingOptions;

  constructor(pipeline: Pipeline, queue: ReservationQueue, options: ReservingOptions) {
    this.#pipeline = pipeline;
    this.#queue = queue;
    this.#options = options;
  }

  /**
   * Reserves money for a call. Synchronous while the lease has room for the largest amount; otherwise
   * it waits for other reservations for at most `waitMs`.
   */
  reserve(
    accountId: AccountId,
    amount: ReservationAmount,
    waitMs: number,
  ): ReserveResult | Promise<ReserveResult> {
    const { book, transfers } = this.#pipeline;
    const lease = book.lease(accountId);
    const amountMicroVnd = typeof amount === "bigint" ? amount : amount.wantedMicroVnd;
    if (!this.#mayReserveAtOnce(accountId) || !book.reserve(lease, amountMicroVnd)) {
      return this.#reserveLater(accountId, rangeOf(amount), waitMs);
    }
    book.enter(lease, amountMicroVnd, this.#options.clock.nowMs());
    if (isLow(lease)) {
      transfers.drawAhead(lease);
      this.#pipeline.kick();
    }
    return { ok: true, reservation: new LeaseReservation(lease, amountMicroVnd) };
  }

  /**
   * Reserves up to `amountMicroVnd` more for a running call; waits for other reservations for at
   * most `waitMs`.
   */
  extend(
    reservation: LeaseReservation,
    amountMicroVnd: bigint,
    waitMs: number,
  ): Extension | Promise<Extension> {
    const { book } = this.#pipeline;
    if (
      reservation.lease.alive && this.#mayReserveAtOnce(reservation.accountId) &&
      book.reserve(reservation.lease, amountMicroVnd)
    ) {
      reservation.grow(amountMicroVnd);
      return { outcome: "granted", amountMicroVnd };
    }
    return this.#extendLater(reservation, amountMicroVnd, waitMs);
  }

  /**
   * Whether the lease may be used at once: the instance lease has not expired, and no earlier call
   * waits for this wallet.
   */
  #mayReserveAtOnce(accountId: AccountId): boolean {
    const { transfers, instanceLease } = this.#pipeline;
    return this.#options.clock.nowMs() < instanceLease.expiresAtMs &&
      !transfers.hasWaiters(accountId);
  }

  async #reserveLater(
    accountId: AccountId,
    range: ReservationRange,
    waitMs: number,
  ): Promise<ReserveResult> {
    // Counts the waits, not the clock: a clock that stops or jumps must not make a call wait
    // forever.
    let leftMs = waitMs;
    let takesRest = false;
    for (let attempt = 0;; attempt++) {
      const asked = await this.#ask(accountId, { range, takesRest });
      if (!takesRest && mayTakeRest(asked, range) && (!isHeld(asked) || leftMs <= 0)) {
        takesRest = true;
        continue;
      }
      takesRest = false;
      const reservedHereMicroVnd = this.#pipeline.book.find(accountId)?.reservedMicroVnd ?? 0n;
      const isHeldElsewhere = !asked.ok && asked.reservedMicroVnd > reservedHereMicroVnd;
      const delayMs = Math.min(recheckDelayMs(attempt, isHeldElsewhere), leftMs);
      const got = asked.ok || asked.reason !== "on_hold"
        ? asked
        : await this.#waitForReservations(accountId, range, delayMs, asked);
      leftMs -= delayMs;
      if (got === "ask") continue;
      return got.ok
        ? { ok: true, reservation: new LeaseReservation(got.lease, got.amountMicroVnd) }
        : got;
    }
  }

  /** Waits after a refusal whose only cause is other reservations. */
  async #waitForReservations(
    accountId: AccountId,
    range: ReservationRange,
    delayMs: number,
    refused: Refusal,
  ): Promise<ReservedAmount | Refusal | "ask"> {
    const { admits } = this.#options;
    if (delayMs <= 0) return refused;
    const waited = await this.#queue.wait(accountId, range, delayMs);
    if (waited === "full") return refused;
    if (waited === "ask") return admits() ? "ask" : unavailable(range.leastMicroVnd);
    // The lease may have been lost between the grant and this turn, which voids what it had.
    return waited.lease.alive ? { ok: true, ...waited } : "ask";
  }

  async #extendLater(
    reservation: LeaseReservation,
    amountMicroVnd: bigint,
    waitMs: number,
  ): Promise<Extension> {
    let leftMs = waitMs;
    for (let attempt = 0;; attempt++) {
      const delayMs = Math.min(recheckDelayMs(attempt, this.#options.isShared), leftMs);
      leftMs -= delayMs;
      // A lost lease voids what the call had reserved, so all of it is requested again.
      const lostMicroVnd = reservation.lease.alive ? 0n : reservation.amountMicroVnd;
      const isWhole = lostMicroVnd > 0n;
      const asked = await this.#ask(reservation.accountId, {
        range: rangeOf(amountMicroVnd + lostMicroVnd),
        partial: !isWhole,
      });
      if (!asked.ok && asked.reason === "unavailable") return { outcome: "unavailable" };
      if (asked.ok && asked.amountMicroVnd === 0n) this.#pipeline.book.leave(asked.lease);
      const got = asked.ok && asked.amountMicroVnd > 0n
        ? asked
        : await this.#waitToExtend(reservation, amountMicroVnd + lostMicroVnd, delayMs);
      if (got === "over") return { outcome: "exhausted" };
      const extension = got === "ask" ? undefined : this.#extended(reservation, got, lostMicroVnd);
      if (extension !== undefined) return extension;
    }
  }

  async #waitToExtend(
    reservation: LeaseReservation,
    amountMicroVnd: bigint,
    delayMs: number,
  ): Promise<ReservedAmount | "ask" | "over"> {
    if (delayMs <= 0 || !await this.#isHeldByOthers(reservation)) return "over";
    if (!reservation.isOpen) return "over";
    const refused = unavailable(amountMicroVnd);
    const got = await this.#waitForReservations(
      reservation.accountId,
      rangeOf(amountMicroVnd),
      delayMs,
      refused,
    );
    return got === "ask" || got.ok ? got : "over";
  }

  /** Whether other calls of this instance, or other instances, hold money of the wallet. */
  async #isHeldByOthers(reservation: LeaseReservation): Promise<boolean> {
    const { book } = this.#pipeline;
    const lease = book.find(reservation.accountId);
    if (lease === undefined) return false;
    const ownMicroVnd = reservation.lease === lease ? reservation.amountMicroVnd : 0n;
    if (lease.reservedMicroVnd > ownMicroVnd) return true;
    return this.#options.isShared && await leasedElsewhereMicroVnd(this.#options, lease) > 0n;
  }

  /**
   * Adds what was granted to the reservation; returns it if the call ended or its lease was lost
   * while it waited.
   */
  #extended(
    reservation: LeaseReservation,
    got: ReservedAmount,
    lostMicroVnd: bigint,
  ): Extension | undefined {
    const { book } = this.#pipeline;
    const { lease, amountMicroVnd } = got;
    if (!lease.alive) return undefined;
    if (reservation.isOpen && reservation.lease === lease) {
      book.leave(lease);
      reservation.grow(amountMicroVnd);
      return { outcome: "granted", amountMicroVnd };
    }
    // A lost lease may have had nothing reserved for the call.
    const isWhole = !reservation.lease.alive && lostMicroVnd === reservation.amountMicroVnd;
    if (reservation.isOpen && isWhole) {
      reservation.moveTo(lease, amountMicroVnd);
      return { outcome: "granted", amountMicroVnd: amountMicroVnd - lostMicroVnd };
    }
    book.release(lease, amountMicroVnd);
    book.leave(lease);
    this.#queue.freed(book, lease, this.#options.clock.nowMs());
    return reservation.isOpen ? undefined : { outcome: "exhausted" };
  }

  /**
   * Asks the wallet, for at most `kvCallMs`. A grant is reserved on a lease, which gets one
   * more user.
   */
  #ask(
    accountId: AccountId,
    { range, takesRest = false, partial = false }: Asked,
  ): Promise<ReservedAmount | Refusal> {
    const { wantedMicroVnd: amountMicroVnd, leastMicroVnd } = range;
    const waiterRange = leastMicroVnd < amountMicroVnd ? { ...range, takesRest } : undefined;
    return new Promise((resolve) => {
      let waiter: Waiter | undefined;
      let lease: Lease | undefined;
      const end = (result: ReservedAmount | Refusal) => {
        stopTimer();
        if (!result.ok && lease) this.#pipeline.book.leave(lease);
        resolve(result);
      };
      const stopTimer = this.#options.timer.start(() => {
        if (waiter) waiter.cancelled = true;
        end(unavailable(leastMicroVnd));
      }, kvCallMs);
      const ask = () => {
        const { book, transfers } = this.#pipeline;
        const mine = lease = book.lease(accountId);
        book.enter(mine, partial ? 0n : amountMicroVnd, this.#options.clock.nowMs());
        const done = (granted: Granted) => {
          if (granted.outcome === "lost") ask();
          else if (granted.outcome === "refused") end(granted.refusal);
          else if (granted.outcome === "stopped") end(unavailable(leastMicroVnd));
          else end({ ok: true, lease: mine, amountMicroVnd: granted.amountMicroVnd });
        };
        waiter = { amountMicroVnd, partial, range: waiterRange, cancelled: false, done };
        transfers.wait(mine, waiter);
        this.#pipeline.kick();
      };
      ask();
    });
  }
}

/** Whether a call that was refused could begin with less than it is expected to need. */
function mayTakeRest(asked: ReservedAmount | Refusal, range: ReservationRange): boolean {
  return !asked.ok && asked.reason === "on_hold" && range.leastMicroVnd < range.expectedMicroVnd;
}

/** Whether other calls hold money, which the call could wait for. */
function isHeld(asked: ReservedAmount | Refusal): boolean {
  return !asked.ok && asked.reservedMicroVnd > 0n;
}

/**
 * Whether a draw ahead should begin. A draw grows until it lasts for seconds, so a quarter of the last one covers the
 * round trips to a far store; a wallet that cannot give as much again is left alone until the lease is nearly used up.
 */
function isLow(lease: Lease): boolean {
  const { aheadMicroVnd, typicalMicroVnd, walletMicroVnd } = lease;
  if (isOfSmallWallet(lease)) return false;
  const free = freeMicroVnd(lease);
  if (free < typicalMicroVnd * lowLeaseFactor) return walletMicroVnd / 4n >= typicalMicroVnd;
  return free < aheadMicroVnd / earlyDrawShare && walletMicroVnd / 4n >= aheadMicroVnd;
}
