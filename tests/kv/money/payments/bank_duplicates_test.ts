/**
 * Notices that are set aside or treated as repetitions, automatically or by people, and how that is
 * undone.
 */
import { assert, assertEquals } from "../../../support/assert.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import type { BankNotice } from "../../../../core/trade/bank/bank_notice.ts";
import {
  type BankNoticeRef,
  changeBankNotice,
  getBankNotice,
  journalBankNotice,
} from "../../../../kv/money/payments/bank_notices.ts";
import { assignBankNotice } from "../../../../kv/money/payments/bank_assignment.ts";
import { resolveBankNotice } from "../../../../kv/money/payments/bank_intake.ts";
import { checkTopups } from "../../../../kv/money/payments/topup_checks.ts";
import {
  notice,
  receivingAccount,
  reviewedNotice,
  topupWorld,
  withoutReference,
} from "../../../support/worlds/topup_world.ts";

Deno.test("a payer with our number at another bank, or with an order's code, is not set aside", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const order = await world.order(await world.customer("bob"));
  const account = receivingAccount.account;
  const cases = [
    [notice(order.code, { payer: { account, bank: "OTHERBANK" } }), "payer_number_of_ours"],
    [notice(order.code, { payer: { account } }), "payer_number_of_ours"],
    [notice("nap tien", { payer: { account, bank: "OTHERBANK" } }), "no_code"],
  ] as const;
  for (const [event, reason] of cases) {
    await world.intake.take(event, "{}");
    const state = await world.state(event);
    assertEquals(state?.kind === "review" ? state.reason : state?.kind, reason);
  }
  assertEquals(await world.balanceVnd(order.accountId), 0);
  assertEquals(await world.findings(), []);
});

Deno.test("a reference that comes again swallows no other customer's transfer", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const [ann, bob] = [await world.customer("ann"), await world.customer("bob")];
  const [annOrder, bobOrder] = [await world.order(ann), await world.order(bob)];
  const first = notice(annOrder.code, { reference: "000001", at: "2026-11-18 09:00:00" });
  const second = notice(bobOrder.code, { source: "casso", reference: "000001" });
  for (const event of [first, second]) await world.intake.take(event, "{}");
  const state = await world.state(second);
  assert(state?.kind === "review");
  assertEquals([state.reason, state.about?.id], ["possible_duplicate", first.id]);
  assertEquals([await world.balanceVnd(ann.id), await world.balanceVnd(bob.id)], [200_000, 0]);
  assertEquals(await world.findings(), []);
});

Deno.test("a notice is a duplicate only of one with the same movement that is no duplicate itself", async () => {
  using kv = await Deno.openKv(":memory:");
  const { world, event, context } = await reviewedNotice(kv);
  const mark = (of: BankNotice, one = event) =>
    resolveBankNotice(kv, one, { kind: "duplicate", of }, context);
  const refused = { ok: false, why: "not_same" } as const;
  const others = [
    notice("ra", { direction: "out" }),
    notice("it hon", { amountVnd: 199_999 }),
    notice("noi khac", { account: "555" }),
  ];
  for (const other of others) {
    await world.intake.take(other, "{}");
    assertEquals(await mark(other), refused, other.memo);
  }
  const waiting = notice("chua xu ly");
  await journalBankNotice(kv, waiting, "{}", world.nowMs);
  for (const other of [event, waiting, notice("khong co")]) {
    assertEquals(await mark(other), refused, other.memo);
  }
  await world.intake.sweep();
  // The virtual account and the one behind it are one.
  const other = notice("khac", { account: "VA00001" });
  await world.intake.take(other, "{}");
  assert((await mark(other)).ok);
  assertEquals(await mark(event, other), refused);
  const { totals, problems } = await checkTopups(kv, world.nowMs);
  assertEquals([totals.movements, problems], [4, []]);
});

Deno.test("two notices that are marked as duplicates of each other at once stay one received movement", async () => {
  for (let round = 0; round < 20; round++) {
    using kv = await Deno.openKv(":memory:");
    const { world, event, context } = await reviewedNotice(kv);
    const other = notice("khac");
    await world.intake.take(other, "{}");
    const results = await Promise.all([
      resolveBankNotice(kv, event, { kind: "duplicate", of: other }, context),
      resolveBankNotice(kv, other, { kind: "duplicate", of: event }, context),
    ]);
    assertEquals(results.filter(({ ok }) => ok).length, 1);
    assertEquals((await checkTopups(kv, world.nowMs)).totals.receivedMicroVnd, fromVnd(200_000));
    assertEquals(await world.findings(), []);
  }
});

