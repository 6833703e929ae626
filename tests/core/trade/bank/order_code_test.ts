import * as fc from "../../../support/property.ts";
import { assert, assertEquals, assertThrows } from "../../../support/assert.ts";
import {
  newOrderCode,
  orderCodeAlphabet,
  parseOrderCode,
} from "../../../../core/trade/bank/order_code.ts";

const cryptoRandom = (into: Uint8Array<ArrayBuffer>) => void crypto.getRandomValues(into);
const code = fc.uint8Array({ minLength: 32, maxLength: 32 })
  .filter((bytes) => bytes.filter((byte) => byte < 230).length >= 7)
  .map((bytes) => newOrderCode((into) => into.set(bytes)));

Deno.test("parseOrderCode() accepts the known good codes and no others", () => {
  for (const good of ["ST7K2M9QXJ", "ST4HWN8RC9", "ST9PGD3TVW"]) {
    assertEquals(parseOrderCode(good), good);
  }
  for (
    const bad of [
      "ST7K2M9QXK", // wrong check symbol
      "ST7K2M9QX", // too short
      "ST7K2M9QXJJ", // too long
      "st7k2m9qxj", // the caller folds case
      "XX7K2M9QXJ",
      "ST0K2M9QXJ", // 0 is not in the alphabet
      "",
    ]
  ) assertEquals(parseOrderCode(bad), undefined, bad);
});

Deno.test("the alphabet has 23 symbols, without vowels, look-alikes and S", () => {
  assertEquals(new Set(orderCodeAlphabet).size, 23);
  for (const symbol of "0O1IL5SBZAEUY") assert(!orderCodeAlphabet.includes(symbol), symbol);
});

Deno.test("newOrderCode() makes valid codes that hold ST only at the start", () => {
  fc.assert(fc.property(code, (made) => {
    assertEquals(parseOrderCode(made), made);
    assertEquals(made.lastIndexOf("ST"), 0);
  }));
});

Deno.test("newOrderCode() refuses a random source that yields nothing usable", () => {
  assertThrows(() => newOrderCode((into) => into.fill(255)), Error, "random source");
});

Deno.test("newOrderCode() uses every symbol at every random place", () => {
  const seen = Array.from({ length: 7 }, () => new Set<string>());
  for (let round = 0; round < 2_000; round++) {
    const symbols = newOrderCode(cryptoRandom).slice(2, 9);
    [...symbols].forEach((symbol, at) => seen[at]!.add(symbol));
  }
  for (const symbols of seen) assertEquals(symbols.size, 23);
});

Deno.test("the check symbol notices every single wrong symbol", () => {
  fc.assert(fc.property(code, (good) => {
    for (let at = 2; at < good.length; at++) {
      for (const symbol of orderCodeAlphabet) {
        if (symbol === good[at]) continue;
        const wrong = good.slice(0, at) + symbol + good.slice(at + 1);
        assertEquals(parseOrderCode(wrong), undefined, `${good} ${wrong}`);
      }
    }
  }));
});

Deno.test("the check symbol notices every swap of two different symbols", () => {
  fc.assert(fc.property(code, (good) => {
    for (let left = 2; left < good.length; left++) {
      for (let right = left + 1; right < good.length; right++) {
        if (good[left] === good[right]) continue;
        const symbols = [...good];
        symbols[left] = good[right]!;
        symbols[right] = good[left]!;
        assertEquals(parseOrderCode(symbols.join("")), undefined);
      }
    }
  }));
});
