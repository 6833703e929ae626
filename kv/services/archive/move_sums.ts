/**
 * Moves the sums of old days behind their receipts.
 *
 *     marked ──▶ written over what the archive has ──▶ read back and compared ──▶ cleared, each with its version
 *
 * The mark of a day is there before the first sum is in the archive, and changes with each commit that clears rows, which
 * is what a call that ends late checks (`archived_store.ts`). Rows are read while the archive is locked and cleared only
 * if nobody has changed them since, so a process that is killed at any moment, or two that move at once, lose no call.
 * What was written since is moved by the next run: it makes the mark say so.
 */
import { InvariantError } from "../../../core/lib/base/assert.ts";
import { type AccountId } from "../../../core/lib/ids/ids.ts";
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";
import { shiftDay, vietnamDay } from "../../../core/lib/time/vietnam_time.ts";
import {
  archivedSumsDayOf,
  archivedSumsKey,
  archivedSumsPrefix,
  dayCopyKey,
  daySumCellOf,
  daySumsOfDayPrefix,
  tagSumOf,
  tagSumsPrefix,
} from "../../engine/schema/keys.ts";
import {
  archivedSumsSchemaVersion,
  raiseSchemaVersion,
} from "../../engine/opening/schema_version.ts";
import { groupsOf } from "../../engine/store/in_parallel.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { firstRowsOf } from "../../engine/store/read_ahead.ts";
import { type ArchivedSumsMark, sumsStayDays } from "../../money/archive/archived_store.ts";
import { archivedSumsOf } from "../../money/archive/archived_sums.ts";
import {
  givesBack,
  hasUnknownMembers,
  type LivingSum,
  mergedSums,
  sumCellId,
  sumPagesOf,
  sumsOnPage,
} from "../../money/archive/sum_pages.ts";
import { daySumCellKey, storedSum, usageSum } from "../../money/receipts/day_sums.ts";
import type { TagSum } from "../../money/receipts/tag_sums.ts";
import type { StoreParts } from "../../money/archive/receipt_archive.ts";

/** Accounts whose sums of a day are moved at once: some hundreds of cells. */
const accountsAtOnce = 200;

/** Rows of an account that are read together with those of others; an account with more is read by itself. */
const rowsAtOnce = 60;

/** Cells of one commit: each needs a check beside that of the mark, and the store takes a hundred. */
const cellsPerCommit = 90;

/** Changes of one commit, a few below what the store takes. */
const changesPerCommit = 900;

/** Tries of a commit while others change the mark of the day. */
const markAttempts = 5;

/** Options for moving sums. */
export interface MoveSumsOptions {
  readonly nowMs: number;
  /** Rows deleted in one commit; fewer where a test ends the process between two. */
  readonly rowsPerCommit?: number | undefined;
  readonly slices?: TimeSlices | undefined;
  /** Told how many sums have left, as they do. */
  readonly onMoved?: (sums: number) => void;
}

/** Returns the first day whose sums stay in the store. */
function firstDayOfLivingSums(nowMs: number): string {
  return vietnamDay(nowMs - sumsStayDays * dayMs);
}

/** Lists the days all of whose sums have left the store. */
async function movedSumDays(living: KeyValueStore): Promise<ReadonlySet<string>> {
  const days = new Set<string>();
  const marks = living.list<ArchivedSumsMark>({ prefix: archivedSumsPrefix() });
  for await (const { key, value } of marks) if (value.isMoved) days.add(archivedSumsDayOf(key));
  return days;
}

/** Moves the sums of days that are old enough and whose receipts have left. Returns how many cells were cleared. */
export async function moveSums(
  parts: StoreParts,
  days: readonly string[],
  options: MoveSumsOptions,
): Promise<number> {
  const before = firstDayOfLivingSums(options.nowMs);
  const old = days.filter((day) => day < before);
  if (old.length === 0) return 0;
  const moved = await movedSumDays(parts.living);
  let cleared = 0;
  for (const day of old) {
    if (!moved.has(day)) cleared += await new DayOfSums(parts, day, options).move();
  }
  return cleared;
}

/** A cell with the rows that the store has of it. */
interface LivingCell extends LivingSum {
  /** The day sum; absent where the store has sums by tag alone. */
  readonly row: Deno.KvEntry<unknown> | undefined;
  readonly tagKeys: readonly Deno.KvKey[];
}

