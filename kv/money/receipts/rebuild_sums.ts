/** Rebuilds what is derived from receipts: the day sums, their hours, and the index of failed calls. */
import type { AccountId, RequestId } from "../../../core/lib/ids/ids.ts";
import { vietnamDay } from "../../../core/lib/time/vietnam_time.ts";
import type { Writable } from "../../../core/lib/base/assert.ts";
import {
  accountOfKey,
  accountsPrefix,
  dayCopyKey,
  daySumCellOf,
  daySumsOfPrefix,
  failedPageKey,
  tagSumKey,
} from "../../engine/schema/keys.ts";
import { keysPerRead, type KeyValueStore } from "../../engine/store/key_value_store.ts";
import { walletWriteAttempts } from "../balances/leases.ts";
import {
  addReceipt,
  type DaySumCell,
  daySumCell,
  daySumCellKey,
  isArchivedSum,
  noUsage,
  sameUsage,
  type StoredSum,
  type UsageSum,
  usageSum,
} from "./day_sums.ts";
import {
  addToHours,
  decodeHourSums,
  encodeHourSums,
  type HourSum,
  hourSumsDays,
  hourSumsKeptMs,
  isFailed,
} from "./hour_sums.ts";
import { readTagRows, TagSums } from "./tag_sums.ts";
import { hourCellKey } from "./index_write.ts";
import { failedAmong, listIndexed, writePages } from "./receipt_index.ts";
import { maxReceiptsPerRead, readReceipts } from "./receipts.ts";
import { groupsOf } from "../../engine/store/in_parallel.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";

/** Failed calls whose index is completed in one commit, each perhaps with a page of its own. */
const failedPerCommit = 500;

/** The result of rebuilding day sums. */
export interface RebuiltDaySums {
  /** Number of rows that were wrong. */
  readonly corrected: number;
  /** Set if the indexer changed a row during every attempt, so that the row was not checked. */
  readonly isMoving: boolean;
}

/** Sums to rebuild. */
export interface RebuildOptions {
  readonly nowMs: number;
  /** Sums up to this day stay as they are, since receipts of theirs were dropped. */
  readonly afterDay: string | undefined;
}

/** A day sum as its receipts give it. */
interface RightSum {
  readonly cell: DaySumCell;
  readonly usage: Writable<UsageSum>;
  readonly hours: Map<number, HourSum>;
  readonly tags: TagSums;
}

function cellId({ day, keyId, model }: DaySumCell): string {
  return `${day} ${keyId} ${model}`;
}

/**
 * Recomputes the day sums of an account from its indexed receipts, with the hours of recent days, and corrects rows that
 * differ. Safe beside a live service: a row that the indexer changes meanwhile is left to the next attempt.
 */
export async function rebuildDaySums(
  kv: KeyValueStore,
  accountId: AccountId,
  { nowMs, afterDay = "" }: RebuildOptions,
): Promise<RebuiltDaySums> {
  const firstHourDay = vietnamDay(nowMs - hourSumsDays * dayMs);
  let corrected = 0;
  for (let attempt = 0; attempt < walletWriteAttempts; attempt++) {
    // Versions are read before receipts: a receipt indexed in between changes the version.
    const stored = new Map<string, Deno.KvEntry<unknown>>();
    for await (const entry of kv.list<unknown>({ prefix: daySumsOfPrefix(accountId) })) {
      const cell = daySumCellOf(entry.key);
      if (cell.day > afterDay) stored.set(cellId(cell), entry);
    }
    const right = await sumIndexed(kv, accountId, { firstHourDay, afterDay });
    const hours = await storedHours(kv, [...right.values()].filter((one) => one.hours.size > 0));
    let moved = false;
    for (const id of new Set([...stored.keys(), ...right.keys()])) {
      const outcome = await correctRow(kv, stored.get(id), right.get(id), hours.get(id));
      if (outcome === "moved") moved = true;
      if (outcome === "corrected") corrected++;
    }
    const tags = await correctTags(kv, accountId, stored, right);
    corrected += tags.corrected;
    if (!moved && !tags.moved) return { corrected, isMoving: false };
  }
  return { corrected, isMoving: true };
}

