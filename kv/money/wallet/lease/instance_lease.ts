/**
 * Keeps the instance lease: one row per running instance, which each of its money commits checks
 * and rewrites. With a far store an instance has further rows, through which settlements are
 * committed side by side (`kv/money/wallet/settle/settlement_lanes.ts`).
 *
 * A process that changes the row (the reaper) excludes the instance from further writes, whatever
 * the clocks say. Each commit leaves its number in the row, so the fate of a commit whose answer
 * was lost can be looked up, and every result here is definite.
 */
import { invariant } from "../../../../core/lib/base/assert.ts";
import type { Clock } from "../../../../core/lib/time/clock.ts";
import { type InstanceId, newId } from "../../../../core/lib/ids/ids.ts";
import { indexerKey, instanceKey } from "../../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../../engine/store/key_value_store.ts";

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
            .set(indexerKey(instanceId), { sinceMs: nowMs })
            .commit(),
        );
        if (result.ok) return new InstanceLease(deps, instanceId, result.versionstamp, expiresAtMs);
      } catch {
        // The store did not answer: try again with another id, until the process is stopped.
      }
    }
  }

  /** When other processes may treat this instance as dead, as far as it knows. */
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
