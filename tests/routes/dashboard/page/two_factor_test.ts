/** Sign-in with a second factor: codes of an app and recovery codes. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import {
  type DashboardWorld,
  openDashboardWorld,
  testPassword,
  tokenOf,
} from "../../../support/worlds/dashboard_world.ts";
import { codeFor, secretOn } from "../../../support/worlds/operator_world.ts";
import { type LoadedPage, TestBrowser } from "../../../support/browser/test_browser.ts";
import { createDashboard } from "../../../../routes/dashboard/mod.ts";
import { findAccountByEmail, getAccount } from "../../../../kv/people/accounts/accounts.ts";
import { hasPassedSecondFactor } from "../../../../kv/people/accounts/second_factor.ts";
import { listSessions } from "../../../../kv/people/accounts/sessions.ts";
import { findActivity } from "../../../../kv/people/audit/account_activity.ts";
import { block } from "../../../support/worlds/blocked_account.ts";
import { recoveryCodesKey, secondFactorKey } from "../../../../kv/engine/schema/keys.ts";

const email = "ann@example.com";
const appPath = "/account/security/app";
const secondPath = "/sign-in/second-factor";
const minuteMs = 60_000;

function codesOn(page: LoadedPage): string[] {
  return [...page.text.matchAll(/<code>((?:[0-9a-z]{4}-){3}[0-9a-z]{4})<\/code>/g)]
    .map(([, code = ""]) => code);
}

/** Sets up an app in a browser that has just signed in. */
async function setUp(
  world: DashboardWorld,
  browser: TestBrowser,
): Promise<{ secret: string; codes: string[] }> {
  const page = await browser.get(appPath);
  const secret = secretOn(page);
  if (secret === undefined) throw new Error(page.text);
  const done = await browser.submit(page, appPath, { code: codeFor(secret, world.time.nowMs()) });
  assertEquals(done.status, 200, done.text);
  await world.time.advance(minuteMs);
  return { secret, codes: codesOn(done) };
}

async function enterPassword(browser: TestBrowser, next?: string): Promise<LoadedPage> {
  const page = await browser.get(`/sign-in${next === undefined ? "" : `?next=${next}`}`);
  return await browser.submit(page, "/sign-in", { email, password: testPassword });
}

const csrfOn = (page: LoadedPage) => /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? "";

/** Sends what the second step asks for; from a page that was opened before, if it is given. */
async function show(
  browser: TestBrowser,
  fields: Record<string, string>,
  page?: LoadedPage,
): Promise<LoadedPage> {
  const csrf = csrfOn(page ?? await browser.get(secondPath));
  return await browser.post(secondPath, { csrf, ...fields });
}

const isIn = async (browser: TestBrowser) => (await browser.get("/account")).status === 200;

Deno.test("after the password a code is asked for, and then the wanted page follows", async () => {
  await using world = await openDashboardWorld();
  const { browser: first } = await world.signIn(email);
  const { secret, codes } = await setUp(world, first);
  assertEquals([codes.length, new Set(codes).size], [10, 10]);

  const browser = world.browser();
  const redirect = await enterPassword(browser, "%2Fkeys");
  assertEquals([redirect.status, redirect.headers.get("location")], [303, secondPath]);
  assertEquals(await isIn(browser), false, "the password alone opened a session");
  const page = await browser.get(secondPath);
  assertStringIncludes(page.text, "one-time-code");
  const done = await show(browser, { code: codeFor(secret, world.time.nowMs()) });
  assertEquals([done.status, done.headers.get("location")], [303, "/keys"]);
  assert(await isIn(browser));
  // The sign-in that waited is over.
  assertEquals((await browser.get(secondPath)).headers.get("location"), "/sign-in");
});

Deno.test("secret and recovery codes lie in the store sealed and hashed", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn(email);
  const { secret, codes } = await setUp(world, browser);
  for (const key of [secondFactorKey(account.id), recoveryCodesKey(account.id)]) {
    const text = JSON.stringify((await world.kv.get(key)).value);
    assert(text !== "null");
    for (const hidden of [secret, ...codes, ...codes.map((code) => code.replaceAll("-", ""))]) {
      assert(!text.includes(hidden), text);
    }
  }
  assertEquals(secretOn(await browser.get("/account/security")), undefined);
  assertEquals((await browser.get(appPath)).status, 303, "the secret is shown no more");
  assertEquals(codesOn(await browser.get("/account/security")), []);
});

Deno.test("a mailed link and a reset ask for the second factor as well", async () => {
  await using world = await openDashboardWorld();
  const { browser: first } = await world.signIn(email);
  const { secret } = await setUp(world, first);
  const ways: readonly (readonly [string, string, Record<string, string>])[] = [
    ["/sign-in/link", "/sign-in/mail", {}],
    ["/forgot", "/reset", { password: "another battery staple" }],
  ];
  await world.deliver();
  for (const [asked, entered, fields] of ways) {
    const browser = world.browser();
    await browser.submit(await browser.get(asked), asked, { email });
    const token = tokenOf((await world.deliver()).at(-1));
    const opened = await browser.submit(await browser.get(entered), entered, { token, ...fields });
    assertEquals(opened.headers.get("location"), secondPath, asked);
    assertEquals(await isIn(browser), false, asked);
    await world.time.advance(minuteMs);
    await show(browser, { code: codeFor(secret, world.time.nowMs()) });
    assert(await isIn(browser), asked);
  }
});

