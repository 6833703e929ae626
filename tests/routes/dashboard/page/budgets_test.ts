/** `/budgets`: what one can make, change and delete, what is shown of it, and the tags that calls must have. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { maxBudgets } from "../../../../core/limits/budgets.ts";
import { getAccount } from "../../../../kv/people/accounts/accounts.ts";
import { addBudget, changeBudgets, listBudgets } from "../../../../kv/people/accounts/budgets.ts";
import { openDashboardWorld } from "../../../support/worlds/dashboard_world.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { announceRefusals } from "../../../../kv/services/limits/budget_notices.ts";
import { openCompany } from "../../../support/worlds/company_world.ts";
import { refuse } from "../../../support/worlds/refused_calls.ts";
import { draftOf, mustReserve, topUp } from "../../../support/worlds/money_world.ts";

const form = {
  name: "Search",
  of: "tag",
  tag: "team=search",
  amount: "500.000",
  window: "month",
  atLimit: "refuse",
};

Deno.test("a budget is made, changed and deleted by forms", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  const budgets = () => listBudgets(world.kv, account.id);
  const blank = await browser.get("/budgets/new");
  const made = await browser.submit(blank, "/budgets", form);
  assertEquals([made.status, made.headers.get("location")], [303, "/budgets"]);
  const [budget] = await budgets();
  assert(budget !== undefined);
  const { id, createdAtMs, ...rest } = budget;
  assertEquals(createdAtMs, world.time.nowMs());
  assertEquals(rest, {
    name: "Search",
    subject: { kind: "tag", tag: { key: "team", value: "search" } },
    window: "month",
    amountMicroVnd: fromVnd(500_000),
    atLimit: "refuse",
  });
  const list = (await browser.get("/budgets")).text;
  assertStringIncludes(list, "Tag: team=search");
  const page = await browser.get(`/budgets/${id}`);
  await browser.submit(page, `/budgets/${id}`, {
    ...form,
    of: "account",
    window: "total",
    amount: "1",
  });
  const [changed] = await budgets();
  assertEquals(changed, {
    ...budget,
    subject: { kind: "account" },
    window: "total",
    amountMicroVnd: 1_000_000n,
  });
  await browser.submit(await browser.get(`/budgets/${id}`), `/budgets/${id}/remove`, {});
  assertEquals(await budgets(), []);
  assertEquals((await browser.get(`/budgets/${id}`)).status, 404);
});

Deno.test("what is wrong with a form is said at its field, and nothing is made", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  const wrong: [Partial<typeof form>, string][] = [
    [{ name: " " }, "name-error"],
    [{ name: "x".repeat(61) }, "name-error"],
    [{ tag: "team" }, "tag-error"],
    [{ tag: "team=two words" }, "tag-error"],
    [{ of: "key:nothing" }, "of-error"],
    [{ of: "planet:mars" }, "of-error"],
    [{ amount: "0" }, "amount-error"],
    [{ amount: "-5" }, "amount-error"],
    [{ amount: "99999999999999" }, "amount-error"],
  ];
  for (const [some, error] of wrong) {
    const blank = await browser.get("/budgets/new");
    const answer = await browser.submit(blank, "/budgets", { ...form, ...some });
    assertEquals(answer.status, 422, JSON.stringify(some));
    assertStringIncludes(answer.text, error, JSON.stringify(some));
  }
  assertEquals(await listBudgets(world.kv, account.id), []);
});

Deno.test("there are at most a hundred budgets, and none of another account", async () => {
  await using world = await openDashboardWorld();
  const { account: other } = await world.signIn("bob@example.com");
  const { browser, account } = await world.signIn();
  const input = {
    name: "n",
    subject: { kind: "account" },
    window: "day",
    amountVnd: 1,
    atLimit: "tell",
  } as const;
  const foreign = await addBudget(world.kv, other.id, input, { nowMs: 0 });
  assert(foreign !== undefined);
  assertEquals((await browser.get(`/budgets/${foreign.id}`)).status, 404);
  await changeBudgets(
    world.kv,
    account.id,
    () => Array.from({ length: maxBudgets }, (_, at) => ({ ...foreign, id: `b${at}` })),
  );
  const answer = await browser.submit(await browser.get("/budgets/new"), "/budgets", form);
  assertEquals(answer.status, 422);
  assertStringIncludes(answer.text, "There are 100 budgets already");
  assertEquals((await listBudgets(world.kv, other.id)).length, 1);
});

Deno.test("the list shows what is spent, and the usage page a budget that is nearly used up", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  await topUp(world.kv, account.id, fromVnd(1_000));
  const input = {
    name: "All calls",
    subject: { kind: "account" },
    window: "month",
    amountVnd: 100,
    atLimit: "tell",
  } as const;
  await addBudget(world.kv, account.id, input, { nowMs: world.time.nowMs() });
  const spend = async (vnd: number) => {
    const reservation = await mustReserve(world.wallet, account.id, fromVnd(vnd));
    await world.wallet.settle(
      reservation,
      draftOf(fromVnd(vnd), { startedAtMs: world.time.nowMs() }),
    );
    world.time.advance(6_000);
  };
  await spend(79);
  assertStringIncludes((await browser.get("/budgets")).text, "₫79 of ₫100");
  assert(!(await browser.get("/usage")).text.includes("nearly used up"));
  await spend(1);
  assertStringIncludes(
    (await browser.get("/usage")).text,
    "The budget “All calls” is nearly used up: ₫80 of ₫100.",
  );
  await spend(20);
  assertStringIncludes((await browser.get("/usage")).text, "The budget “All calls” is used up");
});

Deno.test("required tags are keys, and no key is required after an empty field", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  const required = async () => (await getAccount(world.kv, account.id))?.requiredTags;
  const send = async (tags: string) =>
    (await browser.submit(await browser.get("/budgets"), "/budgets/tags", { tags })).status;
  assertEquals(await send("team, env team"), 303);
  assertEquals(await required(), ["env", "team"]);
  assertEquals(await send("te am=1"), 422);
  assertEquals(await send(Array.from({ length: 11 }, (_, at) => `t${at}`).join()), 422);
  assertEquals(await required(), ["env", "team"]);
  assertEquals(await send(""), 303);
  assertEquals(await required(), undefined);
});

Deno.test("a budget that has refused a call says so, until when, and who can raise it", async () => {
  await using world = await openDashboardWorld();
  const { account, members: { owner, viewer } } = await openCompany(world);
  const input = {
    name: "Search",
    subject: { kind: "account" },
    window: "month",
    amountVnd: 1_000,
    atLimit: "refuse",
  } as const;
  const budget = await addBudget(world.kv, account.id, input, { nowMs: world.time.nowMs() });
  assert(budget !== undefined);
  const usage = async (member: typeof owner) => (await member.browser.get("/usage")).text;
  assert(!(await usage(owner)).includes("Calls are refused"));
  // Something is left, and too little for a call.
  const refused = await refuse(
    world.kv,
    { accountId: account.id, keyId: newId("apiKey", 0), atMs: world.time.nowMs() },
    {
      code: "budget_exceeded",
      figures: {
        kind: "budget",
        id: budget.id,
        name: budget.name,
        limitMicroVnd: fromVnd(1_000),
        usedMicroVnd: fromVnd(990),
        neededMicroVnd: fromVnd(20),
      },
    },
  );
  await announceRefusals(world.kv, [refused]);
  for (const path of ["/", "/usage", "/budgets"]) {
    const { text } = await owner.browser.get(path);
    assertStringIncludes(text, "Calls are refused: the budget “Search” is used up");
    assertStringIncludes(text, "It resets on 01 Dec 2026, 00:00:00.");
    assertStringIncludes(text, `<a href="/budgets/${budget.id}">Raise it`);
  }
  assertStringIncludes(await usage(viewer), "Ask the owner or an admin to raise it.");
});
