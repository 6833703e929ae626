/** Keeps which kinds of mails a customer was sent, and when: never what they say. For support, who ask "did you get it?". */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { accountKey, accountMailsKey } from "../../engine/schema/keys.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import type { Account } from "./accounts.ts";

/** Mails that are kept of one customer: those of the last weeks. */
export const maxMailsKept = 30;

/** Attempts of one write; mails of one customer are rarely sent at once. */
const writeAttempts = 4;

/** A mail that was sent, or given up. */
export interface SentMail {
  /** A kind of mail, perhaps one of a later version. */
  readonly kind: string;
  readonly atMs: number;
  /** No server took it, after all attempts. */
  readonly failed?: true;
}

/** Lists the mails of a customer, newest first. */
export async function listSentMails(
  kv: KeyValueStore,
  accountId: AccountId,
): Promise<readonly SentMail[]> {
  return (await kv.get<readonly SentMail[]>(accountMailsKey(accountId))).value ?? [];
}

/** Notes a mail. It is no harm if a note is lost: the mail was sent all the same. */
export async function noteSentMail(
  kv: KeyValueStore,
  accountId: AccountId,
  mail: SentMail,
): Promise<void> {
  await compareAndSet<void>(async () => {
    const [account, mails] = await kv.getMany<[Account, readonly SentMail[]]>([
      accountKey(accountId),
      accountMailsKey(accountId),
    ]);
    if (account.value === null || account.value.deletedAtMs !== undefined) {
      return { done: undefined };
    }
    const kept = [mail, ...mails.value ?? []].slice(0, maxMailsKept);
    const operation = kv.atomic().check(account, mails).set(mails.key, kept);
    return (await operation.commit()).ok ? { done: undefined } : "again";
  }, { attempts: writeAttempts });
}
