/** Accounts that require a second factor: what people without one see, and what they may end. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import {
  type DashboardWorld,
  openDashboardWorld,
  testPassword,
} from "../../../support/worlds/dashboard_world.ts";
import { codeFor, secretOn } from "../../../support/worlds/operator_world.ts";
import type { LoadedPage, TestBrowser } from "../../../support/browser/test_browser.ts";
import { SoftPasskey } from "../../../support/browser/soft_authenticator.ts";
import { actFor, openCompany } from "../../../support/worlds/company_world.ts";
import type { Account } from "../../../../kv/people/accounts/accounts.ts";
import { listPasskeys } from "../../../../kv/people/accounts/passkeys.ts";

const securityPath = "/account/security";
const appPath = `${securityPath}/app`;
const passkeysPath = `${securityPath}/passkeys`;
const requirementPath = "/account/second-factor";

const csrfOn = (page: LoadedPage) => /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? "";
const whereTo = ({ status, headers }: LoadedPage) => [status, headers.get("location")];

async function require(browser: TestBrowser): Promise<LoadedPage> {
  return await browser.submit(await browser.get("/account"), requirementPath);
}

async function setUpApp(world: DashboardWorld, browser: TestBrowser): Promise<string> {
  const page = await browser.get(appPath);
  const secret = secretOn(page) ?? "";
  await browser.submit(page, appPath, { code: codeFor(secret, world.time.nowMs()) });
  await world.time.advance(60_000);
  return secret;
}

async function addPasskey(
  world: DashboardWorld,
  browser: TestBrowser,
  account: Account,
): Promise<LoadedPage> {
  const csrf = csrfOn(await browser.get(securityPath));
  const answer = await browser.post(`${passkeysPath}/options`, {}, { "x-csrf-token": csrf });
  const passkey = await SoftPasskey.make(world.baseUrl, account.id);
  const credential = await passkey.register(JSON.parse(answer.text).options);
  return await browser.post(passkeysPath, { csrf, name: "Key", credential });
}

Deno.test("who has no second factor sees nothing but the pages that set one up", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn();
  assertEquals(whereTo(await require(browser)), [303, "/account?done=required"]);
  const paths = ["/", "/keys", "/usage", "/wallet", "/account", "/playground", "/models", "/docs"];
  for (const path of paths) {
    assertEquals(whereTo(await browser.get(path)), [303, securityPath], path);
  }
  const page = await browser.get(securityPath);
  assertEquals(page.status, 200);
  assertStringIncludes(page.text, "Your account requires a second factor.");
  const csrf = csrfOn(page);
  assertEquals(whereTo(await browser.post("/keys", { csrf, name: "x" })), [303, securityPath]);
  const partial = await browser.get("/usage/live", { "hx-request": "true" });
  assertEquals([partial.status, partial.headers.get("hx-redirect")], [403, securityPath]);

  await setUpApp(world, browser);
  for (const path of paths) assertEquals((await browser.get(path)).status, 200, path);
  assert(!(await browser.get(securityPath)).text.includes("Your account requires"));
});

Deno.test("a person without a second factor can change the language and sign out", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn();
  await require(browser);
  const csrf = csrfOn(await browser.get(securityPath));
  const changed = await browser.post("/preferences", { csrf, locale: "vi", next: "/account" });
  assertEquals(whereTo(changed), [303, "/account"]);
  assertEquals(whereTo(await browser.post("/sign-out", { csrf })), [303, "/"]);
  assertEquals((await browser.get("/")).status, 200);
});

Deno.test("an old session confirms, and then sets up what is required", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn();
  await require(browser);
  await world.time.advance(3_600_000);
  const confirm = `/account/confirm?next=${encodeURIComponent(appPath)}`;
  assertEquals(whereTo(await browser.get(appPath)), [303, confirm]);
  await browser.submit(await browser.get(confirm), confirm, { password: testPassword });
  await setUpApp(world, browser);
  assertEquals((await browser.get("/keys")).status, 200);
});

Deno.test("a passkey is a second factor, too; the last factor stays while one is required", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  await require(browser);
  await addPasskey(world, browser, account);
  assertEquals((await browser.get("/keys")).status, 200);
  const remove = async () =>
    await browser.submit(await browser.get(securityPath), `${passkeysPath}/remove`);
  const kept = await remove();
  assertEquals(kept.status, 422);
  assertStringIncludes(kept.text, "this is the last one");

  const secret = await setUpApp(world, browser);
  assertEquals(whereTo(await remove()), [303, `${securityPath}?done=passkey-removed`]);
  assertEquals(await listPasskeys(world.kv, account.id), []);
  const off = await browser.submit(await browser.get(securityPath), `${appPath}/off`, {
    code: codeFor(secret, world.time.nowMs()),
  });
  assertEquals(off.status, 422);
  assertStringIncludes(off.text, "this is the last one");

  const ended = await require(browser);
  assertEquals(whereTo(ended), [303, "/account?done=not-required"]);
  const gone = await browser.submit(await browser.get(securityPath), `${appPath}/off`, {
    code: codeFor(secret, world.time.nowMs()),
  });
  assertEquals(gone.status, 303);
  assertEquals((await browser.get("/keys")).status, 200);
});

Deno.test("the switch asks an old session to confirm", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn();
  await world.time.advance(15 * 60_000);
  const asked = await require(browser);
  assertEquals(whereTo(asked), [303, "/account/confirm?next=%2Faccount"]);
  assertEquals((await browser.get("/keys")).status, 200);
});

Deno.test("the account page says what each session has shown", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  const secret = await setUpApp(world, browser);
  const other = world.browser();
  const email = account.email ?? "";
  await other.submit(await other.get("/sign-in"), "/sign-in", { email, password: testPassword });
  const second = await other.get("/sign-in/second-factor");
  await other.submit(second, "/sign-in/second-factor", {
    code: codeFor(secret, world.time.nowMs()),
  });
  assertStringIncludes((await other.get("/account")).text, "password + code");
});

Deno.test("an organisation requires it of its members, whose own factors count, and of nobody elsewhere", async () => {
  await using world = await openDashboardWorld();
  const { members: { owner, developer } } = await openCompany(world);
  const page = await developer.browser.get("/account");
  assert(!page.text.includes(requirementPath), "a developer has no switch");
  const forged = { csrf: csrfOn(page), required: "yes" };
  assertEquals((await developer.browser.post(requirementPath, forged)).status, 403);

  await require(owner.browser);
  assertEquals(whereTo(await developer.browser.get("/keys")), [303, securityPath]);
  await actFor(developer.browser, developer.person);
  assertEquals((await developer.browser.get("/keys")).status, 200, "the developer's own");
  await setUpApp(world, owner.browser);
  assertEquals((await owner.browser.get("/keys")).status, 200);
});
