/** Somebody signs up with one press at GitHub, above the form, and lands signed in. */
import { assertEquals } from "../support/assert.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import { startGateway } from "../support/gateways/started_gateway.ts";
import { freePort } from "../support/servers/free_port.ts";
import { openGitHub } from "../support/servers/github_server.ts";

await browserTest(
  "the providers stand first on sign-in and sign-up, and one press signs up",
  async (browser) => {
    const port = freePort();
    const address = `http://127.0.0.1:${port}`;
    await using github = openGitHub(`${address}/auth/github/callback`);
    await using _ = await startGateway({
      env: {
        PORT: String(port),
        GATEWAY_BASE_URL: address,
        GOOGLE_CLIENT_ID: "google",
        GOOGLE_CLIENT_SECRET: "google-secret",
        GITHUB_CLIENT_ID: github.clientId,
        GITHUB_CLIENT_SECRET: github.clientSecret,
        GITHUB_URL: github.origin,
        OIDC_ISSUER: "https://id.example",
        OIDC_CLIENT_ID: "openid",
        OIDC_CLIENT_SECRET: "openid-secret",
        OIDC_LABEL: "Example ID",
      },
    });
    for (
      const look of [
        { locale: "vi", theme: "dark", width: 390 },
        { locale: "en", theme: "light", width: 1280 },
      ] as const
    ) {
      const context = await openWindow(browser, look, address);
      const page = await context.newPage();
      for (const path of ["/sign-in", "/sign-up"]) {
        await page.goto(address + path);
        assertEquals(await problemsOf(page, path), []);
        const top = async (selector: string) =>
          (await page.locator(selector).boundingBox())?.y ?? 0;
        const buttons = await Promise.all(
          ["google", "github", "openid"].map((id) => top(`a[href^="/auth/${id}/start"]`)),
        );
        const places = [...buttons, await top("[name=email]")];
        assertEquals(places, places.toSorted((one, other) => one - other));
        const file = new URL(
          `../../screenshots/providers${path.replace("/", "-")}-${look.locale}.png`,
          import.meta.url,
        );
        await page.screenshot({ path: file.pathname, fullPage: true });
      }
      await page.locator('a[href^="/auth/github/start"]').click();
      await page.waitForURL(look.locale === "vi" ? `${address}/welcome` : `${address}/`);
      await page.goto(`${address}/account`);
      await page.locator("main").getByText("ann@example.com").first().waitFor();
      await context.close();
    }
  },
);
