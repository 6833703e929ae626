import { mailQueue } from "../../../../kv/engine/outbox/outbox.ts";
import { claimDue } from "../../../../kv/engine/outbox/outbox_claims.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { createAccount, setBlocked } from "../../../../kv/people/accounts/accounts.ts";
import { markOf } from "../../../../kv/people/operators/operator_authority.ts";
import {
  type Approval,
  decideApproval,
  listApprovals,
  type PendingAct,
  requestApproval,
} from "../../../../kv/services/operations/approvals.ts";
import { readDossier } from "../../../../kv/services/operations/dossier.ts";
import type { Operator } from "../../../../kv/people/audit/operator_audit.ts";
import { assignBankNotice } from "../../../../kv/money/payments/bank_assignment.ts";
import { adjustWallet } from "../../../../kv/services/operations/wallet_adjustment.ts";
import { notice, type TopupWorld, topupWorld } from "../../../support/worlds/topup_world.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";

const limitMicroVnd = fromVnd(5_000_000);

async function withWorld(
  run: (world: TopupWorld, of: (name: string) => Promise<Operator>) => Promise<void>,
): Promise<void> {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const of = async (name: string): Promise<Operator> => {
    const email = `${name}@example.com`;
    const account = await createAccount(kv, { nowMs: world.nowMs, email });
    return { accountId: account.id, email };
  };
  await run(world, of);
}

function contextOf(world: TopupWorld, operator: Operator, approval?: Approval) {
  return {
    operator,
    nowMs: world.nowMs,
    balanceOf: async (id: Parameters<TopupWorld["balanceVnd"]>[0]) =>
      fromVnd(await world.balanceVnd(id)),
    approval,
  };
}

const gift = (accountId: AccountId, vnd: number): PendingAct => ({
  kind: "adjust",
  accountId,
  amountMicroVnd: fromVnd(vnd),
  reason: "gift",
});

Deno.test("a dossier says who gets how much, with the balance before and after, and what was before", () =>
  withWorld(async (world, of) => {
    const ann = await world.customer("ann");
    const order = await world.order(ann, 200_000);
    await world.intake.take(notice(order.code, { amountVnd: 200_000 }), "{}");
    const staff = await of("staff");
    world.nowMs += 3 * dayMs;
    const context = contextOf(world, staff);
    const act = gift(ann.id, 50_000);
    assert(act.kind === "adjust");
    const first = await readDossier(world.kv, act, context);
    assert(first !== undefined);
    assertEquals([first.money.balanceBeforeMicroVnd, first.money.balanceAfterMicroVnd], [
      fromVnd(200_000),
      fromVnd(250_000),
    ]);
    assertEquals([first.topups.count, first.topups.sumMicroVnd], [1, fromVnd(200_000)]);
    assertEquals(first.ledger.map(({ kind }) => kind), ["topup"]);
    assertEquals([first.warnings, first.decisions, first.requests], [[], [], []]);
    const authority = { kind: "alone", limitMicroVnd } as const;
    const moved = await adjustWallet(world.kv, act, {
      ...context,
      caseId: crypto.randomUUID(),
      authority,
      seen: first.mark,
    });
    assert(moved.ok);
    const mails = await claimDue(world.kv, mailQueue, { nowMs: world.nowMs, count: 8 });
    assertEquals(
      mails.map(({ payload }) => [payload.kind, payload.to])
        .filter(([kind]) => kind === "wallet_adjusted"),
      [["wallet_adjusted", ann.email]],
      "its owner is told, in the same commit",
    );
    const second = await readDossier(world.kv, act, context);
    assertEquals(second?.warnings, ["same_sum_moved"]);
    assertEquals(second?.decisions.map(({ act }) => act), ["wallet_adjusted"]);
  }));

Deno.test("a dossier warns of what is unusual", () =>
  withWorld(async (world, of) => {
    const staff = await of("staff");
    const ann = await world.customer("ann");
    const warningsOf = async (act: PendingAct, operator = staff) =>
      (await readDossier(world.kv, act, contextOf(world, operator)))?.warnings;
    assertEquals(await warningsOf(gift(ann.id, 1)), ["young_account"]);
    world.nowMs += 2 * dayMs;
    assertEquals(await warningsOf(gift(ann.id, 1)), []);
    assertEquals(await warningsOf(gift(ann.id, -1)), ["below_zero"]);
    const order = await world.order(ann, 100_000);
    await world.intake.take(notice(order.code, { amountVnd: 100_000 }), "{}");
    assertEquals(await warningsOf(gift(ann.id, 500_000)), []);
    assertEquals(await warningsOf(gift(ann.id, 500_001)), ["unusual_sum"]);
    const act = { operator: staff, nowMs: world.nowMs };
    await setBlocked(world.kv, ann.id, { blocked: true, reason: "abuse" }, act);
    assertEquals(await warningsOf(gift(ann.id, 1)), ["blocked_account"]);
    assertEquals(await warningsOf(gift(staff.accountId, 1)), ["own_account"]);
    const event = notice("nap tien", { amountVnd: 70_000 });
    await world.intake.take(event, "{}");
    const assign: PendingAct = {
      kind: "assign",
      amountMicroVnd: event.amountMicroVnd,
      ref: event,
      target: { kind: "order", code: order.code },
      reason: "phone",
    };
    assertEquals(await warningsOf(assign), ["blocked_account", "other_amount", "closed_order"]);
  }));

