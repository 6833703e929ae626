import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import type { CampaignTerms } from "../../../../core/trade/credits/campaign.ts";
import { createAccount } from "../../../../kv/people/accounts/accounts.ts";
import { expireCredit } from "../../../../kv/money/credits/credit_expiry.ts";
import { makeVouchers } from "../../../../kv/money/credits/vouchers.ts";
import { readWallet } from "../../../../kv/money/balances/wallets.ts";
import { commandLine } from "../../../../kv/people/audit/operator_audit.ts";
import { openWalletEngine } from "../../../../kv/money/wallet/mod.ts";
import type { WalletDeps } from "../../../../routes/dashboard/customer/wallet/deps.ts";
import { createWalletPages } from "../../../../routes/dashboard/customer/wallet/wallet_pages.tsx";
import { pageApp, visit } from "../../../support/browser/page_visitor.ts";
import { campaign, creditStartMs } from "../../../support/worlds/credit_world.ts";
import { topUp } from "../../../support/worlds/money_world.ts";
import { topupSettings } from "../../../support/worlds/topup_settings.ts";

async function creditPages() {
  const kv = await Deno.openKv(":memory:");
  const at = { nowMs: creditStartMs };
  const clock = { nowMs: () => at.nowMs, monotonicMs: () => at.nowMs };
  const wallet = await openWalletEngine(kv, { clock });
  const deps: WalletDeps = {
    hintMail: () => {},
    kv,
    clock,
    baseUrl: "https://gateway.example",
    operators: [],
    sandbox: false,
    wallet,
    topup: topupSettings(),
  };
  const app = pageApp(deps, createWalletPages(deps));
  const ann = await createAccount(kv, { nowMs: creditStartMs, email: "ann@example.com" });
  return {
    kv,
    ann,
    at,
    as: (locale: "en" | "vi") => visit(app, deps, ann, locale),
    async code(some: Partial<CampaignTerms> = {}): Promise<string> {
      const { id: campaignId } = await campaign(kv, some);
      const act = { operator: commandLine, nowMs: creditStartMs };
      const made = await makeVouchers(kv, { campaignId, count: 1, maxUses: 1 }, act);
      if (!made.ok) throw new Error(made.why);
      return made.codes[0] ?? "";
    },
    async [Symbol.asyncDispose]() {
      await wallet.close();
      kv.close();
    },
  };
}

Deno.test("a code is redeemed on the wallet page, which then tells two pots apart", async () => {
  await using world = await creditPages();
  const browser = await world.as("en");
  await topUp(world.kv, world.ann.id, fromVnd(50_000));
  const before = (await browser.get("/wallet")).text;
  assert(!before.includes("Your own money"));
  assertStringIncludes(before, "No credit at the moment");
  const code = await world.code();
  const done = await browser.post("/wallet/vouchers", { code: code.toLowerCase() });
  assertEquals(done.status, 200);
  assertStringIncludes(done.text, "₫20,000 of credit is in your wallet, until 20 Dec 2026.");
  const page = (await browser.get("/wallet")).text;
  for (const microVnd of [fromVnd(70_000), fromVnd(50_000), fromVnd(20_000)]) {
    assertStringIncludes(page, `value="${microVnd}"`);
  }
  assertStringIncludes(page, "Your own money");
  assertStringIncludes(page, "Credit is spent before your own money");
  assertStringIncludes((await browser.get("/wallet/statement")).text, "Voucher");
  assertStringIncludes((await browser.get("/wallet/statement.csv")).text, ",voucher,Welcome,");
  for (
    const [locale, text] of [
      ["en", "already credited to your account: ₫20,000 on 20 Nov 2026"],
      ["vi", "đã được cộng vào tài khoản của bạn: 20.000"],
    ] as const
  ) {
    // As a customer does who never got the first answer.
    const again = await (await world.as(locale)).post("/wallet/vouchers", { code });
    assertEquals(again.status, 200);
    assertStringIncludes(again.text, text);
    assert(!again.text.includes('aria-invalid="true"'), "no error");
  }
  assertEquals((await readWallet(world.kv, world.ann.id)).availableMicroVnd, fromVnd(70_000));
});

for (
  const [what, typed, some, en, vi] of [
    ["a typo", "hello", {}, "This is not a voucher code", "Đây không phải mã quà tặng"],
    [
      "a code of the future",
      "",
      { startsAtMs: creditStartMs + 60_000 },
      "valid from",
      "có hiệu lực từ",
    ],
    [
      "an expired code",
      "",
      { endsAtMs: creditStartMs - 1, startsAtMs: 0 },
      "has expired",
      "đã hết hạn",
    ],
    ["a used-up budget", "", { budgetMicroVnd: 1n }, "is used up", "đã hết tiền tặng"],
  ] as const
) {
  Deno.test(`${what} is refused in both languages, beside what was typed`, async () => {
    await using world = await creditPages();
    const code = typed === "" ? await world.code(some) : typed;
    for (const [locale, text] of [["en", en], ["vi", vi]] as const) {
      const page = await (await world.as(locale)).post("/wallet/vouchers", { code });
      assertEquals(page.status, 400);
      assertStringIncludes(page.text, text);
      assertStringIncludes(page.text, `value="${code}"`);
    }
  });
}

Deno.test("credit that expires within a week is announced, and its expiry is in the statement", async () => {
  await using world = await creditPages();
  // Sessions do not last that long.
  const wallet = async () => (await (await world.as("vi")).get("/wallet")).text;
  await (await world.as("vi")).post("/wallet/vouchers", { code: await world.code() });
  assert(!(await wallet()).includes("sẽ hết hạn ngày"));
  world.at.nowMs += 24 * 86_400_000;
  assertStringIncludes(await wallet(), "sẽ hết hạn ngày 20/12/2026");
  world.at.nowMs += 7 * 86_400_000;
  await expireCredit(world.kv, world.at.nowMs);
  const page = await wallet();
  assertStringIncludes(page, "Tiền tặng hết hạn");
  assertStringIncludes(page, "Hiện chưa có khoản tặng nào");
});
