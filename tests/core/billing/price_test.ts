import { assertEquals } from "../../support/assert.ts";
import { applyPrice, worstCaseCost } from "../../../core/billing/price.ts";

const bound = { inputTokens: 1_000, outputTokens: 10 };

const reservations: readonly (readonly [
  name: string,
  rates: { readonly cacheReadVndPerMtok?: number; readonly cacheWriteVndPerMtok?: number },
  inputMicroVnd: bigint,
])[] = [
  ["plain input where the cache costs as much", {}, 100n],
  ["plain input where the cache is cheaper", {
    cacheReadVndPerMtok: 10,
    cacheWriteVndPerMtok: 99,
  }, 100n],
  ["writing to the cache where that is dearest", { cacheWriteVndPerMtok: 125 }, 125n],
  ["reading from the cache where that is dearest", { cacheReadVndPerMtok: 130 }, 130n],
  ["writing, dearer than reading that is dear too", {
    cacheReadVndPerMtok: 110,
    cacheWriteVndPerMtok: 125,
  }, 125n],
  ["reading, dearer than writing that is dear too", {
    cacheReadVndPerMtok: 125,
    cacheWriteVndPerMtok: 110,
  }, 125n],
];

for (const [name, rates, inputMicroVnd] of reservations) {
  Deno.test(`a chat call reserves its input at the price of ${name}`, () => {
    const price = applyPrice({ unit: "token", vndPerMtok: 100, outputVndPerMtok: 500, ...rates });
    assertEquals(worstCaseCost(price, bound), 1_000n * inputMicroVnd + 10n * 500n);
  });
}

Deno.test("a chat call with one price per request reserves that", () => {
  const price = applyPrice({ unit: "request", vnd: 3 });
  assertEquals(worstCaseCost(price, bound), 3_000_000n);
});
