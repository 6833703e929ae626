import { assertEquals } from "../../support/assert.ts";
import {
  applyPrice,
  chargedRates,
  costOfTokens,
  mostPerOutputToken,
  worstCaseCost,
} from "../../../core/billing/price.ts";
import { noTokens } from "../../../core/billing/token_usage.ts";

const bound = { inputTokens: 1_000, outputTokens: 10 };

const reservations: readonly (readonly [
  name: string,
  rates: {
    readonly cacheReadVndPerMtok?: number;
    readonly cacheWriteVndPerMtok?: number;
    readonly cacheWriteHourVndPerMtok?: number;
  },
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
  ["writing for an hour where that is dearest", {
    cacheWriteVndPerMtok: 125,
    cacheWriteHourVndPerMtok: 200,
  }, 200n],
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
    charged.map((rates) => "outputMicroVnd" in rates && rates.outputMicroVnd),
    [15n, 22n],
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
  assertEquals([1_000, 1_001].map((tokens) => mostPerOutputToken(tiered, tokens)), [15n, 22n]);
  assertEquals(mostPerOutputToken(applyPrice({ unit: "request", vnd: 3 }), 5), 0n);
});
