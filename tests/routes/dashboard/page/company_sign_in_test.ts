/** Sign-in at the provider of an organisation, for people of its verified domains. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { actFor, type Company, openCompany } from "../../../support/worlds/company_world.ts";
import {
  type DashboardWorld,
  openDashboardWorld,
} from "../../../support/worlds/dashboard_world.ts";
import {
  type CompanyIssuer,
  type CompanyPerson,
  openCompanyIssuer,
} from "../../../support/servers/company_issuer.ts";
import type { LoadedPage, TestBrowser } from "../../../support/browser/test_browser.ts";
import { codeFor, secretOn } from "../../../support/worlds/operator_world.ts";
import {
  changeEmail,
  setPasswordHash,
} from "../../../../kv/people/accounts/account_credentials.ts";
import { forgetPerson } from "../../../../kv/people/deletion/account_deletion.ts";
import { findAccountByEmail, getAccount } from "../../../../kv/people/accounts/accounts.ts";
import {
  findCompanySignIn,
  getCompanyOpenId,
  listCompanyDomains,
} from "../../../../kv/people/organisations/company_sign_in.ts";
import { acceptInvitation, invite } from "../../../../kv/people/organisations/invitations.ts";
import { listMembers, removeMember } from "../../../../kv/people/organisations/members.ts";
import { handOver, listMemberships } from "../../../../kv/people/organisations/organisations.ts";
import { createApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { findActivity } from "../../../../kv/people/audit/account_activity.ts";
import { closeAccount } from "../../../../kv/services/operations/account_closing.ts";
import { hourMs } from "../../../../core/lib/time/durations.ts";
import { domainGraceMs } from "../../../../core/people/organisations/domain.ts";
import { recheckDomains } from "../../../../kv/people/organisations/domain_checks.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";

const path = "/organisation/sign-in";
const domain = "acme.example";
const dan: CompanyPerson = { subject: "7", email: "dan@acme.example" };

interface CompanyWorld extends AsyncDisposable {
  readonly world: DashboardWorld;
  readonly company: Company;
  readonly idp: CompanyIssuer;
  /** The TXT records of the world, by name. */
  readonly records: Map<string, string[]>;
}

async function openWorld(): Promise<CompanyWorld> {
  const records = new Map<string, string[]>();
  const idp = await openCompanyIssuer("https://login.acme.example");
  const world = await openDashboardWorld({
    companySignIn: {
      fetch: idp.fetch,
      resolveTxt: (name) => {
        const texts = records.get(name);
        return texts === undefined ? Promise.reject(new Error("NXDOMAIN")) : Promise.resolve(texts);
      },
    },
  });
  const company = await openCompany(world);
  return {
    world,
    company,
    idp,
    records,
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

const whereTo = ({ status, headers }: LoadedPage) => [status, headers.get("location")];

async function saveProvider(
  { company, idp }: CompanyWorld,
  fields: Record<string, string> = {},
): Promise<LoadedPage> {
  const { browser } = company.members.owner;
  return await browser.submit(await browser.get(path), path, {
    issuer: idp.issuer,
    clientId: "gateway",
    clientSecret: "s3cret of Acme",
    role: "viewer",
    ...fields,
  });
}

/** Adds a domain and returns the text that its record has to have. */
async function addDomain(browser: TestBrowser, name = domain): Promise<string> {
  await browser.submit(await browser.get(path), `${path}/domains`, { domain: name });
  const page = await browser.get(path);
  return /data-copy="(gateway-verification=[\w-]{43})"/.exec(page.text)?.[1] ?? "";
}

async function verify(browser: TestBrowser): Promise<LoadedPage> {
  return await browser.submit(await browser.get(path), `${path}/domains/verify`);
}

/** An organisation with a provider and a verified domain. */
async function setUp(company: CompanyWorld): Promise<void> {
  const { browser } = company.company.members.owner;
  assertEquals(whereTo(await saveProvider(company)), [303, `${path}?done=saved`]);
  company.records.set(`_gateway-verification.${domain}`, ["v=spf1 -all", await addDomain(browser)]);
  assertEquals(whereTo(await verify(browser)), [303, `${path}?done=verified`]);
}

/** Goes the whole way of a person: the address, the link, the provider, and back. */
async function signIn(
  { world, idp }: CompanyWorld,
  person: CompanyPerson,
  browser = world.browser(),
): Promise<{ browser: TestBrowser; back: LoadedPage }> {
  const form = await browser.get("/sign-in/company?next=%2Fusage");
  const way = await browser.submit(form, "/sign-in/company", { email: `new@${domain}` });
  const link = /href="(\/auth\/openid\/company[^"]+)"/.exec(way.text)?.[1]?.replaceAll(
    "&amp;",
    "&",
  );
  assert(link !== undefined, way.text);
  const leaving = await browser.get(link);
  const url = idp.signIn(leaving.headers.get("location"), person);
  return { browser, back: await browser.get(url.pathname + url.search) };
}

