/**
 * Writes receipts into the index, the day sums and their hours, each exactly once.
 *
 * The index page, the day sum of a receipt and the hours of that sum change in one atomic write that
 * checks the version of the day sum. The hours need no check of their own: nothing writes them
 * without their day sum. An indexer of an earlier release, during a rolling update, writes the sum
 * without them: then the sum lacks its mark, and the next commit counts what the hours lack. A process that adds a receipt reads the day sum first and the index second. If
 * another process has indexed the receipt, this one either finds it in the index and skips it, or
 * its check fails. So no lock is needed, and any number of processes may try at once.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import type { InstanceId } from "../../../core/lib/ids/ids.ts";
import { walletWriteAttempts } from "../balances/leases.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import {
  dayCopyKey,
  failedPageKey,
  hourSumsKey,
  indexerKey,
  indexPageKey,
} from "../../engine/schema/keys.ts";
import { type CallsOfAccount, indexedAmong, writePages } from "./receipt_index.ts";
import { readReceipts } from "./receipts.ts";
import { type DaySumGroup, groupReceipts } from "./day_sum_group.ts";
import {
  addUsage,
  type DaySumCell,
  daySumCellKey,
  noUsage,
  type StoredSum,
  type UsageSum,
  usageSum,
} from "./day_sums.ts";
import { readTagSums, writeTagSums } from "./tag_sums.ts";
import { addHoursToText, hourSumsKeptMs } from "./hour_sums.ts";
import { keysPerRead, type KeyValueStore } from "../../engine/store/key_value_store.ts";
import { groupsOf } from "../../engine/store/in_parallel.ts";

/** A day sum as it is stored, with its version. */
export interface KnownSum {
  readonly sum: UsageSum;
  readonly versionstamp: string | null;
  /** The row of its hours; absent if there is none. */
  readonly hours: string | undefined;
}

/** Returns the store key of the hours of a day sum. */
export function hourCellKey({ accountId, day, keyId, model }: DaySumCell): Deno.KvKey {
  return hourSumsKey(day, accountId, keyId, model);
}

/** Options of {@linkcode writeIndex}. */
export interface IndexWriteOptions {
  /** Set to write only while this instance may still index its own batches. */
  readonly owner?: { readonly instanceId: InstanceId; readonly versionstamp: string };
  /**
   * Sums that this instance wrote itself, used with `owner`: they need not be read again, nor the
   * index.
   */
  readonly cache?: Map<string, KnownSum>;
  readonly bounded: <T>(call: Promise<T>) => Promise<T>;
  /** Waits between attempts. */
  readonly pause?: (delayMs: number) => Promise<void>;
}

/**
 * Indexes one chunk. `lost`: another process has taken over these batches and will index them.
 * `conflict`: the store failed or other processes were faster in every attempt; nothing was
 * written, so try again later.
 */
export async function writeIndex(
  kv: KeyValueStore,
  chunk: readonly DaySumGroup[],
  options: IndexWriteOptions,
): Promise<"written" | "lost" | "conflict"> {
  const { owner, cache, pause } = options;
  const outcome = await compareAndSet<"written" | "lost">(async (attempt) => {
    try {
      const trusted = attempt === 0 && cache !== undefined;
      const sums = await readSums(kv, chunk, trusted ? cache : undefined, options);
      const groups = trusted ? chunk : await withoutIndexed(kv, chunk, options);
      const tagSums = await options.bounded(readTagSums(kv, groups));
      const result = await commitIndex(kv, groups, { sums, tagSums }, options);
      if (result !== undefined) {
        for (const [id, sum] of result) cache?.set(id, sum);
        return { done: "written" };
      }
    } catch {
      // The answer was lost. The next attempt reads everything again, in the safe order.
    }
    for (const group of chunk) cache?.delete(group.id);
    return owner && await isLost(kv, owner, options) ? { done: "lost" } : "again";
  }, { attempts: walletWriteAttempts, ...(pause ? { pause } : {}) });
  return outcome === "conflict" ? "conflict" : outcome.done;
}

