/** The members of an organisation: listed, added, given another role, removed. */
import { invariant } from "../../../core/lib/base/assert.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { hourMs } from "../../../core/lib/time/durations.ts";
import { keyMember } from "../../../core/limits/budgets.ts";
import type { GivenRole, Role } from "../../../core/people/organisations/acts.ts";
import {
  formerMemberMs,
  maxMembers,
  maxMemberships,
} from "../../../core/people/organisations/organisation.ts";
import { bumpKeysEpoch } from "../../engine/control/control.ts";
import { addMail } from "../../engine/outbox/outbox.ts";
import {
  accountKey,
  formerMemberKey,
  memberKey,
  memberOf,
  membershipKey,
  membershipsPrefix,
  membersPrefix,
} from "../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import {
  type Account,
  accountName,
  getAccount,
  mailReaderOf,
  writeAccount,
} from "../accounts/accounts.ts";
import { countWith } from "../accounts/rate_limits.ts";
import {
  addPendingCleanup,
  type PendingCleanup,
  type QueuedCleanup,
} from "../deletion/pending_cleanup.ts";
import { addAct, type Doer, type Done } from "../audit/account_activity.ts";
import { addWebhookEvent } from "../webhooks/events.ts";
import { revokeApiKey } from "../api_keys/api_key_changes.ts";
import { listApiKeys } from "../api_keys/api_keys.ts";
import { listManagementKeys, revokeManagementKey } from "../management_keys/management_keys.ts";
import {
  addOrganisation,
  addRoleChanged,
  listMemberships,
  type MemberRow,
  type MembershipRow,
  organisationFacts,
} from "./organisations.ts";
import { addReadmission, addRemoval } from "./removed_members.ts";
import { defined } from "../../../core/lib/base/defined.ts";

/**
 * Addresses and identities of a former member, whatever becomes of their account, for as long as they may decide about
 * none of the money of the organisation as operators.
 */
export type FormerMemberRow = Pick<Account, "email" | "identities">;

/** Adds to the commit by which somebody is a member no more that they were one. */
function addFormerMember(
  operation: AtomicWrite,
  organisationId: AccountId,
  { id, email, identities }: Account,
): void {
  const row: FormerMemberRow = defined({ email, identities });
  operation.set(formerMemberKey(organisationId, id), row, { expireIn: formerMemberMs });
}

/** A member, the owner included. */
export interface Member {
  readonly personId: AccountId;
  readonly role: Role;
  /** Absent: as long as the organisation exists. */
  readonly joinedAtMs?: number;
  /** Absent: an account without an address. */
  readonly email?: string | undefined;
}

/** The owner, then the others in the order of their accounts, without reading these. */
async function listWithoutAddresses(
  kv: KeyValueStore,
  organisation: Account,
): Promise<Omit<Member, "email">[]> {
  const { ownerId } = organisationFacts(organisation);
  const selector = { prefix: membersPrefix(organisation.id) };
  const others = kv.list<MemberRow>(selector, { limit: maxMembers });
  return [
    { personId: ownerId, role: "owner" },
    ...await Array.fromAsync(others, ({ key, value }) => ({ personId: memberOf(key), ...value })),
  ];
}

/** Lists the accounts of the members of an organisation, the owner first. */
export async function listMemberIds(
  kv: KeyValueStore,
  organisation: Account,
): Promise<AccountId[]> {
  return (await listWithoutAddresses(kv, organisation)).map(({ personId }) => personId);
}

/** Lists the members of an organisation: the owner, then the others in the order of their accounts. */
export async function listMembers(kv: KeyValueStore, organisation: Account): Promise<Member[]> {
  const members = await listWithoutAddresses(kv, organisation);
  const people = await Promise.all(members.map(({ personId }) => getAccount(kv, personId)));
  return members.map((member, at) => ({ ...member, email: people[at]?.email }));
}

/** Whether a person can join: `full`: the organisation has as many members as it may, or the person organisations. */
export type Joined = "joined" | "already" | "full";

/**
 * Adds a member to a commit that checks the row of the organisation, unless the person is one or there is no room.
 *
 * @param entry the row of the organisation, which the commit checks and writes
 */
