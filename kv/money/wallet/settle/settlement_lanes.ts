/**
 * Commits the settlements of an instance side by side while its store is far away, so that a call
 * does not wait for the commits of others.
 *
 * - A lane is a further instance row of this process, without leases. A settlement on a lane checks
 *   and rewrites the row of the lane, so its commit is refused if it comes twice or too late, and its
 *   fate can be looked up, as with the instance lease. It also checks the indexer row of the
 *   instance, which whoever takes the instance lease deletes in the same commit: from then on no lane
 *   can settle either, whatever release the other process runs.
 * - Commits start at least a part of a round trip apart. Calls that end together share one, and an
 *   instance makes no more commits in a round trip than there are parts, however many calls it has.
 * - With a near store there is no lane, and the instance lease alone settles.
 */
import type { Clock } from "../../../../core/lib/time/clock.ts";
import type { Timer } from "../../../../core/lib/time/deadlines.ts";
import { indexerKey, instanceKey } from "../../../engine/schema/keys.ts";
import { InstanceLease, type InstanceLeaseDeps } from "../lease/instance_lease.ts";
import type { StoreDistance } from "../lease/store_distance.ts";

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

/** When lanes are used. */
export interface LaneRules {
  readonly maxLanes: number;
  /** Milliseconds of a commit above which the store is far. */
  readonly farStoreMs: number;
}

/** What became of a lane after a settlement. */
export type LaneState = "open" | "lost";

export interface SettlementLanesDeps {
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
export class SettlementLanes {
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
