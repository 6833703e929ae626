/**
 * Writes all money commits of an instance: settlements, transfers and chores take turns, one at a
 * time. With a far store the settlements leave that row and go through lanes, side by side
 * (`settlement_lanes.ts`).
 *
 * - Folder `kv/money/wallet/settle/`: the money commits of an instance: settlements, transfers, chores, and the queue
 *   of the index.
 * - In: finished calls, wishes for money, idle leases.
 * - Out: durable settlements, leases that grew or were returned, receipts for the index.
 * - Never: runs two commits on one instance row at once, or repeats a settlement whose commit took effect.
 */
import { invariant, InvariantError } from "../../../../core/lib/base/assert.ts";
import type { Timer } from "../../../../core/lib/time/deadlines.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { readReceipt } from "../../receipts/receipts.ts";
import {
  type Backoff,
  type CommitOutcome,
  InstanceLease,
  type InstanceLeaseDeps,
} from "../lease/instance_lease.ts";
import { IndexQueue } from "./index_queue.ts";
import { LeaseBook } from "../lease/lease_book.ts";
import { type LaneRules, type LaneState, SettlementLanes } from "./settlement_lanes.ts";
import {
  type Finished,
  type LandedSettlement,
  Settlements,
  type SettlementUnderWay,
} from "./settlements.ts";
import { receiptsOfSmallCommit, StoreDistance } from "../lease/store_distance.ts";
import { Transfers, type TransfersDeps } from "./transfers.ts";

/**
 * Attempts in a row that the store did not answer, or refused to write, after which an instance admits no
 * more calls: half a second where it refuses, 25 where it does not answer.
 */
const maxWalletFailures = 5;

/** A commit of the instance for its own housekeeping, e.g. lease rows. */
export type Chore = (instanceLease: InstanceLease, book: LeaseBook) => Promise<CommitOutcome>;

/** Functions that the pipeline calls. */
export interface PipelineHooks {
  /** Called for a finished call that lost its reservation and has to find its money again. */
  readonly readmit: (finished: Finished) => void;
  /** Called after a settlement, when receipts wait for the index. */
  readonly settled: () => void;
}

interface QueuedChore {
  readonly run: Chore;
  readonly done: PromiseWithResolvers<CommitOutcome>;
}

export interface PipelineDeps
  extends InstanceLeaseDeps, Pick<TransfersDeps, "debt" | "isShared" | "waiting"> {
  readonly timer: Timer;
  readonly lanes: LaneRules;
}

/** The only writer of money commits of an instance. */
export class Pipeline {
  readonly settlements = new Settlements();
  readonly transfers: Transfers;
  readonly #deps: PipelineDeps;
  readonly #hooks: PipelineHooks;
  readonly #backoff: Backoff;
  readonly #distance = new StoreDistance();
  readonly #lanes: SettlementLanes;
  /**
   * A lane was refused: the instance lease itself settles next, and finds out whether it is lost. No lane settles
   * meanwhile.
   */
  #isDoubtful = false;
  #instanceLease: InstanceLease;
  #book = new LeaseBook();
  #index: IndexQueue;
  #chores: QueuedChore[] = [];
  #running: Promise<void> | undefined;
  /** Consecutive rounds that were refused; determines the next pause. */
  #failures = 0;
  #failure: unknown;

