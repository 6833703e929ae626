/**
 * The whole journey of a customer through a started gateway: sign-up by mail, top-up by bank transfer, a key, a call
 * with the official SDK, its receipt, an invoice; and the operator who exports it.
 */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import OpenAI from "openai";
import { TOTP } from "otpauth";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { browserTest } from "../support/browser/chromium.ts";
import { freePort } from "../support/servers/free_port.ts";
import { receivingAccount } from "../support/worlds/topup_world.ts";
import { openSmtp, type SmtpWorld, textOf } from "../support/servers/smtp_server.ts";
import { type StartedGateway, startGateway } from "../support/gateways/started_gateway.ts";
import { until } from "../support/until.ts";

const hookSecret = "journey-webhook-secret";
const customerEmail = "lan@example.com";
const operatorEmail = "boss@example.com";
const password = "bốn từ không liên quan";

interface Journey {
  readonly browser: Browser;
  readonly gateway: StartedGateway;
  readonly smtp: SmtpWorld;
  readonly address: string;
}

async function withGateway(browser: Browser, run: (journey: Journey) => Promise<void>) {
  await using smtp = await openSmtp();
  // Links in mails need the address before the server listens.
  const port = freePort();
  const address = `http://127.0.0.1:${port}`;
  await using gateway = await startGateway({
    env: {
      PORT: String(port),
      GATEWAY_BASE_URL: address,
      GATEWAY_OPERATORS: operatorEmail,
      MAIL_URL: `smtp://127.0.0.1:${smtp.port}`,
      SEPAY_WEBHOOK_SECRET: hookSecret,
      GATEWAY_BANK_ACCOUNTS: JSON.stringify([receivingAccount]),
      GATEWAY_VAT_RATES: "2025-07-01=8",
    },
  });
  await run({ browser, gateway, smtp, address });
}

