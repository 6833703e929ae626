/**
 * Implements the wallet engine: admits calls against leases in memory and passes finished calls to
 * the pipeline.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import type { AccountId, InstanceId, RequestId } from "../../../core/lib/ids/ids.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import type { Timer } from "../../../core/lib/time/deadlines.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { rangeOf, type ReservationAmount } from "../../../core/billing/price.ts";
import { retireInstance } from "./reaper.ts";
import type { DebtRules } from "./lease/transfer_plan.ts";
import {
  Backoff,
  CommitNumbers,
  InstanceLease,
  type InstanceLeaseDeps,
  StoppedError,
} from "./lease/instance_lease.ts";
import { type Lease, LeaseReservation, ReservationQueue, unavailable } from "./lease/lease_book.ts";
import { Housekeeping } from "./housekeeping.ts";
import { type LaneRules, Pipeline } from "./settle/pipeline.ts";
import { Reserving } from "./reserving.ts";
import { attachedRows, type Finished } from "./settle/settlements.ts";
import type {
  Attachment,
  Balance,
  Extension,
  IndexProgress,
  ReceiptDraft,
  Reservation,
  ReserveResult,
  WalletEngine,
  WalletLoad,
  WithheldAnswer,
} from "./lease/types.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { onceStoreIsBack, storeLookMs } from "../../engine/store/store_wait.ts";
import { readLeasesOf, walletWriteAttempts } from "../balances/leases.ts";
import { readWallet } from "../balances/wallets.ts";
import type { Granted } from "./settle/transfers.ts";

/**
 * Ids of settled calls in each of the two remembered generations: a program error that settles a call twice
 * does so soon.
 */
const recentIdsPerGeneration = 10_000;

/** Places of a generation: a third of them are taken at most, so that searches are short. A power of two. */
const places = 32_768;
const placeMask = places - 1;

/** 32-bit numbers of a place: two ids with the same 96 bits do not occur. */
const wordsPerPlace = 3;

/** Three hashes of an id. One object for all ids, since each is used at once. */
const hash = { one: 0, two: 0, three: 0 };

/** Hashes in the manner of FNV-1a; the first is never 0, which marks a free place. */
function hashId(id: RequestId): void {
  let one = 0x811c9dc5;
  let two = 0x9747b28c;
  let three = 0x3c6ef372;
  for (let index = 0; index < id.length; index++) {
    const code = id.charCodeAt(index);
    one = Math.imul(one ^ code, 0x01000193);
    two = Math.imul(two ^ code ^ (two >>> 15), 0x85ebca6b);
    three = Math.imul(three ^ code ^ (three >>> 13), 0xc2b2ae35);
  }
  hash.one = one | 0 || 1;
  hash.two = two | 0;
  hash.three = three | 0;
}

/** The ids of one generation as hashes, in one block of memory that no collection has to visit. */
class Generation {
  readonly #words = new Int32Array(places * wordsPerPlace);
  count = 0;

  /** Whether the id of {@linkcode hash} is among them. */
  holdsHash(): boolean {
    const words = this.#words;
    const { one, two, three } = hash;
    for (let place = one & placeMask;; place = (place + 1) & placeMask) {
      const at = place * wordsPerPlace;
      if (words[at] === 0) return false;
      if (words[at] === one && words[at + 1] === two && words[at + 2] === three) return true;
    }
  }

  addHash(): void {
    const words = this.#words;
    let place = hash.one & placeMask;
    while (words[place * wordsPerPlace] !== 0) place = (place + 1) & placeMask;
    const at = place * wordsPerPlace;
    words[at] = hash.one;
    words[at + 1] = hash.two;
    words[at + 2] = hash.three;
    this.count++;
  }

  clear(): void {
    this.#words.fill(0);
    this.count = 0;
  }
}

/**
 * Remembers recent request ids, so that a bug cannot charge a request twice. Two generations bound
 * the memory. A set of texts would be a large part of what collections visit.
 */
export class RecentIds {
  #young = new Generation();
  #old = new Generation();

  add(id: RequestId): void {
    hashId(id);
    const isKnown = this.#young.holdsHash() || this.#old.holdsHash();
    invariant(!isKnown, () => `request ${id} was settled before`);
    if (this.#young.count >= recentIdsPerGeneration) {
      const former = this.#old;
      this.#old = this.#young;
      this.#young = former;
      former.clear();
    }
    this.#young.addHash();
  }
}

