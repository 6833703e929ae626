/**
 * Two companies of four people each live through a month on one gateway: people who sign up and join by mail, money,
 * keys, a budget that is reached, webhooks, a developer who goes, another owner, and statements that agree with receipts
 * and ledger to the µVND.
 */
import type { Browser, Page } from "playwright-core";
import { fromVnd, parseVnd } from "../../core/billing/money/micro_vnd.ts";
import { parseCsv } from "../../core/lib/base/csv.ts";
import { isJsonObject, type JsonObject } from "../../core/lib/json/json.ts";
import { vietnamDay } from "../../core/lib/time/vietnam_time.ts";
import type { Receipt } from "../../core/billing/usage/receipt.ts";
import { verifyStore } from "../../kv/services/verify/verify_books.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { openDatedGateway } from "../support/gateways/dated_gateway.ts";
import { ledgerLines, listAllReceipts } from "../support/worlds/money_world.ts";
import {
  addWebhook,
  call,
  clicksOf,
  type CompanyFacts,
  found,
  handOver,
  join,
  look,
  mailsWith,
  makeBudget,
  makeKeys,
  type MonthCompany,
  openMonthCompany,
  openReceipt,
  partWithDeveloper,
  raiseBudget,
  topUp,
  visit,
  who,
} from "../support/worlds/month_company.ts";

const companies: readonly CompanyFacts[] = [
  {
    name: "Acme Works",
    slug: "acme",
    look: { locale: "en", theme: "light", width: 1280 },
    leaving: "removed",
  },
  {
    name: "Công ty Hoa Sen",
    slug: "hoasen",
    look: { locale: "vi", theme: "light", width: 390 },
    leaving: "left",
  },
];

const month = "2026-11";
const topupVnd = 200_000;
/** One price per call, and one per token, whose sums have fractions of a VND. */
const [callModel, callVnd] = ["low-cost-01", 230];
const [tokenModel, tokenMicroVnd] = ["premium-1", 8_300n];
/** Ten calls, and nothing more. */
const budget = { name: "Search budget", amountVnd: 10 * callVnd };

const teamCalls = (count: number) => async (company: MonthCompany): Promise<void> => {
  for (let nth = 1; nth <= count; nth++) {
    const { status, text } = await call(company, "team", callModel);
    assertEquals(status, 200, text);
  }
};

/** A call with the owner's key, which no budget binds. */
async function tokenCall(company: MonthCompany): Promise<void> {
  const { status, text } = await call(company, "own", tokenModel);
  assertEquals(status, 200, text);
  company.made.tokens += BigInt(JSON.parse(text).usage.total_tokens);
}

async function expectRefusal(company: MonthCompany): Promise<Page> {
  const { status, text } = await call(company, "team", callModel);
  assertEquals([status, text.includes("budget_exceeded")], [402, true], text);
  await tokenCall(company);
  return await visit(company, "owner", "/budgets");
}

/** Percentages of the budget that mails and webhooks have told of, so far. */
function told(company: MonthCompany): Readonly<Record<"mails" | "webhooks", readonly unknown[]>> {
  const percent = new RegExp(`(\\d+) %: ${budget.name}`);
  return {
    // The mail of a budget that is used up names no percentage.
    mails: mailsWith(company, budget.name).map((text) => Number(percent.exec(text)?.[1] ?? 100)),
    webhooks: company.events.filter(({ type }) => type === "budget.reached")
      .map(({ data }) => isJsonObject(data) ? data["percent"] : undefined),
  };
}

const expectTold = (...percents: number[]) => (company: MonthCompany): Promise<void> => {
  assertEquals(told(company), { mails: percents, webhooks: percents });
  return Promise.resolve();
};

/** Everybody looks in, so that no session idles out. */
async function lookIn(company: MonthCompany): Promise<void> {
  for (const [seat, { page }] of company.people) {
    await page.goto(`${company.world.address}/organisations`);
    const isKnown = await page.locator('main form[action="/organisations"]').count();
    assertEquals(isKnown, 1, `${seat} is signed out`);
  }
}

/** So much that nothing is told of it again this month. */
const raised = (company: MonthCompany): Promise<Page> =>
  raiseBudget(company, 100 * budget.amountVnd);

