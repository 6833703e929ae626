/** Acts on people: what they cost others, and that nothing outlives the right that it rests on. */
import { assert, assertEquals } from "../../support/assert.ts";
import { parseId } from "../../../core/lib/ids/ids.ts";
import type { JsonObject } from "../../../core/lib/json/json.ts";
import { hourMs } from "../../../core/lib/time/durations.ts";
import { type Role, roles } from "../../../core/people/organisations/acts.ts";
import { type Account, createAccount } from "../../../kv/people/accounts/accounts.ts";
import { createApiKey } from "../../../kv/people/api_keys/api_key_changes.ts";
import { getApiKey } from "../../../kv/people/api_keys/api_keys.ts";
import { keyMember } from "../../../core/limits/budgets.ts";
import {
  acceptInvitation,
  listInvitations,
  listInvitationsFor,
} from "../../../kv/people/organisations/invitations.ts";
import { changeRole, removeMember } from "../../../kv/people/organisations/members.ts";
import { revokeManagementKey } from "../../../kv/people/management_keys/management_keys.ts";
import { managementKeyRevocation } from "../../../routes/acts/keys.ts";
import { type Acting, perform } from "../../../routes/acts/operation.ts";
import { invitation, withdrawal } from "../../../routes/acts/people.ts";
import { type ActName, actSpendings, countSpending } from "../../../routes/acts/spending.ts";
import { rateRules } from "../../../routes/auth/sign_in_budgets.ts";
import { openManagementWorld } from "../../support/worlds/management_world.ts";
import { joinAs } from "../../support/worlds/company_world.ts";
import { ownerOf } from "../../support/worlds/acting.ts";

type World = Awaited<ReturnType<typeof openManagementWorld>>;

const depsOf = ({ kv, masterKeys }: World) => ({
  kv,
  masterKeys,
  control: { refresh: () => Promise.resolve() },
  catalog: { find: () => undefined, providers: {} },
  hintMail: () => {},
});

/** Somebody who acts on a page. */
function onPage(world: World, person: Account, role: Role, address = "203.0.113.9"): Acting {
  const by = { kind: "person", accountId: person.id, address, browser: "" } as const;
  const who = { personId: person.id, roles: [role], by, address };
  return ownerOf(world.owner, world.time.nowMs(), who);
}

async function joined(world: World, email: string, role: "admin" | "developer") {
  const person = await createAccount(world.kv, { nowMs: world.time.nowMs(), email });
  await joinAs(world.kv, world.owner.id, person, { role, nowMs: world.time.nowMs() });
  return person;
}

Deno.test("mails to addresses that somebody typed are bounded, by whatever way they are sent", async () => {
  await using world = await openManagementWorld();
  let sent = 0;
  for (let i = 0; i < 250; i++) {
    const email = `stranger${i}@example.net`;
    if (i % 2 === 0) {
      const acting = onPage(world, world.owner, "owner");
      const made = await perform(depsOf(world), acting, invitation, { email, role: "viewer" });
      if (made.ok) sent++;
      await perform(depsOf(world), acting, withdrawal, { id: email });
    } else {
      const made = await world.send("POST", "/invitations", { body: { email, role: "viewer" } });
      if (made.status === 200) sent++;
      else assertEquals([made.status, made.body.error.code], [429, "rate_limit_reached"]);
      await world.send("DELETE", `/invitations/${email}`);
    }
  }
  assertEquals(sent, 30, "one person, on pages and with keys together");
  world.time.advance(hourMs);
  // Others of the organisation have bounds of their own, below that of the organisation.
  for (const [at, name] of ["bob", "dan", "fay", "gus"].entries()) {
    const person = await joined(world, `${name}@example.com`, "admin");
    const acting = onPage(world, person, "admin", `198.51.100.${at}`);
    for (let i = 0; i < 40; i++) {
      const email = `${name}${i}@example.net`;
      const made = await perform(depsOf(world), acting, invitation, { email, role: "viewer" });
      if (made.ok) sent++;
      await perform(depsOf(world), acting, withdrawal, { id: email });
    }
  }
  assertEquals(sent, 100);
});

