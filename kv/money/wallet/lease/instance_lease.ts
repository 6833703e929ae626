/**
 * Keeps the instance lease: one row per running instance, which each of its money commits checks
 * and rewrites. With a far store an instance has further rows, through which settlements are
 * committed side by side (`kv/money/wallet/settle/pipeline.ts`).
 *
 * A process that changes the row (the reaper) excludes the instance from further writes, whatever
 * the clocks say. Each commit leaves its number in the row, so the fate of a commit whose answer
 * was lost can be looked up, and every result here is definite.
 */
import { invariant } from "../../../../core/lib/base/assert.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import { programVersion } from "../../../../core/lib/base/program_version.ts";
import type { Clock } from "../../../../core/lib/time/clock.ts";
import { type InstanceId, newId } from "../../../../core/lib/ids/ids.ts";
import {
  indexerKey,
  instanceKey,
  instanceOf,
  instancesPrefix,
  kindOfKey,
} from "../../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../../engine/store/key_value_store.ts";
import type { Timer } from "../../../../core/lib/time/deadlines.ts";
import { kvCallMs, StoreTimeoutError } from "../../../engine/store/store_deadlines.ts";

/** The stored value. */
export type InstanceLeaseRow =
  | { readonly state: "live"; readonly commit: number; readonly expiresAtMs: number }
  /**
   * Taken over by a reaper, which deletes the row once leases and batches are cleared up. Releases up to 0.2.0 wrote
   * `done` instead and deleted it a day later.
   */
  | {
    readonly state: "reaped" | "done";
    readonly commit: number;
    readonly reapedAtMs: number;
  };

/** Facts of an instance that it writes once, when it registers. Lanes have a row each. */
interface IndexerRow {
  readonly sinceMs: number;
  /** The version of its program; absent of releases before 0.3.0. */
  readonly version?: string;
  /** The address at which other instances reach its process, if it has one. */
  readonly peerAddress?: string;
}

/** Reads the facts of the instances that hold a lease now. */
export async function runningInstances(
  kv: KeyValueStore,
  nowMs: number,
): Promise<readonly Partial<IndexerRow>[]> {
  const running: InstanceId[] = [];
  for await (const { key, value } of kv.list<InstanceLeaseRow>({ prefix: instancesPrefix() })) {
    if (value.state !== "live" || value.expiresAtMs < nowMs) continue;
    running.push(instanceOf(key));
  }
  const rows = await Promise.all(running.map((id) => kv.get<IndexerRow>(indexerKey(id))));
  return rows.map(({ value }) => value ?? {});
}

/**
 * The result of a commit. `lost`: the instance lease belongs to another process; the effect of the
 * commit has to be looked up.
 */
export type CommitOutcome = "applied" | "refused" | "lost";

/** Thrown if the process is stopped while the effect of a commit is unknown. */
export class StoppedError extends Error {
  override name = "StoppedError";
}

/** Numbers the money commits of a process, over all of its instance rows: no two have the same number. */
export class CommitNumbers {
  #last = 0;

  /** The number given last; 0 before the first. */
  get last(): number {
    return this.#last;
  }

  next(): number {
    return ++this.#last;
  }
}

export interface InstanceLeaseDeps {
  readonly kv: KeyValueStore;
  readonly clock: Clock;
  readonly ttlMs: number;
  /** See {@linkcode IndexerRow.peerAddress}. */
  readonly peerAddress?: string | undefined;
  readonly numbers: CommitNumbers;
  /** Bounds a store call in time. */
  readonly bounded: <T>(call: Promise<T>) => Promise<T>;
  /** Waits before retry `attempt`. Throws {@linkcode StoppedError} if stopped. */
  readonly backoff: (attempt: number) => Promise<void>;
}

type Sent = "applied" | "refused" | "unknown";

/** The lease of one instance, through which all its money commits go. */
export class InstanceLease {
  readonly instanceId: InstanceId;
  /** Version of the row that entitles the instance to index its batches. */
  readonly indexerVersionstamp: string;
  readonly #deps: InstanceLeaseDeps;
  #versionstamp: string;
  #expiresAtMs: number;
  #tookMs = 0;

