import { assert, assertEquals } from "../../../support/assert.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { forgetPerson } from "../../../../kv/people/deletion/account_deletion.ts";
import {
  type Account,
  createAccount,
  getAccount,
} from "../../../../kv/people/accounts/accounts.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import type { GivenRole } from "../../../../core/people/organisations/acts.ts";
import { accountKey } from "../../../../kv/engine/schema/keys.ts";
import { removeMember } from "../../../../kv/people/organisations/members.ts";
import {
  createOrganisation,
  handOver,
  organisationFacts,
} from "../../../../kv/people/organisations/organisations.ts";
import { joinAs } from "../../../support/worlds/company_world.ts";
import {
  decideApproval,
  listApprovals,
  requestApproval,
} from "../../../../kv/services/operations/approvals.ts";
import { assignBankNotice } from "../../../../kv/money/payments/bank_assignment.ts";
import { commandLine, listAuditLines } from "../../../../kv/people/audit/operator_audit.ts";
import { adjustWallet } from "../../../../kv/services/operations/wallet_adjustment.ts";
import { notice, operator, reviewedNotice } from "../../../support/worlds/topup_world.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { hourMs } from "../../../../core/lib/time/durations.ts";

/** Adjusts a wallet as `reviewedNotice`'s operator, under a limit of 5,000,000 VND. */
async function authorityWorld(kv: KeyValueStore) {
  const made = await reviewedNotice(kv);
  let forms = 0;
  return {
    ...made,
    adjust: (amountVnd: number, change: Partial<typeof made.context> & { to?: string } = {}) =>
      adjustWallet(kv, {
        accountId: (change.to ?? made.ann.id) as typeof made.ann.id,
        amountMicroVnd: fromVnd(amountVnd),
        reason: "r",
      }, { ...made.context, ...change, caseId: `form-${forms++}` }),
  };
}

Deno.test("two acts at once under a limit that allows one: one passes, the other needs a second operator", async () => {
  for (let round = 0; round < 20; round++) {
    using kv = await Deno.openKv(":memory:");
    const { world, ann, adjust } = await authorityWorld(kv);
    const results = await Promise.all([adjust(4_000_000), adjust(4_000_000)]);
    const ends = results.map((result) => result.ok ? "ok" : result.why).toSorted();
    assertEquals(ends, ["limit", "ok"]);
    assertEquals(await world.balanceVnd(ann.id), 4_000_000);
  }
});

Deno.test("a correction and a notice for one account share the sum, also at the same moment", async () => {
  for (let round = 0; round < 20; round++) {
    using kv = await Deno.openKv(":memory:");
    const { world, ann, adjust, context } = await authorityWorld(kv);
    const event = notice("no code", { amountVnd: 3_000_000 });
    await world.intake.take(event, "{}");
    const target = { kind: "account", accountId: ann.id } as const;
    const results = await Promise.all([
      adjust(3_000_000),
      assignBankNotice(kv, { ref: event, target, reason: "r" }, context),
    ]);
    assertEquals(results.filter(({ ok }) => ok).length, 1);
    assertEquals(await world.balanceVnd(ann.id), 3_000_000);
  }
});

Deno.test("the sum is of any 24 hours, per operator, account and direction", async () => {
  using kv = await Deno.openKv(":memory:");
  const { world, ann, adjust, context } = await authorityWorld(kv);
  const [bob, other] = [await world.customer("bob"), await operator(world, "other")];
  const at = (hours: number) => ({ nowMs: context.nowMs + hours * hourMs });
  assert((await adjust(3_000_000)).ok);
  assert((await adjust(2_000_000, at(10))).ok);
  assertEquals(await adjust(1, at(20)), { ok: false, why: "limit" });
  assert((await adjust(5_000_000, { ...at(20), to: bob.id })).ok, "another account");
  assert((await adjust(5_000_000, { ...at(20), operator: other })).ok, "another operator");
  assert((await adjust(-5_000_000, at(20))).ok, "the other direction");
  assertEquals(await adjust(-1, at(21)), { ok: false, why: "limit" });
  assertEquals(await adjust(3_000_000, at(23.9)), { ok: false, why: "limit" });
  assert((await adjust(3_000_000, at(24.5))).ok, "the first has left the window");
  assertEquals(await adjust(1, at(24.6)), { ok: false, why: "limit" });
  assertEquals(await world.balanceVnd(ann.id), 8_000_000);
});

