/** Usage of a stream whose later reports are worse than earlier ones. */
import { assert, assertEquals } from "../../../support/assert.ts";
import fc from "fast-check";
import { joinReports } from "../../../../core/wire/stream/reading.ts";
import type { ProviderStyle } from "../../../../core/wire/contract/contract.ts";
import {
  billedInputTokens,
  type TokenUsage,
} from "../../../../core/billing/tokens/token_bounds.ts";
import { pipeText } from "../native/piping.ts";
import {
  clientStyles,
  type Counts,
  providerStyles,
  streamedAnswer,
  usageOf,
} from "./provider_answers.ts";
import { streamed } from "./streaming.ts";

const good: Counts = { prompt: 20_000, cached: 19_900, output: 7 };
const counted: TokenUsage = {
  input: 100,
  cacheRead: 19_900,
  cacheWrite: 0,
  output: 7,
  reasoning: 0,
};

/** Later reports of the same stream, none of which may erase the good one. */
const worse: readonly Counts[] = [
  { prompt: 0, cached: 0, output: 0 },
  { prompt: 0, cached: 0, output: 7 },
  { prompt: 0, output: 7 },
  { prompt: 20_000, cached: 0, output: 7 },
  { output: 7 },
  { prompt: 20_000, cached: 19_900, output: 0 },
];

/** The frames of a stream with a good report, then a worse one. */
function framesOf(style: ProviderStyle, later: Counts): string {
  const first = streamedAnswer(style, { text: "Hello there", usage: good });
  const usage = usageOf(style, later);
  const data = (body: object) => `data: ${JSON.stringify(body)}\n\n`;
  switch (style) {
    case "chat":
      return [...first.slice(0, -1), data({ choices: [], usage }), first.at(-1)].join("");
    case "messages": {
      const delta = { stop_reason: "end_turn", stop_sequence: null };
      const event = data({ type: "message_delta", delta, usage });
      return [...first.slice(0, -1), `event: message_delta\n${event}`, first.at(-1)].join("");
    }
    case "gemini":
      return first.join("") + data({ candidates: [], usageMetadata: usage });
    case "converse":
      return [
        ...first.slice(0, -2),
        `event: metadata\n${data({ usage: usageOf(style, good) })}`,
        ...first.slice(-2, -1),
        `event: metadata\n${data({ usage })}`,
      ].join("");
    case "responses":
      // The style reports once.
      return first.join("");
  }
}

Deno.test("a later report that is worse erases nothing, native and converted", () => {
  for (const provider of providerStyles) {
    for (const later of worse) {
      const frames = framesOf(provider, later);
      for (const client of clientStyles) {
        const name = `${provider} to ${client}: ${JSON.stringify(later)}`;
        const { reading } = client === provider
          ? pipeText(client, frames)
          : streamed(provider, client, frames);
        assertEquals(reading.usage, counted, name);
        assertEquals(reading.state, "completed", name);
      }
    }
  }
});

Deno.test("converted clients see the good report", () => {
  const shown = {
    chat: /"cached_tokens":19900/,
    messages: /"cache_read_input_tokens":19900,"output_tokens":7/,
    responses: /"cached_tokens":19900/,
    gemini: /"cachedContentTokenCount":19900/,
  };
  for (const provider of providerStyles) {
    for (const client of clientStyles) {
      if (client === provider) continue;
      const { text } = streamed(
        provider,
        client,
        framesOf(provider, { prompt: 0, cached: 0, output: 0 }),
      );
      assert(shown[client].test(text), `${provider} to ${client}: ${text}`);
    }
  }
});

const usage: fc.Arbitrary<TokenUsage> = fc.record({
  input: fc.nat(1_000),
  cacheRead: fc.nat(1_000),
  cacheWrite: fc.nat(1_000),
  output: fc.nat(1_000),
  reasoning: fc.constant(0),
}, { noNullPrototype: true });

Deno.test("joined reports count no token of the prompt twice, and lose none", () => {
  fc.assert(fc.property(usage, usage, (first, second) => {
    const joined = joinReports(first, second);
    const prompts = [first, second].map(billedInputTokens);
    assertEquals(billedInputTokens(joined), Math.max(...prompts));
    assertEquals(joined.output, Math.max(first.output, second.output));
    assert(joined.cacheRead >= Math.max(first.cacheRead, second.cacheRead));
    assert(Math.min(joined.input, joined.cacheWrite) >= 0);
    assertEquals(joinReports(joined, first), joined);
  }));
});
