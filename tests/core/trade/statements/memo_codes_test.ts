import * as fc from "../../../support/property.ts";
import { assertEquals } from "../../../support/assert.ts";
import {
  codesOfTexts,
  extractOrderCodes,
  nearCodes,
  withinOneEdit,
} from "../../../../core/trade/statements/memo_codes.ts";
import { newOrderCode, parseOrderCode } from "../../../../core/trade/bank/order_code.ts";

const code = "ST7K2M9QXJ";

/** What banks and wallets make of a memo (shapes seen in practice; names and numbers are made up). */
const found: readonly [string, string][] = [
  ["alone", code],
  [
    "wrapped by the bank",
    `MBVCB.2427229823.174242.${code}.CT tu 0123456789 NGUYEN VAN A toi 987654321 CTY B (ACB)`,
  ],
  ["followed by a dealing number", `${code} GD 464434-080625 10:55:18`],
  ["after a row of numbers", `884114.100924.223854.${code}`],
  ["wallet suffix", `${code}-CHUYEN TIEN-OQCH0012345-MOMO0987654321MOMO`],
  ["lower case", `mbvcb.123.${code.toLowerCase()}.CT tu 0123`],
  ["mixed case", "St7k2M9qXj"],
  ["split by a space", "ST7K2M 9QXJ"],
  ["split twice", "CK ST7 K2M9 QXJ nap vi"],
  ["dots between", "ST.7K2M.9QXJ"],
  ["hyphen after the letters", "ST-7K2M9QXJ"],
  ["underscore", "ST_7K2M9QXJ"],
  ["line break inside", "ST7K2M\n9QXJ"],
  ["glued in front", `INVESTST7K2M9QXJ`],
  ["glued behind", `${code}CHUYENTIEN`],
  ["glued on both sides", `NAPTIEN${code}20112026`],
  ["digits glued behind", `${code}0123456789`],
  ["bank prefix", `SEVQR ${code}`],
  ["sub-account mark", `TKPST1 ${code}`],
  ["accents", `Nguyễn Văn Đức nạp tiền ${code} cảm ơn`],
  ["a false ST before it", `STANDARD CHARTERED ST ${code}`],
  ["repeated", `${code} ${code}`],
];

Deno.test("extractOrderCodes() finds the code in every shape that banks make of a memo", () => {
  for (const [shape, memo] of found) {
    assertEquals(extractOrderCodes(memo), [parseOrderCode(code)!], shape);
  }
});

Deno.test("extractOrderCodes() finds nothing without a whole, correct code", () => {
  const memos = [
    "",
    "NGUYEN VAN A chuyen tien",
    "STANDARD CHARTERED BANK VIETNAM",
    "ST7K2M9QXK", // typo
    "ST7K2M9QX", // cut off
    "7K2M9QXJ", // the letters are lost
    "S T0K2M9QXJ",
    "THANH TOAN DON HANG ST12345678",
    "ST",
  ];
  for (const memo of memos) assertEquals(extractOrderCodes(memo), [], memo);
});

Deno.test("extractOrderCodes() returns two different codes in order", () => {
  assertEquals(extractOrderCodes("ST4HWN8RC9 va ST7K2M9QXJ"), [
    parseOrderCode("ST4HWN8RC9")!,
    parseOrderCode("ST7K2M9QXJ")!,
  ]);
});

Deno.test("extractOrderCodes() prefers an unbroken code over one that only joining makes", () => {
  assertEquals(extractOrderCodes("ST7K2M 9QXJ ST4HWN8RC9"), [parseOrderCode("ST4HWN8RC9")!]);
});

Deno.test("extractOrderCodes() finds a code between any text of other letters", () => {
  const noise = fc.string({ unit: fc.constantFrom(..."ABEILOUY0158 .-_/ĐÂƠ"), maxLength: 40 });
  const made = fc.uint8Array({ minLength: 32, maxLength: 32 })
    .filter((bytes) => bytes.filter((byte) => byte < 230).length >= 7)
    .map((bytes) => newOrderCode((into) => into.set(bytes)));
  fc.assert(fc.property(noise, made, noise, fc.boolean(), (before, one, after, lower) => {
    const memo = `${before}${lower ? one.toLowerCase() : one}${after}`;
    assertEquals(extractOrderCodes(memo), [one]);
  }));
});

Deno.test("codesOfTexts() does not trust the provider's own code and reads the next text", () => {
  assertEquals(codesOfTexts(["STANDARD12", "nap tien", `x ${code}`]), [parseOrderCode(code)!]);
  assertEquals(codesOfTexts([undefined, "", "nothing"]), []);
});

Deno.test("nearCodes() offers exactly the codes at one edit", () => {
  const orders = [parseOrderCode("ST7K2M9QXJ")!, parseOrderCode("ST4HWN8RC9")!];
  for (
    const memo of [
      "CK ST7K2M9OXJ",
      "ST7K2M9QX",
      "ST7K2M9QQXJ cam on",
      "ST7K2M9XQJ",
      "st 7k2m 9q xk",
    ]
  ) {
    assertEquals(nearCodes(memo, orders), [orders[0]!], memo);
  }
  for (const memo of ["ST7K2M00XJ", "", "NGUYEN VAN A"]) {
    assertEquals(nearCodes(memo, orders), [], memo);
  }
});

Deno.test("withinOneEdit() is symmetric and true for any one change", () => {
  const word = fc.string({ unit: fc.constantFrom(..."ABC"), maxLength: 6 });
  fc.assert(fc.property(word, word, (left, right) => {
    assertEquals(withinOneEdit(left, right), withinOneEdit(right, left));
  }));
  fc.assert(fc.property(word, fc.nat(), fc.constantFrom("A", "B", ""), (text, seed, put) => {
    const at = seed % (text.length + 1);
    assertEquals(withinOneEdit(text, text.slice(0, at) + put + text.slice(at + 1)), true);
  }));
});