Deno.test("nobody moves money of an organisation that they own, also behind another address", async () => {
  using kv = await Deno.openKv(":memory:");
  const { world, adjust, context } = await authorityWorld(kv);
  const { operator: staff, nowMs } = context;
  const owner = { id: staff.accountId, createdAtMs: nowMs, email: staff.email };
  const alias = await createAccount(kv, { nowMs, email: "staff+private@example.com" });
  const ann = await world.customer("another");
  for (
    const [person, why] of [[owner, "beneficiary"], [alias, "beneficiary"], [
      ann,
      undefined,
    ]] as const
  ) {
    const made = await createOrganisation(kv, person.id, { name: "Acme", nowMs });
    assert(made !== "too_many");
    const result = await adjust(1_000, { to: made.id });
    assertEquals(result.ok ? undefined : result.why, why, person.email);
  }
});

Deno.test("many small acts are one sum in a row of bounded size", async () => {
  using kv = await Deno.openKv(":memory:");
  const { ann, adjust, context } = await authorityWorld(kv);
  for (let act = 0; act < 150; act++) {
    assert((await adjust(1_000, { nowMs: context.nowMs + act * hourMs / 2 })).ok);
  }
  const row = await kv.get<readonly unknown[]>(["operator_moved", "staff@example.com", ann.id]);
  assert(row.value !== null && row.value.length <= 97, `${row.value?.length} quarters`);
});

Deno.test("a repeated form counts once, and one that asked for a second operator never moves alone", async () => {
  using kv = await Deno.openKv(":memory:");
  const { world, ann, context } = await authorityWorld(kv);
  const adjustment = { accountId: ann.id, amountMicroVnd: fromVnd(4_000_000), reason: "r" };
  const send = (caseId: string, nowMs = context.nowMs) =>
    adjustWallet(kv, adjustment, { ...context, nowMs, caseId });
  assertEquals([(await send("a")).ok, (await send("a")).ok], [true, true]);
  assertEquals(await send("b"), { ok: false, why: "limit" });
  const act = { kind: "adjust", ...adjustment } as const;
  assertEquals(await requestApproval(kv, act, { ...context, formId: "a" }), {
    ok: false,
    why: "state",
  });
  assert((await requestApproval(kv, act, { ...context, formId: "b" })).ok);
  assertEquals(await send("b", context.nowMs + 48 * hourMs), { ok: false, why: "limit" });
  assertEquals(await world.balanceVnd(ann.id), 4_000_000);
});

Deno.test("the owner of the machine corrects without a limit, once per operation id and not for the deleted", async () => {
  using kv = await Deno.openKv(":memory:");
  const { world, ann, context } = await authorityWorld(kv);
  const { nowMs, balanceOf } = context;
  const correct = async (amountVnd: number, operationId: string) => {
    const amountMicroVnd = fromVnd(amountVnd);
    const adjustment = { accountId: ann.id, amountMicroVnd, reason: "as agreed" };
    const by = { operator: commandLine, operationId, nowMs, balanceOf };
    const result = await adjustWallet(kv, adjustment, by);
    return result.ok ? result.status : result.why;
  };
  assertEquals(await correct(90_000_000, "invoice-17"), "applied");
  assertEquals(await correct(90_000_000, "invoice-17"), "duplicate");
  assertEquals(await correct(1, "invoice-17"), "state");
  assertEquals(await correct(-90_000_001, "invoice-18"), "insufficient");
  const [line, ...others] = await listAuditLines(kv, { count: 9 });
  assertEquals(others, []);
  assertEquals([line?.act, line?.operatorEmail, line?.operatorId, line?.detail], [
    "wallet_adjusted",
    "command line",
    undefined,
    "invoice-17: as agreed",
  ]);
  await forgetPerson(kv, ann.id, nowMs);
  assertEquals(await correct(1, "invoice-19"), "target");
  assertEquals(await correct(-90_000_000, "invoice-20"), "applied");
  assertEquals(await world.balanceVnd(ann.id), 0);
});