Deno.test("checkTopups() reports duplicates whose money is nowhere", async () => {
  using kv = await Deno.openKv(":memory:");
  const { world, event, context } = await reviewedNotice(kv);
  const [middle, small] = [notice("giua"), notice("nho", { amountVnd: 5 })];
  for (const one of [middle, small]) await world.intake.take(one, "{}");
  const says = async () =>
    (await checkTopups(kv, world.nowMs)).problems.filter((line) => /duplicate/.test(line));
  // As an older version allowed it.
  const point = async (one: BankNotice, of: BankNoticeRef) => {
    const entry = await getBankNotice(kv, one);
    assert(entry.value !== null);
    const operation = kv.atomic();
    changeBankNotice(operation, entry, { kind: "duplicate", of, by: "staff", atMs: 1 });
    assert((await operation.commit()).ok);
  };
  const about = (one: BankNotice, what: string) => `in:sepay:${one.id}: ${what}`;
  assert((await resolveBankNotice(kv, event, { kind: "duplicate", of: middle }, context)).ok);
  assertEquals(await says(), []);
  await point(middle, event);
  const circle = "duplicates in a circle: their money is nowhere";
  assertEquals(await says(), [about(event, circle), about(middle, circle)]);
  await point(middle, small);
  const amount = "a duplicate of another amount or direction";
  assertEquals(await says(), [about(event, amount), about(middle, amount)]);
  await point(middle, { source: "sepay", id: "nothing" });
  const missing = "a duplicate of a notice that is not there";
  assertEquals(await says(), [about(event, missing), about(middle, missing)]);
});

Deno.test("what the machine took for a duplicate is put back, credited, and known to further sources", async () => {
  using kv = await Deno.openKv(":memory:");
  const { world, event: first, context } = await reviewedNotice(kv);
  const bob = await world.customer("bob");
  const { code } = await world.order(bob);
  const reference = first.reference!;
  const taken = notice(code, { source: "casso", reference, at: "2026-11-20 14:04:00" });
  await world.intake.take(taken, "{}");
  assertEquals((await world.state(taken))?.kind, "duplicate");
  assertEquals(await resolveBankNotice(kv, taken, { kind: "return" }, context), {
    ok: true,
    state: {
      kind: "review",
      reason: "returned",
      about: { source: first.source, id: first.id },
      atMs: world.nowMs,
    },
  });
  const target = { kind: "order", code } as const;
  assert((await assignBankNotice(kv, { ref: taken, target, reason: "his own" }, context)).ok);
  assertEquals(await world.balanceVnd(bob.id), 200_000);
  // The statement's row of Bob's movement: without a movement of its own it would be credited again.
  const row = withoutReference(notice(code, { source: "csv", at: "2026-11-20 14:04:00" }));
  await world.intake.take(row, "{}");
  assertEquals((await world.state(row))?.kind, "review");
  assertEquals(await world.balanceVnd(bob.id), 200_000);
  // Casso may report the first movement now: it has not reported it yet.
  const late = notice("khong ro", { source: "casso", reference });
  await world.intake.take(late, "{}");
  const state = await world.state(late);
  assertEquals(state?.kind === "duplicate" && state.of.id, first.id);
  assertEquals(await world.findings(), []);
});

Deno.test("what was set aside as an own transfer is put back; outgoing money is not", async () => {
  using kv = await Deno.openKv(":memory:");
  const { world, ann, context } = await reviewedNotice(kv);
  const own = notice("chuyen", { payer: { account: "0123456789" }, at: "2026-11-20 18:00:00" });
  const out = notice("chuyen", { direction: "out" });
  for (const event of [own, out]) await world.intake.take(event, "{}");
  assertEquals(await resolveBankNotice(kv, out, { kind: "return" }, context), {
    ok: false,
    why: "state",
  });
  assert((await resolveBankNotice(kv, own, { kind: "return" }, context)).ok);
  const target = { kind: "account", accountId: ann.id } as const;
  assert((await assignBankNotice(kv, { ref: own, target, reason: "r" }, context)).ok);
  const listed = notice("chuyen", {
    source: "sepay-poll",
    reference: own.reference!,
    at: "2026-11-20 18:00:00",
  });
  await world.intake.take(listed, "{}");
  assertEquals((await world.state(listed))?.kind, "duplicate");
  assertEquals(await world.balanceVnd(ann.id), 200_000);
  assertEquals(await world.findings(), []);
});
