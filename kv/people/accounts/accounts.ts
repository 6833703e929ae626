/**
 * Creates, reads and changes accounts: the persons. Money, keys and receipts are stored elsewhere
 * and outlast the person; `account_credentials.ts` has what they sign in with.
 *
 * - Folder `kv/people/accounts/`: rows of people: accounts, credentials, sessions, mailed tokens, second factors,
 *   rate limits.
 * - In: account ids, hashes and verdicts from `core/people/accounts/`, the time.
 * - Out: accounts and sessions, or the reason for a refused change.
 * - Never: moves money, or stores a password or token other than as a hash, or a second factor unsealed.
 */
import type { CallSettings } from "../../../core/calls/request/call_settings.ts";
import type { MailKind, MailReader } from "../../../core/people/mail/mail.ts";
import type { Locale } from "../../../core/lib/base/locale.ts";
import type { AccountRateLimits } from "../../../core/limits/rate_limits.ts";
import { type AccountId, newId } from "../../../core/lib/ids/ids.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import { canSwitchOff, isAboutPerson } from "../../../core/people/mail/mail_kinds.ts";
import { normaliseEmail } from "../../../core/people/accounts/email_address.ts";
import {
  accountByEmailKey,
  accountByIdentityKey,
  accountKey,
  accountPasswordKey,
  accountsAfter,
  accountsByEmailStart,
  accountsPrefix,
  emailOfKey,
  lowBalanceWatchKey,
} from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { type CasStep, commitFresh, compareAndSet } from "../../engine/store/cas.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { bumpKeysEpoch } from "../../engine/control/control.ts";
import { type Actor, addAuditLine } from "../audit/operator_audit.ts";
import {
  type ActivityAct,
  addAct,
  addActivity,
  type Done,
  operatorDoer,
} from "../audit/account_activity.ts";

// Repeats changes of accounts: check-and-set with pauses, and one error if it keeps failing.

/**
 * Attempts of a check-and-set on the row of an account, for which only requests of that person
 * compete.
 */
export const accountWriteAttempts = 8;

/**
 * Repeats a change until it succeeds.
 *
 * @throws {GatewayError} `overloaded` if others kept changing the account: the caller may try again
 * later
 */
export async function writeAccount<Result>(step: () => Promise<CasStep<Result>>): Promise<Result> {
  const outcome = await compareAndSet(step, { attempts: accountWriteAttempts });
  if (outcome !== "conflict") return outcome.done;
  throw new GatewayError("overloaded", "The account is being changed by others; try again");
}

/** An identity at an OpenID provider that belongs to an account. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

/**
 * Facts that make an account the organisation of several people. Absent: an organisation of one, owned by the person
 * with the same id.
 */
export interface OrganisationFacts {
  readonly name: string;
  /** The person who owns it. Whoever has the id of the account itself is another person once it was handed over. */
  readonly ownerId: AccountId;
  /** The owner included. */
  readonly memberCount: number;
  /** Address of the owner, who reads the mails about it; absent: that of the account. */
  readonly mailTo?: string;
  /** Set once its owner has deleted it, while the person with the same id goes on. */
  readonly closedAtMs?: number;
}

/** The row of one customer: a person, and the organisation with the same id. Contains no secret. */
export interface Account {
  readonly id: AccountId;
  readonly createdAtMs: number;
  /**
   * Normalised e-mail address. Absent for deleted accounts, and for accounts that the operator
   * created without one.
   */
  readonly email?: string;
  readonly locale?: Locale;
  readonly identities?: readonly Identity[];
  /** Set while calls and sign-in are refused. */
  readonly blockedAtMs?: number;
  readonly blockedReason?: string;
  /** Set once the personal data is deleted. The id stays because the ledger names it. */
  readonly deletedAtMs?: number;
  /** Balance when its owner closed the account and gave it up; the books still have it. */
  readonly givenUpMicroVnd?: bigint;
  /** A mail warns when the balance falls below this amount. Absent: no warning. */
  readonly lowBalanceMicroVnd?: bigint;
  /**
   * Set when that mail was queued, cleared when the balance is above the amount again: one mail per
   * fall.
   */
  readonly lowBalanceMailedAtMs?: number;
  /** Kinds of mails that the owner has switched off. Those of later versions are kept. */
  readonly mailsOff?: readonly string[];
  /** Whoever signs in sets up a second factor before anything else. Absent: a first factor is enough. */
  readonly secondFactorRequired?: true;
  /** Only sessions from the provider of the organisation act for it, those of the owner excepted. */
  readonly companySignInRequired?: true;
  /** Whoever may change an API key moves it between teams, too. Absent: those alone who change members. */
  readonly makersMoveKeys?: true;
  /** Rate limits that an operator set in place of the defaults. */
  readonly rateLimits?: AccountRateLimits;
  /** Keys of tags without which its calls are refused. */
  readonly requiredTags?: readonly string[];
  /** Settings of its calls. */
  readonly calls?: CallSettings;
  /** It has provider keys of its own, in a row beside this one. */
  readonly hasOwnKeys?: true;
  readonly organisation?: OrganisationFacts;
}