/** What takes access away: it has to be possible at once, whatever a leaked key has done. */
const endingActs = [
  "changeMember",
  "removeMember",
  "withdrawInvitation",
  "rotateKey",
  "revokeKey",
  "revokeManagementKey",
  "removeProviderKey",
  "disconnectCompanySignIn",
  "removeDomain",
  "rotateWebhookSecret",
  "deleteWebhook",
] as const satisfies readonly ActName[];

Deno.test("acts that take access away are not refused on pages for what programs have spent", async () => {
  await using world = await openManagementWorld();
  const { kv, owner, adminKey, time } = world;
  const { address, ...who } = { ...onPage(world, owner, "owner"), accountId: owner.id };
  const byKey = (keyId: typeof adminKey.id) => ({
    ...who,
    address,
    by: { kind: "management_key", keyId, address, browser: "" } as const,
  });
  const acts = Object.keys(actSpendings) as ActName[];
  // More keys than the bound of the organisation needs.
  for (let at = 0; at < 6; at++) {
    const { key } = await world.secretOf("admin");
    const looping = byKey(key.id);
    for (const act of acts.filter((act) => !actSpendings[act].some((one) => one === "mail"))) {
      for (let i = 0; i <= rateRules.changesByAccount.count; i++) {
        if (!(await countSpending(kv, act, looping, undefined)).allowed) break;
      }
      const verdict = await countSpending(kv, act, looping, undefined);
      assert(!verdict.allowed, `${act} of a program is bounded`);
    }
  }
  const pages = { ...who, address };
  for (const act of endingActs) {
    assert((await countSpending(kv, act, pages, undefined)).allowed, act);
  }
  assert(!(await countSpending(kv, "createKey", pages, undefined)).allowed);
  for (const act of acts.filter((act) => /^(revoke|remove|withdraw|rotate|disconnect)/.test(act))) {
    assert(endingActs.some((one) => one === act), `${act} takes access away`);
  }
  time.advance(hourMs);
  const again = { ...pages, nowMs: time.nowMs() };
  for (let i = 0; i < 240; i++) await countSpending(kv, "revokeKey", again, undefined);
  assert(!(await countSpending(kv, "revokeKey", again, undefined)).allowed, "pages are bounded");
});

Deno.test("whoever made a management key that loops revokes it on a page, and with another key", async () => {
  await using world = await openManagementWorld();
  const { owner, adminKey } = world;
  const { key: looping, secret } = await world.secretOf("admin");
  const { count } = rateRules.changesByAccount;
  const lastOf = async (method: string, path: string, body?: JsonObject) => {
    let status = 0;
    for (let i = 0; i <= count; i++) {
      ({ status } = await world.send(method, path, { secret, body }));
    }
    return status;
  };
  assertEquals(await lastOf("POST", "/teams", { name: "t" }), 429);
  assertEquals(await lastOf("DELETE", "/invitations/nobody@example.net"), 429);
  for (const { id } of [adminKey, looping]) {
    const path = `/management-keys/${id}`;
    assertEquals((await world.send("DELETE", path, { secret })).status, 429);
  }
  assertEquals((await world.send("DELETE", `/management-keys/${looping.id}`)).status, 200);
  const acting = onPage(world, owner, "owner");
  assert((await perform(depsOf(world), acting, managementKeyRevocation, { id: adminKey.id })).ok);
});

/** Each way in which the right of an inviter ends. */
const endings = {
  "the inviter is removed": ({ kv, owner }, { id }, nowMs) =>
    removeMember(kv, owner.id, id, { nowMs }),
  "the inviter becomes a developer": ({ kv, owner }, { id }, nowMs) =>
    changeRole(kv, owner.id, id, "developer", { nowMs }),
} as const satisfies Record<
  string,
  (world: World, inviter: Account, nowMs: number) => Promise<unknown>
>;

