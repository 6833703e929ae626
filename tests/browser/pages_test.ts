/**
 * Every page in both languages and both themes, on a desktop and on a phone: no accessibility violations, nothing that
 * the content security policy blocked, nothing wider than the screen. Screenshots for people are in `screenshots/`.
 */
import type { BrowserContext } from "playwright-core";
import { assertEquals } from "../support/assert.ts";
import { browserTest } from "../support/chromium.ts";
import { type Look, openWindow, problemsOf } from "../support/page_soundness.ts";
import { openSeededDashboard, type SeededDashboard } from "../support/seeded_dashboard.ts";

const folder = new URL("../../screenshots/", import.meta.url);

const looks: readonly Look[] = [
  { locale: "vi", theme: "light", width: 1280 },
  { locale: "en", theme: "dark", width: 1280 },
  { locale: "en", theme: "light", width: 390 },
  { locale: "vi", theme: "dark", width: 390 },
];

const publicPages = {
  landing: "/",
  "sign-in": "/sign-in",
  "sign-in-link": "/sign-in/link",
  "sign-in-mail": "/sign-in/mail",
  "invoice-shared": "/invoices/shared",
  "sign-up": "/sign-up",
  verify: "/verify",
  forgot: "/forgot",
  reset: "/reset",
  models: "/models",
  connect: "/connect",
  "not-found": "/no-such-page",
};

function accountPages(seeded: SeededDashboard): Record<string, string> {
  return {
    home: "/",
    keys: "/keys",
    "keys-new": "/keys/new",
    key: seeded.keyPath,
    usage: "/usage",
    receipt: seeded.receiptPath,
    wallet: "/wallet",
    statement: "/wallet/statement",
    invoices: "/invoices",
    "models-signed-in": "/models",
    playground: "/playground",
    "connect-signed-in": "/connect",
    account: "/account",
  };
}

async function lookAt(
  context: BrowserContext,
  seeded: SeededDashboard,
  pages: Record<string, string>,
  look: Look,
): Promise<string[]> {
  const problems: string[] = [];
  const page = await context.newPage();
  page.on("pageerror", (error) => problems.push(`${page.url()}: ${error.message}`));
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(seeded.address + path, { waitUntil: "networkidle" });
    problems.push(...await problemsOf(page, path));
    const device = look.width < 600 ? "phone" : "desktop";
    const file = new URL(`${name}-${look.locale}-${look.theme}-${device}.png`, folder);
    await page.screenshot({ path: file.pathname, fullPage: true });
  }
  await page.close();
  return problems;
}

for (const look of looks) {
  await browserTest(
    `every page is sound: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      await using seeded = await openSeededDashboard();
      const problems: string[] = [];
      for (const signedIn of [false, true]) {
        const token = signedIn ? seeded.sessionToken : undefined;
        const context = await openWindow(browser, look, seeded.address, token);
        const pages = signedIn ? accountPages(seeded) : publicPages;
        problems.push(...await lookAt(context, seeded, pages, look));
        await context.close();
      }
      assertEquals(problems, []);
    },
  );
}
