/**
 * Deletes accounts: the person, the organisation with the same id, or both. The id stays, which ledger rows and receipts
 * name.
 *
 * - Folder `kv/people/deletion/`: the end of people and organisations, and what is left to do after it.
 * - In: ids of accounts, what their owners give up.
 * - Out: rows that are gone, a queued rest for the worker.
 * - Never: moves money, or deletes bookkeeping.
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { subscriberHash } from "../../../core/people/mail/switch_off.ts";
import { maxDomains } from "../../../core/people/organisations/domain.ts";
import { bumpKeysEpoch } from "../../engine/control/control.ts";
import {
  accountByEmailKey,
  accountByIdentityKey,
  accountKey,
  accountPasswordKey,
  companyDomainsPrefix,
  companyOpenIdKey,
  deletedKinds,
  invitationKey,
  invitationsForPrefix,
  lowBalanceWatchKey,
  organisationOf,
  ownKeysKey,
  rowsOfAccountPrefix,
  statusSubscriberKey,
  verifiedDomainKey,
  webhookEndpointsKey,
} from "../../engine/schema/keys.ts";
import { deleteRows } from "../../engine/store/delete_rows.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { type Account, hasOnlyBooks, isOwnersAccount, writeAccount } from "../accounts/accounts.ts";
import { addPendingCleanup, type PendingCleanup, type QueuedCleanup } from "./pending_cleanup.ts";
import { addEndOfFactors } from "../accounts/second_factor.ts";

/** The end of an account, or of a half of it. */
interface End {
  readonly nowMs: number;
  /** Balance that its owner gives up; it stays in the wallet. */
  readonly givenUpMicroVnd: bigint;
}

/** Rest of an account whose person and organisation are gone. */
function onlyId(
  { id, createdAtMs, blockedAtMs }: Account,
  { nowMs, givenUpMicroVnd }: End,
): Account {
  return {
    ...(givenUpMicroVnd > 0n && { givenUpMicroVnd }),
    id,
    createdAtMs,
    deletedAtMs: nowMs,
    blockedAtMs: blockedAtMs ?? nowMs,
  };
}

/** Adds the end of the provider and the domains of an organisation to a commit. */
async function addEndOfCompanySignIn(
  kv: KeyValueStore,
  operation: AtomicWrite,
  organisationId: AccountId,
): Promise<void> {
  operation.delete(companyOpenIdKey(organisationId));
  const domains = kv.list<{ readonly domain: string }>(
    { prefix: companyDomainsPrefix(organisationId) },
    { limit: maxDomains },
  );
  for await (const { key, value: { domain } } of domains) {
    const holder = await kv.get<AccountId>(verifiedDomainKey(domain));
    operation.delete(key);
    if (holder.value === organisationId) operation.delete(holder.key);
  }
}

/** Rest of an account whose organisation belongs to somebody else. */
function withoutPerson({ email: _, identities: _of, mailsOff: _off, ...rest }: Account): Account {
  return rest;
}

/** Rest of an account whose organisation its owner has deleted, while the person with its id goes on. */
function onlyPerson(
  account: Account,
  { nowMs, givenUpMicroVnd }: End,
): Account {
  const { id, createdAtMs, email, locale, identities, mailsOff } = account;
  const { blockedAtMs, blockedReason, organisation } = account;
  invariant(organisation !== undefined, "An organisation of another person has its facts");
  const { mailTo: _, ...facts } = organisation;
  return {
    id,
    createdAtMs,
    ...defined({ email, locale, identities, mailsOff, blockedAtMs, blockedReason }),
    ...(givenUpMicroVnd > 0n && { givenUpMicroVnd }),
    organisation: { ...facts, closedAtMs: nowMs },
  };
}

/** Rest of an account beside its books: the organisation of somebody else, or a person. */
type Staying = "organisation" | "person" | undefined;

/** Adds the end of what acts for an organisation by itself to a commit; {@linkcode forgetRows} deletes the rest. */
async function addEndOfOrganisation(
  kv: KeyValueStore,
  operation: AtomicWrite,
  accountId: AccountId,
): Promise<void> {
  operation.delete(lowBalanceWatchKey(accountId)).delete(webhookEndpointsKey(accountId))
    .delete(ownKeysKey(accountId));
  await addEndOfCompanySignIn(kv, operation, accountId);
}

/** Most invitations of one address that end with its person; further ones expire within a week. */
const maxInvitationsEnded = 200;

/** Adds the end of the invitations for an address to a commit: who has it next did not get them. */
async function addEndOfInvitations(
  kv: KeyValueStore,
  operation: AtomicWrite,
  email: string,
): Promise<void> {
  const rows = kv.list({ prefix: invitationsForPrefix(email) }, { limit: maxInvitationsEnded });
  for await (const { key } of rows) {
    operation.delete(key).delete(invitationKey(organisationOf(key), email));
  }
}

