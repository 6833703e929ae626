import * as fc from "../../support/property.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import {
  applyPrice,
  chargedRates,
  costOfTokens,
  costOfUnits,
  maxPerOutputToken,
  worstCaseCost,
} from "../../../core/billing/price.ts";
import { noTokens } from "../../../core/billing/tokens/token_bounds.ts";

const bound = { inputTokens: 1_000, outputTokens: 10 };

const reservations: readonly (readonly [
  name: string,
  rates: {
    readonly cacheReadVndPerMtok?: number;
    readonly cacheWriteVndPerMtok?: number;
    readonly cacheWriteHourVndPerMtok?: number;
  },
  perTokenMicroVnd: bigint,
])[] = [
  ["plain input where the cache costs as much", {}, 100n],
  ["plain input where the cache is cheaper", {
    cacheReadVndPerMtok: 10,
    cacheWriteVndPerMtok: 99,
  }, 100n],
  ["writing to the cache where that has the highest rate", { cacheWriteVndPerMtok: 125 }, 125n],
  ["reading from the cache where that has the highest rate", { cacheReadVndPerMtok: 130 }, 130n],
  ["writing, dearer than reading that is dear too", {
    cacheReadVndPerMtok: 110,
    cacheWriteVndPerMtok: 125,
  }, 125n],
  ["reading, dearer than writing that is dear too", {
    cacheReadVndPerMtok: 125,
    cacheWriteVndPerMtok: 110,
  }, 125n],
  ["writing for an hour where that has the highest rate", {
    cacheWriteVndPerMtok: 125,
    cacheWriteHourVndPerMtok: 200,
  }, 200n],
];

for (const [name, rates, perTokenMicroVnd] of reservations) {
  Deno.test(`a chat call reserves its input at the price of ${name}`, () => {
    const price = applyPrice({ unit: "token", vndPerMtok: 100, outputVndPerMtok: 500, ...rates });
    assertEquals(worstCaseCost(price, bound), 1_000n * perTokenMicroVnd + 10n * 500n);
  });
}

Deno.test("a chat call with one price per request reserves that", () => {
  const price = applyPrice({ unit: "request", vnd: 3 });
  assertEquals(worstCaseCost(price, bound), 3_000_000n);
});

Deno.test("cache writes that are kept for an hour have a rate of their own", () => {
  const usage = { ...noTokens, cacheWrite: 100, cacheWriteHour: 60 };
  const price = { unit: "token", vndPerMtok: 100, cacheWriteVndPerMtok: 125 } as const;
  assertEquals(costOfTokens(applyPrice(price), usage), 12_500n);
  const hour = applyPrice({ ...price, cacheWriteHourVndPerMtok: 200 });
  assertEquals(costOfTokens(hour, usage), 40n * 125n + 60n * 200n);
});

const tiered = applyPrice({
  unit: "token",
  vndPerMtok: 3,
  outputVndPerMtok: 15,
  longPrompt: { aboveTokens: 1_000, vndPerMtok: 6, outputVndPerMtok: 22 },
});

Deno.test("all tokens of a call with a long prompt have the rates of long prompts, cached ones included", () => {
  const short = { ...noTokens, input: 400, cacheRead: 300, cacheWrite: 300, output: 10 };
  assertEquals(costOfTokens(tiered, short), 1_000n * 3n + 10n * 15n);
  const long = { ...short, cacheRead: 301 };
  assertEquals(costOfTokens(tiered, long), 1_001n * 6n + 10n * 22n);
  const charged = [short, long].map((usage) => chargedRates(tiered, usage));
  assertEquals(
    charged.map((rates) => "outputPerMtokMicroVnd" in rates && rates.outputPerMtokMicroVnd),
    [15_000_000n, 22_000_000n],
  );
  assertEquals(charged.map((rates) => "long" in rates || "aboveTokens" in rates), [false, false]);
  assertEquals(charged.map((rates, at) => costOfTokens(rates, [short, long][at]!)), [
    costOfTokens(tiered, short),
    costOfTokens(tiered, long),
  ]);
});

Deno.test("only a prompt that may be long reserves the rates of long prompts", () => {
  assertEquals(worstCaseCost(tiered, { inputTokens: 1_000, outputTokens: 10 }), 3_150n);
  assertEquals(worstCaseCost(tiered, { inputTokens: 1_001, outputTokens: 10 }), 6_226n);
  assertEquals([1_000, 1_001].map((tokens) => maxPerOutputToken(tiered, tokens)), [15n, 22n]);
  assertEquals(maxPerOutputToken(applyPrice({ unit: "request", vnd: 3 }), 5), 0n);
});

/** A written price: ten-thousandths of a VND, as the text of the figure or as the number that JSON makes of it. */
const written = fc.tuple(fc.nat({ max: 10_000_000 }), fc.boolean()).map(([parts, asText]) => {
  const text = `${Math.floor(parts / 10_000)}.${String(parts % 10_000).padStart(4, "0")}`;
  return { parts: BigInt(parts), written: asText ? text : Number(text) };
});
const tokens = fc.nat({ max: 10_000_000 });

Deno.test("fractions of a VND are exact: one rounding up per call, whatever the tokens and the form of the figure", () => {
  fc.assert(fc.property(written, written, tokens, tokens, (inRate, outRate, input, output) => {
    const price = applyPrice({
      unit: "token",
      vndPerMtok: inRate.written,
      outputVndPerMtok: outRate.written,
    });
    const cost = costOfTokens(price, { ...noTokens, input, output });
    // In units of 10⁻¹⁰ VND per token: nothing is lost before the last division.
    const exact = BigInt(input) * inRate.parts + BigInt(output) * outRate.parts;
    assert(cost * 10_000n >= exact && (cost - 1n) * 10_000n < exact, `${cost}`);
  }));
});

Deno.test("a call never costs more than was reserved for its bounds, with fractions of a VND", () => {
  fc.assert(fc.property(written, written, tokens, tokens, (inRate, outRate, input, output) => {
    const price = applyPrice({
      unit: "token",
      vndPerMtok: inRate.written,
      outputVndPerMtok: outRate.written,
    });
    const reserved = worstCaseCost(price, { inputTokens: input, outputTokens: output });
    const half = { ...noTokens, input: input >> 1, cacheRead: input - (input >> 1), output };
    assert(costOfTokens(price, half) <= reserved);
    // A stream reserves its output token by token.
    const first = worstCaseCost(price, { inputTokens: input, outputTokens: 0 });
    const grown = first + BigInt(output) * maxPerOutputToken(price, input);
    assert(costOfTokens(price, half) <= grown);
  }));
});

Deno.test("units have fractions of a VND: a picture for 1.5, a second of a minute for 0.5", () => {
  assertEquals(costOfUnits(applyPrice({ unit: "image", vnd: 1.5 }), 3), 4_500_000n);
  assertEquals(costOfUnits(applyPrice({ unit: "second", vndPerMinute: "0.5" }), 60), 500_040n);
});
