/**
 * Queues calls that wait for money that other calls have reserved. When a call ends or needs less
 * than it reserved, the queue serves waiting calls at once, in order of arrival. Top-ups and money
 * that other instances return are found by asking the store again.
 */
import type { Timer } from "../../../../core/lib/time/deadlines.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { fittingMicroVnd, type ReservationRange } from "../../../../core/billing/price.ts";
import { freeMicroVnd, type Lease, type LeaseBook } from "./lease_book.ts";
import type { Refusal, Reservation } from "./types.ts";
import { invariant } from "../../../../core/lib/base/assert.ts";

// Builds refusals with their figures.

/** Facts about a wallet beyond its lease here. */
export interface KnownWallet {
  /** In leases of other instances. */
  readonly elsewhereMicroVnd: bigint;
  /** How far below zero the wallet may go. */
  readonly debtLimitMicroVnd: bigint;
}

/**
 * Builds the refusal of a call for which the money does not suffice, at all or only while other
 * calls have reserved it.
 */
export function refusal(
  neededMicroVnd: bigint,
  lease: Lease,
  { elsewhereMicroVnd, debtLimitMicroVnd }: KnownWallet,
): Refusal {
  const unreservedMicroVnd = freeMicroVnd(lease) + lease.walletMicroVnd;
  const reservedMicroVnd = lease.reservedMicroVnd + elsewhereMicroVnd;
  const worthMicroVnd = unreservedMicroVnd + reservedMicroVnd;
  const enough = worthMicroVnd + debtLimitMicroVnd >= neededMicroVnd;
  return {
    ok: false,
    reason: enough ? "on_hold" : "insufficient",
    neededMicroVnd,
    availableMicroVnd: unreservedMicroVnd > 0n ? unreservedMicroVnd : 0n,
    reservedMicroVnd,
    owedMicroVnd: worthMicroVnd < 0n ? -worthMicroVnd : 0n,
  };
}

/**
 * Builds the refusal of a call whose money other instances move at this moment: it waits like one whose money is
 * reserved, since what was read may have missed it.
 */
export function onItsWay(refused: Refusal): Refusal {
  const { reason, neededMicroVnd, availableMicroVnd } = refused;
  if (reason !== "insufficient") return refused;
  return { ...refused, reason: "on_hold", reservedMicroVnd: neededMicroVnd - availableMicroVnd };
}

/** Builds the refusal while the store does not answer and the balance is unknown. */
export function unavailable(neededMicroVnd: bigint): Refusal {
  return {
    ok: false,
    reason: "unavailable",
    neededMicroVnd,
    availableMicroVnd: 0n,
    reservedMicroVnd: 0n,
    owedMicroVnd: 0n,
  };
}

// The reservation of a call.

/** A reservation on a lease. It is open until it is settled or released, once. */
export class LeaseReservation implements Reservation {
  readonly accountId: AccountId;
  #lease: Lease;
  #amountMicroVnd: bigint;
  #state: "open" | "settled" | "released" = "open";

  constructor(lease: Lease, amountMicroVnd: bigint) {
    this.accountId = lease.accountId;
    this.#amountMicroVnd = amountMicroVnd;
    this.#lease = lease;
  }

  get lease(): Lease {
    return this.#lease;
  }

  get amountMicroVnd(): bigint {
    return this.#amountMicroVnd;
  }

  get isOpen(): boolean {
    return this.#state === "open";
  }

  /** Adds an amount that was reserved on the same lease. */
  grow(amountMicroVnd: bigint): void {
    invariant(this.isOpen, "only an open reservation grows");
    this.#amountMicroVnd += amountMicroVnd;
  }

