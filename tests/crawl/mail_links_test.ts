/** The links of every kind of mail, opened by a browser that is not signed in, and by one that acts for another account. */
import type { Account } from "../../kv/people/accounts/accounts.ts";
import type { Locale } from "../../core/lib/base/locale.ts";
import type { Mail, MailJob } from "../../core/people/mail/mail.ts";
import { mailJobSchema } from "../../core/people/mail/mail.ts";
import { mailKinds } from "../../core/people/mail/mail_kinds.ts";
import { addMail } from "../../kv/engine/outbox/outbox.ts";
import { runDue } from "../../kv/engine/outbox/outbox_worker.ts";
import { setSessionOrganisation } from "../../kv/people/accounts/sessions.ts";
import { mailWork } from "../../routes/mail/send_mail.ts";
import { assert, assertEquals } from "../support/assert.ts";
import type { LoadedPage, TestBrowser } from "../support/browser/test_browser.ts";
import { exampleMails } from "../support/example_mails.ts";
import { openDashboardWorld, testPassword } from "../support/worlds/dashboard_world.ts";
import { sessionCookie } from "../support/worlds/full_company.ts";
import { type CrawledGateway, openCrawledGateway } from "./crawled_gateway.ts";
import { readHtml } from "./html_page.ts";

/** Redirects that are followed one after the other. */
const maxRedirects = 5;

/** Sends a mail, as the worker of the queue does. */
async function sent(
  { instance: { gateway, baseUrl } }: CrawledGateway,
  job: MailJob,
): Promise<Mail[]> {
  const { kv, time, masterKeys } = gateway;
  const mails: Mail[] = [];
  const operation = kv.atomic();
  addMail(operation, job, { nowMs: time.nowMs() });
  await operation.commit();
  const mailer = { send: (mail: Mail) => Promise.resolve(void mails.push(mail)) };
  const world = { kv, clock: time, random: () => 0 };
  await runDue(world, mailWork({ kv, clock: time, mailer, masterKeys, baseUrl }));
  return mails.filter(({ to }) => to === job.to);
}

/** The addresses in a mail, without those that its text only names. */
function linksOf({ text }: Mail, origin: string): readonly string[] {
  return (text.match(/https:\S+/g) ?? []).filter((url) => url.startsWith(`${origin}/`))
    .map((url) => url.slice(origin.length));
}

/** Opens a link and follows where it leads. */
async function open(browser: TestBrowser, link: string): Promise<LoadedPage> {
  let page = await browser.get(link.split("#")[0] ?? link);
  for (let at = 0; page.headers.get("location") !== null && at < maxRedirects; at++) {
    page = await browser.follow(page);
  }
  return page;
}

/** Whose pages a page shows, by the menu of the account. */
function actingOn({ text }: LoadedPage): string | undefined {
  return readHtml(text).texts.find(({ within }) => within?.attributes["class"] === "who")?.text;
}

/** Opens a link signed out, then signs in where the page asks for it, as the person of a session. */
async function openAfterSignIn(
  { instance }: CrawledGateway,
  link: string,
  { token, locale }: { readonly token: string; readonly locale: Locale },
): Promise<LoadedPage> {
  const browser = instance.browser();
  browser.cookies.set("locale", locale);
  const asked = await open(browser, link);
  assertEquals(asked.status, 200, link);
  if (!asked.path.startsWith("/sign-in?")) return asked;
  // Whoever is signed in goes where the form would lead.
  browser.cookies.set(sessionCookie(instance), token);
  return await open(browser, asked.path);
}

/** What a page must show for the link to lead to the thing of the mail, in the company of the tests. */
const shown: Partial<Record<MailJob["kind"], string>> = {
  key_changed: "Zirkonia production",
  limit_reached: "Zirkonia production",
  budget_reached: "Zirkonia all",
  budget_exhausted: "Zirkonia all",
  webhook_switched_off: "hooks.zirkonia.example",
  member_joined: "developer@zirkonia.example",
  company_domain_missing: "zirkonia.example",
};

interface Reader {
  readonly to: string;
  readonly about: Account;
  /** What the menu shows. */
  readonly name: string;
  readonly token: string;
}

