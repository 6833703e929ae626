/** What a caller holds between reserving and settling, and what keeps a call from being settled twice. */
import { invariant } from "../../core/lib/assert.ts";
import type { AccountId, RequestId } from "../../core/lib/ids.ts";
import type { Lease } from "./lease_book.ts";
import type { Reservation } from "./types.ts";

/**
 * Ids of settled calls in each of the two remembered generations: a program error that settles a call twice
 * does so soon.
 */
const recentIdsPerGeneration = 10_000;

/** A reservation: open, then settled or released, once. */
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

  /** More is held on the same lease. */
  grow(amountMicroVnd: bigint): void {
    invariant(this.isOpen, "only an open reservation grows");
    this.#amountMicroVnd += amountMicroVnd;
  }

  /** The old lease was lost, and all of it is held on another one. */
  moveTo(lease: Lease, amountMicroVnd: bigint): void {
    invariant(this.isOpen && !this.#lease.alive, "only what was lost is held anew");
    this.#lease = lease;
    this.#amountMicroVnd = amountMicroVnd;
  }

  end(state: "settled" | "released"): void {
    invariant(this.#state === "open", `a reservation cannot be ${state}: it is ${this.#state}`);
    this.#state = state;
  }
}

/** Request ids of late, so that a program error cannot charge one twice. Two generations bound the memory. */
export class RecentIds {
  #young = new Set<RequestId>();
  #old = new Set<RequestId>();

  add(id: RequestId): void {
    invariant(!this.#young.has(id) && !this.#old.has(id), `request ${id} was settled before`);
    if (this.#young.size >= recentIdsPerGeneration) {
      this.#old = this.#young;
      this.#young = new Set();
    }
    this.#young.add(id);
  }
}
