/**
 * The operator's way through a day: what to do first, a customer's page with a note, the log, and the way back to the
 * customer's pages; at a desk, on a phone, and without script.
 */
import { assert, assertEquals } from "../support/assert.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { type Look, looks, openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import { openTopupSite, seedTopups } from "../support/worlds/topup_site.ts";

const folder = new URL("../../screenshots/", import.meta.url);

const words = {
  en: {
    decide: "Decide",
    customers: "Customers",
    log: "Log",
    note: "Add note",
    noted: "The note has been added.",
    back: "Customer pages",
  },
  vi: {
    decide: "Quyết định",
    customers: "Khách hàng",
    log: "Nhật ký",
    note: "Thêm ghi chú",
    noted: "Đã thêm ghi chú.",
    back: "Trang khách hàng",
  },
} as const;

/** Pixels of nothing below a card, beside a taller neighbour, from which a page looks broken. */
const maxWhite = 500;

/** The free space below the last line of each card, in pixels; the page runs it. */
const whiteBelow = `[...document.querySelectorAll(".today .card")].map((card) => {
  const last = card.lastElementChild.getBoundingClientRect().bottom;
  return card.getBoundingClientRect().bottom - last;
})`;

for (const look of looks) {
  await browserTest(
    `an operator's day: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      await using site = await openTopupSite();
      await seedTopups(site);
      const context = await openWindow(browser, look, site.address, site.operatorToken);
      const page = await context.newPage();
      const t = words[look.locale];
      /**
       * Nothing in the frame is of the operator's own account: no wallet, and the places of the bar are the operator's.
       */
      const seesOwnFrame = async () => {
        assertEquals(await page.locator(".balance, a[href='/wallet']").count(), 0);
        const places = await page.locator(".bottom > nav a").evaluateAll((links) =>
          links.map((link) => String(link.getAttribute("href")))
        );
        assertEquals(places.length, 3);
        assert(places.every((href) => href.startsWith("/operator")), places.join());
      };
      const go = async (name: string) => {
        const link = page.getByRole("link", { name: new RegExp(`^${name}`) })
          .filter({ visible: true });
        if (look.width < 600 && await link.count() === 0) {
          await page.locator(".bottom summary").click();
        }
        await link.first().click();
      };
      await page.goto(`${site.address}/operator`);
      await seesOwnFrame();
      // The first thing below the figures is what to do, and its first button leads there.
      assert(await page.locator(".todo li").count() >= 4);
      const white = await page.evaluate<number[]>(whiteBelow);
      assert(Math.max(...white) < maxWhite, `${Math.max(...white)} px of white`);
      await page.locator(".todo").getByRole("link", { name: t.decide }).click();
      await page.waitForURL(/\/operator\/approvals\/apr_/);
      await page.locator("input[name=seen]").waitFor({ state: "attached" });

      await page.goto(`${site.address}/operator`);
      await go(t.customers);
      await page.waitForURL(/\/operator\/accounts$/);
      await page.locator("td a", { hasText: "minh.tran@example.com" }).click();
      await page.locator("textarea[name=text]").fill("hỏi về hoá đơn tháng 11");
      await page.getByRole("button", { name: t.note }).click();
      await page.getByText(t.noted).waitFor();
      assertEquals(await page.locator(".notes li").count(), 1);
      assertEquals(await problemsOf(page, "customer"), []);
      const file = `customer-${look.locale}-${look.theme}-${look.width}.png`;
      await page.screenshot({ path: new URL(file, folder).pathname, fullPage: true });

      await go(t.log);
      await page.locator("td", { hasText: "hỏi về hoá đơn tháng 11" }).waitFor();
      await go(t.back);
      await page.waitForURL(`${site.address}/`);
      await context.close();
    },
  );
}

await browserTest(
  "without script the places, a note and an act's page work, too",
  async (browser) => {
    await using site = await openTopupSite();
    await seedTopups(site);
    const look: Look = { locale: "en", theme: "light", width: 390 };
    const withScript = await openWindow(browser, look, site.address, site.operatorToken);
    const cookies = await withScript.cookies();
    await withScript.close();
    const context = await browser.newContext({
      javaScriptEnabled: false,
      viewport: { width: 390, height: 844 },
    });
    await context.addCookies(cookies);
    const page = await context.newPage();
    await page.goto(`${site.address}/operator/audit`);
    await page.locator(".bottom summary").click();
    await page.getByRole("link", { name: /^Money/ }).filter({ visible: true }).first().click();
    await page.waitForURL(/\/operator\/review$/);
    await page.getByRole("link", { name: "Invoices", exact: true }).click();
    await page.waitForURL(/\/operator\/invoices$/);
    await page.goto(`${site.address}/operator/accounts/${site.customer.id}`);
    await page.locator("textarea[name=text]").fill("called");
    await page.getByRole("button", { name: "Add note" }).click();
    await page.getByText("The note has been added.").waitFor();
    await page.getByRole("link", { name: "Block …" }).click();
    await page.getByText("stays in the wallet").waitFor();
    await context.close();
  },
);