  private constructor(
    deps: InstanceLeaseDeps,
    instanceId: InstanceId,
    versionstamp: string,
    expiresAtMs: number,
  ) {
    this.#deps = deps;
    this.instanceId = instanceId;
    this.#versionstamp = versionstamp;
    this.indexerVersionstamp = versionstamp;
    this.#expiresAtMs = expiresAtMs;
  }

  /**
   * Registers a new instance. Each attempt uses a new id, so a lost answer leaves only a row for
   * the reaper.
   */
  static async register(deps: InstanceLeaseDeps): Promise<InstanceLease> {
    for (let attempt = 0;; attempt++) {
      if (attempt > 0) await deps.backoff(attempt);
      const nowMs = deps.clock.nowMs();
      const instanceId = newId("instance", nowMs);
      const expiresAtMs = nowMs + deps.ttlMs;
      const value: InstanceLeaseRow = { state: "live", commit: 0, expiresAtMs };
      const key = instanceKey(instanceId);
      try {
        const result = await deps.bounded(
          deps.kv.atomic()
            .check({ key, versionstamp: null })
            .set(key, value)
            .set(
              indexerKey(instanceId),
              {
                sinceMs: nowMs,
                version: programVersion,
                ...defined({ peerAddress: deps.peerAddress }),
              } satisfies IndexerRow,
            )
            .commit(),
        );
        if (result.ok) return new InstanceLease(deps, instanceId, result.versionstamp, expiresAtMs);
      } catch {
        // The store did not answer: try again with another id, until the process is stopped.
      }
    }
  }

  /** Moment at which other processes may treat this instance as dead, as far as it knows. */
  get expiresAtMs(): number {
    return this.#expiresAtMs;
  }

  /** Milliseconds that the last applied commit took; 0 before the first. */
  get tookMs(): number {
    return this.#tookMs;
  }

  /** Version of the row as of the last commit. */
  get versionstamp(): string {
    return this.#versionstamp;
  }

  /** Notes that the lease was lost: nothing may be reserved at once any more. */
  end(): void {
    this.#expiresAtMs = 0;
  }

  /**
   * Commits what `build` adds, under the instance lease. Only one commit may run at a time.
   *
   * `refused` means that the commit did not and will not take effect: a check that `build` added
   * failed, or the store failed. The caller may commit the same work again.
   *
   * @throws {StoppedError} if stopped while the outcome is unknown
   */
  async commit(
    build: (op: AtomicWrite, commit: number) => void,
  ): Promise<CommitOutcome> {
    const commit = this.#deps.numbers.next();
    const sent = await this.#send(commit, build);
    return sent === "applied" ? "applied" : await this.#lookUp(commit);
  }

