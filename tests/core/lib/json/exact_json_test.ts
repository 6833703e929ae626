import { assertEquals, assertThrows } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { parseExactly } from "../../../../core/lib/json/exact_json.ts";
import { stringifyExactly } from "../../../../core/lib/runtime/built_ins.ts";
import { maxExactNumbers, maxJsonDepth } from "../../../../core/lib/json/scan/limits.ts";

/** Generates texts as `JSON.stringify` writes them, with whole numbers of any length. */
const { text } = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { maxDepth: 4 },
    fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }).map(String),
    fc.integer().map(String),
    fc.constantFrom("null", "true", "[]", "{}", '"12345678901234567890"', '"1e400"'),
    // Characters that resemble the end of a string, and a number after it.
    fc.string({ unit: fc.constantFrom('"', "\\", "1", "2", "e", "-", ",", "{", "é", " ") })
      .map((value) => JSON.stringify(value + "12345678901234567890")),
    fc.array(tie("text")).map((items) => `[${items.join(",")}]`),
    fc.uniqueArray(
      fc.tuple(fc.string().filter((name) => !/^\d+$/.test(name)), tie("text")),
      { selector: ([name]) => name },
    ).map((members) => `{${members.map(([name, value]) => JSON.stringify(name) + ":" + value)}}`),
  ),
}));

Deno.test("parseExactly() keeps every digit of a whole number in any place", () => {
  fc.assert(fc.property(text, (given) => {
    assertEquals(stringifyExactly(parseExactly(given)), given);
  }));
});

Deno.test("parseExactly() equals JSON.parse() for every number within double precision", () => {
  fc.assert(fc.property(fc.json(), (given) => {
    assertEquals(parseExactly(given), JSON.parse(given));
  }));
  for (
    const given of [
      "9007199254740991",
      "9007199254740992",
      "-10000000000000000000",
      "0.1234567890123456789",
      "123456789012345678.5",
      "1e308",
      "1e-400",
      "1.7976931348623157e+308",
    ]
  ) assertEquals(parseExactly(given), JSON.parse(given), given);
});

Deno.test("parseExactly() keeps numbers that would become infinite", () => {
  for (const number of ["1e309", "-1E+400", "1.5e99999", "9".repeat(400), "1e0400"]) {
    assertEquals(stringifyExactly(parseExactly(`[${number}]`)), `[${number}]`);
  }
});

Deno.test("parseExactly() does not change an object that has a member rawJSON", () => {
  const given = '{"rawJSON":"1","n":12345678901234567890}';
  assertEquals(stringifyExactly(parseExactly(given)), given);
});

Deno.test("parseExactly() refuses other text, and large numbers beyond depth and count", () => {
  const nested = (depth: number) => "[".repeat(depth) + "12345678901234567890" + "]".repeat(depth);
  for (
    const given of [
      "12345678901234567890 1",
      "[12345678901234567890",
      "01234567890123456789",
      nested(5_000),
      `[${"12345678901234567890,".repeat(maxExactNumbers)}12345678901234567890]`,
    ]
  ) assertThrows(() => parseExactly(given), SyntaxError);
  assertEquals(stringifyExactly(parseExactly(nested(maxJsonDepth))), nested(maxJsonDepth));
});
