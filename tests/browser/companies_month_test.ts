/**
 * Two companies of four people each live through a month in a browser, on one gateway: invitations, roles, a top-up,
 * keys, a budget that is reached, a member who leaves, an owner who hands over, and statements that agree with receipts
 * and ledger to the µVND.
 */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import type { Browser, Page } from "playwright-core";
import { fromVnd, parseVnd } from "../../core/billing/money/micro_vnd.ts";
import { parseId } from "../../core/lib/ids/ids.ts";
import { getAccount } from "../../kv/people/accounts/accounts.ts";
import { listApiKeys } from "../../kv/people/api_keys/api_keys.ts";
import { listMembers } from "../../kv/people/organisations/members.ts";
import { scanReceipts } from "../../routes/usage_api/search/call_scan.ts";
import { verifyStore } from "../../kv/services/verify/verify_books.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { type Look, openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import {
  type CompaniesWorld,
  openCompaniesWorld,
  type Person,
} from "../support/worlds/companies_world.ts";

const folder = new URL("../../screenshots/", import.meta.url);
const dayMs = 86_400_000;

const companies: readonly { readonly name: string; readonly look: Look }[] = [
  { name: "Acme", look: { locale: "en", theme: "light", width: 1280 } },
  { name: "Công ty Một Hai Ba", look: { locale: "vi", theme: "dark", width: 390 } },
];

const joining = ["admin", "developer", "billing"] as const;
type Seat = "owner" | typeof joining[number];

/** A person with a window. */
interface Seated {
  readonly person: Person;
  readonly page: Page;
}

interface Company {
  readonly id: NonNullable<ReturnType<typeof parseId<"account">>>;
  readonly people: Readonly<Record<Seat, Seated>>;
}

async function submit(page: Page, action: string, fields: Record<string, string> = {}) {
  const form = page.locator(`main form[action="${action}"]`).first();
  for (const [name, value] of Object.entries(fields)) {
    const field = form.locator(`[name="${name}"]`);
    if (await field.evaluate((node) => node.tagName) === "SELECT") await field.selectOption(value);
    else await field.fill(value);
  }
  await Promise.all([page.waitForEvent("load"), form.locator("button").last().click()]);
}

/** The organisation is made, three people are invited, and each accepts in a window of their own. */
async function found(
  world: CompaniesWorld,
  browser: Browser,
  { name, look }: typeof companies[number],
  problems: string[],
): Promise<Company> {
  const slug = look.locale;
  const seat = async (role: Seat): Promise<Seated> => {
    const person = await world.person(`${role}@${slug}.example`);
    const context = await openWindow(browser, look, world.address, person.token);
    const page = await context.newPage();
    page.on("pageerror", ({ message }) => problems.push(message));
    return { person, page };
  };
  const owner = await seat("owner");
  await owner.page.goto(`${world.address}/organisations`);
  await submit(owner.page, "/organisations", { name });
  for (const role of joining) {
    const email = `${role}@${slug}.example`;
    await submit(owner.page, "/organisation/invitations", { email, role });
  }
  await submit(owner.page, "/organisation/teams", { teamName: "Search" });
  problems.push(...await problemsOf(owner.page, `the organisation of ${slug}`));
  await owner.page.screenshot({
    path: new URL(`company-${slug}.png`, folder).pathname,
    fullPage: true,
  });
  const join = async (role: typeof joining[number]): Promise<Seated> => {
    const seated = await seat(role);
    await seated.page.goto(`${world.address}/organisations`);
    problems.push(...await problemsOf(seated.page, `an invitation of ${slug}`));
    await submit(seated.page, "/organisations/accept");
    assertStringIncludes(seated.page.url(), "/organisation?done=joined");
    return seated;
  };
  const people = {
    owner,
    admin: await join("admin"),
    developer: await join("developer"),
    billing: await join("billing"),
  };
  const session = await owner.page.locator("button[aria-current=true]").getAttribute("value");
  const id = parseId("account", session ?? "");
  assert(id !== undefined, "the switcher names the organisation");
  return { id, people };
}