Deno.test("what is refused at the second step", async () => {
  await using world = await openDashboardWorld();
  const { browser: first, account } = await world.signIn(email);
  const { secret, codes } = await setUp(world, first);
  const right = () => codeFor(secret, world.time.nowMs());
  const cases: Readonly<
    Record<string, (browser: TestBrowser) => Promise<Record<string, string>>>
  > = {
    "no code": () => Promise.resolve({}),
    "a wrong code": () => Promise.resolve({ code: "000000" }),
    "a code of two minutes ago": () =>
      Promise.resolve({ code: codeFor(secret, world.time.nowMs() - 2 * minuteMs) }),
    "a code that was used": async () => {
      const other = world.browser();
      const code = right();
      await enterPassword(other);
      assertEquals((await show(other, { code })).status, 303);
      return { code };
    },
    "a recovery code that was used": async () => {
      const other = world.browser();
      await enterPassword(other);
      assertEquals((await show(other, { recoveryCode: codes[0]! })).status, 303);
      return { recoveryCode: codes[0]! };
    },
    "no recovery code": () => Promise.resolve({ recoveryCode: "0000-0000-0000-0000" }),
    "a code in the place of a recovery code": () => Promise.resolve({ recoveryCode: right() }),
  };
  for (const [name, prepare] of Object.entries(cases)) {
    const browser = world.browser();
    await enterPassword(browser);
    const fields = await prepare(browser);
    assertEquals((await show(browser, fields)).status, 422, name);
    assertEquals(await isIn(browser), false, name);
    await world.time.advance(11 * minuteMs);
  }

  const late = world.browser();
  await enterPassword(late);
  await world.time.advance(10 * minuteMs);
  assertEquals((await late.get(secondPath)).headers.get("location"), "/sign-in", "ten minutes");

  const blocked = world.browser();
  await enterPassword(blocked);
  const page = await blocked.get(secondPath);
  await block(world.kv, account.id);
  const refused = await show(blocked, { code: right() }, page);
  assertEquals(refused.headers.get("location"), "/sign-in", "blocked meanwhile");
});

Deno.test("a change of the password ends sign-ins that wait", async () => {
  await using world = await openDashboardWorld();
  const { browser: first } = await world.signIn(email);
  const { secret } = await setUp(world, first);
  const thief = world.browser();
  await enterPassword(thief);
  const page = await thief.get(secondPath);
  await first.submit(await first.get("/account"), "/account/password", {
    currentPassword: testPassword,
    newPassword: "another battery staple",
  });
  const code = codeFor(secret, world.time.nowMs());
  assertEquals((await show(thief, { code }, page)).headers.get("location"), "/sign-in");
});

Deno.test("six tries in ten minutes, then even the right code waits", async () => {
  await using world = await openDashboardWorld();
  const { browser: first } = await world.signIn(email);
  const { secret } = await setUp(world, first);
  await world.time.advance(11 * minuteMs);
  const browser = world.browser();
  await enterPassword(browser);
  for (let i = 0; i < 6; i++) await show(browser, { code: "000000" });
  const refused = await show(browser, { code: codeFor(secret, world.time.nowMs()) });
  assertStringIncludes(refused.text, "Too many tries");
  const again = world.browser();
  await world.time.advance(10 * minuteMs);
  await enterPassword(again);
  const passed = await show(again, { code: codeFor(secret, world.time.nowMs()) });
  assertEquals(passed.status, 303);
});

Deno.test("two instances that get one recovery code at the same moment let one browser in", async () => {
  await using world = await openDashboardWorld();
  const { browser: first } = await world.signIn(email);
  const { codes } = await setUp(world, first);
  const other = createDashboard(world.deps);
  const browsers = [
    world.browser(),
    new TestBrowser((request) => other.fetch(request, {}), world.baseUrl),
  ];
  for (const browser of browsers) await enterPassword(browser);
  const answers = await Promise.all(
    browsers.map((browser) => show(browser, { recoveryCode: codes[3]! })),
  );
  assertEquals(answers.map(({ status }) => status).toSorted(), [303, 422]);
  const page = await first.get("/account/security");
  assertStringIncludes(page.text, "9 of 10 left");
});

Deno.test("new recovery codes end the earlier ones, and are shown once", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn(email);
  const { codes } = await setUp(world, browser);
  const page = await browser.get("/account/security");
  const made = await browser.submit(page, "/account/security/recovery-codes");
  const fresh = codesOn(made);
  assertEquals(fresh.length, 10);
  assertEquals(fresh.filter((code) => codes.includes(code)), []);
  const stranger = world.browser();
  await enterPassword(stranger);
  assertEquals((await show(stranger, { recoveryCode: codes[0]! })).status, 422);
  // As people type them.
  const typed = fresh[0]!.toUpperCase().replaceAll("-", " ").replaceAll("0", "O");
  assertEquals((await show(stranger, { recoveryCode: typed })).status, 303);
});

