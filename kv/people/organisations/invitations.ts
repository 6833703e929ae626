/**
 * Invitations to organisations. They are for an address, not for who has a link: whoever has proven to own the address
 * finds them after signing in, so there is no token that could leak.
 */
import type { Locale } from "../../../core/lib/base/locale.ts";
import type { AccountId, ManagementKeyId } from "../../../core/lib/ids/ids.ts";
import { type GivenRole, may } from "../../../core/people/organisations/acts.ts";
import {
  invitationMs,
  maxMemberships,
  maxOpenInvitations,
} from "../../../core/people/organisations/organisation.ts";
import { addMail } from "../../engine/outbox/outbox.ts";
import {
  accountByEmailKey,
  accountKey,
  invitationForKey,
  invitationKey,
  invitationsForPrefix,
  invitationsPrefix,
  managementKeyKey,
  organisationOf,
} from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import {
  type Account,
  accountName,
  getAccount,
  hasOnlyBooks,
  isClosed,
  writeAccount,
} from "../accounts/accounts.ts";
import type { ManagementKey } from "../management_keys/management_keys.ts";
import { addMember, type Joined } from "./members.ts";
import { addAct, type Done } from "../audit/account_activity.ts";
import { readMembership } from "./organisations.ts";

/** An invitation that waits for an answer. */
export interface Invitation {
  readonly email: string;
  readonly role: GivenRole;
  /** Name of the member who invites, as the mail says it. */
  readonly inviter: string;
  /** By whose right it was made; absent on those of older versions. */
  readonly restsOn?: InvitationRight;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

/** The member whose right an invitation rests on, and the management key that used it. The invitation ends with it. */
export interface InvitationRight {
  readonly personId: AccountId;
  readonly keyId?: ManagementKeyId;
}

/** An invitation with the organisation that it is for. */
export interface ReceivedInvitation extends Invitation {
  readonly organisation: Account;
}

/**
 * Invites an address, and mails it. A second invitation replaces the first one.
 *
 * @param invitation.locale of the mail: the inviter's
 * @returns the invitation; `member` if the address belongs to a member
 */
export async function invite(
  kv: KeyValueStore,
  organisationId: AccountId,
  invitation: {
    readonly email: string;
    readonly role: GivenRole;
    readonly inviter: string;
    readonly restsOn: InvitationRight;
    readonly locale: Locale;
  } & Done,
): Promise<Invitation | "member" | "too_many"> {
  const { email, role, inviter, restsOn, locale, nowMs, by } = invitation;
  return await writeAccount<Invitation | "member" | "too_many">(async () => {
    const [entry, known, waiting] = await kv.getMany<[Account, AccountId, Invitation]>([
      accountKey(organisationId),
      accountByEmailKey(email),
      invitationKey(organisationId, email),
    ]);
    if (entry.value === null || hasOnlyBooks(entry.value)) return { done: "too_many" };
    const isMember = known.value !== null &&
      await readMembership(kv, organisationId, known.value) !== undefined;
    if (isMember) return { done: "member" };
    const open = await listInvitations(kv, organisationId, nowMs);
    const others = open.filter((one) => one.email !== email);
    if (others.length >= maxOpenInvitations) return { done: "too_many" };
    const row: Invitation = {
      email,
      role,
      inviter,
      restsOn,
      createdAtMs: nowMs,
      expiresAtMs: nowMs + invitationMs,
    };
    const expires = { expireIn: invitationMs };
    // The row of the organisation is written, so that simultaneous invitations keep to the bound.
    const operation = kv.atomic().check(entry).check(waiting)
      .set(entry.key, entry.value)
      .set(waiting.key, row, expires)
      .set(invitationForKey(email, organisationId), true, expires);
    addAct(operation, organisationId, "member_invited", { by, nowMs }, { after: { email, role } });
    const organisation = accountName(entry.value);
    addMail(operation, { kind: "invitation", to: email, locale, organisation, inviter, role }, {
      nowMs,
    });
    return (await operation.commit()).ok ? { done: row } : "again";
  });
}

/** Lists the invitations of an organisation that wait, by address. */
export async function listInvitations(
  kv: KeyValueStore,
  organisationId: AccountId,
  nowMs: number,
): Promise<Invitation[]> {
  // Twice the bound: expired rows may remain for a while.
  const rows = await Array.fromAsync(
    kv.list<Invitation>({ prefix: invitationsPrefix(organisationId) }, {
      limit: 2 * maxOpenInvitations,
    }),
  );
  const open: Invitation[] = [];
  for (const { value } of rows) {
    if (nowMs < value.expiresAtMs && await isRightful(kv, organisationId, value)) open.push(value);
  }
  return open;
}

/** Whether whoever invited may still invite: a member who was removed or demoted leaves no way in. */
async function isRightful(
  kv: KeyValueStore,
  organisationId: AccountId,
  { restsOn }: Invitation,
): Promise<boolean> {
  if (restsOn === undefined) return true;
  const { personId, keyId } = restsOn;
  const inviter = await readMembership(kv, organisationId, personId);
  if (inviter === undefined || !may(inviter.role, "change_members")) return false;
  if (keyId === undefined) return true;
  const { value: key } = await kv.get<ManagementKey>(managementKeyKey(organisationId, keyId));
  return key !== null && key.revokedAtMs === undefined && may(key.role, "change_members");
}

/** Lists the invitations for an address. */
export async function listInvitationsFor(
  kv: KeyValueStore,
  email: string,
  nowMs: number,
): Promise<ReceivedInvitation[]> {
  const received: ReceivedInvitation[] = [];
  const rows = kv.list({ prefix: invitationsForPrefix(email) }, { limit: maxMemberships });
  for await (const { key } of rows) {
    const organisationId = organisationOf(key);
    const { value } = await kv.get<Invitation>(invitationKey(organisationId, email));
    const organisation = await getAccount(kv, organisationId);
    if (value === null || nowMs >= value.expiresAtMs) continue;
    if (organisation === undefined || hasOnlyBooks(organisation)) continue;
    if (!await isRightful(kv, organisationId, value)) continue;
    received.push({ ...value, organisation });
  }
  return received;
}

/** Ends an invitation: its organisation has withdrawn it, or the invited person declines. `false`: there is none. */
export async function endInvitation(
  kv: KeyValueStore,
  organisationId: AccountId,
  email: string,
  done: Done,
): Promise<boolean> {
  const entry = await kv.get<Invitation>(invitationKey(organisationId, email));
  if (entry.value === null) return false;
  const operation = kv.atomic().check(entry).delete(entry.key).delete(
    invitationForKey(email, organisationId),
  );
  const { role } = entry.value;
  addAct(operation, organisationId, "invitation_withdrawn", done, { before: { email, role } });
  return (await operation.commit()).ok;
}

/**
 * Makes the invited person a member, once.
 *
 * @returns `gone` if there is no invitation for the person's address any more
 */
export async function acceptInvitation(
  kv: KeyValueStore,
  organisationId: AccountId,
  person: Account,
  { by, nowMs }: Done,
): Promise<Joined | "gone"> {
  const { email } = person;
  if (email === undefined) return "gone";
  return await writeAccount<Joined | "gone">(async () => {
    const [entry, row] = await kv.getMany<[Account, Invitation]>([
      accountKey(organisationId),
      invitationKey(organisationId, email),
    ]);
    const isGone = row.value === null || nowMs >= row.value.expiresAtMs || entry.value === null ||
      isClosed(entry.value);
    if (isGone || !await isRightful(kv, organisationId, row.value)) return { done: "gone" };
    const operation = kv.atomic().check(row).delete(row.key)
      .delete(invitationForKey(email, organisationId));
    const { role } = row.value;
    const joined = await addMember(kv, operation, entry, { person, role, nowMs, by });
    if (joined === "full") return { done: "full" };
    return (await operation.commit()).ok ? { done: joined } : "again";
  });
}
