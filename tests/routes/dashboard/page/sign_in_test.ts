import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import {
  createPasswordHasher,
  type PasswordHasher,
} from "../../../../routes/auth/password_hash.ts";
import {
  type DashboardWorld,
  openDashboardWorld,
  testPassword,
  tokenOf,
} from "../../../support/worlds/dashboard_world.ts";
import { formsOf } from "../../../support/browser/test_browser.ts";
import { block } from "../../../support/worlds/blocked_account.ts";

const email = "ann@example.com";

async function trySignIn(
  world: DashboardWorld,
  fields: { email?: string; password?: string; next?: string } = {},
  browser = world.browser(),
) {
  const page = await browser.get("/sign-in");
  return await browser.submit(page, "/sign-in", { email, password: testPassword, ...fields });
}

Deno.test("a wrong password, an unknown address and no address get the same message", async () => {
  await using world = await openDashboardWorld();
  await world.signIn(email);
  const answers = [
    await trySignIn(world, { password: "wrong" }),
    await trySignIn(world, { email: "nobody@example.com" }),
    await trySignIn(world, { email: "no address" }),
  ];
  for (const { status, text } of answers) {
    assertEquals(status, 422);
    assertStringIncludes(text, "Email address or password is wrong.");
    assert(!text.includes(testPassword), "the password came back");
  }
});

Deno.test("the same work is done whether or not the address has an account", async () => {
  const verified: (string | undefined)[] = [];
  const real = createPasswordHasher({ logN: 1, r: 1, p: 1 });
  const counting: PasswordHasher = {
    hash: real.hash,
    verify(password, encoded) {
      verified.push(encoded === undefined ? "nobody" : "somebody");
      return real.verify(password, encoded);
    },
  };
  await using world = await openDashboardWorld({ passwords: counting });
  await world.signIn(email);
  verified.length = 0;
  await trySignIn(world, { password: "wrong" });
  await trySignIn(world, { email: "nobody@example.com" });
  assertEquals(verified, ["somebody", "nobody"]);
});

Deno.test("a password is refused where there is no account, whatever it is", async () => {
  const hasher = createPasswordHasher({ logN: 4, r: 1, p: 1 });
  assertEquals(await hasher.verify("", undefined), false);
  assertEquals(await hasher.verify(testPassword, undefined), false);
});

Deno.test("signing in creates a new session: cookies from before have no effect", async () => {
  await using world = await openDashboardWorld();
  await world.signIn(email);
  const browser = world.browser();
  const planted = "planted-by-an-attacker-planted-by-an-attac0";
  browser.cookies.set("__Host-session", planted);
  assertEquals((await trySignIn(world, {}, browser)).status, 303);
  const fresh = browser.cookies.get("__Host-session");
  assert(fresh !== undefined && fresh !== planted);

  const attacker = world.browser();
  attacker.cookies.set("__Host-session", planted);
  assertEquals(
    (await attacker.get("/account")).headers.get("location"),
    "/sign-in?next=%2Faccount",
  );

  const before = fresh;
  assertEquals((await trySignInAgain(browser)).status, 303);
  const thief = world.browser();
  thief.cookies.set("__Host-session", before);
  assertEquals((await thief.get("/account")).status, 303);
});

async function trySignInAgain(browser: ReturnType<DashboardWorld["browser"]>) {
  const home = await browser.get("/account");
  const csrf = /name="csrf" value="([^"]+)"/.exec(home.text)![1]!;
  return await browser.post("/sign-in", { csrf, email, password: testPassword });
}

Deno.test("the session cookie is host-only, secure, http-only and lax", async () => {
  await using world = await openDashboardWorld();
  await world.signIn(email);
  const answer = await trySignIn(world);
  const cookie = answer.headers.getSetCookie().find((text) => text.startsWith("__Host-session="));
  assertStringIncludes(cookie!, "; Path=/");
  assertStringIncludes(cookie!, "; HttpOnly");
  assertStringIncludes(cookie!, "; Secure");
  assertStringIncludes(cookie!, "; SameSite=Lax");
  assert(!/domain=/i.test(cookie!));
});

Deno.test("on a developer's machine without https the cookie has a plain name", async () => {
  await using world = await openDashboardWorld({ baseUrl: "http://localhost:8787" });
  const { browser } = await world.signIn(email);
  assert(browser.cookies.has("session"));
  assertEquals((await browser.get("/account")).status, 200);
});

Deno.test("after signing in, next leads only to pages of this site", async () => {
  await using world = await openDashboardWorld();
  await world.signIn(email);
  for (
    const [next, location] of [
      ["/keys?page=2", "/keys?page=2"],
      ["", "/"],
      ["https://evil.example/", "/"],
      ["//evil.example/", "/"],
      ["/\\evil.example", "/"],
      ["/\t/evil.example", "/"],
      ["\\\\evil.example", "/"],
      ["javascript:alert(1)", "/"],
      ["/%2f%2fevil.example", "/%2f%2fevil.example"],
      ["/..//evil.example", "/"],
      ["/keys\r\nset-cookie: a=b", "/"],
    ] as const
  ) {
    const answer = await trySignIn(world, { next });
    assertEquals(answer.headers.get("location"), location, next);
    const shown = await world.browser().get(`/sign-in?next=${encodeURIComponent(next)}`);
    const form = formsOf(shown.text).find(({ action }) => action === "/sign-in");
    const field = form?.fields.find(([name]) => name === "next");
    assertEquals(field?.[1], location === "/" ? "" : location, next);
  }
});

