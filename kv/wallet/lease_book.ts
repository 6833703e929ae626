/**
 * The instance's leases in memory: who may spend how much without asking the store. Pure arithmetic, all of it
 * synchronous, so no two calls can ever be admitted against the same money.
 */
import { invariant } from "../../core/lib/assert.ts";
import type { AccountId } from "../../core/lib/ids.ts";
import type { Writable } from "../../core/lib/writable.ts";

/** What this instance may spend of one wallet. Changed only through {@linkcode LeaseBook}. */
export interface Lease {
  readonly accountId: AccountId;
  /** What the store says is ours: row minus the charges of committed batches. */
  readonly remainingMicroVnd: bigint;
  /** Promised to calls in flight. */
  readonly reservedMicroVnd: bigint;
  /** Owed by finished calls whose settlement is not committed yet. */
  readonly chargingMicroVnd: bigint;
  /** Reservations, settlements and waiting transfers that still need this lease. */
  readonly users: number;
  /** `remaining` as the lease row has it; `undefined` while there is no row. */
  readonly rowMicroVnd: bigint | undefined;
  /** First commit that the row does not know of; 0 while the row is up to date. */
  readonly staleSinceCommit: number;
  /** How much to draw beyond the need: grows while draws come often. */
  readonly aheadMicroVnd: bigint;
  /** The largest recent promise: below this much room a draw ahead is due. */
  readonly typicalMicroVnd: bigint;
  /** What was left in the wallet when we last looked. A hint for drawing ahead, never a reason to refuse. */
  readonly walletMicroVnd: bigint;
  readonly lastDrawAtMs: number;
  readonly lastUsedAtMs: number;
  /** False once the instance lease was lost: what it held is void. */
  readonly alive: boolean;
}

/** A lease as the book has it: nobody else writes one. */
type OwnLease = Writable<Lease>;

/** What is neither promised nor owed. */
export function freeMicroVnd(lease: Lease): bigint {
  return lease.remainingMicroVnd - lease.reservedMicroVnd - lease.chargingMicroVnd;
}

function assertSound(lease: Lease): void {
  invariant(lease.reservedMicroVnd >= 0n, "a lease never reserves less than nothing");
  invariant(lease.chargingMicroVnd >= 0n, "a lease never owes less than nothing");
  invariant(freeMicroVnd(lease) >= 0n, "a lease never promises more than it has");
}

export class LeaseBook {
  readonly #leases = new Map<AccountId, OwnLease>();
  /** Leases whose row is behind, in the order in which they fell behind. */
  readonly #stale = new Set<OwnLease>();
  #alive = true;