/** Who pays orders a top-up, and the bank tells that it has arrived. */
async function topUp(world: CompaniesWorld, { people: { billing } }: Company, vnd: number) {
  const { page } = billing;
  await page.goto(`${world.address}/wallet`);
  await page.locator('main input[name="amount"]').fill(String(vnd));
  await Promise.all([
    page.waitForURL(/\/wallet\/orders\//),
    page.locator('main form:has(input[name="amount"]) button').last().click(),
  ]);
  const code = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  await world.pay(code, vnd);
}

/** Who develops makes a key in a team, and calls with it. */
async function makeKey(world: CompaniesWorld, { people: { developer } }: Company): Promise<string> {
  const { page } = developer;
  await page.goto(`${world.address}/keys/new`);
  await page.locator('main select[name="team"]').selectOption({ label: "Search" });
  await submit(page, "/keys", { name: "production" });
  return await page.locator("#secret").innerText();
}

async function call(world: CompaniesWorld, key: string): Promise<{ status: number; body: string }> {
  const response = await fetch(`${world.address}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: world.gateway.assembled.gateway.config.catalog.defaultModel.id,
      max_tokens: 4_000,
      messages: [{ role: "user", content: "Hello [[sandbox:length 2000]]" }],
    }),
  });
  return { status: response.status, body: await response.text() };
}

/** Counts the mails about budgets that wait for a reader. */
async function budgetMails(world: CompaniesWorld, to: string): Promise<number> {
  const rows = await Array.fromAsync(
    world.gateway.kv.list<{ payload?: { kind?: string; to?: string } }>({ prefix: ["outbox"] }),
  );
  return rows.filter(({ value: { payload } }) =>
    payload?.kind === "budget_reached" && payload.to === to
  ).length;
}

/** The owner sets a budget for all calls, below what they have cost: the next call is refused, and said once. */
async function reachBudget(world: CompaniesWorld, { people: { owner } }: Company, key: string) {
  const { page } = owner;
  assertEquals((await call(world, key)).status, 200);
  await world.gateway.assembled.gateway.wallet.indexOnce();
  await page.goto(`${world.address}/budgets/new`);
  await submit(page, "/budgets", { name: "November", of: "account", window: "month", amount: "1" });
  await world.gateway.advance(60_000);
  const refused = await call(world, key);
  assertEquals(refused.status, 402, refused.body);
  assertStringIncludes(refused.body, "budget_exceeded");
  await world.runJobs();
  await world.runJobs();
  assertEquals(await budgetMails(world, owner.person.email), 1);
  await page.goto(`${world.address}/budgets`);
  await page.locator("main tbody a").first().click();
  await page.waitForURL(/\/budgets\/[0-9a-f-]+$/);
  await submit(page, new URL(page.url()).pathname, { amount: "500000" });
  await world.gateway.advance(60_000);
  assertEquals((await call(world, key)).status, 200);
}

/** The developer is removed: nothing of the company in the open window, and no call with the key. */
async function letGo(world: CompaniesWorld, company: Company, key: string) {
  const { owner, developer } = company.people;
  await owner.page.goto(`${world.address}/organisation`);
  const row = owner.page.locator("main tr", { hasText: developer.person.email });
  await row.locator('form[action="/organisation/members/remove"] button').click();
  await Promise.all([
    owner.page.waitForURL(/done=removed/),
    owner.page.locator("dialog[open] button[value=yes]").click(),
  ]);
  await developer.page.goto(`${world.address}/keys`);
  assert(!(await developer.page.locator("main").innerText()).includes("production"));
  await world.gateway.advance(3_000);
  await world.gateway.assembled.gateway.control.refresh();
  assertEquals((await call(world, key)).status, 401);
}

async function handOver(world: CompaniesWorld, { people, id }: Company, name: string) {
  const { page } = people.owner;
  await page.goto(`${world.address}/organisation`);
  const card = page.locator("details.card", { has: page.locator("[name=newOwner]") });
  await card.locator("summary").click();
  const newOwner = people.admin.person.account.id;
  await submit(page, "/organisation/hand-over", { newOwner, confirmation: name });
  assertStringIncludes(page.url(), "done=handed");
  const account = await getAccount(world.gateway.kv, id);
  assert(account !== undefined);
  const [first] = await listMembers(world.gateway.kv, account);
  assertEquals(first?.personId, newOwner);
}

/** The statement that a page offers ends with the balance of the wallet, which is what came in less all receipts. */
async function compareStatement(world: CompaniesWorld, { people: { billing }, id }: Company) {
  const { wallet } = world.gateway.assembled.gateway;
  const { totalMicroVnd } = await wallet.balance(id);
  const csv = await billing.page.evaluate(async () =>
    await (await fetch("/wallet/statement.csv")).text()
  );
  const rows = csv.trim().split(/\r?\n/).map((line) => line.split(","));
  const at = rows[0]?.indexOf("balance_vnd") ?? -1;
  assertEquals(parseVnd(rows.at(-1)?.[at] ?? ""), totalMicroVnd, csv);
  let chargedMicroVnd = 0n;
  const receipts = scanReceipts(world.gateway.kv, {
    accountId: id,
    fromMs: 0,
    untilMs: world.gateway.time.nowMs() + 1,
  });
  for await (const { costMicroVnd } of receipts) chargedMicroVnd += costMicroVnd;
  assert(chargedMicroVnd > 0n);
  assertEquals(totalMicroVnd, fromVnd(500_000) - chargedMicroVnd);
}

await browserTest("two companies live through a month", async (browser) => {
  await using world = await openCompaniesWorld();
  const problems: string[] = [];
  const founded: Company[] = [];
  const keys: string[] = [];
  for (const company of companies) {
    const one = await found(world, browser, company, problems);
    founded.push(one);
    await topUp(world, one, 500_000);
    keys.push(await makeKey(world, one));
  }
  for (const [at, company] of founded.entries()) {
    await world.gateway.advance(dayMs);
    await reachBudget(world, company, keys[at] ?? "");
  }
  const [acme, other] = founded;
  assert(acme !== undefined && other !== undefined);
  // What belongs to the one does not exist for the other.
  const [key] = await listApiKeys(world.gateway.kv, other.id);
  await acme.people.owner.page.goto(`${world.address}/keys/${key?.id}`);
  assert(!(await acme.people.owner.page.locator("body").innerText()).includes("production"));
  for (const [at, company] of founded.entries()) {
    await world.gateway.advance(dayMs);
    await letGo(world, company, keys[at] ?? "");
    await handOver(world, company, companies[at]?.name ?? "");
    await world.gateway.assembled.gateway.wallet.indexOnce();
    await compareStatement(world, company);
    problems.push(...await problemsOf(company.people.owner.page, "after the handover"));
  }
  assertEquals(problems, []);
  await world.gateway.assembled.gateway.wallet.close();
  assertEquals((await verifyStore(world.gateway.kv)).problems, []);
});