/** Signs up through the pages and the mail, and returns the page it ends on. */
async function signUp({ browser, smtp, address }: Journey, email: string): Promise<Page> {
  const context: BrowserContext = await browser.newContext({ locale: "en-US" });
  const page = await context.newPage();
  await page.goto(`${address}/sign-up`);
  await page.getByLabel("Email address").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByText("We've sent an email").waitFor();
  const mail = await until(() => smtp.received.find(({ to }) => to.includes(email)), "the mail");
  const link = /http\S+#token=[\w-]+/.exec(textOf(mail))?.[0];
  assert(link !== undefined, textOf(mail));
  await page.goto(link);
  assert(!page.url().includes("token="), "the token stays in the address bar");
  await page.getByRole("button", { name: "Confirm the address" }).click();
  await page.getByRole("heading", { name: "Your account is ready" }).waitFor();
  await page.getByRole("link", { name: "Continue" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  return page;
}

/** Orders a top-up; the bank reports the transfer; the open page shows it without a reload. */
async function topUp({ address }: Journey, page: Page): Promise<string> {
  await page.getByRole("link", { name: "Wallet", exact: true }).click();
  await page.getByRole("button", { name: "₫200,000" }).click();
  await page.waitForURL(/\/wallet\/orders\/ST\w+$/);
  const code = page.url().split("/").at(-1)!;
  let loads = 0;
  page.on("load", () => loads++);
  assertEquals(await sendNotice(address, code), 200);
  assertEquals(await sendNotice(address, code), 200, "the bank may tell twice");
  await page.getByText("₫200,000 has arrived").or(page.locator(".notice.success")).first()
    .waitFor();
  assertEquals(loads, 0, "the page was loaded again");
  await page.getByRole("link", { name: "Overview", exact: true }).click();
  await page.locator(".stat", { hasText: "Balance" }).getByText("₫200,000").waitFor();
  return code;
}

async function sendNotice(address: string, code: string): Promise<number> {
  const body = JSON.stringify({
    id: 1,
    gateway: receivingAccount.bankName,
    transactionDate: new Date(Date.now() + 7 * 3_600_000).toISOString().slice(0, 19).replace(
      "T",
      " ",
    ),
    accountNumber: receivingAccount.account,
    subAccount: null,
    code: null,
    content: `NGUYEN THI LAN chuyen tien ${code}`,
    transferType: "in",
    transferAmount: 200_000,
    accumulated: 1_000_000,
    referenceCode: "FT26324123",
    description: "",
  });
  const timestamp = String(Math.floor(Date.now() / 1000));
  const key = await crypto.subtle.importKey(
    "raw",
    new TextEncoder().encode(hookSecret),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  const signed = new TextEncoder().encode(`${timestamp}.${body}`);
  const signature = new Uint8Array(await crypto.subtle.sign("HMAC", key, signed)).toHex();
  const response = await fetch(`${address}/hooks/bank/sepay`, {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      "x-sepay-timestamp": timestamp,
      "x-sepay-signature": `sha256=${signature}`,
    },
  });
  await response.body?.cancel();
  return response.status;
}

async function makeKey(page: Page): Promise<string> {
  await page.getByRole("link", { name: "API keys", exact: true }).click();
  await page.getByRole("link", { name: "New key" }).click();
  await page.getByLabel("Name").fill("laptop");
  await page.getByRole("button", { name: "Create the key" }).click();
  const secret = (await page.locator("#secret").textContent())!.trim();
  assert(/^sk-\w{49}$/.test(secret));
  return secret;
}

/** Calls with the official SDK and reads the receipt on the pages. */
async function callAndRead({ address }: Journey, page: Page, apiKey: string): Promise<void> {
  const client = new OpenAI({ baseURL: `${address}/v1`, apiKey });
  const answer = await client.chat.completions.create({
    model: "premium-1",
    messages: [{ role: "user", content: "Hello!" }],
  });
  assert(answer.choices[0]?.message.content);
  await page.getByRole("link", { name: "Requests", exact: true }).click();
  await page.getByRole("row", { name: /premium-1.*laptop/ }).getByRole("link").click();
  await page.getByRole("heading", { name: "Receipt" }).waitFor();
  assertEquals(page.url(), `${address}/receipts/${answer._request_id}`);
  const used = answer.usage!;
  const cost = (used.prompt_tokens + used.completion_tokens) * 8_300 / 1_000_000;
  await page.locator(".bill-sum").getByText(`₫${cost}`).waitFor();
}

async function useThePlayground(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Playground", exact: true }).click();
  await page.getByLabel("Your message").fill("Say something.");
  await page.getByRole("button", { name: "Send" }).click();
  await page.locator(".reply").getByRole("link", { name: "Receipt" }).waitFor();
  const answer = await page.locator(".reply .markdown").textContent();
  assert(answer !== null && answer.trim().length > 0);
}

async function askForInvoice({ address }: Journey, page: Page, code: string): Promise<void> {
  await page.goto(`${address}/invoices`);
  await page.locator(`a[href="/invoices/new?order=${code}"]`).click();
  await page.locator('[name="taxCode"]').fill("0100109106");
  await page.locator('[name="legalName"]').fill("CÔNG TY TNHH MẪU");
  await page.locator('[name="address"]').fill("1 Tràng Tiền, Hà Nội");
  await page.locator('[name="email"]').fill("ke-toan@example.com");
  await page.locator('form[action="/invoices"] button[type="submit"]').click();
  await page.waitForURL(/\/invoices\/inv_/);
}

async function exportAsOperator({ address }: Journey, page: Page): Promise<string> {
  await page.goto(`${address}/operator`);
  const secret = (await page.locator(".copy-value").first().textContent())!.trim();
  await page.locator('[name="code"]').fill(new TOTP({ secret }).generate());
  await page.locator('main form button[type="submit"]').click();
  await page.waitForURL(`${address}/operator`);
  await page.goto(`${address}/operator/invoices`);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.locator('button[value="csv"]').click(),
  ]);
  return await Deno.readTextFile(await download.path());
}

await browserTest("from sign-up to the exported invoice", async (browser) => {
  await withGateway(browser, async (journey) => {
    const page = await signUp(journey, customerEmail);
    await page.getByText("Three steps to your first answer").waitFor();
    const code = await topUp(journey, page);
    const secret = await makeKey(page);
    await callAndRead(journey, page, secret);
    await useThePlayground(page);
    await askForInvoice(journey, page, code);

    const operator = await signUp(journey, operatorEmail);
    const exported = await exportAsOperator(journey, operator);
    for (const part of ["0100109106", "CÔNG TY TNHH MẪU", "ke-toan@example.com", code]) {
      assertStringIncludes(exported, part);
    }

    const verified = await journey.gateway.admin("verify");
    assertEquals(verified.code, 0, verified.output);
    const log = journey.gateway.log.join("\n");
    for (const hidden of [secret, password, "Say something."]) {
      assert(!log.includes(hidden), "the log tells a secret");
    }
  });
});

