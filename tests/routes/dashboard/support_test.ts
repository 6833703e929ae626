import { Hono } from "hono";
import { assert, assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { readSupport, type SupportContact } from "../../../core/config/config_variables.ts";
import { setBlocked } from "../../../kv/people/accounts/accounts.ts";
import { credit } from "../../../kv/money/ledger/ledger.ts";
import type { DashboardEnv } from "../../../routes/dashboard/mod.ts";
import {
  type DashboardWorld,
  openDashboardWorld,
  testPassword,
} from "../../support/worlds/dashboard_world.ts";
import type { LoadedPage } from "../../support/browser/test_browser.ts";
import { topupSettings } from "../../support/worlds/topup_settings.ts";

/** Every page that has reason to send people to support. */
async function pagesWithTrouble(
  world: DashboardWorld,
  locale: "en" | "vi",
): Promise<Record<string, LoadedPage>> {
  const email = `ann.${locale}@example.com`;
  const { browser, account } = await world.signIn(email);
  browser.cookies.set("locale", locale);
  await credit(world.kv, {
    accountId: account.id,
    kind: "admin",
    operationId: `test-credit-${locale}`,
    reason: "test",
    amountMicroVnd: 5_000_000_000n,
    atMs: world.time.nowMs(),
  });
  const pages: Record<string, LoadedPage> = {
    "top-up is off": await browser.get("/wallet"),
    "invoices are off": await browser.get("/invoices"),
    "money in a deleted account": await browser.get("/account"),
    "a failure of ours": await browser.get("/broken"),
  };
  const staff = { accountId: account.id, email: "staff@gw.example" };
  const act = { operator: staff, nowMs: world.time.nowMs() };
  await setBlocked(world.kv, account.id, { blocked: true, reason: "test" }, act);
  const stranger = world.browser();
  stranger.cookies.set("locale", locale);
  const form = await stranger.get("/sign-in");
  pages["a blocked account"] = await stranger.submit(form, "/sign-in", {
    email,
    password: testPassword,
  });
  return pages;
}

function openWorld(support?: SupportContact): Promise<DashboardWorld> {
  return openDashboardWorld({
    ...(support !== undefined && { support }),
    topup: topupSettings({ receivingAccounts: [], vatRates: [] }),
    more: () => {
      const app = new Hono<DashboardEnv>().get("/broken", () => {
        throw new Error("broken");
      });
      return [{ app }];
    },
  });
}

const help = readSupport("help@gw.example");
assert(help.ok);

for (const locale of ["en", "vi"] as const) {
  Deno.test(`pages name the configured support, and mention none without it (${locale})`, async () => {
    await using world = await openWorld(help.support);
    for (const [why, page] of Object.entries(await pagesWithTrouble(world, locale))) {
      const main = /<main[\s\S]*<\/main>/.exec(page.text)![0];
      assertStringIncludes(main, "help@gw.example", why);
      const foot = /<footer[\s\S]*<\/footer>/.exec(page.text)![0];
      assertStringIncludes(foot, 'href="mailto:help@gw.example"', why);
    }
    await using silent = await openWorld();
    for (const [why, page] of Object.entries(await pagesWithTrouble(silent, locale))) {
      const sent = /support|contact|write to (?!you)|hỗ trợ|liên hệ/i.exec(page.text)?.[0];
      assertEquals(sent, undefined, why);
    }
  });
}
