/** The management API: every operation by every role, repeats, pages, and what it changes. */
import { findActivity } from "../../../kv/people/audit/account_activity.ts";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { may } from "../../../core/people/organisations/acts.ts";
import { newApiKey } from "../../../core/people/api_keys/api_key.ts";
import { createAccount } from "../../../kv/people/accounts/accounts.ts";
import { createApiKey } from "../../../kv/people/api_keys/api_key_changes.ts";
import { getApiKey, listApiKeys } from "../../../kv/people/api_keys/api_keys.ts";
import { changeRole } from "../../../kv/people/organisations/members.ts";
import { acceptInvitation } from "../../../kv/people/organisations/invitations.ts";
import {
  createManagementKey,
  listManagementKeys,
  managementRoles,
  maxManagementKeys,
  revokeManagementKey,
} from "../../../kv/people/management_keys/management_keys.ts";
import type { Json, JsonObject } from "../../../core/lib/json/json.ts";
import { managementOperations } from "../../../routes/management_api/operations.ts";
import { parseId } from "../../../core/lib/ids/ids.ts";
import { joinAs } from "../../support/worlds/company_world.ts";
import { openManagementWorld } from "../../support/worlds/management_world.ts";

const filled = (path: string) => path.replace("/v1/organisation", "").replaceAll(/\{\w+\}/g, "x");

for (const role of managementRoles) {
  Deno.test(`management keys as ${role} do what the table of acts says, and no more`, async () => {
    await using world = await openManagementWorld();
    const { secret } = await world.secretOf(role);
    for (const operation of managementOperations) {
      const { id, method, path, act } = operation;
      const body = "body" in operation ? operation.body : undefined;
      const { status } = await world.send(method.toUpperCase(), filled(path), {
        secret,
        ...(body !== undefined && { body: body.example }),
      });
      assertEquals(status === 403, !may(role, act), `${id}: ${status}`);
      assert(status < 500, `${id}: ${status}`);
    }
  });
}

Deno.test("only a management key that is not revoked is taken, and of the own organisation", async () => {
  await using world = await openManagementWorld();
  const { kv, masterKeys, owner, time } = world;
  const nowMs = time.nowMs();
  const made = await createApiKey(kv, masterKeys, owner.id, { name: "calls", nowMs });
  assert(made.ok);
  const { key, secret } = await world.secretOf("admin");
  assertEquals((await world.send("GET", "/keys", { secret })).status, 200);
  await revokeManagementKey(kv, owner.id, key.id, { nowMs });
  for (const wrong of [secret, made.secret, newApiKey("mk"), "mk-short", ""]) {
    const { status, body } = await world.send("GET", "/keys", { secret: wrong });
    assertEquals([status, body.error.code], [401, "invalid_api_key"], wrong.slice(0, 5));
  }
  const other = await createAccount(kv, { nowMs, email: "eve@example.com" });
  const { secret: eve } = await world.secretOf("admin", other);
  for (const method of ["GET", "PATCH", "DELETE"]) {
    const path = `/keys/${made.record.id}`;
    const body = method === "PATCH" ? { body: { name: "stolen" } } : {};
    const { status } = await world.send(method, path, { secret: eve, ...body });
    assertEquals(status, 404, method);
  }
  assertEquals((await getApiKey(kv, owner.id, made.record.id))?.name, "calls");
});

