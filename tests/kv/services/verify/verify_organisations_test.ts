import { assertEquals } from "../../../support/assert.ts";
import { memberKey, membershipKey } from "../../../../kv/engine/schema/keys.ts";
import { createAccount } from "../../../../kv/people/accounts/accounts.ts";
import { acceptInvitation, invite } from "../../../../kv/people/organisations/invitations.ts";
import { changeRole, removeMember } from "../../../../kv/people/organisations/members.ts";
import { createOrganisation, handOver } from "../../../../kv/people/organisations/organisations.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";

const nowMs = Date.UTC(2026, 10, 28);

async function openOrganisation(kv: KeyValueStore) {
  const make = (email: string) => createAccount(kv, { nowMs, email });
  const [ann, bob, eve] = [
    await make("ann@example.com"),
    await make("bob@example.com"),
    await make("eve@example.com"),
  ];
  const acme = await createOrganisation(kv, ann.id, { name: "Acme", nowMs });
  if (acme === "too_many") throw new Error(acme);
  for (const { id, email = "" } of [bob, eve]) {
    const invitation = { email, role: "developer", inviter: "ann", locale: "en", nowMs } as const;
    await invite(kv, acme.id, { ...invitation, restsOn: { personId: ann.id } });
    await acceptInvitation(kv, acme.id, { id, email, createdAtMs: nowMs }, { nowMs });
  }
  return { acme, ann, bob, eve };
}

const problemsOf = async (kv: KeyValueStore) =>
  (await verifyStore(kv)).problems.map(({ kind, detail }) => `${kind}: ${detail}`);

Deno.test("an organisation that members join, leave and inherit is right", async () => {
  using kv = await Deno.openKv(":memory:");
  const { acme, ann, bob, eve } = await openOrganisation(kv);
  await changeRole(kv, acme.id, bob.id, "admin", { nowMs });
  await handOver(kv, acme.id, { from: ann, to: bob.id, nowMs });
  await removeMember(kv, acme.id, eve.id, { nowMs });
  assertEquals(await problemsOf(kv), []);
});

Deno.test("a member who was planted, lost or is another than it seems is found", async () => {
  using kv = await Deno.openKv(":memory:");
  const { acme, ann, bob, eve } = await openOrganisation(kv);
  await kv.delete(memberKey(acme.id, bob.id));
  assertEquals(await problemsOf(kv), ["organisation: 2 members, but 3 are counted"]);
  await kv.set(memberKey(acme.id, bob.id), { role: "developer", joinedAtMs: nowMs });
  await kv.set(memberKey(acme.id, eve.id), { role: "admin", joinedAtMs: nowMs });
  assertEquals(await problemsOf(kv), [
    `organisation: ${eve.id} is admin, and does not find it as such`,
  ]);
  await kv.set(memberKey(acme.id, eve.id), { role: "developer", joinedAtMs: nowMs });
  await kv.delete(membershipKey(ann.id, acme.id));
  assertEquals(await problemsOf(kv), [
    `organisation: ${ann.id} is owner, and does not find it as such`,
  ]);
});
