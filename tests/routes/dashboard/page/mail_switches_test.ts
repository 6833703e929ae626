/** Tests that people switch mails off: on the account page, and by the links in mails, which work without signing in. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import type { Mail, MailKind } from "../../../../core/people/mail/mail.ts";
import { switchOffToken } from "../../../../core/people/mail/switch_off.ts";
import { newMasterKey, readMasterKeys } from "../../../../core/people/api_keys/seal.ts";
import { addMail } from "../../../../kv/engine/outbox/outbox.ts";
import {
  type Account,
  getAccount,
  mailReaderOf,
  updateAccount,
} from "../../../../kv/people/accounts/accounts.ts";
import {
  type DashboardWorld,
  openDashboardWorld,
  testPassword,
} from "../../../support/worlds/dashboard_world.ts";

/** Queues a mail about a low balance, as if its reader had it switched on. */
async function queueLowBalance({ kv, time }: DashboardWorld): Promise<void> {
  const operation = kv.atomic();
  addMail(operation, {
    kind: "low_balance",
    to: "ann@example.com",
    locale: "en",
    balanceMicroVnd: 5_000_000_000n,
  }, { nowMs: time.nowMs() });
  await operation.commit();
}

async function mailsOffOf({ kv }: DashboardWorld, { id }: Account) {
  return (await getAccount(kv, id))?.mailsOff ?? [];
}

/** The path of the link under a mail. */
function linkOf(world: DashboardWorld, mail: Mail | undefined): string {
  const url = mail?.switchOffUrl ?? "";
  assert(url.startsWith(`${world.baseUrl}/mails/off?token=`), mail?.subject);
  assertStringIncludes(mail?.text ?? "", url);
  return url.slice(world.baseUrl.length);
}

/** What a mail service sends when its user clicks "unsubscribe": no cookie, no origin, the body of RFC 8058. */
const oneClick = {
  method: "POST",
  headers: { "content-type": "application/x-www-form-urlencoded" },
  body: "List-Unsubscribe=One-Click",
};

Deno.test("the account page has a checkbox for each kind, and those about security are always on", async () => {
  await using world = await openDashboardWorld({ operators: ["staff@example.com"] });
  const { browser, account } = await world.signIn();
  const page = await browser.get("/account");
  assert(/value="low_balance" checked/.test(page.text));
  assert(/value="new_browser" checked[^>]* disabled/.test(page.text));
  for (const kind of ["approval_waiting", "incident_opened", "reset_password"]) {
    assert(!page.text.includes(`value="${kind}"`), kind);
  }
  const form = new URLSearchParams({
    csrf: /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? "",
  });
  for (const kind of ["low_balance", "topup_credited"]) form.append("mails", kind);
  await updateAccount(world.kv, account.id, { mailsOff: ["of_a_later_version"] });
  const body = form.toString();
  const saved = await browser.send("/account/mails", { ...oneClick, body });
  assertEquals([saved.status, saved.headers.get("location")], [303, "/account?done=mails"]);
  const off = await mailsOffOf(world, account);
  assert(off.includes("bonus_credited") && off.includes("of_a_later_version"));
  assert(!off.includes("low_balance") && !off.includes("new_browser"));
  const again = await browser.get("/account?done=mails");
  assertStringIncludes(again.text, "Your choice of emails is saved");
  assert(/value="bonus_credited"(?! checked)/.test(again.text));

  const { browser: staff } = await world.signIn("staff@example.com");
  assertStringIncludes((await staff.get("/account")).text, 'value="approval_waiting" checked');
});

Deno.test("the choice counts when a mail is queued, and again when it is sent", async () => {
  await using world = await openDashboardWorld();
  const { account } = await world.signIn();
  await queueLowBalance(world);
  await updateAccount(world.kv, account.id, { mailsOff: ["low_balance", "key_changed"] });
  assertEquals(await world.deliver(), [], "it was switched off while it waited");
  const changed = await getAccount(world.kv, account.id);
  assert(changed !== undefined);
  const readerOf = (kind: MailKind) => mailReaderOf(changed, kind)?.to;
  assertEquals(readerOf("low_balance"), undefined);
  assertEquals(readerOf("topup_credited"), "ann@example.com");
  assertEquals(readerOf("key_changed"), "ann@example.com", "security cannot be switched off");
});

