/**
 * Does the work that follows calls: heartbeat, lease rows, index, idle leases. A timer drives it,
 * one bounded step at a time.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import type { Timer } from "../../../core/lib/time/deadlines.ts";
import { type LeaseValue, walletWriteAttempts } from "../balances/leases.ts";
import { indexReceiptsPerStep } from "./settle/index_queue.ts";
import { leaseKey } from "../../engine/schema/keys.ts";
import type { CommitOutcome, InstanceLease } from "./lease/instance_lease.ts";
import {
  freeMicroVnd,
  type Lease,
  type LeaseBook,
  type LeaseRowContent,
} from "./lease/lease_book.ts";
import type { Pipeline } from "./settle/pipeline.ts";
import type { IndexProgress } from "./lease/types.ts";

/** Milliseconds between two heartbeats of an idle instance: four chances before it counts as dead. */
export const heartbeatMs = 15_000;

/** Lease rows in one checkpoint: well under a millisecond, so that settlements in between do not wait. */
const leasesPerCheckpoint = 64;

/**
 * Milliseconds that the indexer waits for more receipts: those of one wallet then share the rewriting of
 * their rows.
 */
export const indexLingerMs = 500;

/** Milliseconds without a call after which a lease is returned if it holds a good part of the wallet. */
const leaseIdleShortMs = 1_000;

/** Milliseconds without a call after which a lease is returned in any case. */
const leaseIdleLongMs = 60_000;

export interface HousekeepingOptions {
  readonly clock: Clock;
  readonly timer: Timer;
  readonly ttlMs: number;
}

/** Writes lease rows that lack charges, and renews the instance lease with the same commit. */
async function checkpoint(instanceLease: InstanceLease, book: LeaseBook): Promise<CommitOutcome> {
  const leases = book.stale(leasesPerCheckpoint);
  let rows: LeaseRowContent[] = [];
  const outcome = await instanceLease.commit((op, commit) => {
    rows = leases.map((lease) => book.rowFor(lease, commit));
    leases.forEach(({ accountId }, at) => {
      const row = rows[at];
      const key = leaseKey(accountId, instanceLease.instanceId);
      if (row === undefined || row.remainingMicroVnd === 0n) op.delete(key);
      else op.set(key, row satisfies LeaseValue);
    });
  });
  if (outcome === "applied") {
    leases.forEach((lease, at) => {
      const row = rows[at];
      invariant(row !== undefined, "every lease of a checkpoint has a row");
      book.rowWritten(lease, lease.remainingMicroVnd, row.remainingMicroVnd > 0n, row);
    });
  }
  return outcome;
}

/** The background work of one engine. */
export class Housekeeping {
  readonly #pipeline: Pipeline;
  readonly #options: HousekeepingOptions;
  #step: Promise<IndexProgress> | undefined;
  #stopTick: (() => void) | undefined;
  #stopBeat: (() => void) | undefined;
  #stopped = false;
  #probing = false;

  constructor(pipeline: Pipeline, options: HousekeepingOptions) {
    this.#pipeline = pipeline;
    this.#options = options;
  }

  /** Starts the heartbeat. */
  start(): void {
    this.#beatLater();
  }

  stop(): void {
    this.#stopped = true;
    this.#stopTick?.();
    this.#stopBeat?.();
  }

  /** Schedules a step. */
  soon(): void {
    if (this.#stopTick || this.#stopped) return;
    const { index } = this.#pipeline;
    const behind = index.length > indexReceiptsPerStep;
    this.#stopTick = this.#options.timer.start(() => {
      this.#stopTick = undefined;
      this.#tick();
    }, behind ? 0 : indexLingerMs);
  }

  /** Renews the instance lease. */
  async heartbeat(): Promise<void> {
    await this.#pipeline.chore(checkpoint);
  }

  /**
   * Tests whether a store that did not answer is back, unless a test runs already. Otherwise only
   * the next heartbeat would notice.
   */
  probe(): void {
    if (this.#probing || this.#stopped || !this.#pipeline.isStoreSilent) return;
    this.#probing = true;
    this.heartbeat().catch(() => {}).finally(() => {
      this.#probing = false;
    });
  }

  /** Does one step; a second caller shares the step that runs. */
  step(): Promise<IndexProgress> {
    this.#step ??= this.#oneStep().finally(() => {
      this.#step = undefined;
    });
    return this.#step;
  }

  /** Settles and indexes everything that waits, as far as the store answers. */
  async finish(): Promise<void> {
    this.stop();
    await this.#pipeline.rest();
    for (let idle = 0; this.#hasWork() && idle < walletWriteAttempts; idle++) {
      if (this.#pipeline.failure !== undefined) throw this.#pipeline.failure;
      const { indexed } = await this.step();
      if (indexed > 0) idle = 0;
    }
    await this.#pipeline.rest();
  }

  #hasWork(): boolean {
    const { index, book } = this.#pipeline;
    return index.length > 0 || index.batches > 0 || book.stale(1).length > 0;
  }

  #tick(): void {
    this.step().then(() => {
      const { index, book } = this.#pipeline;
      if (index.batches > 0 || !book.leases().next().done) this.soon();
    }, () => {
      // The store does not answer, or the pipeline has stopped for good.
      if (this.#pipeline.failure === undefined) this.soon();
    });
  }

  async #oneStep(): Promise<IndexProgress> {
    const pipeline = this.#pipeline;
    const { index } = pipeline;
    let left = Math.ceil(pipeline.book.stale(Infinity).length / leasesPerCheckpoint);
    for (; left > 0; left--) await pipeline.chore(checkpoint);
    const indexed = await index.step();
    // No progress may mean that the instance lease is lost; a commit finds out.
    if (indexed === 0 && index.length > 0) await pipeline.chore(checkpoint);
    if (index === pipeline.index) await index.sweep(pipeline.book.checkpointedBefore());
    await pipeline.transfers.recheck(pipeline.book);
    this.#returnIdleLeases();
    return { indexed, waiting: pipeline.index.length };
  }

  #returnIdleLeases(): void {
    const { book, transfers } = this.#pipeline;
    const nowMs = this.#options.clock.nowMs();
    for (const lease of book.leases()) {
      if (lease.users > 0 || transfers.has(lease.accountId)) continue;
      if (lease.rowMicroVnd === undefined) book.drop(lease);
      else if (isIdle(lease, nowMs)) transfers.giveBack(lease, "idle");
    }
    if (transfers.waiting) this.#pipeline.kick();
  }

  #beatLater(): void {
    const { timer, clock, ttlMs } = this.#options;
    this.#stopBeat = timer.start(() => {
      const leftMs = this.#pipeline.instanceLease.expiresAtMs - clock.nowMs();
      // Every commit renews the instance lease, so only an idle instance needs a heartbeat.
      const beat = leftMs < ttlMs - heartbeatMs / 2 ? this.heartbeat() : Promise.resolve();
      beat.catch(() => {}).then(() => {
        if (!this.#stopped && this.#pipeline.failure === undefined) this.#beatLater();
      });
    }, heartbeatMs);
  }
}

/**
 * Decides whether a lease goes back. A lease that keeps a large part of the wallet from other
 * instances goes back sooner.
 */
function isIdle(lease: Lease, nowMs: number): boolean {
  if (freeMicroVnd(lease) !== lease.remainingMicroVnd) return false;
  const large = lease.remainingMicroVnd * 3n > lease.walletMicroVnd;
  const idleMs = large ? leaseIdleShortMs : leaseIdleLongMs;
  return nowMs - lease.lastUsedAtMs >= idleMs;
}