/** Runs {@linkcode rebuildDaySums} for every account, one after the other. */
export async function rebuildAllDaySums(
  kv: KeyValueStore,
  options: RebuildOptions,
  signal?: AbortSignal,
): Promise<{
  readonly accounts: number;
  readonly corrected: number;
  /** Accounts whose rows kept changing. */
  readonly moving: readonly AccountId[];
}> {
  let accounts = 0;
  let corrected = 0;
  const moving: AccountId[] = [];
  for await (const { key } of kv.list({ prefix: accountsPrefix() })) {
    signal?.throwIfAborted();
    const accountId = accountOfKey(key);
    const rebuilt = await rebuildDaySums(kv, accountId, options);
    accounts++;
    corrected += rebuilt.corrected;
    if (rebuilt.isMoving) moving.push(accountId);
  }
  return { accounts, corrected, moving };
}

/** Sums the indexed receipts, and completes the index of failed calls for the days that have hours. */
async function sumIndexed(
  kv: KeyValueStore,
  accountId: AccountId,
  { firstHourDay, afterDay }: { readonly firstHourDay: string; readonly afterDay: string },
): Promise<Map<string, RightSum>> {
  const rows = new Map<string, RightSum>();
  let some: RequestId[] = [];
  const add = async () => {
    const failed: RequestId[] = [];
    for (const receipt of await readReceipts(kv, some)) {
      const cell = daySumCell(receipt);
      if (cell.day <= afterDay) continue;
      let row = rows.get(cellId(cell));
      if (row === undefined) {
        row = { cell, usage: { ...noUsage }, hours: new Map(), tags: new TagSums() };
        rows.set(cellId(cell), row);
      }
      addReceipt(row.usage, receipt);
      row.tags.add(receipt);
      if (cell.day < firstHourDay) continue;
      addToHours(row.hours, receipt);
      if (isFailed(receipt)) failed.push(receipt.requestId);
    }
    some = [];
    await completeFailed(kv, accountId, failed);
  };
  for await (const requestId of listIndexed(kv, accountId)) {
    some.push(requestId);
    if (some.length >= Math.min(maxReceiptsPerRead, failedPerCommit)) await add();
  }
  await add();
  return rows;
}

async function completeFailed(
  kv: KeyValueStore,
  accountId: AccountId,
  failed: readonly RequestId[],
): Promise<void> {
  const known = await failedAmong(kv, accountId, failed);
  const requestIds = failed.filter((id) => !known.has(id));
  if (requestIds.length === 0) return;
  const op = kv.atomic();
  writePages(op, failedPageKey, [{ accountId, requestIds }]);
  await op.commit();
}

/** The rows of hours by day sum, in the form in which they are written. Read after the day sums. */
async function storedHours(
  kv: KeyValueStore,
  sums: readonly RightSum[],
): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (let at = 0; at < sums.length; at += keysPerRead) {
    const some = sums.slice(at, at + keysPerRead);
    const rows = await kv.getMany<unknown[]>(some.map(({ cell }) => hourCellKey(cell)));
    for (const [at, { value }] of rows.entries()) {
      const sum = some[at];
      if (sum === undefined || typeof value !== "string") continue;
      texts.set(cellId(sum.cell), encodeHourSums(decodeHourSums(value)));
    }
  }
  return texts;
}

async function correctRow(
  kv: KeyValueStore,
  stored: Deno.KvEntry<unknown> | undefined,
  right: RightSum | undefined,
  storedHours: string | undefined,
): Promise<"right" | "corrected" | "moved"> {
  const hours = right === undefined || right.hours.size === 0
    ? undefined
    : encodeHourSums({ missingCalls: 0, hours: right.hours });
  if (right === undefined && stored !== undefined && usageSum(stored.value).calls === 0) {
    // It may stand in place of an archived sum, which would show again.
    const [archived] = await kv.archivedRows?.([stored.key]) ?? [];
    if (archived !== undefined) return "right";
  }
  const isRight = stored && right && sameUsage(usageSum(stored.value), right.usage);
  if (isRight && (hours === undefined || sameHours(hours, storedHours))) {
    return await correctCopy(kv, stored, right);
  }
  const cell = right?.cell ?? (stored && daySumCellOf(stored.key));
  if (cell === undefined) return "right";
  const key = daySumCellKey(cell);
  const op = kv.atomic().check({ key, versionstamp: stored?.versionstamp ?? null });
  // The sum is written even if only its hours are wrong: indexers remember both by the version of the sum.
  if (right) op.set(key, { ...right.usage, hasHours: hours !== undefined } satisfies StoredSum);
  else if (stored !== undefined && isArchivedSum(stored)) {
    op.set(key, { ...noUsage, hasHours: false } satisfies StoredSum);
  } else op.delete(key);
  const copy = dayCopyKey(cell);
  if (right?.usage.providers !== undefined) op.set(copy, right.usage);
  else op.delete(copy);
  if (hours !== undefined) op.set(hourCellKey(cell), hours, { expireIn: hourSumsKeptMs });
  else if (right === undefined) op.delete(hourCellKey(cell));
  const result = await op.commit();
  return result.ok ? "corrected" : "moved";
}

