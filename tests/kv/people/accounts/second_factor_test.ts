import { assert, assertEquals } from "../../../support/assert.ts";
import {
  getSecondFactor,
  hasPassedSecondFactor,
  offerSecondFactor,
  passSecondFactor,
} from "../../../../kv/people/accounts/second_factor.ts";
import { operator, topupWorld } from "../../../support/worlds/topup_world.ts";

Deno.test("of two sessions that show one code at the same moment one gets in", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const staff = await operator(world, "staff");
  const { nowMs } = world;
  assert(await offerSecondFactor(kv, staff.accountId, "sealed", nowMs));
  // Both have read the same row before either writes.
  const entry = await getSecondFactor(kv, staff.accountId);
  assert(entry.value !== null);
  const pass = (sessionId: string) =>
    passSecondFactor(kv, entry, { operator: staff, sessionId, step: 100, nowMs });
  assertEquals((await Promise.all([pass("one"), pass("two")])).toSorted(), [false, true]);
  const inside = await Promise.all(
    ["one", "two"].map((id) => hasPassedSecondFactor(kv, id, staff.accountId, nowMs)),
  );
  assertEquals(inside.toSorted(), [false, true]);
});

Deno.test("a confirmed secret is not replaced by another offer, an unconfirmed one is", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const staff = await operator(world, "staff");
  const { nowMs } = world;
  assert(await offerSecondFactor(kv, staff.accountId, "first", nowMs));
  assert(await offerSecondFactor(kv, staff.accountId, "second", nowMs));
  const entry = await getSecondFactor(kv, staff.accountId);
  assert(entry.value !== null);
  await passSecondFactor(kv, entry, { operator: staff, sessionId: "s", step: 5, nowMs });
  assertEquals(await offerSecondFactor(kv, staff.accountId, "third", nowMs), false);
  assertEquals((await getSecondFactor(kv, staff.accountId)).value?.sealedSecret, "second");
});

Deno.test("a pass belongs to its account", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const [staff, other] = [await operator(world, "staff"), await operator(world, "other")];
  const { nowMs } = world;
  await offerSecondFactor(kv, staff.accountId, "sealed", nowMs);
  const entry = await getSecondFactor(kv, staff.accountId);
  assert(entry.value !== null);
  await passSecondFactor(kv, entry, { operator: staff, sessionId: "s", step: 5, nowMs });
  assertEquals(await hasPassedSecondFactor(kv, "s", staff.accountId, nowMs), true);
  assertEquals(await hasPassedSecondFactor(kv, "s", other.accountId, nowMs), false);
});
