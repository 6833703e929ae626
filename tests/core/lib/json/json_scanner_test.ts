import * as fc from "../../../support/property.ts";
import { assertEquals } from "../../../support/assert.ts";
import { JsonScanner, parseExactly, token } from "../../../../core/lib/json/exact_json.ts";
import { stringifyExactly } from "../../../../core/lib/runtime/built_ins.ts";

/** Returns all tokens of a text, each with its kind. */
function tokensOf(text: string): (readonly [string, number])[] {
  const scanner = JsonScanner.ofText(text);
  const found: (readonly [string, number])[] = [];
  for (let kind = scanner.next(); kind !== token.end; kind = scanner.next()) {
    found.push([scanner.textOf(scanner.start, scanner.end), kind]);
  }
  assertEquals(scanner.next(), token.end);
  return found;
}

/** Derives the tokens of a value from the value itself. */
function expected(value: unknown): (readonly [string, number])[] {
  if (Array.isArray(value)) {
    return [["[", token.open], ...joined(value.map(expected)), ["]", token.close]];
  }
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(([name, member]) => [
      [JSON.stringify(name), token.string] as const,
      [":", token.colon] as const,
      ...expected(member),
    ]);
    return [["{", token.open], ...joined(members), ["}", token.close]];
  }
  return [[JSON.stringify(value), typeof value === "string" ? token.string : token.word]];
}

function joined(lists: (readonly [string, number])[][]): (readonly [string, number])[] {
  return lists.flatMap((list, at) => at === 0 ? list : [[",", token.comma] as const, ...list]);
}

Deno.test("JsonScanner finds the tokens of any JSON, with and without white space", () => {
  const value = fc.jsonValue({ maxDepth: 4, stringUnit: "binary" });
  fc.assert(fc.property(value, fc.constantFrom(0, 2), (given, indent) => {
    assertEquals(tokensOf(JSON.stringify(given, null, indent)), expected(given));
  }));
});

Deno.test("JsonScanner reaches the end of any text, JSON or not", () => {
  const units = fc.constantFrom("{", "}", "[", "]", ",", ":", '"', "\\", " ", "1", "é", "\ud800");
  fc.assert(fc.property(fc.string({ unit: units }), (text) => {
    const scanner = JsonScanner.ofText(text);
    let steps = 0;
    while (scanner.next() !== token.end) steps++;
    assertEquals(steps <= scanner.length, true);
  }));
});

Deno.test("parseExactly() keeps half a surrogate pair beside a large number", () => {
  const text = '{"half \ud800":"\udc00","id":12345678901234567890}';
  const again = stringifyExactly(parseExactly(text));
  assertEquals(again, '{"half \\ud800":"\\udc00","id":12345678901234567890}');
});