Deno.test("an operator moves no money for themselves: not alone, not by asking, not by approving", async () => {
  using kv = await Deno.openKv(":memory:");
  const { world, staff, event, context, adjust } = await authorityWorld(kv);
  const second = await operator(world, "second");
  const tagged = await createAccount(kv, { nowMs: 0, email: "staff+wallet@example.com" });
  const refused = { ok: false, why: "beneficiary" } as const;
  for (const { accountId } of [staff, { accountId: tagged.id }]) {
    const target = { kind: "account", accountId } as const;
    const assignment = { ref: event, target, reason: "mine" };
    assertEquals(await adjust(1, { to: accountId }), refused);
    assertEquals(await assignBankNotice(kv, assignment, context), refused);
    const amountMicroVnd = fromVnd(9_000_000);
    const acts = [
      { kind: "adjust", accountId, amountMicroVnd, reason: "mine" },
      { kind: "assign", amountMicroVnd, ...assignment },
    ] as const;
    for (const act of acts) {
      assertEquals(await requestApproval(kv, act, context), refused);
      // The second operator requested it, so the approving one is not the beneficiary.
      const asked = await requestApproval(kv, act, { ...context, operator: second });
      assert(asked.ok);
      assertEquals(await decideApproval(kv, asked.approval.id, "approve", context), refused);
    }
    assertEquals(await world.balanceVnd(accountId), 0);
  }
});

Deno.test("an order of one's own is not credited under its code either", async () => {
  using kv = await Deno.openKv(":memory:");
  const { world, event, context } = await authorityWorld(kv);
  const person = await world.customer("third");
  const order = await world.order(person);
  const third = { accountId: person.id, email: "third@example.com" };
  const target = { kind: "order", code: order.code } as const;
  const assignment = { ref: event, target, reason: "mine" };
  assertEquals(await assignBankNotice(kv, assignment, { ...context, operator: third }), {
    ok: false,
    why: "beneficiary",
  });
});

Deno.test("an approval of the earlier version, asked by the beneficiary, is not carried out", async () => {
  using kv = await Deno.openKv(":memory:");
  const { world, staff, context } = await authorityWorld(kv);
  const second = await operator(world, "second");
  const id = "apr_0000000000000000000000001";
  await kv.set(["approval", id], {
    id,
    act: {
      kind: "adjust",
      accountId: staff.accountId,
      amountMicroVnd: fromVnd(9_000_000),
      reason: "trust me",
    },
    requestedBy: staff,
    requestedAtMs: 1,
    state: "pending",
  });
  const [approval] = await listApprovals(kv, 9);
  assertEquals(
    await decideApproval(kv, approval!.id, "approve", { ...context, operator: second }),
    { ok: false, why: "beneficiary" },
  );
  assertEquals(await world.balanceVnd(staff.accountId), 0);
});

Deno.test("the log names account, order, notice, who asked, and the balance before and after", async () => {
  using kv = await Deno.openKv(":memory:");
  const { ann, order, event, context, adjust, world } = await authorityWorld(kv);
  assert((await adjust(1_000)).ok);
  const act = {
    kind: "assign",
    amountMicroVnd: event.amountMicroVnd,
    ref: event,
    target: { kind: "order", code: order.code },
    reason: "phone call",
  } as const;
  const asked = await requestApproval(kv, act, context);
  assert(asked.ok);
  const second = await operator(world, "second");
  const approving = { ...context, operator: second };
  assert((await decideApproval(kv, asked.approval.id, "approve", approving)).ok);
  const money = {
    accountId: ann.id,
    amountMicroVnd: fromVnd(200_000),
    balanceBeforeMicroVnd: fromVnd(1_000),
    balanceAfterMicroVnd: fromVnd(201_000),
    notice: { source: event.source, id: event.id },
    orderCode: order.code,
  };
  const lines = await listAuditLines(kv, { count: 9 });
  assertEquals(lines.map((line) => [line.act, line.money]), [
    ["notice_assigned", { ...money, requestedBy: "staff@example.com" }],
    ["assignment_requested", money],
    ["wallet_adjusted", {
      accountId: ann.id,
      amountMicroVnd: fromVnd(1_000),
      balanceBeforeMicroVnd: 0n,
      balanceAfterMicroVnd: fromVnd(1_000),
    }],
  ]);
  assertEquals((await listApprovals(kv, 9))[0]?.money?.balanceAfterMicroVnd, fromVnd(201_000));
});

type MemberWorld = Awaited<ReturnType<typeof authorityWorld>>;

/** An operator who is connected with an organisation in some way, and the organisation. */
interface Connected {
  readonly kv: KeyValueStore;
  readonly made: MemberWorld;
  readonly organisation: Account;
  readonly person: Account;
}

const joins = (role: GivenRole) => async ({ kv, made, organisation, person }: Connected) =>
  await joinAs(kv, organisation.id, person, { role, nowMs: made.context.nowMs });

const by = ({ id, email }: Account) =>
  ({ kind: "person", accountId: id, address: "", browser: "", ...defined({ email }) }) as const;

