import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { findAccountByEmail } from "../../../../kv/people/accounts/accounts.ts";
import { writeRefusedCall } from "../../../../kv/services/calls/refused_calls.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";
import {
  type DashboardWorld,
  openDashboardWorld,
  requestIdAt,
  testPassword,
  tokenOf,
} from "../../../support/worlds/dashboard_world.ts";
import { secretForm, secretIn, works } from "../../../support/worlds/key_pages.ts";
import { draftOf, mustReserve, topUp } from "../../../support/worlds/money_world.ts";

const email = "ann@example.com";

/** Signs up through page and mail; `next` is the page that sent the visitor to sign up. */
async function signUp(world: DashboardWorld, next?: string) {
  const browser = world.browser({ "accept-language": "en" });
  const page = await browser.get(
    next === undefined ? "/sign-up" : `/sign-up?${new URLSearchParams({ next })}`,
  );
  await browser.submit(page, "/sign-up", { email, password: testPassword });
  const token = tokenOf((await world.deliver())[0]);
  const verified = await browser.submit(await browser.get("/verify"), "/verify", { token });
  const account = await findAccountByEmail(world.kv, email);
  assert(account !== undefined, String(verified.status));
  return { browser, account, verified };
}

Deno.test("after sign-up a key is there, in code that runs with it", async () => {
  await using world = await openDashboardWorld();
  const { browser, account, verified } = await signUp(world);
  assertEquals(verified.headers.get("location"), "/welcome");
  const page = await browser.follow(verified);
  const secret = secretIn(page);
  assert(await works(world, secret));
  assertStringIncludes(page.text, `authorization: Bearer ${secret}`);
  assert(!page.text.includes("YOUR_KEY"), "the code lacks the key");
  assertEquals((await listApiKeys(world.kv, account.id)).map(({ name }) => name), ["First key"]);
  assertEquals(page.headers.get("cache-control"), "no-store");
});

Deno.test("the key disappears from the page, and its own page shows it again", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await signUp(world);
  world.time.advance(10 * 60_000);
  const page = await browser.get("/welcome");
  assert(!secretForm.test(page.text));
  const [key] = await listApiKeys(world.kv, account.id);
  assertStringIncludes(page.text, `/keys/${key?.id}`);
  const shown = await browser.submit(
    await browser.get(`/keys/${key?.id}`),
    `/keys/${key?.id}/show`,
    { password: testPassword },
  );
  assert(await works(world, secretIn(shown)));
});

Deno.test("the page says what there is to spend, and leads on to where the visitor came from", async () => {
  await using world = await openDashboardWorld();
  const { browser, account, verified } = await signUp(world, "/invoices");
  assertEquals(verified.headers.get("location"), "/welcome?next=%2Finvoices");
  const empty = await browser.follow(verified);
  assertStringIncludes(empty.text, "Your wallet is empty");
  assertStringIncludes(empty.text, 'href="/invoices" class="button"');
  await topUp(world.kv, account.id, fromVnd(20_000));
  assertStringIncludes((await browser.get("/welcome")).text, "You have ₫20,000 to try.");
  const elsewhere = await browser.get("/welcome?next=https%3A%2F%2Fevil.example");
  assertStringIncludes(elsewhere.text, `href="/" class="button"`);
});

Deno.test("the operator's credit is given to new accounts; if it fails, they come in all the same", async () => {
  const given: string[] = [];
  await using world = await openDashboardWorld({
    openingCredit(accountId) {
      given.push(accountId);
      return Promise.reject(new Error("no store"));
    },
  });
  const { browser, account, verified } = await signUp(world);
  assertEquals(given, [account.id]);
  assertEquals((await browser.follow(verified)).status, 200);
  assertEquals(world.reports, ["page"]);
  await world.signIn("older@example.com");
  assertEquals(given.length, 1, "an account that was there before got a credit");
});

Deno.test("the first call appears in place of the line that waits for it", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await signUp(world);
  const waiting = await browser.get("/welcome/call?looks=4");
  assertStringIncludes(waiting.text, 'hx-get="/welcome/call?looks=5"');
  const tired = await browser.get("/welcome/call?looks=300");
  assert(!tired.text.includes("hx-get"), "a page that is left open asks for ever");

  await topUp(world.kv, account.id, fromVnd(20_000));
  const [key] = await listApiKeys(world.kv, account.id);
  assert(key !== undefined);
  const requestId = requestIdAt(world.time.nowMs());
  await world.wallet.settle(
    await mustReserve(world.wallet, account.id, fromVnd(1)),
    draftOf(fromVnd(1), { requestId, keyId: key.id, startedAtMs: world.time.nowMs() }),
  );
  const arrived = await browser.get("/welcome/call?looks=4");
  assertStringIncludes(arrived.text, `/receipts/${requestId}`);
  assertStringIncludes(arrived.text, "First key");
  assert(!arrived.text.includes("hx-get"));
  assertStringIncludes(arrived.text, "Your account works</h1>");
});

const refusals = [
  ["insufficient_balance", 402, "Insufficient balance", 'href="/wallet"', "cannot pay"],
  ["spending_limit_reached", 402, "The daily limit", 'href="/keys/', "spending limit"],
  ["permission_denied", 403, "may not use", 'href="/keys/', "may not be used"],
  ["invalid_request", 400, "model: there is none", 'href="/models"', "model: there is none"],
  ["rate_limit_reached", 429, "Slow down", 'href="/docs/errors"', "Wait a moment"],
  ["invalid_request", 400, "messages: is required", 'href="/docs/errors"', "messages: is required"],
] as const;

for (const [code, status, message, link, words] of refusals) {
  Deno.test(`a first call that was refused (${code}: ${message}) is shown as such with its fix, and the page looks on`, async () => {
    await using world = await openDashboardWorld();
    const { browser, account } = await signUp(world);
    const [key] = await listApiKeys(world.kv, account.id);
    assert(key !== undefined);
    const op = world.kv.atomic();
    const atMs = world.time.nowMs();
    const requestId = requestIdAt(atMs);
    const refused = { requestId, accountId: account.id, keyId: key.id, atMs, latencyMs: 1 };
    writeRefusedCall(op, { ...refused, status, code, message }, 60_000);
    await op.commit();
    const part = await browser.get("/welcome/call?looks=4");
    for (
      const text of [link, words, "Your first call was refused", 'hx-get="/welcome/call?looks=5"']
    ) {
      assertStringIncludes(part.text, text);
    }
    assertStringIncludes(
      part.text,
      '<h1 id="page-title" hx-swap-oob="true">One step is missing</h1>',
    );
    const page = await browser.get("/welcome");
    assertStringIncludes(page.text, '<h1 id="page-title">One step is missing</h1>');
    assert(!page.text.includes("Your account is ready</h1>"));
  });
}

Deno.test("accounts without a first key are led on", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn();
  const page = await browser.get("/welcome?next=%2Fkeys");
  assertEquals([page.status, page.headers.get("location")], [303, "/keys"]);
  assertEquals(
    (await world.browser().get("/welcome")).headers.get("location")?.slice(0, 8),
    "/sign-in",
  );
});
