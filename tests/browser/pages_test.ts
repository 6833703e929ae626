/**
 * Every page in both languages and both themes, on a desktop and on a phone: no accessibility violations, nothing that
 * the content security policy blocked, nothing wider than the screen. Screenshots for people are in `screenshots/`.
 */
import type { BrowserContext } from "playwright-core";
import { assertEquals } from "../support/assert.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { type Look, looks, openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import { openSeededDashboard, type SeededDashboard } from "../support/worlds/seeded_dashboard.ts";
import { consentRequest } from "../support/worlds/consent_request.ts";
import { openTopupSite, seedTopups } from "../support/worlds/topup_site.ts";

const folder = new URL("../../screenshots/", import.meta.url);

const publicPages = {
  landing: "/",
  "sign-in": "/sign-in",
  "sign-in-link": "/sign-in/link",
  "sign-in-company": "/sign-in/company",
  "sign-in-mail": "/sign-in/mail",
  "invoice-shared": "/invoices/shared",
  "sign-up": "/sign-up",
  verify: "/verify",
  forgot: "/forgot",
  reset: "/reset",
  trial: "/try",
  models: "/models",
  model: "/models/premium-1",
  "model-image": "/models/image-1",
  family: "/families/premium",
  compare: "/compare?a=premium-1&b=image-1",
  connect: "/connect",
  status: "/status",
  proofs: "/proofs",
  "incident-mails": "/incident-mails",
  "incident-mails-confirm": "/incident-mails/confirm",
  "mails-off-dead": "/mails/off",
  docs: "/docs",
  "docs-guide": "/docs/errors",
  "docs-tools": "/docs/tools",
  "docs-api": "/docs/api/chat",
  "docs-endpoint": "/docs/api/chat/createMessage",
  "email-confirm": "/account/email/confirm",
  goodbye: "/goodbye",
  "not-found": "/no-such-page",
};

function accountPages(seeded: SeededDashboard): Record<string, string> {
  return {
    home: "/",
    keys: "/keys",
    "keys-new": "/keys/new",
    key: seeded.keyPath,
    webhooks: "/webhooks",
    "webhooks-new": "/webhooks/new",
    "webhooks-new-slack": "/webhooks/new?to=slack",
    "webhooks-new-telegram": "/webhooks/new?to=telegram",
    "webhooks-new-zalo": "/webhooks/new?to=zalo",
    webhook: seeded.webhookPath,
    "webhook-delivery": seeded.webhookTryPath,
    usage: "/usage",
    "usage-errors": "/usage?period=7d&metric=errors&status=error",
    "usage-times": "/usage?period=30d&metric=duration&by=key",
    "usage-tag": "/usage?period=30d&tag=team:search",
    "usage-by-tag": "/usage?period=30d&by=tag:team",
    search: "/search?q=premium",
    receipt: seeded.receiptPath,
    refused: seeded.refusedPath,
    "no-such-call": "/receipts",
    wallet: "/wallet",
    statement: "/wallet/statement",
    budgets: "/budgets",
    "budgets-new": "/budgets/new",
    invoices: "/invoices",
    "models-signed-in": "/models",
    playground: "/playground",
    "connect-signed-in": "/connect",
    activity: "/activity",
    account: "/account",
    organisation: "/organisation",
    organisations: "/organisations",
    "organisation-sign-in": "/organisation/sign-in",
    "organisation-calls": "/organisation/calls",
    "organisation-provider-keys": "/organisation/provider-keys",
    "organisation-presets": "/organisation/presets",
    "management-keys": "/organisation/management-keys",
    "two-factor": "/account/security",
    "two-factor-app": "/account/security/app",
    "account-confirm": "/account/confirm",
    "app-consent": consentRequest,
    "app-consent-wrong": "/oauth/authorize?client_id=unknown",
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
    await page.goto(seeded.address + path, { waitUntil: "load" });
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

/** Paths that are no page to look at, with the reason. */
const notLookedAt: Readonly<Record<string, string>> = {
  "/assets/:file": "a file",
  "/invoices/:id/files/:fileId": "a download",
  "/auth": "the page of /oauth/authorize for another request",
  "/auth/openid/callback": "a redirect",
  "/auth/openid/company": "a redirect",
  "/changelog": "a text of the operator",
  "/contact": "a text of the operator",
  "/favicon.ico": "a file",
  "/account/data.ndjson": "a download",
  "/activity.csv": "a download",
  "/llms.txt": "a text",
  "/operator/bank/topups.csv": "a download",
  "/operator/calls/live": "a part of the page of calls",
  "/operator/invoices/:id/files/:fileId": "a download",
  "/operator/margins/export.csv": "a download",
  "/operator/margins/sheet.csv": "a download",
  "/operator/second-factor": "its visitor has no second factor yet",
  "/playground/api/v1/videos/:id": "data",
  "/playground/api/v1/videos/:id/content": "a file",
  "/playground/calls/:id": "data",
  "/privacy": "a text of the operator",
  "/receipts/:id/proof": "a download",
  "/robots.txt": "a text",
  "/search/suggestions": "a part of the top bar; palette_test.ts looks at it",
  "/sign-in/second-factor": "a sign-in has to wait for it; two_factor_test.ts looks at it",
  "/sitemap.xml": "a text",
  "/status.atom": "a feed",
  "/webhooks/:id/sent": "a part of the page of the endpoint",
  "/status.rss": "a feed",
  "/terms": "a text of the operator",
  "/usage/export.csv": "a download",
  "/usage/export.json": "a download",
  "/usage/live": "a part of the page of requests",
  "/wallet/orders/:code/panel": "a part of the page of the order",
  "/wallet/orders/:code/qr.png": "a download",
  "/wallet/statement.csv": "a download",
  "/wallet/statements/:file": "a download",
  "/welcome": "an older account is led on; first_day_test.ts looks at it",
  "/welcome/call": "a part of the page that greets",
};

Deno.test("every page that is served is looked at in a browser", async () => {
  await using seeded = await openSeededDashboard();
  await using site = await openTopupSite();
  const topups = await seedTopups(site);
  const visited = [publicPages, accountPages(seeded), topups.customer, topups.operator]
    .flatMap((pages) => Object.values(pages)).map((path) => path.split(/[?#]/)[0]!);
  const served = site.world.routes.filter(({ method }) => method === "GET")
    // A parameter with a pattern of its own is written in parentheses here.
    .map(({ path }) => path.replace(/(:\w+)\{(.+)\}(?=\/|$)/, "$1($2)"));
  const missed = served.filter((path) => {
    const pattern = new URLPattern({ pathname: path });
    return !visited.some((one) => pattern.test({ pathname: one }));
  });
  assertEquals([...new Set(missed)].sort(), Object.keys(notLookedAt).sort());
});
