import { assert, assertEquals } from "../../../support/assert.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { forgetPerson } from "../../../../kv/people/deletion/account_deletion.ts";
import {
  decideApproval,
  listApprovals,
  requestApproval,
} from "../../../../kv/services/operations/approvals.ts";
import {
  assignBankNotice,
  type AssignTarget,
} from "../../../../kv/money/payments/bank_assignment.ts";
import { listReviews } from "../../../../kv/money/payments/bank_notices.ts";
import { resolveBankNotice } from "../../../../kv/money/payments/bank_intake.ts";
import { credit } from "../../../../kv/money/ledger/ledger.ts";
import { listAuditLines } from "../../../../kv/people/audit/operator_audit.ts";
import {
  type AdjustmentResult,
  adjustWallet,
} from "../../../../kv/services/operations/wallet_adjustment.ts";
import { checkTopups } from "../../../../kv/money/payments/topup_checks.ts";
import { getTopupOrder } from "../../../../kv/money/payments/topups.ts";
import { block } from "../../../support/worlds/blocked_account.ts";
import { notice, operator, reviewedNotice } from "../../../support/worlds/topup_world.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

Deno.test("assigning credits once, pays the order, and leaves an audit line", async () => {
  using kv = await Deno.openKv(":memory:");
  const { world, ann, order, event, context } = await reviewedNotice(kv);
  const assignment = {
    ref: event,
    target: { kind: "order", code: order.code } as const,
    reason: "phone call",
  };
  const results = await Promise.all([
    assignBankNotice(kv, assignment, context),
    assignBankNotice(kv, assignment, context),
    world.intake.sweep(),
  ]);
  assertEquals([results[0].ok, results[1].ok].filter(Boolean).length, 1);
  assertEquals(await world.balanceVnd(ann.id), 200_000);
  assertEquals((await getTopupOrder(kv, order.code)).value?.state, "paid");
  const [line, ...more] = await listAuditLines(kv, { count: 10 });
  assertEquals([line?.act, line?.operatorEmail, more.length], [
    "notice_assigned",
    "staff@example.com",
    0,
  ]);
  assertEquals(await assignBankNotice(kv, assignment, context), { ok: false, why: "state" });
  assertEquals(await world.findings(), []);
});

Deno.test("of two operators who decide differently at the same moment one has to look again", async () => {
  for (let round = 0; round < 20; round++) {
    using kv = await Deno.openKv(":memory:");
    const { world, ann, event, context } = await reviewedNotice(kv);
    const target = { kind: "account", accountId: ann.id } as const;
    const results = await Promise.all([
      assignBankNotice(kv, { ref: event, target, reason: "r" }, context),
      resolveBankNotice(kv, event, { kind: "ignore", note: "n" }, context),
      resolveBankNotice(kv, event, { kind: "start_refund", note: "n" }, context),
    ]);
    assertEquals(results.filter(({ ok }) => ok).length, 1);
    assertEquals(await world.findings(), []);
  }
});

Deno.test("a second source of an assigned movement is still a duplicate", async () => {
  using kv = await Deno.openKv(":memory:");
  const { world, ann, event, context } = await reviewedNotice(kv);
  const target = { kind: "account", accountId: ann.id } as const;
  assert((await assignBankNotice(kv, { ref: event, target, reason: "r" }, context)).ok);
  const listed = notice("khong ro", { source: "sepay-poll", reference: event.reference! });
  await world.intake.take(listed, "{}");
  assertEquals((await world.state(listed))?.kind, "duplicate");
  assertEquals(await world.balanceVnd(ann.id), 200_000);
});

Deno.test("a blocked account may be given its money, a deleted or unknown one may not", async () => {
  using kv = await Deno.openKv(":memory:");
  const { world, ann, event, context } = await reviewedNotice(kv);
  const nobody = { kind: "account", accountId: "acc_nobody" as typeof ann.id } as const;
  assertEquals(await assignBankNotice(kv, { ref: event, target: nobody, reason: "r" }, context), {
    ok: false,
    why: "target",
  });
  await block(kv, ann.id);
  const target = { kind: "account", accountId: ann.id } as const;
  assert((await assignBankNotice(kv, { ref: event, target, reason: "r" }, context)).ok);
  assertEquals(await world.balanceVnd(ann.id), 200_000);
});

