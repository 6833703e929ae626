/**
 * Stores second factors, of customers and operators alike: one sealed TOTP secret per account, and
 * the sessions of operators that have shown a code. A code counts once: the time step of the last
 * one is stored and only later ones are accepted (RFC 6238 section 5.2).
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { operatorSessionKey, recoveryCodesKey, secondFactorKey } from "../../engine/schema/keys.ts";
import { type Done, operatorDoer } from "../audit/account_activity.ts";
import { personLines } from "./person_activity.ts";
import { addEndOfPasskeys, hasPasskey } from "./passkeys.ts";
import { type Actor, addAuditLine, type Operator } from "../audit/operator_audit.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { hourMs } from "../../../core/lib/time/durations.ts";

/**
 * Milliseconds for which a session needs no further code: an operator shows one per working day and
 * browser.
 */
export const secondFactorMs = 12 * hourMs;

/** The row of a second factor. Its secret is sealed with the master keys. */
export interface SecondFactor {
  readonly sealedSecret: string;
  readonly createdAtMs: number;
  /**
   * Set once the first code was right. Before that the factor protects nothing and may be replaced.
   */
  readonly confirmedAtMs?: number;
  /** Time step of the last accepted code. */
  readonly lastStep: number;
}

/** The row of a session that has shown a code. */
interface OperatorSession {
  readonly accountId: AccountId;
  readonly passedAtMs: number;
}

/** Reads the second factor of an account. */
export async function getSecondFactor(
  kv: KeyValueStore,
  accountId: AccountId,
): Promise<Deno.KvEntryMaybe<SecondFactor>> {
  return await kv.get<SecondFactor>(secondFactorKey(accountId));
}

/** Stores a new secret unless a confirmed one exists. Returns whether it was stored. */
export async function offerSecondFactor(
  kv: KeyValueStore,
  accountId: AccountId,
  sealedSecret: string,
  nowMs: number,
): Promise<boolean> {
  const entry = await getSecondFactor(kv, accountId);
  if (entry.value?.confirmedAtMs !== undefined) return false;
  const factor: SecondFactor = { sealedSecret, createdAtMs: nowMs, lastStep: 0 };
  return (await kv.atomic().check(entry).set(entry.key, factor).commit()).ok;
}

/** Whether an account is asked for a second factor when it signs in: it has an app or a passkey. */
export async function hasSecondFactor(kv: KeyValueStore, accountId: AccountId): Promise<boolean> {
  return await hasApp(kv, accountId) || await hasPasskey(kv, accountId);
}

/** Whether the app of an account is set up. */
export async function hasApp(kv: KeyValueStore, accountId: AccountId): Promise<boolean> {
  return (await getSecondFactor(kv, accountId)).value?.confirmedAtMs !== undefined;
}

/**
 * Uses up a right code; the first one confirms the factor. `false` if the code was used before,
 * also by a simultaneous request.
 *
 * @param step time step of the code, as its verification returned it
 * @param attach adds what must happen in the same commit
 */
export async function useCode(
  kv: KeyValueStore,
  entry: Deno.KvEntry<SecondFactor>,
  { step, nowMs }: { readonly step: number; readonly nowMs: number },
  attach?: (operation: AtomicWrite) => void,
): Promise<boolean> {
  if (step <= entry.value.lastStep) return false;
  const used: SecondFactor = {
    ...entry.value,
    lastStep: step,
    confirmedAtMs: entry.value.confirmedAtMs ?? nowMs,
  };
  const operation = kv.atomic().check(entry).set(entry.key, used);
  attach?.(operation);
  return (await operation.commit()).ok;
}

/** An operator's session that shows a code. */
export interface OperatorPass {
  readonly operator: Operator;
  readonly sessionId: string;
  readonly nowMs: number;
}

/** Lets a session into the operator's pages, with the audit line. */
function addOperatorPass(
  operation: AtomicWrite,
  { operator, sessionId, nowMs }: OperatorPass,
  act: "second_factor_enrolled" | "second_factor_passed",
): void {
  const session: OperatorSession = { accountId: operator.accountId, passedAtMs: nowMs };
  operation.set(operatorSessionKey(sessionId), session, { expireIn: secondFactorMs });
  const line = { act, subject: operator.accountId, detail: "", atMs: nowMs } as const;
  addAuditLine(operation, operator, line);
}

/** Uses up a right code for the operator's pages. `false` if the code was used before. */
export async function passSecondFactor(
  kv: KeyValueStore,
  entry: Deno.KvEntry<SecondFactor>,
  pass: OperatorPass & { readonly step: number },
): Promise<boolean> {
  const isFirst = entry.value.confirmedAtMs === undefined;
  const act = isFirst ? "second_factor_enrolled" : "second_factor_passed";
  return await useCode(kv, entry, pass, (operation) => addOperatorPass(operation, pass, act));
}

/**
 * Lets a session in that an operator has just signed in with a code, which cannot be shown a second
 * time.
 */
export async function passWithSignIn(kv: KeyValueStore, pass: OperatorPass): Promise<void> {
  const operation = kv.atomic();
  addOperatorPass(operation, pass, "second_factor_passed");
  await operation.commit();
}

/**
 * Whether a session has shown a code within `secondFactorMs`. The store may keep the row longer, so
 * the time is checked.
 */
export async function hasPassedSecondFactor(
  kv: KeyValueStore,
  sessionId: string,
  accountId: AccountId,
  nowMs: number,
): Promise<boolean> {
  const { value } = await kv.get<OperatorSession>(operatorSessionKey(sessionId));
  return value !== null && value.accountId === accountId &&
    nowMs < value.passedAtMs + secondFactorMs;
}

/** Adds the end of all second factors of an account to a commit. */
export async function addEndOfFactors(
  kv: KeyValueStore,
  operation: AtomicWrite,
  accountId: AccountId,
): Promise<void> {
  operation.delete(secondFactorKey(accountId)).delete(recoveryCodesKey(accountId));
  await addEndOfPasskeys(kv, operation, accountId);
}

/** Switches the app of an account off; its owner has shown a code. */
export async function endApp(kv: KeyValueStore, accountId: AccountId, done: Done): Promise<void> {
  const addLines = await personLines(kv, accountId, "app_removed", done);
  const operation = kv.atomic().delete(secondFactorKey(accountId));
  addLines(operation);
  await operation.commit();
  await endIdleRecoveryCodes(kv, accountId);
}

/** Ends the recovery codes of an account without a second factor: they would outlive what they stand for. */
export async function endIdleRecoveryCodes(
  kv: KeyValueStore,
  accountId: AccountId,
): Promise<void> {
  if (!await hasSecondFactor(kv, accountId)) await kv.delete(recoveryCodesKey(accountId));
}

/**
 * Deletes the second factors of a person who has lost the device: the next sign-in asks for none, and
 * an operator enrols again. For the command line only, not for a page.
 */
export async function forgetSecondFactor(
  kv: KeyValueStore,
  accountId: AccountId,
  { operator, nowMs }: { readonly operator: Actor; readonly nowMs: number },
): Promise<void> {
  const operation = kv.atomic();
  await addEndOfFactors(kv, operation, accountId);
  const by = operatorDoer(operator);
  (await personLines(kv, accountId, "second_factor_forgotten", { by, nowMs }))(operation);
  const line = { act: "second_factor_forgotten", subject: accountId, detail: "" } as const;
  addAuditLine(operation, operator, { ...line, atMs: nowMs });
  await operation.commit();
}
