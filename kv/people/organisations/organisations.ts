/**
 * Organisations of several people: made, named, read with the role of a person, handed over.
 *
 * An organisation is an account: its wallet, keys, receipts and invoices hang on the id of the account. A person is an
 * account, too, and owns the organisation with the same id until it is handed over. Every change of members checks the
 * row of the organisation, so that two of them never cross.
 *
 * - Folder `kv/people/organisations/`: organisations, their members, invitations and teams.
 * - In: persons, roles, names, addresses.
 * - Out: the organisation that a person acts for with the role there, lists, or the reason for a refused change.
 * - Never: moves money, or decides what a role may do (`core/people/organisations/acts.ts`).
 */
import { invariant } from "../../../core/lib/base/assert.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { type AccountId, newId } from "../../../core/lib/ids/ids.ts";
import type { Session } from "../../../core/people/accounts/session_rules.ts";
import type { GivenRole, Role } from "../../../core/people/organisations/acts.ts";
import {
  maxMemberships,
  maxOwnedOrganisations,
} from "../../../core/people/organisations/organisation.ts";
import { addMail } from "../../engine/outbox/outbox.ts";
import {
  accountKey,
  emailOfInvitation,
  invitationForKey,
  invitationsPrefix,
  memberKey,
  membershipKey,
  membershipsPrefix,
  organisationOf,
} from "../../engine/schema/keys.ts";
import { commitFresh } from "../../engine/store/cas.ts";
import { addAct, type Done } from "../audit/account_activity.ts";
import { addWebhookEvent } from "../webhooks/events.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import {
  type Account,
  accountName,
  getAccount,
  hasOnlyBooks,
  isClosed,
  mailReaderOf,
  type OrganisationFacts,
  writeAccount,
} from "../accounts/accounts.ts";

/** The row of a member who is not the owner. */
export interface MemberRow {
  readonly role: GivenRole;
  readonly joinedAtMs: number;
}

/** The index row of an organisation of a person. */
export interface MembershipRow {
  readonly role: Role;
}

/** An organisation with the role of a person there. */
export interface Membership {
  readonly account: Account;
  readonly role: Role;
}

/** The facts of an organisation, also of one that never had more than its owner. */
export function organisationFacts(account: Account): OrganisationFacts {
  return account.organisation ??
    { name: accountName(account), ownerId: account.id, memberCount: 1 };
}

/** Reads the role of a person in an organisation; `undefined`: not a member, or nobody can act for it. */
export async function readMembership(
  kv: KeyValueStore,
  organisationId: AccountId,
  personId: AccountId,
): Promise<Membership | undefined> {
  const [account, member] = await kv.getMany<[Account, MemberRow]>([
    accountKey(organisationId),
    memberKey(organisationId, personId),
  ]);
  if (account.value === null || isClosed(account.value)) return undefined;
  const isOwner = organisationFacts(account.value).ownerId === personId;
  const role = isOwner ? "owner" : member.value?.role;
  return role === undefined ? undefined : { account: account.value, role };
}

/** Facts of a session that decide for whom it acts. */
export type ActingSession = Pick<Session, "organisationId" | "companyId">;

/**
 * Whether a session may act for an organisation, which may require its own provider. The owner keeps every way in: a
 * provider that fails must lock nobody out of the settings of the provider.
 */
export function isAdmitted(
  { account, role }: Membership,
  { companyId }: Pick<Session, "companyId">,
): boolean {
  return account.companySignInRequired !== true || role === "owner" || companyId === account.id;
}

/** For whom a session acts. */
export interface Acting extends Membership {
  /** The organisation that the session is for, and may not act for since it requires its own provider. */
  readonly keptOutOf?: Account;
}

/**
 * Finds the organisation that a session acts for: the wanted one, else the person's own, else the first one that admits
 * the session. A person nearly always has one: see {@linkcode ensureOrganisation} and `removeMember`.
 */
export async function actingFor(
  kv: KeyValueStore,
  person: Account,
  session: ActingSession,
): Promise<Acting | undefined> {
  const { organisationId: wanted = person.id } = session;
  if (wanted === person.id && organisationFacts(person).ownerId === person.id) {
    return { account: person, role: "owner" };
  }
  const found = await readMembership(kv, wanted, person.id);
  if (found !== undefined && isAdmitted(found, session)) return found;
  const other = (await listMemberships(kv, person)).find((one) => isAdmitted(one, session));
  return other && { ...other, ...defined({ keptOutOf: found?.account }) };
}

/**
 * Says for which organisation a new session acts. One is made for a person whom none admits, so that there is a page that
 * says so.
 *
 * @param session how the person signs in
 * @returns `undefined` if the person is gone, or was blocked
 */
