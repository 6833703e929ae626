/**
 * Every page in both languages, both themes, on a desktop and on a phone: no accessibility violations, nothing that the
 * content security policy had to stop, nothing wider than the screen. Pictures go to `screenshots/` for people.
 */
import axe from "axe-core";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { assertEquals } from "@std/assert";
import { browserTest } from "../support/chromium.ts";
import { openSeededDashboard, type SeededDashboard } from "../support/seeded_dashboard.ts";

const folder = new URL("../../screenshots/", import.meta.url);

const looks = [
  { locale: "vi", theme: "light", width: 1280 },
  { locale: "en", theme: "dark", width: 1280 },
  { locale: "en", theme: "light", width: 390 },
  { locale: "vi", theme: "dark", width: 390 },
] as const;

type Look = typeof looks[number];

const publicPages = {
  landing: "/",
  "sign-in": "/sign-in",
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

/** These run in the page, so they are texts: here there is no `document`. */
const noteViolations = `document.addEventListener("securitypolicyviolation", (event) => {
  const { dataset } = document.documentElement;
  dataset.violations = (dataset.violations ?? "") + event.violatedDirective + " " + event.blockedURI + "; ";
});`;
const howMuchTooWide =
  "document.documentElement.scrollWidth - document.documentElement.clientWidth";
const runAxe = `axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) =>
  nodes.map((node) => id + ": " + node.html.slice(0, 160) + " | " +
    node.failureSummary.replace(/\\s+/g, " ").slice(0, 200))))`;

async function openContext(
  browser: Browser,
  seeded: SeededDashboard,
  look: Look,
  signedIn: boolean,
): Promise<BrowserContext> {
  const context = await browser.newContext({
    viewport: { width: look.width, height: 900 },
    locale: look.locale,
    colorScheme: look.theme,
    reducedMotion: "reduce",
  });
  const url = seeded.address;
  await context.addCookies([
    { name: "locale", value: look.locale, url },
    { name: "theme", value: look.theme, url },
    ...(signedIn ? [{ name: "session", value: seeded.sessionToken, url }] : []),
  ]);
  await context.addInitScript({ content: noteViolations });
  return context;
}

/** What is wrong with a page, as lines; empty if nothing is. */
async function problemsOf(page: Page, path: string): Promise<string[]> {
  const problems: string[] = [];
  const wide = await page.evaluate<number>(howMuchTooWide);
  if (wide > 0) problems.push(`${path}: ${wide} px wider than the screen`);
  const blocked = await page.evaluate<string>("document.documentElement.dataset.violations ?? ''");
  if (blocked !== "") problems.push(`${path}: the policy stopped ${blocked}`);
  // The policy lets no script in but ours; the debugger's evaluation is not under it.
  await page.evaluate(axe.source);
  const violations = await page.evaluate<string[]>(runAxe);
  return [...problems, ...violations.map((text) => `${path}: ${text}`)];
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
        const context = await openContext(browser, seeded, look, signedIn);
        const pages = signedIn ? accountPages(seeded) : publicPages;
        problems.push(...await lookAt(context, seeded, pages, look));
        await context.close();
      }
      assertEquals(problems, []);
    },
  );
}
