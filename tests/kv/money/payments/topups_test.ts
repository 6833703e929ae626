import { assert, assertEquals } from "../../../support/assert.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { parseOrderCode } from "../../../../core/trade/bank/order_code.ts";
import {
  cancelTopupOrder,
  createTopupOrder,
  getTopupOrder,
  listOpenTopups,
  listTopupOrders,
  orderStatus,
} from "../../../../kv/money/payments/topups.ts";
import { notice, receivingAccount, topupWorld } from "../../../support/worlds/topup_world.ts";

const cryptoRandom = (into: Uint8Array<ArrayBuffer>) => void crypto.getRandomValues(into);

Deno.test("an order has a valid code, its memo, and an end to its page", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const order = await world.order(ann, 500_000);
  assertEquals(parseOrderCode(order.code), order.code);
  assertEquals([order.memo, order.state, order.to], [order.code, "pending", receivingAccount]);
  assertEquals(orderStatus(order, order.expiresAtMs - 1), "pending");
  assertEquals(orderStatus(order, order.expiresAtMs), "expired");
  assertEquals(await listOpenTopups(kv, { count: 10 }), [order]);
  assertEquals(await listTopupOrders(kv, ann.id, { count: 10 }), [order]);
});

Deno.test("a code that is taken is not given twice", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  let calls = 0;
  // The source repeats itself once, then yields something new.
  const repeating = (into: Uint8Array<ArrayBuffer>) => void into.fill(calls++ < 2 ? 7 : 8);
  const make = () =>
    createTopupOrder(kv, {
      accountId: ann.id,
      amountMicroVnd: fromVnd(10_000),
      to: receivingAccount,
      nowMs: world.nowMs,
      randomBytes: repeating,
    });
  const [first, second] = [await make(), await make()];
  assert(first.ok && second.ok);
  assert(first.order.code !== second.order.code);
  assertEquals(calls, 3);
  assertEquals((await getTopupOrder(kv, first.order.code)).value, first.order);
});

Deno.test("a form sent twice makes one order; with another sum, or later, it makes another", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const formId = crypto.randomUUID();
  const send = async (amountVnd: number) => {
    const made = await createTopupOrder(kv, {
      accountId: ann.id,
      amountMicroVnd: fromVnd(amountVnd),
      to: receivingAccount,
      nowMs: world.nowMs,
      randomBytes: cryptoRandom,
      formId,
    });
    assert(made.ok);
    return made.order.code;
  };
  const together = await Promise.all([send(10_000), send(10_000), send(10_000)]);
  const [first] = together;
  assertEquals(new Set([...together, await send(10_000)]).size, 1);
  const other = await send(20_000);
  assert(other !== first);
  await cancelTopupOrder(kv, { code: other, accountId: ann.id, nowMs: world.nowMs });
  assert(await send(20_000) !== other, "a cancelled order came back");
});

Deno.test("sums out of bounds and parts of a đồng are refused", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const amounts = [0n, -1n, fromVnd(9_999), fromVnd(10_000) + 1n, fromVnd(499_000_001)];
  for (const amountMicroVnd of amounts) {
    const made = await createTopupOrder(kv, {
      accountId: ann.id,
      amountMicroVnd,
      to: receivingAccount,
      nowMs: world.nowMs,
      randomBytes: cryptoRandom,
    });
    assertEquals(made, { ok: false, why: "amount" });
  }
  for (const amountVnd of [10_000, 499_000_000]) await world.order(ann, amountVnd);
});

Deno.test("the eleventh open order is refused until one is paid, cancelled or expired", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const orders = [];
  for (let count = 0; count < 10; count++) orders.push(await world.order(ann));
  const eleventh = () =>
    createTopupOrder(kv, {
      accountId: ann.id,
      amountMicroVnd: fromVnd(10_000),
      to: receivingAccount,
      nowMs: world.nowMs,
      randomBytes: cryptoRandom,
    });
  assertEquals(await eleventh(), { ok: false, why: "too_many" });
  await cancelTopupOrder(kv, { code: orders[0]!.code, accountId: ann.id, nowMs: world.nowMs });
  assert((await eleventh()).ok);
  assert(!(await eleventh()).ok);
  world.nowMs += 3_600_000;
  assert((await eleventh()).ok);
});

Deno.test("only its owner cancels an order, and not once it is paid", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const [ann, bob] = [await world.customer("ann"), await world.customer("bob")];
  const order = await world.order(ann);
  const cancel = (accountId: typeof ann.id) =>
    cancelTopupOrder(kv, { code: order.code, accountId, nowMs: world.nowMs });
  assertEquals(await cancel(bob.id), undefined);
  await world.intake.take(notice(order.code), "{}");
  assertEquals((await cancel(ann.id))?.state, "paid");
  assertEquals((await getTopupOrder(kv, order.code)).value?.state, "paid");
});

Deno.test("a cancel and a transfer at the same moment: credited, or in review, never both", async () => {
  for (let round = 0; round < 20; round++) {
    using kv = await Deno.openKv(":memory:");
    const world = topupWorld(kv);
    const ann = await world.customer("ann");
    const order = await world.order(ann);
    const event = notice(order.code);
    await Promise.all([
      cancelTopupOrder(kv, { code: order.code, accountId: ann.id, nowMs: world.nowMs }),
      world.intake.take(event, "{}"),
    ]);
    const state = (await getTopupOrder(kv, order.code)).value?.state;
    const outcome: unknown[] = [
      state,
      (await world.state(event))?.kind,
      await world.balanceVnd(ann.id),
    ];
    const expected = state === "paid" ? ["paid", "credited", 200_000] : ["cancelled", "review", 0];
    assertEquals(outcome, expected);
    assertEquals(await world.findings(), []);
  }
});
