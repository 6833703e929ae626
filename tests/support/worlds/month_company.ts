/** A company whose people live through a month in the browser: what each of them does, one step after the other. */
import { listAllReceipts } from "./money_world.ts";
import type { Browser, BrowserContext, Page } from "playwright-core";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { isJsonObject, type JsonObject } from "../../../core/lib/json/json.ts";
import { findAccountByEmail } from "../../../kv/people/accounts/accounts.ts";
import { listMemberships } from "../../../kv/people/organisations/organisations.ts";
import { assert, assertEquals } from "../assert.ts";
import { countClicks } from "../browser/clicks.ts";
import { signUpInBrowser } from "../browser/new_customer.ts";
import { type Look, problemsOf } from "../browser/page_soundness.ts";
import type { DatedGateway } from "../gateways/dated_gateway.ts";
import { textOf } from "../servers/smtp_server.ts";
import { until } from "../until.ts";
import { openReceiver, type Receiver, verified } from "./webhook_world.ts";
import { bearerPost } from "../api_post.ts";

const folder = new URL("../../../screenshots/", import.meta.url);
const invited = ["admin", "developer", "billing"] as const;

/** The people of a company. */
export type Seat = "owner" | typeof invited[number];

interface Seated {
  readonly email: string;
  readonly context: BrowserContext;
  readonly page: Page;
  /** How often this person has pressed something since the sign-up. */
  readonly clicks: () => number;
}

/** How a company differs from the other one. */
export interface CompanyFacts {
  readonly name: string;
  /** In addresses and names of keys. */
  readonly slug: string;
  readonly look: Look;
  /** How the developer goes. */
  readonly leaving: "removed" | "left";
}

/** What the steps have made. */
interface Made {
  accountId?: AccountId;
  /** Secrets of the key of the team, which a budget binds, and of the owner's own. */
  readonly keys: { team: string; own: string };
  /** Tokens of the calls with the owner's key. */
  tokens: bigint;
  webhookSecret: string;
  /** Paths that nobody of another company may see. */
  readonly paths: { key: string; order: string; receipt: string; webhook: string; budget: string };
}

export interface MonthCompany extends AsyncDisposable {
  readonly facts: CompanyFacts;
  readonly people: Map<Seat, Seated>;
  readonly world: DatedGateway;
  readonly browser: Browser;
  readonly receiver: Receiver;
  /** Events that the receiver got, each of them verified when it came. */
  readonly events: JsonObject[];
  readonly made: Made;
}

/** Opens a company without people, and a receiver for its webhooks. */
export function openMonthCompany(
  world: DatedGateway,
  browser: Browser,
  facts: CompanyFacts,
): MonthCompany {
  const events: JsonObject[] = [];
  const made: Made = {
    keys: { team: "", own: "" },
    tokens: 0n,
    webhookSecret: "",
    paths: { key: "", order: "", receipt: "", webhook: "", budget: "" },
  };
  const receiver = openReceiver((received) => {
    const event = verified(made.webhookSecret, received, world.gateway.time.nowMs());
    assert(isJsonObject(event));
    events.push(event);
    return new Response(null, { status: 204 });
  });
  return {
    facts,
    people: new Map(),
    world,
    browser,
    receiver,
    events,
    made,
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  };
}

export function who({ people }: MonthCompany, seat: Seat): Seated {
  const person = people.get(seat);
  assert(person !== undefined, `${seat} has not signed up`);
  return person;
}

/** How often the people of a company have pressed something. */
export function clicksOf({ people }: MonthCompany): number {
  return [...people.values()].reduce((sum, { clicks }) => sum + clicks(), 0);
}

/** Opens a page as somebody of the company. */
export async function visit(company: MonthCompany, seat: Seat, path: string): Promise<Page> {
  const { page } = who(company, seat);
  await page.goto(company.world.address + path);
  return page;
}

/** Fills a form of the page that is open, and presses its button. */
export async function submit(
  page: Page,
  action: string,
  fields: Readonly<Record<string, string | { readonly label: string }>> = {},
): Promise<void> {
  const form = page.locator(`main form[action="${action}"]`).first();
  for (const [name, value] of Object.entries(fields)) {
    const field = form.locator(`[name="${name}"]`);
    const isChoice = await field.evaluate((node) => node.nodeName) === "SELECT";
    if (isChoice) await field.selectOption(value);
    else await field.fill(String(value));
  }
  await form.locator('button[type="submit"]').first().click();
}

/** Shows a page in its language and width, which has no faults. */
export async function look(page: Page, { facts }: MonthCompany, step: string): Promise<void> {
  const { locale, width } = facts.look;
  const name = `company-month-${step}-${locale}-${width}`;
  await page.screenshot({ path: new URL(`${name}.png`, folder).pathname, fullPage: true });
  assertEquals(await problemsOf(page, name), []);
}

