/** The log of a webhook by the management API, and management keys among themselves. */
import { claimDeliveries } from "../../support/worlds/webhook_world.ts";
import { assertEquals } from "../../support/assert.ts";
import { findActivity } from "../../../kv/people/audit/account_activity.ts";
import { recordTry } from "../../../kv/people/webhooks/deliveries.ts";
import { createAccount } from "../../../kv/people/accounts/accounts.ts";
import { openManagementWorld } from "../../support/worlds/management_world.ts";

type World = Awaited<ReturnType<typeof openManagementWorld>>;

/** Delivers what waits, as an endpoint that answers 500 would see it. */
async function deliver({ kv, time }: World): Promise<number> {
  const atMs = time.nowMs();
  const claims = await claimDeliveries(kv, { nowMs: atMs, count: 32 });
  const outcome = { kind: "failed", reason: "status", status: 500 } as const;
  for (const claim of claims) {
    await recordTry(kv, claim, { outcome, atMs, durationMs: 12, random: 0 });
  }
  return claims.length;
}

Deno.test("a program reads the log of a webhook, try by try, and sends an event again", async () => {
  await using world = await openManagementWorld();
  const body = { url: "https://example.com/hooks", kinds: ["topup.credited"] };
  const { body: { id } } = await world.send("POST", "/webhooks", { body });
  for (let sent = 0; sent < 3; sent++) {
    await world.send("POST", `/webhooks/${id}/test`, { body: { kind: "topup.credited" } });
  }
  assertEquals(await deliver(world), 3);
  const page = (await world.send("GET", `/webhooks/${id}/deliveries?limit=2`)).body;
  const rest = (await world.send("GET", `/webhooks/${id}/deliveries?after=${page.last_id}`)).body;
  const rows: { number: number; status: number; body?: string }[] = [...page.data, ...rest.data];
  assertEquals(rows.map(({ number, status }) => [number, status]), [[3, 500], [2, 500], [1, 500]]);
  assertEquals([page.has_more, rest.has_more, rows[0]?.body], [true, false, undefined]);
  const one = await world.send("GET", `/webhooks/${id}/deliveries/2`);
  assertEquals(JSON.parse(one.body.body).type, "topup.credited");
  const again = await world.send("POST", `/webhooks/${id}/deliveries/2/again`);
  assertEquals(again.body.event_id, one.body.event_id);
  assertEquals(await deliver(world), 1);
  for (const number of ["0", "9", "x"]) {
    assertEquals((await world.send("GET", `/webhooks/${id}/deliveries/${number}`)).status, 404);
  }
  const eve = await createAccount(world.kv, { nowMs: world.time.nowMs(), email: "eve@x.example" });
  const { secret } = await world.secretOf("admin", eve);
  assertEquals((await world.send("GET", `/webhooks/${id}/deliveries`, { secret })).status, 404);
});

Deno.test("management keys are listed and revoked, also by themselves, and none is made", async () => {
  await using world = await openManagementWorld();
  const { key, secret } = await world.secretOf("admin");
  const { data } = (await world.send("GET", "/management-keys")).body;
  assertEquals(
    data.map(({ id }: { id: string }) => id).sort(),
    [world.adminKey.id, key.id].sort(),
  );
  assertEquals(JSON.stringify(data).includes(world.adminKey.hash), false);
  assertEquals((await world.send("POST", "/management-keys", { body: {} })).status, 405);
  const path = `/management-keys/${key.id}`;
  assertEquals((await world.send("DELETE", path, { secret })).body.deleted, true);
  assertEquals((await world.send("GET", "/management-keys", { secret })).status, 401);
  assertEquals((await world.send("DELETE", "/management-keys/x")).status, 404);
  const { lines } = await findActivity(world.kv, world.owner.id, { count: 1 });
  assertEquals(
    lines.map(({ act, by }) => [act, "keyId" in by && by.keyId]),
    [["management_key_revoked", key.id]],
  );
});

Deno.test("an address gets a few invitations in an hour, however they are sent", async () => {
  await using world = await openManagementWorld();
  const statuses: number[] = [];
  for (let sent = 0; sent < 6; sent++) {
    const body = { email: "bob@example.com", role: "viewer" };
    statuses.push((await world.send("POST", "/invitations", { body })).status);
  }
  assertEquals(statuses, [200, 200, 200, 200, 200, 429]);
});
