import { assert, assertEquals } from "../../../support/assert.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { forgetPerson } from "../../../../kv/people/deletion/account_deletion.ts";
import { setBlocked } from "../../../../kv/people/accounts/accounts.ts";
import {
  approveCampaign,
  makeCampaign,
  pauseCampaign,
} from "../../../../kv/money/credits/campaigns.ts";
import { credit, debit, isOwnOperationId } from "../../../../kv/money/ledger/ledger.ts";
import {
  commandLine,
  listAuditLines,
  type Operator,
  operatorProgram,
} from "../../../../kv/people/audit/operator_audit.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { readWallet } from "../../../../kv/money/balances/wallets.ts";
import { type Fault, faultyKv } from "../../../support/stores/faulty_kv.ts";
import {
  bookOf,
  campaign,
  campaignNow,
  creditStartMs,
  customer,
  give,
  grantsOf,
} from "../../../support/worlds/credit_world.ts";
import { ledgerLines, topUp } from "../../../support/worlds/money_world.ts";

Deno.test("a grant is a line of the ledger, a pot of its account and a part of its campaign", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id } = await campaign(kv);
  const ann = await customer(kv);
  await topUp(kv, ann.id, fromVnd(50_000));
  const given = await give(kv, id, ann.id);
  const [, line] = await ledgerLines(kv, ann.id);
  assert(given.ok && !given.isRepeated && line !== undefined);
  assertEquals(given.entry, line);
  assertEquals(line?.kind, "voucher");
  assertEquals(line?.reason, "Welcome");
  assertEquals(line?.grant, {
    campaignId: id,
    expiresAtMs: creditStartMs + 30 * 86_400_000,
  });
  const wallet = await readWallet(kv, ann.id);
  assertEquals(wallet.availableMicroVnd, fromVnd(70_000));
  const book = await bookOf(kv, ann.id);
  assertEquals(book?.ownMicroVnd, fromVnd(50_000));
  assertEquals(book?.grants.map(({ leftMicroVnd, name }) => [leftMicroVnd, name]), [
    [fromVnd(20_000), "Welcome"],
  ]);
  assertEquals((await grantsOf(kv, id)).map(({ grantId }) => grantId), [line?.ledgerId]);
  const { givenMicroVnd, grants } = await campaignNow(kv, id);
  assertEquals([givenMicroVnd, grants], [fromVnd(20_000), 1]);
  assertEquals((await verifyStore(kv)).problems, []);
});

Deno.test("credit that was given is no top-up: the debt limit does not change", async () => {
  using kv = await Deno.openKv(":memory:");
  const ann = await customer(kv);
  await give(kv, (await campaign(kv)).id, ann.id);
  assertEquals((await readWallet(kv, ann.id)).hasToppedUp, undefined);
});

Deno.test("a grant whose answer was lost, or that is asked for again, is made once", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id } = await campaign(kv, { perAccount: 2 });
  const ann = await customer(kv);
  const faults: Fault[] = ["after"];
  const unsure = faultyKv(kv, (call) => call === "commit" ? faults.shift() ?? "none" : "none");
  const cause = { operationId: "signup:once" };
  const first = await give(unsure, id, ann.id, cause);
  const again = await give(kv, id, ann.id, cause);
  assertEquals([first.ok && first.isRepeated, again.ok && again.isRepeated], [false, true]);
  assertEquals((await campaignNow(kv, id)).grants, 1);
  assertEquals((await readWallet(kv, ann.id)).availableMicroVnd, fromVnd(20_000));
});

for (const bound of ["budgetMicroVnd", "maxGrants"] as const) {
  Deno.test(`grants at once on several instances never exceed ${bound}`, async () => {
    using kv = await Deno.openKv(":memory:");
    const { id } = await campaign(
      kv,
      bound === "maxGrants" ? { maxGrants: 5, budgetMicroVnd: fromVnd(9_000_000) } : {},
    );
    const people = await Promise.all(Array.from({ length: 30 }, () => customer(kv)));
    const results = await Promise.all(people.map((account) => give(kv, id, account.id)));
    assertEquals(results.filter(({ ok }) => ok).length, 5);
    assertEquals(
      results.filter((result) => !result.ok && result.why === "budget").length,
      25,
    );
    const { givenMicroVnd, grants } = await campaignNow(kv, id);
    assertEquals([givenMicroVnd, grants], [fromVnd(100_000), 5]);
    assertEquals((await grantsOf(kv, id)).length, 5);
    assertEquals((await verifyStore(kv)).problems, []);
  });
}

Deno.test("an account gets no more grants of a campaign than it allows, also at once", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id } = await campaign(kv, { perAccount: 2 });
  const ann = await customer(kv);
  const results = await Promise.all(Array.from({ length: 6 }, () => give(kv, id, ann.id)));
  assertEquals(results.filter(({ ok }) => ok).length, 2);
  assertEquals(results.filter((result) => !result.ok && result.why === "limit").length, 4);
});

