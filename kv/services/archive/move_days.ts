/**
 * Moves sealed days from the store to the archive.
 *
 *     sealed ──▶ copied, hour by hour ──▶ read back and compared with the seal ──▶ cleared from the store
 *
 * An hour is in the archive whole or not at all, and it is there only with the digest that the seal of its day has. The
 * day is read back from the archive before the first row leaves the store. So a process that is killed at any moment
 * leaves every receipt in at least one place, and the next run goes on where it stopped. Rows that came late are not of
 * a sealed day's digest; they stay in the store until the day is sealed anew, and both are read as one meanwhile.
 *
 * - Folder `kv/services/archive/`: the life of a receipt: from the store to the archive, and out of it.
 * - In: a store with its archive, the checkpoints of its days.
 * - Out: days in the archive, room in the store, and the days that do not agree with their seals.
 * - Never: deletes a row that the archive does not give back, byte by byte.
 */
import { type AccountId, beforeIdsOf, idTimeMs } from "../../../core/lib/ids/ids.ts";
import type { TimeSlices } from "../../../core/lib/time/time_slices.ts";
import { dayMs, hourMs } from "../../../core/lib/time/durations.ts";
import { monthOfDay, vietnamDayStartMs } from "../../../core/lib/time/vietnam_time.ts";
import {
  archiveMarkKey,
  failedPageKey,
  indexPageKey,
  newestOnReceiptPage,
  receiptPageKey,
} from "../../engine/schema/keys.ts";
import { archivedSchemaVersion, raiseSchemaVersion } from "../../engine/opening/schema_version.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { StoreUnavailableError } from "../../engine/store/store_unavailable.ts";
import { firstRowsOf, wholeKind } from "../../engine/store/read_ahead.ts";
import {
  archivedAround,
  behindText,
  everyArchivedPage,
} from "../../money/archive/archived_pages.ts";
import { archivedStore } from "../../money/archive/archived_store.ts";
import {
  type ArchivedCall,
  bucketStartMs,
  pageInColumns,
} from "../../money/archive/receipt_rows.ts";
import type { HourMark, ReceiptArchive, StoreParts } from "../../money/archive/receipt_archive.ts";
import { isLedgerLine, type LedgerEntry, linesByTime } from "../../money/ledger/ledger.ts";
import { receiptPagesBetween } from "../../money/receipts/receipt_pages.ts";
import { pageIds } from "../../money/receipts/receipt_index.ts";
import { moveSums } from "./move_sums.ts";
import type { SealedCheckpoint } from "../verify/days/checkpoint_chain.ts";
import { DayDigests } from "../verify/days/day_digests.ts";

/** Rows deleted in one commit: as many changes as the store takes. */
const maxRowsPerCommit = 1_000;

/** Days to move. */
export interface MoveOptions {
  /** The checkpoints of the days to move, in their order. */
  readonly checkpoints: readonly SealedCheckpoint[];
  readonly nowMs: number;
  /** Rows deleted in one commit; fewer where a test ends the process between two. */
  readonly rowsPerCommit?: number;
  /** Lets calls run in between, if the service runs on this thread. */
  readonly slices?: TimeSlices | undefined;
}

/** A day that was moved now. */
export interface MovedDay {
  readonly day: string;
  readonly receipts: number;
}

/** Days that were moved, and those that stay, since they are not as they were sealed, with a line each. */
export interface MoveReport {
  readonly moved: readonly MovedDay[];
  /** Sums by day, key and model that have left the store; absent: none. */
  readonly sums?: number;
  readonly problems: readonly string[];
  /** Why it stopped before its last day: the store or the archive went away. */
  readonly outage?: StoreUnavailableError;
}

/** The row that says that days have left the store. */
export interface ArchiveMark {
  readonly firstMovedAtMs: number;
}

/**
 * Moves days, and the sums of those that are older than sums stay in the store. A day that is in the archive already
 * takes two short reads.
 */
export async function moveDays(parts: StoreParts, options: MoveOptions): Promise<MoveReport> {
  const moved: MovedDay[] = [];
  const problems: string[] = [];
  let sums = 0;
  const report = () => ({ moved, problems, ...(sums > 0 && { sums }) });
  try {
    const cleared: string[] = [];
    for (const checkpoint of options.checkpoints) {
      const { day, receipts } = checkpoint;
      const isThere = await isMoved(parts, checkpoint);
      const problem = isThere ? undefined : await moveDay(parts, checkpoint, options);
      if (problem !== undefined) problems.push(problem);
      else {
        cleared.push(day);
        if (!isThere) moved.push({ day, receipts });
      }
    }
    await moveSums(parts, cleared, { ...options, onMoved: (count) => sums += count });
    await packMonths(parts.archive, cleared);
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error;
    return { ...report(), outage: error };
  }
  return report();
}