/** Returns what pages call an account: the name of the organisation, else the address, else the id. */
export function accountName({ organisation, email, id }: Account): string {
  const name = organisation?.closedAtMs === undefined ? organisation?.name : undefined;
  return name ?? email ?? id;
}

/** Whether only the books are left of an account as an organisation, so that money would come in without an owner. */
export function hasOnlyBooks(
  { deletedAtMs, organisation }: Pick<Account, "deletedAtMs" | "organisation">,
): boolean {
  return deletedAtMs !== undefined || organisation?.closedAtMs !== undefined;
}

/** Whether nobody can act for an account as an organisation: it has ended, or is blocked. */
export function isClosed(
  account: Pick<Account, "blockedAtMs" | "deletedAtMs" | "organisation">,
): boolean {
  return account.blockedAtMs !== undefined || hasOnlyBooks(account);
}

/** Whether an account is one thing, a person with an organisation: it was not handed over to somebody else. */
export function isOwnersAccount(
  { id, organisation }: Pick<Account, "id" | "organisation">,
): boolean {
  return (organisation?.ownerId ?? id) === id;
}

/** The data of a new account. */
export interface NewAccount {
  readonly nowMs: number;
  readonly email?: string;
  readonly locale?: Locale;
  /**
   * Encoded scrypt hash; absent for accounts that use an OpenID provider or that the operator
   * created.
   */
  readonly passwordHash?: string;
  readonly identity?: Identity;
  /** The operator who makes it for somebody, with an audit line; absent: its owner does. */
  readonly by?: Actor;
}

/**
 * Creates an account, or returns `undefined` if the e-mail address or the identity belongs to one.
 *
 * @throws {InvariantError} if `email` is not in its normalised form
 */
export async function tryCreateAccount(
  kv: KeyValueStore,
  input: NewAccount,
): Promise<Account | undefined> {
  const account: Account = {
    id: newId("account", input.nowMs),
    createdAtMs: input.nowMs,
    ...defined({ email: input.email, locale: input.locale }),
    ...(input.identity !== undefined && { identities: [input.identity] }),
  };
  const atomic = kv.atomic()
    .check({ key: accountKey(account.id), versionstamp: null })
    .set(accountKey(account.id), account);
  if (input.email !== undefined) {
    invariant(
      normaliseEmail(input.email) === input.email,
      "An e-mail address is stored in its normalised form",
    );
    const key = accountByEmailKey(input.email);
    atomic.check({ key, versionstamp: null }).set(key, account.id);
  }
  if (input.identity !== undefined) {
    const key = accountByIdentityKey(input.identity.issuer, input.identity.subject);
    atomic.check({ key, versionstamp: null }).set(key, account.id);
  }
  if (input.passwordHash !== undefined) {
    atomic.set(accountPasswordKey(account.id), input.passwordHash);
  }
  if (input.by !== undefined) {
    const line = { act: "account_made", subject: account.id, detail: "" } as const;
    addAuditLine(atomic, input.by, { ...line, atMs: input.nowMs });
  }
  return await commitFresh(kv, atomic, accountKey(account.id)) ? account : undefined;
}

/**
 * Creates an account.
 *
 * @throws {GatewayError} `invalid_request` if the e-mail address already has one
 */
export async function createAccount(kv: KeyValueStore, input: NewAccount): Promise<Account> {
  const account = await tryCreateAccount(kv, input);
  if (account === undefined) {
    throw new GatewayError("invalid_request", "This e-mail address already has an account", {
      param: "email",
    });
  }
  return account;
}