Deno.test("accounts that are blocked or deleted, and the author of a campaign, get nothing", async () => {
  using kv = await Deno.openKv(":memory:");
  const staff = await customer(kv);
  const operator: Operator = { accountId: staff.id, email: staff.email ?? "" };
  const terms = await campaign(kv);
  const own = await makeCampaign(kv, terms, {
    operator,
    nowMs: creditStartMs,
    limitMicroVnd: fromVnd(5_000_000),
  });
  const [gone, blocked] = [await customer(kv), await customer(kv)];
  await forgetPerson(kv, gone.id, creditStartMs);
  const act = { operator, nowMs: creditStartMs };
  await setBlocked(kv, blocked.id, { blocked: true, reason: "test" }, act);
  const why = async (accountId: typeof gone.id) => {
    const result = await give(kv, own.id, accountId);
    return result.ok ? "given" : result.why;
  };
  assertEquals(await why(gone.id), "account");
  assertEquals(await why(blocked.id), "account");
  assertEquals(await why(newId("account", 1)), "account");
  assertEquals(await why(staff.id), "author");
});

Deno.test("a campaign above an operator's limit gives nothing until a second one agrees", async () => {
  using kv = await Deno.openKv(":memory:");
  const people = await Promise.all([customer(kv), customer(kv), customer(kv)]);
  const [one, two] = people.map(({ id, email = "" }): Operator => ({ accountId: id, email }));
  const ann = people[2]!;
  const terms = await campaign(kv);
  const make = (operator: Operator) =>
    makeCampaign(kv, terms, { operator, nowMs: creditStartMs, limitMicroVnd: fromVnd(150_000) });
  assertEquals((await make(one!)).needsApproval, undefined);
  // The limit is one of all campaigns of a day.
  const { id, needsApproval } = await make(one!);
  assertEquals(needsApproval, true);
  const act = (operator: Operator) => ({ operator, nowMs: creditStartMs, limitMicroVnd: 0n });
  assertEquals(await give(kv, id, ann.id), { ok: false, why: "approval" });
  assertEquals(await approveCampaign(kv, id, act(one!)), "person");
  assertEquals(await approveCampaign(kv, id, act(two!)), "done");
  assertEquals(await approveCampaign(kv, id, act(two!)), "state");
  assertEquals((await give(kv, id, ann.id)).ok, true);
  assertEquals(await give(kv, id, two!.accountId), { ok: false, why: "author" });
});

Deno.test("a program's campaign is a promise of whoever agrees to it, within their limit", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id: accountId, email = "" } = await customer(kv);
  const terms = await campaign(kv);
  const limits = { nowMs: creditStartMs, limitMicroVnd: fromVnd(150_000) };
  const make = () => makeCampaign(kv, terms, { ...limits, operator: operatorProgram });
  const agree = async (operator: Operator | typeof commandLine) =>
    await approveCampaign(kv, (await make()).id, { ...limits, operator });
  const operator = { accountId, email };
  assertEquals([await agree(operator), await agree(operator)], ["done", "limit"]);
  // Both ways of a promise have one limit.
  assertEquals((await makeCampaign(kv, terms, { ...limits, operator })).needsApproval, true);
  assertEquals(await agree(commandLine), "done");
});

Deno.test("a paused campaign gives nothing until it is resumed; each act is in the audit log", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id } = await campaign(kv);
  const ann = await customer(kv);
  const act = { operator: commandLine, nowMs: creditStartMs };
  assertEquals(await pauseCampaign(kv, id, true, act), "done");
  assertEquals(await pauseCampaign(kv, id, true, act), "state");
  assertEquals(await give(kv, id, ann.id), { ok: false, why: "paused" });
  assertEquals(await pauseCampaign(kv, id, false, act), "done");
  assertEquals((await give(kv, id, ann.id)).ok, true);
  const acts = (await listAuditLines(kv, { count: 10 })).map((line) => line.act).toReversed();
  assertEquals(acts, ["campaign_made", "campaign_paused", "campaign_resumed"]);
});

Deno.test("what the account owes is paid with credit first, and such a grant is closed", async () => {
  using kv = await Deno.openKv(":memory:");
  const { id } = await campaign(kv);
  const ann = await customer(kv);
  await kv.set(["wallet", ann.id], {
    availableMicroVnd: -fromVnd(25_000),
    mayOweMicroVnd: fromVnd(30_000),
  });
  await give(kv, id, ann.id);
  assertEquals(await bookOf(kv, ann.id), undefined);
  const [grant] = await grantsOf(kv, id);
  assertEquals([grant?.closedAtMs, grant?.expiredMicroVnd], [creditStartMs, 0n]);
});

Deno.test("top-ups, corrections and refunds move the customer's own pot", async () => {
  using kv = await Deno.openKv(":memory:");
  const ann = await customer(kv);
  await give(kv, (await campaign(kv)).id, ann.id);
  await topUp(kv, ann.id, fromVnd(10_000));
  const movement = (operationId: string, vnd: number) => ({
    accountId: ann.id,
    amountMicroVnd: fromVnd(vnd),
    kind: "admin" as const,
    operationId,
    reason: "test",
    atMs: creditStartMs,
  });
  await credit(kv, movement("one", 5_000));
  assertEquals((await bookOf(kv, ann.id))?.ownMicroVnd, fromVnd(15_000));
  // A correction beyond the own pot takes from the grant.
  await debit(kv, movement("two", 18_000));
  const book = await bookOf(kv, ann.id);
  assertEquals(book?.ownMicroVnd, 0n);
  assertEquals(book?.grants[0]?.leftMicroVnd, fromVnd(17_000));
  assertEquals((await verifyStore(kv)).problems, []);
});

Deno.test("operation ids of credit are the gateway's own", () => {
  for (const id of ["signup:acc_1", "voucher:vch_1:acc_1", "bonus:in:sepay:1", "expiry:led_1"]) {
    assertEquals(isOwnOperationId(id), true, id);
  }
});
