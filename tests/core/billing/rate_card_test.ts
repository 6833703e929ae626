import * as fc from "../../support/property.ts";
import { assert, assertEquals, assertThrows } from "../../support/assert.ts";
import {
  costInMicroVnd,
  costOfUnitsAt,
  formatCost,
  formatRate,
  rateCard,
  vnd,
} from "../../../core/billing/rate_card.ts";
import { providerCost, unitsOnCard } from "../../../core/billing/provider_cost.ts";

/** A decimal with six places, as a whole number of its last place and as it is written. */
const written = fc.bigInt({ min: 0n, max: 10n ** 12n }).map((millionths) => ({
  millionths,
  text: `${millionths / 1_000_000n}.${(millionths % 1_000_000n).toString().padStart(6, "0")}`,
}));
const tokens = fc.nat({ max: 2_000_000 });

Deno.test("the cost of a call is exact: tokens × rate × exchange rate, rounded up once", () => {
  fc.assert(
    fc.property(
      written,
      written,
      written,
      fc.record({ input: tokens, cacheRead: tokens, output: tokens }),
      (input, output, exchange, used) => {
        const card = rateCard({
          currency: { code: "USD", vndPerUnit: exchange.text },
          cost: { unit: "token", perMtok: input.text, outputPerMtok: output.text },
        });
        const usage = { ...used, cacheWrite: 0, reasoning: 0 };
        const cost = providerCost(card, { usage });
        assert(cost.kind === "known");
        const perMillion = BigInt(used.input + used.cacheRead) * input.millionths +
          BigInt(used.output) * output.millionths;
        // Millionths of a unit per million tokens, times millionths of VND: 10⁻¹⁸ VND.
        const exact = perMillion * exchange.millionths;
        const scale = 10n ** 12n;
        assertEquals(cost.costMicroVnd, (exact + scale - 1n) / scale);
      },
    ),
  );
});

Deno.test("a sum of calls differs from the cost of their units by less than a µVND per call", () => {
  const card = rateCard({
    currency: { code: "USD", vndPerUnit: "25431.17" },
    cost: { unit: "token", perMtok: 0.15, outputPerMtok: "0.6", cacheReadPerMtok: "0.0375" },
  });
  fc.assert(
    fc.property(
      fc.array(fc.record({ input: tokens, cacheRead: tokens, output: tokens }), {
        minLength: 1,
        maxLength: 30,
      }),
      (calls) => {
        let sum = 0n;
        const units: Record<string, number> = {};
        for (const used of calls) {
          const cost = providerCost(card, { usage: { ...used, cacheWrite: 0, reasoning: 0 } });
          assert(cost.kind === "known");
          sum += cost.costMicroVnd;
          for (const [bucket, count] of Object.entries(cost.units)) {
            units[bucket] = (units[bucket] ?? 0) + count;
          }
        }
        const whole = costInMicroVnd(card, costOfUnitsAt(card, units));
        assert(sum >= whole && sum - whole < BigInt(calls.length), `${sum} ${whole}`);
      },
    ),
  );
});

const usage = {
  input: 100,
  inputAudio: 30,
  inputImage: 20,
  cacheRead: 40,
  cacheWrite: 10,
  cacheWriteHour: 4,
  output: 50,
  outputAudio: 5,
  reasoning: 9,
};

Deno.test("buckets without a rate of their own are part of those that have one", () => {
  const plain = rateCard({ currency: vnd, cost: { unit: "token", perMtok: 1 } });
  assertEquals(unitsOnCard(plain, { usage }), {
    input: 100,
    cache_read: 40,
    cache_write: 10,
    output: 50,
  });
  const fine = rateCard({
    currency: vnd,
    cost: {
      unit: "token",
      perMtok: 1,
      inputAudioPerMtok: 2,
      cacheWriteHourPerMtok: 3,
      outputAudioPerMtok: 4,
    },
  });
  assertEquals(unitsOnCard(fine, { usage }), {
    input: 70,
    cache_read: 40,
    cache_write: 6,
    cache_write_1h: 4,
    input_audio: 30,
    output: 45,
    output_audio: 5,
  });
});

Deno.test("long prompts and tiers of service have buckets and rates of their own", () => {
  const card = rateCard({
    currency: vnd,
    cost: {
      unit: "token",
      perMtok: 10,
      longPrompt: { aboveTokens: 100, perMtok: 20, outputPerMtok: 30 },
      serviceTiers: { flex: 0.5 },
    },
  });
  const used = { input: 101, cacheRead: 0, cacheWrite: 0, output: 7, reasoning: 0 };
  const units = unitsOnCard(card, { usage: used, tier: "flex" });
  assertEquals(units, { "input.flex.long": 101, "output.flex.long": 7 });
  assertEquals(formatRate(card, "input.flex.long"), "10");
  assertEquals(formatRate(card, "output.long"), "30");
  assertEquals(unitsOnCard(card, { usage: { ...used, input: 100 }, tier: "priority" }), {
    input: 100,
    output: 7,
  });
});

Deno.test("calls, images, searches, seconds, videos and tools are units of their own", () => {
  const of = (cost: Parameters<typeof rateCard>[0]["cost"]) => rateCard({ currency: vnd, cost });
  const costs = (card: ReturnType<typeof of>, use: Parameters<typeof unitsOnCard>[1]) => {
    const units = unitsOnCard(card, use);
    return [units, formatCost(costOfUnitsAt(card, units))];
  };
  assertEquals(
    costs(of({ unit: "request", amount: "0.01", hostedTools: { web_search: { perUse: 2 } } }), {
      toolUses: { web_search: 3, file_search: 1 },
    }),
    [{ request: 1, web_search: 3 }, "6.01"],
  );
  assertEquals(costs(of({ unit: "image", amount: 4 }), { units: 2 }), [{ image: 2 }, "8"]);
  assertEquals(costs(of({ unit: "search", amount: 2 }), { units: 0 }), [{}, "0"]);
  assertEquals(costs(of({ unit: "second", perMinute: "0.006" }), { seconds: 61 }), [
    { second: 61 },
    "0.0061",
  ]);
  const tiers = [{ fromSeconds: 1, toSeconds: 5, amount: 7 }];
  assertEquals(costs(of({ unit: "video", tiers }), { seconds: 5 }), [{ "video.1-5": 1 }, "7"]);
  assertEquals(costs(of({ unit: "video", tiers }), { seconds: 6 }), [{}, "0"]);
  const perCall = of({
    unit: "token",
    perMtok: 0,
    hostedTools: { code_execution: { perCall: 9 } },
  });
  assertEquals(costs(perCall, { toolUses: { code_execution: 4 } }), [{ code_execution: 1 }, "9"]);
});

Deno.test("the id of a card follows from its content, and a rate with too many decimals is refused", () => {
  const card = (perMtok: number | string, vndPerUnit: number | string = 25_400) =>
    rateCard({ currency: { code: "USD", vndPerUnit }, cost: { unit: "token", perMtok } });
  assertEquals(card(0.15).id, card(0.15).id);
  assert(card(0.15).id !== card(0.16).id);
  assert(card(0.15).id !== card(0.15, 25_401).id);
  assertThrows(() => card("0.123456789"), RangeError);
});
