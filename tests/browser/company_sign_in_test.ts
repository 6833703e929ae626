/** The sign-in of an organisation in a real browser: a provider is refused, a domain waits for its record. */
import { joinAs } from "../support/worlds/company_world.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { dayMs } from "../../core/lib/time/durations.ts";
import { verificationRecordOf } from "../../core/people/organisations/domain.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import {
  type Account,
  createAccount,
  findAccountByEmail,
} from "../../kv/people/accounts/accounts.ts";
import {
  addCompanyDomain,
  listCompanyDomains,
  requireCompanySignIn,
  setCompanyOpenId,
  verifyDomain,
} from "../../kv/people/organisations/company_sign_in.ts";
import { recheckDomains } from "../../kv/people/organisations/domain_checks.ts";
import { removeMember } from "../../kv/people/organisations/members.ts";
import { createOrganisation, handOver } from "../../kv/people/organisations/organisations.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { looks, openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import { openSeededDashboard, type SeededDashboard } from "../support/worlds/seeded_dashboard.ts";

const folder = new URL("../../screenshots/", import.meta.url);

/** A provider, a domain that stays verified and one whose record is away. */
async function setUp(kv: KeyValueStore, { id }: Account, nowMs: number): Promise<void> {
  await setCompanyOpenId(kv, id, {
    issuer: "https://login.acme.example",
    clientId: "gateway",
    sealedSecret: "sealed",
    role: "developer",
  }, { nowMs });
  for (const domain of ["acme.example", "a-rather-long-name-of-a-company.example.com"]) {
    await addCompanyDomain(kv, id, domain, { nowMs: nowMs - dayMs });
    await verifyDomain(kv, id, domain, { isPublished: () => true, nowMs: nowMs - dayMs });
  }
  const [missing, there] = await listCompanyDomains(kv, id);
  assert(missing !== undefined && there !== undefined);
  const { name, value } = verificationRecordOf(there.domain, there.token);
  await recheckDomains({
    kv,
    nowMs,
    resolveTxt: (asked) => Promise.resolve(asked === name ? [value] : []),
  });
}

/**
 * The seeded person's organisation with its sign-in, two members and one who was removed; and one that keeps them out.
 */
async function seedCompany(
  seeded: SeededDashboard,
): Promise<{ readonly globex: Account; readonly inherited: Account }> {
  const { kv } = seeded.world;
  const nowMs = seeded.world.time.nowMs();
  const lan = await findAccountByEmail(kv, "lan.nguyen@example.com");
  assert(lan !== undefined);
  const make = (email: string) => createAccount(kv, { nowMs, email, locale: "en" });
  await setUp(kv, lan, nowMs);
  for (const email of ["minh@acme.example", "a.consultant.from.elsewhere@consulting.example"]) {
    const person = await make(email);
    await joinAs(kv, lan.id, person, { role: "developer", nowMs });
  }
  const removed = await make("removed.person@acme.example");
  await joinAs(kv, lan.id, removed, { role: "developer", nowMs });
  await removeMember(kv, lan.id, removed.id, { nowMs });
  assertEquals(await requireCompanySignIn(kv, lan.id, true, { nowMs }), "changed");
  const boss = await make("boss@globex.example");
  const globex = await createOrganisation(kv, boss.id, { name: "Globex", nowMs });
  assert(globex !== "too_many");
  await joinAs(kv, globex.id, lan, { role: "developer", nowMs });
  const { id } = globex;
  await setCompanyOpenId(kv, id, {
    issuer: "https://login.globex.example",
    clientId: "gateway",
    sealedSecret: "sealed",
    role: "viewer",
  }, { nowMs });
  await addCompanyDomain(kv, id, "globex.example", { nowMs });
  await verifyDomain(kv, id, "globex.example", { isPublished: () => true, nowMs });
  assertEquals(await requireCompanySignIn(kv, id, true, { nowMs }), "changed");
  // An account whose person has handed it over, and left.
  const founder = await make("the.founder@old-acme.example");
  await joinAs(kv, founder.id, lan, { role: "developer", nowMs });
  assertEquals(await handOver(kv, founder.id, { from: founder, to: lan.id, nowMs }), "done");
  await removeMember(kv, founder.id, founder.id, { nowMs });
  return { globex, inherited: founder };
}

