/**
 * The instance's own settled receipts on their way into the index: still in memory, so they are not read again, and
 * grouped by day sum as they come, so that the longer they wait the fewer rows they cost.
 */
import type { InstanceId, RequestId } from "../../core/ids.ts";
import { limits } from "../../core/limits.ts";
import type { Receipt } from "../../core/receipt.ts";
import { type KnownSum, type RollupGroup, rollupGroupId, writeIndex } from "../index_write.ts";
import { batchKey } from "../keys.ts";
import { rollupCell } from "../rollups.ts";

interface QueuedBatch {
  readonly commit: number;
  /** Receipts of it that are not indexed yet. */
  left: number;
}

interface QueuedGroup extends RollupGroup {
  /** The batch of each receipt, at the same place. */
  readonly batches: QueuedBatch[];
}

export interface IndexQueueDeps {
  readonly kv: Deno.Kv;
  readonly instanceId: InstanceId;
  readonly versionstamp: string;
  readonly bounded: <T>(call: Promise<T>) => Promise<T>;
  readonly pause: (delayMs: number) => Promise<void>;
}

const deletesPerCommit = 500;

export class IndexQueue {
  readonly #deps: IndexQueueDeps;
  /** In the order in which their first receipt came. */
  readonly #groups = new Map<string, QueuedGroup>();
  #length = 0;
  #batches: QueuedBatch[] = [];
  readonly #sums = new Map<string, KnownSum>();
  /** Receipts whose last try ended without an answer: they may be indexed already. */
  readonly #doubtful = new Set<RequestId>();

  constructor(deps: IndexQueueDeps) {
    this.#deps = deps;
  }

  /** Receipts that wait. */
  get length(): number {
    return this.#length;
  }

  /** Batch rows that still lie in the store. */
  get batches(): number {
    return this.#batches.length;
  }

  /** Takes the receipts of a commit that was applied. */
  add(commit: number, receipts: readonly Receipt[]): void {
    const batch = { commit, left: receipts.length };
    this.#batches.push(batch);
    for (const receipt of receipts) this.#enter(receipt, batch);
  }

  #enter(receipt: Receipt, batch: QueuedBatch): void {
    const cell = rollupCell(receipt);
    const id = rollupGroupId(cell);
    let group = this.#groups.get(id);
    if (!group) {
      group = { id, cell, receipts: [], batches: [] };
      this.#groups.set(id, group);
    }
    group.receipts.push(receipt);
    group.batches.push(batch);
    this.#length++;
  }

  /** Indexes what has waited longest, at most one step's worth and only what waits now. Returns how many. */
  async step(): Promise<number> {
    let left = Math.min(this.#length, limits.indexReceiptsPerStep);
    let indexed = 0;
    if (this.#sums.size > limits.rollupRowsCached) this.#sums.clear();
    while (left > 0) {
      const chunk = this.#take();
      const size = chunk.reduce((sum, group) => sum + group.receipts.length, 0);
      if (!await this.#write(chunk)) break;
      indexed += size;
      left -= size;
    }
    return indexed;
  }

  /** The longest waiting groups that fit one commit. */
  #take(): QueuedGroup[] {
    const chunk: QueuedGroup[] = [];
    let size = 0;
    for (const group of this.#groups.values()) {
      const room = limits.indexReceiptsPerCommit - size;
      if (chunk.length >= limits.rollupRowsPerCommit || room === 0) break;
      this.#groups.delete(group.id);
      if (group.receipts.length > room) {
        const rest = { ...group, receipts: group.receipts.splice(room) };
        this.#groups.set(group.id, { ...rest, batches: group.batches.splice(room) });
      }
      chunk.push(group);
      size += group.receipts.length;
    }
    this.#length -= size;
    return chunk;
  }

  async #write(chunk: readonly QueuedGroup[]): Promise<boolean> {
    const { kv, instanceId, versionstamp, bounded, pause } = this.#deps;
    const ids = chunk.flatMap((group) => group.receipts.map((receipt) => receipt.requestId));
    const doubtful = this.#doubtful.size > 0 && ids.some((id) => this.#doubtful.has(id));
    let outcome: Awaited<ReturnType<typeof writeIndex>> = "conflict";
    try {
      outcome = await writeIndex(kv, chunk, {
        owner: { instanceId, versionstamp },
        ...(doubtful ? {} : { cache: this.#sums }),
        bounded,
        pause,
      });
    } finally {
      if (outcome === "written") {
        for (const { batches } of chunk) for (const batch of batches) batch.left--;
        if (doubtful) { for (const id of ids) this.#doubtful.delete(id); }
      } else {
        for (const id of ids) this.#doubtful.add(id);
        for (const { id, receipts, batches } of chunk) {
          this.#sums.delete(id);
          receipts.forEach((receipt, at) => {
            const batch = batches[at];
            if (batch) this.#enter(receipt, batch);
          });
        }
      }
    }
    return outcome === "written";
  }

  /**
   * Deletes the rows of batches that are indexed and whose charges are in the lease rows, i.e. that were committed
   * before `checkpointedBefore`. Unconditional, because nobody needs such a row any more.
   */
  async sweep(checkpointedBefore: number): Promise<void> {
    const { kv, instanceId, bounded } = this.#deps;
    for (;;) {
      const done = this.#batches
        .filter((batch) => batch.left === 0 && batch.commit < checkpointedBefore)
        .slice(0, deletesPerCommit);
      if (done.length === 0) return;
      const op = kv.atomic();
      for (const { commit } of done) op.delete(batchKey(instanceId, commit));
      await bounded(op.commit());
      const gone = new Set(done);
      this.#batches = this.#batches.filter((batch) => !gone.has(batch));
    }
  }
}