Deno.test("verdicts move no money, keep the sums whole and can be taken back", async () => {
  using kv = await Deno.openKv(":memory:");
  const { world, event, context } = await reviewedNotice(kv);
  const resolve = (verdict: Parameters<typeof resolveBankNotice>[2]) =>
    resolveBankNotice(kv, event, verdict, context);
  const state = async () => (await world.state(event))?.kind;
  const suspense = async () => (await checkTopups(kv, world.nowMs)).totals.suspenseMicroVnd;

  assert((await resolve({ kind: "ignore", note: "loan" })).ok);
  assertEquals([await state(), await suspense()], ["ignored", 0n]);
  assert((await resolve({ kind: "return" })).ok);
  assertEquals([await state(), await suspense()], ["review", fromVnd(200_000)]);
  assertEquals(await resolve({ kind: "finish_refund", bankReference: "x" }), {
    ok: false,
    why: "state",
  });
  assert((await resolve({ kind: "start_refund", note: "asked by mail" })).ok);
  assertEquals([await state(), (await listReviews(kv, 10)).length], ["refund_pending", 1]);
  assert((await resolve({ kind: "finish_refund", bankReference: "FT99" })).ok);
  assertEquals([await state(), (await listReviews(kv, 10)).length], ["refunded", 0]);
  assertEquals(await resolve({ kind: "return" }), { ok: false, why: "state" });
  const { problems, totals } = await checkTopups(kv, world.nowMs);
  assertEquals([problems, totals.refundedMicroVnd], [[], fromVnd(200_000)]);
  assertEquals((await listAuditLines(kv, { count: 10 })).map(({ act }) => act), [
    "notice_refunded",
    "notice_refund_started",
    "notice_returned",
    "notice_ignored",
  ]);
});

Deno.test("a notice whose id was credited by hand waits for a person, and is joined to that credit", async () => {
  using kv = await Deno.openKv(":memory:");
  const { world, ann, order, context } = await reviewedNotice(kv);
  const bob = await world.customer("bob");
  const event = notice(order.code, { at: "2026-11-20 18:00:00" });
  const byHand = await credit(kv, {
    accountId: ann.id,
    amountMicroVnd: event.amountMicroVnd,
    kind: "admin",
    operationId: `in:sepay:${event.id}`,
    reason: "the bank is late",
    atMs: world.nowMs,
  });
  assertEquals(byHand.status, "applied");
  await world.intake.take(event, "{}");
  const state = await world.state(event);
  assertEquals(state?.kind === "review" && state.reason, "credited_by_hand");
  assertEquals([world.problems, await world.balanceVnd(ann.id)], [[], 200_000]);
  const assign = (target: AssignTarget) =>
    assignBankNotice(kv, { ref: event, target, reason: "r" }, context);
  assertEquals(await assign({ kind: "account", accountId: bob.id }), { ok: false, why: "taken" });
  assert((await assign({ kind: "order", code: order.code })).ok);
  assertEquals([await world.balanceVnd(ann.id), await world.balanceVnd(bob.id)], [200_000, 0]);
  assertEquals((await getTopupOrder(kv, order.code)).value?.state, "paid");
  assertEquals(await world.findings(), []);
});

Deno.test("what needs two operators cannot be done by one, and is done once", async () => {
  using kv = await Deno.openKv(":memory:");
  const { world, ann, event, context } = await reviewedNotice(kv);
  const second = await operator(world, "second");
  const asked = await requestApproval(
    kv,
    {
      kind: "assign",
      ref: event,
      target: { kind: "account", accountId: ann.id },
      amountMicroVnd: event.amountMicroVnd,
      reason: "big one",
    },
    context,
  );
  assert(asked.ok);
  const { approval } = asked;
  assertEquals(await decideApproval(kv, approval.id, "approve", context), {
    ok: false,
    why: "self",
  });
  const both = await Promise.all(
    [0, 1].map(() => decideApproval(kv, approval.id, "approve", { ...context, operator: second })),
  );
  assertEquals(both.filter(({ ok }) => ok).length, 1);
  assertEquals(await world.balanceVnd(ann.id), 200_000);
  assertEquals((await listApprovals(kv, 10))[0]?.state, "approved");
  assertEquals(await world.findings(), []);
});

async function askedGift(
  kv: KeyValueStore,
  accountId: AccountId,
  context: Parameters<typeof requestApproval>[2],
) {
  const amountMicroVnd = fromVnd(9_000_000);
  const act = { kind: "adjust", accountId, amountMicroVnd, reason: "gift" } as const;
  const asked = await requestApproval(kv, act, context);
  assert(asked.ok);
  return asked.approval.id;
}