Deno.test("the app is switched off by a code or a recovery code, and by nothing else", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn(email);
  const off = `${appPath}/off`;
  const { secret } = await setUp(world, browser);
  const send = async (fields: Record<string, string>) =>
    await browser.post(off, { csrf: csrfOn(await browser.get("/account/security")), ...fields });
  assertEquals((await send({ code: "000000" })).status, 422);
  assertEquals((await send({})).status, 422);
  assertEquals((await enterPassword(world.browser())).headers.get("location"), secondPath);
  assertEquals((await send({ code: codeFor(secret, world.time.nowMs()) })).status, 303);
  assertEquals((await enterPassword(world.browser())).headers.get("location"), "/");

  const { codes } = await setUp(world, browser);
  assertEquals((await send({ recoveryCode: codes[9]! })).status, 303);
  assertEquals((await enterPassword(world.browser())).headers.get("location"), "/");
  const kinds = (await world.deliver()).map(({ subject }) => subject);
  assertEquals(
    kinds.filter((subject) => subject === "Đăng nhập hai bước của bạn đã thay đổi").length,
    5,
    "on, off, on, a recovery code, off",
  );
});

Deno.test("setting up signs all other browsers out", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn(email);
  const other = world.browser();
  await enterPassword(other);
  assert(await isIn(other));
  await setUp(world, browser);
  assertEquals([await isIn(browser), await isIn(other)], [true, false]);
});

Deno.test("a session that signed in a while ago confirms with the password first", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn(email);
  await world.time.advance(15 * minuteMs);
  const redirect = await browser.get(appPath);
  const confirm = "/account/confirm?next=%2Faccount%2Fsecurity%2Fapp";
  assertEquals([redirect.status, redirect.headers.get("location")], [303, confirm]);
  const page = await browser.get("/account/security");
  assert(!page.text.includes("Set up an app"), "a button that leads nowhere");
  const wrong = await browser.submit(await browser.get(confirm), confirm, { password: "wrong" });
  assertEquals(wrong.status, 422);
  assertEquals((await browser.get(appPath)).status, 303);
  const right = await browser.submit(await browser.get(confirm), confirm, {
    password: testPassword,
  });
  assertEquals(right.headers.get("location"), appPath);
  await setUp(world, browser);
});

Deno.test("an operator's code at the sign-in opens the operator's pages; the app stays on", async () => {
  await using world = await openDashboardWorld({ operators: [email] });
  const { browser: first } = await world.signIn(email);
  const { secret, codes } = await setUp(world, first);
  const account = await findAccountByEmail(world.kv, email);
  assert(account !== undefined);
  const passed = async () => {
    const nowMs = world.time.nowMs();
    const [session] = await listSessions(world.kv, account.id, nowMs);
    return await hasPassedSecondFactor(world.kv, session?.id ?? "", account.id, nowMs);
  };
  const byRecovery = world.browser();
  await world.time.advance(1_000);
  await enterPassword(byRecovery);
  await show(byRecovery, { recoveryCode: codes[0]! });
  assertEquals(await passed(), false, "a recovery code");
  const byCode = world.browser();
  await world.time.advance(1_000);
  await enterPassword(byCode);
  await show(byCode, { code: codeFor(secret, world.time.nowMs()) });
  assertEquals(await passed(), true, "a code");

  await world.time.advance(minuteMs);
  const page = await byCode.get("/account/security");
  assertStringIncludes(page.text, `deno task admin second-factor forget ${email}`);
  const csrf = csrfOn(page);
  const code = codeFor(secret, world.time.nowMs());
  await byCode.post(`${appPath}/off`, { csrf, code });
  assertEquals((await enterPassword(world.browser())).headers.get("location"), secondPath);
});

Deno.test("a deleted account keeps no second factor", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn(email);
  await setUp(world, browser);
  const page = await browser.get("/account");
  await browser.submit(page, "/account/delete", {
    confirmation: email,
    deletionPassword: testPassword,
  });
  assert((await getAccount(world.kv, account.id))?.deletedAtMs !== undefined);
  for (const key of [secondFactorKey(account.id), recoveryCodesKey(account.id)]) {
    assertEquals((await world.kv.get(key)).value, null);
  }
});

Deno.test("a wrong second factor is in the activity log of the person", async () => {
  await using world = await openDashboardWorld();
  const { browser: first, account } = await world.signIn(email);
  await setUp(world, first);
  const browser = world.browser();
  await enterPassword(browser);
  await show(browser, { code: "000000" });
  await show(browser, { recoveryCode: "aaaa-aaaa-aaaa-aaaa" });
  const { lines } = await findActivity(world.kv, account.id, {
    count: 9,
    act: "second_factor_failed",
  });
  assertEquals(lines.map(({ by }) => by.kind), ["stranger", "stranger"]);
});
