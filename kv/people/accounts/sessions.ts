/** Stores sessions of signed-in browsers. The cookie has the token, the store only its hash. */
import { type Actor, addAuditLine } from "../audit/operator_audit.ts";
import { addAct, addActivity, type Done, operatorDoer } from "../audit/account_activity.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import {
  isSessionAlive,
  needsTouch,
  type Session,
  sessionAbsoluteMs,
} from "../../../core/people/accounts/session_rules.ts";
import { hashSecret, newSecretToken } from "../../../core/people/accounts/secret_token.ts";
import { addMail } from "../../engine/outbox/outbox.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { maxMemberships } from "../../../core/people/organisations/organisation.ts";
import { type Account, isOwnersAccount, mailReaderOf } from "./accounts.ts";
import { logsOf, personAt, personLines } from "./person_activity.ts";
import {
  accountKey,
  accountSessionKey,
  accountSessionsPrefix,
  knownPlaceKey,
  knownPlacesPrefix,
  sessionIdOf,
  sessionKey,
} from "../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";

// Remembers where an account has signed in: browsers, recognized by a cookie, and network
// addresses. Sign-in attempts from known places have a budget of their own, so that strangers who
// guess passwords elsewhere cannot use it up. A known place grants no access; it only means that
// the password is checked there while other places are refused unread.

/**
 * A browser or an address as the store keeps it: the hash of the cookie's token, or of the address.
 */
export type PlaceHash = string;

interface KnownPlace {
  readonly seenAtMs: number;
}

/** Milliseconds after which a place without sign-in is forgotten: half a year. */
export const knownPlaceMs = 180 * dayMs;
/**
 * Most browsers and addresses per account: some devices in some networks. The one unused for
 * longest is dropped first.
 */
const placesPerAccount = 40;

/**
 * Reads, for each place, whether the account has signed in from it. An account that does not exist
 * knows no place.
 */
export async function areKnownPlaces(
  kv: KeyValueStore,
  accountId: AccountId,
  places: readonly PlaceHash[],
  nowMs: number,
): Promise<boolean[]> {
  const rows = await kv.getMany<KnownPlace[]>(
    places.map((place) => knownPlaceKey(accountId, place)),
  );
  return rows.map(({ value }) => value !== null && nowMs < value.seenAtMs + knownPlaceMs);
}

/** Attempts to remember a place: only sign-ins with the same new browser compete. */
const rememberAttempts = 4;

/** The browser of a sign-in, for the mail about one that the account has not used before. */
export interface NewBrowser {
  /** Its place. */
  readonly place: PlaceHash;
  readonly device: string;
  readonly address: string;
  /** The logs whose line of the sign-in says already that the browser is new. */
  readonly loggedIn: readonly AccountId[];
}

/**
 * Whether an account has not signed in from a browser before. Its first browser is no news, nor is the first one after
 * its places were forgotten: the change of the password has a mail of its own.
 */
export async function isNewBrowser(
  kv: KeyValueStore,
  accountId: AccountId,
  place: PlaceHash,
  nowMs: number,
): Promise<boolean> {
  const [isKnown] = await areKnownPlaces(kv, accountId, [place], nowMs);
  if (isKnown === true) return false;
  const some = kv.list({ prefix: knownPlacesPrefix(accountId) }, { limit: 1 });
  return (await some.next()).done !== true;
}

/** Adds the lines and the mail about a browser that the account has not used before. */
async function noteNewBrowser(
  kv: KeyValueStore,
  operation: AtomicWrite,
  accountId: AccountId,
  { place, device, address, loggedIn }: NewBrowser,
  nowMs: number,
): Promise<boolean> {
  const [account, known] = await kv.getMany<[Account, KnownPlace]>([
    accountKey(accountId),
    knownPlaceKey(accountId, place),
  ]);
  if (account.value === null || !await isNewBrowser(kv, accountId, place, nowMs)) return false;
  operation.check(known);
  const by = personAt(account.value, { address, browser: device });
  const logs = (await logsOf(kv, accountId)).filter((log) => !loggedIn.includes(log));
  for (const log of logs) addAct(operation, log, "new_browser", { by, nowMs });
  const reader = mailReaderOf(account.value, "new_browser");
  if (reader === undefined) return false;
  addMail(operation, { kind: "new_browser", ...reader, device, address, atMs: nowMs }, { nowMs });
  return true;
}

/**
 * Adds places after a successful sign-in from them.
 *
 * @param newBrowser its owner gets a mail if the account has not used it before; absent: no mail
 * @returns whether a mail was queued
 */
