/**
 * Queues the settled receipts of this instance for the index. They are still in memory, so they are
 * not read again, and they are grouped by day sum on arrival: the longer they wait, the fewer rows
 * they cost.
 */
import type { InstanceId } from "../../../../core/lib/ids/ids.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { type KnownSum, writeIndex } from "../../receipts/index_write.ts";
import { batchKey } from "../../../engine/schema/keys.ts";
import { DaySumGroup, daySumGroupId, takeChunk } from "../../receipts/day_sum_group.ts";
import { type DaySumCell, daySumCell } from "../../receipts/day_sums.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";

/** Batch rows deleted in one commit; the store takes 1,000 changes. */
const batchDeletesPerCommit = 500;

/** Receipts indexed in one step; the event loop is free between its commits. */
export const indexReceiptsPerStep = 20_000;

/** Day sums that the indexer remembers with their hours, so that it need not read what it wrote itself: about 20 MB. */
const maxDaySumsCached = 10_000;

interface QueuedBatch {
  readonly commit: number;
  /** Receipts of the batch that are not indexed yet. */
  left: number;
}

class QueuedGroup extends DaySumGroup {
  /** The batches of its receipts, each with its number of receipts in this group. */
  readonly batches: { readonly batch: QueuedBatch; count: number }[] = [];
  /** The last attempt ended without an answer, so some receipts may be indexed already. */
  isDoubtful = false;

  addFrom(batch: QueuedBatch, receipt: Receipt): void {
    this.add(receipt);
    const last = this.batches.at(-1);
    if (last?.batch === batch) last.count++;
    else this.batches.push({ batch, count: 1 });
  }
}

function belongsTo({ accountId, day, keyId, model }: DaySumCell, receipt: Receipt): boolean {
  return receipt.accountId === accountId && receipt.keyId === keyId && receipt.model === model &&
    vietnamDay(receipt.startedAtMs) === day;
}

export interface IndexQueueDeps {
  readonly kv: KeyValueStore;
  readonly instanceId: InstanceId;
  readonly versionstamp: string;
  readonly bounded: <T>(call: Promise<T>) => Promise<T>;
  readonly pause: (delayMs: number) => Promise<void>;
}

/** The receipts of one instance that are not indexed yet. */
export class IndexQueue {
  readonly #deps: IndexQueueDeps;
  /** In order of their first receipt; groups whose attempt failed come last. */
  readonly #groups: QueuedGroup[] = [];
  /** The groups that still take receipts. */
  readonly #open = new Map<string, QueuedGroup>();
  /** The group of the last receipt, which most often takes the next one too. */
  #latest: QueuedGroup | undefined;
  #length = 0;
  #batches: QueuedBatch[] = [];
  readonly #sums = new Map<string, KnownSum>();

  constructor(deps: IndexQueueDeps) {
    this.#deps = deps;
  }

  /** Number of receipts that wait. */
  get length(): number {
    return this.#length;
  }

  /** Number of batch rows that are still in the store. */
  get batches(): number {
    return this.#batches.length;
  }

  /** Adds the receipts of an applied commit. */
  add(commit: number, receipts: readonly Receipt[]): void {
    const batch = { commit, left: receipts.length };
    this.#batches.push(batch);
    for (const receipt of receipts) this.#enter(receipt, batch);
  }

  #enter(receipt: Receipt, batch: QueuedBatch): void {
    let group = this.#latest;
    if (group === undefined || group.isFull || !belongsTo(group.cell, receipt)) {
      group = this.#latest = this.#groupOf(daySumCell(receipt));
    }
    group.addFrom(batch, receipt);
    this.#length++;
  }

  #groupOf(cell: DaySumCell): QueuedGroup {
    const known = this.#open.get(daySumGroupId(cell));
    if (known !== undefined && !known.isFull) return known;
    const group = new QueuedGroup(cell);
    this.#groups.push(group);
    this.#open.set(group.id, group);
    return group;
  }

  /**
   * Indexes the receipts that have waited longest, at most `indexReceiptsPerStep` of those
   * that wait now. Returns how many.
   */
  async step(): Promise<number> {
    let left = Math.min(this.#length, indexReceiptsPerStep);
    let indexed = 0;
    if (this.#sums.size > maxDaySumsCached) this.#sums.clear();
    while (left > 0) {
      const chunk = this.#take();
      const size = chunk.reduce((sum, group) => sum + group.requestIds.length, 0);
      if (!await this.#write(chunk)) break;
      indexed += size;
      left -= size;
    }
    return indexed;
  }

  /** Takes the longest waiting groups that fit one commit; they take no more receipts. */
  #take(): QueuedGroup[] {
    const chunk = takeChunk(this.#groups);
    for (const group of chunk) {
      if (this.#open.get(group.id) === group) this.#open.delete(group.id);
      if (this.#latest === group) this.#latest = undefined;
      this.#length -= group.requestIds.length;
    }
    return chunk;
  }

  async #write(chunk: readonly QueuedGroup[]): Promise<boolean> {
    const { kv, instanceId, versionstamp, bounded, pause } = this.#deps;
    const doubtful = chunk.some((group) => group.isDoubtful);
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
        for (const { batches } of chunk) {
          for (const { batch, count } of batches) batch.left -= count;
        }
      } else {
        for (const group of chunk) {
          group.isDoubtful = true;
          this.#sums.delete(group.id);
          this.#length += group.requestIds.length;
        }
        this.#groups.push(...chunk);
      }
    }
    return outcome === "written";
  }

  /**
   * Deletes the rows of batches that are indexed and whose charges are in the lease rows, i.e. that
   * were committed before `checkpointedBefore`. Needs no check, since nothing reads such a row any
   * more.
   */
  async sweep(checkpointedBefore: number): Promise<void> {
    const { kv, instanceId, bounded } = this.#deps;
    for (;;) {
      const done = this.#batches
        .filter((batch) => batch.left === 0 && batch.commit < checkpointedBefore)
        .slice(0, batchDeletesPerCommit);
      if (done.length === 0) return;
      const op = kv.atomic();
      for (const { commit } of done) op.delete(batchKey(instanceId, commit));
      await bounded(op.commit());
      const gone = new Set(done);
      this.#batches = this.#batches.filter((batch) => !gone.has(batch));
    }
  }
}
