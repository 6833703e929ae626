/**
 * Writes all money commits of an instance: settlements, transfers and chores take turns, one at a
 * time. With a far store the settlements leave that row and go through lanes, side by side
 * ({@linkcode SettlementLanes}), so that a call does not wait for the commits of others:
 *
 * - A lane is a further instance row of this process, without leases. A settlement on a lane checks
 *   and rewrites the row of the lane, so its commit is refused if it comes twice or too late, and its
 *   fate can be looked up, as with the instance lease. It also checks the indexer row of the
 *   instance, which whoever takes the instance lease deletes in the same commit: from then on no lane
 *   can settle either, whatever release the other process runs.
 * - Commits start at least a part of a round trip apart. Calls that end together share one, and an
 *   instance makes no more commits in a round trip than there are parts, however many calls it has.
 * - With a near store there is no lane, and the instance lease alone settles.
 *
 * {@linkcode StoreDistance} tells from the times of recent commits how far the store is, whatever load there is on the
 * way to it.
 *
 * - Folder `kv/money/wallet/settle/`: the money commits of an instance: settlements, transfers, chores, and the queue
 *   of the index.
 * - In: finished calls, wishes for money, idle leases.
 * - Out: durable settlements, leases that grew or were returned, receipts for the index.
 * - Never: runs two commits on one instance row at once, or repeats a settlement whose commit took effect.
 */
import type { Clock } from "../../../../core/lib/time/clock.ts";
import type { Timer } from "../../../../core/lib/time/deadlines.ts";
import { indexerKey, instanceKey } from "../../../engine/schema/keys.ts";
import {
  type Backoff,
  type CommitOutcome,
  InstanceLease,
  type InstanceLeaseDeps,
} from "../lease/instance_lease.ts";
import { invariant, InvariantError } from "../../../../core/lib/base/assert.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { readReceipt } from "../../receipts/receipts.ts";
import { IndexQueue } from "./index_queue.ts";
import { LeaseBook } from "../lease/lease_book.ts";
import {
  type Finished,
  type LandedSettlement,
  Settlements,
  type SettlementUnderWay,
} from "./settlements.ts";
import { Transfers, type TransfersDeps } from "./transfers.ts";

/**
 * Commits whose times are kept. The quickest of them counts: load makes a commit slower, distance makes each of them
 * slow.
 */
const commitsKept = 16;

/** Commits after which the distance is known: the first ones of a connection take longer. */
const commitsNeeded = 3;

/** Receipts up to which a commit is small: a larger one takes time in the store itself. */
const receiptsOfSmallCommit = 16;

/** The quickest of the latest small commits. */
class StoreDistance {
  readonly #recentMs: number[] = [];
  #next = 0;
  #quickestMs = 0;

  /** Milliseconds that a commit takes at least; 0 while that is unknown. */
  get commitMs(): number {
    return this.#quickestMs;
  }

  /** Notes how long a small commit took. */
  took(commitMs: number): void {
    this.#recentMs[this.#next] = commitMs;
    this.#next = (this.#next + 1) % commitsKept;
    if (this.#recentMs.length >= commitsNeeded) this.#quickestMs = Math.min(...this.#recentMs);
  }
}

/**
 * Lanes of one instance. With {@linkcode startsPerCommit} a commit may take half as long again as the quickest before
 * all of them are busy.
 */
export const maxSettlementLanes = 12;

/** Settlements that start while one commit takes its time: a call waits at most an eighth of it for its own to start. */
const startsPerCommit = 8;

/**
 * Milliseconds of a commit above which a store is far. Stores in the same region answer in 1 to 4, under load too; there
 * one commit at a time carries the most calls.
 */
export const farStoreMs = 10;

/** Milliseconds without a settlement after which a lane is closed, looked at twice in that time: before its row expires. */
const laneIdleMs = 30_000;

/** Rules for the use of lanes. */
export interface LaneRules {
  readonly maxLanes: number;
  /** Milliseconds of a commit above which the store is far. */
  readonly farStoreMs: number;
}

/** State of a lane after a settlement. */
type LaneState = "open" | "lost";

interface SettlementLanesDeps {
  readonly lease: InstanceLeaseDeps;
  readonly clock: Clock;
  readonly timer: Timer;
  readonly rules: LaneRules;
  readonly distance: StoreDistance;
  /** Whether finished calls wait for a commit that a lane may do. */
  readonly hasWork: () => boolean;
  /** Commits the calls that wait, through the row of a lane. */
  readonly settle: (lane: InstanceLease) => Promise<LaneState>;
  /** Called for an error that stops the wallet engine. */
  readonly fail: (error: unknown) => void;
  /** Starts what waits: called when a lane is open, or none settles any more. */
  readonly kick: () => void;
}

interface IdleLane {
  readonly lane: InstanceLease;
  readonly sinceMs: number;
}

/** The time until the next settlement may start. */
interface Pace {
  readonly over: Promise<void>;
  readonly end: () => void;
  stopTimer: () => void;
}

/** The lanes of one instance. */
class SettlementLanes {
  readonly #deps: SettlementLanesDeps;
  /** The lane used last is the last, so that those that are not needed stay idle. */
  #idle: IdleLane[] = [];
  readonly #settling = new Set<Promise<void>>();
  #opening = 0;
  #lastStartMs = -Infinity;
  #pace: Pace | undefined;
  #isHurried = false;
  #stopIdle: (() => void) | undefined;
  #stopped = false;

  constructor(deps: SettlementLanesDeps) {
    this.#deps = deps;
  }

  /** Whether settlements go through lanes. */
  get inUse(): boolean {
    return !this.#stopped && this.#isFar && this.#open > 0;
  }