/** Whether the owner of an account wants mails of a kind. Some kinds cannot be switched off. */
export function wantsMail({ mailsOff }: Pick<Account, "mailsOff">, kind: MailKind): boolean {
  return !canSwitchOff(kind) || mailsOff?.includes(kind) !== true;
}

/** Returns what a mail about an account names. */
export function mailAboutOf(
  { id, organisation }: Pick<Account, "id" | "organisation">,
): NonNullable<MailReader["about"]> {
  return { accountId: id, ...defined({ organisation: organisation?.name }) };
}

/**
 * Returns who reads a mail of a kind to an account; `undefined` if it has no address, or its owner has switched the
 * kind off.
 */
export function mailReaderOf(
  account: Pick<Account, "id" | "email" | "locale" | "mailsOff" | "organisation">,
  kind: MailKind,
): MailReader | undefined {
  const { email, locale = "vi", organisation } = account;
  if (isAboutPerson(kind)) {
    return email === undefined || !wantsMail(account, kind) ? undefined : { to: email, locale };
  }
  if (organisation?.closedAtMs !== undefined) return undefined;
  const about = mailAboutOf(account);
  // What the owner has switched off is looked up when the mail is sent.
  const owner = organisation?.mailTo;
  if (owner !== undefined) return { to: owner, locale, about };
  return email === undefined || !wantsMail(account, kind)
    ? undefined
    : { to: email, locale, about };
}

/** Whether everyone who signs in to an account needs a second factor. */
export function requiresSecondFactor(
  { secondFactorRequired }: Pick<Account, "secondFactorRequired">,
): boolean {
  return secondFactorRequired === true;
}

/** Reads an account; `undefined` if it does not exist. */
export async function getAccount(
  kv: KeyValueStore,
  accountId: AccountId,
): Promise<Account | undefined> {
  return (await kv.get<Account>(accountKey(accountId))).value ?? undefined;
}

/** Finds an account by its normalised e-mail address. */
export async function findAccountByEmail(
  kv: KeyValueStore,
  email: string,
): Promise<Account | undefined> {
  const { value } = await kv.get<AccountId>(accountByEmailKey(email));
  return value === null ? undefined : await getAccount(kv, value);
}

/** An account, as a search by address finds it. */
export interface FoundAccount {
  readonly email: string;
  readonly accountId: AccountId;
}

/** Finds accounts whose normalised e-mail address begins with a text, by address. */
export async function findAccountsByEmailStart(
  kv: KeyValueStore,
  text: string,
  limit: number,
): Promise<FoundAccount[]> {
  const found: FoundAccount[] = [];
  for await (const { key, value } of kv.list<AccountId>(accountsByEmailStart(text), { limit })) {
    found.push({ email: emailOfKey(key), accountId: value });
  }
  return found;
}

/** Finds an account by an identity at an OpenID provider. */
export async function findAccountByIdentity(
  kv: KeyValueStore,
  identity: Identity,
): Promise<Account | undefined> {
  const { value } = await kv.get<AccountId>(
    accountByIdentityKey(identity.issuer, identity.subject),
  );
  return value === null ? undefined : await getAccount(kv, value);
}

/** Lists all accounts, oldest first, page by page. `next` is the `after` of the following page. */
export async function listAccounts(
  kv: KeyValueStore,
  options: { readonly limit: number; readonly after?: AccountId },
): Promise<{ accounts: Account[]; next: AccountId | undefined }> {
  const { limit, after } = options;
  const selector = after === undefined ? { prefix: accountsPrefix() } : accountsAfter(after);
  const rows = await Array.fromAsync(kv.list<Account>(selector, { limit }));
  const accounts = rows.map(({ value }) => value);
  return { accounts, next: accounts.length < limit ? undefined : accounts.at(-1)?.id };
}

/** The fields that an owner can change. `undefined` as a value clears the field. */
export type AccountChange = {
  readonly [
    Field in
      | "locale"
      | "lowBalanceMicroVnd"
      | "lowBalanceMailedAtMs"
      | "mailsOff"
      | "secondFactorRequired"
  ]?: Account[Field] | undefined;
};

/**
 * Changes fields of an account and returns the changed account; `undefined` if it does not exist.
 *
 * @param done who changes which setting; absent: the gateway itself, or what is not worth a line
 *
 * @throws {GatewayError} `overloaded` if others kept changing it at the same time
 */
