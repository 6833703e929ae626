/** Signed-in browsers. The token is in the browser's cookie; the store has only its hash. */
import type { AccountId } from "../../core/lib/ids.ts";
import {
  isSessionAlive,
  needsTouch,
  type Session,
  sessionAbsoluteMs,
} from "../../core/accounts/session_rules.ts";
import { hashSecret, newSecretToken } from "../../core/accounts/secret_token.ts";
import {
  accountSessionKey,
  accountSessionsPrefix,
  sessionIdOf,
  sessionKey,
} from "../schema/keys.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";

/** Signed-in browsers of one account: a person has a handful. Beyond it the oldest is signed out. */
export const sessionsPerAccount = 20;

/** Session rows read for a list: expired rows may remain among the valid ones. */
const maxSessionsListed = 200;

/** What is known when somebody signs in. */
export interface NewSession {
  readonly accountId: AccountId;
  readonly nowMs: number;
  readonly method: Session["method"];
  readonly device: string;
  readonly address: string;
}

function hashToken(token: string): Promise<string> {
  return hashSecret("session", token);
}

/**
 * Opens a session under a fresh token. Always fresh: a token that a browser brought along is never taken over, so an
 * attacker cannot plant one (session fixation). Beyond {@linkcode sessionsPerAccount} the oldest one ends.
 */
export async function openSession(
  kv: KeyValueStore,
  input: NewSession,
): Promise<{ token: string; session: Session }> {
  const token = newSecretToken();
  const tokenHash = await hashToken(token);
  const session: Session = {
    id: newSecretToken().slice(0, 16),
    accountId: input.accountId,
    createdAtMs: input.nowMs,
    lastSeenAtMs: input.nowMs,
    method: input.method,
    device: input.device,
    address: input.address,
  };
  const expireIn = sessionAbsoluteMs;
  await kv.atomic()
    .set(sessionKey(tokenHash), session, { expireIn })
    .set(accountSessionKey(input.accountId, session.id), tokenHash, { expireIn })
    .commit();
  const all = await listSessions(kv, input.accountId, input.nowMs);
  for (const old of all.slice(sessionsPerAccount)) {
    await closeSessionById(kv, input.accountId, old.id);
  }
  return { token, session };
}

/** The session of a cookie's token, if it still counts. Notes the time of this click now and then. */
export async function findSession(
  kv: KeyValueStore,
  token: string,
  nowMs: number,
): Promise<Session | undefined> {
  if (token.length > 64) return undefined;
  const entry = await kv.get<Session>(sessionKey(await hashToken(token)));
  const session = entry.value;
  if (session === null || !isSessionAlive(session, nowMs)) return undefined;
  if (!needsTouch(session, nowMs)) return session;
  const touched: Session = { ...session, lastSeenAtMs: nowMs };
  const expireIn = Math.max(0, Math.ceil(session.createdAtMs + sessionAbsoluteMs - nowMs));
  // Losing this race means that another click wrote the time, or that the session was just closed.
  await kv.atomic().check(entry).set(entry.key, touched, { expireIn }).commit();
  return touched;
}

/** Ends the session of a cookie's token. Ending one that does not exist is fine. */
export async function closeSession(kv: KeyValueStore, token: string): Promise<void> {
  const key = sessionKey(await hashToken(token));
  const { value } = await kv.get<Session>(key);
  const atomic = kv.atomic().delete(key);
  if (value !== null) atomic.delete(accountSessionKey(value.accountId, value.id));
  await atomic.commit();
}

/** Ends one session of the account from afar. Returns `false` if the account has no such session. */
export async function closeSessionById(
  kv: KeyValueStore,
  accountId: AccountId,
  sessionId: string,
): Promise<boolean> {
  const indexKey = accountSessionKey(accountId, sessionId);
  const { value: tokenHash } = await kv.get<string>(indexKey);
  if (tokenHash === null) return false;
  await kv.atomic().delete(indexKey).delete(sessionKey(tokenHash)).commit();
  return true;
}

/** The living sessions of an account, newest first. */
export async function listSessions(
  kv: KeyValueStore,
  accountId: AccountId,
  nowMs: number,
): Promise<Session[]> {
  const sessions: Session[] = [];
  const rows = kv.list<string>({ prefix: accountSessionsPrefix(accountId) }, {
    limit: maxSessionsListed,
  });
  for await (const { value: tokenHash } of rows) {
    const { value } = await kv.get<Session>(sessionKey(tokenHash));
    if (value !== null && isSessionAlive(value, nowMs)) sessions.push(value);
  }
  return sessions.sort((a, b) => b.createdAtMs - a.createdAtMs);
}

/** Ends every session of the account, except the one given (after a change of password: the browser that made it). */
export async function closeSessionsOf(
  kv: KeyValueStore,
  accountId: AccountId,
  exceptSessionId?: string,
): Promise<void> {
  const rows = kv.list<string>({ prefix: accountSessionsPrefix(accountId) });
  for await (const { key, value: tokenHash } of rows) {
    if (sessionIdOf(key) === exceptSessionId) continue;
    await kv.atomic().delete(key).delete(sessionKey(tokenHash)).commit();
  }
}
