/**
 * The frame of a signed-in customer: the search that shows what it finds, the menu of the account, the bar of phones.
 */
import type { Page } from "playwright-core";
import { assert, assertEquals } from "../support/assert.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { looks, openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import { openSeededDashboard } from "../support/worlds/seeded_dashboard.ts";

/** Searches by the keyboard alone, and returns where it led. */
async function search(page: Page, typed: string): Promise<string> {
  await page.keyboard.press("/");
  assertEquals(await page.evaluate(() => document.activeElement?.id), "top-search");
  await page.keyboard.type(typed);
  await page.locator("#suggestions [role=option]").first().waitFor();
  await page.keyboard.press("ArrowDown");
  assertEquals(await page.locator("#suggestions [aria-selected=true]").count(), 1);
  assertEquals(await problemsOf(page, `results of ${typed}`), []);
  await page.keyboard.press("Enter");
  await page.locator("#suggestions").waitFor({ state: "hidden" });
  return new URL(page.url()).pathname;
}

for (const look of looks) {
  await browserTest(
    `the top bar leads everywhere by keyboard: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      await using seeded = await openSeededDashboard();
      const context = await openWindow(browser, look, seeded.address, seeded.sessionToken);
      const page = await context.newPage();
      await page.goto(`${seeded.address}/usage`);
      assertEquals(await search(page, "premium-1-think"), "/models/premium-1-thinking");
      assertEquals(await search(page, "max_tokens"), "/docs/quickstart");

      await page.goto(`${seeded.address}/usage`);
      await page.locator(".account-menu summary").press("Enter");
      await page.locator(".account-menu .pop").waitFor();
      assertEquals(await problemsOf(page, "the menu of the account"), []);
      await page.keyboard.press("Escape");
      await page.locator(".account-menu .pop").waitFor({ state: "hidden" });

      const balance = page.locator(".top .balance");
      assert(
        (await balance.innerText()).includes("₫") || (await balance.innerText()).includes("đ"),
      );
      if (look.width < 600) {
        await page.locator(".bottom summary").click();
        assertEquals(await problemsOf(page, "the bar at the bottom"), []);
        await page.keyboard.press("Escape");
        await page.locator(".bottom > nav a[href='/wallet']").click();
      } else await balance.click();
      await page.waitForURL(/\/wallet/);
      await context.close();
    },
  );
}
