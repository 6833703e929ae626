/** A started gateway with a mailbox, and a browser whose visitor has just signed up: what a developer has on the first day. */
import type { Browser, BrowserContext, Page } from "playwright-core";
import { type StartedGateway, startGateway } from "../gateways/started_gateway.ts";
import { freePort } from "../servers/free_port.ts";
import { openSmtp, type SmtpWorld, textOf } from "../servers/smtp_server.ts";
import { until } from "../until.ts";
import { type Look, openWindow } from "./page_soundness.ts";

const firstEmail = "lan@example.com";
const password = "bốn từ không liên quan";

/** A gateway that mails its links to a mailbox of the test. */
export interface MailingGateway extends AsyncDisposable {
  readonly gateway: StartedGateway;
  readonly smtp: SmtpWorld;
  readonly address: string;
}

export async function startMailingGateway(): Promise<MailingGateway> {
  const smtp = await openSmtp();
  // Links in mails need the address before the server listens.
  const port = freePort();
  const address = `http://127.0.0.1:${port}`;
  const gateway = await startGateway({
    env: {
      PORT: String(port),
      GATEWAY_BASE_URL: address,
      MAIL_URL: `smtp://127.0.0.1:${smtp.port}`,
    },
  });
  return {
    gateway,
    smtp,
    address,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await smtp[Symbol.asyncDispose]();
    },
  };
}

/** Fills the form of the sign-up and returns the link of the mail. */
export async function askToSignUp(
  page: Page,
  { smtp, address }: Pick<MailingGateway, "smtp" | "address">,
  email = firstEmail,
): Promise<string> {
  const before = smtp.received.length;
  await page.goto(`${address}/sign-up`);
  await page.locator("[name=email]").fill(email);
  await page.locator("[name=password]").fill(password);
  await page.locator("main button[type=submit]").click();
  const mail = await until(
    () => smtp.received.slice(before).find(({ to }) => to.includes(email)),
    "the mail",
  );
  const link = /http\S+#token=[\w-]+/.exec(textOf(mail))?.[0];
  if (link === undefined) throw new Error(textOf(mail));
  return link;
}

/** Signs up in a new window; its page greets the new account afterwards, or shows who is invited the invitation. */
export async function signUpInBrowser(
  browser: Browser,
  look: Look,
  world: Pick<MailingGateway, "smtp" | "address">,
  { email = firstEmail, landing = "/welcome" }: {
    readonly email?: string;
    readonly landing?: "/welcome" | "/organisations";
  } = {},
): Promise<{ readonly context: BrowserContext; readonly page: Page }> {
  const context = await openWindow(browser, look, world.address);
  const page = await context.newPage();
  await page.goto(await askToSignUp(page, world, email));
  await page.locator("main button[type=submit]").click();
  await page.waitForURL(world.address + landing);
  return { context, page };
}