export async function rememberPlaces(
  kv: KeyValueStore,
  accountId: AccountId,
  places: readonly PlaceHash[],
  nowMs: number,
  newBrowser?: NewBrowser,
): Promise<boolean> {
  const outcome = await compareAndSet<boolean>(async () => {
    const operation = kv.atomic();
    const isMailed = newBrowser !== undefined &&
      await noteNewBrowser(kv, operation, accountId, newBrowser, nowMs);
    for (const place of places) {
      const row: KnownPlace = { seenAtMs: nowMs };
      operation.set(knownPlaceKey(accountId, place), row, { expireIn: knownPlaceMs });
    }
    return (await operation.commit()).ok ? { done: isMailed } : "again";
  }, { attempts: rememberAttempts });
  const rows = await Array.fromAsync(kv.list<KnownPlace>({ prefix: knownPlacesPrefix(accountId) }));
  const oldest = rows.sort((one, other) => other.value.seenAtMs - one.value.seenAtMs)
    .slice(placesPerAccount);
  for (const { key } of oldest) await kv.delete(key);
  return outcome !== "conflict" && outcome.done;
}

/** Forgets all places of an account, after a change of its password or address. */
export async function forgetPlaces(kv: KeyValueStore, accountId: AccountId): Promise<void> {
  for await (const { key } of kv.list({ prefix: knownPlacesPrefix(accountId) })) {
    await kv.delete(key);
  }
}

/** Most sessions of one account: a person has a few browsers. Beyond it the oldest session ends. */
export const sessionsPerAccount = 20;

/** Attempts to note a confirmation: only requests of the same browser compete, which store the time of a click. */
const confirmAttempts = 4;

/** Most session rows read for a list, since expired rows may remain among the valid ones. */
const maxSessionsListed = 200;

/** The facts of a new session. */
export interface NewSession {
  readonly accountId: AccountId;
  readonly nowMs: number;
  readonly method: Session["method"];
  readonly secondFactor?: Session["secondFactor"];
  readonly organisationId?: Session["organisationId"];
  readonly companyId?: Session["companyId"];
  /** The organisation that it acts for at first, whose activity log has the sign-in; absent: that of the account. */
  readonly actingId?: AccountId;
  readonly device: string;
  readonly address: string;
  /** The account has not signed in from this browser before. */
  readonly isNewBrowser?: boolean;
}

function hashToken(token: string): Promise<string> {
  return hashSecret("session", token);
}

/**
 * Opens a session with a new token. A token that a browser brings along is never adopted, so an
 * attacker cannot plant one (session fixation). Beyond {@linkcode sessionsPerAccount} the oldest
 * session ends.
 */
export async function openSession(
  kv: KeyValueStore,
  input: NewSession,
): Promise<{ token: string; session: Session }> {
  const token = newSecretToken();
  const tokenHash = await hashToken(token);
  const { accountId, nowMs, method, address, device, actingId = accountId } = input;
  const { value: account } = await kv.get<Account>(accountKey(accountId));
  const own = account === null || isOwnersAccount(account) ? [accountId] : [];
  const logs = actingId === accountId ? own : [...own, actingId];
  const session: Session = {
    id: newSecretToken().slice(0, 16),
    accountId: input.accountId,
    createdAtMs: input.nowMs,
    lastSeenAtMs: input.nowMs,
    method: input.method,
    ...defined({
      secondFactor: input.secondFactor,
      organisationId: input.organisationId,
      companyId: input.companyId,
    }),
    device: input.device,
    address: input.address,
    loggedIn: logs,
  };
  const expireIn = sessionAbsoluteMs;
  const operation = kv.atomic()
    .set(sessionKey(tokenHash), session, { expireIn })
    .set(accountSessionKey(accountId, session.id), tokenHash, { expireIn });
  const by = personAt(account ?? { id: accountId }, { address, browser: device });
  const after = { method, ...(input.isNewBrowser === true && { newBrowser: true }) };
  for (const log of logs) addAct(operation, log, "signed_in", { by, nowMs }, { after });
  await operation.commit();
  const all = await listSessions(kv, input.accountId, input.nowMs);
  for (const old of all.slice(sessionsPerAccount)) {
    await closeSessionById(kv, input.accountId, old.id);
  }
  return { token, session };
}

/**
 * Finds the session of a cookie's token, if it is still valid. Stores the time of the request now
 * and then.
 */
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
  // A conflict means that another request stored the time, or that the session was just closed.
  await kv.atomic().check(entry).set(entry.key, touched, { expireIn }).commit();
  return touched;
}

/**
 * Keeps for which organisation the person of a session acts from now on. The log of the organisation gets the sign-in of
 * the session, once.
 *
 * @param done.by who acts; absent: the organisation does not admit the session, and sees nothing of it
 * @returns `false` if the session has ended, or changed at the same time
 */
