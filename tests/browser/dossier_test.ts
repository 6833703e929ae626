/** Money decisions in a real browser: shown before they are made, with and without script, in both languages. */
import { assertEquals } from "../support/assert.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { type Look, looks, openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import { openTopupSite, seedTopups } from "../support/worlds/topup_site.ts";

const folder = new URL("../../screenshots/", import.meta.url);

const words = {
  en: {
    credit: "Credit ₫50,000",
    done: "The wallet has been changed.",
    changed: "has changed meanwhile",
    stops: "within two seconds, on every instance.",
  },
  vi: {
    credit: "Cộng 50.000 ₫",
    done: "Đã thay đổi ví.",
    changed: "vừa thay đổi",
    stops: "trong vòng hai giây, trên mọi máy.",
  },
} as const;

for (const look of looks) {
  await browserTest(
    `a credit is shown before it is made: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      await using site = await openTopupSite();
      await seedTopups(site);
      const t = words[look.locale];
      const context = await openWindow(browser, look, site.address, site.operatorToken);
      const page = await context.newPage();
      const picture = async (name: string) => {
        const file = `${name}-${look.locale}-${look.theme}-${look.width}.png`;
        await page.screenshot({ path: new URL(file, folder).pathname, fullPage: true });
      };
      await page.goto(`${site.address}/operator/accounts/${site.customer.id}/adjust`);
      await page.locator("input[name=amount]").fill("50000");
      const form = page.locator("form", { has: page.locator("input[name=amount]") });
      await form.locator("[name=reason]").fill("sorry for the outage");
      await form.locator("button[type=submit]").click();
      const button = page.getByRole("button", { name: t.credit });
      await button.waitFor();
      assertEquals(await problemsOf(page, "confirmation"), []);
      await picture("confirmation");
      await button.click();
      await page.getByText(t.done).waitFor();
      await page.goto(`${site.address}/operator/approvals`);
      await page.locator("main a[href^='/operator/approvals/']").first().click();
      await page.locator("input[name=seen]").waitFor({ state: "attached" });
      assertEquals(await problemsOf(page, "approval"), []);
      await picture("approval");
      // The customer cancels nothing, but the account is blocked while the operator thinks.
      const second = await context.newPage();
      await second.goto(`${site.address}/operator/accounts/${site.customer.id}`);
      await second.locator(".lines.acts a[href$='/block']").click();
      await second.getByText(t.stops).waitFor();
      assertEquals(await problemsOf(second, "block"), []);
      await second.locator("[name=reason]").fill("abuse");
      await second.locator("form[action$='/block'] button").click();
      await second.waitForURL(/done=blocked/);
      await page.locator("form[action$='/approve'] button").click();
      await page.getByText(t.changed).waitFor();
      await picture("approval-changed");
      await context.close();
    },
  );
}

await browserTest("without script a credit is confirmed, too", async (browser) => {
  await using site = await openTopupSite();
  const look: Look = { locale: "en", theme: "light", width: 1280 };
  const withScript = await openWindow(browser, look, site.address, site.operatorToken);
  const cookies = await withScript.cookies();
  await withScript.close();
  const context = await browser.newContext({ javaScriptEnabled: false });
  await context.addCookies(cookies);
  const page = await context.newPage();
  await page.goto(`${site.address}/operator/accounts/${site.customer.id}/adjust`);
  await page.locator("input[name=amount]").fill("50000");
  const form = page.locator("form", { has: page.locator("input[name=amount]") });
  await form.locator("[name=reason]").fill("sorry");
  await form.locator("button[type=submit]").click();
  await page.getByRole("button", { name: "Credit ₫50,000" }).click();
  await page.getByText("The wallet has been changed.").waitFor();
  await context.close();
});
