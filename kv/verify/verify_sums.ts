/**
 * What calls cost an account: by its day sums where these are proved, by the receipts themselves where not. An account
 * in use has a few open sums, those of today, beside years of receipts that nobody needs to read twice.
 */
import type { AccountId, RequestId } from "../../core/lib/ids.ts";
import { beforeIdsOf } from "../../core/lib/ids.ts";
import type { TimeSlices } from "../../core/lib/time/time_slices.ts";
import { vietnamDayStartMs } from "../../core/lib/time/vietnam_time.ts";
import { daySumCellOf, indexPageKey, indexPagesPrefix, rollupsOfPrefix } from "../schema/keys.ts";
import { pageIds } from "../receipts/receipt_index.ts";
import { readReceipts } from "../receipts/receipts.ts";
import {
  addReceipts,
  noUsage,
  type RollupCell,
  rollupCell,
  rollupCellKey,
  sameUsage,
  type UsageSum,
  usageSum,
} from "../receipts/rollups.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";

/** Receipts of an account that verification holds at a time. */
const verifyReceiptsAtOnce = 1_000;

/** Names a day sum: its key as a text. */
export function sumId(cell: RollupCell): string {
  return rollupCellKey(cell).join(" ");
}

/** What a scan of the store found out about day sums. */
export interface ProvedSums {
  /** Of sums that were right, the version: a row that still has it still is right. */
  readonly versions: ReadonlyMap<string, string>;
  /** Sums that have receipts, but no row. */
  readonly unwritten: ReadonlyMap<string, RollupCell>;
}

interface DaySum {
  readonly cell: RollupCell;
  readonly sum: UsageSum;
  readonly versionstamp: string;
}

/** The day sums of an account by their names. */
export type DaySums = ReadonlyMap<string, DaySum>;

/** Reads the day sums of an account. */
export async function readDaySums(kv: KeyValueStore, accountId: AccountId): Promise<DaySums> {
  const sums = new Map<string, DaySum>();
  for await (const entry of kv.list<unknown>({ prefix: rollupsOfPrefix(accountId) })) {
    const cell = daySumCellOf(entry.key);
    const { versionstamp } = entry;
    sums.set(sumId(cell), { cell, sum: usageSum(entry.value), versionstamp });
  }
  return sums;
}

/** Equal for two readings if and only if no day sum changed in between. */
export function versionOf(sums: DaySums): string {
  return [...sums.values()].map(({ versionstamp }) => versionstamp).join();
}

/** What some receipts come to. */
export interface ReceiptSums {
  readonly sums: ReadonlyMap<string, UsageSum>;
  readonly costMicroVnd: bigint;
  /** Receipts that were to be read, but are not there. */
  readonly missing: number;
}

/** Reads receipts and adds them up, those of the sums called `proved` left out. */
export async function sumReceipts(
  kv: KeyValueStore,
  ids: readonly RequestId[],
  { slices, proved }: {
    readonly slices: TimeSlices | undefined;
    readonly proved?: ReadonlySet<string>;
  },
): Promise<ReceiptSums> {
  const sums = new Map<string, UsageSum>();
  let costMicroVnd = 0n;
  let found = 0;
  for (let at = 0; at < ids.length; at += verifyReceiptsAtOnce) {
    for (const receipt of await readReceipts(kv, ids.slice(at, at + verifyReceiptsAtOnce))) {
      found++;
      const id = sumId(rollupCell(receipt));
      if (proved?.has(id)) continue;
      sums.set(id, addReceipts(sums.get(id) ?? noUsage, [receipt]));
      costMicroVnd += receipt.costMicroVnd;
    }
    await slices?.rest();
  }
  return { sums, costMicroVnd, missing: ids.length - found };
}

/** What the indexed calls of an account cost, and which of its day sums are not those of their receipts. */
export interface IndexedCalls {
  readonly costMicroVnd: bigint;
  readonly missing: number;
  readonly wrongSums: readonly string[];
}

/** Adds up the indexed calls of an account. Memory is bounded by the ids of the days whose sums are not proved. */
export async function checkIndexedCalls(
  kv: KeyValueStore,
  accountId: AccountId,
  { stored, known, slices }: {
    readonly stored: DaySums;
    readonly known: ProvedSums;
    readonly slices: TimeSlices | undefined;
  },
): Promise<IndexedCalls> {
  const proved = new Set<string>();
  const openDays: string[] = [];
  let costMicroVnd = 0n;
  for (const [id, { cell, sum, versionstamp }] of stored) {
    if (known.versions.get(id) === versionstamp) {
      proved.add(id);
      costMicroVnd += sum.costMicroVnd;
    } else openDays.push(cell.day);
  }
  for (const cell of known.unwritten.values()) {
    if (cell.accountId === accountId) openDays.push(cell.day);
  }
  const firstDay = openDays.sort()[0];
  const ids = firstDay === undefined ? [] : await indexedSince(kv, accountId, firstDay);
  const read = await sumReceipts(kv, ids, { slices, proved });
  const open = new Set([...stored.keys(), ...read.sums.keys()]).difference(proved);
  return {
    costMicroVnd: costMicroVnd + read.costMicroVnd,
    missing: read.missing,
    wrongSums: [...open].filter((id) => {
      return !sameUsage(stored.get(id)?.sum ?? noUsage, read.sums.get(id) ?? noUsage);
    }),
  };
}

const dayMs = 86_400_000;

/** The indexed calls from a day on, and some before: an id is as old as its call, but not by the same reading of the clock. */
async function indexedSince(
  kv: KeyValueStore,
  accountId: AccountId,
  day: string,
): Promise<RequestId[]> {
  const before = beforeIdsOf("request", vietnamDayStartMs(day) - dayMs);
  const selector = {
    prefix: indexPagesPrefix(accountId),
    start: indexPageKey(accountId, before),
  };
  const ids: RequestId[] = [];
  for await (const page of kv.list<unknown>(selector)) ids.push(...pageIds(page));
  return ids;
}