  /** The lease on a wallet; an empty one if there is none yet. */
  lease(accountId: AccountId): Lease {
    const known = this.#leases.get(accountId);
    if (known) return known;
    invariant(this.#alive, "a book whose instance lease was lost opens no lease");
    const lease: OwnLease = {
      accountId,
      remainingMicroVnd: 0n,
      reservedMicroVnd: 0n,
      chargingMicroVnd: 0n,
      users: 0,
      rowMicroVnd: undefined,
      staleSinceCommit: 0,
      aheadMicroVnd: 0n,
      typicalMicroVnd: 0n,
      walletMicroVnd: 0n,
      lastDrawAtMs: 0,
      lastUsedAtMs: 0,
      alive: true,
    };
    this.#leases.set(accountId, lease);
    return lease;
  }

  /** The lease on a wallet, for somebody who needs it until {@linkcode leave}. */
  join(accountId: AccountId): Lease {
    const lease: OwnLease = this.lease(accountId);
    lease.users++;
    return lease;
  }

  /** A call of this size came: it needs the lease until {@linkcode leave}, and others of its size will follow. */
  enter(lease: OwnLease, amountMicroVnd: bigint, nowMs: number): void {
    lease.users++;
    lease.lastUsedAtMs = nowMs;
    if (amountMicroVnd > lease.typicalMicroVnd) lease.typicalMicroVnd = amountMicroVnd;
  }

  /** Somebody needs the lease no more. */
  leave(lease: OwnLease): void {
    lease.users--;
  }

  /** The lease was of use: it does not go back for a while. */
  touch(lease: OwnLease, nowMs: number): void {
    lease.lastUsedAtMs = nowMs;
  }

  find(accountId: AccountId): Lease | undefined {
    return this.#leases.get(accountId);
  }

  leases(): IterableIterator<Lease> {
    return this.#leases.values();
  }

  /** Forgets a lease that has nothing and that nobody needs. */
  drop(lease: Lease): void {
    invariant(
      lease.remainingMicroVnd === 0n && lease.rowMicroVnd === undefined && lease.users === 0,
      "only an empty lease is forgotten",
    );
    this.#leases.delete(lease.accountId);
  }

  /** Promises an amount if there is room. */
  reserve(lease: OwnLease, amountMicroVnd: bigint): boolean {
    if (freeMicroVnd(lease) < amountMicroVnd) return false;
    lease.reservedMicroVnd += amountMicroVnd;
    assertSound(lease);
    return true;
  }

  /** Takes a promise back, whole or in part. */
  release(lease: OwnLease, amountMicroVnd: bigint): void {
    lease.reservedMicroVnd -= amountMicroVnd;
    assertSound(lease);
  }

  /** Turns promised money into owed money. */
  charge(lease: OwnLease, amountMicroVnd: bigint): void {
    lease.reservedMicroVnd -= amountMicroVnd;
    lease.chargingMicroVnd += amountMicroVnd;
    assertSound(lease);
  }

  /** A settlement that took `amountMicroVnd` was committed; the row does not know yet. */
  settled(lease: OwnLease, amountMicroVnd: bigint, commit: number): void {
    if (amountMicroVnd === 0n) return;
    lease.remainingMicroVnd -= amountMicroVnd;
    lease.chargingMicroVnd -= amountMicroVnd;
    assertSound(lease);
    invariant(lease.rowMicroVnd !== undefined, "money comes only from a lease that has a row");
    if (lease.staleSinceCommit === 0) {
      lease.staleSinceCommit = commit;
      this.#stale.add(lease);
    }
  }

  /** The row was written (or deleted, at `undefined`) and now says what we say. */
  rowWritten(lease: OwnLease, remainingMicroVnd: bigint, hasRow: boolean): void {
    lease.remainingMicroVnd = remainingMicroVnd;
    assertSound(lease);
    invariant(hasRow || remainingMicroVnd === 0n, "a lease without a row has nothing");
    lease.rowMicroVnd = hasRow ? remainingMicroVnd : undefined;
    lease.staleSinceCommit = 0;
    this.#stale.delete(lease);
  }

  /** What was left in the wallet when we looked. */
  walletSeen(lease: OwnLease, walletMicroVnd: bigint): void {
    lease.walletMicroVnd = walletMicroVnd;
  }

  /** Money came in; the next draw may take `aheadMicroVnd` beyond its need. */
  drawn(lease: OwnLease, aheadMicroVnd: bigint, nowMs: number): void {
    lease.aheadMicroVnd = aheadMicroVnd;
    lease.typicalMicroVnd = 0n;
    lease.lastDrawAtMs = nowMs;
  }

  /** Up to `count` leases whose rows are behind, the longest first. */
  stale(count: number): Lease[] {
    const leases: Lease[] = [];
    for (const lease of this.#stale) {
      if (leases.length >= count) break;
      leases.push(lease);
    }
    return leases;
  }

  /** Batches before this commit are in the lease rows. */
  checkpointedBefore(): number {
    for (const lease of this.#stale) return lease.staleSinceCommit;
    return Infinity;
  }

  /** The instance lease was lost: another process gave everything back. */
  void(): void {
    this.#alive = false;
    for (const lease of this.#leases.values()) {
      lease.alive = false;
      lease.remainingMicroVnd = 0n;
      lease.reservedMicroVnd = 0n;
      lease.chargingMicroVnd = 0n;
    }
    this.#leases.clear();
    this.#stale.clear();
  }
}
