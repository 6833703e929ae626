import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import {
  newVoucherCode,
  parseVoucherCode,
  printedVoucherCode,
  voucherCodeChars,
} from "../../../../core/trade/credits/campaign.ts";

const alphabet = "23456789ABCDEFGHJKMNPQRSTUVWXYZ";
const code = fc.constant(undefined)
  .map(() => newVoucherCode((into) => crypto.getRandomValues(into)));

Deno.test("a printed code is read in any case, with and without its hyphens", () => {
  fc.assert(fc.property(code, (one) => {
    const printed = printedVoucherCode(one);
    assertEquals(printed.length, voucherCodeChars);
    assert(!/[01ILO]/.test(printed));
    for (
      const typed of [printed, printed.toLowerCase(), one, ` ${printed.replaceAll("-", " ")} `]
    ) {
      assertEquals(parseVoucherCode(typed), one);
    }
  }));
});

Deno.test("one wrong symbol, or two that are swapped, make no code", () => {
  const at = fc.nat(15);
  fc.assert(
    fc.property(code, at, at, fc.constantFrom(...alphabet), (one, first, second, symbol) => {
      const wrong = one.slice(0, first) + symbol + one.slice(first + 1);
      if (wrong !== one) assertEquals(parseVoucherCode(wrong), undefined);
      const symbols = [...one];
      [symbols[first], symbols[second]] = [symbols[second]!, symbols[first]!];
      const swapped = symbols.join("");
      if (swapped !== one) assertEquals(parseVoucherCode(swapped), undefined);
    }),
    { numRuns: 500 },
  );
});

Deno.test("what is no code is refused", () => {
  for (
    const text of ["", "AAAA", "0".repeat(16), "A".repeat(16), "é".repeat(16), "A".repeat(9_999)]
  ) {
    assertEquals(parseVoucherCode(text), undefined, text);
  }
});
