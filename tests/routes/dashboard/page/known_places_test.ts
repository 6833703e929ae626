/** Strangers who guess or ask for mails do not lock a customer out. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { rememberPlaces } from "../../../../kv/people/accounts/sessions.ts";
import {
  type DashboardWorld,
  openDashboardWorld,
  testPassword,
  tokenOf,
} from "../../../support/worlds/dashboard_world.ts";
import type { TestBrowser } from "../../../support/browser/test_browser.ts";

const email = "ann@example.com";

async function tryPassword(browser: TestBrowser, password = testPassword) {
  const page = await browser.get("/sign-in");
  return await browser.submit(page, "/sign-in", { email, password });
}

/** Wrong passwords from so many machines that no rule by address stops one of them. */
async function attack(world: DashboardWorld, tries = 40): Promise<void> {
  for (let i = 0; i < tries; i++) {
    await tryPassword(world.browser({}, `198.51.100.${i}`), `wrong ${i}`);
  }
}

async function askFor(browser: TestBrowser, path: "/forgot" | "/sign-in/link", to = email) {
  return await browser.submit(await browser.get(path), path, { email: to });
}

/** The browser without its session, as after a week: what it is known by stays. */
function signedOut(browser: TestBrowser): TestBrowser {
  browser.cookies.delete("__Host-session");
  return browser;
}

Deno.test("under attack a known browser signs in from a fresh address, a known address with a fresh browser", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn(email);
  await attack(world);
  const travelling = world.browser({}, "192.0.2.77");
  for (const [name, value] of signedOut(browser).cookies) travelling.cookies.set(name, value);
  assertEquals((await tryPassword(travelling)).status, 303);
  assertEquals((await tryPassword(world.browser())).status, 303);
  // Both are budgets, not passes.
  const home = world.browser();
  for (let i = 0; i < 14; i++) assertEquals((await tryPassword(home, "wrong")).status, 422);
  assertStringIncludes((await tryPassword(home)).text, "Too many tries");
});

Deno.test("a known browser may try although others behind its address have used up the tries", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn(email);
  for (let i = 0; i < 60; i++) {
    const neighbour = world.browser();
    const page = await neighbour.get("/sign-in");
    await neighbour.submit(page, "/sign-in", { email: `a${i}@example.com`, password: "x" });
  }
  assertEquals((await tryPassword(world.browser())).status, 422);
  assertEquals((await tryPassword(signedOut(browser))).status, 303);
});

Deno.test("a browser is known to its own account only, and not by an invented token", async () => {
  await using world = await openDashboardWorld();
  await world.signIn(email);
  const { browser: other } = await world.signIn("bob@example.com");
  await attack(world);
  const elsewhere = (token: string) => {
    const browser = world.browser({}, "192.0.2.78");
    browser.cookies.set("__Host-browser", token);
    return browser;
  };
  const ofBob = other.cookies.get("__Host-browser");
  assert(ofBob !== undefined);
  for (const token of [ofBob, "a".repeat(43), "x".repeat(5_000), ""]) {
    assertEquals((await tryPassword(elsewhere(token))).status, 422, token.slice(0, 9));
  }
});

Deno.test("whoever is limited signs in by a mailed link, in one click from the refusal", async () => {
  await using world = await openDashboardWorld();
  await world.signIn(email);
  await attack(world);
  const fresh = world.browser({}, "192.0.2.79");
  const refused = await tryPassword(fresh);
  assertStringIncludes(refused.text, "Too many tries");
  await fresh.submit(refused, "/sign-in/link");
  const [mail] = await world.deliver();
  assertEquals(mail?.to, email);
  assertStringIncludes(mail!.text, `${world.baseUrl}/sign-in/mail#token=`);
  const token = tokenOf(mail);
  const enter = async (browser: TestBrowser) =>
    await browser.submit(await browser.get("/sign-in/mail"), "/sign-in/mail", { token });
  assertEquals((await enter(fresh)).status, 303);
  assertEquals((await fresh.get("/account")).status, 200);
  assertEquals((await enter(world.browser())).status, 422, "once");
  // From now on this browser is known.
  assertEquals((await tryPassword(signedOut(fresh))).status, 303);
});

