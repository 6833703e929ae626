/** What stands in the way of closing an account: work that somebody still waits for, and nothing that has ended. */
import { newId } from "../../../../core/lib/ids/ids.ts";
import { videoKey } from "../../../../kv/engine/schema/keys.ts";
import { cancelTopupOrder, topupOrderMs } from "../../../../kv/money/payments/topups.ts";
import {
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
