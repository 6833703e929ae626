/** Builds keys of calls: receipts, their index, day sums and refunds. */
import { invariant } from "../../../core/lib/base/assert.ts";
import type {
  AccountId,
  ApiKeyId,
  InstanceId,
  RequestId,
  VideoId,
} from "../../../core/lib/ids/ids.ts";
import type { StoreKey } from "./store_key.ts";

// Builds keys of video tasks. A task is stored under its owner, so that a foreign id finds nothing.
// Open tasks have an index.

export function allVideosPrefix(): StoreKey {
  return ["video"];
}

export function videosOfPrefix(accountId: AccountId): StoreKey {
  return ["video", accountId];
}

export function videoKey(accountId: AccountId, videoId: VideoId): StoreKey {
  return ["video", accountId, videoId];
}

/** Returns the task of a row of either kind: the last part in both. */
export function videoOf(key: Deno.KvKey): VideoId {
  return String(key.at(-1)) as VideoId;
}

/** Selects the tasks of an account after `after` in time, or before it. */
export function videosBesideSelector(
  accountId: AccountId,
  after: VideoId | undefined,
  order: "asc" | "desc",
): Deno.KvListSelector {
  const prefix = videosOfPrefix(accountId);
  if (after === undefined) return { prefix };
  // With an additional part it is the first key behind that of `after`.
  return order === "desc"
    ? { prefix, end: videoKey(accountId, after) }
    : { prefix, start: [...videoKey(accountId, after), ""] };
}

export function openVideosPrefix(): StoreKey {
  return ["video_open"];
}

export function openVideoKey(videoId: VideoId): StoreKey {
  return ["video_open", videoId];
}

/** Key of the idempotency row of a video. `keyId` is the hash of the key that the client chose. */
export function videoIdempotencyKey(accountId: AccountId, keyId: string): StoreKey {
  return ["video_order", accountId, keyId];
}

// Receipts on pages by request id (ascending in time, so rows are appended), batches that are not
// indexed yet, the index, and day sums.

export function receiptsPrefix(): StoreKey {
  return ["receipt"];
}

/** Key of a page. `newest` is its last request id, or a bound for a range. */
export function receiptPageKey(newest: string): StoreKey {
  return ["receipt", newest];
}

/** Returns the last request id on a page. */
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

/** Returns the instance and the commit of a batch. */
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

/** Key of a page of the index. `newest` is its last request id, or a bound for a range. */
export function indexPageKey(accountId: AccountId, newest: string): StoreKey {
  return ["receipts_of", accountId, newest];
}

/** Returns the last request id on a page of the index. */
export function newestOnIndexPage(key: Deno.KvKey): RequestId {
  return String(key[2]) as RequestId;
}

export function allFailedPagesPrefix(): StoreKey {
  return ["failed_of"];
}

/** The index of failed calls with a receipt, in pages like those of the whole index. */
export function failedPagesPrefix(accountId: AccountId): StoreKey {
  return ["failed_of", accountId];
}

export function failedPageKey(accountId: AccountId, newest: string): StoreKey {
  return ["failed_of", accountId, newest];
}

export function daySumsPrefix(): StoreKey {
  return ["usage"];
}

export function daySumsOfPrefix(accountId: AccountId): StoreKey {
  return ["usage", accountId];
}

/**
 * Key of the sums of a day. `day` is `YYYY-MM-DD` in Vietnam time: it sorts as text, so a range of
 * days is a range of keys.
 */
export function daySumsOfDayKey(accountId: AccountId, day: string): StoreKey {
  return ["usage", accountId, day];
}

/** Selects the sums of a day, or those of one key. */
export function daySumsOfDayPrefix(accountId: AccountId, day: string, keyId?: string): StoreKey {
  return keyId === undefined ? ["usage", accountId, day] : ["usage", accountId, day, keyId];
}

export function daySumKey(
  accountId: AccountId,
  day: string,
  keyId: ApiKeyId,
  model: string,
): StoreKey {
  return ["usage", accountId, day, keyId, model];
}

