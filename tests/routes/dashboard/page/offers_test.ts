import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { openDashboardWorld } from "../../../support/worlds/dashboard_world.ts";
import { topupSettings } from "../../../support/worlds/topup_settings.ts";

const promises = { en: /\bbank|VAT/i, vi: /chuyển khoản|ngân hàng|GTGT/i };

for (const locale of ["en", "vi"] as const) {
  Deno.test(`the landing page promises only what is configured (${locale})`, async () => {
    const landing = async (offered: boolean) => {
      const offers = { bankTransfer: offered, invoices: offered };
      await using world = await openDashboardWorld({ offers });
      const browser = world.browser();
      browser.cookies.set("locale", locale);
      return (await browser.get("/")).text;
    };
    assert(promises[locale].test(await landing(true)));
    assertEquals(promises[locale].exec(await landing(false))?.[0], undefined);
  });
}

Deno.test("in a sandbox the pages explain to a new customer how to get play money", async () => {
  await using world = await openDashboardWorld({
    sandbox: true,
    offers: { bankTransfer: false, invoices: false },
    topup: topupSettings({ receivingAccounts: [] }),
  });
  const { browser } = await world.signIn("ann@example.com");
  const home = (await browser.get("/")).text;
  assertStringIncludes(home, "the wallet page explains how");
  assert(!home.includes("banking app"), "a QR code that there is not");
  const wallet = (await browser.get("/wallet")).text;
  assertStringIncludes(wallet, "deno task admin credit ann@example.com 50000");
});
