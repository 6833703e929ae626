/** Wallet, invoice and operator pages in a real browser, and a balance that is updated on the open page. */
import { assertEquals, assertStringIncludes } from "../support/assert.ts";
import type { Browser } from "playwright-core";
import { browserTest } from "../support/browser/chromium.ts";
import { type Look, looks, openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import { readQr } from "../support/browser/qr_reader.ts";
import { openTopupSite, seedTopups } from "../support/worlds/topup_site.ts";
import { notice, receivingAccount } from "../support/worlds/topup_world.ts";
import { orderVietQr } from "../../core/trade/bank/receiving_account.ts";

const folder = new URL("../../screenshots/", import.meta.url);

async function lookAt(
  browser: Browser,
  look: Look,
  address: string,
  token: string,
  pages: Record<string, string>,
): Promise<string[]> {
  const problems: string[] = [];
  const context = await openWindow(browser, look, address, token);
  const page = await context.newPage();
  page.on("pageerror", (error) => problems.push(`${page.url()}: ${error.message}`));
  const device = look.width < 600 ? "phone" : "desktop";
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(address + path, { waitUntil: "load" });
    problems.push(...await problemsOf(page, path));
    const file = new URL(`${name}-${look.locale}-${look.theme}-${device}.png`, folder);
    await page.screenshot({ path: file.pathname, fullPage: true });
  }
  await context.close();
  return problems;
}

for (const look of looks) {
  await browserTest(
    `wallet, invoices and operator are sound: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      await using site = await openTopupSite();
      const paths = await seedTopups(site);
      const { address, customerToken, operatorToken } = site;
      assertEquals([
        ...await lookAt(browser, look, address, customerToken, paths.customer),
        ...await lookAt(browser, look, address, operatorToken, paths.operator),
      ], []);
    },
  );
}

/** Reads the pixels of a picture. It runs in the page and is therefore a string. */
const readPicture = `async (base64) => {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  const bitmap = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const pen = canvas.getContext("2d");
  pen.drawImage(bitmap, 0, 0);
  const { data, width, height } = pen.getImageData(0, 0, bitmap.width, bitmap.height);
  return { data: [...data], width, height };
}`;

await browserTest(
  "the open order page changes to paid without a reload, and its QR code can be scanned",
  async (browser) => {
    await using site = await openTopupSite();
    const order = await site.order(200_000);
    const look: Look = { locale: "en", theme: "dark", width: 390 };
    const context = await openWindow(browser, look, site.address, site.customerToken);
    const page = await context.newPage();
    await page.goto(`${site.address}/wallet/orders/${order.code}`);

    // The picture that a phone would see, in the dark theme.
    const picture = await page.locator(".qr").screenshot();
    const read = await page.evaluate<{ data: number[]; width: number; height: number }>(
      `(${readPicture})(${JSON.stringify(picture.toString("base64"))})`,
    );
    const text = readQr(new Uint8ClampedArray(read.data), read.width, read.height);
    assertEquals(text, orderVietQr(receivingAccount, order.code, 200_000n));

    await site.intake.take(notice(order.code, { at: "2026-11-20 10:00:30" }), "{}");
    await page.getByText("₫200,000 has arrived and is in your wallet.").waitFor({
      timeout: 15_000,
    });
    await page.getByText("Your balance is now ₫200,000.").waitFor();
    assertEquals(await page.locator(".qr").count(), 0);
    await context.close();
  },
);

await browserTest(
  "an approval is decided on a page that shows sender, recipient, evidence and what is unusual",
  async (browser) => {
    await using site = await openTopupSite();
    await seedTopups(site);
    const look: Look = { locale: "en", theme: "light", width: 1280 };
    const context = await openWindow(browser, look, site.address, site.operatorToken);
    const page = await context.newPage();
    await page.goto(`${site.address}/operator/approvals`);
    await page.getByRole("link", { name: "Review and decide" }).click();
    await page.getByText("Check this").waitFor();
    const text = (await page.locator("main").innerText()).replaceAll("\u00a0", " ");
    for (
      const line of [
        "NGUYEN VAN BINH, 0987654321, VCB",
        "lan.nguyen@example.com",
        "NGUYEN VAN B chuyen tien",
        "₫1,570,000 → ₫1,920,000",
        "The order asks for another amount.",
        "2 orders, ₫1,500,000 in all, largest ₫1,000,000",
        "Khách gọi điện, gửi ảnh chụp biên lai",
      ]
    ) assertStringIncludes(text, line);
    assertEquals(await problemsOf(page, "approval"), []);
    await page.screenshot({ path: new URL("approval.png", folder).pathname, fullPage: true });
    await page.getByRole("button", { name: "Approve ₫350,000" }).click();
    await page.getByText("Approved and carried out.").waitFor();
    await page.goto(`${site.address}/operator/audit`);
    await page.getByText("₫1,570,000 → ₫1,920,000").first().waitFor();
    const hidden = "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)";
    const frame = 'document.querySelector(".table-frame")';
    assertEquals(await page.evaluate<number>(`${hidden}(${frame})`), 0, "pixels cut off");
    await context.close();
  },
);
