import {
  bankNoticeKeptChars,
  getBankNotice,
  listReviews,
  listUnreadable,
} from "../../../../kv/money/payments/bank_notices.ts";
import { assertEquals } from "../../../support/assert.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { forgetPerson } from "../../../../kv/people/deletion/account_deletion.ts";
import {
  cancelTopupOrder,
  getTopupOrder,
  listTopupPayments,
} from "../../../../kv/money/payments/topups.ts";
import { notice, topupWorld, withoutReference } from "../../../support/worlds/topup_world.ts";
import { block } from "../../../support/worlds/blocked_account.ts";
import { findMovement } from "../../../support/worlds/money_world.ts";

Deno.test("the exact sum in time is credited, the order paid", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const order = await world.order(ann);
  const event = notice(`MBVCB.123.${order.code.toLowerCase()}.CT tu 0123`);
  assertEquals(await world.intake.take(event, "{}"), "new");
  assertEquals(await world.balanceVnd(ann.id), 200_000);
  const paid = (await getTopupOrder(kv, order.code)).value;
  assertEquals([paid?.state, paid?.receivedMicroVnd], ["paid", fromVnd(200_000)]);
  assertEquals((await findMovement(kv, `in:sepay:${event.id}`))?.reason, order.code);
  assertEquals(await world.findings(), []);
});

Deno.test("less or more than asked: what arrived is credited", async () => {
  for (const amountVnd of [1, 150_000, 900_000]) {
    using kv = await Deno.openKv(":memory:");
    const world = topupWorld(kv);
    const ann = await world.customer("ann");
    const order = await world.order(ann, 200_000);
    await world.intake.take(notice(order.code, { amountVnd }), "{}");
    assertEquals(await world.balanceVnd(ann.id), amountVnd);
    assertEquals((await getTopupOrder(kv, order.code)).value?.receivedMicroVnd, fromVnd(amountVnd));
    assertEquals(await world.findings(), []);
  }
});

Deno.test("a year after expiry the code still credits", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const order = await world.order(ann);
  world.nowMs += 365 * 86_400_000;
  await world.intake.take(notice(order.code, { at: "2027-11-20 10:00:00" }), "{}");
  assertEquals(await world.balanceVnd(ann.id), 200_000);
});

Deno.test("a second transfer on a paid order is credited again, as a payment of its own", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const order = await world.order(ann);
  await world.intake.take(notice(order.code), "{}");
  await world.intake.take(notice(order.code, { at: "2026-11-20 14:09:00" }), "{}");
  assertEquals(await world.balanceVnd(ann.id), 400_000);
  assertEquals((await listTopupPayments(kv, order.code)).length, 2);
  assertEquals((await getTopupOrder(kv, order.code)).value?.receivedMicroVnd, fromVnd(400_000));
  assertEquals(await world.findings(), []);
});

Deno.test("the same notice again changes nothing", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const event = notice((await world.order(ann)).code);
  await world.intake.take(event, "{}");
  assertEquals(await world.intake.take(event, "{}"), "known");
  // The balance of the bank account may differ on a retry.
  assertEquals(await world.intake.take({ ...event, balanceAfterMicroVnd: 5n }, "{}"), "known");
  assertEquals(await world.balanceVnd(ann.id), 200_000);
});

Deno.test("the same id with another amount is kept for staff and never credited", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const event = notice((await world.order(ann)).code);
  await world.intake.take(event, "{}");
  const changed = { ...event, amountMicroVnd: fromVnd(9_000_000) };
  assertEquals(await world.intake.take(changed, '{"changed":1}'), "contradicts");
  assertEquals(await world.balanceVnd(ann.id), 200_000);
  assertEquals((await listUnreadable(kv)).map(({ raw }) => raw), ['{"changed":1}']);
  assertEquals(world.problems.map(({ what }) => what), ["contradiction"]);
});

