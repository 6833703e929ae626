import { assert, assertEquals } from "../../support/assert.ts";
import * as fc from "../../support/property.ts";
import { chargeForChat, type ChatEnd } from "../../../core/billing/outcome.ts";
import { applyPrice } from "../../../core/billing/price.ts";
import { billedInputTokens, type TokenUsage } from "../../../core/billing/tokens/token_bounds.ts";
import type { Outcome } from "../../../core/billing/usage/receipt.ts";

const perToken = applyPrice({ unit: "token", vndPerMtok: 8_300 });
const perRequest = applyPrice({ unit: "request", vnd: 230 });
const usageOf = (input: number, output: number): TokenUsage => ({
  input,
  cacheRead: 0,
  cacheWrite: 0,
  output,
  reasoning: 0,
});
const end = (some: Partial<ChatEnd>): ChatEnd => ({
  outcome: "completed",
  price: perToken,
  reported: undefined,
  bounds: { input: 10_000_000, askedOutput: 2_000_000, possibleOutput: 2_000_000 },
  estimatedInputTokens: 10,
  outputBytes: 0,
  produced: (some.outputBytes ?? 0) > 0,
  ...some,
});

const table: readonly [string, Partial<ChatEnd>, Partial<ReturnType<typeof chargeForChat>>][] = [
  [
    "completed with a report: the report, whatever we counted",
    { reported: usageOf(100, 50), outputBytes: 4_000 },
    { usage: usageOf(100, 50), estimated: false, priceMicroVnd: 150n * 8_300n },
  ],
  [
    "completed with a report of 0 and nothing to show: free, and no estimate (0 is not absent)",
    { reported: usageOf(0, 0) },
    { usage: usageOf(0, 0), estimated: false, priceMicroVnd: 0n },
  ],
  [
    "completed with a report of 0 for a text: our count, marked",
    { reported: usageOf(0, 0), outputBytes: 40 },
    { usage: usageOf(10, 10), estimated: true, priceMicroVnd: 20n * 8_300n },
  ],
  [
    "completed without a report: our count, rounded up, and marked",
    { outputBytes: 41 },
    { usage: usageOf(10, 11), estimated: true, priceMicroVnd: 21n * 8_300n },
  ],
  [
    "completed, but the last report was nonsense: the earlier one and our count, the larger",
    { reported: usageOf(100, 1), reportIsStale: true, outputBytes: 400 },
    { usage: usageOf(100, 100), estimated: true, priceMicroVnd: 200n * 8_300n },
  ],
  [
    "completed with an absurd report: our count of that side, marked",
    { reported: usageOf(100, 50_000_000), outputBytes: 400 },
    { usage: usageOf(100, 100), estimated: true, priceMicroVnd: 200n * 8_300n },
  ],
  [
    "failed with an absurd report: free, and no such number on the receipt",
    { outcome: "failed", reported: usageOf(100, 50_000_000) },
    { usage: usageOf(0, 0), estimated: false, priceMicroVnd: 0n },
  ],
  [
    "per request: the price of one call, whatever was reported",
    { price: perRequest, reported: usageOf(100, 50_000_000), outputBytes: 400 },
    { units: 1, priceMicroVnd: 230_000_000n },
  ],
  [
    "empty: free",
    { outcome: "empty" },
    { estimated: false, priceMicroVnd: 0n },
  ],
  [
    "failed: free, even if a provider reported something",
    { outcome: "failed", reported: usageOf(100, 50), outputBytes: 40 },
    { estimated: false, priceMicroVnd: 0n },
  ],
  [
    "broken before any output: free, though the prompt was reported",
    { outcome: "broken", reported: usageOf(100, 1) },
    { priceMicroVnd: 0n },
  ],
  [
    "broken after output, with only the first report (1 token): what came, the prompt as reported",
    { outcome: "broken", reported: usageOf(100, 1), outputBytes: 400 },
    { usage: usageOf(100, 100), estimated: true, priceMicroVnd: 200n * 8_300n },
  ],
  [
    "broken after the last report: the report stands, it is the larger",
    { outcome: "broken", reported: usageOf(100, 130), outputBytes: 400 },
    { usage: usageOf(100, 130), estimated: false, priceMicroVnd: 230n * 8_300n },
  ],
  [
    "client gone after the final report: the report, though we would count more",
    { outcome: "client_gone", reported: usageOf(100, 80), outputBytes: 400, stopped: true },
    { usage: usageOf(100, 80), estimated: false, priceMicroVnd: 180n * 8_300n },
  ],
  [
    "broken by an error event before anything of the answer: free, whatever was reported",
    { outcome: "broken", reported: usageOf(100, 9), outputBytes: 40, failedUnanswered: true },
    { priceMicroVnd: 0n },
  ],
  [
    "broken without a report, the prompt seen before: what was cached then, counts corrected",
    {
      outcome: "broken",
      estimatedInputTokens: 200,
      outputBytes: 400,
      correction: { cachedTokens: 90, inputScale: 0.5, outputScale: 0.8 },
    },
    { usage: { ...usageOf(10, 80), cacheRead: 90 }, estimated: true },
  ],
  [
    "client gone without a report: our count",
    { outcome: "client_gone", outputBytes: 400 },
    { usage: usageOf(10, 100), estimated: true, priceMicroVnd: 110n * 8_300n },
  ],
  [
    "client gone before output: free",
    { outcome: "client_gone" },
    { priceMicroVnd: 0n },
  ],
  [
    "client gone after a tool call without arguments: the prompt, and the one token that it is at least",
    { outcome: "client_gone", produced: true },
    { usage: usageOf(10, 1), estimated: true, priceMicroVnd: 11n * 8_300n },
  ],
  [
    "broken after a tool call without arguments, with a report: the report",
    { outcome: "broken", produced: true, reported: usageOf(100, 9) },
    { usage: usageOf(100, 9), estimated: false, priceMicroVnd: 109n * 8_300n },
  ],
  [
    "per request: a tool call without arguments is something",
    { outcome: "client_gone", price: perRequest, produced: true },
    { units: 1, priceMicroVnd: 230_000_000n },
  ],
  [
    "per request: once, when anything was produced",
    { outcome: "broken", price: perRequest, outputBytes: 1 },
    { units: 1, priceMicroVnd: 230_000_000n },
  ],
  [
    "per request: nothing for nothing",
    { outcome: "client_gone", price: perRequest },
    { units: 0, priceMicroVnd: 0n },
  ],
];

