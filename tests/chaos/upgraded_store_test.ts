/**
 * A customer's store of an earlier release under this one, as an upgrade in place leaves it: what the customer had stays
 * what it was, an account becomes an organisation, and the earlier release can be started again.
 */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { newMasterKey } from "../../core/people/api_keys/seal.ts";
import { TestBrowser } from "../support/browser/test_browser.ts";
import { checkOut, hasRelease, type Release, releases } from "../support/gateways/releases.ts";
import type { StartedGateway } from "../support/gateways/started_gateway.ts";
import { freePort } from "../support/servers/free_port.ts";
import { openSmtp, type SmtpWorld, textOf } from "../support/servers/smtp_server.ts";
import { until } from "../support/until.ts";
import { buyerForm } from "../support/worlds/invoice_requests.ts";
import { sendNotice, startMoneyGateway, withStoreFolder } from "../support/worlds/money_process.ts";
import { bearerPost } from "../support/api_post.ts";

const password = "bốn từ không liên quan";
const [founderEmail, memberEmail] = ["lan@example.com", "minh@example.com"];

/** One store, and whichever release serves it. */
interface Site {
  readonly address: string;
  readonly smtp: SmtpWorld;
  /** Starts this release, or the one in a folder. */
  start(root?: URL): Promise<StartedGateway>;
}

async function withSite(run: (site: Site) => Promise<void>): Promise<void> {
  await using smtp = await openSmtp();
  await withStoreFolder(async (folder) => {
    const port = freePort();
    const address = `http://127.0.0.1:${port}`;
    const env = {
      PORT: String(port),
      GATEWAY_BASE_URL: address,
      GATEWAY_MASTER_KEYS: newMasterKey(),
      MAIL_URL: `smtp://127.0.0.1:${smtp.port}`,
    };
    await run({
      address,
      smtp,
      start: (root) => startMoneyGateway(folder, env, root === undefined ? {} : { root }),
    });
  });
}

/** Signs up with a new browser, through the link of the mail. */
async function signUp({ address, smtp }: Site, email: string): Promise<TestBrowser> {
  const browser = new TestBrowser((request) => fetch(request, { redirect: "manual" }), address);
  await browser.submit(await browser.get("/sign-up"), "/sign-up", { email, password });
  const mail = await until(() => smtp.received.find(({ to }) => to.includes(email)), "the mail");
  const token = /#token=([\w-]+)/.exec(textOf(mail))?.[1] ?? "";
  const verified = await browser.submit(await browser.get("/verify"), "/verify", { token });
  assertEquals(verified.status, 303);
  return browser;
}

interface Customer {
  readonly browser: TestBrowser;
  readonly key: string;
  /** Pages of what the customer has. */
  readonly paths: readonly string[];
}

/** Sends a form that is accepted, and returns where it leads. */
async function send(
  browser: TestBrowser,
  path: string,
  action: string,
  fields: Readonly<Record<string, string>>,
): Promise<string> {
  const sent = await browser.submit(await browser.get(path), action, fields);
  assert(sent.status < 400, `${action}: ${sent.status} ${sent.text}`);
  return sent.headers.get("location") ?? "";
}

async function call(address: string, key: string, said: string): Promise<number> {
  const response = await fetch(bearerPost(`${address}/v1/chat/completions`, key, {
    model: "premium-1",
    max_tokens: 40,
    messages: [{ role: "user", content: said }],
  }));
  await response.bytes();
  return response.status;
}

/** What a key reads of its account. */
async function read<Answer>(address: string, key: string, path: string): Promise<Answer> {
  const response = await fetch(address + path, { headers: { authorization: `Bearer ${key}` } });
  assertEquals(response.status, 200, path);
  return await response.json();
}

type Receipt = Readonly<Record<string, unknown>> & { readonly id: string };

const receiptsOf = async (address: string, key: string): Promise<readonly Receipt[]> =>
  (await read<{ data: Receipt[] }>(address, key, "/v1/receipts")).data;

