/**
 * Receipts against the index of their accounts, by sums of hashes that do not depend on the order. Calls that began
 * lately, and so may move while the store is read, are kept apart from those at rest: only they are worth a second look,
 * and there are few of them.
 */
import { InvariantError } from "../../core/lib/assert.ts";
import { type AccountId, beforeIdsOf, idTimeMs, type RequestId } from "../../core/lib/ids.ts";
import type { TimeSlices } from "../../core/lib/time/time_slices.ts";
import { listBatches } from "../store/batches.ts";
import {
  indexPageKey,
  indexPagesPrefix,
  newestOnReceiptPage,
  receiptPageKey,
  receiptsPrefix,
} from "../schema/keys.ts";
import type { ClaimSums } from "../ledger/provider_claims.ts";
import { pageIds } from "../receipts/receipt_index.ts";
import { decodeReceiptPage } from "../receipts/receipt_pages.ts";
import { wholeKind } from "../store/whole_kind.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";

/**
 * Milliseconds before the newest call in which calls may change while verification reads: four minutes of
 * body, 15 of call, and some for a busy store. Twice as many would only be read twice as often.
 */
const verifyRecentMs = 30 * 60_000;

/** A quick hash of a text; 32 bits. FNV-1a. */
export function hash(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return hash >>> 0;
}

interface Prints {
  /** Of the receipts … */
  receipts: number;
  /** … and of the index rows and unindexed batches. */
  index: number;
}

/** How the store is read. */
export interface ScanOptions {
  /** Calls behind this id may move while they are read. */
  readonly recentStart: string;
  readonly slices: TimeSlices | undefined;
  /** Gets the claims of the receipts. */
  readonly claims?: ClaimSums;
}

/** What one account has of each. */
export interface AccountPrints {
  readonly old: Prints;
  readonly recent: Prints;
}

/** Each receipt of the account is in the index, and each entry of the index has its receipt. */
export function isIndexed({ old, recent }: AccountPrints): boolean {
  return old.receipts === old.index && recent.receipts === recent.index;
}

/** The ids of calls that may move yet begin behind this text. Known from the store, so that no clock has a say. */
export async function recentIdsStart(kv: KeyValueStore): Promise<string> {
  const last = kv.list({ prefix: receiptsPrefix() }, { reverse: true, limit: 1 });
  for await (const { key } of last) {
    const newestMs = idTimeMs("request", newestOnReceiptPage(key));
    return beforeIdsOf("request", Math.max(0, newestMs - verifyRecentMs));
  }
  return "";
}

/** Adds up what is seen of receipts and index, by account. */
export class IndexPrints {
  readonly #recentStart: string;
  readonly #accounts = new Map<AccountId, AccountPrints>();

  constructor(recentStart: string) {
    this.#recentStart = recentStart;
  }

  of(accountId: AccountId): AccountPrints {
    let prints = this.#accounts.get(accountId);
    if (prints === undefined) {
      prints = { old: { receipts: 0, index: 0 }, recent: { receipts: 0, index: 0 } };
      this.#accounts.set(accountId, prints);
    }
    return prints;
  }

  add(side: keyof Prints, accountId: AccountId, requestId: RequestId): void {
    const { old, recent } = this.of(accountId);
    const prints = requestId > this.#recentStart ? recent : old;
    prints[side] = (prints[side] + hash(requestId)) >>> 0;
  }
}

/** Nothing, where a row cannot be read: the scan has said so already. */
function readable<Item>(read: () => Item[]): Item[] {
  try {
    return read();
  } catch (error) {
    if (error instanceof InvariantError) return [];
    throw error;
  }
}

/** Reads receipts and index of some accounts again, for the recent calls; of the others stands what was seen of them. */
export async function rereadRecent(
  kv: KeyValueStore,
  accounts: ReadonlyMap<AccountId, AccountPrints>,
  { recentStart, slices }: ScanOptions,
): Promise<IndexPrints> {
  const prints = new IndexPrints(recentStart);
  for (const [accountId, { old }] of accounts) Object.assign(prints.of(accountId).old, old);
  const isRecent = (requestId: RequestId) => requestId > recentStart;
  // The batches first: what leaves them is in the index when that is read.
  const tail = new Map<RequestId, AccountId>();
  for await (const { parts } of listBatches(kv)) {
    for (const { accountId, requestIds } of parts) {
      if (accounts.has(accountId)) { for (const id of requestIds) tail.set(id, accountId); }
    }
  }
  for (const accountId of accounts.keys()) {
    const start = indexPageKey(accountId, recentStart);
    const pages = { prefix: indexPagesPrefix(accountId), start };
    for await (const page of wholeKind<unknown>(kv, pages, slices)) {
      for (const requestId of readable(() => pageIds(page)).filter(isRecent)) {
        tail.delete(requestId);
        prints.add("index", accountId, requestId);
      }
    }
  }
  for (const [requestId, accountId] of tail) {
    if (isRecent(requestId)) prints.add("index", accountId, requestId);
  }
  const pages = { prefix: receiptsPrefix(), start: receiptPageKey(recentStart) };
  for await (const page of wholeKind<unknown>(kv, pages, slices)) {
    for (const { accountId, requestId } of readable(() => decodeReceiptPage(page))) {
      if (accounts.has(accountId) && isRecent(requestId)) {
        prints.add("receipts", accountId, requestId);
      }
    }
  }
  return prints;
}
