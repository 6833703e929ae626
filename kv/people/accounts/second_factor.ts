/**
 * Stores the second factor of operators: one sealed TOTP secret per account, and the sessions that
 * have shown a code. A code counts once: the time step of the last one is stored and only later
 * ones are accepted (RFC 6238 section 5.2).
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { operatorSessionKey, secondFactorKey } from "../../engine/schema/keys.ts";
import { type Actor, addAuditLine, type Operator } from "../audit/operator_audit.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
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

/**
 * Uses up a right code and lets the session pass. `false` if the code was used before, also by a
 * simultaneous request.
 *
 * @param step time step of the code, as its verification returned it
 */
export async function passSecondFactor(
  kv: KeyValueStore,
  entry: Deno.KvEntry<SecondFactor>,
  pass: {
    readonly operator: Operator;
    readonly sessionId: string;
    readonly step: number;
    readonly nowMs: number;
  },
): Promise<boolean> {
  const { operator, nowMs, step } = pass;
  if (step <= entry.value.lastStep) return false;
  const isFirst = entry.value.confirmedAtMs === undefined;
  const session: OperatorSession = { accountId: operator.accountId, passedAtMs: nowMs };
  const operation = kv.atomic().check(entry)
    .set(
      entry.key,
      {
        ...entry.value,
        lastStep: step,
        confirmedAtMs: entry.value.confirmedAtMs ?? nowMs,
      } satisfies SecondFactor,
    )
    .set(operatorSessionKey(pass.sessionId), session, { expireIn: secondFactorMs });
  addAuditLine(operation, operator, {
    act: isFirst ? "second_factor_enrolled" : "second_factor_passed",
    subject: operator.accountId,
    detail: "",
    atMs: nowMs,
  });
  return (await operation.commit()).ok;
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

/**
 * Deletes the second factor of an operator who has lost the device; the next visit enrols again.
 * For the command line only, not for a page.
 */
export async function forgetSecondFactor(
  kv: KeyValueStore,
  accountId: AccountId,
  { operator, nowMs }: { readonly operator: Actor; readonly nowMs: number },
): Promise<void> {
  const operation = kv.atomic().delete(secondFactorKey(accountId));
  const line = { act: "second_factor_forgotten", subject: accountId, detail: "" } as const;
  addAuditLine(operation, operator, { ...line, atMs: nowMs });
  await operation.commit();
}
