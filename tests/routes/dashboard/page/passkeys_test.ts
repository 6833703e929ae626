/** Passkeys: registered, signed in with, and what is refused of them. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import {
  type DashboardWorld,
  openDashboardWorld,
  testPassword,
} from "../../../support/worlds/dashboard_world.ts";
import { type Deviation, SoftPasskey } from "../../../support/browser/soft_authenticator.ts";
import { type LoadedPage, TestBrowser } from "../../../support/browser/test_browser.ts";
import { createDashboard } from "../../../../routes/dashboard/mod.ts";
import type { Account } from "../../../../kv/people/accounts/accounts.ts";
import { listPasskeys } from "../../../../kv/people/accounts/passkeys.ts";
import { getRecoveryCodes } from "../../../../kv/people/accounts/recovery_codes.ts";
import { forgetSecondFactor } from "../../../../kv/people/accounts/second_factor.ts";
import { commandLine } from "../../../../kv/people/audit/operator_audit.ts";
import { block } from "../../../support/worlds/blocked_account.ts";

const email = "ann@example.com";
const passkeysPath = "/account/security/passkeys";
const alonePath = "/sign-in/passkey";
const secondPath = "/sign-in/second-factor/passkey";
const minuteMs = 60_000;

const csrfOn = (page: LoadedPage) => /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? "";

/** What the script of a page does: asks for options, then sends what the authenticator says. */
async function optionsOf(browser: TestBrowser, page: string, path: string) {
  const csrf = csrfOn(await browser.get(page));
  const answer = await browser.post(`${path}/options`, {}, { "x-csrf-token": csrf });
  if (answer.status !== 200) return { csrf, answer, options: { challenge: "" } };
  const { options } = JSON.parse(answer.text);
  assert(typeof options.challenge === "string");
  return { csrf, answer, options };
}

async function register(
  world: DashboardWorld,
  browser: TestBrowser,
  account: Account,
  { name = "Laptop", ...deviation }: Deviation & { name?: string } = {},
): Promise<{ passkey: SoftPasskey; answer: LoadedPage }> {
  const { csrf, options } = await optionsOf(browser, "/account/security", passkeysPath);
  const passkey = await SoftPasskey.make(world.baseUrl, account.id);
  const credential = await passkey.register(options, deviation);
  return { passkey, answer: await browser.post(passkeysPath, { csrf, name, credential }) };
}

async function signIn(browser: TestBrowser, passkey: SoftPasskey, deviation: Deviation = {}) {
  const { csrf, options } = await optionsOf(browser, "/sign-in", alonePath);
  const credential = await passkey.sign(options, deviation);
  return await browser.post(alonePath, { csrf, next: "/keys", credential });
}

async function enterPassword(browser: TestBrowser): Promise<LoadedPage> {
  const page = await browser.get("/sign-in");
  return await browser.submit(page, "/sign-in", { email, password: testPassword });
}

const isIn = async (browser: TestBrowser) => (await browser.get("/account")).status === 200;

Deno.test("a passkey signs in alone, and no code is asked for", async () => {
  await using world = await openDashboardWorld();
  const { browser: first, account } = await world.signIn(email);
  const { passkey, answer } = await register(world, first, account);
  assertEquals(answer.status, 200, answer.text);
  assertEquals([...answer.text.matchAll(/<code>(?:[0-9a-z]{4}-){3}/g)].length, 10);
  await world.time.advance(minuteMs);
  const browser = world.browser();
  const done = await signIn(browser, passkey);
  assertEquals([done.status, done.headers.get("location")], [303, "/keys"]);
  assert(await isIn(browser));
  const [stored] = await listPasskeys(world.kv, account.id);
  assertEquals([stored?.name, stored?.counter], ["Laptop", 2]);
  assertEquals(stored?.lastUsedAtMs, world.time.nowMs());
});

Deno.test("after the password a passkey is the second factor", async () => {
  await using world = await openDashboardWorld();
  const { browser: first, account } = await world.signIn(email);
  const { passkey } = await register(world, first, account);
  const browser = world.browser();
  const asked = await enterPassword(browser);
  assertEquals(asked.headers.get("location"), "/sign-in/second-factor");
  const { csrf, options } = await optionsOf(browser, "/sign-in/second-factor", secondPath);
  const credential = await passkey.sign(options);
  const done = await browser.post(secondPath, { csrf, credential });
  assertEquals(done.status, 303);
  assert(await isIn(browser));
});

