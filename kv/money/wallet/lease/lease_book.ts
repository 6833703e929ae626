/**
 * Keeps the leases of the instance in memory: how much it may spend of each wallet without asking
 * the store. Pure, synchronous arithmetic, so no two calls can be admitted against the same money.
 *
 * Calls wait in the {@linkcode ReservationQueue} for money that other calls have reserved. When a call ends or needs less
 * than it reserved, the queue serves waiting calls at once, in order of arrival. Top-ups and money that other instances
 * return are found by asking the store again.
 *
 * - Folder `kv/money/wallet/lease/`: the money that an instance holds: its lease row, the leases in memory, calls
 *   that wait for money.
 * - In: reservations, and rows of wallets and leases as they were read.
 * - Out: money reserved or refused, plans of transfers, commits that check the instance lease.
 * - Never: admits two calls against the same money, or writes for an instance whose lease was taken.
 */
import { invariant, type Writable } from "../../../../core/lib/base/assert.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import type { Timer } from "../../../../core/lib/time/deadlines.ts";
import { fittingMicroVnd, type ReservationRange } from "../../../../core/billing/price.ts";
import type { Refusal, Reservation } from "./types.ts";

/**
 * The part of a wallet that this instance may spend. Changed only through {@linkcode LeaseBook}.
 */
export interface Lease {
  readonly accountId: AccountId;
  /** The lease according to the store: its row minus the charges of committed batches. */
  readonly remainingMicroVnd: bigint;
  /** Reserved for running calls. */
  readonly reservedMicroVnd: bigint;
  /** Owed by finished calls whose settlement is not committed yet. */
  readonly chargingMicroVnd: bigint;
  /** Reservations, settlements and waiting transfers that still need this lease. */
  readonly users: number;
  /** `remaining` as the lease row has it; `undefined` while there is no row. */
  readonly rowMicroVnd: bigint | undefined;
  /** First commit that the row may lack; 0 while the row is up to date. */
  readonly staleSinceCommit: number;
  /** Last commit that the row lacks; 0 while it is up to date. */
  readonly staleUntilCommit: number;
  /** Charges that were committed while earlier settlements of the lease were under way. */
  readonly late: readonly CommittedCharge[];
  /** Settlements of this lease whose commit is under way, in the order of their numbers. */
  readonly underWay: readonly number[];
  /** Amount to draw beyond what is needed: grows while draws follow each other closely. */
  readonly aheadMicroVnd: bigint;
  /** The largest recent reservation. With little more than this left, the lease draws ahead. */
  readonly typicalMicroVnd: bigint;
  /** The latest reservation: the size of the calls, by which a wallet is small or not. */
  readonly reservationMicroVnd: bigint;
  /** Balance that the last read found in the wallet. A hint for drawing ahead, never a reason to refuse. */
  readonly walletMicroVnd: bigint;
  /** Moment at which the wallet was read last. */
  readonly walletSeenAtMs: number;
  readonly lastDrawAtMs: number;
  readonly lastUsedAtMs: number;
  /** `false` once the instance lease was lost, which voids the lease. */
  readonly alive: boolean;
}

/**
 * Reservations of a call's size below which a wallet is small. What one instance holds of a small wallet is missed by
 * the others, so leases take no more of it than running calls need.
 */
const smallWalletReservations = 8n;

/** Decides whether an amount pays only a few reservations of a size. */
export function isSmall(worthMicroVnd: bigint, reservationMicroVnd: bigint): boolean {
  return worthMicroVnd < reservationMicroVnd * smallWalletReservations;
}

/** Decides whether the wallet of a lease is small, as far as this instance knows. */
export function isOfSmallWallet(lease: Lease): boolean {
  return isSmall(lease.walletMicroVnd + lease.remainingMicroVnd, lease.reservationMicroVnd);
}

/** Amount that a committed settlement took from a lease. */
interface CommittedCharge {
  readonly commit: number;
  readonly amountMicroVnd: bigint;
}

/** Content that a commit writes into the row of a lease. */
export interface LeaseRowContent {
  readonly remainingMicroVnd: bigint;
  /** The row has the charges of all settlements up to and including this commit, and of no later one. */
  readonly asOfCommit: number;
}

/** A lease that its book may change. */
type OwnLease = Writable<Lease>;

/** Computes what is neither reserved nor being charged. */
export function freeMicroVnd(lease: Lease): bigint {
  return lease.remainingMicroVnd - lease.reservedMicroVnd - lease.chargingMicroVnd;
}

function assertSound(lease: Lease): void {
  invariant(lease.reservedMicroVnd >= 0n, "the reserved amount of a lease is never negative");
  invariant(lease.chargingMicroVnd >= 0n, "the charges of a lease are never negative");
  invariant(freeMicroVnd(lease) >= 0n, "a lease never reserves more than it has");
}