// Sums by tag: rows per day sum, in the order in which they are read: a day, a key of tags, a value.

/** Selects the rows of a day, of one key of tags, or of one tag. */
export function tagSumsPrefix(
  accountId: AccountId,
  day: string,
  tag?: { readonly key: string; readonly value?: string | undefined },
): StoreKey {
  const some = tag === undefined ? [] : tag.value === undefined ? [tag.key] : [tag.key, tag.value];
  return ["usage_tags", accountId, day, ...some];
}

/** Selects the rows of all accounts. */
export function allTagSumsPrefix(): StoreKey {
  return ["usage_tags"];
}

/** The rows of an account from a day on. */
export function tagSumsFromDay(accountId: AccountId, day: string): Deno.KvListSelector {
  return { prefix: ["usage_tags", accountId], start: ["usage_tags", accountId, day] };
}

/** The rows of all accounts behind one. */
export function tagSumsAfter(accountId: AccountId): Deno.KvListSelector {
  return { prefix: ["usage_tags"], start: ["usage_tags", `${accountId}\0`] };
}

export function tagSumKey(
  { accountId, day, keyId, model }: {
    readonly accountId: AccountId;
    readonly day: string;
    readonly keyId: ApiKeyId;
    readonly model: string;
  },
  tag: { readonly key: string; readonly value: string },
): StoreKey {
  return ["usage_tags", accountId, day, tag.key, tag.value, keyId, model];
}

/** The part of a day sum that has a tag. */
interface TagCell {
  readonly accountId: AccountId;
  readonly day: string;
  readonly tag: { readonly key: string; readonly value: string };
  readonly keyId: ApiKeyId;
  readonly model: string;
}

/** Returns what a row of sums by tag is about. */
export function tagSumOf([, accountId, day, tagKey, value, keyId, model]: Deno.KvKey): TagCell {
  return tagCell([accountId, day, tagKey, value, keyId, model]);
}

function tagCell(
  [accountId, day, tagKey, value, keyId, model]: readonly (Deno.KvKeyPart | undefined)[],
): TagCell {
  invariant(typeof day === "string" && typeof model === "string", "not a key of sums by tag");
  return {
    accountId: accountId as AccountId,
    day,
    tag: { key: String(tagKey), value: String(value) },
    keyId: keyId as ApiKeyId,
    model,
  };
}

// Sums by hour: a row per day sum, and rows for refused calls. The day comes first, since operators read the hours of all
// accounts; the rows of a day expire together.

export function hourSumsPrefix(): StoreKey {
  return ["usage_hours"];
}

export function hourSumsOfDayPrefix(day: string): StoreKey {
  return ["usage_hours", day];
}

export function hourSumsOfAccountPrefix(
  day: string,
  accountId: AccountId,
  keyId?: string,
): StoreKey {
  const ofAccount = ["usage_hours", day, accountId] as const;
  return keyId === undefined ? ofAccount : [...ofAccount, keyId];
}

export function hourSumsKey(
  day: string,
  accountId: AccountId,
  keyId: ApiKeyId,
  model: string,
): StoreKey {
  return ["usage_hours", day, accountId, keyId, model];
}

export function refusedHoursPrefix(): StoreKey {
  return ["refused_hours"];
}

export function refusedHoursOfDayPrefix(day: string): StoreKey {
  return ["refused_hours", day];
}

export function refusedHoursOfAccountPrefix(day: string, accountId: AccountId): StoreKey {
  return ["refused_hours", day, accountId];
}

/** Key of the refusals that one writer counted. An empty `model` stands for calls that did not come that far. */
export function refusedHoursKey(
  { day, accountId, keyId, model }: {
    readonly day: string;
    readonly accountId: AccountId;
    readonly keyId: ApiKeyId;
    readonly model: string;
  },
  writer: string,
): StoreKey {
  return ["refused_hours", day, accountId, keyId, model, writer];
}

