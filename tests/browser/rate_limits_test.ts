/**
 * Rate limits in a real browser: an operator sets those of an account, its owner those of a key, both see their use.
 */
import { ProcessRateBook } from "../../core/limits/rate_book.ts";
import { createApiKey } from "../../kv/people/api_keys/api_key_changes.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { looks, openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import { openTopupSite } from "../support/worlds/topup_site.ts";

const folder = new URL("../../screenshots/", import.meta.url);

for (const look of looks) {
  await browserTest(
    `rate limits are set and seen: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      const book = new ProcessRateBook(() => 1_000_000);
      await using site = await openTopupSite({
        rates: {
          defaults: () => ({ account: { requestsPerMinute: 600, callsAtOnce: 50 } }),
          model: (id) => ({ id }),
          use: (ids) => book.use(ids),
        },
      });
      const { customer, world: { kv, deps: { masterKeys, clock } } } = site;
      const made = await createApiKey(kv, masterKeys, customer.id, {
        name: "production server",
        nowMs: clock.nowMs(),
      });
      assert(made.ok);
      for (let call = 0; call < 40; call++) {
        book.begin({
          subjects: [
            { id: customer.id, scope: "account", limits: {} },
            { id: made.record.id, scope: "key", limits: {} },
          ],
          tokens: 2_345,
          inputTokens: 9,
        });
      }
      const picture = async (
        page: { screenshot: (o: object) => Promise<unknown> },
        name: string,
      ) => {
        const file = `${name}-${look.locale}-${look.theme}-${look.width}.png`;
        await page.screenshot({ path: new URL(file, folder).pathname, fullPage: true });
      };

      const staff = await openWindow(browser, look, site.address, site.operatorToken);
      const account = await staff.newPage();
      await account.goto(`${site.address}/operator/accounts/${customer.id}/limits`);
      const form = account.locator("form[action$='/limits']");
      await form.locator("input[name=tokensPerMinute]").fill("100.000");
      await form.locator("textarea[name=models]").fill("premium-1 60 - 5");
      await form.locator("input[name=reason]").fill("agreed with the customer");
      assertEquals(await problemsOf(account, "form"), []);
      await picture(account, "limits-form");
      await form.locator("button[type=submit]").click();
      await account.locator("td", { hasText: "premium-1" }).first().waitFor();
      assertEquals(await account.locator("meter.limit-meter").count(), 5);
      assertEquals(await problemsOf(account, "account"), []);
      await picture(account, "limits-account");
      await staff.close();

      const owner = await openWindow(browser, look, site.address, site.customerToken);
      const key = await owner.newPage();
      await key.goto(`${site.address}/keys/${made.record.id}`);
      const settings = key.locator(`form[action='/keys/${made.record.id}']`);
      await settings.locator("input[name=requestsPerMinute]").fill("50");
      const bar = settings.locator(".save-bar");
      assert(
        /\b1\b/.test(await bar.getByRole("status").textContent() ?? ""),
        "a change is counted",
      );
      await bar.locator("[type=reset]").click();
      assertEquals(await settings.locator("input[name=requestsPerMinute]").inputValue(), "");
      assertEquals(await bar.getByRole("status").textContent(), "");
      await settings.locator("input[name=requestsPerMinute]").fill("50");
      assertEquals(await problemsOf(key, "key form"), []);
      await picture(key, "limits-key-form");
      await bar.locator("button[type=submit]").click();
      await key.locator(".notice.success").waitFor();
      assertEquals(await settings.locator("input[name=requestsPerMinute]").inputValue(), "50");
      assertEquals(await settings.locator("meter").count(), 1, "its use stands under it");
      assertEquals(await problemsOf(key, "key"), []);
      await picture(key, "limits-key");
      await key.goto(`${site.address}/usage`);
      assertEquals(await problemsOf(key, "usage"), []);
      await picture(key, "limits-usage");
      await owner.close();
    },
  );
}