/** Adds the end of what a person has to a commit. */
async function addEndOfPerson(
  kv: KeyValueStore,
  operation: AtomicWrite,
  { id, email, identities = [] }: Account,
): Promise<void> {
  operation.delete(accountPasswordKey(id));
  await addEndOfFactors(kv, operation, id);
  if (email !== undefined) {
    operation.delete(accountByEmailKey(email))
      .delete(statusSubscriberKey(await subscriberHash(email)));
    await addEndOfInvitations(kv, operation, email);
  }
  for (const { issuer, subject } of identities) {
    operation.delete(accountByIdentityKey(issuer, subject));
  }
}

/** Rest of an account that ends, and the work that is left then. */
interface Plan {
  readonly staying: Staying;
  readonly cleanup: PendingCleanup;
}

/**
 * Ends an account but for what stays.
 *
 * @returns what the commit has queued; absent: the account ended before
 */
async function forget(
  kv: KeyValueStore,
  accountId: AccountId,
  end: End,
  planOf: (account: Account) => Plan,
): Promise<QueuedCleanup | undefined> {
  return await writeAccount<QueuedCleanup | undefined>(async () => {
    const entry = await kv.get<Account>(accountKey(accountId));
    const account = entry.value;
    if (account === null || account.deletedAtMs !== undefined) return { done: undefined };
    const { staying, cleanup } = planOf(account);
    const operation = bumpKeysEpoch(kv.atomic()).check(entry);
    // What was given up before stays in the books, and is told where they are read.
    const { givenUpMicroVnd = end.givenUpMicroVnd } = account;
    const rest = { nowMs: end.nowMs, givenUpMicroVnd };
    if (staying === "organisation") operation.set(entry.key, withoutPerson(account));
    else if (staying === "person") operation.set(entry.key, onlyPerson(account, rest));
    else operation.set(entry.key, onlyId(account, rest));
    if (staying !== "organisation") await addEndOfOrganisation(kv, operation, accountId);
    if (staying !== "person") await addEndOfPerson(kv, operation, account);
    const queued = addPendingCleanup(operation, cleanup);
    return (await operation.commit()).ok ? { done: queued } : "again";
  });
}

/**
 * Deletes the rows that `kv/engine/schema/row_owners.ts` declares of a half of an account, or of both if no half is left.
 * Rows under other keys are gone before.
 */
export async function forgetRows(
  kv: KeyValueStore,
  accountId: AccountId,
  of: "organisation" | "person",
): Promise<void> {
  const { value: account } = await kv.get<Account>(accountKey(accountId));
  const halves = account?.deletedAtMs === undefined ? [of] as const : wholeAccount;
  const prefixes = halves.flatMap(deletedKinds)
    .map((kind) => rowsOfAccountPrefix(kind, accountId));
  const operation = kv.atomic();
  for (const prefix of prefixes) operation.delete(prefix);
  await operation.commit();
  for (const prefix of prefixes) await deleteRows(kv, { prefix });
}

/** Owners whose rows end when only the id of an account stays. */
const wholeAccount = ["organisation", "person", "account"] as const;

/**
 * Removes the personal data of an account and keeps its id, which ledger rows and receipts name.
 * E-mail address, password, second factor, identities, preferences, notes and the buyer of invoices are deleted; issued
 * invoices must be kept by law. The address can be used for a new account at once. An organisation with this id that was
 * handed over goes on without the person.
 *
 * @param givenUpMicroVnd what its owner gives up; it stays in the wallet
 * @returns what the commit has queued; absent: the account ended before
 */
export async function forgetPerson(
  kv: KeyValueStore,
  accountId: AccountId,
  nowMs: number,
  givenUpMicroVnd = 0n,
): Promise<QueuedCleanup | undefined> {
  return await forget(kv, accountId, { nowMs, givenUpMicroVnd }, (account) => {
    const keepsOrganisation = !isOwnersAccount(account) && !hasOnlyBooks(account);
    return {
      staying: keepsOrganisation ? "organisation" : undefined,
      cleanup: { of: "person", personId: accountId, keepsOrganisation, atMs: nowMs },
    };
  });
}

/**
 * Removes what an organisation has, of which only the owner is left, and keeps its id. A person with the same id, who has
 * handed it over, goes on.
 *
 * @returns what the commit has queued; absent: it ended before
 * @throws {GatewayError} `overloaded` if a member has joined meanwhile
 */
export async function endOrganisation(
  kv: KeyValueStore,
  organisationId: AccountId,
  end: End,
): Promise<QueuedCleanup | undefined> {
  return await forget(kv, organisationId, end, ({ organisation, email, identities = [] }) => {
    if ((organisation?.memberCount ?? 1) > 1) {
      throw new GatewayError("overloaded", "A member has just joined the organisation");
    }
    const ownerId = organisation?.ownerId ?? organisationId;
    return {
      staying: email !== undefined || identities.length > 0 ? "person" : undefined,
      cleanup: { of: "organisation", organisationId, ownerId, atMs: end.nowMs },
    };
  });
}