Deno.test("what is refused of a sign-in with a passkey", async () => {
  await using world = await openDashboardWorld();
  const { browser: first, account } = await world.signIn(email);
  const { passkey } = await register(world, first, account, { counter: 10 });
  const { browser: other, account: otherAccount } = await world.signIn("bob@example.com");
  const foreign = await SoftPasskey.make(world.baseUrl, otherAccount.id);
  await register(world, other, otherAccount);
  const cases: Readonly<Record<string, readonly [SoftPasskey, Deviation]>> = {
    "another origin": [passkey, { origin: "https://evil.example" }],
    "another host": [passkey, { rpId: "evil.example" }],
    "an invented challenge": [passkey, {
      challenge: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    }],
    "a counter that went back": [passkey, { counter: 9 }],
    "a counter that stood still": [passkey, { counter: 10 }],
    "a person who was not verified": [passkey, { verified: false }],
    "the signature of a registration": [passkey, { type: "webauthn.create" }],
    "the account of somebody else": [passkey, { userHandle: otherAccount.id }],
    "no account": [passkey, { userHandle: "acc_nobody" }],
    "a passkey that was never registered": [foreign, {}],
  };
  for (const [name, [used, deviation]] of Object.entries(cases)) {
    const browser = world.browser();
    const refused = await signIn(browser, used, { counter: 20, ...deviation });
    assertEquals(refused.status, 422, name);
    assertEquals(await isIn(browser), false, name);
  }
  // None of them has changed what the right one finds.
  assertEquals((await signIn(world.browser(), passkey, { counter: 11 })).status, 303);
});

Deno.test("a challenge counts once, for five minutes, in one browser and for one purpose", async () => {
  await using world = await openDashboardWorld();
  const { browser: first, account } = await world.signIn(email);
  const { passkey } = await register(world, first, account);

  const browser = world.browser();
  const { csrf, options } = await optionsOf(browser, "/sign-in", alonePath);
  const credential = await passkey.sign(options);
  const thief = world.browser();
  const stolen = { csrf: csrfOn(await thief.get("/sign-in")), credential };
  assertEquals((await thief.post(alonePath, stolen)).status, 422, "another browser");
  assertEquals((await browser.post(alonePath, { csrf, credential })).status, 422, "used up by it");

  const replayed = world.browser();
  const fresh = await optionsOf(replayed, "/sign-in", alonePath);
  const signed = await passkey.sign(fresh.options);
  const fields = { csrf: fresh.csrf, credential: signed };
  assertEquals((await replayed.post(alonePath, fields)).status, 303);
  replayed.cookies.delete("__Host-session");
  const again = { csrf: csrfOn(await replayed.get("/sign-in")), credential: signed };
  assertEquals((await replayed.post(alonePath, again)).status, 422, "replayed");

  const slow = world.browser();
  const late = await optionsOf(slow, "/sign-in", alonePath);
  await world.time.advance(5 * minuteMs);
  const tooLate = { csrf: late.csrf, credential: await passkey.sign(late.options) };
  assertEquals((await slow.post(alonePath, tooLate)).status, 422, "expired");

  const mixed = world.browser();
  const alone = await optionsOf(mixed, "/sign-in", alonePath);
  await enterPassword(mixed);
  const csrfOfSecond = csrfOn(await mixed.get("/sign-in/second-factor"));
  const wrongPurpose = { csrf: csrfOfSecond, credential: await passkey.sign(alone.options) };
  assertEquals((await mixed.post(secondPath, wrongPurpose)).status, 422, "another purpose");
});

Deno.test("the second factor of one person is no passkey of another", async () => {
  await using world = await openDashboardWorld();
  const { browser: first, account } = await world.signIn(email);
  await register(world, first, account);
  const { browser: other, account: otherAccount } = await world.signIn("bob@example.com");
  const { passkey: foreign } = await register(world, other, otherAccount);
  const browser = world.browser();
  await enterPassword(browser);
  const { csrf, options } = await optionsOf(browser, "/sign-in/second-factor", secondPath);
  const credential = await foreign.sign(options);
  assertEquals((await browser.post(secondPath, { csrf, credential })).status, 422);
  assertEquals(await isIn(browser), false);
});

Deno.test("two instances that get one signature at the same moment let one browser in", async () => {
  await using world = await openDashboardWorld();
  const { browser: first, account } = await world.signIn(email);
  const { passkey } = await register(world, first, account);
  const browser = world.browser();
  const { csrf, options } = await optionsOf(browser, "/sign-in", alonePath);
  const credential = await passkey.sign(options);
  const other = createDashboard(world.deps);
  const elsewhere = new TestBrowser((request) => other.fetch(request, {}), world.baseUrl);
  for (const [name, value] of browser.cookies) elsewhere.cookies.set(name, value);
  const answers = await Promise.all(
    [browser, elsewhere].map((one) => one.post(alonePath, { csrf, credential })),
  );
  assertEquals(answers.map(({ status }) => status).toSorted(), [303, 422]);
});

