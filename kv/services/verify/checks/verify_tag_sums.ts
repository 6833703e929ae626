/**
 * Checks that the sums by tag, by which budgets of tags count, are those of the receipts. Only accounts with such sums
 * are read, a day at a time, from a day on or all.
 */
import { type AccountId, beforeIdsOf, type RequestId } from "../../../../core/lib/ids/ids.ts";
import type { TimeSlices } from "../../../../core/lib/time/time_slices.ts";
import {
  daysBetween,
  shiftDay,
  vietnamDayStartMs,
} from "../../../../core/lib/time/vietnam_time.ts";
import {
  accountOfKey,
  allTagSumsPrefix,
  indexPageKey,
  indexPagesPrefix,
  tagSumKey,
  tagSumOf,
  tagSumsAfter,
  tagSumsFromDay,
} from "../../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { daySumCell, sameUsage } from "../../../money/receipts/day_sums.ts";
import { pageIds } from "../../../money/receipts/receipt_index.ts";
import { readReceipts } from "../../../money/receipts/receipts.ts";
import { readTagRows, TagSums } from "../../../money/receipts/tag_sums.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";

/** A day of an account whose sums by tag are wrong. */
interface WrongTagSums {
  readonly accountId: AccountId;
  readonly detail: string;
}

/** Readings of a day that keeps changing; after them it is reported, since a day is read in a moment. */
const maxReadings = 20;
/** Receipts in memory at once. */
const receiptsAtOnce = 1_000;

async function* accountsWithTags(
  kv: KeyValueStore,
  archived: Iterable<AccountId>,
): AsyncGenerator<AccountId, void, void> {
  const others = new Set(archived);
  let selector: Deno.KvListSelector = { prefix: allTagSumsPrefix() };
  for (;;) {
    const ofStore = { limit: 1, isWithoutArchive: true };
    const [first] = await Array.fromAsync(kv.list(selector, ofStore));
    if (first === undefined) break;
    const accountId = accountOfKey(first.key);
    others.delete(accountId);
    yield accountId;
    selector = tagSumsAfter(accountId);
  }
  yield* others;
}

/** Compares the sums by tag with the receipts. */
export async function* wrongTagSums(
  kv: KeyValueStore,
  { fromDay, today, archived = [], slices }: {
    /** Absent: from the first day with sums. */
    readonly fromDay?: string | undefined;
    readonly today: string;
    /** Accounts of which an archive has such sums: days that are not sealed have all of theirs in the store. */
    readonly archived?: Iterable<AccountId> | undefined;
    readonly slices?: TimeSlices | undefined;
  },
): AsyncGenerator<WrongTagSums, void, void> {
  for await (const accountId of accountsWithTags(kv, archived)) {
    const selector = tagSumsFromDay(accountId, fromDay ?? "");
    const [first] = await Array.fromAsync(kv.list(selector, { limit: 1 }));
    if (first === undefined && fromDay === undefined) continue;
    const firstDay = fromDay ?? (first === undefined ? today : tagSumOf(first.key).day);
    for (const day of daysBetween(firstDay, today)) {
      if (!await isRight(kv, accountId, day, slices)) {
        const detail =
          `the sums by tag of ${day} are not those of the receipts: admin sums rebuild corrects them`;
        yield { accountId, detail };
      }
      await slices?.rest();
    }
  }
}

/** Whether the sums of a day are right; read again while calls are indexed in between. */
async function isRight(
  kv: KeyValueStore,
  accountId: AccountId,
  day: string,
  slices: TimeSlices | undefined,
): Promise<boolean> {
  let before: ReadonlySet<RequestId> | undefined;
  for (let reading = 0; reading < maxReadings; reading++) {
    before ??= await indexedIn(kv, accountId, day);
    const rows = await readTagRows(kv, accountId, { fromDay: day, toDay: day });
    const after = await indexedIn(kv, accountId, day);
    if (after.size === before.size) {
      const right = await sumsOf(kv, [...after], day, slices);
      const isSame = rows.every(({ tag, usage, ...cell }) => {
        const name = tagSumKey(cell, tag).join(" ");
        const sum = right.get(name);
        right.delete(name);
        return sum !== undefined && sameUsage(sum, usage);
      });
      return isSame && right.size === 0;
    }
    before = after;
  }
  return false;
}

/** The indexed calls around a day: an id has the age of its call, but by another reading of the clock. */
async function indexedIn(
  kv: KeyValueStore,
  accountId: AccountId,
  day: string,
): Promise<ReadonlySet<RequestId>> {
  const selector = {
    prefix: indexPagesPrefix(accountId),
    start: indexPageKey(accountId, beforeIdsOf("request", vietnamDayStartMs(day) - dayMs)),
  };
  const end = beforeIdsOf("request", vietnamDayStartMs(shiftDay(day, 2)));
  const ids = new Set<RequestId>();
  for await (const page of kv.list<unknown>(selector)) {
    const some = pageIds(page);
    for (const id of some) if (id < end) ids.add(id);
    if (some.every((id) => id >= end)) break;
  }
  return ids;
}

async function sumsOf(
  kv: KeyValueStore,
  ids: readonly RequestId[],
  day: string,
  slices: TimeSlices | undefined,
) {
  const byCell = new Map<string, { cell: ReturnType<typeof daySumCell>; tags: TagSums }>();
  for (let at = 0; at < ids.length; at += receiptsAtOnce) {
    for (const receipt of await readReceipts(kv, ids.slice(at, at + receiptsAtOnce))) {
      const cell = daySumCell(receipt);
      if (cell.day !== day || receipt.tags === undefined) continue;
      const id = `${cell.keyId} ${cell.model}`;
      const known = byCell.get(id) ?? { cell, tags: new TagSums() };
      byCell.set(id, known);
      known.tags.add(receipt);
    }
    await slices?.rest();
  }
  const sums = [...byCell.values()].flatMap(({ cell, tags }) =>
    [...tags].map(({ tag, sum }) => [tagSumKey(cell, tag).join(" "), sum] as const)
  );
  return new Map(sums);
}
