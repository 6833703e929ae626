/** Amounts as people write them, in forms, files and commands. */
import { ambiguousPrices } from "../../../../core/catalog/ambiguous_prices.ts";
import {
  ambiguousNumbers,
  parseTypedCount,
  parseTypedVnd,
  parseWrittenAmount,
  readAmount,
} from "../../../../core/billing/money/read_amount.ts";
import { assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";

Deno.test("parseWrittenAmount() reads what people write and refuses what is unclear", () => {
  const cases: readonly [string, bigint | undefined][] = [
    ["1,000,000", 1_000_000_000_000n],
    ["1.000.000", 1_000_000_000_000n],
    ["1.000.000,50", 1_000_000_500_000n],
    ["1,000,000.5", 1_000_000_500_000n],
    ["1000000", 1_000_000_000_000n],
    ["1 000 000 đ", 1_000_000_000_000n],
    ["+1,000 VND", 1_000_000_000n],
    ["-1.000", -1_000_000_000n],
    ["1000.00", 1_000_000_000n],
    ["", 0n],
    ["-", 0n],
    ["1,000.000", undefined],
    ["1.00.000", undefined],
    ["12,34,567", undefined],
    ["1.000.00", undefined],
    ["abc", undefined],
    ["1e6", undefined],
    ["NaN", undefined],
  ];
  for (const [text, expected] of cases) assertEquals(parseWrittenAmount(text), expected, text);
});

Deno.test("a price that means two amounts is refused with both, and any other is read as one", () => {
  const cases: readonly (readonly [string, bigint | readonly [string, string] | undefined])[] = [
    ["40.000", ["40000", "40"]],
    ["40,000", ["40000", "40"]],
    ["1.500", ["1500", "1.5"]],
    ["8.305 ₫", ["8305", "8.305"]],
    ["40000", 40_000_000_000n],
    ["40", 40_000_000n],
    ["40.0000", 40_000_000n],
    ["40.5", 40_500_000n],
    ["40,5", 40_500_000n],
    ["0.075", 75_000n],
    ["0,750", 750_000n],
    ["8300.125", 8_300_125_000n],
    ["1.234.567", 1_234_567_000_000n],
    ["1,234.5", 1_234_500_000n],
    ["1.234,50", 1_234_500_000n],
    ["40 000", 40_000_000_000n],
    ["1.00.000", undefined],
    ["1,000.000,5", undefined],
    ["forty", undefined],
    ["1e3", undefined],
    ["", undefined],
  ];
  for (const [text, expected] of cases) {
    const read = readAmount(text, "price");
    const found = read.ok ? read.microVnd : read.why === "ambiguous" ? read.readings : undefined;
    assertEquals(found, expected, text);
  }
});

Deno.test("numbers of a JSON text that a person wrote with a point for thousands are found", () => {
  const cases: readonly (readonly [string, number])[] = [
    ['{"vnd": 40.000}', 1],
    ['{"a": [1.500, 12.340], "b": "1.500"}', 2],
    ['{"a": 40.125, "b": 0.500, "c": 1234.500, "d": 40.0000, "e": 4e3, "f": 1.500e2}', 0],
    ['{"a": "\\"1.500", "b": "x", "c": 2.000}', 1],
  ];
  for (const [text, count] of cases) {
    JSON.parse(text);
    assertEquals(ambiguousNumbers(text).length, count, text);
  }
});

Deno.test("ambiguous texts are found among prices, costs and currencies only", () => {
  const contents = {
    currencies: { USD: "25.400" },
    defaultModel: "1.000",
    models: [{
      id: "1.000",
      price: { unit: "video", tiers: [{ fromSeconds: 1, vnd: "40.000" }] },
      routes: [{ provider: "1.000", cost: { unit: "token", perMtok: "1.250" } }],
    }],
  };
  assertEquals(ambiguousPrices(contents), [
    'currencies.USD: "25.400" is ambiguous: write 25400 or 25.4',
    'models.0.price.tiers.0.vnd: "40.000" is ambiguous: write 40000 or 40',
    'models.0.routes.0.cost.perMtok: "1.250" is ambiguous: write 1250 or 1.25',
  ]);
});

Deno.test("forms read whole amounts as either language writes them, and short ones, and never wrongly", () => {
  const cases: readonly (readonly [string, bigint | undefined])[] = [
    ["5.000", 5_000n],
    ["5,000", 5_000n],
    ["100000", 100_000n],
    ["1.000.000 ₫", 1_000_000n],
    ["1 000 000đ", 1_000_000n],
    ["50k", 50_000n],
    ["1tr5", 1_500_000n],
    ["-50k", -50_000n],
    ["-5.000", -5_000n],
    ["--5", undefined],
    ["1.5", undefined],
    ["1,50", undefined],
    ["1.000,50", undefined],
    ["1.000,000", undefined],
    ["0", undefined],
    ["1e9", undefined],
    ["", undefined],
    ["-", undefined],
  ];
  for (const [text, vnd] of cases) {
    assertEquals(parseTypedVnd(text), vnd === undefined ? undefined : vnd * 1_000_000n, text);
  }
  fc.assert(fc.property(fc.integer({ min: 1, max: 999_999_999_999 }), (vnd) => {
    for (const tag of ["en-GB", "vi-VN"]) {
      const typed = new Intl.NumberFormat(tag).format(vnd);
      assertEquals(parseTypedVnd(typed), BigInt(vnd) * 1_000_000n, typed);
      assertEquals(parseTypedCount(typed, 999_999_999_999), vnd, typed);
    }
  }));
});

Deno.test("a count beyond its bound, with a fraction or with uneven marks is none", () => {
  for (
    const text of ["10.001", "5.00", "1.5", "1.00.000", "1,000.000", "0", "000", "-1", "5k", ""]
  ) {
    assertEquals(parseTypedCount(text, 10_000), undefined, text);
  }
  assertEquals(parseTypedCount("10.000", 10_000), 10_000);
});
