/** The reservation of a call. */
import { invariant } from "../../../../core/lib/base/assert.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import type { Lease } from "./lease_book.ts";
import type { Reservation } from "./types.ts";

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
