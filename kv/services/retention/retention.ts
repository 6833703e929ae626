/**
 * Shows and drops the rows of a store that are older than their kind is kept (`core/config/retention.ts`).
 *
 * Rows leave in commits of a bounded size, each with the sums of what it drops (`dropped_rows.ts`). So a process that is
 * killed at any moment has dropped and counted the same rows, and the next run goes on with those that are left.
 *
 * - Folder `kv/services/retention/`: what happens to each kind of row with time: which expire, which stay and why, which
 *   are dropped by their age.
 * - In: a store with its archive, the settings.
 * - Out: what would leave; room in the store, sums and seals of what was in it.
 * - Never: drops what wallets, sums or seals are verified from, or a row without a trace.
 */
import {
  keptFromOf,
  keptSinceMs,
  keptText,
  type RetentionKindName,
  retentionKindNames,
  retentionKinds,
  type RetentionSettings,
} from "../../../core/config/retention.ts";
import { sha256Hex } from "../../../core/lib/hash/sha256.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import { monthOfDay, vietnamDay } from "../../../core/lib/time/vietnam_time.ts";
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import type { MasterKeys } from "../../../core/people/api_keys/seal.ts";
import { keysPerRead, type KeyValueStore } from "../../engine/store/key_value_store.ts";
import { groupsOf } from "../../engine/store/in_parallel.ts";
import { addAuditLine, commandLine } from "../../people/audit/operator_audit.ts";
import { dropMonths, planDrop } from "../archive/drop_months.ts";
import type { StoreParts } from "../../money/archive/receipt_archive.ts";
import { type DroppedRows, readDropped, setDropped } from "../verify/days/dropped_rows.ts";
import { recordLine } from "../verify/export.ts";
import { droppedKinds, type LeavingRow } from "./dropped_kinds.ts";

/** Source of the rows that are looked at, and the time for which each kind is kept. */
export interface RetentionSource {
  readonly kv: KeyValueStore;
  /** The store and its archive apart; absent where this kind of store has no archive. */
  readonly parts: StoreParts | undefined;
  readonly masterKeys: MasterKeys;
  readonly settings: RetentionSettings;
  readonly nowMs: number;
  readonly slices?: TimeSlices | undefined;
  /** Rows deleted in one commit; fewer where a test ends the process between two. */
  readonly rowsPerCommit?: number;
}

/** Rows that leave of a kind, or why none can. */
export interface LeavingKind {
  readonly kind: RetentionKindName;
  readonly setting: string;
  /** Time for which its rows are kept, such as `30 days`. */
  readonly kept: string;
  readonly rows: number;
  /** Days of Vietnam; for receipts months, which leave as a whole. */
  readonly oldest: string | null;
  readonly newest: string | null;
  readonly problem?: string;
}

/** Counts rows, and keeps the times of the oldest and the newest. */
class Tally {
  rows = 0;
  #oldestMs = Infinity;
  #newestMs = -Infinity;

  add(rows: readonly Pick<LeavingRow, "atMs">[]): void {
    this.rows += rows.length;
    for (const { atMs } of rows) {
      this.#oldestMs = Math.min(this.#oldestMs, atMs);
      this.#newestMs = Math.max(this.#newestMs, atMs);
    }
  }

