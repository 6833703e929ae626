/** Stored keys of providers in a real browser: added, replaced and removed, in all looks. */
import type { Page } from "playwright-core";
import { assert, assertEquals } from "../support/assert.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { looks, openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import { openOperatedGateway } from "../support/worlds/operated_gateway.ts";

const folder = new URL("../../screenshots/", import.meta.url);

const first = "sk-vendor-first-0123456789-aaaa";
const second = "sk-vendor-second-9876543210-bbbb";

/** Answers the dialog that a button opens. */
async function confirm(page: Page): Promise<void> {
  await page.locator("dialog[open] button[value=yes], dialog[open] .dialog-actions button").last()
    .click();
}

for (const look of looks) {
  await browserTest(
    `a key of a provider is added, replaced and removed: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      await using world = await openOperatedGateway();
      const { address, gateway: { assembled: { gateway } } } = world;
      const context = await openWindow(browser, look, address, world.operatorToken);
      const page = await context.newPage();
      const picture = async (name: string) => {
        assertEquals(await problemsOf(page, name), []);
        const html = await page.content();
        for (const secret of [first, second]) assert(!html.includes(secret), `${name} has a key`);
        const file = `provider-keys-${name}-${look.locale}-${look.theme}-${look.width}.png`;
        await page.screenshot({ path: new URL(file, folder).pathname, fullPage: true });
      };
      await page.goto(`${address}/operator/provider-keys`);
      await picture("none");
      await page.locator('[name="name"]').fill("openai-main");
      await page.locator('[name="secret"]').fill(`${first} with spaces`);
      await page.locator('main form[action="/operator/provider-keys"] button').click();
      await page.locator("#secret-error").waitFor();
      assertEquals(await page.locator('[name="name"]').inputValue(), "openai-main");
      assertEquals(await page.locator('[name="secret"]').inputValue(), "");
      await picture("mistake");
      await page.locator('[name="secret"]').fill(first);
      await page.locator('main form[action="/operator/provider-keys"] button').click();
      await page.waitForURL(/done=switched/);
      assertEquals(gateway.vault.secretOf("openai-main"), first);
      await picture("list");

      await page.locator("main a", { hasText: "openai-main" }).click();
      await page.locator('[name="secret"]').fill(second);
      await page.locator('form[action="/operator/provider-keys/openai-main"] button').click();
      await page.waitForURL(/done=switched/);
      assertEquals(gateway.vault.secretOf("openai-main"), second);
      await page.getByText("…bbbb").waitFor();
      await picture("one");

      await page.goto(`${address}/operator/catalogue/provider`);
      await page.locator('[name="keySource"]').selectOption("openai-main");
      await picture("form");
      await page.goto(`${address}/operator/provider-keys/openai-main`);
      await page.locator('form[action$="/remove"] button').click();
      await confirm(page);
      await page.waitForURL(/done=switched/);
      assertEquals(gateway.vault.secretOf("openai-main"), undefined);
      await context.close();
    },
  );
}
