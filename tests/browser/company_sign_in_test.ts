/** The sign-in of an organisation in a real browser: a provider is refused, a domain waits for its record. */
import { assertEquals } from "../support/assert.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { type Look, openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import { openSeededDashboard } from "../support/worlds/seeded_dashboard.ts";

const folder = new URL("../../screenshots/", import.meta.url);

const looks: readonly Look[] = [
  { locale: "en", theme: "light", width: 1440 },
  { locale: "vi", theme: "light", width: 390 },
  { locale: "en", theme: "dark", width: 390 },
];

for (const look of looks) {
  await browserTest(
    `an organisation sets its sign-in up: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      await using seeded = await openSeededDashboard();
      const { address } = seeded;
      const context = await openWindow(browser, look, address, seeded.sessionToken);
      const page = await context.newPage();
      await page.goto(`${address}/organisation`);
      await page.locator('a[href="/organisation/sign-in"]').click();
      for (const name of ["acme.example", "a-rather-long-name-of-a-company.example.com"]) {
        await page.locator('main [name="domain"]:not([type="hidden"])').fill(name);
        await page.locator('form[action="/organisation/sign-in/domains"] button').click();
        await page.locator("td", { hasText: name }).first().waitFor();
      }
      await page.locator('form[action="/organisation/sign-in/domains/verify"] button').first()
        .click();
      await page.locator(".notice.danger").waitFor();
      await page.locator('[name="issuer"]').fill("https://login.acme.example");
      await page.locator('[name="clientId"]').fill("gateway");
      await page.locator('[name="clientSecret"]').fill("secret");
      await page.locator('form[action="/organisation/sign-in"] button').click();
      await page.locator(".field-error").first().waitFor();
      const file = `company-sign-in-${look.locale}-${look.theme}-${look.width}.png`;
      await page.screenshot({ path: new URL(file, folder).pathname, fullPage: true });
      assertEquals(await problemsOf(page, "company sign-in"), []);
      await context.close();
    },
  );
}
