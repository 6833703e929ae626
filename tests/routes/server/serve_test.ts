import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { serveGateway } from "../../support/served_gateway.ts";

/** A provider that is not the sandbox; nothing is ever sent to it. */
const production = {
  file: (file: Record<string, unknown>) => ({
    ...file,
    providers: {
      sandbox: { kind: "sandbox" },
      vendor: { kind: "http", baseUrl: "https://api.example", apiKeyEnv: "VENDOR_KEY" },
    },
  }),
  env: { VENDOR_KEY: "secret-of-the-vendor", GATEWAY_DRAIN_MS: "0" },
};

Deno.test("production without MAIL_URL serves, warns at the start, and says why a mail failed", async () => {
  await using gateway = await serveGateway(production);
  const warning = JSON.parse(await gateway.line(/"mail is off"/));
  assertEquals(warning.level, "warn");
  assertStringIncludes(warning.reason, "MAIL_URL is not set");

  const browser = gateway.browser();
  const page = await browser.get("/sign-up");
  const sent = await browser.submit(page, "/sign-up", {
    email: "ann@example.com",
    password: "correct horse battery",
  });
  assertEquals(sent.status, 200);
  const failed = JSON.parse(await gateway.line(/"mail failed"/));
  assertEquals(failed.error, "mail_url_not_set");
  for (const line of gateway.lines) {
    assert(!/ann@example|correct horse|secret-of-the-vendor|#token=/.test(line), line);
  }
});

Deno.test("with MAIL_URL, and in a sandbox, there is no such warning", async () => {
  const mail = { MAIL_URL: "smtp://127.0.0.1:9" };
  for (const options of [{ ...production, env: { ...production.env, ...mail } }, {}]) {
    await using gateway = await serveGateway(options);
    await fetch(`${gateway.address}/healthz`).then((answer) => answer.body?.cancel());
    assert(!gateway.lines.some((line) => line.includes("mail is off")));
  }
});
