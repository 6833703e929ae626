/**
 * The last signed day on the status page leads to all of them, where a proof is checked: a right one, and a changed
 * one.
 */
import { assertEquals } from "../support/assert.ts";
import { browserTest } from "../support/browser/chromium.ts";
import { looks, openWindow, problemsOf } from "../support/browser/page_soundness.ts";
import { openTopupSite, seedTopups } from "../support/worlds/topup_site.ts";
import { dayMs } from "../../core/lib/time/durations.ts";
import { verifyAndSign } from "../../kv/services/proofs/verify_and_sign.ts";
import { listSignedDays, proveReceipt } from "../../kv/services/proofs/read_proofs.ts";
import { receiptsInOrder } from "../../kv/services/proofs/signed_days.ts";

const words = {
  en: { right: "The proof is right:", path: "The path does not lead to the signed root" },
  vi: { right: "Bằng chứng đúng:", path: "Đường dẫn không tới gốc đã ký" },
} as const;

const folder = new URL("../../screenshots/", import.meta.url);

for (const look of looks) {
  await browserTest(
    `a proof is checked without a request: ${look.locale}, ${look.theme}, ${look.width} px`,
    async (browser) => {
      await using site = await openTopupSite();
      await seedTopups(site);
      const { kv, time, deps } = site.world;
      await site.world.wallet.indexOnce();
      const nowMs = time.nowMs();
      const { books, proofs } = await verifyAndSign(kv, {
        masterKeys: deps.masterKeys,
        nowMs,
        origin: site.address,
      });
      assertEquals([books.problems, proofs.problems], [[], []]);
      const [signed] = await listSignedDays(kv, { limit: 1 });
      const range = { fromMs: nowMs - 20 * dayMs, toMs: nowMs - dayMs };
      const [receipt] = await Array.fromAsync(receiptsInOrder(kv, range));
      const found = receipt && await proveReceipt(kv, receipt.requestId);
      if (signed === undefined || found?.ok !== true) throw new Error("no proof");
      const context = await openWindow(browser, look, site.address);
      const page = await context.newPage();
      const name = `${look.locale}-${look.theme}-${look.width}.png`;
      await page.goto(`${site.address}/status`);
      await page.getByText(signed.key).waitFor();
      assertEquals(await problemsOf(page, "status"), []);
      await page.screenshot({
        path: new URL(`status-signed-${name}`, folder).pathname,
        fullPage: true,
      });
      await page.locator('a[href="/proofs"]').first().click();
      await page.getByText(signed.digest).waitFor();
      const requests: string[] = [];
      page.on("request", (request) => requests.push(request.url()));
      const check = async (proof: unknown, text: string) => {
        await page.locator("[name=proof]").fill(JSON.stringify(proof));
        await page.locator("[data-proof-form] button").click();
        await page.locator("#proof-result").getByText(text).waitFor();
      };
      const proof = { object: "receipt.proof", ...found.proof };
      await check(proof, words[look.locale].right);
      assertEquals(await problemsOf(page, "proofs"), []);
      await page.screenshot({ path: new URL(`proofs-${name}`, folder).pathname, fullPage: true });
      await check({ ...proof, leaf: proof.leaf.replace("req_", "req-") }, words[look.locale].path);
      assertEquals(requests, []);
      await context.close();
    },
  );
}
