/** Stores the recovery codes of accounts with a second factor, as hashes: each is used up once. */
import { hashRecoveryCode, newRecoveryCodes } from "../../../core/people/accounts/recovery_code.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { Done } from "../audit/account_activity.ts";
import { personLines } from "./person_activity.ts";
import { recoveryCodesKey } from "../../engine/schema/keys.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";

/** The row of the codes of an account. */
export interface RecoveryCodes {
  readonly createdAtMs: number;
  /** Hashes of the codes that were not used. */
  readonly hashes: readonly string[];
}

/** A new set of codes: its texts, which only their owner keeps, and its row. */
export interface NewRecoveryCodes {
  readonly codes: readonly string[];
  /** Adds the row to a commit. Codes of an earlier set end. */
  readonly addTo: (operation: AtomicWrite) => void;
}

/** Attempts of a check-and-set: only sign-ins with codes of one account compete. */
const useAttempts = 4;

/** Makes a set for an account; it counts once it is committed. */
export async function makeRecoveryCodes(
  accountId: AccountId,
  nowMs: number,
): Promise<NewRecoveryCodes> {
  const codes = newRecoveryCodes();
  const hashes = await Promise.all(codes.map((code) => hashRecoveryCode(accountId, code)));
  const row: RecoveryCodes = {
    createdAtMs: nowMs,
    hashes: hashes.filter((hash) => hash !== undefined),
  };
  return { codes, addTo: (operation) => void operation.set(recoveryCodesKey(accountId), row) };
}

/** Reads what is left of the codes of an account; `undefined` if it has none. */
export async function getRecoveryCodes(
  kv: KeyValueStore,
  accountId: AccountId,
): Promise<RecoveryCodes | undefined> {
  return (await kv.get<RecoveryCodes>(recoveryCodesKey(accountId))).value ?? undefined;
}

/** Uses a code up. `false` if it is wrong or was used, also by a simultaneous request. */
export async function useRecoveryCode(
  kv: KeyValueStore,
  accountId: AccountId,
  typed: string,
  done: Done,
): Promise<boolean> {
  const hash = await hashRecoveryCode(accountId, typed);
  if (hash === undefined) return false;
  const addLines = await personLines(kv, accountId, "recovery_code_used", done);
  const outcome = await compareAndSet<boolean>(async () => {
    const entry = await kv.get<RecoveryCodes>(recoveryCodesKey(accountId));
    if (entry.value === null || !entry.value.hashes.includes(hash)) return { done: false };
    const hashes = entry.value.hashes.filter((one) => one !== hash);
    const rest: RecoveryCodes = { ...entry.value, hashes };
    const operation = kv.atomic().check(entry).set(entry.key, rest);
    addLines(operation);
    return (await operation.commit()).ok ? { done: true } : "again";
  }, { attempts: useAttempts });
  return outcome !== "conflict" && outcome.done;
}
