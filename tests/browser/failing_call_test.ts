/**
 * A failing call is looked for: by its customer in the log and by its id, and by the operator. New calls appear by
 * themselves, a call opens beside the list, and all of it but the chart works without script.
 */
import type { Page } from "playwright-core";
import { newId } from "../../core/lib/ids/ids.ts";
import { dayMs } from "../../core/lib/time/durations.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { type Look, looks, openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import { draftOf, mustReserve } from "../support/worlds/money_world.ts";
import { requestIdAt } from "../support/worlds/dashboard_world.ts";
import { refuse } from "../support/worlds/refused_calls.ts";
import { openTopupSite, seedTopups, type TopupSite } from "../support/worlds/topup_site.ts";

const words = {
  en: {
    why: "The provider did not answer in time.",
    status: "Status",
    search: "Search",
    show: "Show",
    filters: "Filters",
  },
  vi: {
    why: "Nhà cung cấp không trả lời kịp.",
    status: "Trạng thái",
    search: "Tìm",
    show: "Xem",
    filters: "Bộ lọc",
  },
} as const;

/** A call that failed at its provider, and one that answered. */
async function makeCalls({ world, customer }: TopupSite): Promise<string> {
  const nowMs = world.time.nowMs();
  const keyId = newId("apiKey", 0);
  const settle = async (agoMs: number, isFailed: boolean) => {
    const requestId = requestIdAt(nowMs - agoMs);
    const draft = draftOf(isFailed ? 0n : 1_000_000n, {
      requestId,
      keyId,
      startedAtMs: nowMs - agoMs,
      ...isFailed && {
        outcome: "failed" as const,
        status: 504,
        attempts: [{ route: "secret-vendor/x", outcome: "upstream_timeout", ms: 30_000 }],
      },
    });
    await world.wallet.settle(
      await mustReserve(world.wallet, customer.id, draft.priceMicroVnd),
      draft,
    );
    return requestId;
  };
  for (let at = 2; at < 9; at++) await settle(at * 60_000, false);
  const failed = await settle(10 * 60_000, true);
  await world.wallet.indexOnce();
  return failed;
}

const isOpen = (page: Page) => page.locator("#drawer[open]").count();

async function customerLooks(site: TopupSite, page: Page, look: Look, failed: string) {
  const t = words[look.locale];
  await page.goto(`${site.address}/usage?period=24h`);
  // On a phone the filters are a sheet.
  if (look.width < 600) await page.getByRole("link", { name: t.filters, exact: true }).click();
  await page.getByLabel(t.status, { exact: true }).selectOption("error");
  await page.waitForURL(/status=error/);
  const row = page.locator("tr[data-call]").filter({ hasText: "upstream_timeout" });
  await row.click();
  const drawer = page.locator("#drawer");
  await drawer.getByText(t.why).waitFor();
  assert((await drawer.textContent() ?? "").includes(failed));
  assert(
    !(await drawer.textContent() ?? "").includes("secret-vendor"),
    "routes are the operator's",
  );
  assert(page.url().endsWith(`/receipts/${failed}`), page.url());
  assertEquals(await problemsOf(page, "the drawer"), []);
  await page.keyboard.press("Escape");
  await page.waitForURL(/status=error/);
  assertEquals(await isOpen(page), 0);
  // A refusal that comes now is on top by itself, and nothing else of the page has changed.
  const refused = await refuse(site.world.kv, {
    accountId: site.customer.id,
    keyId: newId("apiKey", 0),
    atMs: site.world.time.nowMs() - 1_000,
  });
  await page.locator(`tr[data-call="${refused.requestId}"]`).waitFor({ timeout: 20_000 });
  assertEquals(await page.getByLabel(t.status, { exact: true }).inputValue(), "error");
  await page.keyboard.press("/");
  await page.keyboard.type(failed);
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/receipts/${failed}`);
  await page.getByText(t.why).waitFor();
}

async function operatorLooks(site: TopupSite, page: Page, failed: string) {
  await page.goto(`${site.address}/operator/calls?status=error`);
  await page.locator(`tr[data-call="${failed}"]`).click();
  await page.locator("#drawer").getByText("secret-vendor/x").first().waitFor();
  assertEquals(await problemsOf(page, "the operator's drawer"), []);
  await page.goto(`${site.address}/operator`);
  await page.keyboard.press("/");
  await page.keyboard.type(failed);
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/operator/calls/${failed}`);
}

for (const look of looks) {
  await browserTest(
    `a failing call is found by customer and operator: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      await using site = await openTopupSite();
      await seedTopups(site);
      const failed = await makeCalls(site);
      const customer = await openWindow(browser, look, site.address, site.customerToken);
      await customerLooks(site, await customer.newPage(), look, failed);
      await customer.close();
      const operator = await openWindow(browser, look, site.address, site.operatorToken);
      await operatorLooks(site, await operator.newPage(), failed);
      await operator.close();
    },
  );
}

const ago = { en: /^\d+(?:m|min\.?) ago$/, vi: /^\d+ phút trước$/ } as const;

for (const look of looks) {
  await browserTest(
    `recent times of lists are said from now, with the exact one in the title: ${look.locale}`,
    async (browser) => {
      await using site = await openTopupSite();
      await seedTopups(site);
      await makeCalls(site);
      const context = await openWindow(browser, look, site.address, site.customerToken);
      const page = await context.newPage();
      const nowMs = site.world.time.nowMs();
      await page.clock.setFixedTime(nowMs);
      await page.goto(`${site.address}/usage?period=24h&status=ok`);
      const time = page.locator("tr[data-call] time").first();
      await time.filter({ hasText: ago[look.locale] }).waitFor();
      const year = new Date(nowMs).getUTCFullYear();
      assert((await time.getAttribute("title") ?? "").includes(`${year}, `), "no exact time");
      // A week later the exact time is back.
      await page.clock.setFixedTime(nowMs + 8 * dayMs);
      await page.locator("tr[data-call] time").filter({ hasText: `${year}, ` }).first().waitFor();
      await context.close();
    },
  );
}

await browserTest(
  "without script the log is filtered by a button, and a row is a link",
  async (browser) => {
    await using site = await openTopupSite();
    await seedTopups(site);
    const failed = await makeCalls(site);
    const context = await browser.newContext({ javaScriptEnabled: false, locale: "en-US" });
    await context.addCookies([
      { name: "locale", value: "en", url: site.address },
      { name: "session", value: site.customerToken, url: site.address },
    ]);
    const page = await context.newPage();
    await page.goto(`${site.address}/usage?period=24h`);
    await page.getByLabel("Error", { exact: true }).selectOption("family:provider");
    await page.locator(".chip-form").getByRole("button", { name: words.en.show }).click();
    await page.waitForURL(/error=family%3Aprovider/);
    assertEquals(await page.locator("tr[data-call]").count(), 1);
    assert(await page.getByRole("link", { name: "Load new calls" }).isVisible());
    await page.locator("summary", { hasText: "Show as a table" }).click();
    assert(await page.locator(".chart-figure table").isVisible(), "the figures of the chart");
    await page.locator("tr[data-call] td a").first().click();
    await page.waitForURL(`**/receipts/${failed}`);
    await context.close();
  },
);