async function roleOf({ world, company }: CompanyWorld, email: string) {
  const account = await getAccount(world.kv, company.account.id);
  const members = account === undefined ? [] : await listMembers(world.kv, account);
  return members.find((member) => member.email === email)?.role;
}

Deno.test("a person of a verified domain joins with the default role, and acts for the organisation", async () => {
  await using company = await openWorld();
  await setUp(company);
  const { browser, back } = await signIn(company, dan);
  assertEquals(whereTo(back), [303, "/usage"]);
  assertEquals(await roleOf(company, dan.email), "viewer");
  assertStringIncludes((await browser.get("/organisation")).text, "Acme");
  const account = await findAccountByEmail(company.world.kv, dan.email);
  assert(account !== undefined);
  assertEquals(await listApiKeys(company.world.kv, account.id), []);
  // The second time nothing is made anew.
  assertEquals((await signIn(company, dan)).back.status, 303);
  assertEquals((await findAccountByEmail(company.world.kv, dan.email))?.id, account.id);
});

Deno.test("a person who has an account keeps it, and members keep their role", async () => {
  await using company = await openWorld();
  await setUp(company);
  const { world } = company;
  const { account } = await world.signIn(dan.email);
  await signIn(company, dan);
  assertEquals((await findAccountByEmail(world.kv, dan.email))?.id, account.id);
  const admin: CompanyPerson = { subject: "8", email: "admin@acme.example" };
  await signIn(company, admin);
  assertEquals(await roleOf(company, admin.email), "admin");
});

Deno.test("the secret is sealed, is not shown, and stays if none is typed", async () => {
  await using company = await openWorld();
  await setUp(company);
  const { world, company: { account, members } } = company;
  const stored = await getCompanyOpenId(world.kv, account.id);
  assert(stored !== undefined && !JSON.stringify(stored).includes("s3cret"));
  const page = await members.owner.browser.get(path);
  assert(!page.text.includes("s3cret") && !page.text.includes(stored.sealedSecret));
  await saveProvider(company, { clientSecret: "", role: "developer" });
  const changed = await getCompanyOpenId(world.kv, account.id);
  assertEquals([changed?.sealedSecret, changed?.role], [stored.sealedSecret, "developer"]);
});

Deno.test("what is refused of people who come back", async () => {
  await using company = await openWorld();
  await setUp(company);
  const { world } = company;
  const cases: Readonly<Record<string, readonly [CompanyPerson, string]>> = {
    "an address of another domain": [
      { subject: "9", email: "dan@other.example" },
      "does not belong to a domain of the company",
    ],
    "a subdomain": [
      { subject: "9", email: "dan@mail.acme.example" },
      "does not belong to a domain of the company",
    ],
    "an address that is not verified": [
      { ...dan, verified: false },
      "has not verified your email address",
    ],
  };
  for (const [name, [person, text]] of Object.entries(cases)) {
    const { browser, back } = await signIn(company, person);
    assertEquals(back.status, 422, name);
    assertStringIncludes(back.text, text, name);
    assertEquals((await browser.get("/account")).status, 303, name);
    assertEquals(await findAccountByEmail(world.kv, person.email), undefined, name);
  }
});