Deno.test("two codes of one customer: the order that waits is paid", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const first = await world.order(ann);
  await world.intake.take(notice(first.code), "{}");
  const second = await world.order(ann);
  await world.intake.take(
    notice(`${first.code} ${second.code}`, { at: "2026-11-20 15:00:00" }),
    "{}",
  );
  assertEquals((await getTopupOrder(kv, second.code)).value?.state, "paid");
  assertEquals(await world.balanceVnd(ann.id), 400_000);
});

Deno.test("everything that does not name one open customer goes to review, uncredited", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const [ann, bob, closed, blocked] = await Promise.all(
    ["ann", "bob", "closed", "blocked"].map((name) => world.customer(name)),
  );
  const [annOrder, bobOrder, cancelled, closedOrder, blockedOrder] = await Promise.all(
    [ann!, bob!, ann!, closed!, blocked!].map((account) => world.order(account)),
  );
  await cancelTopupOrder(kv, { code: cancelled!.code, accountId: ann!.id, nowMs: world.nowMs });
  await forgetPerson(kv, closed!.id, world.nowMs);
  await block(kv, blocked!.id);
  const cases = [
    [notice("NGUYEN VAN A chuyen tien"), "no_code"],
    [notice("ST7K2M9QXJ"), "unknown_code"],
    [notice(`${annOrder!.code} ${bobOrder!.code}`), "several_accounts"],
    [notice(cancelled!.code), "order_cancelled"],
    [notice(closedOrder!.code), "account_closed"],
    [notice(blockedOrder!.code), "account_blocked"],
    [notice(annOrder!.code, { account: "555" }), "wrong_account"],
    [notice(annOrder!.code, { amountVnd: 100_000_001 }), "amount_over_limit"],
  ] as const;
  for (const [event, reason] of cases) {
    await world.intake.take(event, "{}");
    const state = await world.state(event);
    assertEquals(state?.kind === "review" ? state.reason : state?.kind, reason);
  }
  for (const account of [ann!, bob!, closed!, blocked!]) {
    assertEquals(await world.balanceVnd(account.id), 0);
  }
  assertEquals((await listReviews(kv, 100)).length, cases.length);
  assertEquals(await world.findings(), []);
});

Deno.test("money out, nothing, and transfers between own accounts are set aside", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const order = await world.order(await world.customer("ann"));
  const cases = [
    [notice(order.code, { direction: "out" }), "outgoing"],
    [notice(order.code, { amountVnd: 0 }), "zero"],
    [notice("chuyen noi bo", { payer: { account: "VA00001" } }), "own_transfer"],
    [notice("noi bo", { payer: { account: "0123456789", bank: "MBBank" } }), "own_transfer"],
  ] as const;
  for (const [event, reason] of cases) {
    await world.intake.take(event, "{}");
    const state = await world.state(event);
    assertEquals(state?.kind === "ignored" ? state.reason : state?.kind, reason);
  }
  assertEquals(await world.balanceVnd(order.accountId), 0);
  assertEquals(await world.findings(), []);
});

Deno.test("a notice to the virtual account is one to the account behind it", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const order = await world.order(ann);
  const event = notice(order.code, { account: "999000", subAccount: "va-00001" });
  await world.intake.take(event, "{}");
  assertEquals(await world.balanceVnd(ann.id), 200_000);
  // The list names the account itself; the reference proves that the movement is the same.
  const listed = notice(order.code, { source: "sepay-poll", reference: event.reference! });
  await world.intake.take(listed, "{}");
  assertEquals((await world.state(listed))?.kind, "duplicate");
  assertEquals(await world.balanceVnd(ann.id), 200_000);
});

Deno.test("webhook, list and statement of one movement credit once, in any order", async () => {
  const orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
  for (const sequence of orders) {
    using kv = await Deno.openKv(":memory:");
    const world = topupWorld(kv);
    const ann = await world.customer("ann");
    const { code } = await world.order(ann);
    const told = [
      notice(code, { reference: "FT26324.1" }),
      notice(code, { source: "sepay-poll", reference: "FT263241" }),
      notice(`${code} them chu`, { source: "csv", reference: "FT26324-1", at: "20/11/2026" }),
    ];
    for (const at of sequence) await world.intake.take(told[at]!, "{}");
    for (const event of told) await world.intake.take(event, "{}");
    assertEquals(await world.balanceVnd(ann.id), 200_000, String(sequence));
    const kinds = await Promise.all(told.map(async (event) => (await world.state(event))?.kind));
    assertEquals(kinds.toSorted(), ["credited", "duplicate", "duplicate"], String(sequence));
    assertEquals(await world.findings(), []);
  }
});

