/**
 * Checks that the members of each organisation are those that its row counts, that its owner is no other member, and
 * that every member finds it: who may spend the money of a wallet depends on these rows.
 */
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import type { TimeSlices } from "../../../../core/lib/time/time_slices.ts";
import {
  accountKey,
  accountsPrefix,
  memberOf,
  membershipKey,
  membersPrefix,
} from "../../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../../engine/store/key_value_store.ts";
import type { Account } from "../../../people/accounts/accounts.ts";
import {
  type MemberRow,
  type MembershipRow,
  organisationFacts,
} from "../../../people/organisations/organisations.ts";
import type { Problem } from "./problems.ts";

/** Readings of an organisation that keeps changing; after them it counts as right, since each change checks it. */
const maxReadings = 10;

/** Reads what is wrong with an organisation at one moment; `undefined`: it changed during the reading. */
async function wrongsOf(kv: KeyValueStore, id: AccountId): Promise<string[] | undefined> {
  const before = await kv.get<Account>(accountKey(id));
  if (before.value === null) return [];
  const { ownerId, memberCount } = organisationFacts(before.value);
  const members = await Array.fromAsync(kv.list<MemberRow>({ prefix: membersPrefix(id) }));
  if (before.value.organisation?.closedAtMs !== undefined) {
    return members.length === 0 ? [] : [`${members.length} members, but it was deleted`];
  }
  const wrongs: string[] = [];
  if (members.length + 1 !== memberCount) {
    wrongs.push(`${members.length + 1} members, but ${memberCount} are counted`);
  }
  const expected = members.map(({ key, value }): [AccountId, MembershipRow["role"]] => [
    memberOf(key),
    value.role,
  ]);
  if (expected.some(([personId]) => personId === ownerId)) {
    wrongs.push("the owner is a member with another role, too");
  }
  if (ownerId !== id) expected.push([ownerId, "owner"]);
  for (const [personId, role] of expected) {
    const { value } = await kv.get<MembershipRow>(membershipKey(personId, id));
    if (value?.role !== role) wrongs.push(`${personId} is ${role}, and does not find it as such`);
  }
  const after = await kv.get<Account>(accountKey(id));
  return after.versionstamp === before.versionstamp ? wrongs : undefined;
}

/** Checks the organisations of several people. */
export async function* organisationProblems(
  kv: KeyValueStore,
  slices?: TimeSlices,
): AsyncGenerator<Problem, void, void> {
  for await (const { value } of kv.list<Account>({ prefix: accountsPrefix() })) {
    await slices?.rest();
    if (value.organisation === undefined) continue;
    for (let reading = 0; reading < maxReadings; reading++) {
      const wrongs = await wrongsOf(kv, value.id);
      if (wrongs === undefined) continue;
      for (const detail of wrongs) {
        yield { kind: "organisation", accountId: value.id, detail };
      }
      break;
    }
  }
}