/** The leases of an instance on wallets, until its instance lease is lost. */
export class LeaseBook {
  readonly #leases = new Map<AccountId, OwnLease>();
  /** Leases whose row lacks charges, in the order in which that began. */
  readonly #stale = new Set<OwnLease>();
  #alive = true;

  /** Returns the lease on a wallet; an empty one if there is none yet. */
  lease(accountId: AccountId): Lease {
    const known = this.#leases.get(accountId);
    if (known) return known;
    invariant(this.#alive, "a lease book without instance lease cannot open a lease");
    const lease: OwnLease = {
      accountId,
      remainingMicroVnd: 0n,
      reservedMicroVnd: 0n,
      chargingMicroVnd: 0n,
      users: 0,
      rowMicroVnd: undefined,
      staleSinceCommit: 0,
      staleUntilCommit: 0,
      late: [],
      underWay: [],
      aheadMicroVnd: 0n,
      typicalMicroVnd: 0n,
      reservationMicroVnd: 0n,
      walletMicroVnd: 0n,
      walletSeenAtMs: 0,
      lastDrawAtMs: 0,
      lastUsedAtMs: 0,
      alive: true,
    };
    this.#leases.set(accountId, lease);
    return lease;
  }

  /** Returns the lease on a wallet and counts a user, until {@linkcode leave}. */
  join(accountId: AccountId): Lease {
    const lease: OwnLease = this.lease(accountId);
    lease.users++;
    return lease;
  }

  /**
   * Counts a call as user, until {@linkcode leave}, and notes its size: others of that size will
   * follow.
   */
  enter(lease: OwnLease, amountMicroVnd: bigint, nowMs: number): void {
    lease.users++;
    lease.lastUsedAtMs = nowMs;
    if (amountMicroVnd > lease.typicalMicroVnd) lease.typicalMicroVnd = amountMicroVnd;
    if (amountMicroVnd > 0n) lease.reservationMicroVnd = amountMicroVnd;
  }

  /** Counts one user less. */
  leave(lease: OwnLease): void {
    lease.users--;
  }

  /** Notes that the lease was used, so that it is not returned for a while. */
  touch(lease: OwnLease, nowMs: number): void {
    lease.lastUsedAtMs = nowMs;
  }

  find(accountId: AccountId): Lease | undefined {
    return this.#leases.get(accountId);
  }

  leases(): IterableIterator<Lease> {
    return this.#leases.values();
  }

  /** Removes a lease that has no money, no row and no users. */
  drop(lease: Lease): void {
    invariant(
      lease.remainingMicroVnd === 0n && lease.rowMicroVnd === undefined && lease.users === 0,
      "only an empty lease is removed",
    );
    this.#leases.delete(lease.accountId);
  }

  /** Reserves an amount if the lease has room. */
  reserve(lease: OwnLease, amountMicroVnd: bigint): boolean {
    if (freeMicroVnd(lease) < amountMicroVnd) return false;
    lease.reservedMicroVnd += amountMicroVnd;
    assertSound(lease);
    return true;
  }

  /** Releases a reservation, in whole or in part. */
  release(lease: OwnLease, amountMicroVnd: bigint): void {
    lease.reservedMicroVnd -= amountMicroVnd;
    assertSound(lease);
  }

  /** Turns reserved money into a charge that is not committed yet. */
  charge(lease: OwnLease, amountMicroVnd: bigint): void {
    lease.reservedMicroVnd -= amountMicroVnd;
    lease.chargingMicroVnd += amountMicroVnd;
    assertSound(lease);
  }

  /** Notes that a settlement which charges the lease is sent, while the row of the lease may be written. */
  sent(lease: OwnLease, commit: number): void {
    if (lease.underWay.at(-1) !== commit) lease.underWay = [...lease.underWay, commit];
  }

  /** Notes that the outcome of a settlement is known; call it before {@linkcode settled}. */
  decided(lease: OwnLease, commit: number): void {
    if (lease.underWay.length > 0) lease.underWay = lease.underWay.filter((at) => at !== commit);
  }

  /** Frees a charge that will not be committed. */
  forgo(lease: OwnLease, amountMicroVnd: bigint): void {
    lease.chargingMicroVnd -= amountMicroVnd;
    assertSound(lease);
  }

  /**
   * Notes a committed settlement that took `amountMicroVnd`; the lease row lacks it until the next
   * checkpoint.
   */
  settled(lease: OwnLease, amountMicroVnd: bigint, commit: number): void {
    if (amountMicroVnd === 0n) return;
    lease.remainingMicroVnd -= amountMicroVnd;
    lease.chargingMicroVnd -= amountMicroVnd;
    assertSound(lease);
    invariant(lease.rowMicroVnd !== undefined, "money comes only from a lease that has a row");
    if (lease.staleSinceCommit === 0) {
      lease.staleSinceCommit = commit;
      this.#stale.add(lease);
    } else if (commit < lease.staleSinceCommit) lease.staleSinceCommit = commit;
    if (commit > lease.staleUntilCommit) lease.staleUntilCommit = commit;
    // Without a settlement under way, every row built from here on has all charges up to now.
    if (lease.underWay.length > 0) lease.late = [...lease.late, { commit, amountMicroVnd }];
    else if (lease.late.length > 0) lease.late = [];
  }

  /**
   * Computes what commit number `commit` writes into the row, for a lease that it changes by
   * `changeMicroVnd`. Settlements whose commits are under way may land before it or after it, so the
   * row ends before the first of them; what later ones took is in their batches.
   */
  rowFor(lease: Lease, commit: number, changeMicroVnd = 0n): LeaseRowContent {
    const first = lease.underWay[0];
    if (first === undefined) {
      return { remainingMicroVnd: lease.remainingMicroVnd + changeMicroVnd, asOfCommit: commit };
    }
    invariant(first < commit, "commits are numbered in the order in which they are sent");
    const asOfCommit = first - 1;
    const laterMicroVnd = lease.late
      .filter((charge) => charge.commit > asOfCommit)
      .reduce((sum, charge) => sum + charge.amountMicroVnd, 0n);
    const remainingMicroVnd = lease.remainingMicroVnd + changeMicroVnd + laterMicroVnd;
    return { remainingMicroVnd, asOfCommit };
  }

  /**
   * Notes that the lease row was written, or deleted if `hasRow` is `false`.
   *
   * @param remainingMicroVnd what the lease has now
   * @param written what the row says; by default everything up to now
   */
  rowWritten(
    lease: OwnLease,
    remainingMicroVnd: bigint,
    hasRow: boolean,
    written: LeaseRowContent = { remainingMicroVnd, asOfCommit: Infinity },
  ): void {
    lease.remainingMicroVnd = remainingMicroVnd;
    assertSound(lease);
    invariant(hasRow || remainingMicroVnd === 0n, "a lease without a row has nothing");
    lease.rowMicroVnd = hasRow ? written.remainingMicroVnd : undefined;
    const { asOfCommit } = written;
    this.#stale.delete(lease);
    if (lease.staleUntilCommit <= asOfCommit) {
      lease.staleSinceCommit = 0;
      lease.staleUntilCommit = 0;
      if (lease.late.length > 0) lease.late = [];
      return;
    }
    invariant(hasRow, "a lease without a row has no charges");
    lease.staleSinceCommit = Math.max(lease.staleSinceCommit, asOfCommit + 1);
    lease.late = lease.late.filter(({ commit }) => commit > asOfCommit);
    // Goes to the end: a lease that is charged all the time must not keep others from being written.
    this.#stale.add(lease);
  }

  /** Notes what a read found in the wallet. */
  walletSeen(lease: OwnLease, walletMicroVnd: bigint, nowMs: number): void {
    lease.walletMicroVnd = walletMicroVnd;
    lease.walletSeenAtMs = nowMs;
  }

  /** Notes a draw; the next one may take `aheadMicroVnd` beyond its need. */
  drawn(lease: OwnLease, aheadMicroVnd: bigint, nowMs: number): void {
    lease.aheadMicroVnd = aheadMicroVnd;
    lease.typicalMicroVnd = 0n;
    lease.lastDrawAtMs = nowMs;
  }

  /** Returns up to `count` leases whose rows lack charges, the oldest first. */
  stale(count: number): Lease[] {
    const leases: Lease[] = [];
    for (const lease of this.#stale) {
      if (leases.length >= count) break;
      leases.push(lease);
    }
    return leases;
  }

  /**
   * Returns the first commit whose charges a lease row lacks; all earlier batches are in the rows.
   */
  checkpointedBefore(): number {
    let first = Infinity;
    for (const { staleSinceCommit } of this.#stale) {
      if (staleSinceCommit < first) first = staleSinceCommit;
    }
    return first;
  }

  /**
   * Voids all leases after the instance lease was lost: another process has returned their money.
   */
  void(): void {
    this.#alive = false;
    for (const lease of this.#leases.values()) {
      lease.alive = false;
      lease.remainingMicroVnd = 0n;
      lease.reservedMicroVnd = 0n;
      lease.chargingMicroVnd = 0n;
      lease.staleSinceCommit = 0;
      lease.staleUntilCommit = 0;
      lease.late = [];
      lease.underWay = [];
    }
    this.#leases.clear();
    this.#stale.clear();
  }
}

// Builds refusals with their figures.

/** Facts about a wallet beyond its lease here. */
interface KnownWallet {
  /** In leases of other instances. */
  readonly elsewhereMicroVnd: bigint;
  /** Amount by which the wallet may go below zero. */
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
type ReservationWait = ReservedOnLease | "ask" | "full";

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
