/** Keys of what was called: receipts, their index, the sums per day and what went back of them. */
import { invariant } from "../../core/lib/assert.ts";
import type { AccountId, ApiKeyId, InstanceId, RequestId } from "../../core/lib/ids.ts";
import type { StoreKey } from "./store_key.ts";

// Receipts: on pages by request id (ascending in time, so they append), the batches not yet indexed, the index, the
// day sums.

export function receiptsPrefix(): StoreKey {
  return ["receipt"];
}

/** `newest` is the last request id on the page, or a bound for a range. */
export function receiptPageKey(newest: string): StoreKey {
  return ["receipt", newest];
}

/** The last request id on a page. */
export function newestOnReceiptPage(key: Deno.KvKey): RequestId {
  return String(key[1]) as RequestId;
}

export function batchesPrefix(): StoreKey {
  return ["settled"];
}

export function batchesOfPrefix(instanceId: InstanceId): StoreKey {
  return ["settled", instanceId];
}

export function batchKey(instanceId: InstanceId, commit: number): StoreKey {
  return ["settled", instanceId, commit];
}

/** Whose commit a batch is of, and which. */
export function batchOf(
  key: Deno.KvKey,
): { readonly instanceId: InstanceId; readonly commit: number } {
  return { instanceId: String(key[1]) as InstanceId, commit: Number(key[2]) };
}

export function allIndexPagesPrefix(): StoreKey {
  return ["receipts_of"];
}

export function indexPagesPrefix(accountId: AccountId): StoreKey {
  return ["receipts_of", accountId];
}

/** `newest` is the last request id on the page of the index, or a bound for a range. */
export function indexPageKey(accountId: AccountId, newest: string): StoreKey {
  return ["receipts_of", accountId, newest];
}

/** The last request id on a page of the index. */
export function newestOnIndexPage(key: Deno.KvKey): RequestId {
  return String(key[2]) as RequestId;
}

export function rollupsPrefix(): StoreKey {
  return ["usage"];
}

export function rollupsOfPrefix(accountId: AccountId): StoreKey {
  return ["usage", accountId];
}

/** `day` is `YYYY-MM-DD`, Vietnam time: as text it sorts, and a range of days is a range of keys. */
export function rollupDayKey(accountId: AccountId, day: string): StoreKey {
  return ["usage", accountId, day];
}

export function rollupKey(
  accountId: AccountId,
  day: string,
  keyId: ApiKeyId,
  model: string,
): StoreKey {
  return ["usage", accountId, day, keyId, model];
}

// Claims on providers: what they reported beyond what was charged, by day and route, a row for each commit.

export function claimsPrefix(): StoreKey {
  return ["provider_claim"];
}

export function claimKey(
  { day, route }: { readonly day: string; readonly route: string },
  { instanceId, commit }: { readonly instanceId: InstanceId; readonly commit: number },
): StoreKey {
  return ["provider_claim", day, route, instanceId, commit];
}

/** The rows of some days, both included. */
export function claimDaysRange(
  { fromDay, toDay }: { readonly fromDay: string; readonly toDay: string },
): { readonly start: StoreKey; readonly end: StoreKey } {
  return { start: ["provider_claim", fromDay], end: ["provider_claim", `${toDay}~`] };
}

/** What a row of claims is the sum of. */
export function claimCellOf(
  key: Deno.KvKey,
): { readonly day: string; readonly route: string } {
  return { day: String(key[1]), route: String(key[2]) };
}

// Refunds: what went back of calls that were charged, by the cell of the day sum that their receipts are in.

export function refundSumsPrefix(): StoreKey {
  return ["refunded"];
}

export function refundSumsOfPrefix(accountId: AccountId): StoreKey {
  return ["refunded", accountId];
}

export function refundSumDayKey(accountId: AccountId, day: string): StoreKey {
  return ["refunded", accountId, day];
}

export function refundSumKey(
  accountId: AccountId,
  day: string,
  keyId: ApiKeyId,
  model: string,
): StoreKey {
  return ["refunded", accountId, day, keyId, model];
}

/** What a day sum, or a sum of refunds, is the sum of. */
export function daySumCellOf(key: Deno.KvKey): {
  readonly accountId: AccountId;
  readonly day: string;
  readonly keyId: ApiKeyId;
  readonly model: string;
} {
  const [, accountId, day, keyId, model] = key;
  invariant(typeof day === "string" && typeof model === "string", "not a key of a day sum");
  return { accountId: accountId as AccountId, day, keyId: keyId as ApiKeyId, model };
}

/** `keyId` is the hash of the key that the client chose. */
export function callIdempotencyKey(accountId: AccountId, keyId: string): StoreKey {
  return ["call_order", accountId, keyId];
}