Deno.test("an organisation opens no account whose address has left its domains", async () => {
  await using company = await openWorld();
  await setUp(company);
  const { world } = company;
  await signIn(company, dan);
  const account = await findAccountByEmail(world.kv, dan.email);
  assert(account !== undefined);
  await changeEmail(world.kv, account.id, { from: dan.email, to: "dan@home.example" });
  const { back } = await signIn(company, dan);
  assertEquals(back.status, 422);
  assertStringIncludes(back.text, "does not belong to a domain of the company");
});

Deno.test("a return counts in the browser that left, and once", async () => {
  await using company = await openWorld();
  await setUp(company);
  const { world, idp } = company;
  const browser = world.browser();
  const leaving = await browser.get(`/auth/openid/company?domain=${domain}`);
  const url = idp.signIn(leaving.headers.get("location"), dan);
  const stolen = await world.browser().get(url.pathname + url.search);
  assertEquals(stolen.status, 422);
  assertEquals((await browser.get(url.pathname + url.search)).status, 422, "used up by the thief");
});

Deno.test("an organisation that removes provider or domain lets nobody in who is on the way", async () => {
  await using company = await openWorld();
  await setUp(company);
  const { world, idp, company: { members: { owner } } } = company;
  for (const form of [`${path}/remove`, `${path}/domains/remove`]) {
    const browser = world.browser();
    const leaving = await browser.get(`/auth/openid/company?domain=${domain}`);
    const url = idp.signIn(leaving.headers.get("location"), dan);
    await owner.browser.submit(await owner.browser.get(path), form);
    assertEquals((await browser.get(url.pathname + url.search)).status, 422, form);
    assertEquals(await findAccountByEmail(world.kv, dan.email), undefined);
    await saveProvider(company);
  }
});

Deno.test("a second factor of the person is asked for, and the organisation is acted for afterwards", async () => {
  await using company = await openWorld();
  await setUp(company);
  const { world } = company;
  const { browser: own } = await world.signIn(dan.email);
  const page = await own.get("/account/security/app");
  const secret = secretOn(page) ?? "";
  await own.submit(page, "/account/security/app", { code: codeFor(secret, world.time.nowMs()) });
  await world.time.advance(60_000);
  const { browser, back } = await signIn(company, dan);
  assertEquals(whereTo(back), [303, "/sign-in/second-factor"]);
  const second = await browser.get("/sign-in/second-factor");
  const done = await browser.submit(second, "/sign-in/second-factor", {
    code: codeFor(secret, world.time.nowMs()),
  });
  assertEquals(whereTo(done), [303, "/usage"]);
  assertStringIncludes((await browser.get("/organisation")).text, "Acme");
});

Deno.test("a domain counts once its record is there, and belongs to one organisation", async () => {
  await using company = await openWorld();
  const { world, records, company: { account, members: { owner } } } = company;
  await saveProvider(company);
  const record = await addDomain(owner.browser);
  const name = `_gateway-verification.${domain}`;
  const none = await verify(owner.browser);
  assertEquals(none.status, 422);
  assertStringIncludes(none.text, "The record of acme.example was not found.");
  assertEquals(await findCompanySignIn(world.kv, domain), undefined);
  records.set(name, [`${record}x`, "gateway-verification="]);
  assertEquals((await verify(owner.browser)).status, 422, "another text");
  records.set(name, [record]);
  await verify(owner.browser);
  assertEquals((await findCompanySignIn(world.kv, domain))?.organisationId, account.id);

  const rival = await openCompany(world, "Rival");
  const other = rival.members.owner.browser;
  const rivalRecord = await addDomain(other);
  assert(rivalRecord !== record);
  records.set(name, [record, rivalRecord]);
  const taken = await verify(other);
  assertStringIncludes(taken.text, "Another organisation has verified acme.example");
  records.set(name, [rivalRecord]);
  assertEquals(whereTo(await verify(other)), [303, `${path}?done=verified`]);
  const [former] = await listCompanyDomains(world.kv, account.id);
  assertEquals(former?.verifiedAtMs, undefined);
  assertEquals(await findCompanySignIn(world.kv, domain), undefined, "the rival has no provider");
});

