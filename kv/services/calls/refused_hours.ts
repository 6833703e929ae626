/**
 * Counts refused calls by hour, key, model and kind of error, also those of a flood that have no row. Each writer has rows
 * of its own, so it need not read what it writes; a reader adds them up.
 */
import { type AccountId, type ApiKeyId, newId } from "../../../core/lib/ids/ids.ts";
import { vietnamDay } from "../../../core/lib/time/vietnam_time.ts";
import {
  countErrors,
  decodeErrors,
  encodeErrors,
  errorKind,
  hourSumsKeptMs,
  vietnamHour,
} from "../../money/receipts/hour_sums.ts";
import {
  hourCellOf,
  refusedHoursKey,
  refusedHoursOfAccountPrefix,
  refusedHoursOfDayPrefix,
  refusedHoursPrefix,
} from "../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import type { RefusedCall } from "./refused_calls.ts";

/** Cells in memory at once, of about 300 bytes each. While the store is away, further ones are not counted. */
const maxCells = 2_000;

/** Rows in one commit, beside those of calls. */
const rowsPerCommit = 200;

/** Facts that the refused calls of a row have in common. */
export interface RefusedCell {
  readonly accountId: AccountId;
  /** `YYYY-MM-DD`, Vietnam time. */
  readonly day: string;
  readonly keyId: ApiKeyId;
  /** Empty if the calls did not come that far. */
  readonly model: string;
}

/** The numbers of errors by kind, by hour of the day. */
export type RefusedHours = ReadonlyMap<number, ReadonlyMap<string, number>>;

interface Counted {
  readonly cell: RefusedCell;
  readonly hours: Map<number, Map<string, number>>;
  changes: number;
  writtenChanges: number;
}

function encode(hours: RefusedHours): string {
  return [...hours].map(([hour, errors]) => `${hour}|${encodeErrors(errors)}`).join("\n");
}

function decode(text: string): RefusedHours {
  return new Map(
    text.split("\n").map((line) => {
      const bar = line.indexOf("|");
      return [Number(line.slice(0, bar)), decodeErrors(line.slice(bar + 1))];
    }),
  );
}

/** The counts of one writer. */
export class RefusedHourCounts {
  readonly #cells = new Map<string, Counted>();
  #writer: string;

  constructor(nowMs: number) {
    this.#writer = newId("instance", nowMs);
  }

  /** Counts a call. */
  add({ accountId, keyId, model = "", atMs, status, code }: RefusedCall): void {
    const day = vietnamDay(atMs);
    const id = `${day} ${accountId} ${keyId} ${model}`;
    let counted = this.#cells.get(id);
    if (counted === undefined) {
      if (this.#cells.size >= maxCells) return;
      const cell = { accountId, day, keyId, model };
      counted = { cell, hours: new Map(), changes: 0, writtenChanges: 0 };
      this.#cells.set(id, counted);
    }
    const hour = vietnamHour(atMs);
    const errors = counted.hours.get(hour) ?? new Map<string, number>();
    counted.hours.set(hour, errors);
    countErrors(errors, errorKind(status, code), 1);
    counted.changes++;
  }

  /** Whether there are counts that the store does not have. */
  get isChanged(): boolean {
    for (const { changes, writtenChanges } of this.#cells.values()) {
      if (changes !== writtenChanges) return true;
    }
    return false;
  }

  /** Adds changed rows to a commit. Call the returned function once it was applied. */
  write(op: AtomicWrite): () => void {
    const written: (readonly [Counted, number])[] = [];
    for (const counted of this.#cells.values()) {
      if (counted.changes === counted.writtenChanges) continue;
      if (written.length >= rowsPerCommit) break;
      op.set(refusedHoursKey(counted.cell, this.#writer), encode(counted.hours), {
        expireIn: hourSumsKeptMs,
      });
      written.push([counted, counted.changes]);
    }
    return () => {
      for (const [counted, changes] of written) counted.writtenChanges = changes;
    };
  }

  /** Forgets what is written if the memory is half full: later calls are counted in new rows. */
  trim(nowMs: number): void {
    if (this.#cells.size < maxCells / 2 || this.isChanged) return;
    this.#cells.clear();
    this.#writer = newId("instance", nowMs);
  }
}

/** Returns the earliest day of which the store has counts; earlier days, and a part of this one, were not counted. */
export async function firstRefusedHoursDay(kv: KeyValueStore): Promise<string | undefined> {
  const [first] = await Array.fromAsync(kv.list({ prefix: refusedHoursPrefix() }, { limit: 1 }));
  return first === undefined ? undefined : hourCellOf(first.key).day;
}

/** Reads the refused calls of a day by hour, of one account or of all. */
export async function* readRefusedHours(
  kv: KeyValueStore,
  day: string,
  accountId?: AccountId,
): AsyncGenerator<{ readonly cell: RefusedCell; readonly hours: RefusedHours }, void, void> {
  const prefix = accountId === undefined
    ? refusedHoursOfDayPrefix(day)
    : refusedHoursOfAccountPrefix(day, accountId);
  for await (const { key, value } of kv.list<string>({ prefix }, { batchSize: 500 })) {
    yield { cell: hourCellOf(key), hours: decode(value) };
  }
}
