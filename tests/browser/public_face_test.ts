/** What a visitor does before there is an account: prices, a model, the documentation; with script, without it. */
import { assert, assertStringIncludes } from "../support/assert.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { openSeededDashboard } from "../support/worlds/seeded_dashboard.ts";

await browserTest(
  "a visitor counts a price, reads of a model and fills a key in",
  async (browser) => {
    await using seeded = await openSeededDashboard();
    const context = await browser.newContext({ locale: "en-US" });
    const page = await context.newPage();
    await page.goto(seeded.address);
    await page.getByText("Codex", { exact: true }).click();
    await page.getByText('model_provider = "gateway"').waitFor();
    assert(!await page.getByText("curl http").first().isVisible());
    await page.getByLabel("Prompt tokens").fill("1,000,000");
    await page.getByLabel("Output tokens").fill("0");
    await page.getByLabel("Calls per day").fill("10");
    await page.locator("#cost").getByText("₫2,490,000").waitFor();
    await page.getByRole("link", { name: "Premium 1", exact: true }).click();
    await page.getByRole("heading", { name: "Premium 1", level: 1 }).waitFor();
    await page.getByRole("link", { name: "/v1/messages" }).click();
    await page.waitForURL("**/docs/api/chat/createMessage");
    await page.getByRole("link", { name: "Agents and tools" }).first().click();
    await page.getByText("n8n", { exact: true }).click();
    await page.getByText("Credentials, OpenAI").waitFor();
    await page.goto(`${seeded.address}/connect`);
    await page.getByLabel("Fill in your key").fill("sk-of-mine");
    assertStringIncludes(await page.locator(".code-block").first().innerText(), "sk-of-mine");
    assert(!(await page.locator("main").innerText()).includes('"YOUR_KEY"'));
    await context.close();
  },
);

await browserTest(
  "without script the calculator, the tabs and the reference work",
  async (browser) => {
    await using seeded = await openSeededDashboard();
    const context = await browser.newContext({ locale: "vi-VN", javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(seeded.address);
    await page.getByText("Python", { exact: true }).click();
    await page.getByText("from openai import OpenAI").waitFor();
    await page.getByLabel("Lượt gọi mỗi ngày").fill("1.000");
    await page.getByRole("button", { name: "Tính" }).click();
    await page.locator("#cost").getByText("622.500").waitFor();
    await page.goto(`${seeded.address}/docs/api/chat/createMessage`);
    await page.getByText("Thành phần").first().click();
    await page.goto(`${seeded.address}/connect`);
    assert(
      !await page.getByLabel("Điền khoá API của bạn").isVisible(),
      "a field that does nothing",
    );
    await context.close();
  },
);
