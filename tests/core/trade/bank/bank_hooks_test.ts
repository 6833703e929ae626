import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { cassoHook, readCassoNotice } from "../../../../core/trade/bank/casso.ts";
import { readSepayNotice, readSepayPage, sepayHook } from "../../../../core/trade/bank/sepay.ts";
import { amountOfJson } from "../../../../core/trade/bank/bank_notice.ts";

const nowMs = 1_795_158_157_000;
const bytes = (text: string) => new TextEncoder().encode(text);
const headers = (pairs: Record<string, string>) => new Headers(pairs);

const sepayBody =
  '{"id":92704,"gateway":"Vietcombank","transactionDate":"2026-11-20 14:02:37","accountNumber":"0123456789","subAccount":null,"code":null,"content":"ST7K2M9QXJ","transferType":"in","description":"BankAPINotify ST7K2M9QXJ","transferAmount":200000,"accumulated":19077000,"referenceCode":"MBVCB.3278907687"}';
/** Made with Python's hmac: SHA-256, key `sepay-secret`, over `1795158157.` and the body. */
const sepaySignature = "d659226ffa92259d85cb293239cbfe9e6835c79a5875a7b506b869169eeabdca";

const cassoBody =
  '{"error":0,"data":{"id":345001,"reference":"FT26324001","description":"ST7K2M9QXJ tới A/B","amount":200000,"runningBalance":1200000,"transactionDateTime":"2026-11-20 14:02:37","accountNumber":"0123456789","bankName":"MB Bank","bankAbbreviation":"MB","virtualAccountNumber":"","virtualAccountName":"","counterAccountName":"NGUYEN VAN A","counterAccountNumber":"9704001","counterAccountBankId":"970436","counterAccountBankName":"VCB"}}';
/** Made with Python: SHA-512, key `casso-key-1`, over `1795158157000.` and the JSON with sorted keys. */
const cassoSignature =
  "724dbcf2764d1ddac2b0b7550389c4689e2b9f3fd1b96de8602047e2303ecac7830ef93a53c82d6928bfd255bebf24032132e899e7e81529981864eadfb43b46";

Deno.test("a provider without a secret has no hook", () => {
  assertEquals(sepayHook({}), undefined);
  assertEquals(sepayHook({ hmacSecret: "", apiKey: "" }), undefined);
  assertEquals(cassoHook(undefined), undefined);
  assertEquals(cassoHook(""), undefined);
});

Deno.test("SePay's signature is checked over the raw bytes", async () => {
  const hook = sepayHook({ hmacSecret: "sepay-secret" });
  assert(hook !== undefined);
  const signed = headers({
    "x-sepay-timestamp": "1795158157",
    "x-sepay-signature": `sha256=${sepaySignature}`,
  });
  const check = (body: string, given = signed, at = nowMs) =>
    hook.verify({ headers: given, body: bytes(body), nowMs: at });
  assertEquals(await check(sepayBody), "genuine");
  // The same JSON in another form has other bytes.
  assertEquals(await check(JSON.stringify(JSON.parse(sepayBody), null, 1)), "forged");
  assertEquals(await check(sepayBody.replace("200000", "900000")), "forged");
  assertEquals(await check(sepayBody, headers({})), "forged");
  assertEquals(
    await check(
      sepayBody,
      headers({
        "x-sepay-timestamp": "1795158158",
        "x-sepay-signature": `sha256=${sepaySignature}`,
      }),
    ),
    "forged",
  );
  for (
    const bad of [
      "",
      "sha256=",
      sepaySignature,
      `sha256=${"0".repeat(64)}`,
      `sha512=${sepaySignature}`,
    ]
  ) {
    const given = headers({ "x-sepay-timestamp": "1795158157", "x-sepay-signature": bad });
    assertEquals(await check(sepayBody, given), "forged", bad);
  }
});

Deno.test("SePay's five minutes hold both ways, to the millisecond", async () => {
  const hook = sepayHook({ hmacSecret: "sepay-secret" })!;
  const signed = headers({
    "x-sepay-timestamp": "1795158157",
    "x-sepay-signature": `sha256=${sepaySignature}`,
  });
  const at = (ms: number) =>
    hook.verify({ headers: signed, body: bytes(sepayBody), nowMs: nowMs + ms });
  assertEquals(await at(300_000), "genuine");
  assertEquals(await at(300_001), "stale");
  assertEquals(await at(-300_000), "genuine");
  assertEquals(await at(-300_001), "stale");
});