export async function setSessionOrganisation(
  kv: KeyValueStore,
  token: string,
  organisationId: AccountId,
  { by, nowMs }: Done,
): Promise<boolean> {
  const entry = await kv.get<Session>(sessionKey(await hashToken(token)));
  if (entry.value === null || !isSessionAlive(entry.value, nowMs)) return false;
  const expireIn = Math.max(0, Math.ceil(entry.value.createdAtMs + sessionAbsoluteMs - nowMs));
  const { loggedIn = [], method } = entry.value;
  const isNew = by !== undefined && !loggedIn.includes(organisationId) &&
    loggedIn.length <= maxMemberships;
  const session: Session = {
    ...entry.value,
    organisationId,
    ...(isNew && { loggedIn: [...loggedIn, organisationId] }),
  };
  const operation = kv.atomic().check(entry).set(entry.key, session, { expireIn });
  if (isNew) {
    addAct(operation, organisationId, "signed_in", { by, nowMs }, { after: { method } });
  }
  return (await operation.commit()).ok;
}

/** Notes that the owner of a session has entered the password once more. */
export async function confirmSession(
  kv: KeyValueStore,
  token: string,
  nowMs: number,
): Promise<void> {
  const key = sessionKey(await hashToken(token));
  await compareAndSet<void>(async () => {
    const entry = await kv.get<Session>(key);
    const session = entry.value;
    if (session === null || !isSessionAlive(session, nowMs)) return { done: undefined };
    const confirmed: Session = { ...session, confirmedAtMs: nowMs };
    const expireIn = Math.max(0, Math.ceil(session.createdAtMs + sessionAbsoluteMs - nowMs));
    const { ok } = await kv.atomic().check(entry).set(key, confirmed, { expireIn }).commit();
    return ok ? { done: undefined } : "again";
  }, { attempts: confirmAttempts });
}

/**
 * Ends the session of a cookie's token. Does nothing if it does not exist.
 *
 * @param done who signs out, for the logs that have the sign-in; absent: the session ends by itself
 */
export async function closeSession(
  kv: KeyValueStore,
  token: string,
  done?: Done,
): Promise<void> {
  const key = sessionKey(await hashToken(token));
  const { value } = await kv.get<Session>(key);
  const atomic = kv.atomic().delete(key);
  if (value !== null) {
    atomic.delete(accountSessionKey(value.accountId, value.id));
    if (done !== undefined) {
      // Not those that the person has left meanwhile.
      const logs = (await logsOf(kv, value.accountId))
        .filter((log) => value.loggedIn?.includes(log) === true);
      for (const log of logs) addAct(atomic, log, "signed_out", done);
    }
  }
  await atomic.commit();
}

/** Ends a session of the account by its id. Returns `false` if the account has no such session. */
export async function closeSessionById(
  kv: KeyValueStore,
  accountId: AccountId,
  sessionId: string,
  done?: Done,
): Promise<boolean> {
  const indexKey = accountSessionKey(accountId, sessionId);
  const { value: tokenHash } = await kv.get<string>(indexKey);
  if (tokenHash === null) return false;
  const operation = kv.atomic().delete(indexKey).delete(sessionKey(tokenHash));
  (await personLines(kv, accountId, "sessions_ended", done))(operation);
  await operation.commit();
  return true;
}

/** Lists the valid sessions of an account, newest first. */
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

/**
 * Ends all sessions of an account except the given one, e.g. that of the browser that changed the
 * password.
 *
 * @param done who asks for just that, for the log; absent: it follows from something that the log has
 */
export async function closeSessionsOf(
  kv: KeyValueStore,
  accountId: AccountId,
  exceptSessionId?: string,
  done?: Done,
): Promise<void> {
  const addLines = await personLines(kv, accountId, "sessions_ended", done);
  let isLogged = false;
  const rows = kv.list<string>({ prefix: accountSessionsPrefix(accountId) });
  for await (const { key, value: tokenHash } of rows) {
    if (sessionIdOf(key) === exceptSessionId) continue;
    const operation = kv.atomic().delete(key).delete(sessionKey(tokenHash));
    if (!isLogged) addLines(operation);
    isLogged = true;
    await operation.commit();
  }
}

/**
 * Ends all sessions of an account for an operator, with the audit line. Keys go on working.
 *
 * @returns how many there were
 */
export async function signOutEverywhere(
  kv: KeyValueStore,
  accountId: AccountId,
  { operator, nowMs, reason }: {
    readonly operator: Actor;
    readonly nowMs: number;
    readonly reason: string;
  },
): Promise<number> {
  const rows = await Array.fromAsync(
    kv.list<string>({ prefix: accountSessionsPrefix(accountId) }, { limit: maxSessionsListed }),
  );
  const operation = kv.atomic();
  for (const { key, value: tokenHash } of rows) operation.delete(key).delete(sessionKey(tokenHash));
  addAuditLine(operation, operator, {
    act: "account_signed_out",
    subject: accountId,
    detail: reason,
    atMs: nowMs,
  });
  const by = operatorDoer(operator);
  addActivity(operation, { accountId, act: "account_signed_out", by, atMs: nowMs });
  await operation.commit();
  return rows.length;
}
