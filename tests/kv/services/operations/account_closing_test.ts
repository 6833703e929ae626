/** What stands in the way of closing an account, and what is deleted with it. */
import { newId } from "../../../../core/lib/ids/ids.ts";
import {
  createManagementKey,
  findManagementKey,
} from "../../../../kv/people/management_keys/management_keys.ts";
import { invite } from "../../../../kv/people/organisations/invitations.ts";
import { createTeam } from "../../../../kv/people/organisations/teams.ts";
import { videoKey } from "../../../../kv/engine/schema/keys.ts";
import { cancelTopupOrder, topupOrderMs } from "../../../../kv/money/payments/topups.ts";
import {
  closeAccount,
  type ClosingObstacle,
  readClosingState,
} from "../../../../kv/services/operations/account_closing.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import {
  askForInvoice,
  issued,
  moved,
  paidOrder,
} from "../../../support/worlds/invoice_requests.ts";
import { topupWorld } from "../../../support/worlds/topup_world.ts";

Deno.test("open orders, requested invoices, running videos and calls stand in the way, until they have ended", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  let reservedMicroVnd = 0n;
  const balance = () =>
    Promise.resolve({
      totalMicroVnd: 7n,
      reservedMicroVnd,
      availableMicroVnd: 7n,
      leasedMicroVnd: 0n,
    });
  const obstacles = async (nowMs = world.nowMs): Promise<readonly ClosingObstacle[]> => {
    const state = await readClosingState({ kv, wallet: { balance } }, ann.id, nowMs);
    assertEquals(state.balanceMicroVnd, 7n);
    return state.obstacles;
  };
  assertEquals(await obstacles(), []);

  const order = await world.order(ann);
  assertEquals(await obstacles(), ["open_orders"]);
  assertEquals(await obstacles(world.nowMs + topupOrderMs), [], "it has expired");
  await cancelTopupOrder(kv, { code: order.code, accountId: ann.id, nowMs: world.nowMs });
  assertEquals(await obstacles(), []);

  const paid = await paidOrder(world, ann);
  const asked = await askForInvoice(world, ann.id, [paid.code]);
  assert(asked.ok);
  assertEquals(await obstacles(), ["open_invoices"]);
  await moved(world, asked.invoice, { to: "exported" });
  assertEquals(await obstacles(), ["open_invoices"]);
  assertEquals(await moved(world, asked.invoice, { to: "issued", issued }), "issued");
  assertEquals(await obstacles(), []);

  const id = newId("video", world.nowMs);
  const key = videoKey(ann.id, id);
  await kv.set(key, { id, state: "in_progress", costMicroVnd: 1n });
  reservedMicroVnd = 1n;
  assertEquals(await obstacles(), ["running_calls", "running_videos"]);
  await kv.set(key, { id, state: "failed", costMicroVnd: 1n });
  reservedMicroVnd = 0n;
  assertEquals(await obstacles(), []);
});

Deno.test("with an account its teams, invitations and management keys are deleted", async () => {
  using kv = await Deno.openKv(":memory:");
  const { nowMs, ...world } = topupWorld(kv);
  const { id } = await world.customer("ann");
  await createTeam(kv, id, { name: "Search of Ann", nowMs });
  const to = { email: "bob@example.com", role: "viewer", inviter: "ann", locale: "en" } as const;
  await invite(kv, id, { ...to, restsOn: { personId: id }, nowMs });
  const made = await createManagementKey(kv, id, {
    name: "Terraform of Ann",
    role: "admin",
    memberId: id,
    nowMs,
  });
  assert(made !== "too_many");
  await closeAccount(kv, id, { nowMs, givenUpMicroVnd: 0n });
  assertEquals(await findManagementKey(kv, made.secret), undefined);
  const left = (await Array.fromAsync(kv.list({ prefix: [] }))).map(({ key }) => String(key[0]));
  const kinds = ["team", "invitation", "management_key", "management_key_by_hash"];
  assertEquals(left.filter((kind) => kinds.includes(kind)), []);
});
