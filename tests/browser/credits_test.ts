/**
 * Credit from the operator to the customer: an operator makes a campaign and its codes, a customer redeems one, sees
 * what it is worth and until when, and finds it in the statement. With and without JavaScript.
 */
import type { BrowserContext, Page } from "playwright-core";
import { assert, assertEquals } from "../support/assert.ts";
import { parseCsv } from "../../core/lib/base/csv.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { type Look, looks, openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import { openTopupSite, type TopupSite } from "../support/worlds/topup_site.ts";

const words = {
  en: {
    create: "Create",
    download: "Make and download",
    code: "Voucher code",
    redeem: "Redeem",
    redeemed: /₫20,000 of credit is in your wallet/,
    wrong: "This is not a voucher code",
    own: "Your own money",
  },
  vi: {
    create: "Tạo",
    download: "Tạo và tải xuống",
    code: "Mã quà tặng",
    redeem: "Dùng mã",
    redeemed: /Đã nhận 20\.000\s₫ vào ví/,
    wrong: "Đây không phải mã quà tặng",
    own: "Tiền của bạn",
  },
} as const;

async function makeCodes(site: TopupSite, context: BrowserContext, look: Look): Promise<string> {
  const t = words[look.locale];
  const page = await context.newPage();
  await page.goto(`${site.address}/operator/campaigns`);
  await page.locator('[name="name"]').fill("Tết 2027");
  await page.locator('[name="amount"]').fill("20k");
  await page.locator('[name="budget"]').fill("1tr");
  await page.locator('[name="expiresAfterDays"]').fill("30");
  await page.getByRole("button", { name: t.create, exact: true }).click();
  const confirm = page.getByRole("dialog").locator("button[value=yes]");
  if (await page.evaluate<boolean>("document.querySelector('dialog[open]') !== null")) {
    await confirm.click();
  }
  await page.waitForURL(/\/operator\/campaigns\/cmp_/);
  assertEquals(await problemsOf(page, "the campaign"), []);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: t.download }).click(),
  ]);
  const [, first] = parseCsv(await Deno.readTextFile(await download.path()));
  return first?.[0] ?? "";
}

async function redeem(page: Page, site: TopupSite, code: string, look: Look): Promise<void> {
  const t = words[look.locale];
  await page.goto(`${site.address}/wallet`);
  await page.getByLabel(t.code).fill("2345-6789");
  await page.getByRole("button", { name: t.redeem }).click();
  await page.getByText(t.wrong).waitFor();
  assertEquals(await problemsOf(page, "a refused code"), []);
  await page.getByLabel(t.code).fill(code.toLowerCase());
  await page.getByRole("button", { name: t.redeem }).click();
  await page.getByText(t.redeemed).waitFor();
  await page.locator(".stat", { hasText: t.own }).waitFor();
  assertEquals(await problemsOf(page, "the wallet with credit"), []);
  await page.goto(`${site.address}/wallet/statement`);
  await page.getByRole("cell", { name: "Tết 2027" }).waitFor();
  assertEquals(await problemsOf(page, "the statement"), []);
}

for (const look of looks) {
  await browserTest(
    `credit from a campaign to the wallet: ${look.locale}, ${look.width} px`,
    async (browser) => {
      await using site = await openTopupSite();
      const staff = await openWindow(browser, look, site.address, site.operatorToken);
      const code = await makeCodes(site, staff, look);
      assert(code.length > 0);
      await staff.close();
      const customer = await openWindow(browser, look, site.address, site.customerToken);
      await redeem(await customer.newPage(), site, code, look);
      await customer.close();
    },
  );
}

await browserTest("a code is redeemed without JavaScript", async (browser) => {
  await using site = await openTopupSite();
  const look: Look = { locale: "en", theme: "light", width: 390 };
  const staff = await openWindow(browser, look, site.address, site.operatorToken);
  const code = await makeCodes(site, staff, look);
  await staff.close();
  const context = await browser.newContext({ javaScriptEnabled: false, locale: "en" });
  const url = site.address;
  await context.addCookies([
    { name: "locale", value: "en", url },
    { name: "session", value: site.customerToken, url },
  ]);
  const page = await context.newPage();
  await page.goto(`${url}/wallet`);
  await page.getByLabel(words.en.code).fill(code);
  await page.getByRole("button", { name: words.en.redeem }).click();
  await page.getByText(words.en.redeemed).waitFor();
  await context.close();
});
