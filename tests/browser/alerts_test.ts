/** Somebody connects a chat of their team: adds it, tries it out, corrects the chat, and hears of a new key. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { signUpInBrowser, startMailingGateway } from "../support/browser/new_customer.ts";
import { problemsOf } from "../support/browser/page_soundness.ts";
import { until } from "../support/until.ts";
import { openReceiver } from "../support/worlds/webhook_world.ts";

const token = "123456789:AAbbCCddEEffGGhhIIjj";

await browserTest(
  "a chat is connected on the page, tried out, corrected, and told",
  async (browser) => {
    await using bot = openReceiver(({ body }) =>
      JSON.parse(body).chat_id === "-1002"
        ? Response.json({ ok: true, result: { message_id: 7 } })
        : Response.json(
          { ok: false, error_code: 400, description: "Bad Request: chat not found" },
          { status: 400 },
        )
    );
    await using world = await startMailingGateway();
    const { address } = world;
    const look = { locale: "en", theme: "light", width: 1280 } as const;
    const { page } = await signUpInBrowser(browser, look, world);
    await page.goto(`${address}/webhooks`);
    await page.getByRole("link", { name: "Add an endpoint" }).click();
    await page.getByRole("link", { name: "Telegram" }).click();
    assertEquals(await problemsOf(page, "the form"), []);
    await page.getByLabel("Bot token").fill(token);
    await page.getByLabel("Chat id").fill("-1001");
    await page.getByLabel("Server of the bot").fill(new URL(bot.url).origin);
    await page.getByRole("button", { name: "Add" }).click();
    await page.getByRole("heading", { name: "Send a test" }).waitFor();
    const send = page.getByRole("button", { name: "Send", exact: true });
    await send.click();
    await page.locator("#sent").getByText("“400 Bad Request: chat not found”").waitFor();
    await page.getByLabel("Chat id").fill("-1002");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Enter the token again").waitFor();
    await page.getByLabel("Bot token").fill(token);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    assert(!(await page.content()).includes(token));
    await send.click();
    await page.locator("#sent").getByText("Answered with status 200 “ok”").waitFor();
    assertEquals(await problemsOf(page, "the endpoint"), []);
    await page.goto(`${address}/keys/new`);
    await page.locator("[name=name]").fill("production");
    await page.locator("main button[type=submit]").first().click();
    const told = await until(
      () => bot.received.find(({ body }) => body.includes("New API key: production")),
      "the message",
    );
    assertEquals(told.path, `/bot${token}/sendMessage`);
    assertStringIncludes(told.body, `${address}/keys?organisation=`);
  },
);
