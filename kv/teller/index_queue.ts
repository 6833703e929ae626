/** The instance's own settled receipts on their way into the index: still in memory, so they are not read again. */
import type { InstanceId, RequestId } from "../../core/ids.ts";
import { limits } from "../../core/limits.ts";
import type { Receipt } from "../../core/receipt.ts";
import { chunkGroups, groupReceipts, type KnownSum, writeIndex } from "../index_write.ts";
import { batchKey } from "../keys.ts";

interface QueuedBatch {
  readonly commit: number;
  /** Receipts of it that are not indexed yet. */
  left: number;
}

interface QueuedReceipt {
  readonly receipt: Receipt;
  readonly batch: QueuedBatch;
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
  #receipts: QueuedReceipt[] = [];
  #batches: QueuedBatch[] = [];
  readonly #sums = new Map<string, KnownSum>();
  /** Receipts whose last try ended without an answer: they may be indexed already. */
  readonly #doubtful = new Set<RequestId>();

  constructor(deps: IndexQueueDeps) {
    this.#deps = deps;
  }

  /** Receipts that wait. */
  get length(): number {
    return this.#receipts.length;
  }

  /** Batch rows that still lie in the store. */
  get batches(): number {
    return this.#batches.length;
  }

  /** Takes the receipts of a commit that was applied. */
  add(commit: number, receipts: readonly Receipt[]): void {
    const batch = { commit, left: receipts.length };
    this.#batches.push(batch);
    for (const receipt of receipts) this.#receipts.push({ receipt, batch });
  }

  /** Indexes what has waited longest, at most one step's worth. Returns how many. */
  async step(): Promise<number> {
    const { kv, instanceId, versionstamp, bounded, pause } = this.#deps;
    const taken = this.#receipts.slice(0, limits.indexReceiptsPerStep);
    if (taken.length === 0) return 0;
    const batchOf = new Map(taken.map(({ receipt, batch }) => [receipt.requestId, batch]));
    const indexed = new Set<RequestId>();
    if (this.#sums.size > limits.rollupRowsCached) this.#sums.clear();
    const groups = groupReceipts(taken.map(({ receipt }) => receipt));
    for (const chunk of chunkGroups(groups)) {
      const ids = chunk.flatMap((group) => group.receipts.map((receipt) => receipt.requestId));
      const outcome = await writeIndex(kv, chunk, {
        owner: { instanceId, versionstamp },
        ...(ids.some((id) => this.#doubtful.has(id)) ? {} : { cache: this.#sums }),
        bounded,
        pause,
      });
      if (outcome !== "written") {
        for (const group of chunk) this.#sums.delete(group.id);
        for (const id of ids) this.#doubtful.add(id);
        break;
      }
      for (const id of ids) {
        indexed.add(id);
        this.#doubtful.delete(id);
        const batch = batchOf.get(id);
        if (batch) batch.left--;
      }
    }
    // Only this method takes from the front, and `add` appends: the rest of the array is unchanged.
    const kept = taken.filter(({ receipt }) => !indexed.has(receipt.requestId));
    this.#receipts = kept.concat(this.#receipts.slice(taken.length));
    return indexed.size;
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