Deno.test("sources that number references differently: the later one waits for a person", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const { code } = await world.order(ann);
  const webhook = notice(code, { reference: "MBVCB.1" });
  await world.intake.take(webhook, "{}");
  const casso = notice(code, { source: "casso", reference: "FT1", at: "2026-11-20 14:02:39" });
  await world.intake.take(casso, "{}");
  const statement = withoutReference(notice(code, { source: "csv", at: "20/11/2026" }));
  await world.intake.take(statement, "{}");
  for (const event of [casso, statement]) {
    const state = await world.state(event);
    assertEquals(state?.kind === "review" ? state.reason : state?.kind, "possible_duplicate");
  }
  assertEquals(await world.balanceVnd(ann.id), 200_000);
  assertEquals(await world.findings(), []);
});

Deno.test("two customers paying the same sum in the same second are two movements", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const bob = await world.customer("bob");
  const orders = [await world.order(ann), await world.order(bob)];
  const webhooks = orders.map(({ code }) => notice(code));
  for (const event of webhooks) await world.intake.take(event, "{}");
  for (const [at, { code }] of orders.entries()) {
    const listed = notice(code, { source: "sepay-poll", reference: webhooks[at]!.reference! });
    await world.intake.take(listed, "{}");
    assertEquals((await world.state(listed))?.kind, "duplicate");
  }
  assertEquals([await world.balanceVnd(ann.id), await world.balanceVnd(bob.id)], [
    200_000,
    200_000,
  ]);
});

Deno.test("a lost webhook is credited by the list, and its late delivery does nothing more", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const { code } = await world.order(ann);
  await world.intake.take(notice(code, { source: "sepay-poll", reference: "R1" }), "{}");
  const late = notice(code, { reference: "R1" });
  await world.intake.take(late, "{}");
  assertEquals((await world.state(late))?.kind, "duplicate");
  assertEquals(await world.balanceVnd(ann.id), 200_000);
});

Deno.test("a notice without a reference delivered under two ids waits for a person", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const { code } = await world.order(ann);
  const first = withoutReference(notice(code));
  const second = withoutReference(notice(code));
  await world.intake.take(first, "{}");
  await world.intake.take(second, "{}");
  assertEquals((await world.state(second))?.kind, "review");
  assertEquals(await world.balanceVnd(ann.id), 200_000);
});

Deno.test("the sweep matches what a crash left behind, and only once", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const { code } = await world.order(ann);
  const event = notice(code);
  const { journalBankNotice } = await import("../../../../kv/money/payments/bank_notices.ts");
  await journalBankNotice(kv, event, "{}", world.nowMs);
  world.nowMs += 6 * 60_000;
  assertEquals(await world.findings(), [`in:sepay:${event.id}: not matched in time`]);
  assertEquals(await world.intake.sweep(), { matched: 1, failed: 0 });
  assertEquals(await world.intake.sweep(), { matched: 0, failed: 0 });
  assertEquals(await world.balanceVnd(ann.id), 200_000);
  assertEquals(await world.findings(), []);
});

Deno.test("what follows a credit is added to the same commit", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv, {
    onCredited: (operation, { account, order }) =>
      void operation.set(["told", account.id], order?.code),
  });
  const ann = await world.customer("ann");
  const { code } = await world.order(ann);
  await world.intake.take(notice(code), "{}");
  assertEquals((await kv.get(["told", ann.id])).value, code);
});

Deno.test("the raw notice is kept, within a bound", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const event = notice("x");
  // Two bytes a character: with its row it must still fit the 64 KiB that a value may have.
  await world.intake.take(event, "ắ".repeat(60_000));
  assertEquals((await getBankNotice(kv, event)).value?.raw.length, bankNoticeKeptChars);
});
