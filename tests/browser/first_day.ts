/**
 * A developer's first day on a fresh gateway: sign-up, the link of the mail, a key and money to try, the shown code run
 * as it is, and the call that appears on the open page.
 */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import type { Page } from "playwright-core";
import { browserTest } from "../support/browser/chromium.ts";
import {
  askToSignUp,
  signUpInBrowser,
  startMailingGateway,
} from "../support/browser/new_customer.ts";
import { type Look, problemsOf } from "../support/browser/page_soundness.ts";
import { bearerPost } from "../support/api_post.ts";

const folder = new URL("../../screenshots/", import.meta.url);

const words = {
  en: {
    ready: "Your account is ready",
    credit: "You have ₫20,000 to try.",
    waiting: "Waiting for your first call",
    arrived: "Your first call is here",
    overview: "Overview",
  },
  vi: {
    ready: "Tài khoản đã sẵn sàng",
    credit: "Bạn có 20.000 ₫ để dùng thử.",
    waiting: "Đang đợi lượt gọi đầu tiên",
    arrived: "Lượt gọi đầu tiên đã đến",
    overview: "Tổng quan",
  },
};

/** Runs the shown curl command as it is, and returns its answer. */
async function runShownCode(page: Page): Promise<string> {
  const code = await page.locator(".tab-panel code").first().textContent();
  const { stdout, stderr } = await new Deno.Command("sh", { args: ["-c", `${code} -sS`] }).output();
  const decoder = new TextDecoder();
  return decoder.decode(stdout) + decoder.decode(stderr);
}

/** Registers the way from sign-up to the first call as a test, in one look. */
export async function firstDayTest(look: Look): Promise<void> {
  const t = words[look.locale];
  await browserTest(
    `from sign-up to the first call: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      await using world = await startMailingGateway();
      const { address, gateway } = world;
      const { context, page } = await signUpInBrowser(browser, look, world);
      const picture = async (name: string) => {
        const file = `${name}-${look.locale}-${look.theme}-${look.width}.png`;
        await page.screenshot({ path: new URL(file, folder).pathname, fullPage: true });
      };
      await page.getByRole("heading", { name: t.ready }).waitFor();
      const shown = (await page.locator("main").innerText()).replaceAll("\u00a0", " ");
      assertStringIncludes(shown, t.credit);
      await page.getByRole("heading", { name: t.waiting }).waitFor();
      assertEquals(await problemsOf(page, "/welcome"), []);
      await picture("welcome");

      const answer = await runShownCode(page);
      assertStringIncludes(answer, '"object":"chat.completion"');
      await page.getByRole("heading", { name: t.arrived }).waitFor();
      const row = page.locator("#first-call tbody tr");
      assertEquals(await row.count(), 1);
      assertStringIncludes(await row.innerText(), "premium-1");
      assertEquals(await problemsOf(page, "/welcome with a call"), []);
      await picture("welcome-called");

      await page.goto(`${address}/`);
      await page.getByRole("heading", { name: t.overview, level: 1 }).waitFor();
      await page.locator('main a[href^="/receipts/req_"]').first().waitFor();
      const secret = (await (await page.request.get(`${address}/welcome`)).text())
        .match(/sk-\w{49}/)?.[0];
      assert(secret !== undefined && !gateway.log.join("\n").includes(secret), "a key in the log");
      await context.close();
    },
  );
}

/** Registers the same without script. */
export async function firstDayWithoutScriptTest(): Promise<void> {
  await browserTest("without script the way to the first call is the same", async (browser) => {
    await using world = await startMailingGateway();
    const context = await browser.newContext({ locale: "en-US", javaScriptEnabled: false });
    const page = await context.newPage();
    const token = (await askToSignUp(page, world)).split("#token=")[1] ?? "";
    await page.goto(`${world.address}/verify`);
    await page.locator("[name=token]").fill(token);
    await page.locator("main button[type=submit]").click();
    await page.getByRole("heading", { name: words.en.ready }).waitFor();
    assertStringIncludes(await runShownCode(page), '"object":"chat.completion"');
    await page.getByRole("link", { name: "Look again" }).click();
    await page.getByRole("heading", { name: words.en.arrived }).waitFor();
    await context.close();
  });
}

/** A first call that is refused, seen on the page that waits for it. */
export async function refusedFirstCallTest(): Promise<void> {
  await browserTest(
    "a first call that is refused changes the heading in place, until one works",
    async (browser) => {
      await using world = await startMailingGateway();
      const look = { locale: "en", theme: "light", width: 1280 } as const;
      const { context, page } = await signUpInBrowser(browser, look, world);
      await page.getByRole("heading", { name: words.en.waiting }).waitFor();
      const secret = (await page.locator("#secret").textContent()) ?? "";
      const refused = await fetch(
        bearerPost(`${world.address}/v1/embeddings`, secret, {
          model: "premium-1",
          input: "Hello!",
        }),
      );
      assertEquals(refused.status, 400);
      await refused.body?.cancel();
      await page.getByRole("heading", { name: "One step is missing", level: 1 }).waitFor();
      const part = page.locator("#first-call");
      assertStringIncludes(await part.innerText(), "Models for this endpoint: example-embedding");
      assertEquals(await part.locator('a[href="/models"]').count(), 1);
      assertEquals(await problemsOf(page, "/welcome with a refused call"), []);
      assertStringIncludes(await runShownCode(page), '"object":"chat.completion"');
      await page.getByRole("heading", { name: "Your account works", level: 1 }).waitFor();
      await page.getByRole("heading", { name: words.en.arrived }).waitFor();
      await context.close();
    },
  );
}