Deno.test("SePay's API key is compared whole, and never with an empty one", async () => {
  const hook = sepayHook({ apiKey: "key-1" })!;
  const given = (authorization: string) =>
    hook.verify({ headers: headers({ authorization }), body: bytes(sepayBody), nowMs });
  assertEquals(await given("Apikey key-1"), "genuine");
  for (
    const bad of [
      "Apikey key-2",
      "Apikey key-1x",
      "Apikey key-",
      "Apikey ",
      "Bearer key-1",
      "key-1",
      "",
    ]
  ) {
    assertEquals(await given(bad), "forged", bad);
  }
  const hmacOnly = sepayHook({ hmacSecret: "s" })!;
  assertEquals(
    await hmacOnly.verify({
      headers: headers({ authorization: "Apikey " }),
      body: bytes(sepayBody),
      nowMs,
    }),
    "forged",
  );
});

Deno.test("a wrong signature is not saved by a right API key", async () => {
  const hook = sepayHook({ hmacSecret: "sepay-secret", apiKey: "key-1" })!;
  const given = headers({
    "x-sepay-timestamp": "1795158157",
    "x-sepay-signature": `sha256=${"0".repeat(64)}`,
    authorization: "Apikey key-1",
  });
  assertEquals(await hook.verify({ headers: given, body: bytes(sepayBody), nowMs }), "forged");
});

Deno.test("Casso's signature covers the content in any key order, and no other content", async () => {
  const hook = cassoHook("casso-key-1")!;
  const signed = headers({ "x-casso-signature": `t=1795158157000,v1=${cassoSignature}` });
  const check = (body: string, at = nowMs) =>
    hook.verify({ headers: signed, body: bytes(body), nowMs: at });
  assertEquals(await check(cassoBody), "genuine");
  const { data, error } = JSON.parse(cassoBody);
  const reversed = Object.fromEntries(Object.entries(data).reverse());
  assertEquals(await check(JSON.stringify({ data: reversed, error })), "genuine");
  assertEquals(await check(cassoBody.replace("200000", "900000")), "forged");
  assertEquals(await check("not json"), "forged");
  assertEquals(await check(`[${cassoBody}]`), "forged");
  assertEquals(await check(cassoBody, nowMs + 300_001), "stale");
  for (
    const bad of ["", "t=1,v1=", `t=1795158157001,v1=${cassoSignature}`, `v1=${cassoSignature}`]
  ) {
    const given = headers({ "x-casso-signature": bad });
    assertEquals(
      await hook.verify({ headers: given, body: bytes(cassoBody), nowMs }),
      "forged",
      bad,
    );
  }
  assertEquals(
    await cassoHook("other")!.verify({ headers: signed, body: bytes(cassoBody), nowMs }),
    "forged",
  );
});

Deno.test("a deeply nested body cannot exhaust the stack of the signature check", async () => {
  const deep = `{"data":${"[".repeat(50_000)}${"]".repeat(50_000)}}`;
  const given = headers({ "x-casso-signature": `t=1795158157000,v1=${cassoSignature}` });
  assertEquals(
    await cassoHook("k")!.verify({ headers: given, body: bytes(deep), nowMs }),
    "forged",
  );
});

Deno.test("readSepayNotice() reads every field", () => {
  assertEquals(readSepayNotice(bytes(sepayBody)), {
    ok: true,
    events: [{
      source: "sepay",
      id: "92704",
      account: "0123456789",
      direction: "in",
      amountMicroVnd: 200_000_000_000n,
      time: { atMs: Date.parse("2026-11-20T07:02:37Z"), precision: "second" },
      memo: "ST7K2M9QXJ",
      fullText: "BankAPINotify ST7K2M9QXJ",
      reference: "MBVCB.3278907687",
      balanceAfterMicroVnd: 19_077_000_000_000n,
    }],
  });
});

