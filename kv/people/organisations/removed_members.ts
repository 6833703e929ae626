/**
 * Keeps who was removed from an organisation, so that the provider or a domain of the organisation does not bring them
 * back. An invitation that they accept, or an admin who says so, lets them in again.
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { maxRemovedMembers } from "../../../core/people/organisations/organisation.ts";
import { memberOf, removedMemberKey, removedMembersPrefix } from "../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import type { Account, Identity } from "../accounts/accounts.ts";
import { addAct, type Done } from "../audit/account_activity.ts";

/** The row of somebody who was removed. */
interface RemovedMemberRow {
  readonly removedAtMs: number;
  /** The address at that time. */
  readonly email?: string;
  /** Identities at providers at that time: who deletes the account and comes back is the same person. */
  readonly identities?: readonly Identity[];
}

/** Somebody who was removed. */
export interface RemovedMember extends RemovedMemberRow {
  readonly personId: AccountId;
}

/** Lists who was removed from an organisation, the latest first. */
export async function listRemovedMembers(
  kv: KeyValueStore,
  organisationId: AccountId,
): Promise<RemovedMember[]> {
  const selector = { prefix: removedMembersPrefix(organisationId) };
  const rows = await Array.fromAsync(
    kv.list<RemovedMemberRow>(selector, { limit: maxRemovedMembers }),
  );
  return rows.map(({ key, value }) => ({ personId: memberOf(key), ...value }))
    .sort((one, other) => other.removedAtMs - one.removedAtMs);
}

/** Adds the row of a person to the commit that removes them; beyond the bound the oldest one ends. */
export async function addRemoval(
  kv: KeyValueStore,
  operation: AtomicWrite,
  organisationId: AccountId,
  { id, email, identities }: Account,
  nowMs: number,
): Promise<void> {
  const known = await listRemovedMembers(kv, organisationId);
  const oldest = known.length >= maxRemovedMembers ? known.at(-1) : undefined;
  if (oldest !== undefined) operation.delete(removedMemberKey(organisationId, oldest.personId));
  const row: RemovedMemberRow = { removedAtMs: nowMs, ...defined({ email, identities }) };
  operation.set(removedMemberKey(organisationId, id), row);
}

/** The rows about a person: of the account, of its address, or of somebody with the same identity at a provider. */
async function removalsOf(
  kv: KeyValueStore,
  organisationId: AccountId,
  person: Account,
): Promise<RemovedMember[]> {
  const isTheirs = (one: Identity) =>
    person.identities?.some(({ issuer, subject }) =>
      issuer === one.issuer && subject === one.subject
    ) === true;
  return (await listRemovedMembers(kv, organisationId)).filter(({ personId, email, identities }) =>
    personId === person.id || (email !== undefined && email === person.email) ||
    identities?.some(isTheirs) === true
  );
}

/** Whether a person was removed, be it with another account. */
export async function wasRemoved(
  kv: KeyValueStore,
  organisationId: AccountId,
  person: Account,
): Promise<boolean> {
  return (await removalsOf(kv, organisationId, person)).length > 0;
}

/** Adds to a commit that a person may join again. */
export async function addReadmission(
  kv: KeyValueStore,
  operation: AtomicWrite,
  organisationId: AccountId,
  person: Account,
): Promise<void> {
  for (const { personId } of await removalsOf(kv, organisationId, person)) {
    operation.delete(removedMemberKey(organisationId, personId));
  }
}

/** Lets somebody come back by the provider of the organisation. `false`: nobody with this id was removed. */
export async function readmitMember(
  kv: KeyValueStore,
  organisationId: AccountId,
  personId: AccountId,
  done: Done,
): Promise<boolean> {
  const entry = await kv.get<RemovedMemberRow>(removedMemberKey(organisationId, personId));
  if (entry.value === null) return false;
  const operation = kv.atomic().check(entry).delete(entry.key);
  const { email } = entry.value;
  addAct(operation, organisationId, "member_readmitted", done, {
    subject: personId,
    after: { email },
  });
  return (await operation.commit()).ok;
}