Deno.test("a domain whose record goes away is shown with its last day, then leads nowhere", async () => {
  await using company = await openWorld();
  await setUp(company);
  const { world, company: { members: { owner } } } = company;
  const check = async () =>
    await recheckDomains({
      kv: world.kv,
      nowMs: world.time.nowMs(),
      resolveTxt: (name) => Promise.resolve(company.records.get(name) ?? []),
    });
  company.records.clear();
  await world.time.advance(6 * hourMs);
  assertEquals(await check(), 1);
  const page = await owner.browser.get(path);
  assertStringIncludes(page.text, "record missing");
  assertStringIncludes(page.text, "gateway-verification=");
  assertEquals((await signIn(company, dan)).back.status, 303, "it still counts");
  await world.time.advance(domainGraceMs);
  assertEquals(await check(), 1);
  const browser = world.browser();
  const form = await browser.get("/sign-in/company");
  const none = await browser.submit(form, "/sign-in/company", { email: dan.email });
  assertStringIncludes(none.text, "No company with addresses at acme.example signs in here.");
});

Deno.test("what is refused of a provider", async () => {
  await using company = await openWorld();
  const { idp, world, company: { account } } = company;
  const cases: Readonly<Record<string, readonly [Record<string, string>, string]>> = {
    "no https": [{ issuer: "http://login.acme.example" }, "An issuer is an https address"],
    "an address inside": [{ issuer: "https://10.0.0.1" }, "An issuer is an https address"],
    "this machine": [{ issuer: "https://localhost" }, "An issuer is an https address"],
    "a query": [{ issuer: `${idp.issuer}?x=1` }, "An issuer is an https address"],
    "nobody there": [{ issuer: "https://login.other.example" }, "No OpenID provider answers"],
    "no client": [{ clientId: "" }, "A client ID has 1 to 255 characters."],
    "no secret": [{ clientSecret: "" }, "A client secret has 1 to 1,000 characters."],
    "a role that nobody is given": [{ role: "owner" }, "There is no such role."],
  };
  for (const [name, [fields, text]] of Object.entries(cases)) {
    const refused = await saveProvider(company, fields);
    assertEquals(refused.status, 422, name);
    assertStringIncludes(refused.text, text, name);
  }
  assertEquals(await getCompanyOpenId(world.kv, account.id), undefined);
});

Deno.test("a stored secret goes to no other issuer or client: it is asked for again", async () => {
  await using company = await openWorld();
  const { idp, world, company: { account } } = company;
  assertEquals((await saveProvider(company)).status, 303);
  const before = await getCompanyOpenId(world.kv, account.id);
  const others = [
    { issuer: `${idp.issuer}/`, clientSecret: "" },
    { issuer: "https://evil.example", clientSecret: "" },
    { clientId: "another", clientSecret: "" },
  ];
  for (const fields of others) {
    const refused = await saveProvider(company, fields);
    assertEquals(refused.status, 422, JSON.stringify(fields));
    assertStringIncludes(refused.text, "Enter the secret again");
    assertEquals(await getCompanyOpenId(world.kv, account.id), before);
  }
  assertEquals((await saveProvider(company, { clientSecret: "", role: "billing" })).status, 303);
});

