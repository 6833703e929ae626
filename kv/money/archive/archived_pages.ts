/** Reads an archive as the rows that the store had of its calls: pages of receipts, and pages of their indexes. */
import { invariant } from "../../../core/lib/base/assert.ts";
import { type AccountId, idTimeMs, type RequestId } from "../../../core/lib/ids/ids.ts";
import type { CallsOfAccount } from "../receipts/receipt_index.ts";
import { placeOf, type ReceiptArchive } from "./receipt_archive.ts";
import {
  type ArchivedCall,
  bucketEndMs,
  bucketStartMs,
  callsByPage,
  pageOf,
  pagesOf,
  type ReceiptPageRow,
  requestIdOf,
} from "./receipt_rows.ts";

/** Texts of ids from one on and before another; `undefined`: without a bound. */
export interface IdRange {
  readonly from: string | undefined;
  readonly before: string | undefined;
}

/** Part of a range that is read, and from which end. */
export interface Reading {
  readonly limit: number;
  readonly reverse: boolean;
}

/** The first text behind another; no id has such a letter. */
export function behindText(text: string): string {
  return `${text}\u0001`;
}

/** Most calls that are compared at once; one that is not among them counts as missing, and stays in the store. */
const maxCallsCompared = 200_000;

/**
 * Reads which calls an archive has between the first and the last of some calls of an account: one range in place of a
 * list of all their ids.
 */
export async function archivedAround(
  archive: Pick<ReceiptArchive, "idsOf">,
  { accountId, requestIds }: CallsOfAccount,
  onlyFailed: boolean,
): Promise<ReadonlySet<RequestId>> {
  const ids = requestIds.toSorted();
  const [first, last] = [ids[0], ids.at(-1)];
  if (first === undefined || last === undefined) return new Set();
  return new Set(
    await archive.idsOf(accountId, {
      fromMs: idTimeMs("request", first),
      toMs: idTimeMs("request", last) + 1,
      fromPlace: first,
      beforePlace: behindText(placeOf(last)),
      limit: maxCallsCompared,
      reverse: false,
      onlyFailed,
    }),
  );
}

const isWithin = (text: string, { from, before }: IdRange): boolean =>
  (from === undefined || text >= from) && (before === undefined || text < before);

/** `req_`, behind which an id has the nine digits of its time. */
const prefixChars = 4;
const timeChars = 9;

/** Behind every call: the year 5138. */
const endOfTimeMs = 100_000_000_000_000;

/** The time of the ids that begin with a text, the earliest or the latest of them. */
function boundMs(text: string | undefined, pad: "0" | "z"): number {
  if (text === undefined) return pad === "0" ? 0 : endOfTimeMs;
  const digits = /^[0-9a-z]*/.exec(text.slice(prefixChars, prefixChars + timeChars))?.[0] ?? "";
  // What is no digit sorts behind all digits, as the bounds of ranges do.
  const filler = digits.length < text.length - prefixChars ? "z" : pad;
  return Math.min(endOfTimeMs, parseInt(digits.padEnd(timeChars, filler), 36));
}

/** Calls of one read at most, unless a bucket has more; a day has some thousand times as many. */
const callsPerRead = 1_000;

/** Calls that are read for each page that is wanted. Pages of a busy gateway have more: then it reads again. */
const callsPerPage = 4;

/** Fewest calls of one read: with fewer, a bucket might not be whole. */
const minCallsPerRead = 32;

/** Most calls of one read: all of a bucket have to be there, which takes 36 ms. */
const maxCallsPerRead = 1_000_000;

/** A range that has the ids of all calls. */
const everyId = { from: "req_", before: "req_~" } as const;

interface TimeRange {
  fromMs: number;
  toMs: number;
}

/** The times of the ids from one on and before another. */
export function timeWithin(
  { from, before }: { readonly from: string; readonly before: string },
): { readonly fromMs: number; readonly toMs: number } {
  return { fromMs: boundMs(from, "0"), toMs: boundMs(before, "0") + 1 };
}

