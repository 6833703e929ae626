import { assert, assertEquals } from "../../../support/assert.ts";
import { createApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { getApiKey } from "../../../../kv/people/api_keys/api_keys.ts";
import {
  type Account,
  createAccount,
  getAccount,
} from "../../../../kv/people/accounts/accounts.ts";
import {
  acceptInvitation,
  endInvitation,
  invite,
  listInvitations,
  listInvitationsFor,
} from "../../../../kv/people/organisations/invitations.ts";
import {
  changeRole,
  listMembers,
  removeMember,
} from "../../../../kv/people/organisations/members.ts";
import {
  actingFor,
  createOrganisation,
  handOver,
  listMemberships,
  organisationFacts,
  readMembership,
  renameOrganisation,
} from "../../../../kv/people/organisations/organisations.ts";
import { createTeam, deleteTeam, listTeams } from "../../../../kv/people/organisations/teams.ts";
import { keyMember } from "../../../../core/limits/budgets.ts";
import { newMasterKey, readMasterKeys } from "../../../../core/people/api_keys/seal.ts";
import {
  invitationMs,
  maxOwnedOrganisations,
  maxRemovedMembers,
} from "../../../../core/people/organisations/organisation.ts";
import { listRemovedMembers } from "../../../../kv/people/organisations/removed_members.ts";
import { removedMemberKey } from "../../../../kv/engine/schema/keys.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

const nowMs = Date.UTC(2026, 10, 28);

async function person(kv: KeyValueStore, email: string): Promise<Account> {
  return await createAccount(kv, { nowMs, email, locale: "en" });
}

async function join(
  kv: KeyValueStore,
  organisation: Account,
  member: Account,
  role: "admin" | "developer" = "developer",
): Promise<void> {
  const { email = "" } = member;
  const inviter = "owner@example.com";
  const restsOn = { personId: organisationFacts(organisation).ownerId };
  await invite(kv, organisation.id, { email, role, inviter, restsOn, locale: "en", nowMs });
  assertEquals(await acceptInvitation(kv, organisation.id, member, { nowMs }), "joined");
}

const fresh = async (kv: KeyValueStore, { id }: Account) => {
  const account = await getAccount(kv, id);
  assert(account !== undefined);
  return account;
};

Deno.test("an account of today is an organisation of one, owned by its person", async () => {
  using kv = await Deno.openKv(":memory:");
  const ann = await person(kv, "ann@example.com");
  assertEquals(await actingFor(kv, ann, {}), { account: ann, role: "owner" });
  assertEquals(await listMembers(kv, ann), [
    { personId: ann.id, role: "owner", email: "ann@example.com" },
  ]);
  assertEquals((await listMemberships(kv, ann)).map(({ role }) => role), ["owner"]);
});

Deno.test("an invitation is for its address, once, and ends after a week", async () => {
  using kv = await Deno.openKv(":memory:");
  const [ann, bob, eve] = [
    await person(kv, "ann@example.com"),
    await person(kv, "bob@example.com"),
    await person(kv, "eve@example.com"),
  ];
  const invitation = { email: "bob@example.com", role: "developer", inviter: "ann" } as const;
  const restsOn = { personId: ann.id };
  const send = () => invite(kv, ann.id, { ...invitation, restsOn, locale: "en", nowMs });
  assert(typeof await send() === "object");
  assert(typeof await send() === "object");
  assertEquals((await listInvitations(kv, ann.id, nowMs)).length, 1);
  assertEquals(await acceptInvitation(kv, ann.id, eve, { nowMs }), "gone");
  assertEquals(await acceptInvitation(kv, ann.id, bob, { nowMs: nowMs + invitationMs }), "gone");
  assertEquals((await listInvitationsFor(kv, "bob@example.com", nowMs)).length, 1);
  const both = await Promise.all([
    acceptInvitation(kv, ann.id, bob, { nowMs }),
    acceptInvitation(kv, ann.id, bob, { nowMs }),
  ]);
  assertEquals(both.sort(), ["gone", "joined"]);
  assertEquals((await fresh(kv, ann)).organisation?.memberCount, 2);
  assertEquals(await send(), "member");
  assertEquals(await listInvitationsFor(kv, "bob@example.com", nowMs), []);
});

Deno.test("a withdrawn invitation cannot be accepted", async () => {
  using kv = await Deno.openKv(":memory:");
  const [ann, bob] = [await person(kv, "ann@example.com"), await person(kv, "bob@example.com")];
  const invitation = { email: "bob@example.com", role: "admin", inviter: "ann" } as const;
  const restsOn = { personId: ann.id };
  await invite(kv, ann.id, { ...invitation, restsOn, locale: "en", nowMs });
  assert(await endInvitation(kv, ann.id, "bob@example.com", { nowMs }));
  assert(!await endInvitation(kv, ann.id, "bob@example.com", { nowMs }), "it was there twice");
  assertEquals(await acceptInvitation(kv, ann.id, bob, { nowMs }), "gone");
});

Deno.test("simultaneous joins, roles and removals leave the count of members right", async () => {
  using kv = await Deno.openKv(":memory:");
  const ann = await person(kv, "ann@example.com");
  const people = await Promise.all(
    Array.from({ length: 6 }, (_, at) => person(kv, `p${at}@example.com`)),
  );
  await Promise.all(people.map((one) => join(kv, ann, one)));
  await Promise.all(
    people.slice(0, 4).flatMap((one) => [
      changeRole(kv, ann.id, one.id, "admin", { nowMs }),
      removeMember(kv, ann.id, one.id, { nowMs }),
      removeMember(kv, ann.id, one.id, { nowMs }),
    ]),
  );
  const after = await fresh(kv, ann);
  const members = await listMembers(kv, after);
  assertEquals(members.length, 3);
  assertEquals(after.organisation?.memberCount, members.length);
});

Deno.test("who is removed acts for it no more, and the keys they made end; others' keys stay", async () => {
  using kv = await Deno.openKv(":memory:");
  const masterKeys = await readMasterKeys(newMasterKey());
  const [ann, bob] = [await person(kv, "ann@example.com"), await person(kv, "bob@example.com")];
  await join(kv, ann, bob);
  const key = async (memberId: Account["id"]) => {
    const made = await createApiKey(kv, masterKeys, ann.id, { name: "k", nowMs, memberId });
    assert(made.ok);
    return made.record.id;
  };
  const [bobs, anns] = [await key(bob.id), await key(ann.id)];
  assertEquals((await readMembership(kv, ann.id, bob.id))?.role, "developer");
  assert(await removeMember(kv, ann.id, bob.id, { nowMs }));
  assertEquals(await readMembership(kv, ann.id, bob.id), undefined);
  assertEquals((await actingFor(kv, bob, { organisationId: ann.id }))?.account.id, bob.id);
  assertEquals((await getApiKey(kv, ann.id, bobs))?.revokedAtMs, nowMs);
  assertEquals((await getApiKey(kv, ann.id, anns))?.revokedAtMs, undefined);
});

Deno.test("when the founder leaves, the keys without a name end, and those of programs and others stay", async () => {
  using kv = await Deno.openKv(":memory:");
  const masterKeys = await readMasterKeys(newMasterKey());
  const [ann, bob] = [await person(kv, "ann@example.com"), await person(kv, "bob@example.com")];
  const makers = {
    "before there were members": {},
    "the founder": { memberId: ann.id },
    "a member": { memberId: bob.id },
    "a program": { madeByProgram: true },
  } as const;
  const made = new Map<string, Account["id"] | undefined>();
  const keys = await Promise.all(
    Object.entries(makers).map(async ([name, maker]) => {
      const key = await createApiKey(kv, masterKeys, ann.id, { name, nowMs, ...maker });
      assert(key.ok);
      made.set(name, keyMember(key.record));
      return key.record.id;
    }),
  );
  assertEquals(Object.fromEntries(made), {
    "before there were members": ann.id,
    "the founder": ann.id,
    "a member": bob.id,
    "a program": undefined,
  });
  await join(kv, ann, bob, "admin");
  assertEquals(await handOver(kv, ann.id, { from: ann, to: bob.id, nowMs }), "done");
  assert(await removeMember(kv, ann.id, ann.id, { nowMs }));
  const left = await Promise.all(keys.map((id) => getApiKey(kv, ann.id, id)));
  assertEquals(
    left.filter((key) => key?.revokedAtMs === undefined).map((key) => key?.name),
    ["a member", "a program"],
  );
});

Deno.test("ownership moves with the wallet; whoever hands over stays, and can be removed", async () => {
  using kv = await Deno.openKv(":memory:");
  const [ann, bob] = [await person(kv, "ann@example.com"), await person(kv, "bob@example.com")];
  await join(kv, ann, bob, "admin");
  await renameOrganisation(kv, ann.id, "Acme", { nowMs });
  assertEquals(await handOver(kv, ann.id, { from: bob, to: ann.id, nowMs }), "not_member");
  assertEquals(await handOver(kv, ann.id, { from: ann, to: bob.id, nowMs }), "done");
  const acme = await fresh(kv, ann);
  assertEquals(acme.organisation, {
    name: "Acme",
    ownerId: bob.id,
    memberCount: 2,
    mailTo: "bob@example.com",
  });
  const roles = (await listMembers(kv, acme)).map(({ email, role }) => [email, role]);
  assertEquals(roles, [["bob@example.com", "owner"], ["ann@example.com", "admin"]]);
  assertEquals((await actingFor(kv, acme, {}))?.role, "admin", "the founder acts as an admin");
  // The founder's only organisation: afterwards there is a new one, without money and members.
  assert(await removeMember(kv, ann.id, ann.id, { nowMs }));
  const left = await actingFor(kv, await fresh(kv, ann), {});
  assertEquals(left?.role, "owner");
  assert(left?.account.id !== ann.id);
  assertEquals(await readMembership(kv, ann.id, ann.id), undefined);
  assertEquals(await removeMember(kv, ann.id, bob.id, { nowMs }), false);
});

Deno.test("a person owns a bounded number of organisations, also at the same moment", async () => {
  using kv = await Deno.openKv(":memory:");
  const ann = await person(kv, "ann@example.com");
  const tries = Array.from({ length: 12 }, (_, at) => at);
  const made: (Account | "too_many")[] = [];
  for (const at of tries) {
    made.push(await createOrganisation(kv, ann.id, { name: `o${at}`, nowMs }));
  }
  const owned = (await listMemberships(kv, ann)).filter(({ role }) => role === "owner");
  assertEquals(owned.length, maxOwnedOrganisations);
  assertEquals(made.filter((one) => one === "too_many").length, 12 - maxOwnedOrganisations + 1);
});

Deno.test("ten active keys for one, ten for each member", async () => {
  using kv = await Deno.openKv(":memory:");
  const masterKeys = await readMasterKeys(newMasterKey());
  const [ann, bob] = [await person(kv, "ann@example.com"), await person(kv, "bob@example.com")];
  const fill = async () => {
    for (;;) {
      const made = await createApiKey(kv, masterKeys, ann.id, {
        name: "k",
        nowMs,
        keysPerMember: 2,
      });
      if (!made.ok) return made;
    }
  };
  assertEquals(await fill(), { ok: false, reason: "limit", limit: 10 });
  await join(kv, ann, bob);
  assertEquals(await fill(), { ok: false, reason: "limit", limit: 4 });
});

Deno.test("teams have distinct names and can be deleted", async () => {
  using kv = await Deno.openKv(":memory:");
  const ann = await person(kv, "ann@example.com");
  const search = await createTeam(kv, ann.id, { name: "Search", nowMs });
  assert(typeof search === "object");
  assertEquals(await createTeam(kv, ann.id, { name: "Search", nowMs }), "taken");
  assertEquals((await listTeams(kv, ann.id)).map(({ name }) => name), ["Search"]);
  assert(await deleteTeam(kv, ann.id, search.id, { nowMs }));
  assertEquals(await listTeams(kv, ann.id), []);
});

Deno.test("the list of removed people is bounded, and forgets the oldest", async () => {
  using kv = await Deno.openKv(":memory:");
  const [ann, bob] = [await person(kv, "ann@example.com"), await person(kv, "bob@example.com")];
  await join(kv, ann, bob);
  for (let at = 0; at < maxRemovedMembers; at++) {
    const id = newId("account", nowMs + at);
    await kv.set(removedMemberKey(ann.id, id), { removedAtMs: nowMs + at });
  }
  const oldest = (await listRemovedMembers(kv, ann.id)).at(-1);
  const later = nowMs + maxRemovedMembers;
  assert(await removeMember(kv, ann.id, bob.id, { nowMs: later }));
  const removed = await listRemovedMembers(kv, ann.id);
  assertEquals([removed.length, removed[0]?.email], [maxRemovedMembers, "bob@example.com"]);
  assert(!removed.some(({ personId }) => personId === oldest?.personId));
});