Deno.test("only who may change the organisation sees the page, a moment after signing in", async () => {
  await using company = await openWorld();
  const { world, company: { members } } = company;
  for (const role of ["developer", "billing", "viewer"] as const) {
    const { browser } = members[role];
    assertEquals((await browser.get(path)).status, 403, role);
    const csrf = /name="csrf" value="([^"]+)"/.exec((await browser.get("/account")).text)?.[1];
    const posted = await browser.post(`${path}/domains`, { csrf: csrf ?? "", domain });
    assertEquals(posted.status, 403, role);
  }
  assertEquals((await members.admin.browser.get(path)).status, 200);
  const page = await members.owner.browser.get(path);
  await world.time.advance(15 * 60_000);
  const late = await members.owner.browser.submit(page, `${path}/domains`, { domain });
  assertEquals(whereTo(late), [303, "/account/confirm?next=%2Forganisation%2Fsign-in"]);
});

Deno.test("addresses without a company are told so; without the network there is no such page", async () => {
  await using company = await openWorld();
  const browser = company.world.browser();
  const form = await browser.get("/sign-in/company");
  const none = await browser.submit(form, "/sign-in/company", { email: "ann@nowhere.example" });
  assertEquals(none.status, 422);
  assertStringIncludes(none.text, "No company with addresses at nowhere.example signs in here.");
  await using other = await openDashboardWorld();
  assert(!(await other.browser().get("/sign-in")).text.includes("/sign-in/company"));
  assertEquals((await other.browser().get("/sign-in/company")).status, 404);
});

/** Sends the form of the requirement as somebody who may. */
async function require(browser: TestBrowser, required = "yes"): Promise<LoadedPage> {
  return await browser.submit(await browser.get(path), `${path}/require`, { required });
}

Deno.test("an organisation that requires its provider keeps out sessions that began another way", async () => {
  await using company = await openWorld();
  await setUp(company);
  const { world, company: { account, members } } = company;
  const { browser: dans } = await signIn(company, dan);
  const key = await createApiKey(world.kv, world.deps.masterKeys, account.id, {
    name: "nightly-batch",
    nowMs: world.time.nowMs(),
  });
  assert(key.ok);
  // An admin who came by a password would lock themselves out; the owner is exempt.
  const early = await members.admin.browser.get(path);
  assertStringIncludes(early.text, "The owner keeps every way in");
  const refused = await require(members.admin.browser);
  assertEquals(refused.status, 422);
  assertStringIncludes(refused.text, "Sign in at your provider yourself first");
  assertEquals(whereTo(await require(members.owner.browser)), [303, `${path}?done=required`]);

  for (const role of ["admin", "developer", "billing", "viewer"] as const) {
    const { browser, person } = members[role];
    const page = await browser.get("/organisation");
    assertStringIncludes(page.text, "Acme requires that you sign in with your company", role);
    assert(!page.text.includes(`Remove dan@`), role);
    assert(page.text.includes(`<h1 id="page-title">${person.email}</h1>`), role);
    assertEquals((await browser.get(path)).status, 200, "their own organisation has a page, too");
    assertEquals((await browser.get("/keys")).text.includes("nightly-batch"), false, role);
  }
  assertStringIncludes((await members.owner.browser.get("/keys")).text, "nightly-batch");
  assertStringIncludes((await dans.get("/keys")).text, "nightly-batch");
  assertEquals((await listApiKeys(world.kv, account.id))[0]?.revokedAtMs, undefined);

  // The switcher leads to the provider, and a switch without it changes nothing.
  const { browser } = members.admin;
  const list = await browser.get("/organisations");
  assertStringIncludes(list.text, 'href="/sign-in/company"');
  await browser.submit(list, "/organisations/switch", { organisation: account.id });
  assertEquals((await browser.get("/keys")).text.includes("nightly-batch"), false);
  await signIn(company, { subject: "8", email: "admin@acme.example" }, browser);
  assertStringIncludes((await browser.get("/keys")).text, "nightly-batch");
  // Between two organisations: the own one takes every session, and the way back needs no new sign-in.
  for (const [to, isShown] of [[members.admin.person, false], [account, true]] as const) {
    await actFor(browser, to);
    assertEquals((await browser.get("/keys")).text.includes("nightly-batch"), isShown);
  }
  assertEquals(whereTo(await require(browser, "no")), [303, `${path}?done=notRequired`]);
  assertStringIncludes((await members.viewer.browser.get("/keys")).text, "nightly-batch");
});