Deno.test("a link dies after 30 minutes, with a change of password, and opens no reset", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn(email);
  const enter = async (token: string) => {
    const fresh = world.browser();
    return (await fresh.submit(await fresh.get("/sign-in/mail"), "/sign-in/mail", { token }))
      .status;
  };
  await askFor(world.browser(), "/sign-in/link");
  const late = tokenOf((await world.deliver())[0]);
  const asReset = { token: late, password: "another long password" };
  const fresh = world.browser();
  assertEquals((await fresh.submit(await fresh.get("/reset"), "/reset", asReset)).status, 422);
  world.time.advance(30 * 60_000);
  assertEquals(await enter(late), 422);
  await askFor(world.browser(), "/sign-in/link");
  const old = tokenOf((await world.deliver())[0]);
  const account = await browser.get("/account");
  const changed = { currentPassword: testPassword, newPassword: "another long password" };
  assertEquals((await browser.submit(account, "/account/password", changed)).status, 303);
  assertEquals(await enter(old), 422);
});

Deno.test("a stranger's resets leave the owner a mail, and do not flood the mailbox", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn(email);
  for (const path of ["/forgot", "/sign-in/link"] as const) {
    for (let i = 0; i < 30; i++) await askFor(world.browser({}, `198.51.100.${i}`), path);
  }
  assertEquals((await world.deliver()).length, 2, "one of a kind");
  // The owner, in a known browser and at a known address.
  await askFor(signedOut(browser), "/forgot");
  await askFor(world.browser(), "/forgot");
  assertEquals((await world.deliver()).length, 2);
  // The owner elsewhere has the mail that the stranger caused; a quarter of an hour later there is another.
  const elsewhere = world.browser({}, "192.0.2.80");
  const answer = await askFor(elsewhere, "/forgot");
  assertEquals([answer.status, (await world.deliver()).length], [200, 0]);
  world.time.advance(15 * 60_000);
  await askFor(elsewhere, "/forgot");
  const [mail] = await world.deliver();
  const reset = { token: tokenOf(mail), password: "another long password" };
  assertEquals(
    (await elsewhere.submit(await elsewhere.get("/reset"), "/reset", reset)).status,
    303,
  );
  // That link is used up, so the next mail does not wait.
  await askFor(world.browser({}, "192.0.2.81"), "/forgot");
  assertEquals((await world.deliver()).map(({ subject }) => subject), [
    "Your password was changed",
    "Choose a new password",
  ]);
});

Deno.test("a stranger's sign-ups from one machine do not use up those of the address's owner", async () => {
  await using world = await openDashboardWorld();
  const signUp = async (browser: TestBrowser) =>
    await browser.submit(await browser.get("/sign-up"), "/sign-up", {
      email,
      password: testPassword,
    });
  for (let i = 0; i < 12; i++) await signUp(world.browser({}, "198.51.100.1"));
  assertEquals((await world.deliver()).length, 3);
  await signUp(world.browser());
  assertEquals((await world.deliver()).length, 1);
});

Deno.test("after a change of password all other places are unknown again", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn(email);
  const thief = world.browser({}, "192.0.2.82");
  assertEquals((await tryPassword(thief)).status, 303);
  const page = await browser.get("/account");
  const changed = { currentPassword: testPassword, newPassword: "another long password" };
  assertEquals((await browser.submit(page, "/account/password", changed)).status, 303);
  await attack(world);
  const refused = await tryPassword(signedOut(thief), "another long password");
  assertStringIncludes(refused.text, "Too many tries");
  assertEquals((await tryPassword(signedOut(browser), "another long password")).status, 303);
  const rows = await Array.fromAsync(world.kv.list({ prefix: ["known_place", account.id] }));
  assertEquals(rows.length, 2, "this browser and its address");
});

Deno.test("an account knows a bounded number of places, and a deleted one none", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn(email);
  for (let i = 0; i < 60; i++) {
    await rememberPlaces(world.kv, account.id, [`place ${i}`], world.time.nowMs() + i);
  }
  const places = async () =>
    (await Array.fromAsync(world.kv.list({ prefix: ["known_place", account.id] }))).length;
  assertEquals(await places(), 40);
  const page = await browser.get("/account");
  await browser.submit(page, "/account/delete", {
    deletionPassword: testPassword,
    confirmation: email,
  });
  const gone = await browser.get("/account");
  assertEquals([gone.status, await places()], [303, 0]);
});