/** Reads all calls of some buckets in one statement, those of each in the order of their pages. */
async function callsOfBuckets(
  archive: ReceiptArchive,
  starts: readonly number[],
): Promise<ArchivedCall[][]> {
  const calls = await archive.callsThatFit({
    filter: {},
    ranges: starts.toSorted((one, other) => other - one)
      .map((fromMs) => ({ fromMs, toMs: bucketEndMs(fromMs) })),
    ...everyId,
    limit: maxCallsPerRead,
  });
  invariant(calls.length < maxCallsPerRead, "the calls of some buckets fit into memory");
  const buckets = Map.groupBy(calls, ({ calledAtMs }) => bucketStartMs(calledAtMs));
  return [...buckets.values()].map((bucket) =>
    bucket.sort((one, other) => one.position - other.position)
  );
}

/** Reads the page that each of some calls is on, if the archive has it; every bucket of time is read once. */
export async function archivedPagesWith(
  archive: ReceiptArchive,
  requestIds: readonly RequestId[],
): Promise<ReadonlyMap<RequestId, ReceiptPageRow>> {
  const wanted = new Set(requestIds);
  const times = requestIds.map((id) => idTimeMs("request", id)).filter(Number.isSafeInteger);
  const starts = [...new Set(times.map(bucketStartMs))];
  const pages = new Map<RequestId, ReceiptPageRow>();
  if (starts.length === 0) return pages;
  for (const calls of (await callsOfBuckets(archive, starts)).flatMap(callsByPage)) {
    const found = calls.map(requestIdOf).filter((id) => wanted.has(id));
    if (found.length === 0) continue;
    const page = pageOf(calls);
    for (const id of found) pages.set(id, page);
  }
  return pages;
}

/** Reads the pages of a range in their order, those of one read of calls at a time. */
async function* pagesByRead(
  archive: ReceiptArchive,
  range: IdRange,
  { limit, reverse }: Reading,
): AsyncGenerator<ReceiptPageRow[]> {
  const rest: TimeRange = {
    fromMs: bucketStartMs(boundMs(range.from, "0")),
    toMs: bucketEndMs(boundMs(range.before, "z")),
  };
  let callsAtOnce = Math.min(callsPerRead, Math.max(minCallsPerRead, limit * callsPerPage));
  while (rest.fromMs < rest.toMs) {
    const calls = await archive.callsBetween({ ...rest, limit: callsAtOnce, reverse });
    const isLast = calls.length < callsAtOnce;
    const whole = wholeBuckets(calls, isLast);
    if (!isLast && whole.length === 0) {
      callsAtOnce *= 2;
      invariant(callsAtOnce <= maxCallsPerRead, "the calls of a bucket fit into memory");
      continue;
    }
    const pages: ReceiptPageRow[] = [];
    for (const bucket of whole) {
      const inOrder = pagesOf(bucket.sort((one, other) => one.position - other.position));
      if (reverse) inOrder.reverse();
      for (const page of inOrder) if (isWithin(page.newest, range)) pages.push(page);
    }
    yield pages;
    const last = whole.at(-1)?.[0]?.calledAtMs;
    if (isLast || last === undefined) return;
    if (reverse) rest.toMs = bucketStartMs(last);
    else rest.fromMs = bucketEndMs(last);
  }
}

/**
 * Reads pages of receipts whose keys are within a range, in their order.
 *
 * @returns fewer than the limit only at the end of the range
 */
export async function archivedPages(
  archive: ReceiptArchive,
  range: IdRange,
  reading: Reading,
): Promise<ReceiptPageRow[]> {
  const { limit } = reading;
  const pages: ReceiptPageRow[] = [];
  for await (const more of pagesByRead(archive, range, reading)) {
    for (const page of more) {
      if (pages.length >= limit) return pages;
      pages.push(page);
    }
    if (pages.length >= limit) break;
  }
  return pages;
}

/** Reads all pages of a range, a bounded number at a time. */
export async function* everyArchivedPage(
  archive: ReceiptArchive,
  range: IdRange,
): AsyncGenerator<ReceiptPageRow> {
  for await (const pages of pagesByRead(archive, range, { limit: Infinity, reverse: false })) {
    yield* pages;
  }
}

