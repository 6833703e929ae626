/**
 * The pages around mails in a real browser, with scripts and without: subscribing to incidents, switching mails off.
 */
import { assertEquals } from "../support/assert.ts";
import { commandLine } from "../../kv/people/audit/operator_audit.ts";
import { publishAnnouncement } from "../../kv/people/operators/announcements.ts";
import { subscriberHash, switchOffToken } from "../../core/people/mail/switch_off.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { looks, openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import { openSeededDashboard } from "../support/worlds/seeded_dashboard.ts";
import { tokenOf } from "../support/worlds/dashboard_world.ts";

const folder = new URL("../../screenshots/", import.meta.url);

for (const look of looks) {
  await browserTest(
    `pages around mails are sound: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      await using seeded = await openSeededDashboard();
      const { world, address } = seeded;
      const act = { operator: commandLine, nowMs: world.time.nowMs() };
      const what = { kind: "incident", title: "Slow answers", text: "We look at it." } as const;
      await publishAnnouncement(world.kv, { ...what, startsAtMs: act.nowMs }, act);
      const subject = {
        kind: "subscriber",
        addressHash: await subscriberHash("bob@example.com"),
      } as const;
      const token = await switchOffToken(world.deps.masterKeys, {
        subject,
        mailKind: "incident_opened",
      });
      const context = await openWindow(browser, look, address, seeded.sessionToken);
      const page = await context.newPage();
      const pages = {
        "mail-switches": "/account#mails",
        "status-incident": "/status",
        "incident-mails-form": "/incident-mails",
        "incident-mails-link": "/incident-mails/confirm#token=abc",
        "mails-off": `/mails/off?token=${token}`,
      };
      const problems: string[] = [];
      for (const [name, path] of Object.entries(pages)) {
        await page.goto(address + path, { waitUntil: "load" });
        problems.push(...await problemsOf(page, name));
        const file = `${name}-${look.locale}-${look.theme}-${look.width}.png`;
        await page.screenshot({ path: new URL(file, folder).pathname, fullPage: true });
      }
      assertEquals(problems, []);
      await context.close();
    },
  );
}

await browserTest("without scripts an address is subscribed and unsubscribed", async (browser) => {
  await using seeded = await openSeededDashboard();
  const { world, address } = seeded;
  const context = await browser.newContext({ javaScriptEnabled: false, locale: "en" });
  const page = await context.newPage();
  await page.goto(`${address}/status`);
  await page.getByRole("link", { name: "Get emails about incidents" }).click();
  await page.getByLabel("Email address").fill("eve@example.com");
  await page.getByRole("button", { name: "Send the confirmation" }).click();
  await page.getByText("Check your email").waitFor();
  const mails = await world.deliver();
  const mail = mails.find(({ to }) => to === "eve@example.com");
  await page.goto(`${address}/incident-mails/confirm`);
  await page.locator("#token").fill(tokenOf(mail));
  await page.getByRole("button", { name: "Send me emails about incidents" }).click();
  await page.getByText("now gets emails about incidents").waitFor();
  const addressHash = await subscriberHash("eve@example.com");
  const token = await switchOffToken(world.deps.masterKeys, {
    subject: { kind: "subscriber", addressHash },
    mailKind: "incident_resolved",
  });
  await page.goto(`${address}/mails/off?token=${token}`);
  await page.getByRole("button", { name: "Switch them off" }).click();
  await page.getByText("You get no more emails").waitFor();
  await context.close();
});
