/** A customer whose password strangers have locked, in a real browser: refused, mailed a link, signed in. */
import { assertEquals } from "../support/assert.ts";
import { forgetPlaces } from "../../kv/people/accounts/sessions.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { testPassword } from "../support/worlds/dashboard_world.ts";
import { openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import { openTopupSite } from "../support/worlds/topup_site.ts";

const folder = new URL("../../screenshots/", import.meta.url);
const email = "victim@example.com";

await browserTest(
  "a customer whom strangers have locked out signs in by a mailed link",
  async (browser) => {
    await using site = await openTopupSite();
    const { world, address } = site;
    const { account } = await world.signIn(email);
    await forgetPlaces(world.kv, account.id);
    for (let i = 0; i < 16; i++) {
      const stranger = world.browser({}, `198.51.100.${i}`);
      const page = await stranger.get("/sign-in");
      await stranger.submit(page, "/sign-in", { email, password: "wrong" });
    }
    const look = { locale: "en", theme: "light", width: 390 } as const;
    const context = await openWindow(browser, look, address);
    const page = await context.newPage();
    await page.goto(`${address}/sign-in?next=%2Fkeys`);
    await page.getByLabel("Email address").fill(email);
    await page.getByLabel("Password").fill(testPassword);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByText("Too many tries").waitFor();
    assertEquals(await problemsOf(page, "limited"), []);
    await page.screenshot({
      path: new URL("sign-in-limited.png", folder).pathname,
      fullPage: true,
    });
    await page.getByRole("button", { name: "Email me a link" }).click();
    await page.getByText("Check your email").waitFor();
    const [mail] = await world.deliver();
    await page.goto(/http\S+#token=[\w-]+/.exec(mail?.text ?? "")?.[0] ?? "about:blank");
    assertEquals(await problemsOf(page, "link"), []);
    await page.screenshot({ path: new URL("sign-in-mail.png", folder).pathname, fullPage: true });
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.waitForURL(`${address}/keys`);
    // The browser is known from now on: after signing out it can use the password while the attack continues.
    await page.locator(".account-menu summary").click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.goto(`${address}/sign-in`);
    await page.getByLabel("Email address").fill(email);
    await page.getByLabel("Password").fill(testPassword);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.waitForURL(`${address}/`);
    await context.close();
  },
);