for (const [ending, end] of Object.entries(endings)) {
  for (const way of ["page", "key"] as const) {
    Deno.test(`an invitation from a ${way} ends when ${ending}`, async () => {
      await using world = await openManagementWorld();
      const { kv, owner, time } = world;
      const admin = await joined(world, "admin@example.com", "admin");
      const guest = await createAccount(kv, { nowMs: time.nowMs(), email: "guest@example.com" });
      const sent = { email: "Guest@Example.com", role: "admin" };
      if (way === "page") {
        assert(
          (await perform(depsOf(world), onPage(world, admin, "admin"), invitation, sent)).ok,
        );
      } else {
        const { secret } = await world.secretOf("admin", owner, admin);
        assertEquals(
          (await world.send("POST", "/invitations", { body: sent, secret })).status,
          200,
        );
      }
      assertEquals((await listInvitationsFor(kv, "guest@example.com", time.nowMs())).length, 1);
      await end(world, admin, time.nowMs());
      assertEquals(await listInvitationsFor(kv, "guest@example.com", time.nowMs()), []);
      assertEquals(await listInvitations(kv, owner.id, time.nowMs()), []);
      const nowMs = time.nowMs();
      assertEquals(await acceptInvitation(kv, owner.id, guest, { nowMs }), "gone");
    });
  }
}

Deno.test("an invitation by a management key ends with the key", async () => {
  await using world = await openManagementWorld();
  const { kv, owner, time } = world;
  const { key, secret } = await world.secretOf("admin");
  await world.send("POST", "/invitations", {
    body: { email: "guest@example.com", role: "admin" },
    secret,
  });
  assertEquals((await listInvitations(kv, owner.id, time.nowMs())).length, 1);
  await revokeManagementKey(kv, owner.id, key.id, { nowMs: time.nowMs() });
  assertEquals(await listInvitations(kv, owner.id, time.nowMs()), []);
});

Deno.test("an invitation is withdrawn in any spelling of its address; what is not there is a 404", async () => {
  await using world = await openManagementWorld();
  const body = { email: "guest@example.com", role: "viewer" };
  assertEquals((await world.send("POST", "/invitations", { body })).status, 200);
  const withdrawn = await world.send("DELETE", "/invitations/GUEST@example.com");
  assertEquals([withdrawn.status, withdrawn.body.id], [200, "guest@example.com"]);
  assertEquals((await world.send("DELETE", "/invitations/guest@example.com")).status, 404);
  assertEquals((await world.send("DELETE", "/invitations/nobody")).status, 404);
});

for (const role of roles.filter((role) => role !== "owner")) {
  Deno.test(`the key of an admin who became ${role} changes the API keys that ${role} may change`, async () => {
    await using world = await openManagementWorld();
    const { kv, masterKeys, owner, time } = world;
    const nowMs = time.nowMs();
    const maker = await joined(world, "bob@example.com", "admin");
    const { secret } = await world.secretOf("admin", owner, maker);
    const keyOf = async (memberId: Account["id"] | undefined) => {
      const made = await createApiKey(kv, masterKeys, owner.id, {
        name: "k",
        nowMs,
        ...(memberId === undefined ? { madeByProgram: true } : { memberId }),
      });
      assert(made.ok);
      return made.record;
    };
    const keys = [await keyOf(owner.id), await keyOf(undefined), await keyOf(maker.id)];
    await changeRole(kv, owner.id, maker.id, role, { nowMs });
    const allowed = role === "admin" ? [true, true, true] : [false, false, role === "developer"];
    for (const [at, { id }] of keys.entries()) {
      const sends = [
        ["PATCH", `/keys/${id}`, { name: "other" }],
        ["POST", `/keys/${id}/rotate`, {}],
        ["DELETE", `/keys/${id}`, undefined],
      ] as const;
      for (const [method, path, body] of sends) {
        const { status } = await world.send(method, path, { secret, ...(body && { body }) });
        assertEquals(status, allowed[at] ? 200 : 403, `${method} key ${at}`);
      }
      assertEquals((await getApiKey(kv, owner.id, id))?.revokedAtMs !== undefined, allowed[at]);
    }
    const made = await world.send("POST", "/keys", { secret, body: { name: "new" } });
    const id = parseId("apiKey", made.body.id ?? "");
    const record = id && await getApiKey(kv, owner.id, id);
    assertEquals(made.status, record === undefined ? 403 : 200);
    assertEquals(record !== undefined, role === "admin" || role === "developer");
    if (record) assertEquals(keyMember(record), role === "admin" ? undefined : maker.id);
  });
}
