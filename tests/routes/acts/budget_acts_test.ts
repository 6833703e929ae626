/** Budgets bind something: what they are of is there, and of the organisation, by whatever way they are made. */
import { assert, assertEquals } from "../../support/assert.ts";
import { createAccount } from "../../../kv/people/accounts/accounts.ts";
import { listBudgets } from "../../../kv/people/accounts/budgets.ts";
import { createApiKey } from "../../../kv/people/api_keys/api_key_changes.ts";
import { createTeam, deleteTeam } from "../../../kv/people/organisations/teams.ts";
import { openManagementWorld } from "../../support/worlds/management_world.ts";

const budget = { name: "b", window: "month", amount_vnd: 5_000 };

Deno.test("a budget of what is not there, or is another organisation's, is refused", async () => {
  await using world = await openManagementWorld();
  const { kv, masterKeys, owner, time } = world;
  const nowMs = time.nowMs();
  const other = await createAccount(kv, { nowMs, email: "eve@example.com" });
  const thingsOf = async (id: typeof owner.id) => {
    const key = await createApiKey(kv, masterKeys, id, { name: "k", nowMs });
    const team = await createTeam(kv, id, { name: "t", nowMs });
    assert(key.ok && typeof team === "object");
    return [
      { kind: "key", key_id: key.record.id },
      { kind: "team", team_id: team.id },
      { kind: "member", member_id: id },
    ];
  };
  const own = [
    ...await thingsOf(owner.id),
    { kind: "account" },
    { kind: "tag", key: "team", value: "search" },
    { kind: "model", model: "premium-1" },
  ];
  const foreign = [
    ...await thingsOf(other.id),
    { kind: "model", model: "no-such-model" },
    { kind: "team", team_id: "team_0" },
  ];
  for (const subject of own) {
    const made = await world.send("POST", "/budgets", { body: { ...budget, subject } });
    assertEquals([made.status, made.body.subject], [200, subject]);
  }
  const before = await listBudgets(kv, owner.id);
  assertEquals(before.length, own.length);
  for (const subject of foreign) {
    const made = await world.send("POST", "/budgets", { body: { ...budget, subject } });
    assertEquals([made.status, made.body.error.param], [400, "subject"], JSON.stringify(subject));
    const path = `/budgets/${before[0]?.id}`;
    const changed = await world.send("PATCH", path, { body: { subject } });
    assertEquals([changed.status, changed.body.error.param], [400, "subject"]);
  }
  assertEquals(await listBudgets(kv, owner.id), before);
});

Deno.test("a budget is changed in part, also when what it is of has gone", async () => {
  await using world = await openManagementWorld();
  const { kv, owner, time } = world;
  const nowMs = time.nowMs();
  const team = await createTeam(kv, owner.id, { name: "t", nowMs });
  assert(typeof team === "object");
  const subject = { kind: "team", team_id: team.id };
  const made = await world.send("POST", "/budgets", { body: { ...budget, subject } });
  await deleteTeam(kv, owner.id, team.id, { nowMs });
  const path = `/budgets/${made.body.id}`;
  const changed = await world.send("PATCH", path, { body: { amount_vnd: 7_000 } });
  assertEquals(changed.body, { ...made.body, amount_vnd: "7000" });
  assertEquals((await world.send("PATCH", path, { body: { subject } })).status, 200);
  const wrong = await world.send("PATCH", path, { body: { amount_vnd: 0 } });
  assertEquals([wrong.status, wrong.body.error.param], [400, "amount_vnd"]);
  assertEquals((await world.send("PATCH", "/budgets/x", { body: {} })).status, 404);
});