Deno.test("a key is made with limits, changed, rotated and revoked, as a program would", async () => {
  await using world = await openManagementWorld();
  const team = await world.send("POST", "/teams", { body: { name: "Search" } });
  const made = await world.send("POST", "/keys", {
    body: {
      name: "terraform",
      team_id: team.body.id,
      allowed_ips: ["10.0.0.0/8"],
      limits: { daily_limit_vnd: 100_000, requests_per_minute: 60, images_per_day: 5 },
    },
  });
  assertEquals(made.status, 200);
  const { id, secret, limits } = made.body;
  assert(/^sk-/.test(secret));
  assertEquals(limits, { daily_limit_vnd: 100_000, images_per_day: 5, requests_per_minute: 60 });
  const stored = await getApiKey(world.kv, world.owner.id, parseId("apiKey", id)!);
  assertEquals([stored?.dailyLimitMicroVnd, stored?.imagesPerDay], [100_000_000_000n, 5n]);
  const changed = await world.send("PATCH", `/keys/${id}`, {
    body: { allowed_ips: null, limits: {} },
  });
  assertEquals([changed.body.allowed_ips, changed.body.limits], [undefined, {}]);
  assertEquals([changed.body.name, changed.body.team_id], ["terraform", team.body.id]);
  assertEquals(changed.body.secret, undefined);
  const rotated = await world.send("POST", `/keys/${id}/rotate`, { body: { grace_hours: 1 } });
  assert(rotated.body.secret !== secret && /^sk-/.test(rotated.body.secret));
  assertEquals((await world.send("DELETE", `/keys/${id}`)).body.state, "revoked");
  assertEquals((await world.send("DELETE", `/keys/${id}`)).body.state, "revoked");
  assertEquals((await world.send("PATCH", `/keys/${id}`, { body: { name: "x" } })).status, 400);
});

const wrongBodies: readonly (readonly [unknown, string])[] = [
  [{}, "name"],
  [{ name: "" }, "name"],
  [{ name: "x".repeat(61) }, "name"],
  [{ name: "x", surprise: 1 }, "surprise"],
  [{ name: "x", allowed_ips: ["nowhere"] }, "allowed_ips"],
  [{ name: "x", allowed_models: ["no-such-model"] }, "allowed_models"],
  [{ name: "x", team_id: "team_0" }, "team_id"],
  [{ name: "x", expires_at: "2020-01-01T00:00:00Z" }, "expires_at"],
  [{ name: "x", expires_at: "tomorrow" }, "expires_at"],
  [{ name: "x", limits: { daily_limit_vnd: 0 } }, "daily_limit_vnd"],
  [{ name: "x", limits: { daily_limit_vnd: 1.5 } }, "daily_limit_vnd"],
  [{ name: "x", limits: { per_century: 1 } }, "per_century"],
];

Deno.test("what a management key does to keys is in the activity log of the organisation", async () => {
  await using w = await openManagementWorld();
  const made = await w.send("POST", "/keys", { body: { name: "server" } });
  await w.send("DELETE", `/keys/${made.body.id}`);
  const { lines } = await findActivity(w.kv, w.owner.id, { count: 9 });
  assertEquals(
    lines.map(({ act, subject, by }) => [act, subject, by.kind]),
    ["api_key_revoked", "api_key_made"].map((act) => [act, made.body.id, "management_key"]),
  );
});

Deno.test("a wrong body names the member, and nothing is made", async () => {
  await using world = await openManagementWorld();
  for (const [body, member] of wrongBodies) {
    const { status, body: answer } = await world.send("POST", "/keys", { body });
    assertEquals(status, 400, member);
    assertStringIncludes(JSON.stringify(answer.error), member);
  }
  assertEquals(await listApiKeys(world.kv, world.owner.id), []);
});

Deno.test("a repeated request gets the same answer, with the secret; another one is refused", async () => {
  await using world = await openManagementWorld();
  const send = (name: string, key = "one") =>
    world.send("POST", "/keys", { body: { name }, headers: { "idempotency-key": key } });
  const first = await send("a");
  const again = await send("a");
  assertEquals(again.body, first.body);
  const other = await send("b");
  assertEquals([other.status, other.body.error.code], [422, "idempotency_key_reused"]);
  const both = await Promise.all([send("c", "two"), send("c", "two")]);
  assert(both.some(({ status }) => status === 200));
  assert(both.every(({ status }) => status === 200 || status === 409));
  assertEquals((await listApiKeys(world.kv, world.owner.id)).length, 2);
  // What was refused is not kept: the same key may be used for the mended request.
  assertEquals((await send("", "three")).status, 400);
  assertEquals((await send("d", "three")).status, 200);
  const kept = await Array.fromAsync(world.kv.list({ prefix: ["management_answer"] }));
  assert(kept.every(({ value }) => !JSON.stringify(value).includes(first.body.secret)));
});