  get #isFar(): boolean {
    const { rules, distance } = this.#deps;
    return rules.maxLanes > 0 && distance.commitMs > rules.farStoreMs;
  }

  get #open(): number {
    return this.#idle.length + this.#settling.size;
  }

  /** Opens one more lane if the store is far, for calls that wait behind a commit. */
  widen(): void {
    if (this.#stopped || !this.#isFar) return;
    if (this.#open + this.#opening >= this.#deps.rules.maxLanes) return;
    this.#opening++;
    InstanceLease.register(this.#deps.lease).then((lane) => {
      this.#rest(lane);
      this.#deps.kick();
    }, () => {
      // The wallet engine has stopped.
    }).finally(() => {
      this.#opening--;
    });
  }

  /** Starts a settlement as soon as one may start. */
  wake(): void {
    if (!this.inUse || this.#pace !== undefined || !this.#deps.hasWork()) return;
    if (this.#idle.length === 0) return this.widen();
    const { clock, distance, timer } = this.#deps;
    const partMs = this.#isHurried ? 0 : distance.commitMs / startsPerCommit;
    const delayMs = Math.max(0, this.#lastStartMs + partMs - clock.monotonicMs());
    const { promise, resolve } = Promise.withResolvers<void>();
    const start = () => {
      if (this.#pace !== pace) return;
      this.#endPace();
      this.#start();
    };
    const pace: Pace = { over: promise, end: resolve, stopTimer: () => {} };
    this.#pace = pace;
    // Calls that end in the same turn of the event loop share a commit.
    if (delayMs === 0) queueMicrotask(start);
    else pace.stopTimer = timer.start(start, delayMs);
  }

  /** Resolves when no settlement is under way on a lane. */
  async rest(): Promise<void> {
    while (this.#settling.size > 0) await Promise.race(this.#settling);
  }

  /** Resolves when no settlement is under way or about to start. From here on they start at once. */
  async finish(): Promise<void> {
    this.#isHurried = true;
    this.#endPace();
    while (this.isBusy) {
      this.wake();
      const pace = this.#pace === undefined ? [] : [this.#pace.over];
      await Promise.race([...this.#settling, ...pace]);
    }
  }

  /** Whether a settlement is under way or about to start. */
  get isBusy(): boolean {
    return this.#settling.size > 0 || (this.inUse && this.#deps.hasWork());
  }

  stop(): void {
    this.#stopped = true;
    this.#endPace();
    this.#stopIdle?.();
    this.#stopIdle = undefined;
  }

  /** Deletes the rows of all lanes; what is left of them the reaper deletes. */
  async close(): Promise<void> {
    this.stop();
    const lanes = this.#idle.splice(0);
    await Promise.all(lanes.map(({ lane }) => this.#deleteRows(lane)));
  }

  #endPace(): void {
    this.#pace?.stopTimer();
    this.#pace?.end();
    this.#pace = undefined;
  }

  #start(): void {
    const { clock, hasWork, settle, fail, kick } = this.#deps;
    if (!this.inUse || !hasWork()) return kick();
    const lane = this.#idle.pop()?.lane;
    if (lane === undefined) return this.widen();
    this.#lastStartMs = clock.monotonicMs();
    const settling: Promise<void> = settle(lane).then((state) => {
      this.#settling.delete(settling);
      if (state === "open") this.#rest(lane);
      kick();
    }, (error) => {
      this.#settling.delete(settling);
      fail(error);
    });
    this.#settling.add(settling);
    this.wake();
  }

  #rest(lane: InstanceLease): void {
    this.#idle.push({ lane, sinceMs: this.#deps.clock.monotonicMs() });
    this.#closeIdleLater();
  }

  #closeIdleLater(): void {
    if (this.#stopped || this.#stopIdle !== undefined) return;
    this.#stopIdle = this.#deps.timer.start(() => {
      this.#stopIdle = undefined;
      const latestMs = this.#deps.clock.monotonicMs() - laneIdleMs;
      const idle = this.#idle.filter(({ sinceMs }) => sinceMs <= latestMs);
      this.#idle = this.#idle.filter(({ sinceMs }) => sinceMs > latestMs);
      for (const { lane } of idle) this.#deleteRows(lane).catch(() => {});
      if (this.#open > 0) this.#closeIdleLater();
    }, laneIdleMs / 2);
  }

  /** Refused if another process has taken the lane for dead: then it deletes the rows. */
  async #deleteRows(lane: InstanceLease): Promise<void> {
    const { kv, bounded } = this.#deps.lease;
    const key = instanceKey(lane.instanceId);
    await bounded(
      kv.atomic()
        .check({ key, versionstamp: lane.versionstamp })
        .delete(key)
        .delete(indexerKey(lane.instanceId))
        .commit(),
    );
  }
}

/**
 * Attempts in a row that the store did not answer, or refused to write, after which an instance admits no
 * more calls: half a second where it refuses, 25 where it does not answer.
 */
const maxWalletFailures = 5;

/** A commit of the instance for its own housekeeping, e.g. lease rows. */
type Chore = (instanceLease: InstanceLease, book: LeaseBook) => Promise<CommitOutcome>;

/** Functions that the pipeline calls. */
interface PipelineHooks {
  /** Called for a finished call that lost its reservation and has to find its money again. */
  readonly readmit: (finished: Finished) => void;
  /** Called after a settlement, when receipts wait for the index. */
  readonly settled: () => void;
}

interface QueuedChore {
  readonly run: Chore;
  readonly done: PromiseWithResolvers<CommitOutcome>;
}

interface PipelineDeps
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