/** Makes a call with one of the company's keys. */
export async function call(
  { world, made: { keys } }: MonthCompany,
  key: keyof Made["keys"],
  model: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await fetch(
    bearerPost(`${world.address}/v1/chat/completions`, keys[key], {
      model,
      messages: [{ role: "user", content: "Hello!" }],
    }),
  );
  return { status: answer.status, text: await answer.text() };
}

/** The mails to people of the company that contain a text. */
export function mailsWith({ world, facts }: MonthCompany, text: string): readonly string[] {
  return world.smtp.received
    .filter(({ to }) => to.some((one) => one.endsWith(`@${facts.slug}.example`)))
    .map(textOf).filter((one) => one.includes(text));
}

// The steps, each of which ends on a page.

/** Signs up with the link of a mail. */
async function signUp(company: MonthCompany, seat: Seat): Promise<Seated> {
  const { browser, facts, world, people } = company;
  const email = `${seat}@${facts.slug}.example`;
  const landing = seat === "owner" ? "/welcome" : "/organisations";
  const signedUp = await signUpInBrowser(browser, facts.look, world, { email, landing });
  const person = { email, ...signedUp, clicks: await countClicks(signedUp.context) };
  people.set(seat, person);
  return person;
}

/** Somebody signs up, makes the organisation, invites three people and makes a team. */
export async function found(company: MonthCompany): Promise<Page> {
  const { world: { address, gateway: { kv } }, facts: { name, slug }, made } = company;
  const { page, email } = await signUp(company, "owner");
  await page.goto(`${address}/organisations`);
  await submit(page, "/organisations", { name });
  await page.waitForURL(/\/organisation\?done=created/);
  const person = await findAccountByEmail(kv, email);
  assert(person !== undefined);
  const memberships = await listMemberships(kv, person);
  const organisation = memberships.find(({ account }) => account.organisation?.name === name);
  assert(organisation !== undefined, "the owner is no member");
  made.accountId = organisation.account.id;
  for (const role of invited) {
    const invitee = `${role}@${slug}.example`;
    await submit(page, "/organisation/invitations", { email: invitee, role });
    await page.locator("td", { hasText: invitee }).first().waitFor();
  }
  await submit(page, "/organisation/teams", { teamName: "Search" });
  await page.locator("td", { hasText: "Search" }).first().waitFor();
  return page;
}

/** Who is invited gets a mail, signs up, and joins. */
export async function join(company: MonthCompany, seat: typeof invited[number]): Promise<Page> {
  const { world, facts: { name, slug } } = company;
  const invitation = await until(
    () =>
      world.smtp.received.filter(({ to }) => to.includes(`${seat}@${slug}.example`))
        .map(textOf).find((text) => text.includes(name)),
    "the invitation",
  );
  const link = /http\S+/.exec(invitation)?.[0];
  assert(link !== undefined);
  const { page } = await signUp(company, seat);
  await page.goto(link);
  await submit(page, "/organisations/accept");
  await page.waitForURL(/\/organisation\?done=joined/);
  const invites = await page.locator('form[action="/organisation/invitations"]').count();
  assertEquals(invites > 0, seat === "admin");
  return page;
}

/** Who pays orders money, and the bank says that it came. */
export async function topUp(company: MonthCompany, amountVnd: number): Promise<Page> {
  const page = await visit(company, "billing", "/wallet");
  await page.locator(`main button[name="amount"][value="${amountVnd}"]`).click();
  await page.waitForURL(/\/wallet\/orders\/ST\w+$/);
  company.made.paths.order = new URL(page.url()).pathname;
  await company.world.pay(page.url().split("/").at(-1) ?? "", amountVnd);
  await page.locator(".notice.success").first().waitFor();
  return page;
}

/** An admin has events sent to a server of the company. */
export async function addWebhook(company: MonthCompany): Promise<Page> {
  const { receiver: { url }, facts: { slug }, made } = company;
  const page = await visit(company, "admin", "/webhooks/new");
  await submit(page, "/webhooks", { url, name: `books of ${slug}` });
  await page.getByText(/whsec_/).first().waitFor();
  made.webhookSecret = /whsec_[\w+/]{43}=/.exec(await page.content())?.[0] ?? "";
  await page.goto(`${company.world.address}/webhooks`);
  const link = page.locator('main a[href^="/webhooks/whe_"]').first();
  made.paths.webhook = await link.getAttribute("href") ?? "";
  return page;
}