Deno.test("what a requirement needs, and what ends it", async () => {
  await using company = await openWorld();
  const { world, company: { account, members: { owner, viewer } } } = company;
  await saveProvider(company);
  const csrf = /name="csrf" value="([^"]+)"/.exec((await owner.browser.get(path)).text)?.[1] ?? "";
  const early = await owner.browser.post(`${path}/require`, { csrf, required: "yes" });
  assertEquals(early.status, 422);
  assertStringIncludes(early.text, "Save a provider and verify a domain first.");
  company.records.set(`_gateway-verification.${domain}`, [await addDomain(owner.browser)]);
  await verify(owner.browser);
  await require(owner.browser);
  assertStringIncludes((await viewer.browser.get("/organisation")).text, "requires that you");
  await owner.browser.submit(await owner.browser.get(path), `${path}/remove`);
  assertEquals((await getAccount(world.kv, account.id))?.companySignInRequired, undefined);
  assertStringIncludes((await viewer.browser.get("/organisation")).text, "Acme");
  const changes = (await findActivity(world.kv, account.id, { count: 50 })).lines
    .filter(({ act }) => act === "company_sign_in_changed");
  assertEquals(changes.map(({ after }) => after?.["required"] ?? after?.["issuer"]), [
    undefined,
    "true",
    company.idp.issuer,
  ]);
  const text = JSON.stringify(changes);
  assert(!text.includes("s3cret") && !text.includes("sealed"), "no secret is in the log");
});

Deno.test("who belongs to nothing else can still sign in, and is told why the organisation is not there", async () => {
  await using company = await openWorld();
  await setUp(company);
  const { world, company: { account, members: { owner } } } = company;
  const { browser } = await signIn(company, dan);
  const person = await findAccountByEmail(world.kv, dan.email);
  assert(person !== undefined);
  // Dan's own organisation goes to somebody else.
  const nowMs = world.time.nowMs();
  const inviting = {
    email: "owner@acme.example",
    role: "admin",
    inviter: "x",
    locale: "en",
  } as const;
  await invite(world.kv, person.id, { ...inviting, restsOn: { personId: person.id }, nowMs });
  assertEquals(await acceptInvitation(world.kv, person.id, owner.person, { nowMs }), "joined");
  await handOver(world.kv, person.id, { from: person, to: owner.person.id, nowMs });
  await removeMember(world.kv, person.id, person.id, { nowMs });
  await require(owner.browser);
  assertStringIncludes((await browser.get("/organisation")).text, "Acme");
  const password = "a few unrelated words";
  await setPasswordHash(world.kv, person.id, await world.deps.passwords.hash(password));
  const other = world.browser();
  const signedIn = await other.submit(await other.get("/sign-in"), "/sign-in", {
    email: dan.email,
    password,
  });
  assertEquals(whereTo(signedIn), [303, "/"]);
  const now = await getAccount(world.kv, person.id);
  assert(now !== undefined);
  assertEquals((await listMemberships(world.kv, now)).length, 2, "Acme and a new one");
  await other.submit(await other.get("/organisations"), "/organisations/switch", {
    organisation: account.id,
  });
  const page = await other.get("/organisation");
  assertStringIncludes(page.text, "Acme requires that you sign in with your company");
});