async function readSums(
  kv: KeyValueStore,
  chunk: readonly DaySumGroup[],
  cache: Map<string, KnownSum> | undefined,
  { bounded }: IndexWriteOptions,
): Promise<Map<string, KnownSum>> {
  const sums = new Map<string, KnownSum>();
  const missing: DaySumGroup[] = [];
  for (const group of chunk) {
    const known = cache?.get(group.id);
    if (known) sums.set(group.id, known);
    else missing.push(group);
  }
  if (missing.length === 0) return sums;
  // One reading shows both rows of a sum as one commit left them.
  for (const some of groupsOf(missing, Math.floor(keysPerRead / 2))) {
    const keys = some.flatMap(({ cell }) => [daySumCellKey(cell), hourCellKey(cell)]);
    const rows = await bounded(kv.getMany<unknown[]>(keys));
    for (const [at, group] of some.entries()) {
      const [day, hours] = [rows[2 * at], rows[2 * at + 1]];
      if (day === undefined) continue;
      sums.set(group.id, {
        sum: day.versionstamp === null ? noUsage : usageSum(day.value),
        versionstamp: day.versionstamp,
        hours: typeof hours?.value === "string" ? hours.value : undefined,
      });
    }
  }
  return sums;
}

/** Removes receipts that are already in the index. Call it after the sums were read. */
async function withoutIndexed(
  kv: KeyValueStore,
  chunk: readonly DaySumGroup[],
  { bounded }: IndexWriteOptions,
): Promise<DaySumGroup[]> {
  const groups: DaySumGroup[] = [];
  for (const group of chunk) {
    const { cell: { accountId }, requestIds } = group;
    const indexed = await bounded(indexedAmong(kv, accountId, requestIds));
    if (indexed.size === 0) {
      groups.push(group);
      continue;
    }
    const rest = requestIds.filter((requestId) => !indexed.has(requestId));
    if (rest.length === 0) continue;
    const receipts = await bounded(readReceipts(kv, rest));
    invariant(receipts.length === rest.length, "what is settled has its receipt");
    groups.push(...groupReceipts(receipts));
  }
  return groups;
}

/** Commits one atomic write. Returns the new sums, or `undefined` if a check failed. */
async function commitIndex(
  kv: KeyValueStore,
  groups: readonly DaySumGroup[],
  { sums, tagSums }: {
    readonly sums: ReadonlyMap<string, KnownSum>;
    /** Read after the versions of `sums`. */
    readonly tagSums: ReadonlyMap<string, UsageSum>;
  },
  { owner, bounded }: IndexWriteOptions,
): Promise<Map<string, KnownSum> | undefined> {
  const written = new Map<string, Pick<KnownSum, "sum" | "hours">>();
  if (groups.length === 0) return new Map();
  const op = kv.atomic();
  if (owner) op.check({ key: indexerKey(owner.instanceId), versionstamp: owner.versionstamp });
  for (const { id, cell, sum: added, hours: addedHours, tags } of groups) {
    const known = sums.get(id) ?? { sum: noUsage, versionstamp: null, hours: undefined };
    const key = daySumCellKey(cell);
    const sum = addUsage(known.sum, added);
    const hours = addHoursToText(known.hours, addedHours, known.sum.calls);
    const stored: StoredSum = { ...sum, hasHours: true };
    op.check({ key, versionstamp: known.versionstamp }).set(key, stored);
    if (sum.providers !== undefined) op.set(dayCopyKey(cell), sum);
    op.set(hourCellKey(cell), hours, { expireIn: hourSumsKeptMs });
    writeTagSums(op, cell, tags, tagSums);
    written.set(id, { sum, hours });
  }
  writePages(op, indexPageKey, groups.map(callsOf));
  writePages(op, failedPageKey, groups.map(failedCallsOf));
  const result = await bounded(op.commit());
  if (!result.ok) return undefined;
  const known = new Map<string, KnownSum>();
  for (const [id, sum] of written) known.set(id, { ...sum, versionstamp: result.versionstamp });
  return known;
}

function callsOf({ cell: { accountId }, requestIds }: DaySumGroup): CallsOfAccount {
  return { accountId, requestIds };
}

function failedCallsOf({ cell: { accountId }, failedIds }: DaySumGroup): CallsOfAccount {
  return { accountId, requestIds: failedIds };
}

async function isLost(
  kv: KeyValueStore,
  owner: { readonly instanceId: InstanceId; readonly versionstamp: string },
  { bounded }: IndexWriteOptions,
): Promise<boolean> {
  try {
    const row = await bounded(kv.get(indexerKey(owner.instanceId)));
    return row.versionstamp !== owner.versionstamp;
  } catch {
    return false;
  }
}