/** Divides calls by bucket. The last bucket may be incomplete, unless nothing follows. */
function wholeBuckets(calls: readonly ArchivedCall[], isLast: boolean): ArchivedCall[][] {
  const buckets: ArchivedCall[][] = [];
  let startMs = -1;
  for (const call of calls) {
    const bucketMs = bucketStartMs(call.calledAtMs);
    if (bucketMs !== startMs) buckets.push([]);
    startMs = bucketMs;
    buckets.at(-1)?.push(call);
  }
  if (!isLast) buckets.pop();
  return buckets;
}

/** A place among the index pages of all accounts. */
export interface IndexPlace {
  readonly accountId: string;
  /** A text of the id behind it; `undefined`: before all of the account, or at the end of a range behind all. */
  readonly id: string | undefined;
}

/** Index pages from one place on and before another; `before` is absent at the end of all accounts. */
export interface IndexRange {
  readonly from: IndexPlace;
  readonly before: IndexPlace | undefined;
}

/** A page of an index, with one call. */
export interface IndexPageRow {
  readonly accountId: AccountId;
  /** The last part of its key: behind the id, so that no page of the store has it. */
  readonly place: string;
  readonly requestId: RequestId;
}

const behindEveryId = "~";

/** Accounts of one read. */
const accountsPerRead = 100;

/** Reads the pages of an index in the order of accounts and ids. */
export async function archivedIndex(
  archive: ReceiptArchive,
  { from, before }: IndexRange,
  { limit, reverse, onlyFailed }: Reading & { readonly onlyFailed: boolean },
): Promise<IndexPageRow[]> {
  const rows: IndexPageRow[] = [];
  let next: string | undefined = reverse ? (before ? `${before.accountId} ` : "~") : from.accountId;
  while (next !== undefined && rows.length < limit) {
    const some: readonly AccountId[] = await archive.accounts({
      from: next,
      limit: accountsPerRead,
      reverse,
    });
    next = undefined;
    for (const accountId of some) {
      const isOutside = accountId < from.accountId ||
        (before !== undefined && accountId > before.accountId);
      if (isOutside || rows.length >= limit) return rows;
      const range = {
        from: accountId === from.accountId ? from.id : undefined,
        before: accountId === before?.accountId ? before.id : undefined,
      };
      const left = { limit: limit - rows.length, reverse, onlyFailed };
      rows.push(...await indexOf(archive, accountId, range, left));
      next = reverse ? accountId : `${accountId} `;
    }
    if (some.length < accountsPerRead) return rows;
  }
  return rows;
}

/** Ids of an account that are read at once: some megabytes. */
const idsPerRead = 20_000;

/** Reads the index of all accounts in their order, the calls of one of them at a time. */
export async function* everyArchivedIndex(
  archive: Pick<ReceiptArchive, "accounts" | "idsOf">,
): AsyncGenerator<CallsOfAccount> {
  for (let next = "";;) {
    const some = await archive.accounts({ from: next, limit: accountsPerRead, reverse: false });
    for (const accountId of some) {
      const range = { from: undefined as string | undefined, before: undefined };
      for (;;) {
        const reading = { limit: idsPerRead, reverse: false, onlyFailed: false };
        const requestIds = await idsWithin(archive, accountId, range, reading);
        if (requestIds.length > 0) yield { accountId, requestIds };
        const last = requestIds.at(-1);
        if (last === undefined || requestIds.length < idsPerRead) break;
        range.from = behindText(placeOf(last));
      }
      next = `${accountId} `;
    }
    if (some.length < accountsPerRead) return;
  }
}

async function indexOf(
  archive: ReceiptArchive,
  accountId: AccountId,
  range: IdRange,
  reading: Reading & { readonly onlyFailed: boolean },
): Promise<IndexPageRow[]> {
  const ids = await idsWithin(archive, accountId, range, reading);
  return ids.map((requestId) => ({ accountId, place: placeOf(requestId), requestId }));
}

async function idsWithin(
  archive: Pick<ReceiptArchive, "idsOf">,
  accountId: AccountId,
  { from, before }: IdRange,
  reading: Reading & { readonly onlyFailed: boolean },
): Promise<readonly RequestId[]> {
  return await archive.idsOf(accountId, {
    fromMs: boundMs(from, "0"),
    toMs: boundMs(before, "z") + 1,
    fromPlace: from ?? "",
    beforePlace: before ?? behindEveryId,
    ...reading,
  });
}