export async function addMember(
  kv: KeyValueStore,
  operation: AtomicWrite,
  entry: Deno.KvEntry<Account>,
  member: {
    readonly person: Account;
    readonly role: GivenRole;
    readonly nowMs: number;
    readonly by?: Doer | undefined;
  },
): Promise<Joined> {
  const { person, role, nowMs, by } = member;
  const facts = organisationFacts(entry.value);
  const row = await kv.get<MemberRow>(memberKey(entry.value.id, person.id));
  if (row.value !== null || facts.ownerId === person.id) return "already";
  const memberships = await Array.fromAsync(
    kv.list({ prefix: membershipsPrefix(person.id) }, { limit: maxMemberships }),
  );
  if (facts.memberCount >= maxMembers || memberships.length >= maxMemberships) return "full";
  const changed: Account = {
    ...entry.value,
    organisation: { ...facts, memberCount: facts.memberCount + 1 },
  };
  operation.check(entry).check(row)
    .set(entry.key, changed)
    .set(row.key, { role, joinedAtMs: nowMs } satisfies MemberRow)
    .set(membershipKey(person.id, changed.id), { role } satisfies MembershipRow);
  await addReadmission(kv, operation, changed.id, person);
  addWebhookEvent(operation, changed.id, {
    type: "member.joined",
    data: { member_id: person.id, email: person.email ?? "", role },
  }, nowMs);
  addAct(operation, changed.id, "member_joined", { by, nowMs }, {
    subject: person.id,
    after: { email: person.email, role },
  });
  const reader = mailReaderOf(changed, "member_joined");
  if (reader !== undefined) {
    const names = { organisation: accountName(changed), member: person.email ?? person.id };
    addMail(operation, { kind: "member_joined", ...reader, ...names }, { nowMs });
  }
  return "joined";
}

const mailsByOrganisation = { name: "member_mails", count: 30, windowMs: hourMs };
const mailsOfAll = { name: "member_mails_all", count: 2_000, windowMs: hourMs };

/**
 * Counts a mail about a member in the commit of the act. Beyond the bounds acts go on without their mails, so that roles
 * that change in a loop flood neither the owner nor the mail service.
 *
 * @returns whether there is room for the mail
 */
async function countMail(
  kv: KeyValueStore,
  operation: AtomicWrite,
  organisationId: AccountId,
  nowMs: number,
): Promise<boolean> {
  const counts = [
    await countWith(kv, mailsByOrganisation, organisationId, nowMs),
    await countWith(kv, mailsOfAll, "all", nowMs),
  ].filter((count) => count !== undefined);
  if (counts.length < 2) return false;
  for (const count of counts) count(operation);
  return true;
}

/** Adds the webhook and the mail of a changed role to the commit that changes it. */
async function announceRole(
  kv: KeyValueStore,
  operation: AtomicWrite,
  organisation: Account,
  changed: {
    readonly person: Pick<Account, "id" | "email">;
    readonly formerRole: GivenRole;
    readonly role: GivenRole;
  },
  nowMs: number,
): Promise<void> {
  addRoleChanged(operation, organisation.id, changed, nowMs);
  const reader = mailReaderOf(organisation, "member_role_changed");
  if (reader === undefined || !await countMail(kv, operation, organisation.id, nowMs)) return;
  const { person, formerRole, role } = changed;
  const names = { organisation: accountName(organisation), member: person.email ?? person.id };
  const job = { kind: "member_role_changed", ...reader, ...names, formerRole, role } as const;
  addMail(operation, job, { nowMs });
}

/** Adds the webhook and the mail of a member who is gone to the commit that removes them. */
async function announceRemoval(
  kv: KeyValueStore,
  operation: AtomicWrite,
  organisation: Account,
  { person, role, hasLeft }: {
    readonly person: Account;
    readonly role: GivenRole;
    readonly hasLeft: boolean;
  },
  nowMs: number,
): Promise<void> {
  const { id, email } = person;
  addWebhookEvent(operation, organisation.id, {
    type: "member.removed",
    data: { member_id: id, email: email ?? "", role, has_left: hasLeft },
  }, nowMs);
  const reader = mailReaderOf(organisation, "member_removed");
  if (reader === undefined || !await countMail(kv, operation, organisation.id, nowMs)) return;
  const names = { organisation: accountName(organisation), member: email ?? id };
  addMail(operation, { kind: "member_removed", ...reader, ...names, hasLeft }, { nowMs });
}

/**
 * Gives a member another role; works with the next request of the member.
 *
 * @returns `false` if there is no such member, or the member is the owner
 */