export async function ensureOrganisation(
  kv: KeyValueStore,
  personId: AccountId,
  session: ActingSession,
  nowMs: number,
): Promise<AccountId | undefined> {
  return await writeAccount<AccountId | undefined>(async () => {
    const entry = await kv.get<Account>(accountKey(personId));
    const person = entry.value;
    const isGone = person === null || person.deletedAtMs !== undefined ||
      person.blockedAtMs !== undefined;
    if (isGone) return { done: undefined };
    const acting = await actingFor(kv, person, session);
    if (acting !== undefined) return { done: acting.account.id };
    const operation = kv.atomic().check(entry).set(entry.key, person);
    const name = person.email ?? person.id;
    const made = addOrganisation(operation, { owner: person, name, nowMs });
    return (await operation.commit()).ok ? { done: made.id } : "again";
  });
}

/** Lists the organisations of a person: the own one first, then the others, oldest first. */
export async function listMemberships(kv: KeyValueStore, person: Account): Promise<Membership[]> {
  const rows = await Array.fromAsync(
    kv.list<MembershipRow>({ prefix: membershipsPrefix(person.id) }, { limit: maxMemberships }),
  );
  const own: Membership[] = organisationFacts(person).ownerId === person.id
    ? [{ account: person, role: "owner" }]
    : [];
  // One that was handed over and came back has a row, too.
  const ids = rows.map(({ key }) => organisationOf(key))
    .filter((id) => own.every(({ account }) => account.id !== id));
  const others = await Promise.all(ids.map((id) => readMembership(kv, id, person.id)));
  return [...own, ...others.filter((one) => one !== undefined)];
}

/** The reason why a person cannot have one more organisation. */
export type TooMany = "too_many";

/** Adds a new organisation with its owner to a commit. */
export function addOrganisation(
  operation: AtomicWrite,
  { owner, name, nowMs }: {
    readonly owner: Account;
    readonly name: string;
    readonly nowMs: number;
  },
): Account {
  const mailTo = owner.email;
  const account: Account = {
    id: newId("account", nowMs),
    createdAtMs: nowMs,
    ...defined({ locale: owner.locale }),
    organisation: { name, ownerId: owner.id, memberCount: 1, ...defined({ mailTo }) },
  };
  operation.check({ key: accountKey(account.id), versionstamp: null })
    .set(accountKey(account.id), account)
    .set(membershipKey(owner.id, account.id), { role: "owner" } satisfies MembershipRow);
  return account;
}

/** Makes an organisation that a person owns, with a wallet of its own. */
export async function createOrganisation(
  kv: KeyValueStore,
  ownerId: AccountId,
  { name, ...done }: Done & { readonly name: string },
): Promise<Account | TooMany> {
  return await writeAccount<Account | TooMany>(async () => {
    const entry = await kv.get<Account>(accountKey(ownerId));
    invariant(entry.value !== null, "A signed-in person has an account");
    const memberships = await listMemberships(kv, entry.value);
    const owned = memberships.filter(({ role }) => role === "owner").length;
    const isFull = owned >= maxOwnedOrganisations || memberships.length >= maxMemberships;
    if (isFull) return { done: "too_many" };
    // The row of the owner is written, so that simultaneous forms keep to the bound.
    const operation = kv.atomic().check(entry).set(entry.key, entry.value);
    const { nowMs } = done;
    const account = addOrganisation(operation, { owner: entry.value, name, nowMs });
    addAct(operation, account.id, "organisation_made", done, { after: { name } });
    return await commitFresh(kv, operation, accountKey(account.id)) ? { done: account } : "again";
  });
}

/** Changes the name of an organisation; `undefined` if it does not exist. */
export async function renameOrganisation(
  kv: KeyValueStore,
  organisationId: AccountId,
  name: string,
  done: Done,
): Promise<Account | undefined> {
  return await writeAccount<Account | undefined>(async () => {
    const entry = await kv.get<Account>(accountKey(organisationId));
    if (entry.value === null || hasOnlyBooks(entry.value)) return { done: undefined };
    const account: Account = {
      ...entry.value,
      organisation: { ...organisationFacts(entry.value), name },
    };
    const operation = kv.atomic().check(entry).set(entry.key, account);
    addAct(operation, organisationId, "organisation_renamed", done, {
      before: { name: accountName(entry.value) },
      after: { name },
    });
    return (await operation.commit()).ok ? { done: account } : "again";
  });
}

