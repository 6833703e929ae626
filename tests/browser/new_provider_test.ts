/** A provider with its key and a model of it come into service by pages only, and a customer's call reaches it. */
import type { Page } from "playwright-core";
import { assertEquals } from "../support/assert.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { countClicks } from "../support/browser/clicks.ts";
import { looks, openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import { openOperatedGateway } from "../support/worlds/operated_gateway.ts";
import { storedKeyCatalogue } from "../support/worlds/stored_key_world.ts";
import { bearerPost } from "../support/api_post.ts";

const folder = new URL("../../screenshots/", import.meta.url);

const secret = "sk-acme-0123456789-abcdefghij";

/** A provider that answers each call with one word, and notes the keys that it was sent. */
function openProvider() {
  const keys: (string | null)[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    keys.push(request.headers.get("authorization"));
    return Response.json({
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1,
      model: "acme-large",
      choices: [{
        index: 0,
        message: { role: "assistant", content: "Yes" },
        finish_reason: "stop",
      }],
      usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
    });
  });
  return {
    keys,
    port: server.addr.port,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Fills fields by their names. */
async function fill(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(fields)) {
    await page.locator(`main [name="${name}"]`).first().fill(value);
  }
}

async function choose(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(fields)) {
    await page.locator(`main [name="${name}"]`).first().selectOption(value);
  }
}

/** Goes from a filled form over the preview to the catalogue with the change. */
async function applies(page: Page, see: (name: string) => Promise<void>, name: string) {
  await page.getByRole("button", { name: /^(?:Preview|Xem trước)$/ }).first().click();
  await page.locator('[name="reason"]').waitFor();
  await see(`${name}-preview`);
  await page.locator('[name="reason"]').fill("a new provider");
  await page.locator('form:has([name="reason"]) button').filter({ hasText: /Apply|Áp dụng/ })
    .click();
  await page.locator("dialog[open] button[value=yes]").click();
  await page.waitForURL(/done=switched/);
}

for (const look of looks) {
  await browserTest(
    `a new provider serves a customer, set up by pages only: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      await using provider = openProvider();
      await using world = await openOperatedGateway({
        // A real provider, since a sandbox takes none.
        file: () => storedKeyCatalogue(provider.port, "acme-main"),
      });
      const { address, gateway } = world;
      const context = await openWindow(browser, look, address, world.operatorToken);
      const clicks = await countClicks(context);
      const page = await context.newPage();
      const see = async (name: string) => {
        assertEquals(await problemsOf(page, name), []);
        const file = `new-provider-${name}-${look.locale}-${look.theme}-${look.width}.png`;
        await page.screenshot({ path: new URL(file, folder).pathname, fullPage: true });
      };
      await page.goto(`${address}/operator/provider-keys`);
      await fill(page, { name: "acme-main", secret });
      await page.locator('main form[action="/operator/provider-keys"] button').click();
      await page.waitForURL(/done=switched/);

      await page.goto(`${address}/operator/catalogue/provider`);
      await fill(page, { newName: "acme", baseUrl: `http://127.0.0.1:${provider.port}/v1` });
      await choose(page, { keySource: "acme-main" });
      await see("provider");
      await applies(page, see, "provider");

      await page.goto(`${address}/operator/catalogue/model`);
      await fill(page, {
        id: "acme-1",
        family: "acme",
        displayName: "Acme 1",
        contextWindow: "128000",
        maxOutputTokens: "8000",
        "price.vndPerMtok": "9000",
        "routes.0.model": "acme-large",
        "routes.0.style": "chat",
      });
      await choose(page, { kind: "chat", "routes.0.provider": "acme" });
      await see("model");
      await applies(page, see, "model");
      assertEquals(clicks(), 7, "clicks");

      const { key } = await gateway.customer(1_000);
      const answer = await fetch(
        bearerPost(`${address}/v1/chat/completions`, key, {
          model: "acme-1",
          messages: [{ role: "user", content: "Hi" }],
        }),
      );
      const { choices } = await answer.json();
      assertEquals([answer.status, choices[0].message.content], [200, "Yes"]);
      assertEquals(provider.keys, [`Bearer ${secret}`]);
      assertEquals(answer.headers.get("x-gateway-cost-vnd"), "0.108");
      await page.goto(`${address}/operator/catalogue/model?id=acme-1`);
      await see("in-service");
      await context.close();
    },
  );
}
