import { assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import {
  decodeBase64,
  decodeBase64Url,
  decodeHex,
  decodePortably,
  encodeBase64,
  encodeBase64Url,
  encodeHex,
  encodePortably,
} from "../../../../core/lib/runtime/built_ins.ts";

const bytes = fc.uint8Array({ maxLength: 40 });

/** Near base64: right lengths, wrong lengths, padding and white space anywhere. */
const nearBase64 = fc.oneof(
  fc.base64String(),
  fc.string({ unit: fc.constantFrom(..."AQaz09+/-_== \t\n\f\ré\0".split("")), maxLength: 14 }),
);

Deno.test("portable base64 equals the runtime's", () => {
  fc.assert(fc.property(bytes, (given) => {
    assertEquals(encodePortably(given, "base64", false), encodeBase64(given));
    assertEquals(encodePortably(given, "base64url", true), encodeBase64Url(given));
  }));
  fc.assert(
    fc.property(nearBase64, (given) => {
      assertEquals(decodePortably(given, "base64"), decodeBase64(given));
      assertEquals(decodePortably(given, "base64url"), decodeBase64Url(given));
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("base64 of known bytes", () => {
  const known = [["", ""], ["f", "Zg=="], ["fo", "Zm8="], ["foo", "Zm9v"], [
    "~~?",
    "fn4/",
  ]] as const;
  for (const [text, base64] of known) {
    const given = new TextEncoder().encode(text);
    assertEquals(encodeBase64(given), base64);
    assertEquals(decodeBase64(base64), given);
    assertEquals(decodeBase64(base64.replaceAll("=", "")), given);
  }
  assertEquals(encodeBase64Url(new Uint8Array([255, 239])), "_-8");
  for (const wrong of ["a", "Zg=", "Zg===", "=", "fn4_", "Z g = = =", "é"]) {
    assertEquals(decodeBase64(wrong), undefined);
    assertEquals(decodePortably(wrong, "base64"), undefined);
  }
});

Deno.test("base64 of a large file decodes to the same bytes", () => {
  const given = new Uint8Array(100_001).map((_, at) => at * 7);
  const text = encodePortably(given, "base64", false);
  assertEquals(text, encodeBase64(given));
  assertEquals(decodePortably(text, "base64"), given);
});

Deno.test("hexadecimal text decodes to the same bytes; other text is refused", () => {
  fc.assert(fc.property(bytes, (given) => {
    assertEquals(decodeHex(encodeHex(given)), given);
    assertEquals(decodeHex(encodeHex(given).toUpperCase()), given);
  }));
  assertEquals(encodeHex(new Uint8Array([0, 10, 255])), "000aff");
  for (const wrong of ["0", "0g", " 00", "0x00"]) assertEquals(decodeHex(wrong), undefined);
});
