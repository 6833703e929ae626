/** Builds keys of organisations: members, the organisations of a person, invitations, teams, management keys. */
import type { AccountId, ManagementKeyId, TeamId } from "../../../core/lib/ids/ids.ts";
import type { StoreKey } from "./store_key.ts";

export function membersPrefix(organisationId: AccountId): StoreKey {
  return ["member", organisationId];
}

/** Key of a member who is not the owner; the row of the account names the owner. */
export function memberKey(organisationId: AccountId, personId: AccountId): StoreKey {
  return ["member", organisationId, personId];
}

/** Returns the person of a row of members, of those who were removed, or of those who were members lately. */
export function memberOf(key: Deno.KvKey): AccountId {
  return String(key[2]) as AccountId;
}

export function removedMembersPrefix(organisationId: AccountId): StoreKey {
  return ["removed_member", organisationId];
}

/** Key of a person who was removed from an organisation. */
export function removedMemberKey(organisationId: AccountId, personId: AccountId): StoreKey {
  return ["removed_member", organisationId, personId];
}

export function formerMembersPrefix(organisationId: AccountId): StoreKey {
  return ["former_member", organisationId];
}

/** Key of a person who was a member of an organisation lately. */
export function formerMemberKey(organisationId: AccountId, personId: AccountId): StoreKey {
  return ["former_member", organisationId, personId];
}

export function membershipsPrefix(personId: AccountId): StoreKey {
  return ["membership", personId];
}

/** Key of the index row of a person's organisation. The organisation with the id of the person needs none. */
export function membershipKey(personId: AccountId, organisationId: AccountId): StoreKey {
  return ["membership", personId, organisationId];
}

/** Returns the organisation of a row of memberships, or of invitations by address. */
export function organisationOf(key: Deno.KvKey): AccountId {
  return String(key[2]) as AccountId;
}

export function invitationsPrefix(organisationId: AccountId): StoreKey {
  return ["invitation", organisationId];
}

/** Key of an invitation: an organisation has one for each address. */
export function invitationKey(organisationId: AccountId, email: string): StoreKey {
  return ["invitation", organisationId, email];
}

/** Returns the address of a row of invitations. */
export function emailOfInvitation(key: Deno.KvKey): string {
  return String(key[2]);
}

export function invitationsForPrefix(email: string): StoreKey {
  return ["invitation_for", email];
}

export function invitationForKey(email: string, organisationId: AccountId): StoreKey {
  return ["invitation_for", email, organisationId];
}

export function teamsPrefix(organisationId: AccountId): StoreKey {
  return ["team", organisationId];
}

export function teamKey(organisationId: AccountId, teamId: TeamId): StoreKey {
  return ["team", organisationId, teamId];
}

export function managementKeysPrefix(organisationId: AccountId): StoreKey {
  return ["management_key", organisationId];
}

export function managementKeyKey(organisationId: AccountId, id: ManagementKeyId): StoreKey {
  return ["management_key", organisationId, id];
}

export function managementKeyByHashKey(hash: string): StoreKey {
  return ["management_key_by_hash", hash];
}

/** Key of the answer to a request of the management API, by the hash of its idempotency key. */
export function managementAnswerKey(organisationId: AccountId, requestHash: string): StoreKey {
  return ["management_answer", organisationId, requestHash];
}

/** Key of the OpenID provider of an organisation. */
export function companyOpenIdKey(organisationId: AccountId): StoreKey {
  return ["company_openid", organisationId];
}

/** Key of the provider keys of an organisation. */
export function ownKeysKey(organisationId: AccountId): StoreKey {
  return ["own_keys", organisationId];
}

export function companyDomainsPrefix(organisationId: AccountId): StoreKey {
  return ["company_domain", organisationId];
}

/** Key of a domain that an organisation says is its own. */
export function companyDomainKey(organisationId: AccountId, domain: string): StoreKey {
  return ["company_domain", organisationId, domain];
}

export function verifiedDomainsPrefix(): StoreKey {
  return ["verified_domain"];
}

/** Returns the domain of a row of verified domains. */
export function domainOfKey(key: Deno.KvKey): string {
  return String(key[1]);
}

/** Key of the organisation that has verified a domain. */
export function verifiedDomainKey(domain: string): StoreKey {
  return ["verified_domain", domain];
}

/** Key of the list of the presets of an organisation. */
export function presetsKey(organisationId: AccountId): StoreKey {
  return ["preset", organisationId];
}

/** Key of a version of a preset. */
export function presetKey(organisationId: AccountId, name: string, version: number): StoreKey {
  return ["preset", organisationId, name, version];
}
