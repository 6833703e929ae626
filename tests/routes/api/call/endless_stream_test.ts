/** A provider that ignores the caller's bound on output: its stream is ended, and its customer does not pay for it. */
import { assert, assertEquals } from "../../../support/assert.ts";
import type { BodyStyle } from "../../../support/body_style.ts";
import { OutputLimit } from "../../../../core/calls/bounds/output_limit.ts";
import { newStreamReading } from "../../../../core/wire/stream/reading.ts";
import { noTokens } from "../../../../core/billing/tokens/token_bounds.ts";
import { listReceipts } from "../../../../kv/money/receipts/receipts.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { openTestGateway, servedBy } from "../../../support/gateways/gateway_in_process.ts";
import { mockProvider } from "../gateway/media_world.ts";
import { styles } from "./usage_world.ts";
import { apiPost } from "../../../support/api_post.ts";

const text = "an answer that does not end ".repeat(10);
const sse = (event: { readonly type: string; readonly [member: string]: unknown }) =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
const chatChunk = (delta: object) =>
  `data: ${
    JSON.stringify({
      id: "c",
      object: "chat.completion.chunk",
      created: 1,
      model: "m",
      choices: [{ index: 0, delta, finish_reason: null }],
    })
  }\n\n`;

/** How an endless answer begins and goes on. */
const scripts: Readonly<Record<BodyStyle, readonly [start: string, more: string]>> = {
  messages: [
    sse({
      type: "message_start",
      message: {
        id: "m",
        type: "message",
        role: "assistant",
        model: "m",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 9, output_tokens: 1 },
      },
    }) + sse({
      type: "content_block_start",
      index: 0,
      content_block: { type: "text", text: "" },
    }),
    sse({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }),
  ],
  chat: [chatChunk({ role: "assistant", content: "" }), chatChunk({ content: text })],
  responses: [
    sse({
      type: "response.created",
      sequence_number: 0,
      response: {
        id: "r",
        object: "response",
        created_at: 1,
        status: "in_progress",
        model: "m",
        output: [],
      },
    }) + sse({
      type: "response.output_item.added",
      sequence_number: 1,
      output_index: 0,
      item: { id: "i", type: "message", role: "assistant", status: "in_progress", content: [] },
    }) + sse({
      type: "response.content_part.added",
      sequence_number: 2,
      item_id: "i",
      output_index: 0,
      content_index: 0,
      part: { type: "output_text", text: "", annotations: [] },
    }),
    sse({
      type: "response.output_text.delta",
      sequence_number: 3,
      item_id: "i",
      output_index: 0,
      content_index: 0,
      delta: text,
      logprobs: [],
    }),
  ],
};

const paths: Record<BodyStyle, string> = {
  messages: "/v1/messages",
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
};
/** What the client's style says at a stop for length. */
const lengthStops: Record<BodyStyle, string> = {
  messages: '"stop_reason":"max_tokens"',
  chat: '"finish_reason":"length"',
  responses: '"reason":"max_output_tokens"',
};

Deno.test("a stream that ignores max_tokens is ended with the stop for length, on all routes", async () => {
  let style: BodyStyle = "chat";
  let sentBytes = 0;
  let stopped = Promise.withResolvers<void>();
  const provider = mockProvider(() => {
    const [start, more] = scripts[style];
    const begin = new TextEncoder().encode(start);
    const next = new TextEncoder().encode(more);
    let begun = false;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = begun ? next : begin;
        begun = true;
        sentBytes += piece.length;
        controller.enqueue(piece);
      },
      cancel: () => stopped.resolve(),
    }, { highWaterMark: 0 });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  await using gateway = await openTestGateway(servedBy(provider, {
    defaultModel: "chat",
    models: styles.map((style) => ({
      id: style,
      price: { unit: "token", vndPerMtok: 8_300 },
      contextWindow: 200_000,
      maxOutputTokens: 64_000,
      routes: [{ provider: "p", style, model: "m" }],
    })),
  }));
  const { key, accountId } = await gateway.customer(1_000);
  for (style of styles) {
    for (const caller of styles) {
      sentBytes = 0;
      stopped = Promise.withResolvers();
      const prompt = "Say something";
      const body = JSON.stringify({
        model: style,
        stream: true,
        ...(caller === "responses"
          ? { input: prompt, max_output_tokens: 100 }
          : { messages: [{ role: "user", content: prompt }], max_tokens: 100 }),
      });
      const answer = await gateway.fetch(
        new Request(`http://gateway${paths[caller]}`, {
          method: "POST",
          headers: { "x-api-key": key, "content-type": "application/json" },
          body,
        }),
      );
      const received = await answer.text();
      await stopped.promise;
      const pair = `${style} to ${caller}`;
      assert(received.includes(lengthStops[caller]), `${pair}: ${received.slice(-500)}`);
      // 164 tokens of at most 128 bytes are 21 KB of text; the rest is the JSON around it and one read.
      assert(received.length < 256 * 1024, `${pair}: ${received.length} bytes reached the client`);
      assert(sentBytes < 8 * 1024 * 1024, `${pair}: ${sentBytes} bytes were sent`);
      const [receipt] = (await listReceipts(gateway.kv, accountId, { limit: 1 })).receipts;
      assertEquals([receipt?.outcome, receipt?.estimated], ["cut", true], pair);
      assertEquals(receipt?.usage?.output, 100, pair);
      const bound = BigInt(body.length + 100) * 8_300n;
      assert(receipt!.costMicroVnd <= bound, `${pair}: ${receipt?.costMicroVnd}`);
      assert((receipt?.claimMicroVnd ?? 0n) > 40_000_000n, `${pair}: ${receipt?.claimMicroVnd}`);
    }
  }
  assert((await verifyStore(gateway.kv)).ok);
  await provider[Symbol.asyncDispose]();
});

