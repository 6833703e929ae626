/** An operator's month end in a real browser: margins by model and customer, the provider's sheet, its file. */
import { bucketNames } from "../../routes/dashboard/text/bucket_names.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { looks, openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import { openTopupSite, seedTopups } from "../support/worlds/topup_site.ts";

const folder = new URL("../../screenshots/", import.meta.url);

const words = {
  en: {
    customer: "Customer",
    sheet: "Provider sheet",
    preview: "Preview",
    last: "Last month",
    show: "Show",
  },
  vi: {
    customer: "Khách hàng",
    sheet: "Bảng đối chiếu nhà cung cấp",
    preview: "Xem trước",
    last: "Tháng trước",
    show: "Xem",
  },
} as const;

for (const look of looks) {
  await browserTest(
    `a month is closed: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      await using site = await openTopupSite();
      await seedTopups(site);
      const context = await openWindow(browser, look, site.address, site.operatorToken);
      const page = await context.newPage();
      const t = words[look.locale];
      const picture = async (name: string) => {
        const file = `${name}-${look.locale}-${look.theme}-${look.width}.png`;
        await page.screenshot({ path: new URL(file, folder).pathname, fullPage: true });
      };
      await page.goto(`${site.address}/operator/margins`);
      assertEquals(await problemsOf(page, "margins"), []);
      await picture("margins");
      // The output of premium-1 is sold below its cost.
      const warning = page.locator("ul.lines li").filter({ hasText: "premium-1" });
      assert((await warning.first().textContent())?.includes(bucketNames[look.locale].output));
      await warning.first().getByRole("link").click();
      await page.locator('[name="price.vndPerMtok"]').fill("11000");
      await page.getByRole("button", { name: t.preview }).first().click();
      await page.locator('[name="reason"]').waitFor();
      assertEquals(await problemsOf(page, "price-effect"), []);
      await picture("price-effect");
      await page.goto(`${site.address}/operator/margins`);
      await page.locator("main").getByRole("link", { name: t.customer, exact: true }).click();
      await page.locator("td a", { hasText: "minh.tran@example.com" }).waitFor();

      await page.getByRole("link", { name: t.sheet, exact: true }).click();
      await page.locator("select[name=provider]").selectOption("sandbox");
      await page.locator("input[name=invoice]").fill("1");
      await page.locator("form.inline-form button[type=submit]").click();
      await page.locator("code", { hasText: "cache_read" }).waitFor();
      assertEquals(await problemsOf(page, "sheet"), []);
      await picture("sheet");
      const download = page.waitForEvent("download");
      await page.getByRole("button", { name: "CSV" }).or(page.getByRole("link", { name: "CSV" }))
        .first().click();
      const file = await Deno.readTextFile(await (await download).path());
      assert(file.includes("utc_day,provider,model,bucket"), file.slice(0, 200));
      assert(/,premium-1,cache_read,\d+,USD,0\.05,mtok,/.test(file));
      await context.close();
    },
  );
}