export async function updateAccount(
  kv: KeyValueStore,
  accountId: AccountId,
  change: AccountChange,
  done?: Done & { readonly act: ActivityAct },
): Promise<Account | undefined> {
  return await writeAccount<Account | undefined>(async () => {
    const entry = await kv.get<Account>(accountKey(accountId));
    if (entry.value === null) return { done: undefined };
    const merged = { ...entry.value, ...change };
    const account = withoutUndefined(merged);
    const operation = kv.atomic().check(entry).set(entry.key, account);
    if (done !== undefined) {
      const names = Object.keys(change);
      const fieldsOf = (from: Account) =>
        Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)));
      const [before, after] = [fieldsOf(entry.value), fieldsOf(account)];
      addAct(operation, accountId, done.act, done, { before, after });
    }
    if ("lowBalanceMicroVnd" in change) {
      if (account.lowBalanceMicroVnd === undefined) operation.delete(lowBalanceWatchKey(accountId));
      else operation.set(lowBalanceWatchKey(accountId), account.lowBalanceMicroVnd);
    }
    return (await operation.commit()).ok ? { done: account } : "again";
  });
}

/** Switches a kind of mail off, beside those that are off; does nothing if the account is gone or has it off. */
export async function switchMailOff(
  kv: KeyValueStore,
  accountId: AccountId,
  kind: MailKind,
  done?: Done,
): Promise<void> {
  await writeAccount<void>(async () => {
    const entry = await kv.get<Account>(accountKey(accountId));
    const account = entry.value;
    if (account === null || account.deletedAtMs !== undefined || !wantsMail(account, kind)) {
      return { done: undefined };
    }
    const changed: Account = { ...account, mailsOff: [...account.mailsOff ?? [], kind] };
    const operation = kv.atomic().check(entry).set(entry.key, changed);
    if (done !== undefined && isOwnersAccount(account)) {
      addAct(operation, accountId, "mails_changed", done, {
        before: { mailsOff: account.mailsOff },
        after: { mailsOff: changed.mailsOff },
      });
    }
    return (await operation.commit()).ok ? { done: undefined } : "again";
  });
}

function withoutUndefined(account: { [F in keyof Account]: Account[F] | undefined }): Account {
  invariant(account.id !== undefined && account.createdAtMs !== undefined, "An account has an id");
  const entries = Object.entries(account).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(entries), id: account.id, createdAtMs: account.createdAtMs };
}

// Blocks accounts: sign-in and API keys stop on all instances within two seconds; the money stays.

/**
 * Blocks or unblocks an account; a block with another reason replaces the reason. What is so already is left as it is,
 * without an audit line.
 *
 * @returns the changed account; `undefined` if it does not exist or was deleted
 * @throws {GatewayError} `overloaded` if others kept changing it at the same time
 */
export async function setBlocked(
  kv: KeyValueStore,
  accountId: AccountId,
  change: { readonly blocked: boolean; readonly reason: string },
  act: { readonly operator: Actor; readonly nowMs: number },
): Promise<Account | undefined> {
  return await writeAccount<Account | undefined>(async () => {
    const entry = await kv.get<Account>(accountKey(accountId));
    if (entry.value === null || entry.value.deletedAtMs !== undefined) return { done: undefined };
    const { blockedAtMs, blockedReason, ...rest } = entry.value;
    const isBlocked = blockedAtMs !== undefined;
    const isSame = isBlocked === change.blocked && (!isBlocked || blockedReason === change.reason);
    if (isSame) return { done: entry.value };
    const account: Account = change.blocked
      ? { ...rest, blockedAtMs: blockedAtMs ?? act.nowMs, blockedReason: change.reason }
      : rest;
    const operation = bumpKeysEpoch(kv.atomic()).check(entry).set(entry.key, account);
    addAuditLine(operation, act.operator, {
      act: change.blocked ? "account_blocked" : "account_unblocked",
      subject: accountId,
      detail: change.reason,
      atMs: act.nowMs,
    });
    addActivity(operation, {
      accountId,
      act: change.blocked ? "account_blocked" : "account_unblocked",
      by: operatorDoer(act.operator),
      atMs: act.nowMs,
      after: { reason: change.reason },
    });
    return (await operation.commit()).ok ? { done: account } : "again";
  });
}
