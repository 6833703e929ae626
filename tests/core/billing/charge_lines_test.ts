/** The lines of a bill add up to its charge, whatever was charged for. */
import * as fc from "../../support/property.ts";
import { chargeLines } from "../../../core/billing/charge_lines.ts";
import { applyPrice, costOfTokens } from "../../../core/billing/price.ts";
import { countedTools, toolChargesMicroVnd } from "../../../core/billing/usage/hosted_tools.ts";
import { assert, assertEquals } from "../../support/assert.ts";

const tokens = fc.nat({ max: 2_000_000 });
const rate = fc.nat({ max: 9_000_000 }).map((n) => n / 1_000);

const usages = fc.record({ input: tokens, cacheRead: tokens, cacheWrite: tokens, output: tokens })
  .chain((usage) =>
    fc.record({
      inputAudio: fc.nat({ max: usage.input }),
      cacheWriteHour: fc.nat({ max: usage.cacheWrite }),
      outputImage: fc.nat({ max: usage.output }),
    }).map((parts) => ({ ...usage, ...parts, reasoning: 0 }))
  );

const prices = fc.record({
  vndPerMtok: rate,
  outputVndPerMtok: rate,
  cacheReadVndPerMtok: rate,
  audioInputVndPerMtok: rate,
}, { requiredKeys: ["vndPerMtok"], noNullPrototype: true });

const tools = fc.uniqueArray(
  fc.record({
    tool: fc.constantFrom(...countedTools),
    uses: fc.integer({ min: 1, max: 9 }),
    perUseMicroVnd: fc.bigInt({ min: 1n, max: 10n ** 9n }),
  }),
  { maxLength: 2, selector: ({ tool }) => tool },
);

const sumOf = (lines: readonly { readonly amountMicroVnd: bigint }[]) =>
  lines.reduce((sum, { amountMicroVnd }) => sum + amountMicroVnd, 0n);

Deno.test("lines of tokens and tools add up to the charge, but for the rounding of one µVND a line", () => {
  fc.assert(
    fc.property(
      usages,
      prices,
      tools,
      fc.nat({ max: 100 }),
      (usage, price, toolCharges, paidPercent) => {
        const applied = applyPrice({ unit: "token", ...price });
        const priceMicroVnd = costOfTokens(applied, usage) + toolChargesMicroVnd(toolCharges);
        const costMicroVnd = priceMicroVnd * BigInt(paidPercent) / 100n;
        const { lines, differenceMicroVnd } = chargeLines({
          price: applied,
          usage,
          units: 0,
          toolCharges,
          costMicroVnd,
          shortfallMicroVnd: priceMicroVnd - costMicroVnd,
        });
        const left = priceMicroVnd - sumOf(lines);
        assertEquals(differenceMicroVnd, 0n);
        assert(left >= 0n && left <= BigInt(lines.length));
        const counted = lines.reduce(
          (sum, { item, count }) => item.kind === "tokens" ? sum + count : sum,
          0,
        );
        const all = usage.input + usage.cacheRead + usage.cacheWrite + usage.output;
        if (priceMicroVnd > 0n) assertEquals(counted, all, "every token is on one line");
      },
    ),
  );
});

Deno.test("a charge that its price does not explain has the difference as a line of its own", () => {
  const price = { unit: "image", perUnitMicroVnd: 500n } as const;
  const charge = (costMicroVnd: bigint, shortfallMicroVnd = 0n) =>
    chargeLines({ price, units: 3, costMicroVnd, shortfallMicroVnd });
  assertEquals(charge(1_500n).differenceMicroVnd, 0n);
  assertEquals(charge(1_000n, 500n).differenceMicroVnd, 0n);
  assertEquals(charge(1_200n).differenceMicroVnd, -300n);
  assertEquals(charge(1_900n).differenceMicroVnd, 400n);
  assertEquals(charge(0n), { lines: [], differenceMicroVnd: 0n });
  const noUsage = chargeLines({
    price: applyPrice({ unit: "token", vndPerMtok: 9 }),
    units: 0,
    costMicroVnd: 7n,
    shortfallMicroVnd: 0n,
  });
  assertEquals(noUsage, { lines: [], differenceMicroVnd: 7n });
});
