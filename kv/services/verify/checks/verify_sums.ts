/**
 * Computes what calls cost an account: from day sums that are verified, else from the receipts. An
 * account in use has a few unverified sums, those of today, beside years of receipts that need not
 * be read again.
 */
import { type AccountId, beforeIdsOf, type RequestId } from "../../../../core/lib/ids/ids.ts";
import type { TimeSlices } from "../../../../core/lib/time/time_slices.ts";
import { vietnamDayStartMs } from "../../../../core/lib/time/vietnam_time.ts";
import {
  daySumsPrefix,
  hourCellOf,
  hourSumsOfDayPrefix,
  hourSumsPrefix,
  indexPageKey,
  indexPagesPrefix,
  kindOfKey,
} from "../../../engine/schema/keys.ts";
import { readable } from "./readable_rows.ts";
import { pageIds } from "../../../money/receipts/receipt_index.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { readReceipts } from "../../../money/receipts/receipts.ts";
import {
  addReceipts,
  type DaySumCell,
  daySumCell,
  daySumCellKey,
  noUsage,
  sameUsage,
  storedSum,
  type UsageSum,
} from "../../../money/receipts/day_sums.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";
import {
  keysAtOnce,
  listBatchRows,
  rowsOfKeys,
  wholeKind,
} from "../../../engine/store/read_ahead.ts";
import { decodeHourSums } from "../../../money/receipts/hour_sums.ts";
import { hourCellKey } from "../../../money/receipts/index_write.ts";
import { groupsOf } from "../../../engine/store/in_parallel.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";

/** The total of the hours of a day sum: their durations and errors are not among it. */
export interface HoursTotal extends Pick<UsageSum, "calls" | "outputTokens" | "costMicroVnd"> {
  /** Calls of the sum that an earlier release has counted in no hour. */
  readonly missingCalls: number;
}

/** The sums of the store that a reading of all receipts has compared with them. */
export interface ComparedSums {
  /** Whether a sum is known to be right, and hours add up to it. */
  areHours(id: string, total: HoursTotal): boolean;
  /** Takes the copy of a sum. Returns whether the sum is known to be right, and the copy, too. */
  takeCopy(id: string, copy: UsageSum): boolean;
  /** Lists right sums of the store that need a copy, of which none was taken: at least those. */
  withoutCopy(): AsyncIterable<DaySumCell>;
  /** Sums of the store that were not right when they were read, by their names. */
  readonly unsure: ReadonlyMap<string, DaySumCell>;
  /** Whether the sums of an account were compared. */
  isOurs(accountId: AccountId): boolean;
}

// Checks that the hours of day sums add up to their day: both are written in one commit, so any reading shows both.

/** Hours that do not add up. */
interface WrongHours {
  readonly accountId: AccountId;
  readonly detail: string;
}

/**
 * Compares all hours of the sums that were compared with their receipts. Hours add up to what these do, if the sum is
 * right; all others are read again, with their sums at one moment.
 */
export async function* allWrongHours(
  kv: KeyValueStore,
  compared: Pick<ComparedSums, "areHours" | "isOurs">,
  slices: TimeSlices | undefined,
): AsyncGenerator<WrongHours, void, void> {
  let different: DaySumCell[] = [];
  for await (const { key, value } of wholeKind<unknown>(kv, { prefix: hourSumsPrefix() }, slices)) {
    const cell = hourCellOf(key);
    if (!compared.isOurs(cell.accountId)) continue;
    const [total] = readable(() => [totalOfHours(value)]);
    if (total !== undefined && compared.areHours(sumId(cell), total)) continue;
    different.push(cell);
    if (different.length < keysAtOnce) continue;
    yield* await comparedAtOnce(kv, different);
    different = [];
  }
  yield* await comparedAtOnce(kv, different);
}

/** Compares the hours with their day sums, from a day on or of all days. */
export async function* wrongHours(
  kv: KeyValueStore,
  { fromDay, slices }: {
    readonly fromDay?: string | undefined;
    readonly slices?: TimeSlices | undefined;
  },
): AsyncGenerator<WrongHours, void, void> {
  const prefix = hourSumsPrefix();
  const selector = fromDay === undefined
    ? { prefix }
    : { prefix, start: hourSumsOfDayPrefix(fromDay) };
  let rows: Deno.KvEntry<unknown>[] = [];
  for await (const row of kv.list<unknown>(selector, { batchSize: listBatchRows })) {
    rows.push(row);
    if (rows.length < keysAtOnce) continue;
    yield* await compared(kv, rows);
    rows = [];
    await slices?.rest();
  }
  yield* await compared(kv, rows);
}

