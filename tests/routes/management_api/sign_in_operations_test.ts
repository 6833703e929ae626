/** Domains and the OpenID provider by the management API: what a program may change of them, and what it may not. */
import { assert, assertEquals } from "../../support/assert.ts";
import { findActivity } from "../../../kv/people/audit/account_activity.ts";
import { open } from "../../../core/people/api_keys/seal.ts";
import {
  getCompanyOpenId,
  setCompanyOpenId,
} from "../../../kv/people/organisations/company_sign_in.ts";
import { createAccount } from "../../../kv/people/accounts/accounts.ts";
import { sealClientSecret } from "../../../routes/auth/company_openid.ts";
import { openManagementWorld } from "../../support/worlds/management_world.ts";

Deno.test("a domain is added, verified by its record, and removed", async () => {
  await using world = await openManagementWorld();
  const added = await world.send("POST", "/domains", { body: { domain: "Acme.Example" } });
  const { id, record, state } = added.body;
  assertEquals([id, state, record.type], ["acme.example", "not_verified", "TXT"]);
  const again = await world.send("POST", "/domains", { body: { domain: "acme.example" } });
  assertEquals(again.body.record, record, "a repeated request keeps the record");
  const early = await world.send("POST", `/domains/${id}/verify`);
  assertEquals(early.status, 400);
  world.records.set(record.name, ["v=spf1 -all", record.value]);
  assertEquals((await world.send("POST", `/domains/${id}/verify`)).body.state, "verified");
  assertEquals((await world.send("GET", "/domains")).body.data[0].state, "verified");
  assertEquals((await world.send("DELETE", `/domains/${id}`)).body.deleted, true);
  assertEquals((await world.send("DELETE", `/domains/${id}`)).status, 404);
  const { lines } = await findActivity(world.kv, world.owner.id, { count: 9 });
  assertEquals(
    lines.map(({ act, by }) => [act, "keyId" in by && by.keyId]),
    Array(3).fill(["company_domain_changed", world.adminKey.id]),
  );
});

Deno.test("wrong, unknown and foreign domains are refused", async () => {
  await using world = await openManagementWorld();
  for (const domain of ["localhost", "https://acme.example", "", "x".repeat(400)]) {
    const { status, body } = await world.send("POST", "/domains", { body: { domain } });
    assertEquals([status, body.error.param], [400, "domain"], domain.slice(0, 20));
  }
  const { body: { record } } = await world.send("POST", "/domains", {
    body: { domain: "acme.example" },
  });
  world.records.set(record.name, [record.value]);
  await world.send("POST", "/domains/acme.example/verify");
  const eve = await createAccount(world.kv, { nowMs: world.time.nowMs(), email: "eve@x.example" });
  const { secret } = await world.secretOf("admin", eve);
  for (const [method, path] of [["POST", "/verify"], ["DELETE", ""]] as const) {
    const { status } = await world.send(method, `/domains/acme.example${path}`, { secret });
    assertEquals(status, 404, method);
  }
  await world.send("POST", "/domains", { body: { domain: "acme.example" }, secret });
  const taken = await world.send("POST", "/domains/acme.example/verify", { secret });
  assertEquals(taken.status, 400, "its record names the other organisation");
});

Deno.test("a program replaces the secret and the role of the provider, and never chooses the provider", async () => {
  await using world = await openManagementWorld();
  const { kv, owner, masterKeys, send } = world;
  const none = await send("PATCH", "/sign-in", { body: { role: "viewer" } });
  assertEquals(none.status, 404);
  const provider = { issuer: "https://login.acme.example", clientId: "gateway" };
  const sealedSecret = await sealClientSecret(masterKeys, owner.id, "old");
  const nowMs = world.time.nowMs();
  await setCompanyOpenId(kv, owner.id, { ...provider, role: "developer", sealedSecret }, { nowMs });
  const read = await send("GET", "/sign-in");
  assertEquals(read.body, {
    object: "company_sign_in",
    provider: { issuer: provider.issuer, client_id: "gateway", role: "developer" },
    is_required: false,
    redirect_uri: "https://gateway.example.com/auth/openid/callback",
  });
  const changed = await send("PATCH", "/sign-in", { body: { client_secret: "new" } });
  assertEquals(changed.body, read.body);
  const stored = await getCompanyOpenId(kv, owner.id);
  assert(stored !== undefined);
  assertEquals(
    await open(masterKeys, stored.sealedSecret, `company_openid/${owner.id}`),
    "new",
  );
  assertEquals(
    (await send("PATCH", "/sign-in", { body: { role: "viewer" } })).body.provider.role,
    "viewer",
  );
  for (const body of [{ issuer: "https://eve.example" }, { client_id: "eve" }, { role: "owner" }]) {
    assertEquals((await send("PATCH", "/sign-in", { body })).status, 400, JSON.stringify(body));
  }
  assertEquals((await getCompanyOpenId(kv, owner.id))?.issuer, provider.issuer);
  assertEquals((await send("DELETE", "/sign-in")).status, 405);
});
