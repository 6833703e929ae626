/** The usage API with management keys: every path by every role, of the own organisation, with lines in its log. */
import { joinAs } from "../../support/worlds/company_world.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { may } from "../../../core/people/organisations/acts.ts";
import { newApiKey } from "../../../core/people/api_keys/api_key.ts";
import { openControl } from "../../../kv/engine/control/control.ts";
import { openWalletEngine } from "../../../kv/money/wallet/mod.ts";
import { createAccount } from "../../../kv/people/accounts/accounts.ts";
import { openKeyDirectory } from "../../../kv/people/api_keys/key_directory.ts";
import { findActivity } from "../../../kv/people/audit/account_activity.ts";
import {
  createManagementKey,
  type ManagementRole,
  managementRoles,
  revokeManagementKey,
} from "../../../kv/people/management_keys/management_keys.ts";
import { changeRole } from "../../../kv/people/organisations/members.ts";
import { createUsageApi, readings } from "../../../routes/usage_api/usage_api.ts";
import { ManualTime } from "../../support/manual_time.ts";
import { draftOf, mustReserve, topUp } from "../../support/worlds/money_world.ts";

async function openWorld() {
  const kv = await Deno.openKv(":memory:");
  const time = new ManualTime(Date.UTC(2026, 10, 20, 3));
  const control = await openControl(kv, time);
  const wallet = await openWalletEngine(kv, { clock: time, timer: time });
  const directory = openKeyDirectory(kv, control, time);
  const origin = { baseUrl: "http://localhost", vatRates: [], seller: undefined };
  const app = createUsageApi({ ...origin, kv, clock: time, directory, wallet });
  const nowMs = time.nowMs();
  return {
    kv,
    nowMs,
    /** An organisation of one, with money and a call. */
    async organisation(email: string) {
      const account = await createAccount(kv, { nowMs, email });
      await topUp(kv, account.id, 1_000_000_000n);
      const reservation = await mustReserve(wallet, account.id, 1_245_000n);
      await wallet.settle(reservation, draftOf(1_245_000n, { startedAtMs: nowMs }));
      return account;
    },
    async keyOf(
      account: { readonly id: Awaited<ReturnType<typeof createAccount>>["id"] },
      role: ManagementRole,
      memberId = account.id,
    ) {
      const made = await createManagementKey(kv, account.id, { name: role, role, memberId, nowMs });
      assert(made !== "too_many");
      return made;
    },
    async get(path: string, secret: string) {
      const headers = { authorization: `Bearer ${secret}` };
      const response = await app.request(path, { headers });
      const text = await response.text();
      return { status: response.status, text };
    },
    async [Symbol.asyncDispose]() {
      await wallet.close();
      control.close();
      kv.close();
    },
  };
}

const filled = (path: string) => path.replace("{id}", "x").replace("{month}", "2026-11");

for (const role of managementRoles) {
  Deno.test(`a management key as ${role} reads what the table of acts says, and no more`, async () => {
    await using world = await openWorld();
    const account = await world.organisation("owner@acme.example");
    const { secret } = await world.keyOf(account, role);
    for (const [path, { act }] of Object.entries(readings)) {
      const { status } = await world.get(filled(path), secret);
      assertEquals(status === 403, !may(role, act), `${path}: ${status}`);
      assert(status < 500 && status !== 401, `${path}: ${status}`);
    }
  });
}

Deno.test("a management key reads its own organisation, until it is revoked", async () => {
  await using world = await openWorld();
  const acme = await world.organisation("owner@acme.example");
  const other = await world.organisation("eve@example.com");
  const { key, secret } = await world.keyOf(acme, "billing");
  const { secret: eve } = await world.keyOf(other, "admin");
  const { data: [receipt] } = JSON.parse((await world.get("/v1/receipts", secret)).text);
  const path = `/v1/receipts/${receipt.request_id}`;
  assertEquals((await world.get(path, secret)).status, 200);
  assertEquals((await world.get(path, eve)).status, 404);
  assertEquals(JSON.parse((await world.get("/v1/usage", secret)).text).total.calls, 1);
  await revokeManagementKey(world.kv, acme.id, key.id, { nowMs: world.nowMs });
  for (const wrong of [secret, newApiKey("mk"), "mk-short"]) {
    assertEquals((await world.get("/v1/balance", wrong)).status, 401, wrong.slice(0, 5));
  }
});

Deno.test("a management key reads no more than the member may who made it", async () => {
  await using world = await openWorld();
  const { kv, nowMs } = world;
  const acme = await world.organisation("owner@acme.example");
  const bob = await createAccount(kv, { nowMs, email: "bob@example.com" });
  await joinAs(kv, acme.id, bob, { role: "admin", nowMs });
  const { secret } = await world.keyOf(acme, "admin", bob.id);
  assertEquals((await world.get("/v1/activity", secret)).status, 200);
  assert(await changeRole(kv, acme.id, bob.id, "viewer", { nowMs }));
  assertEquals((await world.get("/v1/activity", secret)).status, 403);
  assertEquals((await world.get("/v1/usage", secret)).status, 200);
});

Deno.test("files that a program downloads are in the activity log, with its key", async () => {
  await using world = await openWorld();
  const acme = await world.organisation("owner@acme.example");
  const { key, secret } = await world.keyOf(acme, "admin");
  assertEquals((await world.get("/v1/statements/2026-11?format=csv", secret)).status, 200);
  assertEquals((await world.get("/v1/activity?format=csv", secret)).status, 200);
  const { lines } = await findActivity(world.kv, acme.id, { count: 9 });
  assertEquals(
    lines.map(({ act, subject, by }) => [act, subject, "keyId" in by && by.keyId]),
    [["activity_exported", "", key.id], ["statement_exported", "2026-11.csv", key.id]],
  );
});
