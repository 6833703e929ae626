/**
 * Groups receipts for the index by the day sum that they belong to. A group keeps ids and one sum,
 * since whole receipts that wait would be most of the work of the garbage collector.
 */
import { ascending } from "../../../core/lib/base/ascending.ts";
import type { RequestId } from "../../../core/lib/ids/ids.ts";
import { maxTags } from "../../../core/billing/usage/call_tags.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import type { Writable } from "../../../core/lib/base/assert.ts";
import { addReceipt, type DaySumCell, daySumCell, noUsage, type UsageSum } from "./day_sums.ts";
import { TagSums } from "./tag_sums.ts";
import { addToHours, type HourSum, isFailed } from "./hour_sums.ts";

/**
 * Most receipts per index commit: at most a page each, and one more each if all failed, a few pages in practice. The
 * store takes 1,000 changes.
 */
export const indexReceiptsPerCommit = 480;

/** Most changes of pages in one index commit; the store takes 80 KiB of keys, and that of a page has 80 bytes. */
const maxChangesPerCommit = 2 * indexReceiptsPerCommit;

/** As how many such changes the row of a sum by tag counts, since its key may have 400 bytes. */
const changesPerTag = 5;

/** Most day sums per index commit: each needs a check, beside the check of the indexer. */
export const daySumsPerCommit = 9;

/** Returns a text that identifies the day sum of a cell. */
export function daySumGroupId({ accountId, day, keyId, model }: DaySumCell): string {
  return `${accountId} ${day} ${keyId} ${model}`;
}

/** Receipts of one day sum, at most as many as one index commit takes. */
export class DaySumGroup {
  readonly id: string;
  readonly cell: DaySumCell;
  readonly requestIds: RequestId[] = [];
  /** Ids of calls that failed. */
  readonly failedIds: RequestId[] = [];
  /** The sums by tag. */
  readonly tags = new TagSums();
  readonly #hours = new Map<number, HourSum>();
  readonly #sum: Writable<UsageSum> = { ...noUsage };

  constructor(cell: DaySumCell) {
    this.id = daySumGroupId(cell);
    this.cell = cell;
  }

  /** The sum of the receipts. */
  get sum(): UsageSum {
    return this.#sum;
  }

  /** The same by hour of the day. */
  get hours(): ReadonlyMap<number, HourSum> {
    return this.#hours;
  }

  get isFull(): boolean {
    // One more call takes two changes, and those of each of its tags.
    return this.requestIds.length >= indexReceiptsPerCommit ||
      (this.tags.size > 0 && this.changes + 2 + changesPerTag * maxTags > maxChangesPerCommit);
  }

  /** Changes of pages that it takes at most, with its sums by tag counted in the same unit. */
  get changes(): number {
    return 2 * this.requestIds.length + changesPerTag * this.tags.size;
  }

  add(receipt: Receipt): void {
    this.requestIds.push(receipt.requestId);
    addReceipt(this.#sum, receipt);
    addToHours(this.#hours, receipt);
    if (receipt.tags !== undefined) this.tags.add(receipt);
    if (isFailed(receipt)) this.failedIds.push(receipt.requestId);
  }
}

/** Groups receipts by day sum; groups of one account are neighbours. */
export function groupReceipts(receipts: Iterable<Receipt>): DaySumGroup[] {
  const groups: DaySumGroup[] = [];
  const open = new Map<string, DaySumGroup>();
  for (const receipt of receipts) {
    const cell = daySumCell(receipt);
    const id = daySumGroupId(cell);
    let group = open.get(id);
    if (group === undefined || group.isFull) {
      group = new DaySumGroup(cell);
      open.set(id, group);
      groups.push(group);
    }
    group.add(receipt);
  }
  return groups.sort((one, other) => ascending(one.id, other.id));
}

/**
 * Removes the first groups that fit one atomic write from the list: bounded in number, and no day
 * sum twice.
 */
export function takeChunk<Group extends DaySumGroup>(groups: Group[]): Group[] {
  const ids = new Set<string>();
  let size = 0;
  for (const { id, changes } of groups) {
    const isFull = ids.size >= daySumsPerCommit || size + changes > maxChangesPerCommit;
    if (ids.has(id) || (isFull && ids.size > 0)) break;
    ids.add(id);
    size += changes;
  }
  return groups.splice(0, ids.size);
}

/** Splits groups into chunks that fit one atomic write each. */
export function chunkGroups(groups: readonly DaySumGroup[]): DaySumGroup[][] {
  const rest = [...groups];
  const chunks: DaySumGroup[][] = [];
  while (rest.length > 0) chunks.push(takeChunk(rest));
  return chunks;
}