Deno.test("a page that needs an account sends people to sign in and brings them back", async () => {
  await using world = await openDashboardWorld();
  await world.signIn(email);
  const browser = world.browser();
  const sent = await browser.get("/usage?from=2026-11-01");
  assertEquals(sent.headers.get("location"), "/sign-in?next=%2Fusage%3Ffrom%3D2026-11-01");
  const page = await browser.follow(sent);
  const back = await browser.submit(page, "/sign-in", { email, password: testPassword });
  assertEquals(back.headers.get("location"), "/usage?from=2026-11-01");
});

Deno.test("guessing is slowed down by address", async () => {
  await using world = await openDashboardWorld();
  await world.signIn(email);
  for (let i = 0; i < 15; i++) await trySignIn(world, { password: `wrong ${i}` });
  const stopped = await trySignIn(world);
  assertEquals(stopped.status, 422);
  assertStringIncludes(stopped.text, "Too many tries");
  world.time.advance(15 * 60_000);
  assertEquals((await trySignIn(world)).status, 303);
});

Deno.test("guessing is slowed down by machine, also over many addresses", async () => {
  await using world = await openDashboardWorld();
  for (let i = 0; i < 60; i++) await trySignIn(world, { email: `a${i}@example.com` });
  const stopped = await trySignIn(world, { email: "fresh@example.com" });
  assertStringIncludes(stopped.text, "Too many tries");
});

Deno.test("a blocked account cannot sign in, and its sessions end", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn(email);
  await block(world.kv, account.id);
  assertEquals((await browser.get("/account")).status, 303);
  assert(!browser.cookies.has("__Host-session"));
  const answer = await trySignIn(world);
  assertStringIncludes(answer.text, "blocked");
  const stranger = await trySignIn(world, { password: "wrong" });
  assert(!stranger.text.includes("This account is blocked"), "told without the password");
});

Deno.test("sessions end after 7 idle days and after 30 days whatever happens", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn(email);
  const dayMs = 86_400_000;
  for (let day = 6; day <= 24; day += 6) {
    world.time.advance(6 * dayMs);
    assertEquals((await browser.get("/account")).status, 200, `day ${day}`);
  }
  world.time.advance(6 * dayMs);
  assertEquals((await browser.get("/account")).status, 303);

  const { browser: idle } = await world.signIn("idle@example.com");
  world.time.advance(7 * dayMs);
  assertEquals((await idle.get("/account")).status, 303);
});

Deno.test("signing out ends the session on the server", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn(email);
  const token = browser.cookies.get("__Host-session")!;
  await browser.submit(await browser.get("/account"), "/sign-out");
  assert(!browser.cookies.has("__Host-session"));
  const copy = world.browser();
  copy.cookies.set("__Host-session", token);
  assertEquals((await copy.get("/account")).status, 303);
});

Deno.test("a forgotten password: one mail, one use, all other browsers signed out", async () => {
  await using world = await openDashboardWorld();
  const { browser: old } = await world.signIn(email);
  const browser = world.browser();
  await browser.submit(await browser.get("/forgot"), "/forgot", { email });
  const [mail] = await world.deliver();
  assertStringIncludes(mail!.text, `${world.baseUrl}/reset#token=`);
  const token = tokenOf(mail);

  const weak = await browser.submit(await browser.get("/reset"), "/reset", {
    token,
    password: "short",
  });
  assertEquals(weak.status, 422);
  const done = await browser.submit(weak, "/reset", { password: "another long password" });
  assertEquals(done.status, 303);
  assertEquals((await browser.get("/account")).status, 200);
  assertEquals((await old.get("/account")).status, 303);
  assertEquals((await trySignIn(world)).status, 422);
  assertEquals((await trySignIn(world, { password: "another long password" })).status, 303);
  const subjects = (await world.deliver()).map(({ subject }) => subject);
  assertEquals(subjects.filter((subject) => subject.includes("password was changed")).length, 1);

  const again = await browser.submit(await browser.get("/reset"), "/reset", {
    token,
    password: "yet another password",
  });
  assertEquals(again.status, 422);
});

Deno.test("a change of password ends reset mails that were sent before", async () => {
  await using world = await openDashboardWorld();
  await world.signIn(email);
  const browser = world.browser();
  for (let i = 0; i < 2; i++) {
    await browser.submit(await browser.get("/forgot"), "/forgot", { email });
  }
  const [first, second] = await world.deliver();
  const reset = async (token: string) =>
    await browser.submit(await browser.get("/reset"), "/reset", {
      token,
      password: "another long password",
    });
  assertEquals((await reset(tokenOf(second))).status, 303);
  assertEquals((await reset(tokenOf(first))).status, 422);
});

Deno.test("a reset request for an unknown address gets the same page, and sends nothing", async () => {
  await using world = await openDashboardWorld();
  await world.signIn(email);
  const ask = async (address: string) => {
    const browser = world.browser();
    return await browser.submit(await browser.get("/forgot"), "/forgot", { email: address });
  };
  const known = await ask(email);
  const unknown = await ask("nobody@example.com");
  const plain = (text: string) =>
    text.replaceAll("nobody@example.com", email).replace(/(value|content)="[\w-]{43,}"/g, "");
  assertEquals(plain(known.text), plain(unknown.text));
  assertEquals((await world.deliver()).map(({ to }) => to), [email]);
});

Deno.test("a reset token dies after 30 minutes, and is no sign-up token", async () => {
  await using world = await openDashboardWorld();
  await world.signIn(email);
  const browser = world.browser();
  await browser.submit(await browser.get("/forgot"), "/forgot", { email });
  const token = tokenOf((await world.deliver())[0]);
  const asSignUp = await browser.submit(await browser.get("/verify"), "/verify", { token });
  assertEquals(asSignUp.status, 422);
  world.time.advance(30 * 60_000);
  const late = await browser.submit(await browser.get("/reset"), "/reset", {
    token,
    password: "another long password",
  });
  assertEquals(late.status, 422);
});
