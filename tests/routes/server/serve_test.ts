import { assert, assertEquals, assertRejects, assertStringIncludes } from "../../support/assert.ts";
import { serveGateway } from "../../support/gateways/served_gateway.ts";
import { bearerPost } from "../../support/api_post.ts";

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

const hasIpv6 = (() => {
  try {
    Deno.listen({ hostname: "::1", port: 0 }).close();
    return true;
  } catch {
    return false;
  }
})();

/** The base addresses that pages and banner show to a visitor of `origin`, and the status of a form posted there. */
async function toldAt(host: string, origin: (port: string) => string) {
  await using gateway = await serveGateway({ env: { HOST: host } });
  const port = /:(\d+)$/.exec(gateway.address)![1]!;
  const browser = gateway.browser(origin(port));
  const page = await browser.get("/sign-in");
  const posted = await browser.submit(page, "/preferences", { locale: "en", theme: "dark" });
  const landing = await browser.get("/");
  const told = /base_url=&quot;(http[^&]*)\/v1&quot;|base_url="(http[^"]*)\/v1"/.exec(landing.text);
  const curl = gateway.lines.find((line) => line.includes("curl "));
  return {
    posted: posted.status,
    told: (told?.[1] ?? told?.[2])?.replace(port, "PORT"),
    curl: /http[^/]*\/\/[^/]*/.exec(curl ?? "")?.[0].replace(port, "PORT"),
  };
}

Deno.test("with port 0 pages and banner name the port that the system chose", async () => {
  const local = "http://127.0.0.1:PORT";
  assertEquals(
    await toldAt("127.0.0.1", (port) => `http://127.0.0.1:${port}`),
    { posted: 303, told: local, curl: local },
  );
});

Deno.test("on every address pages and banner name one that a browser can open", async () => {
  const local = "http://localhost:PORT";
  // Whoever came by an address of the machine may post forms there too.
  for (const [host, from] of [["0.0.0.0", "127.0.0.1"], ["::", "[::1]"]] as const) {
    if (host === "::" && !hasIpv6) continue;
    assertEquals(
      await toldAt(host, (port) => `http://${from}:${port}`),
      { posted: 303, told: local, curl: local },
      host,
    );
  }
});

Deno.test({
  name: "on an IPv6 address forms can be posted, and links have brackets",
  ignore: !hasIpv6,
  async fn() {
    const local = "http://[::1]:PORT";
    assertEquals(
      await toldAt("::1", (port) => `http://[::1]:${port}`),
      { posted: 303, told: local, curl: local },
    );
  },
});

Deno.test("while a stop is delayed, calls are accepted and /readyz says that it is not ready", async () => {
  await using gateway = await serveGateway({
    env: { GATEWAY_STOP_DELAY_MS: "700", GATEWAY_DRAIN_MS: "0" },
  });
  const key = /sk-\S+/.exec(await gateway.line(/Demo key/))?.[0] ?? "";
  const call = () =>
    fetch(
      bearerPost(`${gateway.address}/v1/chat/completions`, key, {
        model: "premium-1",
        messages: [{ role: "user", content: "hello" }],
      }),
    );
  const statusOf = async (answer: Promise<Response>) => {
    const { status, body } = await answer;
    await body?.cancel();
    return status;
  };
  const ready = () => statusOf(fetch(`${gateway.address}/readyz`));

  assertEquals(await ready(), 200);
  let hasStopped = false;
  const stopped = gateway.stop().then(() => hasStopped = true);
  assertEquals(await ready(), 503);
  assertEquals(await statusOf(call()), 200);
  assertEquals(hasStopped, false);
  await stopped;
  await assertRejects(call, TypeError);
});