// Reads the balance of an account as one instance sees it: wallet row, lease rows of all instances,
// and its own memory.

/** The view of the instance that asks. */
interface BalanceView {
  readonly kv: KeyValueStore;
  /** Bounds a store call in time. */
  readonly bounded: <T>(call: Promise<T>) => Promise<T>;
  /** Functions, since both change when the instance lease is lost. */
  readonly instanceId: () => InstanceId;
  readonly leaseOf: (accountId: AccountId) => Lease | undefined;
}

/**
 * Reads wallet, leases and memory until they are consistent, at most `walletWriteAttempts`
 * times: another instance may change the wallet meanwhile, and a transfer of this one may have
 * landed before its answer.
 */
async function readBalance(view: BalanceView, accountId: AccountId): Promise<Balance> {
  const { kv, bounded } = view;
  for (let attempt = 1;; attempt++) {
    const before = await bounded(readWallet(kv, accountId));
    const rows = await bounded(readLeasesOf(kv, accountId));
    // The row of this instance lags behind its calls; its memory does not.
    const own = view.leaseOf(accountId);
    const ownId = view.instanceId();
    const ownRow = rows.find((row) => row.instanceId === ownId);
    const isToldOfOwn = ownRow?.remainingMicroVnd === own?.rowMicroVnd;
    const leasedMicroVnd = rows
      .filter((row) => row.instanceId !== ownId)
      .reduce((sum, row) => sum + row.remainingMicroVnd, own?.remainingMicroVnd ?? 0n);
    const reservedMicroVnd = own?.reservedMicroVnd ?? 0n;
    const { availableMicroVnd, versionstamp } = await bounded(readWallet(kv, accountId));
    // Every transfer changes the wallet row, so an unchanged row means that wallet and leases are
    // consistent.
    const isOneMoment = versionstamp === before.versionstamp && isToldOfOwn;
    if (!isOneMoment && attempt < walletWriteAttempts) continue;
    return {
      availableMicroVnd,
      leasedMicroVnd,
      reservedMicroVnd,
      totalMicroVnd: availableMicroVnd + leasedMicroVnd,
    };
  }
}

// Finds the money for a finished call, beyond its reservation if needed, and queues it for
// settlement.