  constructor(
    deps: PipelineDeps,
    backoff: Backoff,
    instanceLease: InstanceLease,
    hooks: PipelineHooks,
  ) {
    this.#deps = deps;
    this.#backoff = backoff;
    this.#instanceLease = instanceLease;
    this.#hooks = hooks;
    this.#index = this.#newIndex();
    this.transfers = new Transfers({
      kv: deps.kv,
      nowMs: () => deps.clock.nowMs(),
      bounded: deps.bounded,
      debt: deps.debt,
      isShared: deps.isShared,
      waiting: deps.waiting,
    });
    this.#lanes = new SettlementLanes({
      lease: { ...deps, backoff: backoff.besideOthers },
      clock: deps.clock,
      timer: deps.timer,
      rules: deps.lanes,
      distance: this.#distance,
      hasWork: () => this.#mayUseLanes && this.settlements.waiting > 0,
      settle: (lane) => this.#settleOn(lane),
      fail: (error) => this.#fail(error),
      kick: () => this.kick(),
    });
  }

  get instanceLease(): InstanceLease {
    return this.#instanceLease;
  }

  get book(): LeaseBook {
    return this.#book;
  }

  get index(): IndexQueue {
    return this.#index;
  }

  /** The error that stopped the pipeline for good: a bug, or {@linkcode stop}. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Whether the store has failed so often that no new call should start. */
  get isStoreSilent(): boolean {
    return this.#backoff.missed >= maxWalletFailures;
  }

  /**
   * Starts what waits. Calls made in the same turn of the event loop share a commit.
   */
  kick(): void {
    if (this.#failure !== undefined) return;
    if (this.settlements.waiting > 0) {
      if (this.#settlesOnLanes) this.#lanes.wake();
      else if (this.#running) this.#lanes.widen();
    }
    if (this.#running || !this.#hasWork()) return;
    this.#running = Promise.resolve().then(() => this.#run());
  }

  /** Queues a housekeeping commit. */
  chore(run: Chore): Promise<CommitOutcome> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const done = Promise.withResolvers<CommitOutcome>();
    this.#chores.push({ run, done });
    this.kick();
    return done.promise;
  }

  /** Stops the pipeline for good: refuses what waits, and everything later, with `reason`. */
  stop(reason: Error): void {
    if (this.#failure === undefined) this.#fail(reason);
  }

  /** Resolves when no commit is under way and no settlement waits, for an engine that closes. */
  async rest(): Promise<void> {
    while (this.#running || this.#lanes.isBusy) {
      if (this.#running) await this.#running;
      else await this.#lanes.finish();
    }
  }

  /** Deletes the rows of the lanes, after {@linkcode stop}. */
  async closeLanes(): Promise<void> {
    await this.#lanes.close();
  }

  get #mayUseLanes(): boolean {
    return this.#failure === undefined && !this.#isDoubtful;
  }

  get #settlesOnLanes(): boolean {
    return this.#mayUseLanes && this.#lanes.inUse;
  }

  /** Whether settlements wait for the instance lease itself. */
  get #settlesHere(): boolean {
    return this.settlements.waiting > 0 && !this.#settlesOnLanes;
  }

  #newIndex(): IndexQueue {
    return new IndexQueue({
      kv: this.#deps.kv,
      instanceId: this.#instanceLease.instanceId,
      versionstamp: this.#instanceLease.indexerVersionstamp,
      bounded: this.#deps.bounded,
      pause: this.#backoff.pause,
    });
  }

  async #run(): Promise<void> {
    try {
      while (this.#hasWork()) {
        if (this.#settlesHere) await this.#settle();
        if (this.transfers.waiting) await this.#transfer();
        if (this.#chores.length > 0) await this.#doChore();
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#running = undefined;
    }
    // Work may have arrived after the last check and before `#running` was cleared.
    if (this.#hasWork()) this.kick();
  }

  #hasWork(): boolean {
    return this.#failure === undefined &&
      (this.#settlesHere || this.transfers.waiting || this.#chores.length > 0);
  }

  async #settle(): Promise<void> {
    const result = await this.settlements.round(
      this.#instanceLease,
      this.#instanceLease,
      this.#book,
    );
    switch (result.outcome) {
      case "applied":
        this.#isDoubtful = false;
        return this.#settled(result, this.#instanceLease);
      case "refused":
        return await this.#pause();
      case "lost":
        return await this.#recover(result.underWay.batch.map(({ finished }) => finished));
    }
  }

  /** Commits the calls that wait through a lane. */
  async #settleOn(lane: InstanceLease): Promise<LaneState> {
    const result = await this.settlements.round(lane, this.#instanceLease, this.#book);
    switch (result.outcome) {
      case "applied":
        this.#settled(result, lane);
        return "open";
      case "refused":
        this.#isDoubtful = true;
        return "open";
      case "lost":
        await this.#afterLostLane(result.underWay);
        return "lost";
    }
  }

  /** The lane can write no more, so one receipt decides whether the commit took effect: it did so whole or not at all. */
  async #afterLostLane(underWay: SettlementUnderWay): Promise<void> {
    const [first] = underWay.batch;
    invariant(first !== undefined, "a settlement has at least one call");
    let receipt: Receipt | undefined;
    try {
      receipt = await this.#find(first.finished);
    } catch (error) {
      this.settlements.putBack(underWay, this.#book);
      throw error;
    }
    if (receipt) {
      this.#settled(this.settlements.landed(underWay, this.#book));
    } else {
      this.settlements.putBack(underWay, this.#book);
      this.#isDoubtful = true;
    }
  }

  /** @param writer the row that was written, if the time of the commit is known */
  #settled({ commit, receipts, leases }: LandedSettlement, writer?: InstanceLease): void {
    if (writer !== undefined && receipts.length <= receiptsOfSmallCommit) this.#took(writer);
    this.#answered();
    this.#index.add(commit, receipts);
    for (const lease of leases) if (lease.alive) this.transfers.returnSpare(lease);
    this.#hooks.settled();
  }

  async #transfer(): Promise<void> {
    const outcome = await this.transfers.round(this.#instanceLease, this.#book);
    if (outcome === "lost") await this.#recover([]);
    else if (outcome === "failed") await this.#pause();
    else this.#answered();
    if (outcome === "done") this.#took(this.#instanceLease);
  }

  async #doChore(): Promise<void> {
    const chore = this.#chores.shift();
    if (!chore) return;
    try {
      const outcome = await chore.run(this.#instanceLease, this.#book);
      chore.done.resolve(outcome);
      if (outcome === "lost") await this.#recover([]);
      else if (outcome === "applied") {
        this.#answered();
        this.#took(this.#instanceLease);
      }
    } catch (error) {
      chore.done.reject(error);
      throw error;
    }
  }

  #took({ tookMs }: InstanceLease): void {
    if (tookMs > 0) this.#distance.took(tookMs);
  }

  #answered(): void {
    this.#failures = 0;
    this.#backoff.answered();
  }

  async #pause(): Promise<void> {
    this.#failures++;
    await this.#backoff.beforeRetry(this.#failures);
  }

  /**
   * Starts over under another instance id after another process took the instance lease: that
   * process has returned the leases and indexes the batches. Calls that are not settled yet are
   * charged to new leases.
   */
  async #recover(underWay: readonly Finished[]): Promise<void> {
    this.#isDoubtful = true;
    this.#instanceLease.end();
    // No lane can settle for the lost lease any more: those under way end, and count as what they were.
    await this.#lanes.rest();
    const waiting = this.settlements.takeAll();
    try {
      this.#book.void();
      this.#book = new LeaseBook();
      this.transfers.tellAll({ outcome: "lost" });
      this.#instanceLease = await InstanceLease.register(this.#deps);
      this.#backoff.answered();
      this.#index = this.#newIndex();
      this.#isDoubtful = false;
      for (const finished of underWay) {
        const receipt = await this.#find(finished);
        if (receipt) finished.resolve(receipt);
        else this.#hooks.readmit(finished);
      }
      for (const finished of waiting) this.#hooks.readmit(finished);
    } catch (error) {
      for (const finished of [...underWay, ...waiting]) finished.reject(error);
      throw error;
    }
  }

  /**
   * Reads the receipt of a call whose commit ended without an answer. After the loss of the
   * instance lease no commit of it can land any more, so one read decides.
   */
  async #find({ draft }: Finished): Promise<Receipt | undefined> {
    for (let attempt = 0;; attempt++) {
      if (attempt > 0) await this.#backoff.beforeRetry(attempt);
      try {
        return await this.#deps.bounded(readReceipt(this.#deps.kv, draft.requestId));
      } catch (error) {
        if (error instanceof InvariantError) throw error;
      }
    }
  }

  /** Stops everything: after a bug the memory cannot be trusted. The reaper clears up. */
  #fail(error: unknown): void {
    this.#failure = error ?? new Error("The wallet engine stopped");
    this.#lanes.stop();
    for (const finished of this.settlements.takeAll()) finished.reject(this.#failure);
    for (const { done } of this.#chores.splice(0)) done.reject(this.#failure);
    this.transfers.tellAll({ outcome: "stopped" });
  }
}