async function problemsOf(gateway: CrawledGateway, { to, about, name, token }: Reader) {
  const { instance: { baseUrl, gateway: { kv, time } } } = gateway;
  const problems: string[] = [];
  const isCompany = about.organisation !== undefined;
  for (const example of exampleMails.filter((one) => mailKinds[one.kind].audience === "customer")) {
    for (const locale of ["en", "vi"] as const) {
      const { kind } = example;
      const isAbout = mailKinds[kind].always !== "requested" &&
        mailKinds[kind].isAboutPerson !== true;
      const organisation = about.organisation?.name;
      const job = mailJobSchema.parse({
        ...example,
        to,
        locale,
        ...(isAbout && {
          about: { accountId: about.id, ...(organisation !== undefined && { organisation }) },
        }),
      });
      for (const mail of await sent(gateway, job)) {
        for (const link of linksOf(mail, baseUrl)) {
          // The session acts for another account than the mail is about.
          const other = isCompany ? gateway.company.people.owner.person.id : gateway.customer.id;
          await setSessionOrganisation(kv, token, other, { by: undefined, nowMs: time.nowMs() });
          const page = await openAfterSignIn(gateway, link, { token, locale });
          const say = (what: string) => problems.push(`${kind} ${locale} ${link}: ${what}`);
          const path = page.path.split("?")[0];
          const wanted = link.split(/[?#]/)[0];
          if (page.status !== 200) say(`status ${page.status}`);
          if (path !== wanted && path !== "/") say(`leads to ${page.path}`);
          const isOfAccount = link.includes("?organisation=");
          const isOpen = link.includes("#") || link.startsWith("/mails/off");
          if (isAbout && !isOpen && !isOfAccount) say("names no account");
          if (isOfAccount && actingOn(page) !== name) say(`shows ${actingOn(page)}`);
          const thing = isCompany && isOfAccount ? shown[kind] : undefined;
          if (thing !== undefined && !page.text.includes(thing)) say(`does not show ${thing}`);
        }
      }
    }
  }
  return problems;
}

Deno.test("every link of every mail leads to what it names, in the account it is about", async () => {
  await using gateway = await openCrawledGateway();
  const { company, customer } = gateway;
  const owner = gateway.session("owner");
  const personal = gateway.session("customer");
  assert(owner !== undefined && personal !== undefined);
  const ofCompany = {
    to: company.people.owner.person.email ?? "",
    about: company.account,
    name: "Zirkonia",
    token: owner,
  };
  const { email = "" } = customer;
  const own = { to: email, about: customer, name: email, token: personal };
  assertEquals(await problemsOf(gateway, ofCompany), []);
  assertEquals(await problemsOf(gateway, own), []);
});

Deno.test("a link about an organisation of others says so, and shows nothing of it", async () => {
  await using gateway = await openCrawledGateway();
  for (const locale of ["en", "vi"] as const) {
    const browser = gateway.browser("customer", locale);
    const page = await open(browser, `/keys?organisation=${gateway.company.account.id}`);
    assertEquals([page.status, page.path], [200, "/organisations?foreign"]);
    assert(!page.text.includes("Zirkonia"));
    assertEquals(
      (await open(browser, "/keys?organisation=nonsense")).path,
      "/organisations?foreign",
    );
  }
});

Deno.test("a link with an organisation never leads to another host", async () => {
  await using gateway = await openCrawledGateway();
  const { company, customer } = gateway;
  const browser = gateway.browser("customer", "en");
  for (const account of [company.account, customer]) {
    for (const path of ["/.//evil.example/keys", "/.///evil.example", "/.//evil.example//"]) {
      const { headers } = await browser.get(`${path}?organisation=${account.id}`);
      const location = headers.get("location") ?? "/";
      assert(/^\/(?!\/)/.test(location), location);
    }
  }
});

Deno.test("who is invited lands on the invitation after signing up and after signing in", async () => {
  await using world = await openDashboardWorld();
  const { account: owner, browser } = await world.signIn("owner@acme.example");
  await browser.submit(await browser.get("/organisations"), "/organisations", { name: "Acme" });
  const invited = ["new@example.com", "old@example.com"];
  const { account: old } = await world.signIn("old@example.com");
  for (const email of invited) {
    const page = await browser.get("/organisation");
    await browser.submit(page, "/organisation/invitations", { email, role: "viewer" });
  }
  assert(owner.id !== old.id);
  const [mail] = (await world.deliver()).filter(({ to, subject }) =>
    to === "new@example.com" && subject.includes("Acme")
  );
  const link = /https:\S+/.exec(mail?.text ?? "")?.[0]?.slice(world.baseUrl.length);
  assert(link !== undefined);

  const fresh = world.browser();
  const asked = await fresh.follow(await fresh.get(link));
  const href = /href="(\/sign-up[^"]*)"/.exec(asked.text)?.[1]?.replaceAll("&amp;", "&");
  const form = await fresh.get(href ?? "/sign-up");
  await fresh.submit(form, "/sign-up", { email: "new@example.com", password: testPassword });
  const confirm = (await world.deliver()).find(({ to }) => to === "new@example.com");
  const token = /#token=([\w-]+)/.exec(confirm?.text ?? "")?.[1] ?? "";
  const verified = await fresh.submit(await fresh.get("/verify"), "/verify", { token });
  const landed = await fresh.follow(verified);
  assertEquals([landed.path, landed.text.includes("Acme")], ["/organisations", true]);

  const known = world.browser();
  const signIn = { email: "old@example.com", password: testPassword };
  const done = await known.submit(await known.get("/sign-in"), "/sign-in", signIn);
  const arrived = await known.follow(done);
  assertEquals([arrived.path, arrived.text.includes("Acme")], ["/organisations", true]);
});