Deno.test("readSepayNotice() names the field it cannot read", () => {
  const change = (part: Record<string, unknown>) =>
    readSepayNotice(bytes(JSON.stringify({ ...JSON.parse(sepayBody), ...part })));
  const cases: readonly [Record<string, unknown>, string][] = [
    [{ id: null }, "field id"],
    [{ id: "a/b" }, "field id"],
    [{ transactionDate: "yesterday" }, "field date"],
    [{ transferType: "sideways" }, "field transferType"],
    [{ transferAmount: -1 }, "field amount"],
    [{ transferAmount: 1e300 }, "field amount"],
    [{ transferAmount: "1,5" }, "field amount"],
    [{ accountNumber: {} }, "field accountNumber"],
  ];
  for (const [part, reason] of cases) {
    const notice = change(part);
    assertEquals(notice.ok ? "read" : notice.reason, reason, JSON.stringify(part));
  }
  assertEquals(readSepayNotice(bytes("{")).ok, false);
  assertEquals(readSepayNotice(new Uint8Array([0xff, 0xfe])).ok, false);
});

Deno.test("no body of a notice can make a reader throw", () => {
  fc.assert(fc.property(fc.oneof(fc.json(), fc.string()), (body) => {
    assertEquals(readSepayNotice(bytes(body)).ok, false);
    assertEquals(readCassoNotice(bytes(body)).ok, false);
  }));
});

Deno.test("readCassoNotice() reads the payer, and a negative amount as money out", () => {
  const notice = readCassoNotice(bytes(cassoBody));
  assert(notice.ok);
  assertEquals(notice.events[0]?.payer, { account: "9704001", name: "NGUYEN VAN A", bank: "VCB" });
  const out = readCassoNotice(bytes(cassoBody.replace('"amount":200000', '"amount":-50000')));
  assert(out.ok);
  assertEquals(out.events[0]?.direction, "out");
  assertEquals(out.events[0]?.amountMicroVnd, 50_000_000_000n);
});

Deno.test("readSepayPage() reads a page of the list and counts what it cannot read", () => {
  const row = {
    id: "07ad3dc9-0000-4000-8000-0afffe87053b",
    transaction_date: "2026-11-20 14:02:37",
    account_number: "0123456789",
    va: "",
    transfer_type: "in",
    amount_in: 200_000,
    amount_out: 0,
    accumulated: 0,
    transaction_content: "ST7K2M9QXJ",
    reference_number: "MBVCB.3278907687",
    code: null,
  };
  const page = readSepayPage({
    status: "success",
    data: [row, { ...row, id: "2", transfer_type: "out", amount_in: 0, amount_out: 7 }, {
      ...row,
      id: "?",
    }],
    meta: { pagination: { total: 3, has_more: true } },
  });
  assertEquals(page?.unreadable.length, 1);
  assertEquals(page?.hasMore, true);
  assertEquals(page?.events.map((event) => [event.source, event.direction, event.amountMicroVnd]), [
    ["sepay-poll", "in", 200_000_000_000n],
    ["sepay-poll", "out", 7_000_000n],
  ]);
  // Some banks always tell 0: that is no balance.
  assertEquals(page?.events[0]?.balanceAfterMicroVnd, undefined);
  assertEquals(readSepayPage({ error: "x" }), undefined);
});

Deno.test("amountOfJson() is exact or refuses", () => {
  assertEquals(amountOfJson(50_000), 50_000_000_000n);
  assertEquals(amountOfJson("50000"), 50_000_000_000n);
  assertEquals(amountOfJson("50000.00"), 50_000_000_000n);
  assertEquals(amountOfJson("-1234.56"), -1_234_560_000n);
  // Fifty thousand đồng to a Vietnamese, fifty to a machine: a person decides.
  for (const unclear of ["50.000", "1.000.000", "50,000", "50.0", "0.000001", 0.1, 50.5]) {
    assertEquals(amountOfJson(unclear), undefined, String(unclear));
  }
  for (const bad of [NaN, Infinity, 2 ** 60, 1e-7, "", "1 000", "0x10", "1e3"]) {
    assertEquals(amountOfJson(bad), undefined, String(bad));
  }
});
