/**
 * Keeps the journal of bank notices. A notice is stored before anything else happens. Matching
 * follows and can be repeated at any time, since the state of a notice and the money that it moves
 * change in one commit.
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import {
  type BankNotice,
  type BankSource,
  bankSources,
  isEventId,
  plainReference,
} from "../../../core/trade/bank/bank_notice.ts";
import type { OrderCode } from "../../../core/trade/bank/order_code.ts";
import { plainAccountNumber } from "../../../core/trade/bank/receiving_account.ts";
import {
  bankNoticeByTimeKey,
  bankNoticeKey,
  bankNoticesByTimePrefix,
  bankReviewKey,
  bankReviewsPrefix,
  closedUnreadableNoticeKey,
  noticeOfKey,
  unmatchedBankNoticeKey,
  unmatchedBankNoticesPrefix,
  unreadableNoticeKey,
  unreadableNoticesPrefix,
} from "../../engine/schema/keys.ts";
import { type Actor, addAuditLine, type Operator } from "../../people/audit/operator_audit.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { listBatchRows } from "../../engine/store/read_ahead.ts";
import { sha256 } from "../../../core/lib/hash/sha256.ts";

// Keeps genuine bank notices that could not be read, or contradict one with the same id. They may
// stand for money, so they stay open until a person has looked at them and set them aside.

/** Characters of a notice that are kept for staff: at two bytes each within the 64 KiB of a row. */
export const bankNoticeKeptChars = 30_000;

/** Most unreadable notices in a list; a changed format of a bank is noticed long before. */
const maxUnreadableNoticesListed = 1_000;

/** A notice as it arrived. */
export interface UnreadableNotice {
  readonly source: BankSource;
  readonly reason: string;
  /** Cut at a bound. For staff. */
  readonly raw: string;
  readonly receivedAtMs: number;
  readonly contentHash: string;
}

async function contentHashOf(text: string): Promise<string> {
  return (await sha256(text)).subarray(0, 16).toHex();
}

/** Stores a notice, the same text only once, also after it was set aside. */
export async function keepUnreadable(
  kv: KeyValueStore,
  notice: Omit<UnreadableNotice, "contentHash">,
): Promise<void> {
  const raw = notice.raw.slice(0, bankNoticeKeptChars);
  const contentHash = await contentHashOf(`${notice.reason}\n${notice.raw}`);
  const key = unreadableNoticeKey(notice.source, contentHash);
  const kept: UnreadableNotice = { ...notice, raw, contentHash };
  // A failed check means that the notice is stored already.
  await kv.atomic()
    .check({ key, versionstamp: null })
    .check({ key: closedUnreadableNoticeKey(notice.source, contentHash), versionstamp: null })
    .set(key, kept)
    .commit();
}

/** Lists open notices, oldest first, at most `maxUnreadableNoticesListed`. */
export async function listUnreadable(kv: KeyValueStore): Promise<UnreadableNotice[]> {
  const rows = kv.list<UnreadableNotice>(
    { prefix: unreadableNoticesPrefix() },
    { limit: maxUnreadableNoticesListed, batchSize: listBatchRows },
  );
  // Keys are hashes of the content, so that a repeated notice is recognized; the list is sorted
  // here.
  return (await Array.fromAsync(rows)).map(({ value }) => value)
    .sort((one, other) => one.receivedAtMs - other.receivedAtMs);
}

/**
 * Sets a notice aside, with a note on what was done. It stays in the store.
 *
 * @returns `false` if it is not open (any more)
 */
export async function setAsideUnreadable(
  kv: KeyValueStore,
  ref: Pick<UnreadableNotice, "source" | "contentHash">,
  act: { readonly operator: Actor; readonly nowMs: number; readonly note: string },
): Promise<boolean> {
  const { source, contentHash } = ref;
  const entry = await kv.get<UnreadableNotice>(unreadableNoticeKey(source, contentHash));
  if (entry.value === null) return false;
  const operation = kv.atomic()
    .check(entry)
    .delete(entry.key)
    .set(closedUnreadableNoticeKey(source, contentHash), {
      ...entry.value,
      by: act.operator.email,
      note: act.note,
      atMs: act.nowMs,
    });
  addAuditLine(operation, act.operator, {
    act: "unreadable_notice_closed",
    subject: `${source}:${contentHash}`,
    detail: act.note,
    atMs: act.nowMs,
  });
  return (await operation.commit()).ok;
}

/** Identifies a notice. */
export interface BankNoticeRef {
  readonly source: BankSource;
  readonly id: string;
}