Deno.test("a whole answer that is larger than max_tokens allows is not read to its end, and is free", async () => {
  const huge = "x".repeat(10 * 1024 * 1024);
  await using provider = mockProvider(() =>
    Response.json({
      id: "c",
      object: "chat.completion",
      choices: [{
        index: 0,
        message: { role: "assistant", content: huge },
        finish_reason: "stop",
      }],
      usage: { prompt_tokens: 9, completion_tokens: 100, total_tokens: 109 },
    })
  );
  await using gateway = await openTestGateway(servedBy(provider, {
    defaultModel: "chat",
    models: [{
      id: "chat",
      price: { unit: "token", vndPerMtok: 8_300 },
      contextWindow: 200_000,
      maxOutputTokens: 64_000,
      routes: [{ provider: "p", style: "chat", model: "m" }],
    }],
  }));
  const { key, accountId } = await gateway.customer(10_000);
  const ask = async (max_tokens: number) => {
    const answer = await gateway.fetch(apiPost("http://gateway/v1/chat/completions", key, {
      model: "chat",
      max_tokens,
      messages: [{ role: "user", content: "hi" }],
    }));
    await answer.text();
    const [receipt] = (await listReceipts(gateway.kv, accountId, { limit: 1 })).receipts;
    return [answer.status, receipt?.costMicroVnd] as const;
  };
  assertEquals(await ask(100), [502, 0n]);
  const [status] = await ask(64_000);
  assertEquals(status, 200);
});

Deno.test("an endless stream without output is broken off, and no more of it is read", async () => {
  const [start, more] = scripts.chat;
  const silence = new TextEncoder().encode(`: ${"x".repeat(64 * 1024)}\n\n`);
  let sentBytes = 0;
  const stopped = Promise.withResolvers<void>();
  await using provider = mockProvider(() => {
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = sentBytes === 0 ? new TextEncoder().encode(start + more) : silence;
        sentBytes += piece.length;
        controller.enqueue(piece);
      },
      cancel: () => stopped.resolve(),
    }, { highWaterMark: 0 });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  await using gateway = await openTestGateway(servedBy(provider, {
    defaultModel: "chat",
    models: [{
      id: "chat",
      price: { unit: "token", vndPerMtok: 8_300 },
      routes: [{ provider: "p", style: "chat", model: "m" }],
    }],
  }));
  const { key, accountId } = await gateway.customer(1_000);
  const answer = await gateway.fetch(apiPost("http://gateway/v1/chat/completions", key, {
    model: "chat",
    stream: true,
    max_tokens: 100,
    messages: [{ role: "user", content: "hi" }],
  }));
  let end = "";
  for await (const piece of answer.body ?? []) end = new TextDecoder().decode(piece).slice(-300);
  await stopped.promise;
  assert(end.includes("sent more than an answer can be"), end);
  assert(sentBytes > 64 * 1024 * 1024 && sentBytes < 80 * 1024 * 1024, `${sentBytes}`);
  const [receipt] = (await listReceipts(gateway.kv, accountId, { limit: 1 })).receipts;
  assertEquals([receipt?.outcome, receipt?.usage?.output], ["broken", 70]);
});

Deno.test("reasoning that the caller's bound does not limit is not ended, an endless answer after it is", () => {
  const limit = new OutputLimit({ answer: 1_000, withReasoning: 50_000 }, () => noTokens);
  const reading = (reasoning: number, answer: number, stopReason?: string) => ({
    ...newStreamReading(),
    outputBytes: reasoning + answer,
    answerBytes: answer,
    stopReason,
  });
  assertEquals(limit.outputBytes, 1_000);
  assertEquals(limit.passed(reading(30_000, 0)), undefined);
  assertEquals(limit.outputBytes, 31_000);
  assertEquals(limit.passed(reading(30_900, 400)), undefined);
  assertEquals(limit.outputBytes, 31_900);
  assertEquals(limit.passed(reading(30_900, 1_001))?.as, "length");
  assertEquals(limit.passed(reading(50_001, 0))?.as, "length");
  assertEquals(limit.passed(reading(50_001, 0, "length")), undefined);
  assertEquals(limit.outputBytes, Infinity);
});
