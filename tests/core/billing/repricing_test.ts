/** Sums at other prices: the unchanged price gives what was charged, another one what the calls would have been charged. */
import * as fc from "../../support/property.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { applyPrice, type CataloguePrice, costOfTokens } from "../../../core/billing/price.ts";
import { rateCard } from "../../../core/billing/rate_card.ts";
import { type PricedSum, repricedCost, repricedSum } from "../../../core/billing/repricing.ts";

const vnd = fc.integer({ min: 0, max: 9_999_999 }).map((tenths) => tenths / 10);
const tokenPrice: fc.Arbitrary<CataloguePrice> = fc.record({
  unit: fc.constant("token" as const),
  vndPerMtok: vnd,
  outputVndPerMtok: fc.option(vnd, { nil: undefined }),
  cacheReadVndPerMtok: fc.option(vnd, { nil: undefined }),
  cacheWriteVndPerMtok: fc.option(vnd, { nil: undefined }),
});
const piecePrice: fc.Arbitrary<CataloguePrice> = fc.record({
  unit: fc.constantFrom("request" as const, "image" as const, "search" as const),
  vnd,
});
const secondPrice: fc.Arbitrary<CataloguePrice> = fc.record({
  unit: fc.constant("second" as const),
  vndPerMinute: vnd,
});
const tokens = fc.nat(2_000_000);
const usage = fc.record({
  input: tokens,
  cacheRead: tokens,
  cacheWrite: tokens,
  output: tokens,
  reasoning: fc.constant(0),
});

const sum: fc.Arbitrary<PricedSum> = fc.record({
  inputTokens: tokens,
  cacheReadTokens: tokens,
  cacheWriteTokens: tokens,
  outputTokens: tokens,
  units: fc.nat(1_000),
  costMicroVnd: fc.bigInt(0n, 10n ** 15n),
});

Deno.test("at the unchanged price a sum is exactly what was charged, whatever that was", () => {
  fc.assert(fc.property(sum, fc.oneof(tokenPrice, piecePrice, secondPrice), (charged, price) => {
    assertEquals(repricedSum(charged, price, price)?.revenueMicroVnd, charged.costMicroVnd);
    const same: CataloguePrice = { ...price };
    assertEquals(repricedSum(charged, price, same)?.revenueMicroVnd, charged.costMicroVnd);
  }));
});

Deno.test("a sum at another price is what its calls would have been charged, but for a µVND each", () => {
  const calls = fc.array(usage, { minLength: 1, maxLength: 20 });
  fc.assert(fc.property(calls, tokenPrice, tokenPrice, (made, before, after) => {
    const chargedAt = (price: CataloguePrice) =>
      made.reduce((total, one) => total + costOfTokens(applyPrice(price), one), 0n);
    const of = (name: "input" | "cacheRead" | "cacheWrite" | "output") =>
      made.reduce((total, one) => total + one[name], 0);
    const repriced = repricedSum(
      {
        inputTokens: of("input"),
        cacheReadTokens: of("cacheRead"),
        cacheWriteTokens: of("cacheWrite"),
        outputTokens: of("output"),
        units: made.length,
        costMicroVnd: chargedAt(before),
      },
      before,
      after,
    );
    assert(repriced !== undefined);
    const off = repriced.revenueMicroVnd - chargedAt(after);
    const bound = BigInt(made.length);
    assert(off >= -bound && off <= bound, `${off} µVND off in ${made.length} calls`);
    const { unexplainedMicroVnd: rest } = repriced;
    assert(rest >= 0n && rest <= bound, `${rest} µVND are not explained`);
  }));
});

Deno.test("what sums do not say is not computed: lengths of videos, and units of another kind", () => {
  const charged = { ...emptySum, units: 3, costMicroVnd: 30n };
  const tier = (fromSeconds: number, vnd: number) => ({ fromSeconds, toSeconds: fromSeconds, vnd });
  const video = (...tiers: ReturnType<typeof tier>[]): CataloguePrice => ({ unit: "video", tiers });
  assertEquals(repricedSum(charged, video(tier(5, 1), tier(10, 2)), video(tier(5, 1))), undefined);
  assertEquals(repricedSum(charged, video(tier(5, 1)), { unit: "image", vnd: 1 }), undefined);
  const repriced = repricedSum(charged, video(tier(5, 1), tier(6, 1)), video(tier(5, 3)));
  assertEquals(repriced?.revenueMicroVnd, 6_000_030n);
});

const emptySum: PricedSum = {
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  units: 0,
  costMicroVnd: 0n,
};

Deno.test("a cost at another rate card is exact in whole units, and unknown for a bucket that the card lacks", () => {
  const currency = { code: "USD", vndPerUnit: 25_000 };
  const card = (perMtok: number, outputPerMtok?: number) =>
    rateCard({
      currency,
      cost: { unit: "token", perMtok, ...(outputPerMtok && { outputPerMtok }) },
    });
  const units = { input: 1_000_000, output: 2_000_000 };
  const [before, after] = [card(1, 2), card(3, 4)];
  // 1 + 2 × 2 = 5 USD became 3 + 2 × 4 = 11 USD, and 7 µVND of rounding stay.
  assertEquals(repricedCost(units, 125_000_000_007n, before, after), 275_000_000_007n);
  assertEquals(repricedCost(units, 125_000_000_007n, before, before), 125_000_000_007n);
  assertEquals(
    repricedCost(units, 1n, before, rateCard({ currency, cost: { unit: "image", amount: 1 } })),
    undefined,
  );
});