/** The reason why a notice waits for a person. */
export type ReviewReason =
  | "no_code"
  | "unknown_code"
  | "several_accounts"
  | "order_cancelled"
  | "account_closed"
  | "account_blocked"
  | "wrong_account"
  | "amount_over_limit"
  /** Another notice may report the same movement: see `about`. */
  | "possible_duplicate"
  /**
   * The number of the payer's account is one of the operator's own, but the memo names an order.
   */
  | "payer_number_of_ours"
  /** Money was moved by hand under the operation id of its credit. */
  | "credited_by_hand"
  /** It is a row of a file that an operator imported, and the money would be theirs. */
  | "import_own_account"
  /**
   * It is a row of a file that an operator imported, and the sum is above what they may move alone.
   */
  | "import_over_limit"
  /** An operator returned it to the queue. */
  | "returned";

/** The kinds of states of a notice. */
export const bankNoticeStates = [
  "received",
  "credited",
  "review",
  "ignored",
  "duplicate",
  "refund_pending",
  "refunded",
] as const satisfies readonly BankNoticeState["kind"][];

/** The state of a notice. */
export type BankNoticeState =
  | { readonly kind: "received" }
  | {
    readonly kind: "credited";
    readonly accountId: AccountId;
    readonly orderCode?: OrderCode;
    /** The operator's e-mail, or `auto`. */
    readonly by: string;
    readonly atMs: number;
  }
  | {
    readonly kind: "review";
    readonly reason: ReviewReason;
    readonly about?: BankNoticeRef;
    readonly atMs: number;
  }
  | {
    readonly kind: "ignored";
    readonly reason: "outgoing" | "zero" | "own_transfer" | "operator";
    readonly by: string;
    readonly note?: string;
    readonly atMs: number;
  }
  /** Reports the same movement as the notice `of` from another source. */
  | {
    readonly kind: "duplicate";
    readonly of: BankNoticeRef;
    readonly by: string;
    readonly atMs: number;
  }
  | {
    readonly kind: "refund_pending";
    readonly by: string;
    readonly note: string;
    readonly atMs: number;
  }
  | {
    readonly kind: "refunded";
    readonly by: string;
    readonly bankReference: string;
    readonly atMs: number;
  };

/** One row of the journal. Only its state changes. */
export interface BankNoticeRow {
  readonly event: BankNotice;
  /**
   * The notice as it arrived (for an import the row of the statement), cut at a bound. For staff.
   */
  readonly raw: string;
  readonly receivedAtMs: number;
  readonly state: BankNoticeState;
  /** Operator who uploaded the file that the notice is a row of. Such a row is no proof by itself. */
  readonly importedBy?: Operator;
}

/**
 * `known`: stored before. `contradicts`: the same id with another amount, account or time; kept for
 * staff.
 */
export type JournalResult = "new" | "known" | "contradicts";

/**
 * Returns what two notices with the same id must share to be the same notice. Balances and texts
 * may differ between deliveries.
 */
function essence(event: BankNotice): string {
  return JSON.stringify([
    plainAccountNumber(event.account),
    event.direction,
    event.amountMicroVnd.toString(),
    event.time.atMs,
    plainReference(event.reference),
  ]);
}

/**
 * Stores a notice, once. A second delivery is `known` and changes nothing.
 *
 * @throws the error of the store: the caller then answers with 5xx, so that the provider sends the
 * notice again
 */
export async function journalBankNotice(
  kv: KeyValueStore,
  event: BankNotice,
  raw: string,
  nowMs: number,
  importedBy?: Operator,
): Promise<JournalResult> {
  const key = bankNoticeKey(event.source, event.id);
  const row: BankNoticeRow = {
    event,
    raw: raw.slice(0, bankNoticeKeptChars),
    receivedAtMs: nowMs,
    state: { kind: "received" },
    ...defined({ importedBy }),
  };
  const written = await kv.atomic()
    .check({ key, versionstamp: null })
    .set(key, row)
    .set(bankNoticeByTimeKey(nowMs, event.source, event.id), null)
    .set(unmatchedBankNoticeKey(event.source, event.id), nowMs)
    .commit();
  if (written.ok) return "new";
  const known = await kv.get<BankNoticeRow>(key);
  if (known.value !== null && essence(known.value.event) === essence(event)) return "known";
  const { source } = event;
  await keepUnreadable(kv, { source, reason: "same id, other content", raw, receivedAtMs: nowMs });
  return "contradicts";
}

