import * as fc from "../../../support/property.ts";
import { assert, assertEquals, assertThrows } from "../../../support/assert.ts";
import {
  countedTools,
  maxToolFees,
  reservedTools,
  toolFees,
  type ToolPrice,
  type ToolUses,
} from "../../../../core/billing/usage/hosted_tools.ts";
import { chargeForChat } from "../../../../core/billing/outcome.ts";
import { applyPrice, worstCaseCost } from "../../../../core/billing/price.ts";
import { askedTools } from "../../../../core/wire/billable_features/asked_for.ts";
import { otherCaseProblem, refuseMergedFields } from "../../../../core/calls/body/json_body.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { Style } from "../../../../core/wire/contract/contract.ts";

const toolPrice: fc.Arbitrary<ToolPrice> = fc.oneof(
  fc.record({ vndPerUse: fc.nat({ max: 5_000 }), mostUses: fc.integer({ min: 1, max: 20 }) }),
  fc.record({ vndPerUse: fc.nat({ max: 5_000 }) }),
  fc.record({ vndPerCall: fc.nat({ max: 5_000 }) }),
);
const prices = fc.dictionary(fc.constantFrom(...countedTools), toolPrice);
const asked = fc.uniqueArray(
  fc.record({
    tool: fc.constantFrom(...countedTools, "mcp"),
    mostUses: fc.option(fc.nat({ max: 30 }), { nil: undefined }),
    alwaysRuns: fc.boolean(),
  }),
  { selector: ({ tool }) => tool },
);
const uses: fc.Arbitrary<ToolUses | undefined> = fc.option(
  fc.dictionary(fc.constantFrom(...countedTools), fc.nat({ max: 60 })),
  { nil: undefined },
);

Deno.test("fees are within what was reserved, and what goes beyond it is a claim to the last use", () => {
  fc.assert(fc.property(prices, asked, uses, fc.integer({ min: 1, max: 4 }), (...given) => {
    const [prices, asked, uses, choices] = given;
    const tools = reservedTools(prices, asked, choices);
    const fees = toolFees(tools, uses);
    assert(fees.feesMicroVnd <= maxToolFees(tools));
    const counted = tools.filter(({ isPerCall }) => !isPerCall);
    const reported = uses === undefined ? 0n : counted.reduce(
      (sum, { tool, perUseMicroVnd }) => sum + BigInt(uses[tool] ?? 0) * perUseMicroVnd,
      0n,
    );
    const perUse = toolFees(counted, uses ?? {});
    assertEquals(perUse.feesMicroVnd + perUse.claimMicroVnd, reported);
    for (const { tool, uses } of fees.charges) {
      assert(uses > 0 && asked.some((one) => one.tool === tool), "charged for what was not asked");
    }
  }));
});

Deno.test("the charge of a call is its tokens and its fees, within the reservation unless tokens exceed it", () => {
  const price = applyPrice({ unit: "token", vndPerMtok: 1_000, outputVndPerMtok: 5_000 });
  const bounds = { input: 1_000, askedOutput: 1_000, possibleOutput: 1_000 };
  fc.assert(fc.property(prices, asked, uses, fc.integer({ min: 1, max: 400 }), (...given) => {
    const [prices, asked, toolUses, output] = given;
    const tools = reservedTools(prices, asked, 1);
    const tokensMicroVnd = worstCaseCost(price, { inputTokens: 100, outputTokens: 400 });
    const end = {
      price,
      bounds,
      reported: { input: 100, cacheRead: 0, cacheWrite: 0, output, reasoning: 0 },
      estimatedInputTokens: 100,
      outputBytes: output,
      produced: true,
      tools,
      toolUses,
      ceilingMicroVnd: tokensMicroVnd,
    };
    const charge = chargeForChat({ ...end, outcome: "completed" });
    const fees = toolFees(tools, toolUses);
    assert(charge.priceMicroVnd <= tokensMicroVnd + maxToolFees(tools));
    assertEquals(charge.priceMicroVnd, 100_000n + BigInt(output) * 5_000n + fees.feesMicroVnd);
    assertEquals(charge.claimMicroVnd, fees.claimMicroVnd);
    const failed = chargeForChat({ ...end, outcome: "failed" });
    assertEquals([failed.priceMicroVnd, failed.toolCharges], [0n, []]);
  }));
});

const search = (max_uses?: unknown) => ({
  type: "web_search_20250305",
  name: "web_search",
  ...(max_uses === undefined ? {} : { max_uses }),
});
const bounds: readonly (readonly [string, Style, object, number | undefined, boolean])[] = [
  ["the tool's own", "messages", { tools: [search(3)] }, 3, false],
  ["those of two tools together", "messages", { tools: [search(3), search(2)] }, 5, false],
  ["none, if one tool has none", "messages", { tools: [search(3), search()] }, undefined, false],
  ["none, if it is nonsense", "messages", { tools: [search("3")] }, undefined, false],
  [
    "that of all calls of tools",
    "responses",
    {
      tools: [{ type: "web_search" }],
      max_tool_calls: 4,
    },
    4,
    false,
  ],
  ["none of an option, which always runs", "chat", { web_search_options: {} }, undefined, true],
  [
    "none of an option in extra_body",
    "chat",
    {
      extra_body: { enable_search: true },
    },
    undefined,
    true,
  ],
  ["none at Gemini", "gemini", { tools: [{ googleSearch: {} }] }, undefined, false],
];
for (const [name, style, body, mostUses, alwaysRuns] of bounds) {
  Deno.test(`the bound of a hosted tool: ${name}`, () => {
    const [found, ...others] = askedTools(style, { ...body });
    assertEquals([found?.tool, found?.mostUses, found?.alwaysRuns], [
      "web_search",
      mostUses,
      alwaysRuns,
    ]);
    assertEquals(others, []);
  });
}

Deno.test("a bound on tools has one spelling and one place, so that the provider reads the same one", () => {
  for (const name of ["Max_Tool_Calls", "MAX_TOOL_CALLS"]) {
    assertEquals(otherCaseProblem(name)?.code, "invalid_json");
  }
  assertThrows(() => refuseMergedFields({ extra_body: { max_tool_calls: 99 } }), GatewayError);
});
