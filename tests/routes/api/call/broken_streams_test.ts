/** What a stream costs that breaks off: never more than the same call would have cost complete. */
import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import type { BodyStyle } from "../../../support/body_style.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { listReceipts } from "../../../../kv/money/receipts/receipts.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { openTestGateway, servedBy } from "../../../support/gateways/gateway_in_process.ts";
import { until } from "../../../support/until.ts";
import { mockProvider } from "../gateway/media_world.ts";
import { styles } from "./usage_world.ts";
import { apiPost } from "../../../support/api_post.ts";

const sse = (event: Record<string, unknown>) => {
  const name = typeof event["type"] === "string" ? `event: ${event["type"]}\n` : "";
  return `${name}data: ${JSON.stringify(event)}\n\n`;
};

/** The pieces of an answer in one style. */
interface Script {
  readonly start: string;
  readonly thinks: string;
  readonly says: (text: string) => string;
  readonly error: string;
  /** The rest of a whole answer, with its report. */
  readonly end: (input: number, cached: number, output: number) => string;
}

const chatChunk = (more: object) =>
  `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, ...more })}\n\n`;
const chatDelta = (delta: object, finish_reason: string | null = null) =>
  chatChunk({ choices: [{ index: 0, delta, finish_reason }] });

const scripts: Readonly<Record<BodyStyle, Script>> = {
  messages: {
    // As of a server that reports nothing before its end.
    start: sse({
      type: "message_start",
      message: { id: "m", type: "message", role: "assistant", model: "m", content: [], usage: {} },
    }) + sse({
      type: "content_block_start",
      index: 0,
      content_block: { type: "thinking", thinking: "", signature: "" },
    }),
    thinks: sse({
      type: "content_block_delta",
      index: 0,
      delta: { type: "thinking_delta", thinking: "Let me see" },
    }),
    says: (text) =>
      sse({ type: "content_block_stop", index: 0 }) +
      sse({ type: "content_block_start", index: 1, content_block: { type: "text", text: "" } }) +
      sse({ type: "content_block_delta", index: 1, delta: { type: "text_delta", text } }),
    error: sse({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
    end: (input, cached, output) =>
      sse({ type: "content_block_stop", index: 1 }) + sse({
        type: "message_delta",
        delta: { stop_reason: "end_turn", stop_sequence: null },
        usage: {
          input_tokens: input - cached,
          cache_read_input_tokens: cached,
          output_tokens: output,
        },
      }) + sse({ type: "message_stop" }),
  },
  chat: {
    start: chatDelta({ role: "assistant", content: "" }),
    thinks: chatDelta({ reasoning_content: "Let me see" }),
    says: (content) => chatDelta({ content }),
    error: `data: ${
      JSON.stringify({ error: { message: "Overloaded", type: "server_error", code: 503 } })
    }\n\n`,
    end: (input, cached, output) =>
      chatDelta({}, "stop") + chatChunk({
        choices: [],
        usage: {
          prompt_tokens: input,
          completion_tokens: output,
          total_tokens: input + output,
          prompt_tokens_details: { cached_tokens: cached },
        },
      }) + "data: [DONE]\n\n",
  },
  responses: {
    start: sse({
      type: "response.created",
      sequence_number: 0,
      response: { id: "r", object: "response", status: "in_progress", output: [] },
    }),
    thinks: sse({
      type: "response.reasoning_summary_text.delta",
      sequence_number: 1,
      item_id: "rs",
      output_index: 0,
      summary_index: 0,
      delta: "Let me see",
    }),
    says: (delta) =>
      sse({
        type: "response.output_text.delta",
        sequence_number: 2,
        item_id: "i",
        output_index: 1,
        content_index: 0,
        delta,
        logprobs: [],
      }),
    error: sse({
      type: "error",
      sequence_number: 3,
      code: "server_error",
      message: "Overloaded",
      param: null,
    }),
    end: (input, cached, output) =>
      sse({
        type: "response.completed",
        sequence_number: 9,
        response: {
          id: "r",
          object: "response",
          status: "completed",
          output: [],
          usage: {
            input_tokens: input,
            input_tokens_details: { cached_tokens: cached },
            output_tokens: output,
            output_tokens_details: { reasoning_tokens: 0 },
            total_tokens: input + output,
          },
        },
      }),
  },
};

const paths: Record<BodyStyle, string> = {
  messages: "/v1/messages",
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
};

async function openWorld() {
  let pieces: readonly string[] = [];
  let firstWasRead = Promise.withResolvers<void>();
  async function* body() {
    for (const [i, piece] of pieces.entries()) {
      // What comes in one read with an error has not been seen by the client: another route is tried.
      if (i > 0) await firstWasRead.promise;
      yield new TextEncoder().encode(piece);
    }
  }
  const provider = mockProvider(() =>
    new Response(ReadableStream.from(body()), { headers: { "content-type": "text/event-stream" } })
  );
  const gateway = await openTestGateway(servedBy(provider, {
    defaultModel: "chat",
    models: styles.map((style) => ({
      id: style,
      price: {
        unit: "token",
        vndPerMtok: 8_000,
        outputVndPerMtok: 40_000,
        cacheReadVndPerMtok: 800,
      },
      contextWindow: 200_000,
      maxOutputTokens: 10_000,
      routes: [{ provider: "p", style, model: "m" }],
    })),
  }));
  const customers = [await gateway.customer(100_000), await gateway.customer(100_000)] as const;
  return {
    /** One call of `turns` texts; the provider sends `script` in these pieces, then its connection ends. */
    async ask(
      style: BodyStyle,
      turns: readonly string[],
      script: string | readonly string[],
      customer: 0 | 1 = 0,
      leaves = false,
    ) {
      pieces = typeof script === "string" ? [script] : script;
      firstWasRead = Promise.withResolvers();
      const { key, accountId } = customers[customer];
      const messages = turns.map((content, i) => ({
        role: i % 2 === 0 ? "user" : "assistant",
        content,
      }));
      const body = style === "responses"
        ? { instructions: system, input: messages, max_output_tokens: 500 }
        : style === "messages"
        ? { messages, system, max_tokens: 500 }
        : { messages: [{ role: "system", content: system }, ...messages], max_tokens: 500 };
      const answer = await gateway.fetch(
        apiPost(`http://gateway${paths[style]}`, key, { ...body, model: style, stream: true }),
      );
      if (leaves) {
        const reader = answer.body?.getReader();
        await reader?.read();
        await reader?.cancel();
        firstWasRead.resolve();
        const id = answer.headers.get("x-request-id") ?? "";
        await until(async () => {
          const { receipts } = await listReceipts(gateway.kv, accountId, { limit: 1 });
          return receipts[0]?.requestId === id;
        }, "the receipt of a stream that its client left");
      } else for await (const _ of answer.body ?? []) firstWasRead.resolve();
      const [receipt] = (await listReceipts(gateway.kv, accountId, { limit: 1 })).receipts;
      assert(receipt !== undefined && receipt.requestId === answer.headers.get("x-request-id"));
      return receipt;
    },
    async [Symbol.asyncDispose]() {
      assert((await verifyStore(gateway.kv)).ok);
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

/** 5,000 tokens by our own count. */
const system = "abcd".repeat(5_000);
const question = "efgh".repeat(1_000);
const answerText = "six tokens of text for you";

const whole = ({ start, thinks, says, end }: Script, cached: number) =>
  start + thinks + says(answerText) + end(6_000, cached, 12);
const costOf = ({ costMicroVnd }: Receipt) => Number(costMicroVnd) / 1e6;

Deno.test("a broken stream costs no more than the complete one, cache included", async () => {
  await using world = await openWorld();
  for (const style of styles) {
    const script = scripts[style];
    const { start, thinks, says } = script;
    const broken = start + thinks + says(answerText);
    const unknown = await world.ask(style, [question], broken);
    assertEquals([unknown.outcome, unknown.estimated], ["broken", true]);
    const complete = await world.ask(style, [question], whole(script, 5_400));
    assert(costOf(unknown) <= costOf(complete), `${style}: ${costOf(unknown)} before any report`);
    assertEquals([complete.outcome, complete.usage?.cacheRead], ["completed", 5_400]);
    const again = await world.ask(style, [question], broken);
    assertEquals([again.outcome, again.usage?.cacheRead], ["broken", 5_400], style);
    assert(costOf(again) <= costOf(complete), `${style}: ${costOf(again)} ${costOf(complete)}`);
    const next = await world.ask(style, [question, answerText, "And then?"], broken);
    assertEquals([next.outcome, next.usage?.cacheRead], ["broken", 5_400], style);
  }
});

Deno.test("a cache hit of one text is not assumed for another text after the same instructions", async () => {
  await using world = await openWorld();
  for (const style of styles) {
    const script = scripts[style];
    await world.ask(style, ["efgh".repeat(20_000)], whole(script, 5_900));
    const broken = script.start + script.says(answerText);
    const other = await world.ask(style, ["ijkl".repeat(20_000)], broken);
    const cached = other.usage?.cacheRead ?? 0;
    assert(cached > 4_900 && cached < 5_100, `${style}: ${cached}`);
  }
});

Deno.test("an error within the provider's stream is free before output; after it the output is charged", async () => {
  await using world = await openWorld();
  for (const style of styles) {
    const { start, thinks, says, error } = scripts[style];
    const thought = await world.ask(style, [question], [start + thinks, error]);
    assertEquals([thought.outcome, thought.costMicroVnd], ["broken", 0n], style);
    const answered = await world.ask(style, [question], [
      start + thinks,
      says(answerText) + error,
    ]);
    assertEquals(answered.outcome, "broken");
    const codes = ["overloaded", "service_unavailable", "upstream_unreachable"];
    assert(codes.includes(answered.endCode ?? ""), `${style}: ${answered.endCode}`);
    assert(answered.costMicroVnd > 0n, style);
  }
});

/** A vendor that caches every prompt by itself, in blocks; it reports what came from the cache, never what it writes. */
class CachingVendor {
  readonly #sent: (readonly string[])[] = [];
  readonly #blockTokens: number;

  constructor(blockTokens: number) {
    this.#blockTokens = blockTokens;
  }

  /** Its count, a little above ours. */
  tokens(turns: readonly string[]): number {
    return Math.ceil((system.length + turns.join("").length) * 0.27 + 40 * (turns.length + 2));
  }

  cached(turns: readonly string[]): number {
    const beginnings = this.#sent
      .filter((sent) => sent.every((text, at) => text === turns[at]))
      .map((sent) => this.tokens(sent));
    const longest = Math.max(0, ...beginnings);
    return Math.floor(longest / this.#blockTokens) * this.#blockTokens;
  }

  read(turns: readonly string[]): void {
    this.#sent.push([...turns]);
  }
}

const arbitraryCall = fc.record({
  /** Whether the conversation goes on, or the same prompt is sent again. */
  grows: fc.boolean(),
  ends: fc.constantFrom("completed", "completed", "broken", "left" as const),
  /** The vendor answers from a machine without the cache. */
  misses: fc.constantFrom(false, false, false, true),
  words: fc.integer({ min: 1, max: 60 }),
});

for (const style of styles) {
  Deno.test(`${style}: whatever the vendor has cached before, a stream that ends early costs no more than the complete one`, async () => {
    await using world = await openWorld();
    const { start, thinks, says, end } = scripts[style];
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(1, 128, 1_024),
        fc.array(arbitraryCall, { minLength: 2, maxLength: 6 }),
        async (block, calls) => {
          const vendor = new CachingVendor(block);
          // Long texts are hashed in part, so conversations differ in a short one.
          let turns = [`Conversation ${run++}`, "Yes?", question];
          let hasReport = false;
          for (const { grows, ends, misses, words } of calls) {
            if (grows && hasReport) turns = [...turns, answerText, "And then? ".repeat(words)];
            const text = "word ".repeat(words);
            const input = vendor.tokens(turns);
            const cached = misses ? 0 : vendor.cached(turns);
            const outputTokens = words * 2 + 8;
            const complete = (input - cached) * 8_000 + cached * 800 + outputTokens * 40_000;
            vendor.read(turns);
            const shown = start + thinks + says(text);
            const script = ends === "completed"
              ? shown + end(input, cached, outputTokens)
              : ends === "broken"
              ? shown
              : [shown, shown.slice(start.length)];
            // A prompt that nobody has counted yet, and that its client leaves, is charged by our own count.
            const kind = ends === "left" && !hasReport ? "broken" : ends;
            const receipt = await world.ask(
              style,
              turns,
              kind === "broken" ? shown : script,
              0,
              kind === "left",
            );
            hasReport ||= ends === "completed";
            assert(
              Number(receipt.costMicroVnd) <= complete,
              `${kind}: ${receipt.costMicroVnd} for ${complete}: ${
                JSON.stringify({ usage: receipt.usage, input, cached, outputTokens })
              }`,
            );
          }
        },
      ),
      { numRuns: 25 },
    );
  });
}