/** The developer makes a key of the team, the owner one of no team. */
export async function makeKeys(company: MonthCompany): Promise<Page> {
  const { facts: { slug }, made: { keys, paths } } = company;
  const make = async (seat: Seat, fields: Parameters<typeof submit>[2]) => {
    const page = await visit(company, seat, "/keys/new");
    await submit(page, "/keys", fields);
    return (await page.locator("#secret").textContent() ?? "").trim();
  };
  keys.team = await make("developer", { name: `laptop of ${slug}`, team: { label: "Search" } });
  const page = await visit(company, "developer", "/keys");
  paths.key = await page.locator('main a[href^="/keys/key_"]').first().getAttribute("href") ?? "";
  keys.own = await make("owner", { name: `audit of ${slug}` });
  return page;
}

/** The owner limits what the team may spend in a month. */
export async function makeBudget(
  company: MonthCompany,
  { name, amountVnd }: { readonly name: string; readonly amountVnd: number },
): Promise<Page> {
  const page = await visit(company, "owner", "/budgets/new");
  await submit(page, "/budgets", {
    name,
    of: { label: await page.locator('[name="of"] option[value^="team:"]').innerText() },
    amount: String(amountVnd),
    window: "month",
    atLimit: "refuse",
  });
  await page.waitForURL(/\/budgets(\?|$)/);
  const link = page.locator('main a[href^="/budgets/"]:not([href="/budgets/new"])').first();
  company.made.paths.budget = await link.getAttribute("href") ?? "";
  return page;
}

/** The owner reads on the home page that the budget is used up, and raises it from there. */
export async function raiseBudget(company: MonthCompany, amountVnd: number): Promise<Page> {
  const page = await visit(company, "owner", "/");
  const { budget } = company.made.paths;
  await page.locator(`main a[href="${budget}"]`).first().click();
  await page.waitForURL(`**${budget}`);
  await submit(page, budget, { amount: String(amountVnd) });
  await page.waitForURL(/\/budgets(\?|$)/);
  return page;
}

/** Anybody opens the page of the last call. */
export async function openReceipt(company: MonthCompany): Promise<Page> {
  const { world, made: { accountId, paths } } = company;
  const { kv } = world.gateway;
  // A receipt is stored just after the end of its answer.
  const receipt = await until(async () => {
    const receipts = await Array.fromAsync(listAllReceipts(kv));
    return receipts.find((one) => one.accountId === accountId);
  }, "the receipt");
  paths.receipt = `/receipts/${receipt.requestId}`;
  const page = await visit(company, "billing", paths.receipt);
  await page.locator(".bill-sum").waitFor();
  return page;
}

async function confirm(page: Page, done: RegExp): Promise<void> {
  await page.locator("#confirm button[value=yes]").click();
  await page.waitForURL(done);
}

/** The developer leaves, or is removed: the open window shows nothing more of the company, and the key ends. */
export async function partWithDeveloper(company: MonthCompany): Promise<Page> {
  const { facts: { name, slug, leaving } } = company;
  const developer = who(company, "developer");
  const page = await visit(company, "admin", "/organisation");
  if (leaving === "removed") {
    const row = page.locator("tr", { hasText: developer.email });
    await row.locator('form[action="/organisation/members/remove"] button').click();
    await confirm(page, /done=removed/);
  } else {
    const own = await visit(company, "developer", "/organisations");
    const leave = own.locator('main form[action="/organisations/leave"]');
    await leave.locator("button").first().click();
    await confirm(own, /\/organisations(\?|$)/);
    // The page that comes has the same address; the one that goes has the form.
    await leave.waitFor({ state: "detached" });
    await page.reload();
  }
  for (const path of ["/keys", "/organisations", "/usage", "/wallet"]) {
    const left = await visit(company, "developer", path);
    const text = await left.locator("body").textContent() ?? "";
    const isShown = text.includes(name) || text.includes(`laptop of ${slug}`);
    assert(!isShown, `${path} shows the company`);
  }
  assertEquals((await call(company, "team", "low-cost-01")).status, 401);
  return page;
}

/** The owner hands the company over to the admin. */
export async function handOver(company: MonthCompany): Promise<Page> {
  const page = await visit(company, "owner", "/organisation");
  const form = page.locator('main form[action="/organisation/hand-over"]');
  const card = page.locator("details.card", { has: page.locator("[name=newOwner]") });
  await card.locator("summary").click();
  await submit(page, "/organisation/hand-over", {
    newOwner: { label: who(company, "admin").email },
    confirmation: company.facts.name,
  });
  await page.waitForURL(/done=handed/);
  assertEquals(await form.count(), 0, "the former owner could hand over again");
  const newOwner = await visit(company, "admin", "/organisation");
  const isOwner = newOwner.locator('form[action="/organisation/hand-over"]');
  assertEquals(await isOwner.count(), 1);
  return newOwner;
}
