/**
 * The instance lease: one row per running instance, checked and rewritten by every money commit of it.
 *
 * Whoever changes that row (the reaper) shuts the instance out for good, whatever the clocks say. And since each commit
 * leaves its number there, an answer that was lost can be looked up: there is no "maybe" in this file's results.
 */
import { invariant } from "../../core/lib/assert.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import { type InstanceId, newId } from "../../core/lib/ids.ts";
import { indexerKey, instanceKey } from "../schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../store/key_value_store.ts";

/** The stored value. */
export type InstanceLeaseRow =
  | { readonly state: "live"; readonly commit: number; readonly expiresAtMs: number }
  /** Taken over by a reaper; `done` once its leases and batches are dealt with. */
  | {
    readonly state: "reaped" | "done";
    readonly commit: number;
    readonly reapedAtMs: number;
  };

/** What became of a commit. `lost`: the instance lease is not ours any more; what was under way must be looked up. */
export type CommitOutcome = "applied" | "refused" | "lost";

/** Thrown when the process was told to stop while a commit's fate was still unknown. */
export class StoppedError extends Error {
  override name = "StoppedError";
}

export interface InstanceLeaseDeps {
  readonly kv: KeyValueStore;
  readonly clock: Clock;
  readonly ttlMs: number;
  /** Bounds a store call in time. */
  readonly bounded: <T>(call: Promise<T>) => Promise<T>;
  /** Waits before try `attempt`. Throws {@linkcode StoppedError} when told to stop. */
  readonly backoff: (attempt: number) => Promise<void>;
}

type Sent = "applied" | "refused" | "unknown";

export class InstanceLease {
  readonly instanceId: InstanceId;
  /** Version of the row that gives the right to index this instance's batches. */
  readonly indexerVersionstamp: string;
  readonly #deps: InstanceLeaseDeps;
  #versionstamp: string;
  #commit = 0;
  #expiresAtMs: number;

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

  /** Registers a new instance. Each try has an id of its own, so a lost answer only leaves a row for the reaper. */
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
        // The store did not answer: try again under another id, as long as the process may.
      }
    }
  }

  /** When others may take this instance for dead, as far as we know. */
  get expiresAtMs(): number {
    return this.#expiresAtMs;
  }

  /**
   * Commits what `build` adds, under the instance lease. Exactly one such call may be under way at a time.
   *
   * `refused` means that it did not and never will take effect: a check that `build` added failed, or the store
   * failed. The caller may send the same work again.
   *
   * @throws {StoppedError} when told to stop while the outcome is unknown
   */
  async commit(
    build: (op: AtomicWrite, commit: number) => void,
  ): Promise<CommitOutcome> {
    const commit = ++this.#commit;
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
    try {
      const result = await bounded(op.commit());
      if (!result.ok) return "refused";
      this.#versionstamp = result.versionstamp;
      this.#expiresAtMs = expiresAtMs;
      return "applied";
    } catch {
      return "unknown";
    }
  }

  /**
   * Finds out what became of a commit whose answer was "no" or did not come. A commit that has not landed yet could
   * still land later, so the version it checks is used up by an empty commit before it is called refused.
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
        invariant(landed >= commit && landed <= this.#commit, "only we write our instance lease");
        this.#versionstamp = row.versionstamp;
        this.#expiresAtMs = row.value.expiresAtMs;
        return landed === commit ? "applied" : "refused";
      }
      if (await this.#send(++this.#commit, () => {}) === "applied") return "refused";
    }
  }
}
