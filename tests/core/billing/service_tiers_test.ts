import * as fc from "../../support/property.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import {
  applyPrice,
  chargedTier,
  costOfTokens,
  reservedPrice,
  worstCaseCost,
} from "../../../core/billing/price.ts";
import type { TierPrices } from "../../../core/billing/tariff.ts";
import { billedInputTokens } from "../../../core/billing/tokens/token_bounds.ts";

const hundredths = (max: number) => fc.nat({ max }).map((parts) => parts / 100);
const tiers: fc.Arbitrary<TierPrices> = fc.dictionary(
  fc.constantFrom("flex", "priority", "scale"),
  hundredths(10_000),
);
const word = fc.constantFrom(
  "auto",
  "default",
  "standard",
  "flex",
  "priority",
  "performance",
  "scale",
  "ON_DEMAND_PRIORITY",
  "unknown",
  "",
);
const count = fc.nat({ max: 50_000 });

Deno.test("whatever tier is reported, a call costs no more than it reserved, and no tier is charged unasked", () => {
  fc.assert(fc.property(
    fc.record({
      tiers,
      rate: fc.nat({ max: 20_000 }),
      longRate: fc.nat({ max: 20_000 }),
      above: count,
      asked: fc.constantFrom("default", "flex", "priority", "scale", "unknown"),
      reported: fc.option(word, { nil: undefined }),
      isCarried: fc.boolean(),
      usage: fc.record({ input: count, cacheRead: count, cacheWrite: count, output: count }),
    }),
    ({ tiers, rate, longRate, above, asked, reported, isCarried, usage }) => {
      const price = applyPrice({
        unit: "token",
        vndPerMtok: rate,
        longPrompt: { vndPerMtok: rate + longRate, aboveTokens: above + 1 },
        serviceTiers: tiers,
      });
      const used = { ...usage, reasoning: 0 };
      const charged = chargedTier(price, { asked, reported, isCarried });
      const cost = costOfTokens(charged.price, used);
      const reserved = reservedPrice(price, asked);
      const bound = { inputTokens: billedInputTokens(used), outputTokens: used.output };
      assert(cost <= worstCaseCost(reserved, bound));
      if (asked === "default") assert(cost <= costOfTokens(price, used));
      assert(charged.price.unit === "token" && charged.price.tiers === undefined);
    },
  ));
});

const price = applyPrice({
  unit: "token",
  vndPerMtok: 100,
  serviceTiers: { flex: 0.5, priority: 1.75 },
});
const rateOf = (asked: string, reported: string | undefined, isCarried = true) => {
  const charged = chargedTier(price, { asked, reported, isCarried });
  assert(charged.price.unit === "token");
  return [Number(charged.price.inputPerMtokMicroVnd) / 1_000_000, charged.serviceTier];
};

Deno.test("the tier that is charged", () => {
  assertEquals(rateOf("priority", "priority"), [175, "priority"]);
  assertEquals(rateOf("priority", "default"), [100, undefined], "the provider had no room");
  assertEquals(rateOf("priority", undefined), [175, "priority"], "asked, and nothing reported");
  assertEquals(rateOf("priority", undefined, false), [100, undefined], "the route never knew");
  assertEquals(rateOf("flex", "flex"), [50, "flex"]);
  assertEquals(rateOf("flex", undefined), [100, undefined], "perhaps the field is unknown there");
  assertEquals(rateOf("default", "priority"), [100, undefined], "the operator's own setting");
  assertEquals(rateOf("flex", "priority"), [100, undefined]);
  assertEquals(rateOf("default", "flex"), [50, "flex"]);
  assertEquals(rateOf("default", "ultra"), [100, undefined]);
});

Deno.test("fractions stay exact under a factor", () => {
  const price = applyPrice({
    unit: "token",
    vndPerMtok: 0.0003,
    serviceTiers: { flex: 0.33 },
  });
  const charged = chargedTier(price, { asked: "flex", reported: "flex", isCarried: true });
  assert(charged.price.unit === "token");
  assertEquals(charged.price.inputPerMtokMicroVnd, 99n);
});
