/** Customers' prices and providers' costs speak one language: the same terms and the same call give the same amount. */
import * as fc from "../../support/property.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import {
  applyPrice,
  type CataloguePrice,
  chargedTier,
  costOfTokens,
} from "../../../core/billing/price.ts";
import { providerCost } from "../../../core/billing/provider_cost.ts";
import { rateCard, type RouteCost, vnd } from "../../../core/billing/rate_card.ts";
import {
  costMembers,
  priceMembers,
  type TokenBucket,
  tokenBuckets,
} from "../../../core/billing/tariff.ts";
import type { TokenUsage } from "../../../core/billing/tokens/token_bounds.ts";

const usd = { code: "USD", vndPerUnit: "25400.5" };

/** Cards of stored receipts name these ids: a card whose id changes is another card, without its rates. */
const golden:
  readonly (readonly [id: string, currency: typeof usd | typeof vnd, cost: RouteCost])[] = [
    ["WxJSHIUP4", usd, {
      unit: "token",
      perMtok: 3,
      outputPerMtok: 15,
      cacheReadPerMtok: "0.3",
      cacheWritePerMtok: 3.75,
      cacheWriteHourPerMtok: 6,
      longPrompt: { aboveTokens: 200000, perMtok: 6, outputPerMtok: "22.5" },
      serviceTiers: { priority: 2, flex: 0.5 },
      hostedTools: { web_search: { perUse: 0.01 } },
    }],
    ["N0Cs4lqAN", vnd, {
      unit: "token",
      perMtok: 8300,
      inputAudioPerMtok: 16600,
      outputImagePerMtok: "99000.5",
    }],
    ["TTbV6sGB6", usd, {
      unit: "request",
      amount: "0.01",
      hostedTools: { code_execution: { perCall: "0.03" } },
    }],
    ["vOdA5O1rX", usd, { unit: "image", amount: 0.04 }],
    ["fvQBPj1nZ", vnd, { unit: "search", amount: 50 }],
    ["oQIGxJWXB", usd, { unit: "second", perMinute: 0.006 }],
    ["R4neYvWE7", usd, {
      unit: "video",
      tiers: [
        { fromSeconds: 1, toSeconds: 5, amount: 0.5 },
        { fromSeconds: 6, toSeconds: 10, amount: 1 },
      ],
    }],
  ];

Deno.test("rate cards keep the ids that stored receipts name", () => {
  assertEquals(
    golden.map(([, currency, cost]) => rateCard({ currency, cost }).id),
    golden.map(([id]) => id),
  );
});

/** Amounts with at most four decimals, the most that a customers' price has. */
const amount = fc.nat({ max: 10 ** 10 }).map((parts) =>
  `${Math.floor(parts / 10_000)}.${String(parts % 10_000).padStart(4, "0")}`
);
type Rates = Readonly<Partial<Record<TokenBucket, string>>> & { readonly input: string };
const rates: fc.Arbitrary<Rates> = fc.record({
  input: amount,
  cache_read: amount,
  cache_write: amount,
  cache_write_1h: amount,
  input_audio: amount,
  input_image: amount,
  output: amount,
  output_audio: amount,
  output_image: amount,
}, { requiredKeys: ["input"] });
const longPrompt = fc.option(fc.record({ aboveTokens: fc.nat({ max: 3_000 }), rates }));
const factor = fc.option(fc.nat({ max: 1_000 }).map((hundredths) => hundredths / 100));

const tokens = fc.nat({ max: 1_000 });
const usage: fc.Arbitrary<TokenUsage> = fc.record({
  inputAudio: tokens,
  inputImage: tokens,
  outputAudio: tokens,
  outputImage: tokens,
  cacheWriteHour: tokens,
  text: tokens,
  cacheRead: tokens,
  cacheWrite: tokens,
}).map(({ text, ...parts }) => ({
  ...parts,
  input: text + parts.inputAudio + parts.inputImage,
  cacheWrite: parts.cacheWrite + parts.cacheWriteHour,
  output: text + parts.outputAudio + parts.outputImage,
  reasoning: 0,
}));

/** Writes rates under the names that a kind of tariff has for them. */
function named(of: Rates, members: Readonly<Record<TokenBucket, string>>): Record<string, string> {
  return Object.fromEntries(tokenBuckets.flatMap((bucket) => {
    const rate = of[bucket];
    return rate === undefined ? [] : [[members[bucket], rate]];
  }));
}

Deno.test("the same rates and the same tokens cost a customer what they cost the operator", () => {
  fc.assert(
    fc.property(rates, longPrompt, factor, usage, (short, long, flex, usage) => {
      const tiers = flex === null ? {} : { serviceTiers: { flex } };
      const price: CataloguePrice = {
        unit: "token",
        vndPerMtok: short.input,
        ...named(short, priceMembers),
        ...(long && {
          longPrompt: {
            aboveTokens: long.aboveTokens,
            vndPerMtok: long.rates.input,
            ...named(long.rates, priceMembers),
          },
        }),
        ...tiers,
      };
      const cost: RouteCost = {
        unit: "token",
        perMtok: short.input,
        ...named(short, costMembers),
        ...(long && {
          longPrompt: {
            aboveTokens: long.aboveTokens,
            perMtok: long.rates.input,
            ...named(long.rates, costMembers),
          },
        }),
        ...tiers,
      };
      const card = rateCard({ currency: vnd, cost });
      const tier = flex !== null && flex <= 1 ? "flex" : "default";
      const applied = chargedTier(applyPrice(price), {
        asked: tier,
        reported: tier,
        isCarried: true,
      });
      const paid = providerCost(card, { usage, tier });
      assert(paid.kind === "known");
      assertEquals(paid.costMicroVnd, costOfTokens(applied.price, usage));
    }),
    { numRuns: 1_000 },
  );
});