for (const [name, some, expected] of table) {
  Deno.test(`outcome table: ${name}`, () => {
    const charge = chargeForChat(end(some));
    for (const [field, value] of Object.entries(expected)) {
      assertEquals(charge[field as keyof typeof charge], value, field);
    }
  });
}

const outcome = fc.constantFrom<Outcome>("completed", "empty", "failed", "broken", "client_gone");
const reported = fc.option(
  fc.record({
    input: fc.nat(1_000_000),
    cacheRead: fc.nat(1_000_000),
    cacheWrite: fc.nat(1_000_000),
    output: fc.nat(1_000_000),
    reasoning: fc.nat(1_000),
  }, { noNullPrototype: true }),
  { nil: undefined },
);

Deno.test("a call that ended early never costs less than its report, nor more than report and count together", () => {
  fc.assert(
    fc.property(
      outcome,
      reported,
      fc.nat(1_000_000),
      fc.nat(1_000),
      (outcome, reported, outputBytes, input) => {
        const charge = chargeForChat(
          end({ outcome, reported, outputBytes, estimatedInputTokens: input }),
        );
        assert(charge.priceMicroVnd >= 0n);
        const early = outcome === "broken" || outcome === "client_gone";
        if (!early || outputBytes === 0) return;
        const counted = Math.ceil(outputBytes / 4);
        assertEquals(charge.usage.output, Math.max(reported?.output ?? 0, counted));
        const hasInput = reported !== undefined && billedInputTokens(reported) > 0;
        assertEquals(
          billedInputTokens(charge.usage),
          hasInput ? billedInputTokens(reported) : input,
        );
        const stands = hasInput && reported.output >= counted;
        assertEquals(charge.estimated, !stands);
      },
    ),
  );
});
