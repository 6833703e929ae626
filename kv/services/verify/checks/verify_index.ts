/**
 * Compares receipts with the index of their accounts, by sums of hashes that do not depend on the
 * order. Recent calls, which may change during the scan, are kept apart: only they need a second
 * reading, and they are few.
 */
import { InvariantError } from "../../../../core/lib/base/assert.ts";
import {
  type AccountId,
  beforeIdsOf,
  idTimeMs,
  type RequestId,
} from "../../../../core/lib/ids/ids.ts";
import type { TimeSlices } from "../../../../core/lib/time/time_slices.ts";
import { listBatches } from "../../../engine/store/batches.ts";
import {
  indexPageKey,
  indexPagesPrefix,
  newestOnReceiptPage,
  receiptPageKey,
  receiptsPrefix,
} from "../../../engine/schema/keys.ts";
import type { ClaimSums } from "../../../money/ledger/provider_claims.ts";
import { pageIds } from "../../../money/receipts/receipt_index.ts";
import { decodeReceiptPage } from "../../../money/receipts/receipt_pages.ts";
import type { DayDigests } from "../days/day_digests.ts";
import { wholeKind } from "../../../engine/store/read_ahead.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";

/**
 * Age in milliseconds, from the newest call, up to which calls may change during verification: four
 * minutes of body, 15 of call, and a reserve for a busy store.
 */
const verifyRecentMs = 30 * 60_000;

/** Computes a fast 32-bit hash of a text (FNV-1a). */
export function hash(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return hash >>> 0;
}

interface Prints {
  /** Sum of hashes of the receipts. */
  receipts: number;
  /** Sum of hashes of the index entries and unindexed batches. */
  index: number;
}

/** Options of a reading of the store. */
export interface ScanOptions {
  /** Calls with a later id may change during the reading. */
  readonly recentStart: string;
  readonly slices: TimeSlices | undefined;
  /** Collects the claims of the receipts. */
  readonly claims?: ClaimSums;
  /** Collects the receipts of all accounts by day. */
  readonly digests?: DayDigests | undefined;
}

/** The hash sums of one account. */
export interface AccountPrints {
  readonly old: Prints;
  readonly recent: Prints;
}

/** Whether each receipt of the account is in the index, and each entry has its receipt. */
export function isIndexed({ old, recent }: AccountPrints): boolean {
  return old.receipts === old.index && recent.receipts === recent.index;
}

/**
 * Returns a text behind which the ids of recent calls sort. Taken from the newest id in the store,
 * so it depends on no clock.
 */
export async function recentIdsStart(kv: KeyValueStore): Promise<string> {
  const last = kv.list({ prefix: receiptsPrefix() }, { reverse: true, limit: 1 });
  for await (const { key } of last) {
    const newestMs = idTimeMs("request", newestOnReceiptPage(key));
    return beforeIdsOf("request", Math.max(0, newestMs - verifyRecentMs));
  }
  return "";
}

/** Sums the hashes of receipts and index entries, by account. */
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

/** Returns nothing if a row cannot be read, which the scan has reported already. */
export function readable<Item>(read: () => Item[]): Item[] {
  try {
    return read();
  } catch (error) {
    if (error instanceof InvariantError) return [];
    throw error;
  }
}

/**
 * Reads receipts and index of some accounts again for recent calls, and keeps the sums of the
 * others.
 */
export async function rereadRecent(
  kv: KeyValueStore,
  accounts: ReadonlyMap<AccountId, AccountPrints>,
  { recentStart, slices }: ScanOptions,
): Promise<IndexPrints> {
  const prints = new IndexPrints(recentStart);
  for (const [accountId, { old }] of accounts) Object.assign(prints.of(accountId).old, old);
  const isRecent = (requestId: RequestId) => requestId > recentStart;
  // The batches are read first: what leaves them is in the index by the time that is read.
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