/** Ways in which an operator may profit from the money of an organisation. */
const connections: Readonly<Record<string, (connected: Connected) => Promise<unknown>>> = {
  viewer: joins("viewer"),
  developer: joins("developer"),
  billing: joins("billing"),
  admin: joins("admin"),
  "an owner who handed over and stayed": async ({ kv, made, organisation, person }) => {
    const { nowMs } = made.context;
    await joinAs(kv, organisation.id, person, { role: "admin", nowMs });
    const ann = await getAccount(kv, organisationFacts(organisation).ownerId);
    assert(ann !== undefined);
    await handOver(kv, organisation.id, { from: ann, to: person.id, nowMs });
    await handOver(kv, organisation.id, { from: person, to: ann.id, nowMs });
  },
  "who was removed": async (connected) => {
    const { kv, made: { context: { nowMs } }, organisation, person } = connected;
    await joins("viewer")(connected);
    await removeMember(kv, organisation.id, person.id, { nowMs });
  },
  "who left": async (connected) => {
    const { kv, made: { context: { nowMs } }, organisation, person } = connected;
    await joins("admin")(connected);
    await removeMember(kv, organisation.id, person.id, { nowMs, by: by(person) });
  },
  "who is a member with another address of the same mailbox": async (connected) => {
    const email = connected.person.email?.replace("@", "+private@") ?? "";
    const other = await createAccount(connected.kv, { nowMs: 0, email });
    await joins("viewer")({ ...connected, person: other });
  },
  "who is a member with another account of the same sign-in identity": async (connected) => {
    const { kv, person } = connected;
    const other = await createAccount(kv, { nowMs: 0, email: "private@example.net" });
    const identities = [{ issuer: "https://id.example", subject: "7" }];
    await kv.set(accountKey(person.id), { ...person, identities });
    await kv.set(accountKey(other.id), { ...other, identities });
    await joins("viewer")({ ...connected, person: { ...other, identities } });
  },
};

for (const [connection, connect] of Object.entries(connections)) {
  Deno.test(`no operator credits, requests or approves money of an organisation as: ${connection}`, async () => {
    using kv = await Deno.openKv(":memory:");
    const made = await authorityWorld(kv);
    const { world, ann, context } = made;
    const { nowMs } = context;
    const acme = await createOrganisation(kv, ann.id, { name: "Acme", nowMs });
    assert(acme !== "too_many");
    const person = await createAccount(kv, { nowMs, email: "clerk@example.com" });
    const clerk = { accountId: person.id, email: "clerk@example.com" };
    const others = [await operator(world, "second"), await operator(world, "third")];
    const act = {
      kind: "adjust",
      accountId: acme.id,
      amountMicroVnd: fromVnd(7_000_000),
      reason: "r",
    } as const;
    const refused = { ok: false, why: "beneficiary" } as const;
    const asked = await requestApproval(kv, act, { ...context, operator: others[0]! });
    assert(asked.ok);
    await connect({ kv, made, organisation: acme, person });
    assertEquals(await made.adjust(1, { to: acme.id, operator: clerk }), refused);
    assertEquals(await requestApproval(kv, act, { ...context, operator: clerk }), refused);
    const { id } = asked.approval;
    assertEquals(await decideApproval(kv, id, "approve", { ...context, operator: clerk }), refused);
    assertEquals(await world.balanceVnd(acme.id), 0);
    const decided = await decideApproval(kv, id, "approve", { ...context, operator: others[1]! });
    assert(decided.ok, "others may");
    assertEquals(await world.balanceVnd(acme.id), 7_000_000);
  });
}

Deno.test("a request of an operator who joined the organisation afterwards is not carried out", async () => {
  using kv = await Deno.openKv(":memory:");
  const made = await authorityWorld(kv);
  const { world, ann, context } = made;
  const { nowMs } = context;
  const acme = await createOrganisation(kv, ann.id, { name: "Acme", nowMs });
  assert(acme !== "too_many");
  const person = await createAccount(kv, { nowMs, email: "clerk@example.com" });
  const clerk = { accountId: person.id, email: "clerk@example.com" };
  const amountMicroVnd = fromVnd(7_000_000);
  const act = { kind: "adjust", accountId: acme.id, amountMicroVnd, reason: "r" } as const;
  const asked = await requestApproval(kv, act, { ...context, operator: clerk });
  assert(asked.ok);
  await joins("viewer")({ kv, made, organisation: acme, person });
  const second = { ...context, operator: await operator(world, "second") };
  const decided = await decideApproval(kv, asked.approval.id, "approve", second);
  assertEquals(decided, { ok: false, why: "beneficiary" });
});