Deno.test("who was removed stays out, also with a new account, until an admin or an invitation lets them in", async () => {
  await using company = await openWorld();
  await setUp(company);
  const { world, company: { account, members: { owner, admin } } } = company;
  const { browser: own } = await signIn(company, dan);
  const person = await findAccountByEmail(world.kv, dan.email);
  assert(person !== undefined);
  const remove = async () =>
    await owner.browser.submit(
      await owner.browser.get("/organisation"),
      "/organisation/members/remove",
      { person: (await findAccountByEmail(world.kv, dan.email))?.id ?? "" },
    );
  assertEquals(whereTo(await remove()), [303, "/organisation?done=removed"]);
  assert(!(await own.get("/organisation")).text.includes("Acme"));
  const refused = await signIn(company, dan);
  assertEquals(refused.back.status, 422);
  assertStringIncludes(refused.back.text, "You were removed from your company");
  assertEquals(await roleOf(company, dan.email), undefined);
  // The account is deleted, and the provider names another address of the same person.
  const nowMs = world.time.nowMs();
  await closeAccount(world.kv, person.id, { nowMs, givenUpMicroVnd: 0n });
  for (const again of [dan, { ...dan, email: "dan.new@acme.example" }]) {
    assertEquals((await signIn(company, again)).back.status, 422, again.email);
    assertEquals(await roleOf(company, again.email), undefined);
  }

  const page = await admin.browser.get("/organisation");
  assertStringIncludes(page.text, "Let back in: dan@acme.example");
  const done = await admin.browser.submit(page, "/organisation/members/readmit", {
    person: person.id,
  });
  assertEquals(whereTo(done), [303, "/organisation?done=readmitted"]);
  assertEquals((await signIn(company, dan)).back.status, 303);
  assertEquals(await roleOf(company, dan.email), "viewer");

  await remove();
  const back = await findAccountByEmail(world.kv, dan.email);
  assert(back !== undefined);
  const invitation = { email: dan.email, role: "billing", inviter: "x", locale: "en" } as const;
  await invite(world.kv, account.id, {
    ...invitation,
    restsOn: { personId: owner.person.id },
    nowMs,
  });
  assertEquals((await signIn(company, dan)).back.status, 422, "an invitation has to be accepted");
  assertEquals(await acceptInvitation(world.kv, account.id, back, { nowMs }), "joined");
  assertEquals((await signIn(company, dan)).back.status, 303);
  assertEquals(await roleOf(company, dan.email), "billing");
  const acts = (await findActivity(world.kv, account.id, { count: 50 })).lines.map(({ act }) =>
    act
  );
  assertEquals(acts.filter((act) => act === "member_readmitted").length, 1);
});

Deno.test("who leaves by themselves may come back by the provider", async () => {
  await using company = await openWorld();
  await setUp(company);
  const { browser } = await signIn(company, dan);
  const left = await browser.submit(await browser.get("/organisations"), "/organisations/leave", {
    organisation: company.company.account.id,
  });
  assertEquals(left.status, 303);
  assertEquals(await roleOf(company, dan.email), undefined);
  assertEquals((await signIn(company, dan)).back.status, 303);
  assertEquals(await roleOf(company, dan.email), "viewer");
});

Deno.test("a deleted organisation keeps no domain", async () => {
  await using company = await openWorld();
  const { world } = company;
  const nowMs = world.time.nowMs();
  const { browser: lone, account: single } = await world.signIn("eve@lone.example");
  company.records.set("_gateway-verification.lone.example", [
    await addDomain(lone, "lone.example"),
  ]);
  assertEquals(whereTo(await verify(lone)), [303, `${path}?done=verified`]);
  await forgetPerson(world.kv, single.id, nowMs);
  assertEquals(await listCompanyDomains(world.kv, single.id), []);
  assertEquals(await findCompanySignIn(world.kv, "lone.example"), undefined);
});
