/**
 * Computes sums by tag: what the calls of a day sum used that have a tag. A row belongs to a day sum and is written in
 * the commit of the day sum, whose check guards both; whoever changes it reads it after the version of the day sum, so
 * no row needs a check of its own. A call without tags has no such row.
 */
import { invariant, type Writable } from "../../../core/lib/base/assert.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { type CallTag, tagText } from "../../../core/billing/usage/call_tags.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { daysBetween } from "../../../core/lib/time/vietnam_time.ts";
import { tagSumKey, tagSumOf, tagSumsPrefix } from "../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { keysPerRead } from "../../engine/store/key_value_store.ts";
import { groupsOf } from "../../engine/store/in_parallel.ts";
import {
  addCounts,
  addUsage,
  type DayRange,
  type DaySumCell,
  noUsage,
  type UsageSum,
  usageSum,
} from "./day_sums.ts";

/** The sum of the calls of one cell with one tag. */
export interface TagSum {
  readonly tag: CallTag;
  readonly sum: UsageSum;
}

/** The sums by tag of one cell. */
export class TagSums {
  readonly #sums = new Map<string, { readonly tag: CallTag; readonly sum: Writable<UsageSum> }>();

  /** Number of rows. */
  get size(): number {
    return this.#sums.size;
  }

  add(receipt: Receipt): void {
    for (const tag of receipt.tags ?? []) {
      const name = tagText(tag);
      let known = this.#sums.get(name);
      if (known === undefined) this.#sums.set(name, known = { tag, sum: { ...noUsage } });
      addCounts(known.sum, receipt);
    }
  }

  /** The sum of a tag; `undefined` if no call has it. */
  of(tag: CallTag): UsageSum | undefined {
    return this.#sums.get(tagText(tag))?.sum;
  }

  [Symbol.iterator](): Iterator<TagSum> {
    return this.#sums.values();
  }
}

/** Adds sums to the rows of a cell, as part of the commit that changes its day sum. */
export function writeTagSums(
  op: AtomicWrite,
  cell: DaySumCell,
  added: TagSums,
  known: ReadonlyMap<string, UsageSum>,
): void {
  for (const { tag, sum } of added) {
    const key = tagSumKey(cell, tag);
    op.set(key, addUsage(known.get(key.join(" ")) ?? noUsage, sum));
  }
}

/** Reads the rows to which sums are added, by the texts of their keys. */
export async function readTagSums(
  kv: KeyValueStore,
  groups: readonly { readonly cell: DaySumCell; readonly tags: TagSums }[],
): Promise<Map<string, UsageSum>> {
  const known = new Map<string, UsageSum>();
  const keys = groups.flatMap(({ cell, tags }) => [...tags].map(({ tag }) => tagSumKey(cell, tag)));
  for (const some of groupsOf(keys, keysPerRead)) {
    for (const { key, value } of await kv.getMany<unknown[]>(some)) {
      if (value !== null) known.set(key.join(" "), usageSum(value));
    }
  }
  return known;
}

/** Tags to read: all values of a key, or one. */
export interface TagChoice {
  readonly key: string;
  /** Absent: every value. */
  readonly value?: string | undefined;
}

/** A stored row. */
export interface TagRow extends DaySumCell {
  readonly tag: CallTag;
  readonly usage: UsageSum;
}

/** Days whose rows are read at the same time. */
const daysAtOnce = 8;

/** Reads the rows of some days, by day. */
export async function readTagRows(
  kv: KeyValueStore,
  accountId: AccountId,
  range: DayRange,
  choice?: TagChoice,
): Promise<TagRow[]> {
  const rows: TagRow[] = [];
  for (const days of groupsOf(daysBetween(range.fromDay, range.toDay), daysAtOnce)) {
    const read = days.map((day) =>
      Array.fromAsync(
        kv.list<unknown>({ prefix: tagSumsPrefix(accountId, day, choice) }),
        ({ key, value }): TagRow => ({ ...tagSumOf(key), usage: usageSum(value) }),
      )
    );
    for (const some of await Promise.all(read)) {
      // A sum of no calls stands in place of an archived one that was wrong.
      rows.push(...some.filter(({ usage }) => usage.calls > 0));
    }
  }
  invariant(rows.every((row) => row.accountId === accountId), "rows of one account");
  return rows;
}
