import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { believableUsage, type UsageEvidence } from "../../../../core/billing/outcome.ts";
import {
  billedInputTokens,
  type BoundedCall,
  noTokens,
  type ReportedUsage,
  tokenBounds,
  type TokenUsage,
} from "../../../../core/billing/tokens/token_bounds.ts";

/** "hi" with `max_tokens: 100` on a model of ordinary size. */
const call: BoundedCall = {
  contextWindow: 100_000,
  maxOutputTokens: 10_000,
  choices: 1,
  reservedOutputTokens: 100,
  estimatedInputTokens: 12,
  hostedTools: false,
};

function judge(
  reported: ReportedUsage | undefined,
  some: Partial<BoundedCall> & Partial<Pick<UsageEvidence, "outputBytes" | "produced" | "early">> =
    {},
) {
  const { outputBytes = 400, produced = outputBytes > 0, early = false, ...rest } = some;
  const bounded = { ...call, ...rest };
  return believableUsage(reported, {
    bounds: tokenBounds(bounded),
    estimatedInputTokens: bounded.estimatedInputTokens,
    outputBytes,
    produced,
    early,
  });
}

const usage = (some: Partial<TokenUsage>): TokenUsage => ({ ...noTokens, input: 10, ...some });
const own: TokenUsage = { ...noTokens, input: 12, output: 100 };

const absurd: readonly [string, ReportedUsage, TokenUsage][] = [
  ["output", usage({ output: 50_000_000 }), usage({ output: 100 })],
  ["output by little over what the bytes allow", usage({ output: 401 }), usage({ output: 100 })],
  ["input", usage({ input: 50_000_000, output: 20 }), { ...own, output: 20 }],
  ["cache reads", usage({ cacheRead: 50_000_000, output: 20 }), { ...own, output: 20 }],
  ["cache writes", usage({ cacheWrite: 199_991, output: 20 }), { ...own, output: 20 }],
  [
    "reasoning",
    usage({ output: 40_101, reasoning: 40_001 }),
    usage({ output: 100, reasoning: 100 }),
  ],
  ["both", usage({ input: 1e8, output: 1e8 }), own],
];
for (const [name, reported, expected] of absurd) {
  Deno.test(`beyond the bounds of its call: ${name} is counted by us, the other side stays`, () => {
    const judged = judge(reported);
    assertEquals(judged, { usage: expected, estimated: true });
  });
}

const true_: readonly [string, ReportedUsage, Parameters<typeof judge>[1]][] = [
  ["an answer that obeys", usage({ output: 100 }), {}],
  ["a request for one token that was rounded up", usage({ output: 16 }), {
    reservedOutputTokens: 1,
  }],
  ["reasoning that does not obey max_tokens", usage({ output: 9_050, reasoning: 9_000 }), {}],
  ["a server that ignores max_tokens", usage({ output: 5_000 }), { outputBytes: 12_000 }],
  ["four answers", usage({ output: 4_000 }), {
    choices: 4,
    reservedOutputTokens: 4_000,
    outputBytes: 9,
  }],
  ["a longer model than the file says", usage({ output: 38_000 }), { outputBytes: 150_000 }],
  ["a window that the file rounds", usage({ input: 131_072, output: 9 }), {
    outputBytes: 30,
  }],
  ["a longer window than the file says, and a text to fill it", usage({ input: 390_000 }), {
    estimatedInputTokens: 300_000,
    outputBytes: 0,
  }],
  ["tools of the provider, round after round", usage({ input: 404_500 }), {
    hostedTools: true,
    outputBytes: 0,
  }],
];
for (const [name, reported, some] of true_) {
  Deno.test(`within the bounds of its call: ${name}`, () => {
    assertEquals(judge(reported, some), { usage: reported, estimated: false });
  });
}

Deno.test("the part that only a total or a list of runs shows is billed if possible, else dropped and flagged", () => {
  const said = usage({ output: 20 });
  const withReasoning = { ...said, output: 276, reasoning: 256, said };
  const { said: _, ...billed } = withReasoning;
  assertEquals(judge(withReasoning), { usage: billed, estimated: false });
  const compacted = { ...said, input: 95_000, output: 3_020, said };
  assertEquals(judge(compacted).usage.input, 95_000);
  assertEquals(judge(compacted).estimated, false);
  for (
    const beyond of [
      { ...said, output: 40_000_000, reasoning: 39_999_980, said },
      { ...said, input: 90_000_000, said },
    ]
  ) {
    assertEquals(judge(beyond), { usage: said, estimated: true });
  }
  assertEquals(judge({ ...said, partlyAbsurd: true }), { usage: said, estimated: true });
  const twice = usage({ output: 70_000_000 });
  assertEquals(
    judge({ ...usage({ output: 90_000_000 }), said: twice }).usage,
    usage({ output: 100 }),
  );
});

const impossible: readonly [string, ReportedUsage, TokenUsage, Parameters<typeof judge>[1]][] = [
  ["no output for a text", usage({ output: 0 }), usage({ output: 100 }), {}],
  ["one token for 6,000 bytes", usage({ output: 1 }), usage({ output: 1_500 }), {
    outputBytes: 6_000,
  }],
  ["no input", usage({ input: 0, output: 90 }), { ...own, output: 90 }, {}],
  ["nothing at all", noTokens, own, {}],
  ["nothing for a tool call without arguments", noTokens, { ...own, output: 1 }, {
    outputBytes: 0,
    produced: true,
  }],
];
for (const [name, reported, expected, some] of impossible) {
  Deno.test(`what came is never free: ${name} is counted by us`, () => {
    assertEquals(judge(reported, some), { usage: expected, estimated: true });
  });
}

