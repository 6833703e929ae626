import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { findAccountByEmail } from "../../../../kv/people/accounts/accounts.ts";
import {
  type DashboardWorld,
  openDashboardWorld,
  testPassword,
  tokenOf,
} from "../../../support/worlds/dashboard_world.ts";

const email = "ann@example.com";

async function signUp(world: DashboardWorld, address = email, password = testPassword) {
  const browser = world.browser();
  const page = await browser.get("/sign-up");
  const answer = await browser.submit(page, "/sign-up", { email: address, password });
  return { browser, answer };
}

Deno.test("sign-up, mail, one click: the account exists and the browser is signed in", async () => {
  await using world = await openDashboardWorld();
  const { browser, answer } = await signUp(world);
  assertEquals(answer.status, 200);
  assertStringIncludes(answer.text, email);
  assertEquals(await findAccountByEmail(world.kv, email), undefined);

  const [mail] = await world.deliver();
  assertEquals(mail?.to, email);
  assertStringIncludes(mail!.text, `${world.baseUrl}/verify#token=`);
  const verified = await browser.submit(await browser.get("/verify"), "/verify", {
    token: tokenOf(mail),
  });
  assertEquals(verified.status, 303);
  assertStringIncludes((await browser.follow(verified)).text, "Your account is ready");
  assertEquals((await findAccountByEmail(world.kv, email))?.locale, "en");

  const again = world.browser();
  const signIn = await again.submit(await again.get("/sign-in"), "/sign-in", {
    email,
    password: testPassword,
  });
  assertEquals(signIn.status, 303);
});

Deno.test("the token of a mail works once", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await signUp(world);
  const token = tokenOf((await world.deliver())[0]);
  const page = await browser.get("/verify");
  const both = await Promise.all([
    browser.submit(page, "/verify", { token }),
    browser.submit(page, "/verify", { token }),
  ]);
  assertEquals(both.map(({ status }) => status).sort(), [303, 422]);
  const third = await browser.submit(await browser.get("/verify"), "/verify", { token });
  assertEquals(third.status, 422);
});

Deno.test("an expired token does not work, and neither does an invented one", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await signUp(world);
  const token = tokenOf((await world.deliver())[0]);
  world.time.advance(24 * 3_600_000);
  const page = await browser.get("/verify");
  assertEquals((await browser.submit(page, "/verify", { token })).status, 422);
  assertEquals((await browser.submit(page, "/verify", { token: "x".repeat(43) })).status, 422);
  assertEquals((await browser.submit(page, "/verify", { token: "x".repeat(4000) })).status, 422);
  assertEquals(await findAccountByEmail(world.kv, email), undefined);
});

Deno.test("in another browser the link asks for the chosen password", async () => {
  await using world = await openDashboardWorld();
  await signUp(world);
  const token = tokenOf((await world.deliver())[0]);
  const other = world.browser();
  const asked = await other.submit(await other.get("/verify"), "/verify", { token });
  assertEquals(asked.status, 422);
  assertStringIncludes(asked.text, 'name="password"');
  const wrong = await other.submit(asked, "/verify", { password: "not the password" });
  assertEquals(wrong.status, 422);
  assertEquals(await findAccountByEmail(world.kv, email), undefined);
  const right = await other.submit(wrong, "/verify", { password: testPassword });
  assertEquals(right.status, 303);
});

Deno.test("a stranger's sign-up with my address gives the stranger nothing when I click", async () => {
  await using world = await openDashboardWorld();
  await signUp(world, email, "the stranger's own password");
  const token = tokenOf((await world.deliver())[0]);
  const me = world.browser();
  const asked = await me.submit(await me.get("/verify"), "/verify", { token });
  assertEquals(asked.status, 422);
  assertEquals(await findAccountByEmail(world.kv, email), undefined);
});

