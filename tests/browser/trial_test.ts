/** A visitor tries a model before there is an account: the answer as it arrives, its cost, and what ends it. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { looks, openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import { startGateway } from "../support/gateways/started_gateway.ts";

const words = {
  en: { answer: "Answer of Premium 1", charged: "Charged", over: "Your network has asked" },
  vi: { answer: "Câu trả lời của Premium 1", charged: "Đã tính phí", over: "Mạng của bạn đã hỏi" },
};

for (const look of looks) {
  const t = words[look.locale];
  await browserTest(
    `a visitor asks a model: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      await using gateway = await startGateway({ env: { GATEWAY_TRIAL_CALLS_PER_ADDRESS: "1" } });
      const context = await openWindow(browser, look, gateway.address);
      const page = await context.newPage();
      const problems: string[] = [];
      page.on("pageerror", (error) => problems.push(error.message));
      await page.goto(gateway.address);
      await page.locator('a[href="/try"]').first().click();
      await page.waitForURL("**/try");
      problems.push(...await problemsOf(page, "before"));
      await page.locator("#trial [name=prompt]").fill("Xin chào <b>bạn</b> [[sandbox:pace 40]]");
      await page.locator("#trial [type=submit]").click();
      const answer = page.locator("#trial-answer");
      await answer.locator(".receipt").waitFor();
      const text = await answer.innerText();
      for (const part of [t.answer, "You said: Xin chào <b>bạn</b>", t.charged, "₫"]) {
        assertStringIncludes(text, part);
      }
      assertEquals(new URL(page.url()).pathname, "/try");
      problems.push(...await problemsOf(page, "answered"));

      await page.locator("#trial [type=submit]").click();
      await answer.locator(".notice").waitFor();
      assertStringIncludes(await answer.innerText(), t.over);
      problems.push(...await problemsOf(page, "used up"));
      await answer.locator('a[href="/sign-up"]').click();
      await page.waitForURL("**/sign-up");
      assertEquals(problems, []);
    },
  );
}

await browserTest("a visitor asks a model without script", async (browser) => {
  await using gateway = await startGateway();
  const context = await browser.newContext({ javaScriptEnabled: false, locale: "en" });
  const page = await context.newPage();
  await page.goto(`${gateway.address}/models/premium-1`);
  await page.locator('a[href="/try?model=premium-1"]').click();
  await page.locator("#trial [name=prompt]").fill("Hello there");
  await page.locator("#trial [type=submit]").click();
  const text = await page.locator("main").innerText();
  assertStringIncludes(text, "You said: Hello there");
  assertStringIncludes(text, "Charged");
  assert(await page.locator("#trial [name=prompt]").inputValue() === "Hello there");
});