/** Gives back room of the months that are over in the archive: it has days of a later one. */
async function packMonths(archive: ReceiptArchive, days: readonly string[]): Promise<void> {
  const last = days.at(-1);
  if (last === undefined) return;
  const months = new Set(days.map(monthOfDay));
  for (const month of months) if (month < monthOfDay(last)) await archive.packMonth(month);
}

/** Moves a day; returns why it stays. */
async function moveDay(
  parts: StoreParts,
  checkpoint: SealedCheckpoint,
  options: MoveOptions,
): Promise<string | undefined> {
  const { day } = checkpoint;
  const problem = await copyDay(parts, checkpoint, options) ??
    await archiveProblem(parts.archive, checkpoint, options.slices);
  if (problem !== undefined) return problem;
  await markArchive(parts.living, options.nowMs);
  await clearDay(parts, day, options);
  return await hasPages(parts.living, day)
    ? `calls of ${day} were settled after it was sealed: seal it anew to move them`
    : undefined;
}

/** The digest of an hour without pages, which an archive need not have. */
const noPages = "";

/** Whether a day has left the store and the archive has it as it was sealed. */
async function isMoved(
  { living, archive }: StoreParts,
  { day, receiptHours }: SealedCheckpoint,
): Promise<boolean> {
  const startMs = vietnamDayStartMs(day);
  const hours = await archive.hoursBetween(startMs, startMs + dayMs);
  const digests = new Map(hours.map((hour) => [hour.startMs, hour.digest]));
  const isCopied = receiptHours.every((digest, at) =>
    digest === (digests.get(startMs + at * hourMs) ?? noPages)
  );
  return isCopied && !await hasPages(living, day);
}

async function hasPages(living: KeyValueStore, day: string): Promise<boolean> {
  const startMs = vietnamDayStartMs(day);
  const pages = living.list(receiptPagesBetween(startMs, startMs + dayMs), { limit: 1 });
  return (await Array.fromAsync(pages)).length > 0;
}

// Copies a day.

/** Copies the hours of a day that are not there yet. Returns why one cannot be copied. */
async function copyDay(
  { living, archive }: StoreParts,
  { day, receiptHours }: SealedCheckpoint,
  { slices }: MoveOptions,
): Promise<string | undefined> {
  for (const [at, digest] of receiptHours.entries()) {
    if (digest === noPages) continue;
    const startMs = vietnamDayStartMs(day) + at * hourMs;
    const hour = new HourCopy(day, startMs);
    const isThere = await archive.writeHour({
      startMs,
      digest,
      calls: hour.calls({ living, archive }, slices),
      mark: () => hour.mark(),
    });
    if (isThere) continue;
    return hour.problem ??
      `the receipts of ${day} are not those that were sealed, in the hour ${at}:00`;
  }
  const lines = linesOfDay(living, day, slices);
  await archive.finishDay(day, lines);
  return undefined;
}

async function* linesOfDay(
  kv: KeyValueStore,
  day: string,
  slices: TimeSlices | undefined,
): AsyncGenerator<LedgerEntry> {
  const startMs = vietnamDayStartMs(day);
  for await (const { value } of linesByTime(kv, startMs, slices)) {
    if (!isLedgerLine(value)) continue;
    if (idTimeMs("ledger", value.ledgerId) >= startMs + dayMs) return;
    yield value;
  }
}

/** Calls that are handed on at once: they are written without a pause, some two milliseconds. */
const callsPerPart = 200;

/** Reads the pages of an hour as rows, and sums them up. */
class HourCopy {
  readonly #day: string;
  readonly #startMs: number;
  readonly #digests = new DayDigests();
  #pages = 0;
  #receipts = 0;
  #chargedMicroVnd = 0n;
  #problem: string | undefined;

  constructor(day: string, startMs: number) {
    this.#day = day;
    this.#startMs = startMs;
  }

  /** Why a page cannot be archived. */
  get problem(): string | undefined {
    return this.#problem;
  }