/** Rows of sums by tag that are corrected in one commit. */
const tagRowsPerCommit = 500;

/**
 * Corrects the sums by tag of all days that have day sums, or should have them. Each commit checks the day sum that was
 * read before the receipts, so one that was just corrected is left to the next attempt.
 */
async function correctTags(
  kv: KeyValueStore,
  accountId: AccountId,
  stored: ReadonlyMap<string, Deno.KvEntry<unknown>>,
  right: ReadonlyMap<string, RightSum>,
): Promise<{ readonly corrected: number; readonly moved: boolean }> {
  const cells = new Map<string, DaySumCell>();
  for (const [id, { key }] of stored) cells.set(id, daySumCellOf(key));
  for (const [id, { cell }] of right) cells.set(id, cell);
  const wrong = new Map<string, Map<string, TagCorrection>>();
  const correct = (cell: DaySumCell, one: TagCorrection) => {
    const some = wrong.get(cellId(cell)) ?? new Map<string, TagCorrection>();
    wrong.set(cellId(cell), some.set(one.key.join(" "), one));
  };
  for (const { cell, tags } of right.values()) {
    for (const { tag, sum } of tags) correct(cell, { key: tagSumKey(cell, tag), sum });
  }
  for (const day of new Set([...cells.values()].map((cell) => cell.day))) {
    for (
      const { tag, usage, ...cell } of await readTagRows(kv, accountId, {
        fromDay: day,
        toDay: day,
      })
    ) {
      const key = tagSumKey(cell, tag);
      const sum = right.get(cellId(cell))?.tags.of(tag);
      if (sum === undefined) correct(cell, { key, sum });
      else if (sameUsage(sum, usage)) wrong.get(cellId(cell))?.delete(key.join(" "));
    }
  }
  let corrected = 0;
  let moved = false;
  for (const [id, rows] of wrong) {
    for (const some of groupsOf([...rows.values()], tagRowsPerCommit)) {
      const cell = cells.get(id);
      if (cell === undefined) continue;
      const versionstamp = stored.get(id)?.versionstamp ?? null;
      const op = kv.atomic().check({ key: daySumCellKey(cell), versionstamp });
      for (const { key, sum } of some) {
        if (sum !== undefined) op.set(key, sum);
        else if (isArchivedSum({ versionstamp })) op.set(key, noUsage);
        else op.delete(key);
      }
      if ((await op.commit()).ok) corrected += some.length;
      else moved = true;
    }
  }
  return { corrected, moved };
}

/** A row of sums by tag as it should be; `undefined`: it should not exist. */
interface TagCorrection {
  readonly key: Deno.KvKey;
  readonly sum: UsageSum | undefined;
}

/** Corrects the copy of a day sum that is right. */
async function correctCopy(
  kv: KeyValueStore,
  stored: Deno.KvEntry<unknown>,
  { cell, usage }: RightSum,
): Promise<"right" | "corrected" | "moved"> {
  if (usage.providers === undefined) return "right";
  const copy = await kv.get<unknown>(dayCopyKey(cell));
  if (copy.value !== null && sameUsage(usageSum(copy.value), usage)) return "right";
  const { ok } = await kv.atomic().check(stored).set(copy.key, usage).commit();
  return ok ? "corrected" : "moved";
}

/** Whether two rows are equal, whatever the order in which their errors were first seen. */
function sameHours(one: string, other: string | undefined): boolean {
  const sorted = (text: string) =>
    text.split("\n").map((line) => {
      const parts = line.split("|");
      return [...parts.slice(0, -1), ...(parts.at(-1) ?? "").split(",").sort()].join();
    }).join("\n");
  return other !== undefined && sorted(one) === sorted(other);
}