Deno.test("what is refused of a registration", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn(email);
  const cases: Readonly<Record<string, Deviation>> = {
    "another origin": { origin: "https://evil.example" },
    "another host": { rpId: "evil.example" },
    "an invented challenge": { challenge: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" },
    "a person who was not verified": { verified: false },
  };
  for (const [name, deviation] of Object.entries(cases)) {
    const { answer } = await register(world, browser, account, deviation);
    assertEquals(answer.status, 422, name);
  }
  for (const credential of ["", "{}", "[]", "null", '{"id":"a"}', "x".repeat(40_000)]) {
    const csrf = csrfOn(await browser.get("/account/security"));
    assertEquals((await browser.post(passkeysPath, { csrf, credential })).status, 422, credential);
  }
  assertEquals(await listPasskeys(world.kv, account.id), []);
  assertEquals(await getRecoveryCodes(world.kv, account.id), undefined);
});

Deno.test("several passkeys are named and removed; with the last one the recovery codes end", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn(email);
  await register(world, browser, account, { name: "Laptop" });
  const { passkey, answer } = await register(world, browser, account, { name: "Yubi <key>" });
  assertEquals(answer.headers.get("location"), "/account/security?done=passkey");
  const page = await browser.get("/account/security");
  assertStringIncludes(page.text, "Yubi &lt;key&gt;");
  assertStringIncludes(page.text, "10 of 10 left");
  for (const { id } of await listPasskeys(world.kv, account.id)) {
    assert(await getRecoveryCodes(world.kv, account.id) !== undefined);
    await browser.submit(page, `${passkeysPath}/remove`, { passkey: id });
  }
  assertEquals(await listPasskeys(world.kv, account.id), []);
  assertEquals(await getRecoveryCodes(world.kv, account.id), undefined);
  assertEquals((await signIn(world.browser(), passkey)).status, 422, "it opens nothing more");
  assertEquals((await enterPassword(world.browser())).headers.get("location"), "/");
});

Deno.test("an account has ten passkeys at most", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn(email);
  for (let i = 0; i < 11; i++) await register(world, browser, account, { name: `${i}` });
  assertEquals((await listPasskeys(world.kv, account.id)).length, 10);
});

Deno.test("a passkey of a blocked account opens nothing", async () => {
  await using world = await openDashboardWorld();
  const { browser: first, account } = await world.signIn(email);
  const { passkey } = await register(world, first, account);
  await block(world.kv, account.id);
  const browser = world.browser();
  assertStringIncludes((await signIn(browser, passkey)).text, "This account is blocked.");
});

Deno.test("passkeys are added and removed a moment after signing in only", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn(email);
  await register(world, browser, account);
  const early = await optionsOf(browser, "/account/security", passkeysPath);
  await world.time.advance(15 * minuteMs);
  const late = await optionsOf(browser, "/account/security", passkeysPath);
  const confirm = "/account/confirm?next=%2Faccount%2Fsecurity";
  assertEquals([late.answer.status, late.answer.headers.get("location")], [303, confirm]);
  const [stored] = await listPasskeys(world.kv, account.id);
  const fields = { csrf: early.csrf, passkey: stored?.id ?? "" };
  const removed = await browser.post(`${passkeysPath}/remove`, fields);
  assertEquals(removed.headers.get("location"), confirm);
  assertEquals((await listPasskeys(world.kv, account.id)).length, 1);
});

Deno.test("who asks for challenges without end is stopped", async () => {
  await using world = await openDashboardWorld();
  const browser = world.browser();
  const statuses = new Set<number>();
  for (let i = 0; i < 61; i++) {
    statuses.add((await optionsOf(browser, "/sign-in", alonePath)).answer.status);
  }
  assertEquals([...statuses], [200, 429]);
});

Deno.test("an address that can have no passkeys says so, and offers none", async () => {
  const addresses: Readonly<Record<string, string>> = {
    "http://gw.example": "Passkeys need a secure connection",
    "https://192.0.2.7": "Passkeys belong to a domain",
  };
  for (const [baseUrl, text] of Object.entries(addresses)) {
    await using world = await openDashboardWorld({ baseUrl });
    const { browser } = await world.signIn(email);
    const page = await browser.get("/account/security");
    assertStringIncludes(page.text, text);
    assert(!page.text.includes("data-passkey="), baseUrl);
    assert(!(await world.browser().get("/sign-in")).text.includes("data-passkey="), baseUrl);
  }
});

Deno.test("the command line forgets passkeys as well", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn(email);
  await register(world, browser, account);
  const act = { operator: commandLine, nowMs: world.time.nowMs() };
  await forgetSecondFactor(world.kv, account.id, act);
  assertEquals(await listPasskeys(world.kv, account.id), []);
  assertEquals((await enterPassword(world.browser())).headers.get("location"), "/");
});