/** Compares rows of hours with their day sums. What was read at two moments and differs is read again at one. */
async function compared(
  kv: KeyValueStore,
  rows: readonly Deno.KvEntry<unknown>[],
): Promise<WrongHours[]> {
  const cells = rows.map(({ key }) => hourCellOf(key));
  const days = await rowsOfKeys(kv, cells.map(daySumCellKey));
  const differ = cells.filter((_, at) => !isWhole(days[at]?.value ?? null, rows[at]?.value));
  return await comparedAtOnce(kv, differ);
}

const isWhole = (day: unknown, hours: unknown): boolean =>
  readable(() => [addsUp(day, hours)]).includes(true);

async function comparedAtOnce(
  kv: KeyValueStore,
  cells: readonly DaySumCell[],
): Promise<WrongHours[]> {
  const wrong: WrongHours[] = [];
  for (const group of groupsOf(cells, Math.floor(keysAtOnce / 2))) {
    const rows = await rowsOfKeys(
      kv,
      group.flatMap((cell) => [daySumCellKey(cell), hourCellKey(cell)]),
    );
    for (const [at, cell] of group.entries()) {
      const [day, hours] = [rows[2 * at]?.value ?? null, rows[2 * at + 1]];
      // The row may have expired since it was listed.
      if (hours === undefined || isWhole(day, hours.value)) continue;
      const detail =
        `the hours of ${cell.day} ${cell.keyId} ${cell.model} do not add up to their day: admin sums rebuild corrects them`;
      wrong.push({ accountId: cell.accountId, detail });
    }
  }
  return wrong;
}

function addsUp(day: unknown, row: unknown): boolean {
  const { hasHours, ...sum } = day === null ? { ...noUsage, hasHours: true } : storedSum(day);
  const total = totalOfHours(row);
  if (hasHours) return sameHours(sum, total);
  // Indexed by an earlier release since; the next commit counts these calls as missing.
  return total.calls + total.missingCalls <= sum.calls;
}

/** Whether hours add up to a sum that was written with them. */
export function sameHours(sum: UsageSum, total: HoursTotal): boolean {
  const { missingCalls, calls, outputTokens, costMicroVnd } = total;
  if (calls + missingCalls !== sum.calls) return false;
  return missingCalls > 0 || costMicroVnd === sum.costMicroVnd && outputTokens === sum.outputTokens;
}

function totalOfHours(row: unknown): HoursTotal {
  const { missingCalls, hours } = decodeHourSums(row);
  const total = { missingCalls, calls: 0, outputTokens: 0, costMicroVnd: 0n };
  for (const { calls, outputTokens, costMicroVnd } of hours.values()) {
    total.calls += calls;
    total.outputTokens += outputTokens;
    total.costMicroVnd += costMicroVnd;
  }
  return total;
}

/** Receipts of an account that verification has in memory at once. */
const verifyReceiptsAtOnce = 1_000;

/** Returns the name of a day sum: its key as a text. */
export function sumId({ accountId, day, keyId, model }: DaySumCell): string {
  return `${sumKind} ${accountId} ${day} ${keyId} ${model}`;
}

const sumKind = kindOfKey(daySumsPrefix());

/** Findings of a scan of the store about day sums. */
export interface ProvedSums {
  /** Whether the row of a sum was right when it had a version: with the same one it still is. */
  isProved(id: string, versionstamp: string): boolean;
  /** The day from which on an account may have receipts of sums without a row; `undefined`: none. */
  unwrittenFrom(accountId: AccountId): string | undefined;
}

/** A day sum as it was read. */
export interface DaySum {
  readonly cell: DaySumCell;
  readonly sum: UsageSum;
  readonly versionstamp: string;
}

/** The day sums of an account, by name. */
export type DaySums = ReadonlyMap<string, DaySum>;

/** Equal for two readings if and only if no day sum changed in between. */
export function versionOf(sums: DaySums): string {
  return [...sums.values()].map(({ versionstamp }) => versionstamp).join();
}

