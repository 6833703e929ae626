/** An application on the machine of its user gets a key: real browser, real server, the newest OAuth client. */
import * as oauth from "oauth4webapi";
import { assertEquals, assertStringIncludes } from "../support/assert.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { signUpInBrowser, startMailingGateway } from "../support/browser/new_customer.ts";
import { looks, problemsOf } from "../support/browser/page_soundness.ts";
import { freePort } from "../support/servers/free_port.ts";
import { bearerPost } from "../support/api_post.ts";

const words = {
  en: { allow: "Allow", deny: "Deny", host: "localhost" },
  vi: { allow: "Cho phép", deny: "Từ chối", host: "[::1]" },
} as const;

const insecure = { [oauth.allowInsecureRequests]: true };

/** A program that waits for the answers to its requests. */
function openListener(host: string) {
  const port = freePort();
  const answers: URL[] = [];
  const server = Deno.serve(
    { hostname: host === "[::1]" ? "::1" : "127.0.0.1", port, onListen: () => {} },
    ({ url }) => {
      answers.push(new URL(url));
      return new Response("You can close this page.");
    },
  );
  const redirectUri = `http://${host}:${port}/callback`;
  return { redirectUri, answers, [Symbol.asyncDispose]: () => server.shutdown() };
}

for (const look of looks) {
  const t = words[look.locale];
  await browserTest(
    `an application gets a key after the consent of its user: ${look.locale}, ${look.width} px`,
    async (browser) => {
      await using world = await startMailingGateway();
      await using listener = openListener(t.host);
      const { redirectUri, answers } = listener;
      const issuer = new URL(world.address);
      const server = await oauth.processDiscoveryResponse(
        issuer,
        await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure }),
      );
      const metadata = { client_name: "Trình soạn mã", redirect_uris: [redirectUri] };
      const client = await oauth.processDynamicClientRegistrationResponse(
        await oauth.dynamicClientRegistrationRequest(server, metadata, insecure),
      );
      const verifier = oauth.generateRandomCodeVerifier();
      const state = oauth.generateRandomState();
      const url = new URL(server.authorization_endpoint ?? "");
      url.search = new URLSearchParams({
        client_id: client.client_id,
        redirect_uri: redirectUri,
        response_type: "code",
        scope: "calls usage",
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        state,
      }).toString();

      const { context, page } = await signUpInBrowser(browser, look, world);
      await page.goto(url.href);
      const problems = await problemsOf(page, "consent");
      await page.getByRole("link", { name: t.deny }).click();
      await page.waitForURL(`${redirectUri}?**`);
      assertEquals(answers.pop()?.searchParams.get("error"), "access_denied");

      await page.goto(url.href);
      await page.locator("[name=monthlyLimit]").fill("x");
      await page.getByRole("button", { name: t.allow }).click();
      await page.locator(".field-error").waitFor();
      problems.push(...await problemsOf(page, "wrong budget"));
      await page.locator("[name=monthlyLimit]").fill("20000");
      await page.getByRole("button", { name: t.allow }).click();
      await page.waitForURL(`${redirectUri}?**`);
      assertEquals(problems, []);
      await context.close();

      const answer = answers.findLast(({ pathname }) => pathname === "/callback");
      const params = oauth.validateAuthResponse(server, client, answer ?? issuer, state);
      const { access_token: key } = await oauth.processAuthorizationCodeResponse(
        server,
        client,
        await oauth.authorizationCodeGrantRequest(
          server,
          client,
          oauth.None(),
          params,
          redirectUri,
          verifier,
          insecure,
        ),
      );
      await world.gateway.admin("credit", "lan@example.com", "50000", "--reason", "test");
      const call = await fetch(bearerPost(`${world.address}/v1/chat/completions`, key, {
        model: "premium-1",
        max_tokens: 50,
        messages: [{ role: "user", content: "Hello" }],
      }, { "x-title": "Roo Code" }));
      const text = await call.text();
      assertEquals(call.status, 200, text);
      const usage = await fetch(`${world.address}/v1/receipts`, {
        headers: { authorization: `Bearer ${key}` },
      });
      assertStringIncludes(await usage.text(), '"app":"Roo-Code"');
    },
  );
}
