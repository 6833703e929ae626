/** A price change by an operator in a real browser: form, difference, application, what customers see, and the way back. */
import type { Page } from "playwright-core";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { type Look, openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import { openOperatedGateway } from "../support/worlds/operated_gateway.ts";

const folder = new URL("../../screenshots/", import.meta.url);

const words = {
  en: {
    preview: "Preview",
    either: "Write 9900 or 9.9",
    apply: "Apply",
    rollBack: "Roll back",
    restore: "Restore version 1",
    price: "₫9,900",
    old: "₫8,300",
  },
  vi: {
    preview: "Xem trước",
    either: "Hãy ghi 9900 hoặc 9.9",
    apply: "Áp dụng",
    rollBack: "Khôi phục",
    restore: "Khôi phục phiên bản 1",
    price: "9.900",
    old: "8.300",
  },
};

/** Answers the dialog that a button opens. */
async function confirm(page: Page): Promise<void> {
  await page.locator("dialog[open] button[value=yes], dialog[open] .dialog-actions button").last()
    .click();
}

/** Registers a price change and the way back as a test, in one look. */
export async function priceChangeTest(look: Look): Promise<void> {
  const t = words[look.locale];
  await browserTest(
    `a price is changed and changed back: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      await using world = await openOperatedGateway();
      const { address, gateway } = world;
      const { key } = await gateway.customer(1_000);
      const context = await openWindow(browser, look, address, world.operatorToken);
      const page = await context.newPage();
      const look1 = async (name: string) => {
        assertEquals(await problemsOf(page, name), []);
        const file = `${name}-${look.locale}-${look.theme}-${look.width}.png`;
        await page.screenshot({ path: new URL(file, folder).pathname, fullPage: true });
      };
      const listed = async (): Promise<string> => {
        const headers = { "x-api-key": key };
        return await (await fetch(`${address}/v1/models/premium-1`, { headers })).text();
      };
      const shownPrice = async () => {
        await page.goto(`${address}/models/premium-1`);
        return (await page.locator("main").innerText()).replaceAll("\u00a0", " ");
      };

      await page.goto(`${address}/operator/catalogue`);
      await look1("catalogue");
      await page.locator("a", { hasText: /^premium-1$/ }).click();
      await look1("catalogue-model");
      // A form with a mistake comes back with it, and says beside the field what is wrong.
      await page.locator('[name="price.vndPerMtok"]').fill("9.900");
      await page.getByRole("button", { name: t.preview }).first().click();
      await page.getByText(t.either).waitFor();
      assertEquals(await page.locator('[name="price.vndPerMtok"]').inputValue(), "9.900");
      await look1("catalogue-mistake");
      await page.locator('[name="price.vndPerMtok"]').fill("9900");
      await page.getByRole("button", { name: t.preview }).first().click();
      await page.locator('[name="reason"]').waitFor();
      const difference = await page.locator("table").innerText();
      assert(/8[.,]300 → 9[.,]900/.test(difference), difference);
      await look1("catalogue-preview");
      await page.locator('[name="reason"]').fill("the provider is dearer");
      await page.getByRole("button", { name: t.apply }).click();
      await confirm(page);
      await page.waitForURL(/done=switched/);
      await look1("catalogue-applied");
      assertStringIncludes(await shownPrice(), t.price);
      assertStringIncludes(await listed(), "9900");

      await page.goto(`${address}/operator/catalogue/versions`);
      await look1("catalogue-history");
      await page.getByRole("button", { name: t.rollBack, exact: true }).last().click();
      await page.locator('[name="reason"]').waitFor();
      await look1("catalogue-rollback");
      await page.getByRole("button", { name: t.restore }).click();
      await confirm(page);
      await page.waitForURL(/done=switched/);
      assertStringIncludes(await shownPrice(), t.old);
      assertStringIncludes(await listed(), "8300");
      await page.goto(`${address}/operator/catalogue/versions/2`);
      await look1("catalogue-version");
      await context.close();
    },
  );
}
