/**
 * The operators' second factor: one sealed TOTP secret per account, and the sessions that have passed it. A code counts
 * once: the time step of the last one is kept and only later ones are accepted (RFC 6238 section 5.2).
 */
import type { AccountId } from "../../core/lib/ids.ts";
import { operatorSessionKey, secondFactorKey } from "../schema/keys.ts";
import { addAuditLine, type Operator } from "../operators/operator_audit.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";

/**
 * Milliseconds for which a second factor is valid: an operator shows a code once per working day and browser.
 */
const secondFactorMs = 12 * 3_600_000;

/** The stored factor. The secret is sealed with the master keys. */
export interface SecondFactor {
  readonly sealedSecret: string;
  readonly createdAtMs: number;
  /** Set once a first code was right: before that it protects nothing and may be made anew. */
  readonly confirmedAtMs?: number;
  /** Time step of the last code that was accepted. */
  readonly lastStep: number;
}

/** A session that has shown a code. */
interface OperatorSession {
  readonly accountId: AccountId;
  readonly passedAtMs: number;
}

export async function getSecondFactor(
  kv: KeyValueStore,
  accountId: AccountId,
): Promise<Deno.KvEntryMaybe<SecondFactor>> {
  return await kv.get<SecondFactor>(secondFactorKey(accountId));
}

/** Keeps a new secret, unless a confirmed one is there. Returns whether it was kept. */
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
 * Uses up a right code and lets the session in. `false` if the code was used before, here or at the same moment
 * elsewhere.
 *
 * @param step the time step of the code, from the check of the code itself
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

/** Whether a session has shown a code not too long ago. The store may keep the row longer, so the time is looked at. */
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

/** For an operator who has lost the device: the next visit enrols anew. Run from the machine, not from a page. */
export async function forgetSecondFactor(kv: KeyValueStore, accountId: AccountId): Promise<void> {
  await kv.delete(secondFactorKey(accountId));
}
