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
} from "../../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { keysAtOnce, rowsOfKeys, wholeKind } from "../../../engine/store/read_ahead.ts";
import type { Problem } from "./problems.ts";
import { readable } from "./readable_rows.ts";
import { type ComparedSums, sumId } from "./verify_sums.ts";

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

/** Lists the cells of the copies from a day on. */
export async function* copiedCells(
  kv: KeyValueStore,
  fromDay: string,
  slices: TimeSlices | undefined,
): AsyncGenerator<DaySumCell> {
  const selector = dayCopiesRange({ fromDay, toDay: endOfTime });
  for await (const { key } of wholeKind(kv, selector, slices, ofStore)) yield dayCopyOf(key);
}

/**
 * Checks the copies of all day sums that were compared. A right sum is what its receipts add up to, so that its copy is
 * compared with that. What differs is read again, sum and copy at one moment.
 */
export async function allCopyProblems(
  kv: KeyValueStore,
  compared: ComparedSums,
  slices: TimeSlices | undefined,
): Promise<Problem[]> {
  const different = new Map(compared.unsure);
  const prefix = dayCopiesPrefix();
  for await (const { key, value } of wholeKind(kv, { prefix }, slices, ofStore)) {
    const cell = dayCopyOf(key);
    if (!compared.isOurs(cell.accountId)) continue;
    const id = sumId(cell);
    const [copy] = readable(() => [usageSum(value)]);
    const hasCosts = copy?.providers !== undefined;
    if (!hasCosts || !compared.takeCopy(id, copy)) different.set(id, cell);
  }
  for await (const cell of compared.withoutCopy()) different.set(sumId(cell), cell);
  return await copyDisagreements(kv, different.values());
}