/** Returns what a row of sums by hour is about, of either kind. */
export function hourCellOf(key: Deno.KvKey): {
  readonly accountId: AccountId;
  readonly day: string;
  readonly keyId: ApiKeyId;
  readonly model: string;
} {
  const [, day, accountId, keyId, model] = key;
  invariant(typeof day === "string" && typeof model === "string", "not a key of sums by hour");
  return { accountId: accountId as AccountId, day, keyId: keyId as ApiKeyId, model };
}

// Claims on providers: what they reported beyond what was charged, by day and route, with a row for
// each commit.

export function claimsPrefix(): StoreKey {
  return ["provider_claim"];
}

export function claimKey(
  { day, route }: { readonly day: string; readonly route: string },
  { instanceId, commit }: { readonly instanceId: InstanceId; readonly commit: number },
): StoreKey {
  return ["provider_claim", day, route, instanceId, commit];
}

/** Selects the rows of some days, both included. */
export function claimDaysRange(
  { fromDay, toDay }: { readonly fromDay: string; readonly toDay: string },
): { readonly start: StoreKey; readonly end: StoreKey } {
  return { start: ["provider_claim", fromDay], end: ["provider_claim", `${toDay}~`] };
}

/** Returns the day and route of a row of claims. */
export function claimCellOf(
  key: Deno.KvKey,
): { readonly day: string; readonly route: string } {
  return { day: String(key[1]), route: String(key[2]) };
}

// Refunds of charged calls, by the cell of the day sum that their receipts are in.

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

// Refunds of calls with a tag, by the same cell. The tag comes before the day: budgets read the days of one tag.

/** Selects the rows of all accounts, or of one. */
export function tagRefundsPrefix(accountId?: AccountId): StoreKey {
  return accountId === undefined ? ["refunded_tags"] : ["refunded_tags", accountId];
}

/** Selects the rows of one key of tags. */
export function tagRefundsOfPrefix(accountId: AccountId, tagKey: string): StoreKey {
  return ["refunded_tags", accountId, tagKey];
}

/** Key at which the rows of one tag begin that are of a day. */
export function tagRefundDayKey(
  accountId: AccountId,
  { key, value }: { readonly key: string; readonly value: string },
  day: string,
): StoreKey {
  return ["refunded_tags", accountId, key, value, day];
}

export function tagRefundKey(
  { accountId, day, keyId, model }: Omit<TagCell, "tag">,
  tag: { readonly key: string; readonly value: string },
): StoreKey {
  return ["refunded_tags", accountId, tag.key, tag.value, day, keyId, model];
}

/** Returns what a row of refunds by tag is about. */
export function tagRefundOf(
  [, accountId, tagKey, value, day, keyId, model]: Deno.KvKey,
): TagCell {
  return tagCell([accountId, day, tagKey, value, keyId, model]);
}

/** Returns the cell of a day sum or of a sum of refunds. */
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

/** Key of the idempotency row of a call. `keyId` is the hash of the key that the client chose. */
export function callIdempotencyKey(accountId: AccountId, keyId: string): StoreKey {
  return ["call_order", accountId, keyId];
}

// Refused calls, by account, and the account of each by its id, i.e. in order of time.

export function refusedCallsPrefix(accountId: AccountId): StoreKey {
  return ["refused_call", accountId];
}

/** Key of a refused call. `requestId` is its id, or a bound for a range. */
export function refusedCallKey(accountId: AccountId, requestId: string): StoreKey {
  return ["refused_call", accountId, requestId];
}

export function refusedCallsByIdPrefix(): StoreKey {
  return ["refused_call_by_id"];
}

/** Key of the row that names the account of a refused call. `requestId` is its id, or a bound for a range. */
export function refusedCallByIdKey(requestId: string): StoreKey {
  return ["refused_call_by_id", requestId];
}

/** Selects the rows that name accounts before an id, or a bound that is no id. */
export function refusedCallsByIdBefore(requestId: string): Deno.KvListSelector {
  return { prefix: ["refused_call_by_id"], end: ["refused_call_by_id", requestId] };
}

/** Returns the request id of a refused call, of either kind of row. */
export function refusedCallOf(key: Deno.KvKey): RequestId {
  return String(key.at(-1)) as RequestId;
}
