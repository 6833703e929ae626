/** A price change by an operator in a real browser: form, difference, application, what customers see, and the way back. */
import type { Page } from "playwright-core";
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { countClicks } from "../support/browser/clicks.ts";
import { type Look, openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import { openOperatedGateway } from "../support/worlds/operated_gateway.ts";

const folder = new URL("../../screenshots/", import.meta.url);

interface Words {
  readonly preview: string;
  readonly addTier: string;
  readonly testing: string;
  readonly test: string;
  readonly works: string;
}

const words = {
  en: {
    preview: "Preview",
    either: "Write 9900 or 9.9",
    apply: "Apply",
    rollBack: "Roll back",
    restore: "Restore version 1",
    price: "₫9,900",
    old: "₫8,300",
    addTier: "Add a tier",
    testing: "Test a route",
    test: "Test this route",
    works: "works",
  },
  vi: {
    preview: "Xem trước",
    either: "Hãy ghi 9900 hoặc 9.9",
    apply: "Áp dụng",
    rollBack: "Khôi phục",
    restore: "Khôi phục phiên bản 1",
    price: "9.900",
    old: "8.300",
    addTier: "Thêm mức giá",
    testing: "Thử tuyến",
    test: "Thử tuyến này",
    works: "hoạt động",
  },
};

/** Answers the dialog that a button opens. */
async function confirm(page: Page): Promise<void> {
  await page.locator("dialog[open] button[value=yes], dialog[open] .dialog-actions button").last()
    .click();
}

/** Tests a route of a model against the sandbox. */
async function testsRoute(page: Page, address: string, t: Words): Promise<void> {
  await page.goto(`${address}/operator/catalogue/model?id=premium-1`);
  await page.locator("summary", { hasText: t.testing }).click();
  await page.getByRole("button", { name: t.test }).first().click();
  const result = page.locator(".notice.success");
  await result.waitFor();
  const text = await result.innerText();
  assert(text.includes(t.works) && text.includes("200"), text);
}

/** Adds a step to the price of a video, with a mistake first, and sees it in the preview. */
async function addsTier(page: Page, address: string, t: Words): Promise<void> {
  await page.goto(`${address}/operator/catalogue/model?id=video-a`);
  const rows = Number(await page.locator('[name="price.tiers.rows"]').inputValue());
  await page.getByRole("button", { name: t.addTier }).click();
  const field = (name: string) => page.locator(`[name="price.tiers.${rows}.${name}"]`);
  await field("fromSeconds").fill("11");
  await field("toSeconds").fill("12");
  await field("vnd").fill("cheap");
  await page.getByRole("button", { name: t.preview }).first().click();
  await page.locator(`[id="price.tiers.${rows}.vnd-error"]`).waitFor();
  assertEquals(await field("fromSeconds").inputValue(), "11");
  await field("vnd").fill("15000");
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
      const clicks = await countClicks(context);
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
      // The words about margins say it while it is typed.
      await page.locator("#margin-words", { hasText: t.either }).waitFor();
      await page.getByRole("button", { name: t.preview }).first().click();
      await page.locator(".field-error", { hasText: t.either }).waitFor();
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
      assertEquals(clicks(), 5, "clicks of a change with a mistake");
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
      assertEquals(clicks(), 8, "clicks of both");
      assertStringIncludes(await shownPrice(), t.old);
      assertStringIncludes(await listed(), "8300");
      await page.goto(`${address}/operator/catalogue/versions/2`);
      await look1("catalogue-version");

      await testsRoute(page, address, t);
      await look1("catalogue-route-test");
      await addsTier(page, address, t);
      await look1("catalogue-tier");
      await page.getByRole("button", { name: t.preview }).first().click();
      await page.locator('[name="reason"]').waitFor();
      assertStringIncludes(await page.locator("main").innerText(), "15000");
      await look1("catalogue-tier-preview");
      await context.close();
    },
  );
}