Deno.test("an answer with a secret is repeated to the management key that asked, and to no other", async () => {
  await using world = await openManagementWorld();
  const { secret: other } = await world.secretOf("admin");
  const send = (secret: string, path = "/keys", body: unknown = { name: "a" }) =>
    world.send("POST", path, { secret, body, headers: { "idempotency-key": "one" } });
  const first = await send(world.admin);
  const second = await send(other);
  assertEquals([first.status, second.status], [200, 200]);
  assert(first.body.id !== second.body.id && first.body.secret !== second.body.secret);
  assertEquals((await send(world.admin)).body, first.body);
  assertEquals((await send(other)).body, second.body);
});

Deno.test("an answer with a secret is not repeated once the maker of the key has another role", async () => {
  await using world = await openManagementWorld();
  const { kv, owner, time } = world;
  const nowMs = time.nowMs();
  const maker = await createAccount(kv, { nowMs, email: "bob@example.com" });
  await joinAs(kv, owner.id, maker, { role: "admin", nowMs });
  const { secret } = await world.secretOf("admin", owner, maker);
  const { body: { id } } = await world.send("POST", "/keys", { body: { name: "owner's" } });
  const rotate = () =>
    world.send("POST", `/keys/${id}/rotate`, {
      secret,
      body: {},
      headers: { "idempotency-key": "one" },
    });
  const first = await rotate();
  assert(/^sk-/.test(first.body.secret));
  assertEquals((await rotate()).body, first.body);
  await changeRole(kv, owner.id, maker.id, "developer", { nowMs });
  const again = await rotate();
  assertEquals([again.status, again.body.error.code], [422, "idempotency_key_reused"]);
});

Deno.test("a body that is nested too deeply is refused, however short it is", async () => {
  await using world = await openManagementWorld();
  const nested = (levels: number) => {
    let value: Json = [];
    for (let level = 1; level < levels; level++) value = [value];
    return value;
  };
  for (const [levels, code] of [[100, "invalid_request"], [5_000, "invalid_json"]] as const) {
    const body = { name: "b", limits: nested(levels) };
    const { status, body: { error } } = await world.send("POST", "/keys", { body });
    assertEquals([status, error.code], [400, code]);
  }
});

Deno.test("members have the names of this API, and errors name what was sent", async () => {
  await using world = await openManagementWorld();
  const made = await world.send("POST", "/keys", { body: { name: "a" } });
  const wrong: readonly (readonly [string, string, JsonObject, string])[] = [
    ["POST", "/keys", { name: "b", readsOnlyOwnCalls: true }, "readsOnlyOwnCalls"],
    ["POST", "/keys", { name: "b", limits: { dailyLimitVnd: 5 } }, "dailyLimitVnd"],
    ["POST", "/keys", { name: "b", limits: { per_century: 5 } }, "limits.per_century"],
    ["POST", "/keys", { name: "b", limits: { daily_limit_vnd: 0 } }, "limits.daily_limit_vnd"],
    ["POST", "/keys", { name: "b", constructor: 1, __proto_: 2 }, "constructor"],
    ["PATCH", `/keys/${made.body.id}`, { id: made.body.id }, "id"],
    ["PATCH", `/keys/${made.body.id}`, { allowed_ips: ["10.0.0.1", "x"] }, "allowed_ips.1"],
    ["POST", `/keys/${made.body.id}/rotate`, { grace_hours: 1.5 }, "grace_hours"],
  ];
  for (const [method, path, body, param] of wrong) {
    const { status, body: { error } } = await world.send(method, path, { body });
    assertEquals([status, error.param], [400, param], JSON.stringify(body));
  }
  assertEquals((await listApiKeys(world.kv, world.owner.id)).length, 1);
});

Deno.test("pages of a list join without gaps or repeats", async () => {
  await using world = await openManagementWorld();
  for (let at = 0; at < 7; at++) await world.send("POST", "/teams", { body: { name: `t${at}` } });
  const seen: string[] = [];
  let after: string | undefined;
  for (let page = 0; page < 4; page++) {
    const query = `?limit=3${after === undefined ? "" : `&after=${after}`}`;
    const { body } = await world.send("GET", `/teams${query}`);
    seen.push(...body.data.map(({ name }: { name: string }) => name));
    if (!body.has_more) break;
    after = body.last_id;
  }
  assertEquals(seen, ["t0", "t1", "t2", "t3", "t4", "t5", "t6"]);
  assertEquals((await world.send("GET", "/teams?after=team_gone")).body.data, []);
  assertEquals((await world.send("GET", "/teams?limit=0")).status, 400);
});