/** Reads one notice of the journal. */
export async function getBankNotice(
  kv: KeyValueStore,
  ref: BankNoticeRef,
): Promise<Deno.KvEntryMaybe<BankNoticeRow>> {
  return await kv.get<BankNoticeRow>(bankNoticeKey(ref.source, ref.id));
}

/**
 * Adds to an atomic write: the notice gets a new state if it is unchanged since it was read.
 * Updates the indexes.
 */
export function changeBankNotice(
  operation: AtomicWrite,
  entry: Deno.KvEntry<BankNoticeRow>,
  state: BankNoticeState,
): void {
  const { event, receivedAtMs } = entry.value;
  const reviewKey = bankReviewKey(receivedAtMs, event.source, event.id);
  operation.check(entry)
    .set(entry.key, { ...entry.value, state } satisfies BankNoticeRow)
    .delete(unmatchedBankNoticeKey(event.source, event.id));
  if (state.kind === "review" || state.kind === "refund_pending") operation.set(reviewKey, null);
  else operation.delete(reviewKey);
}

/** Lists notices that are stored but not matched yet, with their time of arrival. */
export async function listUnmatched(
  kv: KeyValueStore,
  count: number,
): Promise<{ ref: BankNoticeRef; receivedAtMs: number }[]> {
  const rows = kv.list<number>({ prefix: unmatchedBankNoticesPrefix() }, { limit: count });
  return (await Array.fromAsync(rows)).map(({ key, value }) => ({
    ref: noticeOfKey(key),
    receivedAtMs: value,
  }));
}

async function rowsOf(kv: KeyValueStore, keys: readonly Deno.KvKey[]): Promise<BankNoticeRow[]> {
  const entries = await Promise.all(keys.map((key) => getBankNotice(kv, noticeOfKey(key))));
  return entries.flatMap(({ value }) => value === null ? [] : [value]);
}

/**
 * A position in the journal. The time alone is not enough: many notices may arrive in one
 * millisecond.
 */
export interface JournalMark extends BankNoticeRef {
  readonly receivedAtMs: number;
}

/**
 * Lists notices that wait for a person, oldest first; `after` is the last row of the previous page, be it still among
 * them or not.
 */
export async function listReviews(
  kv: KeyValueStore,
  count: number,
  after?: JournalMark,
): Promise<BankNoticeRow[]> {
  const prefix = bankReviewsPrefix();
  const from = after && bankReviewKey(after.receivedAtMs, after.source, after.id);
  const selector = from === undefined ? { prefix } : { prefix, start: from };
  // One more than asked for: the row of the mark itself, if it still waits.
  const rows = kv.list(selector, { limit: count + 1 });
  const keys = (await Array.fromAsync(rows)).map(({ key }) => key);
  const isMark = (key: Deno.KvKey) => after !== undefined && isSameNotice(noticeOfKey(key), after);
  return await rowsOf(kv, keys.filter((key) => !isMark(key)).slice(0, count));
}

function isSameNotice(one: BankNoticeRef, other: BankNoticeRef): boolean {
  return one.source === other.source && one.id === other.id;
}

/** Lists the journal, newest first; `before` is the last row of the previous page. */
export async function listBankNotices(
  kv: KeyValueStore,
  options: { readonly count: number; readonly before?: JournalMark },
): Promise<BankNoticeRow[]> {
  const prefix = bankNoticesByTimePrefix();
  const { before } = options;
  const selector = before === undefined
    ? { prefix }
    : { prefix, end: bankNoticeByTimeKey(before.receivedAtMs, before.source, before.id) };
  const rows = kv.list(selector, { limit: options.count, reverse: true });
  return await rowsOf(kv, (await Array.fromAsync(rows)).map(({ key }) => key));
}

/** Returns the position of a row, for the following page. */
export function journalMark({ event, receivedAtMs }: BankNoticeRow): JournalMark {
  return { receivedAtMs, source: event.source, id: event.id };
}

/** Writes a position in the journal as one text, for addresses. */
export function journalMarkText({ receivedAtMs, source, id }: JournalMark): string {
  return `${receivedAtMs}:${source}:${id}`;
}

/** Reads such a text; `undefined` if it is none. */
export function parseJournalMark(text: string): JournalMark | undefined {
  const [at, source, ...id] = text.split(":");
  const known = bankSources.find((one) => one === source);
  const receivedAtMs = /^\d{1,15}$/.test(at ?? "") ? Number(at) : undefined;
  const eventId = id.join(":");
  return known !== undefined && receivedAtMs !== undefined && isEventId(eventId)
    ? { receivedAtMs, source: known, id: eventId }
    : undefined;
}
