import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import {
  countTokens,
  cutIntoPieces,
  takeTokens,
  tokensOf,
} from "../../../../sandbox/provider/base/tokens.ts";

const anyText = fc.string({ unit: "grapheme", maxLength: 40 });

Deno.test("tokens are whole characters of at most 4 bytes", () => {
  assertEquals([...tokensOf("abcdefg")], ["abcd", "efg"]);
  assertEquals([...tokensOf("xin chào")], ["xin ", "chà", "o"]);
  assertEquals([...tokensOf("🙂🙂a")], ["🙂", "🙂", "a"]);
  assertEquals([...tokensOf("")], []);
});

Deno.test("property: tokens join to the text and their number is the count", () => {
  fc.assert(fc.property(anyText, (text) => {
    const tokens = [...tokensOf(text)];
    assertEquals(tokens.join(""), text);
    assertEquals(countTokens(text), tokens.length);
    assert(tokens.every((token) => new TextEncoder().encode(token).length <= 4));
  }));
});

Deno.test("property: the first n tokens count n, pieces join to the text", () => {
  fc.assert(fc.property(anyText, fc.nat(20), fc.integer({ min: 1, max: 5 }), (text, n, size) => {
    const taken = takeTokens(text, n);
    assert(text.startsWith(taken));
    assertEquals(countTokens(taken), Math.min(n, countTokens(text)));
    const pieces = [...cutIntoPieces(text, size)];
    assertEquals(pieces.join(""), text);
    assertEquals(pieces.length, Math.ceil(countTokens(text) / size));
  }));
});
