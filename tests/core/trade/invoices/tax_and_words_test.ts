import * as fc from "../../../support/property.ts";
import { assert, assertEquals, assertThrows } from "../../../support/assert.ts";
import { parseTaxCode, vndInWords } from "../../../../core/trade/invoices/invoice.ts";
import {
  parseVatRate,
  parseVatSchedule,
  splitVat,
  vatRateAt,
} from "../../../../core/trade/invoices/vat.ts";

Deno.test("parseTaxCode() passes the known good codes without doubt", () => {
  for (
    const code of [
      "0100233488",
      "0101243150",
      "0100109106",
      "0100684378",
      "0100112437",
      "0314409058-002",
      "0312687878-001",
      "0302712571-990",
    ]
  ) {
    const kind = code.length === 10 ? "company" : "branch";
    assertEquals(parseTaxCode(code), { code, kind }, code);
  }
});

Deno.test("parseTaxCode() doubts wrong check digits and branch 000 but lets them through", () => {
  assertEquals(parseTaxCode("0100233480")?.doubt, "check_digit");
  assertEquals(parseTaxCode("0101234567")?.doubt, "check_digit");
  assertEquals(parseTaxCode("0101243150-000")?.doubt, "branch_number");
  assertEquals(parseTaxCode("0100000000")?.doubt, "check_digit");
});

Deno.test("parseTaxCode() accepts 13 digits without the hyphen, spaces and dots", () => {
  assertEquals(parseTaxCode("0314409058002")?.code, "0314409058-002");
  assertEquals(parseTaxCode(" 0100 233 488 ")?.code, "0100233488");
});

Deno.test("parseTaxCode() takes 12 digits as a personal id and checks the province only", () => {
  assertEquals(parseTaxCode("001099012345"), { code: "001099012345", kind: "personal" });
  assertEquals(parseTaxCode("097099012345")?.doubt, "personal_id");
  assertEquals(parseTaxCode("000099012345")?.doubt, "personal_id");
});

Deno.test("parseTaxCode() refuses every other form", () => {
  for (
    const text of [
      "",
      "123",
      "01002334881",
      "0100233488-1",
      "010023348A",
      "0314409058--002",
      "-001",
    ]
  ) {
    assertEquals(parseTaxCode(text), undefined, text);
  }
});

Deno.test("a company code has exactly one good last digit, or none", () => {
  fc.assert(fc.property(fc.stringMatching(/^[0-9]{9}$/), (head) => {
    const good = Array.from({ length: 10 }, (_, last) => parseTaxCode(`${head}${last}`))
      .filter((code) => code !== undefined && code.doubt === undefined);
    assert(good.length <= 1);
  }));
});

Deno.test("splitVat() agrees with the known splits", () => {
  const cases: readonly [bigint, number, bigint, bigint][] = [
    [20_000n, 8, 18_519n, 1_481n],
    [50_000n, 10, 45_455n, 4_545n],
    [200_000n, 8, 185_185n, 14_815n],
    [0n, 8, 0n, 0n],
    [1n, 10, 1n, 0n],
    [108n, 8, 100n, 8n],
  ];
  for (const [grossVnd, percent, netVnd, vatVnd] of cases) {
    assertEquals(splitVat(grossVnd, { percent }), { grossVnd, netVnd, vatVnd });
  }
  for (const untaxed of ["KCT", "KKKNT"] as const) {
    assertEquals(splitVat(99n, { untaxed }), { grossVnd: 99n, netVnd: 99n, vatVnd: 0n });
  }
  assertThrows(() => splitVat(-1n, { percent: 8 }), Error, "not negative");
});

/** The tax that a provider would recompute from the net sum. */
function recomputed(netVnd: bigint, percent: number): bigint {
  return (2n * netVnd * BigInt(percent) + 100n) / 200n;
}