  /** Moves the reservation to another lease after its own was lost. */
  moveTo(lease: Lease, amountMicroVnd: bigint): void {
    invariant(this.isOpen && !this.#lease.alive, "only a reservation whose lease was lost moves");
    this.#lease = lease;
    this.#amountMicroVnd = amountMicroVnd;
  }

  end(state: "settled" | "released"): void {
    invariant(
      this.#state === "open",
      () => `a reservation cannot be ${state}: it is ${this.#state}`,
    );
    this.#state = state;
  }
}

/**
 * Calls of one account that may wait at once; further calls are refused as if their wait was over.
 * Bounds the memory of the queue.
 */
const waitingCallsPerAccount = 1_000;
/**
 * Milliseconds between two reads of the store, which find money that no call of this instance
 * releases.
 */
const recheckMs = 1_000;

/**
 * Milliseconds until the first of these reads if other instances hold money of the wallet. They return what a call of
 * theirs does not need right after it, so it is usually there; each further pause is twice as long.
 */
const firstRecheckMs = 20;

/** Computes how long a call waits before it asks the store again for the `attempt`-th time, counted from 0. */
export function recheckDelayMs(attempt: number, isHeldElsewhere: boolean): number {
  return isHeldElsewhere ? Math.min(firstRecheckMs * 2 ** attempt, recheckMs) : recheckMs;
}

/** An amount that is reserved on a lease, which has one more user because of it. */
export interface ReservedOnLease {
  readonly lease: Lease;
  readonly amountMicroVnd: bigint;
}

/** The end of a wait. `ask`: ask the store again. `full`: too many calls wait. */
export type ReservationWait = ReservedOnLease | "ask" | "full";

interface WaitingCall {
  readonly range: ReservationRange;
  readonly end: (result: ReservationWait) => void;
}

/** Calls that wait for reserved money, by account. */
export class ReservationQueue {
  readonly #timer: Timer;
  readonly #waiting = new Map<AccountId, Set<WaitingCall>>();

  constructor(timer: Timer) {
    this.#timer = timer;
  }

  /**
   * Waits until an amount of `range` is reserved that is not below what is expected, or `longestMs` have passed and it
   * is time to ask the store again.
   */
  wait(
    accountId: AccountId,
    range: ReservationRange,
    longestMs: number,
  ): Promise<ReservationWait> {
    const calls = this.#waiting.get(accountId) ?? new Set();
    if (calls.size >= waitingCallsPerAccount) return Promise.resolve("full");
    this.#waiting.set(accountId, calls);
    return new Promise((resolve) => {
      const call: WaitingCall = {
        range,
        end: (result) => {
          stopTimer();
          calls.delete(call);
          if (calls.size === 0) this.#waiting.delete(accountId);
          resolve(result);
        },
      };
      const stopTimer = this.#timer.start(() => call.end("ask"), longestMs);
      calls.add(call);
    });
  }

  /** Serves waiting calls from money that became free, the longest waiting first. */
  freed(book: LeaseBook, lease: Lease, nowMs: number): void {
    if (this.#waiting.size === 0) return;
    for (const call of this.#waiting.get(lease.accountId) ?? []) {
      const free = freeMicroVnd(lease);
      const isAlone = lease.reservedMicroVnd === 0n;
      const money = { ownMicroVnd: free, budgetMicroVnd: free, isAlone };
      const amountMicroVnd = fittingMicroVnd(call.range, money, false);
      if (amountMicroVnd === undefined || !book.reserve(lease, amountMicroVnd)) return;
      book.enter(lease, call.range.wantedMicroVnd, nowMs);
      call.end({ lease, amountMicroVnd });
    }
  }

  /** Returns the amount that the longest waiting call waits for; 0 if none waits. */
  nextMicroVnd(accountId: AccountId): bigint {
    for (const { range } of this.#waiting.get(accountId) ?? []) return range.expectedMicroVnd;
    return 0n;
  }

  /** Ends all waits, e.g. because the wallet engine closes. */
  endAll(): void {
    for (const calls of [...this.#waiting.values()]) {
      for (const call of [...calls]) call.end("ask");
    }
  }
}