  async *calls(
    { living, archive }: StoreParts,
    slices: TimeSlices | undefined,
  ): AsyncGenerator<readonly ArchivedCall[]> {
    const endMs = this.#startMs + hourMs;
    // What came late is in the store, while the rest of a day that was sealed anew is in the archive. While its mark is
    // asked for, nobody else writes the hour: the archive waits for the one that does.
    const isNew = (await archive.hoursBetween(this.#startMs, endMs)).length === 0;
    const kv = isNew ? living : archivedStore(living, archive);
    const pages = receiptPagesBetween(this.#startMs, endMs);
    let bucketMs = -1;
    let position = 0;
    let some: ArchivedCall[] = [];
    for await (const entry of wholeKind<unknown>(kv, pages, slices)) {
      const newest = newestOnReceiptPage(entry.key);
      const nextMs = bucketStartMs(idTimeMs("request", newest));
      if (nextMs !== bucketMs) position = 0;
      bucketMs = nextMs;
      const text = typeof entry.value === "string" ? entry.value : "";
      const columns = pageInColumns({ newest, text }, position);
      if (!columns.ok) {
        this.#problem = columns.problem;
        return;
      }
      this.#digests.addPage(entry);
      this.#pages++;
      position += columns.calls.length;
      this.#receipts += columns.calls.length;
      for (const call of columns.calls) {
        this.#chargedMicroVnd += BigInt(call.costMicroVnd);
        some.push(call);
      }
      if (some.length < callsPerPart) continue;
      yield some;
      some = [];
    }
    yield some;
  }

  /** Mark of what was read. A page that cannot be archived leaves a digest that no hour has. */
  mark(): HourMark {
    const hour = Math.round((this.#startMs - vietnamDayStartMs(this.#day)) / hourMs);
    return {
      startMs: this.#startMs,
      pages: this.#pages,
      receipts: this.#receipts,
      chargedMicroVnd: this.#chargedMicroVnd,
      digest: this.#problem ?? this.#digests.of(this.#day).receiptHours[hour] ?? "",
    };
  }
}

// Reads a day back.

/** Says how the archive has another day than was sealed. */
async function archiveProblem(
  archive: ReceiptArchive,
  { day, receiptHours, receipts, chargedMicroVnd }: SealedCheckpoint,
  slices: TimeSlices | undefined,
): Promise<string | undefined> {
  const startMs = vietnamDayStartMs(day);
  const digests = new DayDigests();
  for await (const { newest, text } of everyArchivedPage(archive, idsBetween(startMs, dayMs))) {
    digests.addPage({ key: receiptPageKey(newest), value: text, versionstamp: "" });
    await slices?.rest();
  }
  const hours = await archive.hoursBetween(startMs, startMs + dayMs);
  const count = hours.reduce((sum, hour) => sum + hour.receipts, 0);
  const charged = hours.reduce((sum, hour) => sum + hour.chargedMicroVnd, 0n);
  const found = digests.of(day).receiptHours;
  const wrong = receiptHours.findIndex((digest, at) => digest !== found[at]);
  if (wrong < 0 && count === receipts && charged === chargedMicroVnd) return undefined;
  return `the archive does not give back ${day} as it was sealed: ` +
    (wrong < 0 ? `${count} receipts with ${charged} µVND` : `the hour ${wrong}:00 differs`);
}

function idsBetween(fromMs: number, lengthMs: number) {
  return {
    from: beforeIdsOf("request", fromMs),
    before: beforeIdsOf("request", fromMs + lengthMs),
  };
}

// Clears a day that the archive gives back from the store. The pages of receipts go last: while one is there, the day is
// not done.

/** Rows compared with the archive at once. */
const rowsPerComparison = 500;

/** Deletes rows that were compared, many in one commit: most accounts have few on a day. */
class Deletion {
  readonly #kv: KeyValueStore;
  readonly #rowsPerCommit: number;
  #keys: Deno.KvKey[] = [];

  constructor(kv: KeyValueStore, rowsPerCommit: number) {
    this.#kv = kv;
    this.#rowsPerCommit = rowsPerCommit;
  }

  async add(entries: readonly Deno.KvEntry<unknown>[]): Promise<void> {
    for (const { key } of entries) {
      this.#keys.push(key);
      if (this.#keys.length >= this.#rowsPerCommit) await this.end();
    }
  }

  /** Deletes what is left. */
  async end(): Promise<void> {
    if (this.#keys.length === 0) return;
    const op = this.#kv.atomic();
    for (const key of this.#keys) op.delete(key);
    this.#keys = [];
    await op.commit();
  }
}

async function clearDay(
  parts: StoreParts,
  day: string,
  { slices, rowsPerCommit = maxRowsPerCommit }: MoveOptions,
): Promise<void> {
  const startMs = vietnamDayStartMs(day);
  const deletion = new Deletion(parts.living, rowsPerCommit);
  for (const onlyFailed of [false, true]) {
    const accounts = await parts.archive.accountsOfDay(day, onlyFailed);
    for (let at = 0; at < accounts.length; at += accountsAtOnce) {
      const some = accounts.slice(at, at + accountsAtOnce);
      const large = await clearSmallIndexes(parts, some, { startMs, onlyFailed, deletion });
      for (const accountId of large) {
        await clearIndex(parts, { accountId, startMs, onlyFailed, slices, deletion });
      }
      await slices?.rest();
    }
  }
  await deletion.end();
  const pages = receiptPagesBetween(startMs, startMs + dayMs);
  await eachFew(parts.living, pages, slices, async (entries) => {
    const [first, last] = [entries[0], entries.at(-1)];
    if (first === undefined || last === undefined) return;
    const range = {
      from: newestOnReceiptPage(first.key),
      before: behindText(newestOnReceiptPage(last.key)),
    };
    const archived = new Map<string, string>();
    for await (const { newest, text } of everyArchivedPage(parts.archive, range)) {
      archived.set(newest, text);
    }
    const isArchived = ({ key, value }: Deno.KvEntry<unknown>) =>
      archived.get(newestOnReceiptPage(key)) === value;
    await deletion.add(entries.filter(isArchived));
  });
  await deletion.end();
}

/** Accounts whose index pages are read in one round: nearly all have few calls on a day. */
const accountsAtOnce = 50;

/** Index pages of an account in such a round, which has a thousand at most. An account with more is cleared by itself. */
const pagesAtOnce = 20;

function indexPagesOf(
  accountId: AccountId,
  { startMs, onlyFailed }: { readonly startMs: number; readonly onlyFailed: boolean },
) {
  const pageKey = onlyFailed ? failedPageKey : indexPageKey;
  const { from, before } = idsBetween(startMs, dayMs);
  return { start: pageKey(accountId, from), end: pageKey(accountId, before) };
}

/** Deletes the index pages of several accounts, and returns those that have more of them. */
async function clearSmallIndexes(
  { living, archive }: StoreParts,
  accounts: readonly AccountId[],
  { startMs, onlyFailed, deletion }: {
    readonly startMs: number;
    readonly onlyFailed: boolean;
    readonly deletion: Deletion;
  },
): Promise<AccountId[]> {
  const ranges = accounts.map((accountId) => indexPagesOf(accountId, { startMs, onlyFailed }));
  const found = await firstRowsOf(living, ranges, pagesAtOnce);
  const isLarge = (at: number) => (found[at]?.length ?? 0) >= pagesAtOnce;
  const pages = accounts.map((accountId, at) => ({
    accountId,
    entries: isLarge(at) ? [] : found[at] ?? [],
  })).filter(({ entries }) => entries.length > 0);
  if (pages.length > 0) {
    const calls = pages.map(({ accountId, entries }) => ({
      accountId,
      requestIds: entries.flatMap(pageIds),
    }));
    const archived = await archive.idsAmong(calls, onlyFailed);
    const isArchived = (entry: Deno.KvEntry<unknown>) =>
      pageIds(entry).every((id) => archived.has(id));
    await deletion.add(pages.flatMap(({ entries }) => entries.filter(isArchived)));
  }
  return accounts.filter((_, at) => isLarge(at));
}

/** Deletes the index pages of an account whose calls are all in the archive. */
async function clearIndex(
  { living, archive }: StoreParts,
  { accountId, startMs, onlyFailed, slices, deletion }: {
    readonly accountId: AccountId;
    readonly startMs: number;
    readonly onlyFailed: boolean;
    readonly slices: TimeSlices | undefined;
    readonly deletion: Deletion;
  },
): Promise<void> {
  await eachFew(
    living,
    indexPagesOf(accountId, { startMs, onlyFailed }),
    slices,
    async (entries) => {
      const calls = { accountId, requestIds: entries.flatMap(pageIds) };
      const archived = await archivedAround(archive, calls, onlyFailed);
      await deletion.add(entries.filter((entry) => pageIds(entry).every((id) => archived.has(id))));
    },
  );
}

/** Reads the rows of a selector, a few at a time. */
async function eachFew(
  kv: KeyValueStore,
  selector: Deno.KvListSelector,
  slices: TimeSlices | undefined,
  act: (entries: readonly Deno.KvEntry<unknown>[]) => Promise<void>,
): Promise<void> {
  let few: Deno.KvEntry<unknown>[] = [];
  for await (const entry of wholeKind<unknown>(kv, selector, slices)) {
    few.push(entry);
    if (few.length < rowsPerComparison) continue;
    await act(few);
    few = [];
  }
  if (few.length > 0) await act(few);
}

/** Notes before the first row leaves that receipts are in an archive, so that no older program serves without it. */
async function markArchive(kv: KeyValueStore, nowMs: number): Promise<void> {
  const mark = await kv.get<ArchiveMark>(archiveMarkKey());
  if (mark.value !== null) return;
  await raiseSchemaVersion(kv, archivedSchemaVersion, nowMs);
  const row: ArchiveMark = { firstMovedAtMs: nowMs };
  await kv.atomic().check(mark).set(mark.key, row).commit();
}
