/**
 * Calls that wait because others hold the money they need. A call that ends, or holds less than it did, lets them in at
 * once, in the order in which they came; what other instances give back, and top-ups, are found by asking again.
 */
import type { Timer } from "../../core/lib/time/deadlines.ts";
import type { AccountId } from "../../core/lib/ids.ts";
import type { Lease, LeaseBook } from "./lease_book.ts";

/** Calls of one account that may wait at once; beyond that a call is refused as if its wait was over. */
const waitingCallsPerAccount = 1_000;
/** Milliseconds between two looks at the store, for money that no call of this instance gives back. */
export const recheckMs = 1_000;

/** A lease that now holds the amount and counts a user more; `ask`: ask the store again; `full`: too many wait already. */
export type ReservationWait = Lease | "ask" | "full";

interface WaitingCall {
  readonly amountMicroVnd: bigint;
  readonly end: (result: ReservationWait) => void;
}

export class ReservationQueue {
  readonly #timer: Timer;
  readonly #waiting = new Map<AccountId, Set<WaitingCall>>();

  constructor(timer: Timer) {
    this.#timer = timer;
  }

  /** Waits until `amountMicroVnd` could be held, it is time to ask again, or `longestMs` have passed. */
  wait(accountId: AccountId, amountMicroVnd: bigint, longestMs: number): Promise<ReservationWait> {
    const calls = this.#waiting.get(accountId) ?? new Set();
    if (calls.size >= waitingCallsPerAccount) return Promise.resolve("full");
    this.#waiting.set(accountId, calls);
    return new Promise((resolve) => {
      const call: WaitingCall = {
        amountMicroVnd,
        end: (result) => {
          stopTimer();
          calls.delete(call);
          if (calls.size === 0) this.#waiting.delete(accountId);
          resolve(result);
        },
      };
      const stopTimer = this.#timer.start(() => call.end("ask"), Math.min(recheckMs, longestMs));
      calls.add(call);
    });
  }

  /** Money of this lease became free: whoever waits longest is served first, as far as it goes. */
  freed(book: LeaseBook, lease: Lease, nowMs: number): void {
    if (this.#waiting.size === 0) return;
    for (const call of this.#waiting.get(lease.accountId) ?? []) {
      if (!book.reserve(lease, call.amountMicroVnd)) return;
      book.enter(lease, call.amountMicroVnd, nowMs);
      call.end(lease);
    }
  }

  /** Nobody waits any longer, e.g. because the wallet engine closes. */
  endAll(): void {
    for (const calls of [...this.#waiting.values()]) {
      for (const call of [...calls]) call.end("ask");
    }
  }
}
