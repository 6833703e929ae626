/**
 * Reads receipts of store and archive as one source, the latest first, in few statements: those of the store by their
 * index, many ranges at a time, and those of the archive by its columns. The store is asked first for each part, since
 * a call is in the archive before it leaves the store.
 */
import { ascending } from "../../../core/lib/base/ascending.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import type { AccountId, RequestId } from "../../../core/lib/ids/ids.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import {
  failedPageKey,
  indexPageKey,
  newestOnReceiptPage,
  receiptPageKey,
} from "../../engine/schema/keys.ts";
import type { ArchivedCallsAsked, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { firstRowsOf } from "../../engine/store/read_ahead.ts";
import { decodeReceipt } from "./receipt_codec.ts";
import { endOfIndexBucket, indexBucketOf, pageIds } from "./receipt_index.ts";
import {
  decodeReceiptPage,
  endOfPageBucket,
  pageBucketOf,
  readReceiptPages,
} from "./receipt_pages.ts";

/** Ids from one on and before another. */
export interface IdSpan {
  readonly from: string;
  readonly before: string;
}

/** Ids of the index of an account, or of that of its failed calls. */
export interface IndexSpan extends IdSpan {
  readonly onlyFailed: boolean;
}

/** Sorts behind the id of every call. */
export const behindAllIds = "req_~";

/** Receipts to read. */
export interface NewestReceipts extends IdSpan {
  /** Absent: those of all accounts. */
  readonly accountId?: AccountId | undefined;
  /** Parts of the index in which receipts may fit, the latest first; the whole index by default. */
  readonly spans?: AsyncIterable<IndexSpan> | undefined;
  /** Calls of the account that may not be in the index yet. */
  readonly tail?: readonly RequestId[];
  /** Receipts of the archive that fit; all by default. */
  readonly filter?:
    | Omit<ArchivedCallsAsked, "accountId" | "from" | "before" | "limit">
    | undefined;
  /** Receipts of the first part; more are read each time, since readers that go on want many. */
  readonly firstRead?: number;
}

/** Receipts down to an id, the latest first. */
export interface ReceiptsRead {
  readonly receipts: readonly Receipt[];
  /** Everything down to this id was read, itself included. */
  readonly reached: RequestId;
  /** Calls that an archive looked at to find these. */
  readonly scanned: number;
}

const firstReadDefault = 64;

/** Each part has this many times the receipts of the one before, */
const growth = 4;

/** up to this many: a megabyte or two. */
const maxRead = 1_000;

/** Receipts of the store in one part: each may be on a page of its own, of up to 50 KB. */
const maxLivingRead = 500;

/** Parts after which a reader is taken for one that goes on: the next part is read while it works on this one. */
const partsBeforeAhead = 3;

/** Yields receipts in parts, the latest first. A part may have none. */
export async function* newestReceipts(
  kv: KeyValueStore,
  asked: NewestReceipts,
): AsyncGenerator<ReceiptsRead, void, void> {
  const parts = new Parts(kv, asked);
  let ahead: Promise<ReceiptsRead> | undefined;
  for (let count = 1; ahead !== undefined || parts.isMore; count++) {
    const part = await (ahead ?? parts.next());
    ahead = count >= partsBeforeAhead && parts.isMore ? parts.next() : undefined;
    // A reader that stops early never awaits it.
    ahead?.catch(() => {});
    yield part;
  }
}

/** Receipts of store and archive, part by part. */
class Parts {
  readonly #kv: KeyValueStore;
  readonly #asked: NewestReceipts;
  readonly #living: LivingReceipts;
  #before: string;
  #limit: number;
  /** Receipts of the store that lie below what was read of the archive. */
  #waiting: Receipt[] = [];

  constructor(kv: KeyValueStore, asked: NewestReceipts) {
    this.#kv = kv;
    this.#asked = asked;
    this.#living = asked.accountId === undefined
      ? new LivingPages(kv, asked)
      : new LivingIndex(kv, asked.accountId, asked);
    this.#before = asked.before;
    this.#limit = asked.firstRead ?? firstReadDefault;
  }

  get isMore(): boolean {
    return this.#before > this.#asked.from;
  }

  /** Reads the next part. Called once the one before is there. */
  async next(): Promise<ReceiptsRead> {
    const { from } = this.#asked;
    const living = this.#living;
    const before = this.#before;
    const limit = this.#limit;
    if (before <= living.reached && living.reached > from) {
      this.#waiting.push(...await living.next(Math.min(limit, maxLivingRead)));
    }
    const archived = await readArchived(this.#kv, this.#asked, {
      from: living.reached,
      before,
      limit,
    });
    const reached = archived.reached;
    const ids = new Set(this.#waiting.map(({ requestId }) => requestId));
    const receipts = this.#waiting.filter(({ requestId }) => requestId >= reached)
      .concat(archived.receipts.filter(({ requestId }) => !ids.has(requestId)))
      .sort((one, other) => ascending(other.requestId, one.requestId));
    this.#waiting = this.#waiting.filter(({ requestId }) => requestId < reached);
    this.#before = reached;
    this.#limit = Math.min(maxRead, limit * growth);
    return { receipts, reached: reached as RequestId, scanned: archived.scanned };
  }
}

async function readArchived(
  kv: KeyValueStore,
  { accountId, filter }: NewestReceipts,
  part: IdSpan & { readonly limit: number },
): Promise<{ readonly receipts: Receipt[]; readonly reached: string; readonly scanned: number }> {
  if (kv.archivedCalls === undefined) return { receipts: [], reached: part.from, scanned: 0 };
  const { calls, ...read } = await kv.archivedCalls({ ...filter, accountId, ...part });
  const receipts = calls.map(([id, text]) => decodeReceipt(id as RequestId, JSON.parse(text)));
  return { receipts, ...read };
}

/** Receipts of the store. */
interface LivingReceipts {
  /** Everything down to this id was read. */
  readonly reached: string;
  /** Reads further receipts, about as many as `limit`, in any order. */
  next(limit: number): Promise<readonly Receipt[]>;
}

async function* wholeIndex({ from, before }: IdSpan): AsyncGenerator<IndexSpan> {
  yield { from, before, onlyFailed: false };
}

/** Spans that are read in one statement, unless the first one has what is wanted. */
const spansPerRead = 16;

/** The receipts of an account, by its index. */
class LivingIndex implements LivingReceipts {
  readonly #kv: KeyValueStore;
  readonly #accountId: AccountId;
  readonly #from: string;
  readonly #before: string;
  readonly #spans: AsyncIterator<IndexSpan>;
  #ahead: IndexSpan[] = [];
  #isLast = false;
  #tail: readonly RequestId[];
  reached: string;

  constructor(kv: KeyValueStore, accountId: AccountId, asked: NewestReceipts) {
    this.#kv = kv;
    this.#accountId = accountId;
    this.#from = asked.from;
    this.#before = asked.before;
    this.#spans = (asked.spans ?? wholeIndex(asked))[Symbol.asyncIterator]();
    this.#tail = (asked.tail ?? []).filter((id) => id >= asked.from && id < asked.before);
    this.reached = asked.before;
  }

  async next(limit: number): Promise<readonly Receipt[]> {
    const wanted = this.reached === this.#before ? 1 : spansPerRead;
    while (!this.#isLast && this.#ahead.length < wanted) {
      const { done, value } = await this.#spans.next();
      if (done === true) this.#isLast = true;
      else this.#ahead.push(value);
    }
    const ids = await this.#nextIds(limit);
    if (this.#isLast && this.#ahead.length === 0) this.reached = this.#from;
    for (const id of this.#tail) if (id >= this.reached) ids.add(id);
    this.#tail = this.#tail.filter((id) => id < this.reached);
    return await readReceiptsOfStore(this.#kv, [...ids]);
  }

  async #nextIds(limit: number): Promise<Set<RequestId>> {
    const spans = this.#ahead;
    const rows = await firstRowsOf(this.#kv, spans.map((span) => this.#pagesOf(span)), limit, true);
    const ids = new Set<RequestId>();
    for (const [at, span] of spans.entries()) {
      const pages = rows[at] ?? [];
      const isWhole = pages.length < limit;
      const last = pages.at(-1);
      // Calls of one bucket may be on further pages.
      const bucket = isWhole || last === undefined ? "" : endOfIndexBucket(indexBucketOf(last.key));
      const found = pages.flatMap(pageIds)
        .filter((id) => id >= span.from && id < span.before && id > bucket).sort().reverse();
      if (!isWhole && found.length === 0) {
        if (at === 0) return await this.#nextIds(2 * limit);
        this.#ahead = spans.slice(at);
        return ids;
      }
      const some = found.slice(0, limit - ids.size);
      for (const id of some) ids.add(id);
      const lowest = some.at(-1) ?? span.before;
      const isCut = some.length < found.length;
      this.reached = isWhole && !isCut ? span.from : lowest;
      if (!isWhole || isCut) {
        this.#ahead = [{ ...span, before: lowest }, ...spans.slice(at + 1)];
        return ids;
      }
    }
    this.#ahead = [];
    return ids;
  }

  #pagesOf({ from, before, onlyFailed }: IndexSpan): Deno.KvListSelector {
    const pageKey = onlyFailed ? failedPageKey : indexPageKey;
    return {
      start: pageKey(this.#accountId, from),
      end: pageKey(this.#accountId, endOfIndexBucket(before)),
    };
  }
}

/** Pages of one statement, of up to 50 KB each, though most have a few receipts. */
const maxPagesRead = 200;

/** The receipts of all accounts, by their pages. */
class LivingPages implements LivingReceipts {
  readonly #kv: KeyValueStore;
  readonly #span: IdSpan;
  reached: string;

  constructor(kv: KeyValueStore, span: IdSpan) {
    this.#kv = kv;
    this.#span = span;
    this.reached = span.before;
  }

  async next(receipts: number): Promise<readonly Receipt[]> {
    return await this.#nextPages(Math.min(receipts, maxPagesRead));
  }

  async #nextPages(limit: number): Promise<readonly Receipt[]> {
    const { from } = this.#span;
    const before = this.reached;
    const selector = {
      start: receiptPageKey(from),
      end: receiptPageKey(endOfPageBucket(before as RequestId)),
    };
    const [pages = []] = await firstRowsOf(this.#kv, [selector], limit, true);
    const last = pages.at(-1);
    const isWhole = pages.length < limit || last === undefined;
    const bucket = isWhole ? "" : endOfPageBucket(newestOnReceiptPage(last.key));
    const receipts = pages.flatMap((page) => decodeReceiptPage(page))
      .filter(({ requestId: id }) => id >= from && id < before && id > bucket);
    if (!isWhole && receipts.length === 0) return await this.#nextPages(2 * limit);
    this.reached = isWhole
      ? from
      : receipts.reduce((least, { requestId }) => requestId < least ? requestId : least, before);
    return receipts;
  }
}

/** Pages that are read of each bucket of time: nearly always it has one. */
const pagesPerBucket = 2;

/** More than a bucket of 36 milliseconds has. */
const maxPagesOfBucket = 1_000;

/** Reads the receipts of the calls that are in the store, in any order. */
async function readReceiptsOfStore(
  kv: KeyValueStore,
  ids: readonly RequestId[],
): Promise<readonly Receipt[]> {
  if (ids.length === 0) return [];
  // By their keys, ten at a time, these are fewer reads where each range is one.
  if (kv.firstRows === undefined) {
    return [...(await readReceiptPages(kv, ids, { isWithoutArchive: true })).values()];
  }
  const wanted = new Set(ids);
  const found = new Map<RequestId, Receipt>();
  for (const limit of [pagesPerBucket, maxPagesOfBucket]) {
    const missing = [...wanted].filter((id) => !found.has(id)).sort();
    const firsts = [...Map.groupBy(missing, pageBucketOf).values()].map(([first]) => first);
    const ranges = firsts.map((first) => {
      invariant(first !== undefined, "a group has a call");
      return { start: receiptPageKey(first), end: receiptPageKey(endOfPageBucket(first)) };
    });
    const rows = await firstRowsOf(kv, ranges, limit);
    for (const page of rows.flat()) {
      for (const receipt of decodeReceiptPage(page, wanted)) found.set(receipt.requestId, receipt);
    }
    // A bucket whose pages were all read has no more calls.
    const isMore = rows.some((pages) => pages.length >= limit);
    if (found.size === wanted.size || !isMore) break;
  }
  return [...found.values()];
}