/** Moves the sums of one day. */
class DayOfSums {
  readonly #parts: StoreParts;
  readonly #day: string;
  readonly #options: MoveSumsOptions;
  #mark: Deno.KvEntryMaybe<ArchivedSumsMark> | undefined;
  #cleared = 0;
  /** Rows stay: somebody changes them, or the archive cannot give them back. */
  #isComplete = true;

  constructor(parts: StoreParts, day: string, options: MoveSumsOptions) {
    this.#parts = parts;
    this.#day = day;
    this.#options = options;
  }

  async move(): Promise<number> {
    await this.#begin();
    await this.#parts.archive.packDay(this.#day);
    for (const accounts of groupsOf(await this.#accounts(), accountsAtOnce)) {
      await this.#moveAccounts(accounts);
      await this.#options.slices?.rest();
    }
    if (this.#isComplete) await this.#changeMark({ isMoved: true });
    return this.#cleared;
  }

  /** Marks the day, before anything of it is in the archive. */
  async #begin(): Promise<void> {
    const { living } = this.#parts;
    await raiseSchemaVersion(living, archivedSumsSchemaVersion, this.#options.nowMs);
    const mark = await living.get<ArchivedSumsMark>(archivedSumsKey(this.#day));
    if (mark.versionstamp === null) {
      const row: ArchivedSumsMark = { isMoved: false };
      await living.atomic().check(mark).set(mark.key, row).commit();
    }
    this.#mark = await living.get<ArchivedSumsMark>(mark.key);
  }

  /**
   * Accounts that may have sums of the day: a call belongs to the day of its begin, and lies in the archive by that of
   * its id.
   */
  async #accounts(): Promise<AccountId[]> {
    const accounts = new Set<AccountId>();
    for (const days of [-1, 0, 1]) {
      const some = await this.#parts.archive.accountsOfDay(shiftDay(this.#day, days), false);
      for (const accountId of some) accounts.add(accountId);
    }
    return [...accounts].sort();
  }

  async #moveAccounts(accounts: readonly AccountId[]): Promise<void> {
    const [fromAccount, toAccount] = [accounts[0], accounts.at(-1)];
    if (fromAccount === undefined || toAccount === undefined) return;
    const { archive } = this.#parts;
    let living: LivingCell[] = [];
    await archive.writeSums({
      day: this.#day,
      fromAccount,
      toAccount,
      merge: async (pages) => {
        living = await this.#livingOf(accounts);
        if (living.length === 0) return undefined;
        const archived = pages.flatMap((page) => sumsOnPage(page));
        return sumPagesOf(this.#day, mergedSums(archived, living));
      },
    });
    if (living.length === 0) return;
    const found = await archivedSumsOf(archive, living.map(({ cell }) => cell));
    const archived = new Map(found.map((sum) => [sumCellId(sum.cell), sum]));
    const isThere = (one: LivingCell) => givesBack(archived.get(sumCellId(one.cell)), one);
    if (!living.every(isThere)) this.#isComplete = false;
    await this.#clear(living.filter(isThere));
  }

  /** Reads the cells of some accounts that the store has rows of. */
  async #livingOf(accounts: readonly AccountId[]): Promise<LivingCell[]> {
    const { living } = this.#parts;
    const ranges = accounts.flatMap((accountId) => [
      { prefix: daySumsOfDayPrefix(accountId, this.#day) },
      { prefix: tagSumsPrefix(accountId, this.#day) },
    ]);
    const found = await firstRowsOf(living, ranges, rowsAtOnce);
    const cells: LivingCell[] = [];
    for (const at of accounts.keys()) {
      const [sums, tags] = await Promise.all([2 * at, 2 * at + 1].map(async (range) => {
        const rows = found[range] ?? [];
        const selector = ranges[range];
        return rows.length < rowsAtOnce || selector === undefined
          ? rows
          : await Array.fromAsync(living.list<unknown>(selector));
      }));
      cells.push(...this.#cellsOf(sums ?? [], tags ?? []));
    }
    return cells;
  }

  /** Puts the rows of an account together. A cell with a row that no page can hold stays. */
  #cellsOf(
    sums: readonly Deno.KvEntry<unknown>[],
    tags: readonly Deno.KvEntry<unknown>[],
  ): LivingCell[] {
    const byCell = new Map<
      string,
      { row?: Deno.KvEntry<unknown>; tags: Deno.KvEntry<unknown>[] }
    >();
    const rowsOf = (id: string) => {
      const known = byCell.get(id) ?? { tags: [] };
      byCell.set(id, known);
      return known;
    };
    for (const row of sums) rowsOf(sumCellId(daySumCellOf(row.key))).row = row;
    for (const row of tags) rowsOf(sumCellId(tagSumOf(row.key))).tags.push(row);
    const cells: LivingCell[] = [];
    for (const { row, tags } of byCell.values()) {
      const cell = cellOfRows(row, tags);
      if (cell === undefined) this.#isComplete = false;
      else cells.push(cell);
    }
    return cells;
  }

  /** Deletes rows that the archive gives back, unless somebody has changed them since. */
  async #clear(cells: readonly LivingCell[]): Promise<void> {
    const changes = Math.min(changesPerCommit, this.#options.rowsPerCommit ?? changesPerCommit);
    let some: LivingCell[] = [];
    let size = 0;
    for (const one of cells) {
      const rows = 2 + one.tagKeys.length;
      if (some.length > 0 && (some.length >= cellsPerCommit || size + rows > changes)) {
        await this.#delete(some);
        some = [];
        size = 0;
      }
      if (rows > changesPerCommit) {
        for (const tagKeys of groupsOf(one.tagKeys, changesPerCommit)) {
          await this.#delete([{ ...one, tagKeys }], false);
        }
        some.push({ ...one, tagKeys: [] });
        size += 2;
      } else {
        some.push(one);
        size += rows;
      }
    }
    if (some.length > 0) await this.#delete(some);
  }

  async #delete(cells: readonly LivingCell[], isWhole = true): Promise<void> {
    const isDone = await this.#changeMark({ isMoved: false }, (op) => {
      for (const { cell, row, tagKeys } of cells) {
        op.check({ key: daySumCellKey(cell), versionstamp: row?.versionstamp ?? null });
        for (const key of tagKeys) op.delete(key);
        if (!isWhole) continue;
        op.delete(daySumCellKey(cell));
        op.delete(dayCopyKey(cell));
      }
    });
    if (isDone && isWhole) {
      this.#cleared += cells.length;
      this.#options.onMoved?.(cells.length);
    }
    if (!isDone) this.#isComplete = false;
  }

  /** Writes the mark, with other changes. Returns false if something else than the mark has changed. */
  async #changeMark(
    row: ArchivedSumsMark,
    change: (op: ReturnType<KeyValueStore["atomic"]>) => void = () => {},
  ): Promise<boolean> {
    const { living } = this.#parts;
    for (let attempt = 0; attempt < markAttempts; attempt++) {
      const mark = this.#mark ?? await living.get<ArchivedSumsMark>(archivedSumsKey(this.#day));
      const op = living.atomic().check(mark).set(mark.key, row);
      change(op);
      const result = await op.commit();
      if (result.ok) {
        this.#mark = { key: mark.key, value: row, versionstamp: result.versionstamp };
        return true;
      }
      this.#mark = undefined;
      const now = await living.get<ArchivedSumsMark>(mark.key);
      // The mark is as it was, so that a row is not.
      if (now.versionstamp === mark.versionstamp) {
        this.#mark = now;
        return false;
      }
      // Whoever changed the mark has written a sum that this run may not have read.
      if (row.isMoved) return false;
      this.#isComplete = false;
    }
    return false;
  }
}

/** Makes a cell of its rows; `undefined` if one of them is not what this release writes. */
function cellOfRows(
  row: Deno.KvEntry<unknown> | undefined,
  tags: readonly Deno.KvEntry<unknown>[],
): LivingCell | undefined {
  const first = row ?? tags[0];
  if (first === undefined || [row, ...tags].some((one) => one && hasUnknownMembers(one.value))) {
    return undefined;
  }
  try {
    const { tag: _tag, ...cell } = row === undefined
      ? tagSumOf(first.key)
      : { ...daySumCellOf(first.key), tag: undefined };
    return {
      cell,
      row,
      sum: row && storedSum(row.value),
      tags: tags.map(({ key, value }): TagSum => ({
        tag: tagSumOf(key).tag,
        sum: usageSum(value),
      })),
      tagKeys: tags.map(({ key }) => key),
    };
  } catch (error) {
    if (error instanceof InvariantError) return undefined;
    throw error;
  }
}
