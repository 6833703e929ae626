/**
 * Two-factor sign-in in a real browser: an app or a passkey is set up, and the next sign-in asks for it. The passkeys
 * are those of Chromium's virtual authenticator.
 */
import type { Browser, Page } from "playwright-core";
import { assertEquals } from "../support/assert.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { countClicks } from "../support/browser/clicks.ts";
import { type Look, looks, openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import { openSeededDashboard, type SeededDashboard } from "../support/worlds/seeded_dashboard.ts";
import { testPassword } from "../support/worlds/dashboard_world.ts";
import { codeFor } from "../support/worlds/operator_world.ts";

const folder = new URL("../../screenshots/", import.meta.url);
const email = "lan.nguyen@example.com";

/** Takes a picture of the page and lists what is wrong with it. */
async function lookAt(page: Page, look: Look, name: string): Promise<string[]> {
  const file = new URL(`${name}-${look.locale}-${look.theme}-${look.width}.png`, folder);
  await page.screenshot({ path: file.pathname, fullPage: true });
  return await problemsOf(page, name);
}

/** Sends the form of the page's only code field. */
async function enterCode(page: Page, code: string): Promise<void> {
  await page.locator('[name="code"]').first().fill(code);
  await page.locator('form:has([name="code"]) button[type="submit"]').first().click();
}

async function signOutAndIn(page: Page, address: string): Promise<void> {
  await page.context().clearCookies({ name: "session" });
  await page.goto(`${address}/sign-in?next=%2Fkeys`);
  await page.locator('[name="email"]').fill(email);
  await page.locator('[name="password"]').fill(testPassword);
  await page.locator('form[action="/sign-in"] button[type="submit"]').click();
}

async function useApp(browser: Browser, seeded: SeededDashboard, look: Look): Promise<string[]> {
  const { address, world } = seeded;
  const context = await openWindow(browser, look, address, seeded.sessionToken);
  const clicks = await countClicks(context);
  const page = await context.newPage();
  const problems: string[] = [];
  await page.goto(`${address}/account`);
  await page.locator("#second-factor button").click();
  await page.locator("dialog[open] button[value=yes]").click();
  await page.waitForURL(`${address}/account/security`);
  problems.push(...await lookAt(page, look, "two-factor-required"));
  await page.locator('a[href="/account/security/app"]').click();
  const secret = (await page.locator(".copy-value").first().textContent())?.trim() ?? "";
  problems.push(...await lookAt(page, look, "two-factor-set-up"));
  await enterCode(page, codeFor(secret, world.time.nowMs()));
  await page.locator(".recovery-codes").waitFor();
  assertEquals(clicks(), 4, "clicks");
  problems.push(...await lookAt(page, look, "two-factor-codes"));
  assertEquals(await page.locator(".recovery-codes li").count(), 10);
  const code = await page.locator(".recovery-codes code").first().textContent() ?? "";
  await page.locator('main a[href="/account/security"]').click();
  await page.locator("details").first().waitFor();
  problems.push(...await lookAt(page, look, "two-factor-on"));

  await world.time.advance(60_000);
  await signOutAndIn(page, address);
  await page.waitForURL(`${address}/sign-in/second-factor`);
  problems.push(...await lookAt(page, look, "second-factor"));
  await enterCode(page, "000000");
  await page.locator(".notice.danger").waitFor();
  problems.push(...await lookAt(page, look, "second-factor-wrong"));
  await enterCode(page, codeFor(secret, world.time.nowMs()));
  await page.waitForURL(`${address}/keys`);
  await page.goto(`${address}/account`);
  problems.push(...await lookAt(page, look, "account-two-factor"));

  await signOutAndIn(page, address);
  await page.locator("main details.card summary").click();
  await page.locator('[name="recoveryCode"]').fill(code);
  await page.locator('form:has([name="recoveryCode"]) button').click();
  await page.waitForURL(`${address}/keys`);
  await context.close();
  return problems;
}

/** Gives a page an authenticator that knows its person's finger. */
async function addAuthenticator(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("WebAuthn.enable");
  await session.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}

async function usePasskey(
  browser: Browser,
  seeded: SeededDashboard,
  look: Look,
): Promise<string[]> {
  const { address } = seeded;
  const context = await openWindow(browser, look, address, seeded.sessionToken);
  const page = await context.newPage();
  await addAuthenticator(page);
  const problems: string[] = [];
  await page.goto(`${address}/account/security`);
  await page.locator('form[data-passkey] [name="name"]').fill("Vân tay");
  await page.locator("form[data-passkey] button").click();
  await page.locator(".recovery-codes").waitFor();
  await page.goto(`${address}/account/security`);
  problems.push(...await lookAt(page, look, "passkeys"));
  assertEquals(await page.locator("#passkeys tbody tr").count(), 1);

  // The same authenticator is not taken twice.
  await page.locator("form[data-passkey] button").click();
  await page.locator("[data-passkey-problem]").waitFor();
  problems.push(...await lookAt(page, look, "passkeys-twice"));

  await context.clearCookies({ name: "session" });
  await page.goto(`${address}/sign-in?next=%2Fkeys`);
  problems.push(...await lookAt(page, look, "sign-in-with-passkey"));
  await page.locator('form[action="/sign-in/passkey"] button').click();
  await page.waitForURL(`${address}/keys`);

  await signOutAndIn(page, address);
  await page.waitForURL(`${address}/sign-in/second-factor`);
  problems.push(...await lookAt(page, look, "second-factor-passkey"));
  await page.locator("form[data-passkey] button").click();
  await page.waitForURL(`${address}/keys`);
  await context.close();
  return problems;
}

for (const look of looks) {
  await browserTest(
    `a passkey is added, signs in alone, and is the second factor: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      await using seeded = await openSeededDashboard();
      assertEquals(await usePasskey(browser, seeded, look), []);
    },
  );

  await browserTest(
    `an app is set up, and asked for: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      await using seeded = await openSeededDashboard();
      assertEquals(await useApp(browser, seeded, look), []);
    },
  );
}