await browserTest(
  "a refused form keeps its page, and a page says when the session has ended",
  async (browser) => {
    await withGateway(browser, async (journey) => {
      const page = await signUp(journey, customerEmail);
      await page.goto(`${journey.address}/wallet`);
      const amount = page.locator('input[name="amount"]');
      await amount.fill("1");
      await amount.press("Enter");
      await page.waitForURL(`${journey.address}/wallet/orders`);
      const menu = page.locator(".account-menu summary");
      await menu.click();
      await page.getByRole("button", { name: "Tiếng Việt" }).click();
      await page.locator("html[lang=vi]").waitFor();
      assertEquals(page.url(), `${journey.address}/wallet`);
      await menu.click();
      await page.getByRole("button", { name: "English" }).click();

      await makeKey(page);
      await page.getByRole("link", { name: "Playground", exact: true }).click();
      await page.getByLabel("Your message").fill("Say something.");
      await page.getByRole("button", { name: "Send" }).click();
      const answer = page.locator(".reply").first();
      await answer.getByText("Your wallet cannot pay for this call.").waitFor();
      assertEquals(
        await answer.getByRole("link", { name: "Top up" }).getAttribute("href"),
        "/wallet",
      );
      await page.context().clearCookies();
      await page.getByLabel("Your message").fill("Say something.");
      await page.getByRole("button", { name: "Send" }).click();
      await page.locator(".reply").last().getByText("You are signed out").waitFor();
      assertEquals(await page.locator("main").count(), 1);
    });
  },
);

await browserTest(
  "the keyboard is sufficient, and dangerous acts need a confirmation",
  async (browser) => {
    await withGateway(browser, async (journey) => {
      const page = await signUp(journey, customerEmail);
      await page.goto(journey.address);
      await page.keyboard.press("Tab");
      assertEquals(await page.locator(":focus").textContent(), "Skip to content");
      await page.keyboard.press("Enter");
      assertEquals(await page.locator(":focus").getAttribute("id"), "main");

      await makeKey(page);
      await page.getByRole("link", { name: "Back to the keys" }).click();
      await page.getByRole("link", { name: "Details of laptop" }).press("Enter");
      await page.getByRole("button", { name: "Revoke the key" }).press("Enter");
      const dialog = page.getByRole("dialog");
      await dialog.getByText("Revoke “laptop” for good?").waitFor();
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "hidden" });
      await page.getByRole("button", { name: "Revoke the key" }).press("Enter");
      await dialog.getByText("Revoke “laptop” for good?").waitFor();
      await dialog.getByRole("button", { name: "Revoke the key" }).press("Enter");
      await page.getByText("1 of 10 active keys").waitFor();
    });
  },
);

await browserTest(
  "models are searched while typing, copying is confirmed, theme and language are kept",
  async (browser) => {
    await withGateway(browser, async ({ address }) => {
      const context = await browser.newContext({
        locale: "en-US",
        permissions: ["clipboard-read", "clipboard-write"],
      });
      const page = await context.newPage();
      await page.goto(`${address}/models`);
      const rows = page.locator("tbody tr");
      const all = await rows.count();
      await page.getByLabel("Search").pressSequentially("thinking");
      await page.getByText("1 models").or(page.getByText("1 model")).first().waitFor();
      assert(await rows.count() < all);
      await page.getByRole("button", { name: /Copy: premium-1-thinking/ }).click();
      await page.locator("#announcer").getByText("Copied").waitFor({ state: "attached" });
      assertEquals(await page.evaluate("navigator.clipboard.readText()"), "premium-1-thinking");
      await page.getByRole("button", { name: "Dark" }).click();
      await page.locator("html[data-theme=dark]").waitFor();
      await page.getByRole("button", { name: "Tiếng Việt" }).click();
      await page.locator("html[lang=vi]").waitFor();
      await page.goto(`${address}/connect`);
      assertEquals(await page.locator("html").getAttribute("data-theme"), "dark");
      assertEquals(await page.locator("html").getAttribute("lang"), "vi");
      await context.close();
    });
  },
);