Deno.test("a person is invited, given another role and removed; the owner is not", async () => {
  await using world = await openManagementWorld();
  const { kv, owner, time } = world;
  const email = "bob@example.com";
  const invited = await world.send("POST", "/invitations", { body: { email, role: "developer" } });
  assertEquals([invited.status, invited.body.email], [200, email]);
  const bob = await createAccount(kv, { nowMs: time.nowMs(), email });
  assertEquals(await acceptInvitation(kv, owner.id, bob, { nowMs: time.nowMs() }), "joined");
  const changed = await world.send("PATCH", `/members/${bob.id}`, { body: { role: "viewer" } });
  assertEquals(changed.body.role, "viewer");
  assertEquals((await world.send("GET", "")).body.members, 2);
  for (const [method, body] of [["PATCH", { role: "viewer" }], ["DELETE", undefined]] as const) {
    const { status } = await world.send(method, `/members/${owner.id}`, { body });
    assertEquals(status, 403, method);
  }
  assertEquals((await world.send("DELETE", `/members/${bob.id}`)).body.deleted, true);
  assertEquals((await world.send("GET", "/members")).body.data.length, 1);
  const { data: [removed] } = (await world.send("GET", "/removed-members")).body;
  assertEquals([removed.id, removed.email], [bob.id, email]);
  const back = await world.send("DELETE", `/removed-members/${bob.id}`);
  assertEquals([back.status, back.body.id], [200, bob.id]);
  assertEquals((await world.send("DELETE", `/removed-members/${bob.id}`)).status, 404);
});

Deno.test("a management key does no more than its maker may, and ends with the membership", async () => {
  await using world = await openManagementWorld();
  const { kv, owner, time } = world;
  const nowMs = time.nowMs();
  const email = "bob@example.com";
  await world.send("POST", "/invitations", { body: { email, role: "admin" } });
  const bob = await createAccount(kv, { nowMs, email });
  assertEquals(await acceptInvitation(kv, owner.id, bob, { nowMs }), "joined");
  const { secret } = await world.secretOf("admin", owner, bob);
  const promote = async () =>
    (await world.send("PATCH", `/members/${bob.id}`, { body: { role: "admin" }, secret })).status;
  assertEquals(await promote(), 200);
  await world.send("PATCH", `/members/${bob.id}`, { body: { role: "viewer" } });
  assertEquals(await promote(), 403, "an admin who became a viewer makes nobody an admin");
  assertEquals((await world.send("GET", "/members", { secret })).status, 200);
  await world.send("DELETE", `/members/${bob.id}`);
  assertEquals((await world.send("GET", "/members", { secret })).status, 401);
  const [own, bobs] = await listManagementKeys(kv, owner.id);
  assertEquals([own?.revokedAtMs, bobs?.revokedAtMs], [undefined, nowMs]);
});

Deno.test("an organisation has a bounded number of management keys", async () => {
  await using world = await openManagementWorld();
  for (let made = 1; made < maxManagementKeys; made++) await world.secretOf("viewer");
  const { kv, owner, time } = world;
  const more = await createManagementKey(kv, owner.id, {
    name: "more",
    role: "viewer",
    memberId: owner.id,
    nowMs: time.nowMs(),
  });
  assertEquals(more, "too_many");
});

Deno.test("a body above its bound is refused, also one that declares no length", async () => {
  await using world = await openManagementWorld();
  const { status, body } = await world.send("POST", "/teams", {
    body: { name: "x".repeat(70_000) },
  });
  assertEquals([status, body.error.code], [413, "request_too_large"]);
});

Deno.test("paths and methods that do not exist say so", async () => {
  await using world = await openManagementWorld();
  assertEquals((await world.send("GET", "/nothing")).status, 404);
  const { status, headers } = await world.send("PUT", "/keys");
  assertEquals([status, headers.get("allow")], [405, "GET, POST"]);
});