/** A customer with money that a bank order brought, an invoice request, a key and calls. */
async function live(site: Site): Promise<Customer> {
  const { address } = site;
  const browser = await signUp(site, founderEmail);
  const order = await send(browser, "/wallet", "/wallet/orders", { amount: "500000" });
  const code = order.split("/").at(-1) ?? "";
  assertEquals(await sendNotice(address, { id: 1, memo: code, amountVnd: 500_000 }), 200);
  const paid = await until(
    async () => /500[.,]000/.test((await browser.get("/wallet")).text) || undefined,
    "the money",
  );
  assert(paid);
  const { confirmed: _, ...buyer } = buyerForm;
  const invoice = await send(browser, `/invoices/new?order=${code}`, "/invoices", buyer);
  const made = await browser.submit(await browser.get("/keys/new"), "/keys", { name: "agents" });
  const key = /sk-[A-Za-z0-9]{20,}/.exec(made.text)?.[0];
  assert(key !== undefined, made.text);
  for (const said of ["one", "two", "three"]) assertEquals(await call(address, key, said), 200);
  const keyPath = /\/keys\/key_\w+/.exec((await browser.get("/keys")).text)?.[0];
  assert(keyPath !== undefined);
  return { browser, key, paths: [order, invoice, keyPath, "/wallet", "/usage", "/invoices"] };
}

/** What a key reads that an upgrade must leave as it is. */
async function booksOf({ address }: Site, { key }: Customer) {
  const balance = await read<unknown>(address, key, "/v1/balance");
  return { balance, receipts: await receiptsOf(address, key) };
}

/** A JSON value without the members that an earlier one did not have. */
function knownThen(now: unknown, then: unknown): unknown {
  if (Array.isArray(now) && Array.isArray(then)) {
    return now.map((item, at) => knownThen(item, then[at]));
  }
  if (typeof now !== "object" || typeof then !== "object" || now === null || then === null) {
    return now;
  }
  const earlier = new Map(Object.entries(then));
  return Object.fromEntries(
    Object.entries(now).filter(([name]) => earlier.has(name))
      .map(([name, value]) => [name, knownThen(value, earlier.get(name))]),
  );
}

/** Reads the store after its gateway has ended. */
async function endSound(gateway: StartedGateway): Promise<void> {
  assertEquals(await gateway.end("SIGTERM"), 0);
  const { code, output } = await gateway.admin("verify", "--full");
  assertEquals(code, 0, output);
}

/** The founder names the organisation, a second person joins, and a budget counts what the founder's keys have spent. */
async function becomeOrganisation(site: Site, customer: Customer, member: TestBrowser) {
  const { browser } = customer;
  await send(browser, "/organisation", "/organisation/name", { name: "Acme" });
  const invitation = { email: memberEmail, role: "developer" };
  await send(browser, "/organisation", "/organisation/invitations", invitation);
  await send(member, "/organisations", "/organisations/accept", {});
  const subject = /value="(member:[^"]+)"[^>]*>[^<]*lan@/.exec(
    (await browser.get("/budgets/new")).text,
  )
    ?.[1];
  assert(subject !== undefined);
  await send(browser, "/budgets/new", "/budgets", {
    name: "Lan",
    of: subject,
    window: "month",
    amount: "1",
    atLimit: "refuse",
  });
  await until(
    async () => await call(site.address, customer.key, "too much") === 402,
    "the budget refuses what the founder's key spent before",
  );
}

async function upgradeTest(release: Release): Promise<void> {
  const isThere = await hasRelease(release);
  const missing = isThere ? "" : " (needs: the history of the repository back to it)";
  Deno.test({
    name: `a store of the state ${release} is upgraded, and taken back${missing}`,
    ignore: !isThere,
    async fn() {
      await using earlier = await checkOut(release);
      await withSite(async (site) => {
        const first = await site.start(earlier.root);
        const member = await signUp(site, memberEmail);
        const customer = await live(site);
        const before = await booksOf(site, customer);
        assertEquals(before.receipts.length, 3);
        assertEquals(await first.end("SIGTERM"), 0);

        const upgraded = await site.start();
        const after = await booksOf(site, customer);
        assertEquals(knownThen(after, before), before, "balance and receipts say what they said");
        for (const path of customer.paths) {
          assertEquals((await customer.browser.get(path)).status, 200, path);
        }
        assertEquals(await call(site.address, customer.key, "four"), 200);
        await becomeOrganisation(site, customer, member);
        await endSound(upgraded);

        const back = await site.start(earlier.root);
        assertEquals(await call(site.address, customer.key, "five"), 200);
        await send(customer.browser, "/wallet", "/wallet/low-balance", { mark: "1000" });
        assertEquals(await back.end("SIGTERM"), 0);

        const again = await site.start();
        const page = (await customer.browser.get("/organisation")).text;
        for (const kept of ["Acme", memberEmail]) assertStringIncludes(page, kept);
        assertEquals((await receiptsOf(site.address, customer.key)).length, 5);
        await until(
          async () => await call(site.address, customer.key, "too much") === 402,
          "the budget refuses again",
        );
        await endSound(again);
      });
    },
  });
}

for (const release of releases) await upgradeTest(release);