Deno.test("splitVat() keeps the whole sum, and the presets split so that the tax recomputes exactly", () => {
  fc.assert(
    fc.property(fc.bigInt(0n, 10n ** 12n), fc.integer({ min: 0, max: 99 }), (gross, percent) => {
      const { netVnd, vatVnd } = splitVat(gross, { percent });
      assertEquals(netVnd + vatVnd, gross);
      const off = recomputed(netVnd, percent) - vatVnd;
      assert(off >= -1n && off <= 1n, `${gross} at ${percent}: off by ${off}`);
    }),
  );
  for (const gross of [10_000n, 100_000n, 200_000n, 500_000n, 1_000_000n, 2_000_000n]) {
    for (const percent of [8, 10]) {
      const { netVnd, vatVnd } = splitVat(gross, { percent });
      assertEquals(recomputed(netVnd, percent), vatVnd, `${gross} at ${percent}`);
    }
  }
});

Deno.test("of the round sums to two million, 148 at 8 % and 182 at 10 % have no exact pair", () => {
  for (const [percent, expected] of [[8, 148], [10, 182]] as const) {
    let off = 0;
    for (let thousands = 1n; thousands <= 2_000n; thousands++) {
      const { netVnd, vatVnd } = splitVat(thousands * 1_000n, { percent });
      if (recomputed(netVnd, percent) !== vatVnd) off++;
    }
    assertEquals(off, expected, `at ${percent} %`);
  }
});

Deno.test("the rate changes at midnight in Vietnam", () => {
  const schedule = parseVatSchedule("2025-07-01=8, 2027-01-01=10");
  assert(schedule !== undefined);
  const at = (time: string) => vatRateAt(schedule, Date.parse(time));
  assertEquals(at("2026-12-31T23:59:59+07:00"), { percent: 8 });
  assertEquals(at("2027-01-01T00:00:00+07:00"), { percent: 10 });
  assertEquals(at("2025-06-30T23:59:59+07:00"), undefined);
});

Deno.test("a malformed schedule is refused as a whole", () => {
  for (
    const text of [
      "",
      "8",
      "2026-01-01",
      "2026-01-01=8,2026-01-01=10",
      "2026-01-01=108",
      "2026-13-01=8",
    ]
  ) {
    assertEquals(parseVatSchedule(text), undefined, text);
  }
  assertEquals(parseVatRate("KCT"), { untaxed: "KCT" });
  assertEquals(parseVatRate("-8"), undefined);
});

Deno.test("vndInWords() writes what a Vietnamese invoice prints", () => {
  const cases: readonly [bigint, string][] = [
    [0n, "Không đồng"],
    [5n, "Năm đồng"],
    [10n, "Mười đồng"],
    [15n, "Mười lăm đồng"],
    [21n, "Hai mươi mốt đồng"],
    [24n, "Hai mươi bốn đồng"],
    [55n, "Năm mươi lăm đồng"],
    [100n, "Một trăm đồng"],
    [101n, "Một trăm linh một đồng"],
    [105n, "Một trăm linh năm đồng"],
    [110n, "Một trăm mười đồng"],
    [1_000n, "Một nghìn đồng"],
    [1_001n, "Một nghìn không trăm linh một đồng"],
    [10_000n, "Mười nghìn đồng"],
    [185_185n, "Một trăm tám mươi lăm nghìn một trăm tám mươi lăm đồng"],
    [200_000n, "Hai trăm nghìn đồng"],
    [1_000_000n, "Một triệu đồng"],
    [2_000_050n, "Hai triệu không trăm năm mươi đồng"],
    [1_000_000_000n, "Một tỷ đồng"],
    [3_000_000_007n, "Ba tỷ không trăm linh bảy đồng"],
    [
      12_345_678_901n,
      "Mười hai tỷ ba trăm bốn mươi lăm triệu sáu trăm bảy mươi tám nghìn chín trăm linh một đồng",
    ],
  ];
  for (const [amount, words] of cases) assertEquals(vndInWords(amount), words);
});