Deno.test("a form sent twice asks once, and asks for one thing only", async () => {
  using kv = await Deno.openKv(":memory:");
  const { ann, context: once } = await reviewedNotice(kv);
  const context = { ...once, formId: "0-1" };
  const ids = await Promise.all([0, 1, 2].map(() => askedGift(kv, ann.id, context)));
  assertEquals(new Set(ids).size, 1);
  assertEquals((await listApprovals(kv, 10)).length, 1);
  const other = { kind: "adjust", accountId: ann.id, amountMicroVnd: 1n, reason: "gift" } as const;
  assertEquals(await requestApproval(kv, other, context), { ok: false, why: "state" });
});

Deno.test("a refused request can no longer be approved", async () => {
  using kv = await Deno.openKv(":memory:");
  const { world, ann, context } = await reviewedNotice(kv);
  const second = { ...context, operator: await operator(world, "second") };
  const id = await askedGift(kv, ann.id, context);
  assert((await decideApproval(kv, id, "refuse", second)).ok);
  assertEquals(await decideApproval(kv, id, "approve", second), { ok: false, why: "decided" });
  assertEquals(await world.balanceVnd(ann.id), 0);
});

Deno.test("approved by one and refused by another at the same moment: one of the two, and the money agrees", async () => {
  for (let round = 0; round < 20; round++) {
    using kv = await Deno.openKv(":memory:");
    const { world, ann, context } = await reviewedNotice(kv);
    const [second, third] = [await operator(world, "second"), await operator(world, "third")];
    const id = await askedGift(kv, ann.id, context);
    const results = await Promise.all([
      decideApproval(kv, id, "approve", { ...context, operator: second }),
      decideApproval(kv, id, "refuse", { ...context, operator: third }),
    ]);
    assertEquals(results.filter(({ ok }) => ok).length, 1);
    const state = (await listApprovals(kv, 1))[0]?.state;
    assertEquals(await world.balanceVnd(ann.id), state === "approved" ? 9_000_000 : 0);
  }
});

Deno.test("an account that was deleted since is given nothing, also at the moment of the approval", async () => {
  for (let round = 0; round < 20; round++) {
    using kv = await Deno.openKv(":memory:");
    const { world, ann, context } = await reviewedNotice(kv);
    const second = { ...context, operator: await operator(world, "second") };
    const id = await askedGift(kv, ann.id, context);
    const approve = () => decideApproval(kv, id, "approve", second);
    const deleting = forgetPerson(kv, ann.id, world.nowMs);
    if (round === 0) await deleting;
    const [given] = await Promise.all([approve(), deleting]);
    if (round === 0) assertEquals(given, { ok: false, why: "target" });
    const state = (await listApprovals(kv, 1))[0]?.state;
    assertEquals(state, given.ok ? "approved" : "pending");
    assertEquals(await world.balanceVnd(ann.id), given.ok ? 9_000_000 : 0);
    const late = await approve();
    assertEquals(late.ok ? "ok" : late.why, given.ok ? "decided" : "target");
  }
});

function movedBy(result: AdjustmentResult) {
  if (!result.ok) throw new Error(result.why);
  return result;
}

Deno.test("an adjustment sent twice moves money once, and never below zero", async () => {
  using kv = await Deno.openKv(":memory:");
  const { world, ann, context } = await reviewedNotice(kv);
  const adjust = (amountVnd: number, caseId: string) =>
    adjustWallet(kv, { accountId: ann.id, amountMicroVnd: fromVnd(amountVnd), reason: "r" }, {
      ...context,
      caseId,
    });
  const applied = { amountMicroVnd: fromVnd(50_000), operationId: "adj:form-1" };
  for (const status of ["applied", "duplicate"] as const) {
    const { entry, ...moved } = movedBy(await adjust(50_000, "form-1"));
    assertEquals(moved, { ok: true, status });
    assertEquals({ ...entry, ...applied }, entry);
  }
  assertEquals(await world.balanceVnd(ann.id), 50_000);
  assertEquals(await adjust(-50_001, "form-2"), {
    ok: false,
    why: "insufficient",
    availableMicroVnd: fromVnd(50_000),
  });
  const { entry } = movedBy(await adjust(-20_000, "form-3"));
  assertEquals(await adjust(-10_000, "form-3"), { ok: false, why: "state", entry });
  assertEquals(await world.balanceVnd(ann.id), 30_000);
  assertEquals((await listAuditLines(kv, { count: 10 })).length, 2);
});