type Step = (company: MonthCompany) => Promise<Page | void>;

/** What happens in the month: the time in Vietnam, and the steps then. What ends on a page is looked at. */
const steps: readonly (readonly [at: string, does: Readonly<Record<string, Step>>])[] = [
  ["2026-11-02T10:00", { founded: found }],
  ["2026-11-02T11:00", {
    "joined-admin": (company) => join(company, "admin"),
    webhook: addWebhook,
    "joined-developer": (company) => join(company, "developer"),
    "joined-billing": (company) => join(company, "billing"),
  }],
  ["2026-11-02T15:00", {
    paid: (company) => topUp(company, topupVnd),
    keys: makeKeys,
    budget: (company) => makeBudget(company, budget),
  }],
  ["2026-11-03T09:00", { calls: teamCalls(1), receipt: openReceipt }],
  ["2026-11-05T23:59", { calls: teamCalls(3), none: expectTold() }],
  ["2026-11-07T00:01", { calls: teamCalls(1), lookIn }],
  ["2026-11-07T12:00", { half: expectTold(50) }],
  ["2026-11-10T12:00", { calls: teamCalls(2), lookIn }],
  ["2026-11-12T12:00", { calls: teamCalls(1) }],
  ["2026-11-12T18:00", { most: expectTold(50, 80) }],
  ["2026-11-14T12:00", { calls: teamCalls(1), lookIn }],
  ["2026-11-17T12:00", { calls: teamCalls(1) }],
  ["2026-11-18T12:00", { all: expectTold(50, 80, 100), refused: expectRefusal, lookIn }],
  ["2026-11-19T12:00", { raised, calls: teamCalls(1) }],
  ["2026-11-21T12:00", { left: partWithDeveloper, lookIn }],
  ["2026-11-24T12:00", { calls: tokenCall, "handed-over": handOver, lookIn }],
  ["2026-11-30T23:59", { calls: tokenCall, lookIn }],
];

/**
 * How often the people of a company press something in a step, so that the ways stay as short as they are: an organisation
 * of four (make it, three invitations and a team; each joins), and a budget that is used up.
 */
const clicksOfSteps: Readonly<Record<string, number>> = {
  founded: 5,
  "joined-admin": 1,
  "joined-developer": 1,
  "joined-billing": 1,
  raised: 2,
};

/** How many calls a company has made, and on how many days. */
const calls = { team: 11, days: 11 };

async function receiptsOf({ made, world }: MonthCompany): Promise<Receipt[]> {
  const receipts = await Array.fromAsync(listAllReceipts(world.gateway.kv));
  return receipts.filter(({ accountId }) => accountId === made.accountId);
}

const microVnd = (amount: unknown): bigint => parseVnd(String(amount)) ?? -1n;

/** What receipts and ledger say of a company's month, to the µVND. */
async function booksOf(company: MonthCompany) {
  const { made: { accountId, tokens }, world: { gateway: { kv, assembled } } } = company;
  assert(accountId !== undefined);
  const receipts = await receiptsOf(company);
  const costMicroVnd = receipts.reduce((sum, one) => sum + one.costMicroVnd, 0n);
  assertEquals(costMicroVnd, fromVnd(calls.team * callVnd) + tokens * tokenMicroVnd);
  assertEquals(new Set(receipts.map((one) => vietnamDay(one.startedAtMs))).size, calls.days);
  const paidMicroVnd = (await ledgerLines(kv, accountId))
    .reduce((sum, { amountMicroVnd }) => sum + amountMicroVnd, 0n);
  assertEquals(paidMicroVnd, fromVnd(topupVnd));
  const leftMicroVnd = paidMicroVnd - costMicroVnd;
  const { totalMicroVnd } = await assembled.gateway.wallet.balance(accountId);
  assertEquals(totalMicroVnd, leftMicroVnd);
  return { calls: receipts.length, costMicroVnd, paidMicroVnd, leftMicroVnd };
}