for (const look of looks) {
  await browserTest(
    `an organisation requires its provider: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      await using seeded = await openSeededDashboard();
      const { globex, inherited } = await seedCompany(seeded);
      const { address } = seeded;
      const context = await openWindow(browser, look, address, seeded.sessionToken);
      const page = await context.newPage();
      const shot = async (name: string) => {
        const file = `company-${name}-${look.locale}-${look.theme}-${look.width}.png`;
        await page.screenshot({ path: new URL(file, folder).pathname, fullPage: true });
        assertEquals(await problemsOf(page, name), []);
      };
      await page.goto(`${address}/organisation/sign-in`);
      assertEquals(await page.locator(".badge.bad").count(), 1, "one record is missing");
      assert(await page.getByText("consulting.example").count() > 0, "who is kept out is named");
      await shot("requirement");
      await page.goto(`${address}/organisation`);
      await page.locator('form[action="/organisation/members/readmit"] button').first().waitFor();
      await shot("members");
      await page.goto(`${address}/organisations`);
      const link = page.locator('main td a[href="/sign-in/company"]');
      assertEquals(await link.count(), 1);
      await shot("list");
      // The switcher of the top bar offers it, and says why the session does not act for it.
      await page.locator(".account-menu summary").click();
      await page.locator(`.switcher button[value="${globex.id}"]`).click();
      await page.locator(".notice.warning", { hasText: "Globex" }).waitFor();
      await shot("kept-out");
      await page.goto(`${address}/organisation`);
      await page.locator('form[action="/organisation/members/readmit"] button').first().click();
      await page.locator(".notice.success").waitFor();
      assertEquals(
        await page.locator('form[action="/organisation/members/readmit"]').count(),
        0,
      );
      await page.goto(`${address}/activity`);
      await shot("activity");
      await page.locator(".account-menu summary").click();
      await page.locator(`.switcher button[value="${inherited.id}"]`).click();
      await page.locator(".notice.warning").waitFor({ state: "detached" });
      await page.goto(`${address}/organisation`);
      await page.locator("details", { has: page.locator('[name="deletion"]') }).locator("summary")
        .click();
      assert(await page.getByText("the.founder@old-acme.example").count() > 0);
      await shot("deletion");
      await context.close();
    },
  );
}

for (const look of looks) {
  await browserTest(
    `an organisation sets its sign-in up: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      await using seeded = await openSeededDashboard();
      const { address } = seeded;
      const context = await openWindow(browser, look, address, seeded.sessionToken);
      const page = await context.newPage();
      await page.goto(`${address}/organisation`);
      await page.locator('a[href="/organisation/sign-in"]').click();
      for (const name of ["acme.example", "a-rather-long-name-of-a-company.example.com"]) {
        await page.locator('main [name="domain"]:not([type="hidden"])').fill(name);
        await page.locator('form[action="/organisation/sign-in/domains"] button').click();
        await page.locator("td", { hasText: name }).first().waitFor();
      }
      await page.locator('form[action="/organisation/sign-in/domains/verify"] button').first()
        .click();
      await page.locator(".notice.danger").waitFor();
      await page.locator('[name="issuer"]').fill("https://login.acme.example");
      await page.locator('[name="clientId"]').fill("gateway");
      await page.locator('[name="clientSecret"]').fill("secret");
      await page.locator('form[action="/organisation/sign-in"] button').click();
      await page.locator(".field-error").first().waitFor();
      const file = `company-sign-in-${look.locale}-${look.theme}-${look.width}.png`;
      await page.screenshot({ path: new URL(file, folder).pathname, fullPage: true });
      assertEquals(await problemsOf(page, "company sign-in"), []);
      await context.close();
    },
  );
}