/** The sums of some receipts. */
export interface ReceiptSums {
  readonly sums: ReadonlyMap<string, UsageSum>;
  readonly costMicroVnd: bigint;
  /** Number of receipts that should exist but do not. */
  readonly missing: number;
}

/**
 * Receipts that {@linkcode KnownReceipts} keeps at most, some 20 MB.
 */
const maxKnownReceipts = 20_000;

/** Receipts of one account that were read before: they never change, so a repeated check reads only new ones. */
export class KnownReceipts {
  readonly #receipts = new Map<RequestId, Receipt>();

  /** Reads the receipts of these calls that exist. */
  async read(kv: KeyValueStore, ids: readonly RequestId[]): Promise<Receipt[]> {
    const missing = ids.filter((id) => !this.#receipts.has(id));
    const known = ids.flatMap((id) => this.#receipts.get(id) ?? []);
    const read = missing.length === 0 ? [] : await readReceipts(kv, missing);
    for (const receipt of read) {
      if (this.#receipts.size >= maxKnownReceipts) break;
      this.#receipts.set(receipt.requestId, receipt);
    }
    return [...known, ...read];
  }
}

/** Reads and sums receipts, except those of sums in `proved`. */
export async function sumReceipts(
  kv: KeyValueStore,
  ids: readonly RequestId[],
  { slices, proved, receipts }: {
    readonly slices: TimeSlices | undefined;
    readonly proved?: ReadonlySet<string>;
    readonly receipts: KnownReceipts;
  },
): Promise<ReceiptSums> {
  const sums = new Map<string, UsageSum>();
  let costMicroVnd = 0n;
  let found = 0;
  for (let at = 0; at < ids.length; at += verifyReceiptsAtOnce) {
    for (const receipt of await receipts.read(kv, ids.slice(at, at + verifyReceiptsAtOnce))) {
      found++;
      const id = sumId(daySumCell(receipt));
      if (proved?.has(id)) continue;
      sums.set(id, addReceipts(sums.get(id) ?? noUsage, [receipt]));
      costMicroVnd += receipt.costMicroVnd;
    }
    await slices?.rest();
  }
  return { sums, costMicroVnd, missing: ids.length - found };
}

/**
 * The cost of the indexed calls of an account, and the day sums that differ from their receipts.
 */
export interface IndexedCalls {
  readonly costMicroVnd: bigint;
  readonly missing: number;
  readonly wrongSums: readonly string[];
}

/**
 * Sums the indexed calls of an account. The ids of the days without verified sums bound the memory.
 */
export async function checkIndexedCalls(
  kv: KeyValueStore,
  accountId: AccountId,
  { stored, known, slices, receipts = new KnownReceipts() }: {
    readonly stored: DaySums;
    readonly known: ProvedSums;
    readonly slices: TimeSlices | undefined;
    readonly receipts?: KnownReceipts;
  },
): Promise<IndexedCalls> {
  const proved = new Set<string>();
  const openDays: string[] = [];
  let costMicroVnd = 0n;
  for (const [id, { cell, sum, versionstamp }] of stored) {
    if (known.isProved(id, versionstamp)) {
      proved.add(id);
      costMicroVnd += sum.costMicroVnd;
    } else openDays.push(cell.day);
  }
  const unwrittenFrom = known.unwrittenFrom(accountId);
  if (unwrittenFrom !== undefined) openDays.push(unwrittenFrom);
  const firstDay = openDays.sort()[0];
  const ids = firstDay === undefined ? [] : await indexedSince(kv, accountId, firstDay);
  const read = await sumReceipts(kv, ids, { slices, proved, receipts });
  const open = new Set([...stored.keys(), ...read.sums.keys()]).difference(proved);
  return {
    costMicroVnd: costMicroVnd + read.costMicroVnd,
    missing: read.missing,
    wrongSums: [...open].filter((id) => {
      return !sameUsage(stored.get(id)?.sum ?? noUsage, read.sums.get(id) ?? noUsage);
    }),
  };
}

/**
 * Reads the indexed calls from a day on, and some earlier ones: an id has the age of its call, but
 * by another reading of the clock.
 */
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
  // An archive may name a call, too, while its day is moved.
  const ids = new Set<RequestId>();
  for await (const page of kv.list<unknown>(selector)) {
    for (const requestId of pageIds(page)) ids.add(requestId);
  }
  return [...ids];
}
