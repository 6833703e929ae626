/** Keeps notes of operators about a customer: a few short texts, newest first. The audit log has all of them. */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { accountKey, accountNotesKey } from "../../engine/schema/keys.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { type Actor, addAuditLine } from "../audit/operator_audit.ts";
import type { Account } from "./accounts.ts";

/** Characters of a note: a few sentences. */
export const maxNoteChars = 500;

/** Notes that are kept of one customer: what a person reads, and a row far below the bound of a value. */
export const maxNotes = 20;

/** Attempts of one write; only other operators compete for the row. */
const writeAttempts = 4;

/** A note. */
export interface AccountNote {
  readonly atMs: number;
  /** The address of the operator at that time. */
  readonly by: string;
  readonly text: string;
}

/** Lists the notes about a customer, newest first. */
export async function listNotes(
  kv: KeyValueStore,
  accountId: AccountId,
): Promise<readonly AccountNote[]> {
  return (await kv.get<readonly AccountNote[]>(accountNotesKey(accountId))).value ?? [];
}

/**
 * Adds a note, with its audit line. The oldest makes room.
 *
 * @returns the notes with the new one; `undefined` if there is no such account, or it was deleted
 */
export async function addNote(
  kv: KeyValueStore,
  accountId: AccountId,
  text: string,
  { operator, nowMs }: { readonly operator: Actor; readonly nowMs: number },
): Promise<readonly AccountNote[] | "conflict" | undefined> {
  type Result = readonly AccountNote[] | undefined;
  const outcome = await compareAndSet<Result>(async () => {
    const [account, notes] = await kv.getMany<[Account, readonly AccountNote[]]>([
      accountKey(accountId),
      accountNotesKey(accountId),
    ]);
    if (account.value === null || account.value.deletedAtMs !== undefined) {
      return { done: undefined };
    }
    const note = { atMs: nowMs, by: operator.email, text: text.slice(0, maxNoteChars) };
    const kept = [note, ...notes.value ?? []].slice(0, maxNotes);
    const operation = kv.atomic().check(account, notes).set(notes.key, kept);
    addAuditLine(operation, operator, {
      act: "note_added",
      subject: accountId,
      detail: note.text,
      atMs: nowMs,
    });
    return (await operation.commit()).ok ? { done: kept } : "again";
  }, { attempts: writeAttempts });
  return outcome === "conflict" ? outcome : outcome.done;
}