/** Turns finished calls into settlements. */
class Charging {
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

/** Finished calls that wait for their commit. Beyond it no new call is admitted, which bounds memory. */
export const maxUnsettledCalls = 20_000;

/** Calls that may wait at once for a store that is away: what a process carries in half a minute under high load. */
const maxCallsAtDoor = 5_000;

/** Milliseconds that closing waits for the store before it leaves the rest to the reaper. */
const walletCloseMs = 10_000;

interface WalletEngineOptions {
  readonly clock: Clock;
  readonly timer: Timer;
  /** Random number from 0 (included) to 1 (excluded); spreads retries over time. */
  readonly random: () => number;
  /** Milliseconds after its last commit during which the instance counts as alive. */
  readonly ttlMs: number;
  /** The address at which other instances reach this process, if it has one. */
  readonly peerAddress: string | undefined;
  readonly maxUnindexed: number;
  /** Milliseconds that a call waits for money that other calls have reserved. */
  readonly reservationWaitMs: number;
  /** Milliseconds that a call waits to begin while the store is away; 0: it is refused at once. */
  readonly storeWaitMs: number;
  readonly debt: DebtRules;
  /** Whether other instances may have the store open. */
  readonly isShared: boolean;
  readonly lanes: LaneRules;
}

/** The wallet engine of a running instance. */
export class LiveWalletEngine implements WalletEngine {
  readonly #kv: KeyValueStore;
  readonly #options: WalletEngineOptions;
  readonly #backoff: Backoff;
  readonly #pipeline: Pipeline;
  readonly #reservationQueue: ReservationQueue;
  readonly #charging: Charging;
  readonly #reserving: Reserving;
  readonly #housekeeping: Housekeeping;
  readonly #settledIds = new RecentIds();
  #unsettled = 0;
  /** Calls that wait for a store that is away. */
  #atDoor = 0;
  #look: Promise<void> | undefined;
  #endLook: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  private constructor(
    kv: KeyValueStore,
    options: WalletEngineOptions,
    backoff: Backoff,
    instanceLease: InstanceLease,
    leaseDeps: InstanceLeaseDeps,
  ) {
    this.#kv = kv;
    this.#options = options;
    this.#backoff = backoff;
    this.#reservationQueue = new ReservationQueue(options.timer);
    const { timer, debt, lanes, isShared } = options;
    const deps = { ...leaseDeps, timer, debt, lanes, isShared, waiting: this.#reservationQueue };
    this.#pipeline = new Pipeline(deps, backoff, instanceLease, {
      readmit: (finished) => this.#charging.begin(finished),
      settled: () => this.#housekeeping.soon(),
    });
    this.#charging = new Charging(this.#pipeline, this.#reservationQueue, options.clock);
    this.#reserving = new Reserving(this.#pipeline, this.#reservationQueue, {
      ...options,
      kv,
      bounded: backoff.bounded,
      admits: () => this.#admits(),
    });
    this.#housekeeping = new Housekeeping(this.#pipeline, options);
    this.#housekeeping.start();
  }

  static async open(kv: KeyValueStore, options: WalletEngineOptions): Promise<LiveWalletEngine> {
    const backoff = new Backoff(options.timer, options.random);
    const leaseDeps = instanceLeaseDeps(kv, options, backoff);
    const instanceLease = await InstanceLease.register(leaseDeps);
    backoff.answered();
    return new LiveWalletEngine(kv, options, backoff, instanceLease, leaseDeps);
  }

  get instanceId(): InstanceId {
    return this.#pipeline.instanceLease.instanceId;
  }

  get healthy(): boolean {
    return this.#pipeline.failure === undefined && this.#closing === undefined &&
      !this.#pipeline.isStoreSilent;
  }

  get load(): WalletLoad {
    return {
      unsettled: this.#unsettled,
      queued: this.#pipeline.settlements.waiting,
      retries: this.#backoff.retries,
    };
  }

  reserve(
    accountId: AccountId,
    amount: ReservationAmount,
    waitMs = rangeOf(amount).waits === false ? 0 : this.#options.reservationWaitMs,
  ): ReserveResult | Promise<ReserveResult> {
    const leastMicroVnd = typeof amount === "bigint" ? amount : amount.leastMicroVnd;
    invariant(leastMicroVnd >= 0n, "a reservation is not negative");
    const ask = () => {
      if (this.#admits()) return this.#reserving.reserve(accountId, amount, waitMs);
      this.#housekeeping.probe();
      return unavailable(leastMicroVnd);
    };
    const result = ask();
    if ("ok" in result && result.ok) return result;
    const mayWait = rangeOf(amount).waits !== false && this.#options.storeWaitMs > 0;
    return mayWait ? this.#onceStoreIsBack(result, ask) : result;
  }

  /**
   * Lets a call wait while the store is away, instead of refusing it: nothing of it has begun, so the wait costs memory
   * only, and a fail-over is over before clients give up. `ask` asks the wallet again.
   */
  async #onceStoreIsBack(
    first: ReserveResult | Promise<ReserveResult>,
    ask: () => ReserveResult | Promise<ReserveResult>,
  ): Promise<ReserveResult> {
    const result = await first;
    const isAway = (result: ReserveResult) =>
      !result.ok && result.reason === "unavailable" && this.#mayReturn();
    if (!isAway(result) || this.#atDoor >= maxCallsAtDoor) return result;
    this.#atDoor++;
    const { clock, storeWaitMs: waitMs } = this.#options;
    try {
      const wait = { clock, waitMs, nextLook: () => this.#nextLook() };
      return await onceStoreIsBack(wait, result, { isAway, ask });
    } finally {
      this.#atDoor--;
    }
  }

  /** Whether the engine can still come to admit calls: it has neither failed nor been closed. */
  #mayReturn(): boolean {
    return this.#pipeline.failure === undefined && this.#closing === undefined;
  }

  /** Waits until it is time to look whether calls are admitted again; all that wait share one timer. */
  #nextLook(): Promise<void> {
    this.#look ??= new Promise((resolve) => {
      const end = () => {
        this.#look = undefined;
        this.#endLook = undefined;
        resolve();
      };
      const stopTimer = this.#options.timer.start(end, storeLookMs);
      this.#endLook = () => {
        stopTimer();
        end();
      };
    });
    return this.#look;
  }

  extend(
    reservation: Reservation,
    amountMicroVnd: bigint,
    waitMs: number,
  ): Extension | Promise<Extension> {
    invariant(
      reservation instanceof LeaseReservation,
      "only reservations of this wallet engine grow",
    );
    invariant(amountMicroVnd > 0n, "an extension is more than nothing");
    if (!reservation.isOpen) return { outcome: "exhausted" };
    if (this.#pipeline.failure !== undefined || this.#pipeline.isStoreSilent) {
      return { outcome: "unavailable" };
    }
    return this.#reserving.extend(reservation, amountMicroVnd, waitMs);
  }

  async settle(
    reservation: Reservation,
    draft: ReceiptDraft,
    attach?: Attachment,
    withheld?: () => WithheldAnswer | undefined,
  ): Promise<Receipt> {
    invariant(
      reservation instanceof LeaseReservation,
      "only reservations of this wallet engine are settled",
    );
    invariant(draft.priceMicroVnd >= 0n, "a price is not negative");
    const rows = attachedRows(attach);
    // The id is checked first: if it was used before, the reservation stays open and can be
    // released.
    this.#settledIds.add(draft.requestId);
    reservation.end("settled");
    if (this.#pipeline.failure !== undefined) throw this.#pipeline.failure;
    this.#unsettled++;
    try {
      return await new Promise<Receipt>((resolve, reject) => {
        const { accountId, lease, amountMicroVnd } = reservation;
        const finished: Finished = {
          accountId,
          heldMicroVnd: amountMicroVnd,
          draft,
          rows,
          withheld,
          resolve,
          reject,
          lease,
          chargeMicroVnd: 0n,
        };
        if (lease.alive) this.#charging.admit(finished, amountMicroVnd);
        else this.#charging.begin(finished);
      });
    } finally {
      this.#unsettled--;
    }
  }

  release(reservation: Reservation): void {
    invariant(
      reservation instanceof LeaseReservation,
      "only reservations of this wallet engine are released",
    );
    reservation.end("released");
    const { lease, amountMicroVnd } = reservation;
    if (!lease.alive) return;
    const { book } = this.#pipeline;
    book.release(lease, amountMicroVnd);
    book.leave(lease);
    const nowMs = this.#options.clock.nowMs();
    book.touch(lease, nowMs);
    this.#reservationQueue.freed(book, lease, nowMs);
    this.#pipeline.transfers.returnSpare(lease);
    if (this.#pipeline.transfers.waiting) this.#pipeline.kick();
    this.#housekeeping.soon();
  }

  async balance(accountId: AccountId): Promise<Balance> {
    return await readBalance({
      kv: this.#kv,
      bounded: this.#backoff.bounded,
      instanceId: () => this.instanceId,
      leaseOf: (id) => this.#pipeline.book.find(id),
    }, accountId);
  }

  async heartbeat(): Promise<void> {
    await this.#housekeeping.heartbeat();
  }

  async indexOnce(): Promise<IndexProgress> {
    return await this.#housekeeping.step();
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    this.#reservationQueue.endAll();
    this.#endLook?.();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const tooLate = Promise.withResolvers<void>();
    const stopTimer = this.#options.timer.start(() => {
      this.#backoff.stop();
      tooLate.resolve();
    }, walletCloseMs);
    try {
      await this.#housekeeping.finish();
      // From here on a late settlement is refused: a new instance must not be registered for it.
      this.#pipeline.stop(new StoppedError("The wallet engine is closed"));
      const nowMs = this.#options.clock.nowMs();
      const retired = [
        retireInstance(this.#kv, this.instanceId, nowMs),
        this.#pipeline.closeLanes(),
      ];
      await Promise.race([Promise.all(retired), tooLate.promise]);
    } catch {
      // The store does not answer, or a bug has stopped the pipeline. The reaper clears up the
      // rest; no money is lost.
    } finally {
      stopTimer();
      this.#housekeeping.stop();
      this.#backoff.stop();
      this.#pipeline.stop(new StoppedError("The wallet engine is closed"));
      await this.#pipeline.rest();
    }
  }

  /**
   * A store that does not answer admits no call either, even if a lease has room: the result could
   * not be written.
   */
  #admits(): boolean {
    return this.healthy &&
      this.#unsettled < maxUnsettledCalls &&
      this.#pipeline.index.length < this.#options.maxUnindexed;
  }
}

function instanceLeaseDeps(
  kv: KeyValueStore,
  { clock, ttlMs, peerAddress }: WalletEngineOptions,
  { bounded, beforeRetry }: Backoff,
): InstanceLeaseDeps {
  const numbers = new CommitNumbers();
  return { kv, clock, ttlMs, peerAddress, bounded, backoff: beforeRetry, numbers };
}
