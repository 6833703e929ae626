/**
 * Finds the money for a finished call, beyond its reservation if needed, and queues it for
 * settlement.
 */
import type { Clock } from "../../../core/lib/time/clock.ts";
import type { ReservationQueue } from "./lease/reservation_queue.ts";
import type { Pipeline } from "./settle/pipeline.ts";
import type { Finished } from "./settle/settlements.ts";
import type { Granted } from "./settle/transfers.ts";

/** Turns finished calls into settlements. */
export class Charging {
  readonly #pipeline: Pipeline;
  readonly #queue: ReservationQueue;
  readonly #clock: Clock;

  constructor(pipeline: Pipeline, queue: ReservationQueue, clock: Clock) {
    this.#pipeline = pipeline;
    this.#queue = queue;
    this.#clock = clock;
  }

  /** Starts with a call that has nothing reserved (any more): it joins the current lease. */
  begin(finished: Finished): void {
    finished.lease = this.#pipeline.book.join(finished.accountId);
    this.admit(finished, 0n);
  }

  /** Finds the money for a finished call that has `reservedMicroVnd` reserved, then queues it. */
  admit(finished: Finished, reservedMicroVnd: bigint): void {
    const { book, transfers, settlements } = this.#pipeline;
    const { lease, draft: { priceMicroVnd } } = finished;
    book.touch(lease, this.#clock.nowMs());
    const missing = priceMicroVnd - reservedMicroVnd;
    if (missing <= 0n) {
      book.release(lease, -missing);
      this.#charge(finished, priceMicroVnd);
      this.#queue.freed(book, lease, this.#clock.nowMs());
    } else if (!transfers.hasWaiters(lease.accountId) && book.reserve(lease, missing)) {
      this.#charge(finished, priceMicroVnd);
    } else {
      transfers.wait(lease, {
        amountMicroVnd: missing,
        partial: true,
        cancelled: false,
        done: (granted) => this.#extended(finished, reservedMicroVnd, granted),
      });
    }
    if (settlements.waiting > 0 || transfers.waiting) this.#pipeline.kick();
  }

  /** Continues with what the wallet granted beyond the reservation. */
  #extended(finished: Finished, reservedMicroVnd: bigint, granted: Granted): void {
    switch (granted.outcome) {
      case "granted":
        return this.#charge(finished, reservedMicroVnd + granted.amountMicroVnd);
      case "refused":
        // Happens only if the store does not answer. A settlement does not give up: it queues
        // again.
        return this.admit(finished, reservedMicroVnd);
      case "lost":
        return this.begin(finished);
      case "stopped":
        return finished.reject(this.#pipeline.failure);
    }
  }

  #charge(finished: Finished, chargeMicroVnd: bigint): void {
    this.#pipeline.book.charge(finished.lease, chargeMicroVnd);
    finished.chargeMicroVnd = chargeMicroVnd;
    this.#pipeline.settlements.add(finished);
    this.#pipeline.kick();
  }
}