const frugal: readonly [string, ReportedUsage, Parameters<typeof judge>[1]][] = [
  ["nothing for nothing", noTokens, { outputBytes: 0 }],
  ["a prompt without an answer", usage({ output: 0 }), { outputBytes: 0 }],
  ["spaces, at 125 bytes a token", usage({ output: 48 }), { outputBytes: 6_000 }],
  ["long words, at ten bytes a token", usage({ output: 600 }), { outputBytes: 6_300 }],
  ["a prompt all from a cache", usage({ input: 0, cacheRead: 20, output: 90 }), {}],
  ["a long prompt that the server cut down to its window", usage({ input: 4_096, output: 90 }), {
    estimatedInputTokens: 900_000,
  }],
];
for (const [name, reported, some] of frugal) {
  Deno.test(`few tokens may be true: ${name}`, () => {
    assertEquals(judge(reported, some), { usage: reported, estimated: false });
  });
}

Deno.test("property: delivered output costs something, and no honest tokenizer is doubted", () => {
  fc.assert(fc.property(
    anyReport,
    fc.integer({ min: 1, max: 10_000_000 }),
    fc.integer({ min: 1, max: 100_000 }),
    (reported, outputBytes, estimatedInputTokens) => {
      const { usage } = judge(reported, { outputBytes, estimatedInputTokens });
      assert(billedInputTokens(usage) > 0 && usage.output > 0);
    },
  ));
  fc.assert(fc.property(
    fc.integer({ min: 1, max: 10_000 }),
    fc.double({ min: 1, max: 128, noNaN: true }),
    (output, bytesPerToken) => {
      const reported = usage({ output });
      const outputBytes = Math.floor(output * bytesPerToken);
      assertEquals(judge(reported, { outputBytes, reservedOutputTokens: 10_000 }), {
        usage: reported,
        estimated: false,
      });
    },
  ));
});

Deno.test("endless output without a report is billed up to the model's maximum", () => {
  const flood = judge(undefined, { outputBytes: 1_000_000_000, estimatedInputTokens: 5_000_000 });
  assertEquals(flood, { usage: { ...noTokens, input: 400_000, output: 40_000 }, estimated: true });
});

const count = fc.oneof(fc.nat(300), fc.nat(500_000), fc.nat(100_000_000));
const anyUsage: fc.Arbitrary<TokenUsage> = fc.record({
  input: count,
  cacheRead: count,
  cacheWrite: count,
  output: count,
  share: fc.double({ min: 0, max: 1, noNaN: true }),
}).map(({ share, ...buckets }) => ({ ...buckets, reasoning: Math.floor(buckets.output * share) }));
const anyReport: fc.Arbitrary<ReportedUsage | undefined> = fc.option(
  fc.tuple(anyUsage, fc.option(anyUsage)).map(([whole, said]) =>
    said === null ? whole : { ...whole, said }
  ),
  { nil: undefined },
);
const anyCall: fc.Arbitrary<BoundedCall> = fc.record({
  contextWindow: fc.integer({ min: 1, max: 2_000_000 }),
  maxOutputTokens: fc.integer({ min: 1, max: 200_000 }),
  choices: fc.integer({ min: 1, max: 16 }),
  asked: fc.integer({ min: 0, max: 200_000 }),
  estimatedInputTokens: fc.nat(5_000_000),
  hostedTools: fc.boolean(),
}).map(({ asked, ...rest }) => ({
  ...rest,
  reservedOutputTokens: Math.min(asked, rest.maxOutputTokens) * rest.choices,
}));

Deno.test("property: whatever is reported, what is billed stays within the call's bounds", () => {
  fc.assert(fc.property(
    anyReport,
    anyCall,
    fc.nat(10_000_000),
    fc.boolean(),
    (reported, bounded, outputBytes, early) => {
      const { usage, estimated } = judge(reported, { ...bounded, outputBytes, early });
      const bounds = tokenBounds(bounded);
      for (const tokens of Object.values(usage)) {
        assert(Number.isSafeInteger(tokens) && tokens >= 0);
      }
      assert(usage.reasoning <= usage.output);
      assert(billedInputTokens(usage) <= bounds.input);
      assert(usage.output <= 2 * bounds.possibleOutput);
      const contexts = bounded.hostedTools ? 12 : 4;
      assert(bounds.input <= contexts * bounded.contextWindow);
      // What is not flagged is the provider's word, to the token.
      if (!estimated) {
        assert(reported !== undefined);
        const { said: _, ...told } = reported;
        assertEquals<unknown>(usage, told);
      }
    },
  ));
});

Deno.test("property: a report within what was reserved is never doubted", () => {
  fc.assert(fc.property(anyCall, fc.nat(), fc.nat(), (bounded, some, more) => {
    const input = 1 + some % bounded.contextWindow;
    const output = more % (bounded.reservedOutputTokens + 1);
    const reported = { ...noTokens, input, output };
    const judged = judge(reported, { ...bounded, outputBytes: output * 4 });
    assertEquals(judged, { usage: reported, estimated: false });
  }));
});
