import { assert, assertEquals } from "../../../support/assert.ts";
import { readTopupSettings } from "../../../../core/trade/settings/settings.ts";

const account = { bin: "970422", bankName: "MB", account: "0123456789", holder: "CONG TY A" };

Deno.test("readTopupSettings() starts with everything off", () => {
  const read = readTopupSettings({});
  assert(read.ok);
  assertEquals(read.settings.receivingAccounts, []);
  assertEquals(read.settings.sepay, {});
  assertEquals(read.settings.cassoWebhookKey, undefined);
  assertEquals(read.settings.sepayApiToken, undefined);
  assertEquals(read.settings.vatRates, []);
});

Deno.test("readTopupSettings() takes an empty secret as no secret", () => {
  const read = readTopupSettings({ SEPAY_WEBHOOK_SECRET: "", CASSO_WEBHOOK_KEY: "" });
  assert(read.ok);
  assertEquals(read.settings.sepay, {});
  assertEquals(read.settings.cassoWebhookKey, undefined);
});

Deno.test("readTopupSettings() reads accounts, limits and rates", () => {
  const read = readTopupSettings({
    GATEWAY_BANK_ACCOUNTS: JSON.stringify([{ ...account, memoPrefix: "SEVQR" }]),
    SEPAY_WEBHOOK_SECRET: "0123456789abcdef",
    GATEWAY_TOPUP_AUTO_MAX_VND: "20000000",
    GATEWAY_VAT_RATES: "2025-07-01=8,2027-01-01=KCT",
  });
  assert(read.ok);
  assertEquals(read.settings.receivingAccounts, [{
    ...account,
    memoPrefix: "SEVQR",
    alsoKnownAs: [],
  }]);
  assertEquals(read.settings.sepay, { hmacSecret: "0123456789abcdef" });
  assertEquals(read.settings.autoCreditMaxMicroVnd, 20_000_000_000_000n);
  assertEquals(read.settings.vatRates[1], { from: "2027-01-01", rate: { untaxed: "KCT" } });
});

Deno.test("readTopupSettings() names every problem and no secret", () => {
  const read = readTopupSettings({
    GATEWAY_BANK_ACCOUNTS: JSON.stringify([{ ...account, bin: "12" }]),
    SEPAY_WEBHOOK_SECRET: "shortsecret",
    GATEWAY_VAT_RATES: "8",
    GATEWAY_APPROVAL_ABOVE_VND: "-1",
  });
  assert(!read.ok);
  assertEquals(read.problems.length, 4);
  assert(!read.problems.join(" ").includes("shortsecret"));
  assert(!readTopupSettings({ GATEWAY_BANK_ACCOUNTS: "not json" }).ok);
});
