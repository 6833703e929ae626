/**
 * The routes of `/operator/provider-routes` in a real browser: a short list, searched while typing; an act returns to
 * its row.
 */
import { assert, assertEquals } from "../support/assert.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { looks, openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import { openTopupSite } from "../support/worlds/topup_site.ts";

const folder = new URL("../../screenshots/", import.meta.url);

/** Height in pixels of a list of 57 models, one line each, on the narrowest screen. */
const maxHeight = 6_000;

for (const look of looks) {
  await browserTest(
    `routes are found and switched in place: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      await using site = await openTopupSite();
      const context = await openWindow(browser, look, site.address, site.operatorToken);
      const page = await context.newPage();
      const picture = async (name: string) => {
        const file = `${name}-${look.locale}-${look.theme}-${look.width}.png`;
        await page.screenshot({ path: new URL(file, folder).pathname });
      };
      await page.goto(`${site.address}/operator/provider-routes`);
      const height = await page.evaluate<number>("document.documentElement.scrollHeight");
      assert(height < maxHeight, `${height} px`);
      assertEquals(await page.locator("details[open].route-group").count(), 1);
      await picture("service");

      await page.locator("main input[type=search]").fill("general-07");
      await page.locator(".route-group").first().filter({ hasText: "general-07" }).waitFor();
      assertEquals(await problemsOf(page, "search"), []);

      await page.goto(`${site.address}/operator/provider-routes`);
      const group = page.locator(".route-group").last();
      await group.locator("summary").click();
      const id = await group.locator(".route-row").last().getAttribute("id");
      const row = page.locator(`[id="${id}"]`);
      await row.locator("input[name=reason]").fill("slow");
      await row.locator("button[value=disable]").click();
      await row.getByRole("status").waitFor();
      const top = (await row.boundingBox())!.y;
      assert(top >= 50 && top < 850, `the row is in sight: ${top}`);
      assertEquals(await row.locator("button[value=enable]").count(), 1);
      assertEquals(await problemsOf(page, "after an act"), []);
      await picture("service-changed");
      await context.close();
    },
  );
}