Deno.test("the link of a mail asks once and then switches its kind off, without signing in", async () => {
  await using world = await openDashboardWorld();
  const { account } = await world.signIn();
  await queueLowBalance(world);
  const link = linkOf(world, (await world.deliver())[0]);
  const stranger = world.browser();
  const asked = await stranger.get(link);
  assertStringIncludes(asked.text, "Get no more emails of the kind “Low balance”?");
  assertEquals(await mailsOffOf(world, account), [], "a program that opens links changes nothing");
  const done = await stranger.submit(asked, link, {});
  assertStringIncludes(done.text, "You get no more emails of the kind “Low balance”");
  assertEquals(await mailsOffOf(world, account), ["low_balance"]);
  await queueLowBalance(world);
  assertEquals(await world.deliver(), []);
});

Deno.test("the button of a mail client switches off with one POST, and repeats change nothing", async () => {
  await using world = await openDashboardWorld();
  const { browser, account } = await world.signIn();
  await queueLowBalance(world);
  const link = linkOf(world, (await world.deliver())[0]);
  const post = (path: string, headers: Record<string, string> = {}) =>
    world.browser().send(path, { ...oneClick, headers: { ...oneClick.headers, ...headers } });
  assertEquals((await post(link, { "sec-fetch-site": "cross-site" })).status, 403);
  assertEquals(await mailsOffOf(world, account), []);
  for (let time = 0; time < 3; time++) assertEquals((await post(link)).status, 200);
  assertEquals(await mailsOffOf(world, account), ["low_balance"]);
  const page = await browser.get(link);
  assertEquals((await browser.submit(page, link, {})).status, 200, "signed in, by the button");
});

Deno.test("a link that the gateway has not signed, or about security, switches nothing off", async () => {
  await using world = await openDashboardWorld();
  const { account } = await world.signIn();
  const subject = { kind: "account", accountId: account.id } as const;
  const stranger = await readMasterKeys(newMasterKey());
  const { masterKeys } = world.deps;
  const good = await switchOffToken(masterKeys, { subject, mailKind: "low_balance" });
  const tokens = [
    "",
    "x",
    "a.b.c.d.e",
    "x".repeat(5_000),
    await switchOffToken(stranger, { subject, mailKind: "low_balance" }),
    good.replace("low_balance", "topup_credited"),
    await switchOffToken(masterKeys, { subject, mailKind: "new_browser" }),
  ];
  for (const token of tokens) {
    const path = `/mails/off?token=${encodeURIComponent(token)}`;
    assertEquals((await world.browser().get(path)).status, 422, token);
    assertEquals((await world.browser().send(path, oneClick)).status, 422, token);
  }
  assertEquals(await mailsOffOf(world, account), []);
});

Deno.test("a sign-in from another browser is mailed with browser and address, that from a known one is not", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn();
  const signIn = async (one: typeof browser) => {
    const page = await one.get("/sign-in");
    await one.submit(page, "/sign-in", { email: "ann@example.com", password: testPassword });
  };
  assertEquals(await world.deliver(), [], "the first browser is no news");
  const agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
  const other = world.browser({ "user-agent": agent }, "198.51.100.7");
  await signIn(other);
  const [mail, ...more] = await world.deliver();
  assertEquals(more, []);
  assertStringIncludes(mail?.text ?? "", "Firefox, Linux");
  assertStringIncludes(mail?.text ?? "", "198.51.100.7");
  assertEquals(mail?.switchOffUrl, undefined);
  other.cookies.delete("__Host-session");
  await signIn(other);
  assertEquals(await world.deliver(), []);
});