/** Sends the mails about the organisations that a person owns to the person's present address. */
export async function followAddress(kv: KeyValueStore, personId: AccountId): Promise<void> {
  const person = await getAccount(kv, personId);
  if (person === undefined) return;
  for (const { account: { id }, role } of await listMemberships(kv, person)) {
    if (role !== "owner" || id === personId) continue;
    await writeAccount<void>(async () => {
      const entry = await kv.get<Account>(accountKey(id));
      const facts = entry.value?.organisation;
      if (entry.value === null || facts?.ownerId !== personId) return { done: undefined };
      const { mailTo: _, ...rest } = facts;
      const organisation = { ...rest, ...defined({ mailTo: person.email }) };
      const operation = kv.atomic().check(entry).set(entry.key, { ...entry.value, organisation });
      return (await operation.commit()).ok ? { done: undefined } : "again";
    });
  }
}

/** Adds the webhook of a role that changes to the commit that changes it. */
export function addRoleChanged(
  operation: AtomicWrite,
  organisationId: AccountId,
  { person: { id, email = "" }, formerRole, role }: {
    readonly person: Pick<Account, "id" | "email">;
    readonly formerRole: Role;
    readonly role: Role;
  },
  nowMs: number,
): void {
  addWebhookEvent(operation, organisationId, {
    type: "member.role_changed",
    data: { member_id: id, email, former_role: formerRole, role },
  }, nowMs);
}

/**
 * Makes a member the owner; the old owner stays as an admin. Wallet, keys and invoices stay with the organisation.
 *
 * @returns `not_member` if the new owner is none, or owns it already; `too_many` if the new owner may own no more
 */
export async function handOver(
  kv: KeyValueStore,
  organisationId: AccountId,
  { from, to, ...done }: Done & { readonly from: Account; readonly to: AccountId },
): Promise<"done" | "not_member" | TooMany> {
  const { nowMs } = done;
  const owned = (await listMemberships(kv, await getAccount(kv, to) ?? from))
    .filter(({ role }) => role === "owner").length;
  if (owned >= maxOwnedOrganisations) return "too_many";
  return await writeAccount<"done" | "not_member">(async () => {
    const [entry, member, person] = await kv.getMany<[Account, MemberRow, Account]>([
      accountKey(organisationId),
      memberKey(organisationId, to),
      accountKey(to),
    ]);
    if (entry.value === null || member.value === null || person.value === null) {
      return { done: "not_member" };
    }
    const facts = organisationFacts(entry.value);
    if (facts.ownerId !== from.id) return { done: "not_member" };
    const { mailTo: _, ...rest } = facts;
    const account: Account = {
      ...entry.value,
      organisation: { ...rest, ownerId: to, ...defined({ mailTo: person.value.email }) },
    };
    const operation = kv.atomic().check(entry).check(member).check(person)
      .set(entry.key, account)
      .delete(member.key)
      .set(
        memberKey(organisationId, from.id),
        { role: "admin", joinedAtMs: nowMs } satisfies MemberRow,
      )
      .set(membershipKey(from.id, organisationId), { role: "admin" } satisfies MembershipRow)
      .set(membershipKey(to, organisationId), { role: "owner" } satisfies MembershipRow);
    addAct(operation, organisationId, "ownership_handed_over", done, {
      subject: to,
      before: { owner: from.email },
      after: { owner: person.value.email },
    });
    const formerRole = member.value.role;
    addRoleChanged(
      operation,
      organisationId,
      { person: person.value, formerRole, role: "owner" },
      nowMs,
    );
    addRoleChanged(
      operation,
      organisationId,
      { person: from, formerRole: "owner", role: "admin" },
      nowMs,
    );
    const reader = mailReaderOf(person.value, "ownership_received");
    if (reader !== undefined) {
      const organisation = accountName(account);
      const about = { accountId: organisationId, organisation };
      const names = { organisation, from: from.email ?? from.id };
      addMail(operation, { kind: "ownership_received", ...reader, about, ...names }, { nowMs });
    }
    return (await operation.commit()).ok ? { done: "done" } : "again";
  });
}

/**
 * Whether an organisation can be closed by its owner: it is not the owner's own account, has no other member, and its
 * owner has another one to act for. One that was handed over may have begun as the account of a person, who goes on.
 */
export async function closingProblem(
  kv: KeyValueStore,
  organisation: Account,
  owner: Account,
): Promise<"own_account" | "has_members" | "last_one" | undefined> {
  const { memberCount } = organisationFacts(organisation);
  if (organisation.id === owner.id) return "own_account";
  if (memberCount > 1) return "has_members";
  return (await listMemberships(kv, owner)).length > 1 ? undefined : "last_one";
}

/** Ends the index rows of an organisation that is closed: that its owner finds it, and who is invited. */
export async function forgetOrganisation(
  kv: KeyValueStore,
  id: AccountId,
  ownerId: AccountId,
): Promise<void> {
  await kv.delete(membershipKey(ownerId, id));
  for await (const { key } of kv.list({ prefix: invitationsPrefix(id) })) {
    await kv.delete(invitationForKey(emailOfInvitation(key), id));
  }
}
