import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { getAccount } from "../../../../kv/people/accounts/accounts.ts";
import { createApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";
import { credit } from "../../../../kv/money/ledger/ledger.ts";
import {
  type DashboardWorld,
  openDashboardWorld,
  testPassword,
  tokenOf,
} from "../../../support/worlds/dashboard_world.ts";
import { ledgerLines } from "../../../support/worlds/money_world.ts";

const email = "ann@example.com";

async function signInAgain(world: DashboardWorld, address = email, password = testPassword) {
  const browser = world.browser({ "user-agent": "Mozilla/5.0 (Windows NT 10.0) Firefox/140.0" });
  const page = await browser.get("/sign-in");
  const answer = await browser.submit(page, "/sign-in", { email: address, password });
  return { browser, status: answer.status };
}

Deno.test("a new password signs all other browsers out and gives this one a new session", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn(email);
  const { browser: other } = await signInAgain(world);
  const before = browser.cookies.get("__Host-session");
  const page = await browser.get("/account");
  const wrong = await browser.submit(page, "/account/password", {
    currentPassword: "wrong",
    newPassword: "another long password",
  });
  assertEquals(wrong.status, 422);
  const done = await browser.submit(page, "/account/password", {
    currentPassword: testPassword,
    newPassword: "another long password",
  });
  assertEquals(done.headers.get("location"), "/account?done=password");
  assert(browser.cookies.get("__Host-session") !== before);
  assertEquals((await browser.get("/account")).status, 200);
  assertEquals((await other.get("/account")).status, 303);
  assertEquals((await signInAgain(world)).status, 422);
  assertEquals((await signInAgain(world, email, "another long password")).status, 303);
  const subjects = (await world.deliver()).map(({ subject }) => subject);
  assertEquals(subjects.filter((subject) => subject.includes("password was changed")).length, 1);
});

Deno.test("signed-in browsers are listed and can be signed out remotely", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn(email);
  const { browser: other } = await signInAgain(world);
  const page = await browser.get("/account");
  assertStringIncludes(page.text, "Firefox, Windows");
  assertStringIncludes(page.text, "203.0.113.5");
  const done = await browser.submit(page, "/account/sessions/sign-out");
  assertEquals(done.status, 303);
  assertEquals((await other.get("/account")).status, 303);
  assertEquals((await browser.get("/account")).status, 200);
});

Deno.test("sessions of others cannot be signed out", async () => {
  await using world = await openDashboardWorld();
  const { browser: ann } = await world.signIn(email);
  await signInAgain(world);
  const annsPage = await ann.get("/account");
  const session = /name="session" value="([^"]+)"/.exec(annsPage.text)![1]!;
  const { browser: bob } = await world.signIn("bob@example.com");
  await signInAgain(world, "bob@example.com");
  await bob.submit(await bob.get("/account"), "/account/sessions/sign-out", { session });
  assertStringIncludes((await ann.get("/account")).text, session);
});

Deno.test("all others can be signed out at once", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn(email);
  const others = [await signInAgain(world), await signInAgain(world)];
  await browser.submit(await browser.get("/account"), "/account/sessions/sign-out-others");
  for (const { browser: other } of others) assertEquals((await other.get("/account")).status, 303);
  assertEquals((await browser.get("/account")).status, 200);
});

Deno.test("a new address must be confirmed, and the old one is notified", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn(email);
  const page = await browser.get("/account");
  const wrong = await browser.submit(page, "/account/email", {
    newEmail: "new@example.com",
    emailPassword: "wrong",
  });
  assertEquals(wrong.status, 422);
  await browser.submit(page, "/account/email", {
    newEmail: "new@example.com",
    emailPassword: testPassword,
  });
  const [mail] = await world.deliver();
  assertEquals(mail!.to, "new@example.com");
  assertEquals((await getAccount(world.kv, account.id))?.email, email);

  const { browser: bob } = await world.signIn("bob@example.com");
  const token = tokenOf(mail);
  const path = "/account/email/confirm";
  assertEquals((await bob.submit(await bob.get(path), path, { token })).status, 422);
  const done = await browser.submit(await browser.get(path), path, { token });
  assertEquals(done.headers.get("location"), "/account?done=email");
  assertEquals((await getAccount(world.kv, account.id))?.email, "new@example.com");
  const [notice] = await world.deliver();
  assertEquals(notice!.to, email);
  assertEquals((await signInAgain(world)).status, 422);
  assertEquals((await signInAgain(world, "new@example.com")).status, 303);
});

Deno.test("an address that another account has is not taken over, and the answer does not reveal it", async () => {
  await using world = await openDashboardWorld();
  await world.signIn("bob@example.com");
  const { browser } = await world.signIn(email);
  const answer = await browser.submit(await browser.get("/account"), "/account/email", {
    newEmail: "bob@example.com",
    emailPassword: testPassword,
  });
  assertStringIncludes(answer.text, "sent an email to bob@example.com");
  assertEquals(await world.deliver(), []);
});

Deno.test("deleting the account drops the person, ends keys and sessions, and keeps the ledger", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn(email);
  const { browser: other } = await signInAgain(world);
  await createApiKey(world.kv, world.deps.masterKeys, account.id, { name: "k", nowMs: 1 });
  await credit(world.kv, {
    accountId: account.id,
    amountMicroVnd: 5_000_000n,
    kind: "topup",
    operationId: "t1",
    reason: "ST1",
    atMs: 1,
  });
  const page = await browser.get("/account");
  assertStringIncludes(page.text, "Your wallet still holds ₫5");
  const wrong = await browser.submit(page, "/account/delete", { confirmation: "bob@example.com" });
  assertEquals(wrong.status, 422);
  const noPassword = await browser.submit(page, "/account/delete", {
    confirmation: email,
    deletionPassword: "wrong",
  });
  assertEquals(noPassword.status, 422);
  assertEquals((await other.get("/account")).status, 200);
  const gone = await browser.submit(page, "/account/delete", {
    confirmation: " Ann@Example.com ",
    deletionPassword: testPassword,
    giveUp: "5",
  });
  assertEquals(gone.headers.get("location"), "/goodbye");
  assertEquals((await browser.follow(gone)).status, 200);

  assertEquals((await other.get("/account")).status, 303);
  assertEquals((await signInAgain(world)).status, 422);
  await world.deliver();
  const keys = await listApiKeys(world.kv, account.id);
  assert(keys.every(({ revokedAtMs }) => revokedAtMs !== undefined));
  assertEquals((await ledgerLines(world.kv, account.id)).length, 1);
  for await (const row of world.kv.list({ prefix: [] })) {
    assert(
      !Deno.inspect(row, { strAbbreviateSize: 1e6, depth: 9 }).includes(email),
      Deno.inspect(row.key),
    );
  }
});

Deno.test("only known announcements are shown", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn(email);
  const page = await browser.get("/account?done=%3Cb%3Eevil");
  assertEquals(page.status, 200);
  assert(!page.text.includes('class="notice success"'));
  assertStringIncludes((await browser.get("/account?done=password")).text, "has been changed");
});