  async #send(
    commit: number,
    build: (op: AtomicWrite, commit: number) => void,
  ): Promise<Sent> {
    const { kv, clock, ttlMs, bounded } = this.#deps;
    const key = instanceKey(this.instanceId);
    const op = kv.atomic().check({ key, versionstamp: this.#versionstamp });
    build(op, commit);
    const expiresAtMs = clock.nowMs() + ttlMs;
    op.set(key, { state: "live", commit, expiresAtMs } satisfies InstanceLeaseRow);
    const startedMs = clock.monotonicMs();
    try {
      const result = await bounded(op.commit());
      if (!result.ok) return "refused";
      this.#versionstamp = result.versionstamp;
      this.#expiresAtMs = expiresAtMs;
      this.#tookMs = clock.monotonicMs() - startedMs;
      return "applied";
    } catch {
      return "unknown";
    }
  }

  /**
   * Looks up the effect of a commit that was refused or not answered. A commit that has not landed
   * could still land later, so an empty commit uses up the version that it checks before it is
   * called refused.
   */
  async #lookUp(commit: number): Promise<CommitOutcome> {
    const { kv, bounded, backoff } = this.#deps;
    for (let attempt = 0;; attempt++) {
      if (attempt > 0) await backoff(attempt);
      let row: Deno.KvEntryMaybe<InstanceLeaseRow>;
      try {
        row = await bounded(kv.get<InstanceLeaseRow>(instanceKey(this.instanceId)));
      } catch {
        continue;
      }
      if (row.value === null || row.value.state !== "live") return "lost";
      if (row.versionstamp !== this.#versionstamp) {
        const landed = row.value.commit;
        // A registration that the network repeated wrote the row again after a reaper had deleted it.
        if (landed === 0) return "lost";
        invariant(
          landed >= commit && landed <= this.#deps.numbers.last,
          "only this process writes its instance lease",
        );
        this.#versionstamp = row.versionstamp;
        this.#expiresAtMs = row.value.expiresAtMs;
        return landed === commit ? "applied" : "refused";
      }
      if (await this.#send(this.#deps.numbers.next(), () => {}) === "applied") return "refused";
    }
  }
}

// Bounds how long the wallet engine waits for the store: a deadline for every call, a growing pause
// before every retry.

/**
 * Milliseconds of the wallet engine's first pause after the store did not answer; each further failure
 * doubles it.
 */
const walletPauseMs = 10;

/** Milliseconds of the longest such pause: calls are refused until the store answers. */
const walletPauseMaxMs = 2_000;

/** Deadlines and growing pauses of one engine, and its count of failures. */
export class Backoff {
  readonly #timer: Timer;
  readonly #random: () => number;
  readonly #stops = new Set<() => void>();
  #stopped = false;
  #missed = 0;
  #retries = 0;

  constructor(timer: Timer, random: () => number) {
    this.#timer = timer;
    this.#random = random;
  }

  /** Retries since the last success of the store. */
  get missed(): number {
    return this.#missed;
  }

  /** All retries so far. */
  get retries(): number {
    return this.#retries;
  }

  /** Notes a success of the store. */
  answered(): void {
    this.#missed = 0;
  }

  /**
   * Returns the result of the call, or throws a {@linkcode StoreTimeoutError} after
   * `kvCallMs`.
   */
  readonly bounded = <T>(call: Promise<T>): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      const stop = this.#timer.start(() => {
        reject(new StoreTimeoutError());
      }, kvCallMs);
      call.then((value) => {
        stop();
        resolve(value);
      }, (error) => {
        stop();
        reject(error);
      });
    });

  /**
   * Waits before retry `attempt`, longer each time. Throws {@linkcode StoppedError} once stopped.
   */
  readonly beforeRetry = (attempt: number): Promise<void> => {
    this.#missed++;
    this.#retries++;
    const longestMs = Math.min(
      walletPauseMaxMs,
      walletPauseMs * 2 ** Math.min(attempt, 16),
    );
    return this.pause(longestMs * (0.5 + this.#random() / 2));
  };

  /**
   * Like {@linkcode beforeRetry}, for one of several commits side by side: together they count as the one with the most
   * retries.
   */
  readonly besideOthers = (attempt: number): Promise<void> => {
    const missed = Math.max(this.#missed, attempt);
    const pause = this.beforeRetry(attempt);
    this.#missed = missed;
    return pause;
  };

  /** Waits `delayMs`. Throws {@linkcode StoppedError} once stopped. */
  readonly pause = (delayMs: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const refuse = () => reject(new StoppedError("The wallet engine was stopped"));
      if (this.#stopped) return refuse();
      const cancel = this.#timer.start(() => {
        this.#stops.delete(stop);
        resolve();
      }, delayMs);
      const stop = () => {
        cancel();
        refuse();
      };
      this.#stops.add(stop);
    });

  /** Ends all waits with {@linkcode StoppedError}, also future ones. */
  stop(): void {
    this.#stopped = true;
    const stops = [...this.#stops];
    this.#stops.clear();
    for (const stop of stops) stop();
  }
}

// Notes which instances a thread writes, so that they can be cleared up when it ends.

const instanceKind = kindOfKey(instancesPrefix());

/** The instances that a thread has registered and not deleted again. */
export class WrittenInstances {
  readonly #ids = new Set<InstanceId>();

  get ids(): ReadonlySet<InstanceId> {
    return this.#ids;
  }

  /** Notes a write that the thread is about to commit. One that fails costs a look at a row that is not there. */
  note(key: Deno.KvKey, isDeletion: boolean): void {
    if (kindOfKey(key) !== instanceKind) return;
    if (isDeletion) this.#ids.delete(instanceOf(key));
    else this.#ids.add(instanceOf(key));
  }
}
