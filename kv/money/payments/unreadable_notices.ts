/**
 * Keeps genuine bank notices that could not be read, or contradict one with the same id. They may
 * stand for money, so they stay open until a person has looked at them and set them aside.
 */
import type { BankSource } from "../../../core/trade/bank/bank_notice.ts";
import { listBatchRows } from "../../engine/store/whole_kind.ts";
import { sha256 } from "../../../core/lib/hash/sha256.ts";
import {
  closedUnreadableNoticeKey,
  unreadableNoticeKey,
  unreadableNoticesPrefix,
} from "../../engine/schema/keys.ts";
import { addAuditLine, type Operator } from "../../people/audit/operator_audit.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

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
  act: { readonly operator: Operator; readonly nowMs: number; readonly note: string },
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