export async function changeRole(
  kv: KeyValueStore,
  organisationId: AccountId,
  personId: AccountId,
  role: GivenRole,
  done: Done,
): Promise<boolean> {
  return await writeAccount<boolean>(async () => {
    const [entry, row, person] = await kv.getMany<[Account, MemberRow, Account]>([
      accountKey(organisationId),
      memberKey(organisationId, personId),
      accountKey(personId),
    ]);
    if (entry.value === null || row.value === null) return { done: false };
    // The row of the organisation is written, so that who verifies it sees that something changed.
    const operation = kv.atomic().check(entry).check(row)
      .set(entry.key, entry.value)
      .set(row.key, { ...row.value, role })
      .set(membershipKey(personId, organisationId), { role } satisfies MembershipRow);
    const formerRole = row.value.role;
    addAct(operation, organisationId, "member_role_changed", done, {
      subject: personId,
      before: { role: formerRole },
      after: { role },
    });
    if (formerRole !== role) {
      const changed = { person: person.value ?? { id: personId }, formerRole, role };
      await announceRole(kv, operation, entry.value, changed, done.nowMs);
    }
    return (await operation.commit()).ok ? { done: true } : "again";
  });
}

/**
 * Revokes the API keys and the management keys that a former member has made: whoever made them has seen their secrets.
 *
 * @param when.madeUntilMs keys that were made later stay; absent: none does
 */
export async function revokeKeysOf(
  kv: KeyValueStore,
  organisationId: AccountId,
  personId: AccountId,
  { madeUntilMs = Infinity, ...done }: Done & { readonly madeUntilMs?: number },
): Promise<void> {
  for (const key of await listApiKeys(kv, organisationId)) {
    const isTheirs = keyMember(key) === personId && key.createdAtMs <= madeUntilMs;
    if (isTheirs && key.revokedAtMs === undefined) {
      await revokeApiKey(kv, organisationId, key.id, done.nowMs);
    }
  }
  for (const { id, memberId, createdAtMs } of await listManagementKeys(kv, organisationId)) {
    if (memberId !== personId || createdAtMs > madeUntilMs) continue;
    await revokeManagementKey(kv, organisationId, id, done);
  }
}

/**
 * Removes a member. Their sessions act for the organisation no longer from the next request on. Calls with their keys,
 * which call for a member only, are refused within two seconds; the keys are revoked afterwards. Who has no other
 * organisation gets a new one, without members and money. Who was removed by others does not join by the provider of the
 * organisation again.
 *
 * @param options.isDeleted the person is about to be deleted, and needs no organisation any more
 * @returns `false` if there is no such member, or the member is the owner
 */
export async function removeMember(
  kv: KeyValueStore,
  organisationId: AccountId,
  personId: AccountId,
  { isDeleted, ...done }: Done & { readonly isDeleted?: true },
): Promise<boolean> {
  const { nowMs, by } = done;
  const hasLeft = isDeleted === true || (by?.kind === "person" && by.accountId === personId);
  const removed = await writeAccount<QueuedCleanup | undefined>(async () => {
    const [entry, row, person] = await kv.getMany<[Account, MemberRow, Account]>([
      accountKey(organisationId),
      memberKey(organisationId, personId),
      accountKey(personId),
    ]);
    if (entry.value === null || row.value === null || person.value === null) {
      return { done: undefined };
    }
    const facts = organisationFacts(entry.value);
    invariant(facts.memberCount > 1, "A member beside the owner is counted");
    const operation = bumpKeysEpoch(kv.atomic()).check(entry).check(row)
      .set(entry.key, {
        ...entry.value,
        organisation: { ...facts, memberCount: facts.memberCount - 1 },
      })
      .delete(row.key)
      .delete(membershipKey(personId, organisationId));
    addAct(operation, organisationId, "member_removed", done, {
      subject: personId,
      before: { email: person.value.email, role: row.value.role },
    });
    const gone = { person: person.value, role: row.value.role, hasLeft };
    await announceRemoval(kv, operation, entry.value, gone, nowMs);
    addFormerMember(operation, organisationId, person.value);
    if (!hasLeft) await addRemoval(kv, operation, organisationId, person.value, nowMs);
    const left = (await listMemberships(kv, person.value))
      .filter(({ account }) => account.id !== organisationId);
    if (isDeleted !== true && left.length === 0) {
      const name = person.value.email ?? person.value.id;
      addOrganisation(operation, { owner: person.value, name, nowMs });
    }
    const cleanup: PendingCleanup = { of: "member", organisationId, personId, atMs: nowMs };
    const queued = addPendingCleanup(operation, cleanup);
    return (await operation.commit()).ok ? { done: queued } : "again";
  });
  if (removed === undefined) return false;
  await revokeKeysOf(kv, organisationId, personId, done);
  await removed.finish(kv);
  return true;
}