Deno.test("known and unknown addresses get the same answer; only the mail differs", async () => {
  await using world = await openDashboardWorld();
  const { account } = await world.signIn(email);
  const known = await signUp(world, email);
  const unknown = await signUp(world, "new@example.com");
  const plain = (text: string) =>
    text.replaceAll("new@example.com", email).replace(/value="[\w-]{43,}"/g, "")
      .replace(/content="[\w-]{43,}"/g, "");
  assertEquals(plain(known.answer.text), plain(unknown.answer.text));
  assertEquals(known.answer.status, unknown.answer.status);
  assertEquals(
    [...known.answer.headers.keys()].sort(),
    [...unknown.answer.headers.keys()].sort(),
  );
  const mails = await world.deliver();
  const toKnown = mails.find(({ to }) => to === email);
  assertStringIncludes(toKnown!.subject, "already have an account");
  assert(!toKnown!.text.includes("token="), toKnown!.text);
  assertEquals((await findAccountByEmail(world.kv, email))?.id, account.id);
});

Deno.test("weak passwords and broken addresses are refused with a reason, nothing is mailed", async () => {
  await using world = await openDashboardWorld();
  for (
    const [address, password, reason] of [
      [email, "short", "at least 10"],
      [email, "1234567890", "first that attackers try"],
      [email, "aaaaaaaaaaaa", "too simple"],
      ["annabel@example.com", "annabel-rocks", "email name"],
      ["ann@", testPassword, "not an email address"],
    ] as const
  ) {
    const { answer } = await signUp(world, address, password);
    assertEquals(answer.status, 422, password);
    assertStringIncludes(answer.text, reason);
    assert(!answer.text.includes(`value="${password}"`), "the password came back");
  }
  assertEquals((await world.deliver()).length, 0);
});

Deno.test("one machine causes at most three sign-up mails an hour to a mailbox, and the page does not show it", async () => {
  await using world = await openDashboardWorld();
  for (let i = 0; i < 8; i++) assertEquals((await signUp(world)).answer.status, 200);
  assertEquals((await world.deliver()).length, 3);
  world.time.advance(3_600_000);
  await signUp(world);
  assertEquals((await world.deliver()).length, 1);
});

Deno.test("one machine can try twenty sign-ups an hour", async () => {
  await using world = await openDashboardWorld();
  for (let i = 0; i < 20; i++) {
    assertEquals((await signUp(world, `a${i}@example.com`)).answer.status, 200);
  }
  const { answer } = await signUp(world, "one-more@example.com");
  assertEquals(answer.status, 422);
  assertStringIncludes(answer.text, "Too many tries");
});

Deno.test("no token and no password is ever at rest in the clear", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await signUp(world);
  const storedText = async () => {
    const rows: string[] = [];
    for await (const row of world.kv.list({ prefix: [] })) {
      rows.push(Deno.inspect(row, { depth: 20, strAbbreviateSize: 1e6 }));
    }
    return rows.join("\n");
  };
  assert(!(await storedText()).includes(testPassword));
  const token = tokenOf((await world.deliver())[0]);
  assert(!(await storedText()).includes(token));
  await browser.submit(await browser.get("/verify"), "/verify", { token });
  const session = browser.cookies.get("__Host-session");
  assert(session !== undefined && session.length === 43);
  assert(!(await storedText()).includes(session));
});

Deno.test("two sign-ups with one address: the first that is confirmed wins, the other gets a message", async () => {
  await using world = await openDashboardWorld();
  const first = await signUp(world);
  const one = tokenOf((await world.deliver())[0]);
  const second = await signUp(world, email, "quite another password");
  const other = tokenOf((await world.deliver())[0]);
  const finish = async (from: typeof first, token: string) =>
    await from.browser.submit(await from.browser.get("/verify"), "/verify", { token });
  assertEquals((await finish(second, other)).status, 303);
  const late = await finish(first, one);
  assertEquals(late.status, 422);
  assertStringIncludes(late.text, "already has an account");
  assert(!first.browser.cookies.has("__Host-session"));
});

Deno.test("who signs in before confirming the address is told to, in the browser of the sign-up only", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await signUp(world);
  const words = "confirm your email address first";
  const tried = async (one: typeof browser) =>
    (await one.submit(await one.get("/sign-in"), "/sign-in", { email, password: testPassword }))
      .text;
  assertStringIncludes(await tried(browser), words);
  assert(
    !(await tried(world.browser())).includes(words),
    "a stranger learns that somebody signs up",
  );
});
