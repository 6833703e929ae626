/**
 * Checks that the copies of day sums by day equal the day sums: both are written in one commit. An archive has one row
 * for both, so that only those in the store are compared.
 */
import { InvariantError } from "../../../../core/lib/base/assert.ts";
import type { TimeSlices } from "../../../../core/lib/time/time_slices.ts";
import {
  type DaySumCell,
  daySumCellKey,
  sameUsage,
  usageSum,
} from "../../../money/receipts/day_sums.ts";
import {
  dayCopiesPrefix,
  dayCopiesRange,
  dayCopyKey,
  dayCopyOf,
  daySumCellOf,
  daySumsPrefix,
} from "../../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { keysAtOnce, rowsOfKeys, wholeKind } from "../../../engine/store/read_ahead.ts";
import type { Problem } from "./problems.ts";
import { sumId } from "./verify_sums.ts";

/** Rows of the store itself. */
const ofStore = { isWithoutArchive: true } as const;

/** A day that sorts behind all days. */
const endOfTime = "9999-12-31";

const cellsPerRead = Math.floor(keysAtOnce / 2);

function isRight(sum: unknown, copy: unknown): boolean {
  try {
    const usage = sum === null ? undefined : usageSum(sum);
    if (usage?.providers === undefined) return copy === null;
    return copy !== null && sameUsage(usage, usageSum(copy));
  } catch (error) {
    if (error instanceof InvariantError) return false;
    throw error;
  }
}

/** Reads sums and copies of one moment. */
async function wrongAmong(
  kv: KeyValueStore,
  cells: readonly DaySumCell[],
): Promise<DaySumCell[]> {
  const keys = cells.flatMap((cell) => [daySumCellKey(cell), dayCopyKey(cell)]);
  const rows = await rowsOfKeys(kv, keys);
  const valueAt = (at: number) => rows[at]?.value ?? null;
  return cells.filter((_, at) => !isRight(valueAt(at * 2), valueAt(at * 2 + 1)));
}

/** Lists the cells whose copy is wrong, missing or too much. */
export async function copyDisagreements(
  kv: KeyValueStore,
  cells: Iterable<DaySumCell> | AsyncIterable<DaySumCell>,
): Promise<Problem[]> {
  const problems: Problem[] = [];
  let some: DaySumCell[] = [];
  const check = async () => {
    for (const cell of await wrongAmong(kv, some)) {
      const { accountId } = cell;
      const detail = `the copy of the day sum ${sumId(cell)} is wrong`;
      problems.push({ accountId, kind: "rollup", detail });
    }
    some = [];
  };
  for await (const cell of cells) {
    some.push(cell);
    if (some.length >= cellsPerRead) await check();
  }
  if (some.length > 0) await check();
  return problems;
}

/** Lists the cells of the copies from a day on, of all if there is no day. */
export async function* copiedCells(
  kv: KeyValueStore,
  fromDay: string | undefined,
  slices: TimeSlices | undefined,
): AsyncGenerator<DaySumCell> {
  const selector = fromDay === undefined
    ? { prefix: dayCopiesPrefix() }
    : dayCopiesRange({ fromDay, toDay: endOfTime });
  for await (const { key } of wholeKind(kv, selector, slices, ofStore)) yield dayCopyOf(key);
}

/** Numbers of rows by day. */
type Counts = Map<string, number>;

const countOne = (counts: Counts, day: string) => void counts.set(day, (counts.get(day) ?? 0) + 1);

/**
 * Compares all day sums that have costs with their copies, and counts those that are right. What was read at two moments
 * and differs is read again at one.
 */
async function compareCopies(
  kv: KeyValueStore,
  slices: TimeSlices | undefined,
): Promise<{ readonly problems: readonly Problem[]; readonly right: Counts }> {
  const right: Counts = new Map();
  const different: DaySumCell[] = [];
  let some: { readonly cell: DaySumCell; readonly value: unknown }[] = [];
  const check = async () => {
    const copies = await rowsOfKeys(kv, some.map(({ cell }) => dayCopyKey(cell)));
    for (const [at, { cell, value }] of some.entries()) {
      if (isRight(value, copies[at]?.value ?? null)) countOne(right, cell.day);
      else different.push(cell);
    }
    some = [];
  };
  const prefix = daySumsPrefix();
  for await (const { key, value } of wholeKind(kv, { prefix }, slices, ofStore)) {
    const isMarked = typeof value === "object" && value !== null && "providers" in value;
    if (!isMarked) continue;
    some.push({ cell: daySumCellOf(key), value });
    if (some.length >= keysAtOnce) await check();
  }
  await check();
  return { problems: await copyDisagreements(kv, different), right };
}

/** Counts copies by day. */
async function countCopies(kv: KeyValueStore, slices: TimeSlices | undefined): Promise<Counts> {
  const counts: Counts = new Map();
  for await (const { day } of copiedCells(kv, undefined, slices)) countOne(counts, day);
  return counts;
}

async function* cellsOfDay(
  kv: KeyValueStore,
  day: string,
  slices: TimeSlices | undefined,
): AsyncGenerator<DaySumCell> {
  const selector = dayCopiesRange({ fromDay: day, toDay: day });
  for await (const { key } of wholeKind(kv, selector, slices, ofStore)) yield dayCopyOf(key);
}

/**
 * Checks all copies and all day sums. A day has copies too much only if it has more of them than sums whose copy is
 * right: only such days are read once more.
 */
export async function allCopyProblems(
  kv: KeyValueStore,
  slices: TimeSlices | undefined,
): Promise<Problem[]> {
  const { problems: missing, right } = await compareCopies(kv, slices);
  const details = new Set(missing.map(({ detail }) => detail));
  const surplus: Problem[] = [];
  for (const [day, count] of await countCopies(kv, slices)) {
    if (count === right.get(day)) continue;
    surplus.push(...await copyDisagreements(kv, cellsOfDay(kv, day, slices)));
  }
  return [...missing, ...surplus.filter(({ detail }) => !details.has(detail))];
}