  get found(): Pick<LeavingKind, "rows" | "oldest" | "newest"> {
    const dayOf = (atMs: number) => this.rows === 0 ? null : vietnamDay(atMs);
    return { rows: this.rows, oldest: dayOf(this.#oldestMs), newest: dayOf(this.#newestMs) };
  }
}

type Found = Pick<LeavingKind, "rows" | "oldest" | "newest" | "problem">;

const nothing: Found = { rows: 0, oldest: null, newest: null };

/** Shows what would leave, of each kind, and changes nothing. */
export async function planRetention(source: RetentionSource): Promise<LeavingKind[]> {
  return await eachKind(source, async (kind, beforeMs) => {
    const tally = new Tally();
    const { kv, slices } = source;
    for await (const row of droppedKinds[kind].leaving(kv, beforeMs, slices)) tally.add([row]);
    return tally.found;
  }, planDrop);
}

/** Drops it, and says what has left. What is interrupted goes on with the next call. */
export async function applyRetention(source: RetentionSource): Promise<LeavingKind[]> {
  return await eachKind(
    source,
    async (kind, beforeMs) => await new Dropping(source, kind).run(beforeMs),
    dropMonths,
  );
}

async function eachKind(
  source: RetentionSource,
  rowsOf: (kind: Exclude<RetentionKindName, "receipts">, beforeMs: number) => Promise<Found>,
  months: typeof planDrop,
): Promise<LeavingKind[]> {
  const { settings, nowMs } = source;
  const kinds: LeavingKind[] = [];
  for (const kind of retentionKindNames) {
    const kept = settings[kind];
    const found = kept === undefined
      ? nothing
      : kind === "receipts"
      ? await receiptsFound(source, kept, months)
      : await rowsOf(kind, keptSinceMs(kind, kept, nowMs));
    kinds.push({
      kind,
      setting: retentionKinds[kind].variable,
      kept: keptText(kind, kept),
      ...found,
    });
  }
  return kinds;
}

async function receiptsFound(
  { parts, masterKeys, nowMs, slices }: RetentionSource,
  keptMonths: number,
  months: typeof planDrop,
): Promise<Found> {
  if (parts === undefined) {
    return {
      ...nothing,
      problem:
        "this store has no archive, from which receipts leave: a file and PostgreSQL have one",
    };
  }
  const keptFrom = keptFromOf(nowMs, keptMonths);
  const plan = await months(parts, { masterKeys, keptFrom, nowMs, slices });
  if (!plan.ok) return { ...nothing, problem: plan.problem };
  return {
    rows: plan.months.reduce((sum, { receipts }) => sum + receipts, 0),
    oldest: plan.months[0]?.month ?? null,
    newest: plan.months.at(-1)?.month ?? null,
  };
}

/** Rows deleted in one commit, each with those that belong to it: half of what the store takes. */
const maxRowsPerCommit = 250;

/** The same of rows that may change, each of which is checked: the least that an engine takes, less the sums and the contents. */
const maxCheckedRows = 8;

/** Rows that belong to those of one commit: with them the commit stays below a thousand changes. */
const maxRowsBesides = 400;

/** Passes over the rows of a kind: each begins where others, or a person who changed a row, ended the one before. */
const maxPasses = 5;

/** Drops the rows of one kind. */
class Dropping {
  readonly #source: RetentionSource;
  readonly #kind: Exclude<RetentionKindName, "receipts">;
  readonly #tally = new Tally();

  constructor(source: RetentionSource, kind: Exclude<RetentionKindName, "receipts">) {
    this.#source = source;
    this.#kind = kind;
  }

  async run(beforeMs: number): Promise<Found> {
    let problem: string | undefined;
    try {
      let passes = 0;
      while (!await this.#pass(beforeMs)) {
        if (++passes < maxPasses) continue;
        problem = "its rows kept changing; the next run goes on";
        break;
      }
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
    }
    await this.#note();
    return { ...this.#tally.found, ...(problem !== undefined && { problem }) };
  }

  /** Drops rows until none is left; `false`: something changed meanwhile. */
  async #pass(beforeMs: number): Promise<boolean> {
    const { kv, slices, rowsPerCommit } = this.#source;
    const { mayChange, leaving } = droppedKinds[this.#kind];
    const maxRows = Math.min(
      rowsPerCommit ?? maxRowsPerCommit,
      mayChange ? maxCheckedRows : Infinity,
    );
    let some: LeavingRow[] = [];
    let besides = 0;
    const flush = async () => {
      const rows = some;
      some = [];
      besides = 0;
      return rows.length === 0 || await this.#commit(rows);
    };
    for await (const row of leaving(kv, beforeMs, slices)) {
      const isFull = some.length >= maxRows || besides + row.besides.length > maxRowsBesides;
      const isOfAnotherMonth = some[0] !== undefined && monthOf(some[0]) !== monthOf(row);
      if ((isFull || isOfAnotherMonth) && !await flush()) return false;
      some.push(row);
      besides += row.besides.length;
    }
    return await flush();
  }

  /** Drops rows of one month together with the sums of what they were. */
  async #commit(listed: readonly LeavingRow[]): Promise<boolean> {
    const { kv, masterKeys, slices } = this.#source;
    const [first] = listed;
    invariant(first !== undefined, "a row to drop");
    const place = { kind: this.#kind, month: monthOf(first) };
    const found = await readDropped(kv, masterKeys, place);
    // Whoever drops one of them later changes the sums, too, which the commit checks.
    const rows = await stillThere(kv, listed);
    if (rows.length === 0) return true;
    const next = await withRows(found.sums, rows);
    const op = kv.atomic();
    await setDropped(op, masterKeys, found, next);
    for (const row of rows) {
      if (droppedKinds[this.#kind].mayChange) op.check(row.entry);
      op.delete(row.entry.key);
      for (const key of row.besides) op.delete(key);
    }
    // A client that repeats an unanswered commit is refused because the first one took effect.
    const isDone = (await op.commit()).ok ||
      (await readDropped(kv, masterKeys, place)).sums.digest === next.digest;
    if (isDone) this.#tally.add(rows);
    await slices?.rest();
    return isDone;
  }

  /** Writes the act of this run into the audit log. The sums have also what a killed run has dropped. */
  async #note(): Promise<void> {
    const { rows, oldest, newest } = this.#tally.found;
    if (rows === 0) return;
    const op = this.#source.kv.atomic();
    addAuditLine(op, commandLine, {
      act: "rows_dropped",
      subject: this.#kind,
      detail: `${rows} rows from ${oldest} to ${newest}`,
      atMs: this.#source.nowMs,
    });
    await op.commit();
  }
}

async function stillThere(
  kv: KeyValueStore,
  rows: readonly LeavingRow[],
): Promise<LeavingRow[]> {
  const groups = groupsOf(rows, keysPerRead);
  const found = await Promise.all(
    groups.map((group) => kv.getMany<unknown[]>(group.map(({ entry }) => entry.key))),
  );
  const versions = found.flat().map(({ versionstamp }) => versionstamp);
  return rows.filter((_, at) => versions[at] !== null);
}

function monthOf({ atMs }: LeavingRow): string {
  return monthOfDay(vietnamDay(atMs));
}

async function withRows(sums: DroppedRows, rows: readonly LeavingRow[]): Promise<DroppedRows> {
  const counts = { ...sums.counts };
  for (const { sort } of rows) counts[sort] = (counts[sort] ?? 0) + 1;
  const times = rows.map(({ atMs }) => atMs);
  return {
    ...sums,
    rows: sums.rows + rows.length,
    oldestMs: Math.min(sums.oldestMs, ...times),
    newestMs: Math.max(sums.newestMs, ...times),
    counts,
    amountMicroVnd: rows.reduce((sum, row) => sum + row.amountMicroVnd, sums.amountMicroVnd),
    digest: await sha256Hex(
      [sums.digest, ...rows.map(({ entry }) => recordLine(entry))].join("\n"),
    ),
  };
}