/** Compares the statement of the month with them: as JSON for the owner's program, as a file for who keeps the books. */
async function compareStatements(company: MonthCompany): Promise<void> {
  const { world: { address }, made: { keys } } = company;
  const books = await booksOf(company);
  const response = await fetch(`${address}/v1/statements/${month}`, {
    headers: { authorization: `Bearer ${keys.own}` },
  });
  const json: JsonObject = await response.json();
  const sum = isJsonObject(json["calls"]) ? json["calls"] : {};
  assertEquals(
    [json["complete"], microVnd(json["closing_vnd"]), sum["calls"], microVnd(sum["cost_vnd"])],
    [true, books.leftMicroVnd, books.calls, books.costMicroVnd],
  );
  const { context } = who(company, "billing");
  const file = await context.request.get(`${address}/wallet/statements/${month}.csv`);
  assertEquals(file.status(), 200);
  const lines = parseCsv(await file.text());
  const sumOf = (section: string) =>
    microVnd(lines.find((line) => line[0] === section && line[1] === "sum")?.at(-1));
  assertEquals(
    [sumOf("summary"), sumOf("movements"), sumOf("by_key")],
    [books.leftMicroVnd, books.paidMicroVnd, books.costMicroVnd],
  );
  const page = await visit(company, "billing", `/wallet/statement?from=${month}-01&to=${month}-30`);
  await look(page, company, "statement");
}

/** What one company has is there for itself, and for nobody of the other. */
async function expectApart(mine: MonthCompany, others: MonthCompany): Promise<void> {
  for (const path of Object.values(mine.made.paths)) {
    const own = await who(mine, "admin").context.request.get(mine.world.address + path);
    assertEquals(own.status(), 200, path);
    for (const [seat, { context }] of others.people) {
      const answer = await context.request.get(mine.world.address + path);
      // Whom the role keeps from such pages is not told which there are.
      assert([403, 404].includes(answer.status()), `${seat} of the others at ${path}`);
      const text = await answer.text();
      assert(!text.includes(mine.facts.name), `${seat} of the others sees a name`);
    }
  }
  const { name, slug } = mine.facts;
  const told = JSON.stringify([others.events, mailsWith(others, slug), mailsWith(others, name)]);
  assert(!told.includes(name) && !told.includes(slug), "mails or webhooks went to the others");
}

/** The kinds of events of the month, each as often as it happened; all of them verified, and none came twice. */
function expectEvents({ events, receiver: { received } }: MonthCompany): void {
  const counts = Object.fromEntries(
    [...Map.groupBy(events, ({ type }) => String(type))].map((
      [type, { length }],
    ) => [type, length]),
  );
  assertEquals(counts, {
    "budget.exhausted": 1,
    "budget.reached": 3,
    "key.created": 2,
    "key.revoked": 1,
    "member.joined": 2,
    "member.removed": 1,
    "member.role_changed": 2,
    "topup.credited": 1,
  });
  assertEquals(received.length, events.length);
  assertEquals(new Set(received.map(({ headers }) => headers["webhook-id"])).size, events.length);
}

await browserTest("two companies live through a month", async (browser: Browser) => {
  await using world = await openDatedGateway(Date.parse("2026-11-02T09:00+07:00"));
  await using first = openMonthCompany(world, browser, companies[0]!);
  await using second = openMonthCompany(world, browser, companies[1]!);
  const both = [first, second];
  for (const [at, does] of steps) {
    await world.goTo(Date.parse(`${at}+07:00`));
    for (const [name, run] of Object.entries(does)) {
      for (const company of both) {
        const before = clicksOf(company);
        const page = await run(company);
        const clicks = clicksOf(company) - before;
        assertEquals(clicks, clicksOfSteps[name] ?? clicks, `clicks: ${name}`);
        if (page !== undefined) await look(page, company, name);
      }
    }
    await world.settle("budgets");
  }
  await expectApart(first, second);
  await expectApart(second, first);
  await world.goTo(Date.parse("2026-12-01T09:00+07:00"));
  await world.settle("budgets");
  for (const company of both) {
    await compareStatements(company);
    await expectTold(50, 80, 100)(company);
    expectEvents(company);
  }
  await world.gateway.assembled.gateway.wallet.close();
  const { problems } = await verifyStore(world.gateway.kv);
  assertEquals(problems, []);
});