Deno.test("a decision about facts that have changed is refused, and moves nothing", () =>
  withWorld(async (world, of) => {
    const [staff, second] = [await of("staff"), await of("second")];
    const ann = await world.customer("ann");
    const act = gift(ann.id, 9_000_000);
    const context = contextOf(world, staff);
    assert((await requestApproval(world.kv, act, context)).ok);
    const [approval] = await listApprovals(world.kv, 1);
    const before = await readDossier(world.kv, act, contextOf(world, second, approval));
    await setBlocked(world.kv, ann.id, { blocked: true, reason: "abuse" }, context);
    const decide = (seen: string | undefined) =>
      decideApproval(world.kv, approval!.id, "approve", { ...contextOf(world, second), seen });
    assertEquals(await decide(before?.mark), { ok: false, why: "changed" });
    assertEquals(await decide(""), { ok: false, why: "changed" });
    assertEquals(await world.balanceVnd(ann.id), 0);
    const now = await readDossier(world.kv, act, contextOf(world, second, approval));
    assertEquals(await decide(now?.mark), { ok: true });
    assertEquals(await world.balanceVnd(ann.id), 9_000_000);
  }));

Deno.test("a notice, its order and its account are what an assignment rests on", () =>
  withWorld(async (world, of) => {
    const staff = await of("staff");
    const ann = await world.customer("ann");
    const order = await world.order(ann, 100_000);
    const event = notice("nap tien", { amountVnd: 100_000 });
    await world.intake.take(event, "{}");
    const assignment = {
      ref: event,
      target: { kind: "order", code: order.code },
      reason: "phone",
    } as const;
    const act: PendingAct = { kind: "assign", amountMicroVnd: event.amountMicroVnd, ...assignment };
    const context = contextOf(world, staff);
    const dossier = await readDossier(world.kv, act, context);
    const authority = { kind: "alone", limitMicroVnd } as const;
    const assign = async (seen: string | undefined) =>
      await assignBankNotice(world.kv, assignment, { ...context, authority, seen });
    // Another transfer arrives under the order meanwhile.
    await world.intake.take(notice(order.code, { amountVnd: 30_000 }), "{}");
    const late = await assign(dossier?.mark);
    assertEquals(late, { ok: false, why: "changed" });
    assertEquals(await world.balanceVnd(ann.id), 30_000);
    const again = await readDossier(world.kv, act, context);
    assert((await assign(again?.mark)).ok);
    assertEquals(await world.balanceVnd(ann.id), 130_000);
  }));

Deno.test("no operator credits themselves, whatever they have seen: alone, as requester, as approver", () =>
  withWorld(async (world, of) => {
    const [staff, second] = [await of("staff"), await of("second")];
    const act = gift(staff.accountId, 1_000);
    assert(act.kind === "adjust");
    const mark = (await readDossier(world.kv, act, contextOf(world, staff)))?.mark;
    const alone = { kind: "alone", limitMicroVnd } as const;
    const context = { ...contextOf(world, staff), seen: mark };
    const adjusted = await adjustWallet(world.kv, act, {
      ...context,
      caseId: "c",
      authority: alone,
    });
    assertEquals(adjusted, { ok: false, why: "beneficiary" });
    const asked = await requestApproval(world.kv, act, context);
    assertEquals(asked, { ok: false, why: "beneficiary" });
    const event = notice("nap tien");
    await world.intake.take(event, "{}");
    const assignment = {
      ref: event,
      target: { kind: "account", accountId: staff.accountId },
      reason: "mine",
    } as const;
    const resolved = await assignBankNotice(world.kv, assignment, {
      ...contextOf(world, staff),
      authority: alone,
    });
    assertEquals(resolved, { ok: false, why: "beneficiary" });
    // Asked by another, approved by the owner.
    assert((await requestApproval(world.kv, act, contextOf(world, second))).ok);
    const [approval] = await listApprovals(world.kv, 1);
    assertEquals(await decideApproval(world.kv, approval!.id, "approve", context), {
      ok: false,
      why: "beneficiary",
    });
    assertEquals(await world.balanceVnd(staff.accountId), 0);
  }));

Deno.test("the balance is none of the facts: calls that run change nothing about a decision", () =>
  withWorld(async (world) => {
    const ann = await world.customer("ann");
    const facts = { amountMicroVnd: 5n, account: ann };
    assertEquals(markOf(facts), markOf({ ...facts, account: { ...ann, lowBalanceMailedAtMs: 9 } }));
    assert(markOf(facts) !== markOf({ ...facts, amountMicroVnd: 6n }));
    assert(markOf(facts) !== markOf({ ...facts, account: { ...ann, email: "x@example.com" } }));
  }));
