/** Streams on what is left of a budget: nearly all of it can be used, little more is, and the end says why. */
import * as fc from "../../../support/property.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { listReceipts } from "../../../../kv/money/receipts/receipts.ts";
import { changeBudgets } from "../../../../kv/people/accounts/budgets.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { openTestGateway, servedBy } from "../../../support/gateways/gateway_in_process.ts";
import { mockProvider } from "../gateway/media_world.ts";
import { apiPost } from "../../../support/api_post.ts";

const routeStyles = ["messages", "chat", "responses", "gemini"] as const;
type RouteStyle = typeof routeStyles[number];
const clientStyles = [...routeStyles, "completions"] as const;
type ClientStyle = typeof clientStyles[number];

/** VND per million tokens. */
const prices = [900, 8_300, 640_000];

/** What a provider says, and what it reports meanwhile and at the end. */
interface Said {
  readonly pieces: readonly string[];
  /** Bytes that its tokenizer makes one token of; `undefined`: it reports nothing. */
  readonly bytesPerToken: number | undefined;
  /** Whether it reports with each piece, where its style can. */
  readonly reportsEach: boolean;
}

const encoder = new TextEncoder();
const bytesOf = (text: string) => encoder.encode(text).length;
const promptTokens = 9;

function event(type: string, more: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
}

function* messagesStream(said: Said): Generator<string> {
  const message = { id: "msg_1", type: "message", role: "assistant", model: "m", content: [] };
  yield event("message_start", {
    message: {
      ...message,
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: promptTokens, output_tokens: 1 },
    },
  });
  yield event("content_block_start", { index: 0, content_block: { type: "text", text: "" } });
  for (const text of said.pieces) {
    yield event("content_block_delta", { index: 0, delta: { type: "text_delta", text } });
  }
  yield event("content_block_stop", { index: 0 });
  const tokens = reported(said, said.pieces.length);
  yield event("message_delta", {
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage: { output_tokens: tokens ?? 0 },
  });
  yield event("message_stop", {});
}

function* chatStream(said: Said): Generator<string> {
  const head = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
  const chunk = (more: object) => `data: ${JSON.stringify({ ...head, ...more })}\n\n`;
  const usageAfter = (pieces: number) => {
    const tokens = reported(said, pieces);
    return tokens === undefined ? {} : {
      usage: {
        prompt_tokens: promptTokens,
        completion_tokens: tokens,
        total_tokens: promptTokens + tokens,
      },
    };
  };
  for (const [at, content] of said.pieces.entries()) {
    yield chunk({
      choices: [{ index: 0, delta: { role: "assistant", content }, finish_reason: null }],
      ...(said.reportsEach && usageAfter(at + 1)),
    });
  }
  yield chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
  yield chunk({ choices: [], ...usageAfter(said.pieces.length) });
  yield "data: [DONE]\n\n";
}

function* responsesStream(said: Said): Generator<string> {
  const open = {
    id: "resp_1",
    object: "response",
    created_at: 1,
    model: "m",
    error: null,
    incomplete_details: null,
  };
  let sequence_number = 0;
  const next = (type: string, more: object) =>
    event(type, { sequence_number: sequence_number++, ...more });
  yield next("response.created", {
    response: { ...open, status: "in_progress", output: [], usage: null },
  });
  const item = { id: "i", type: "message", role: "assistant" };
  yield next("response.output_item.added", {
    output_index: 0,
    item: { ...item, status: "in_progress", content: [] },
  });
  const place = { item_id: "i", output_index: 0, content_index: 0 };
  const emptyPart = { type: "output_text", text: "", annotations: [] };
  yield next("response.content_part.added", { ...place, part: emptyPart });
  for (const delta of said.pieces) {
    yield next("response.output_text.delta", { ...place, delta, logprobs: [] });
  }
  const text = said.pieces.join("");
  const part = { ...emptyPart, text };
  yield next("response.output_text.done", { ...place, text, logprobs: [] });
  yield next("response.content_part.done", { ...place, part });
  const whole = { ...item, status: "completed", content: [part] };
  yield next("response.output_item.done", { output_index: 0, item: whole });
  const tokens = reported(said, said.pieces.length);
  const usage = tokens === undefined ? null : {
    input_tokens: promptTokens,
    output_tokens: tokens,
    total_tokens: promptTokens + tokens,
  };
  yield next("response.completed", {
    response: { ...open, status: "completed", output: [whole], usage },
  });
}

function* geminiStream(said: Said): Generator<string> {
  const chunk = (candidate: object, pieces: number, reports: boolean) => {
    const tokens = reports ? reported(said, pieces) : undefined;
    const usageMetadata = tokens === undefined ? {} : {
      usageMetadata: {
        promptTokenCount: promptTokens,
        candidatesTokenCount: tokens,
        totalTokenCount: promptTokens + tokens,
      },
    };
    const body = { candidates: [{ index: 0, ...candidate }], ...usageMetadata, modelVersion: "m" };
    return `data: ${JSON.stringify(body)}\n\n`;
  };
  for (const [at, text] of said.pieces.entries()) {
    yield chunk({ content: { role: "model", parts: [{ text }] } }, at + 1, said.reportsEach);
  }
  const last = { content: { role: "model", parts: [{ text: "" }] }, finishReason: "STOP" };
  yield chunk(last, said.pieces.length, true);
}

const streams: Record<RouteStyle, (said: Said) => Generator<string>> = {
  messages: messagesStream,
  chat: chatStream,
  responses: responsesStream,
  gemini: geminiStream,
};

/** The tokens that a provider counts after some pieces. */
function reported({ pieces, bytesPerToken }: Said, count: number): number | undefined {
  if (bytesPerToken === undefined) return undefined;
  return Math.ceil((bytesAfter(pieces)[count] ?? 0) / bytesPerToken);
}

const sums = new WeakMap<readonly string[], readonly number[]>();

/** The bytes of the first pieces, by how many they are. */
function bytesAfter(pieces: readonly string[]): readonly number[] {
  const known = sums.get(pieces);
  if (known !== undefined) return known;
  const counted = [0];
  for (const piece of pieces) counted.push((counted.at(-1) ?? 0) + bytesOf(piece));
  sums.set(pieces, counted);
  return counted;
}

function requestOf(client: ClientStyle, model: string, maxTokens: number) {
  const messages = [{ role: "user", content: "hello" }];
  switch (client) {
    case "messages":
      return {
        path: "/v1/messages",
        body: { model, messages, stream: true, max_tokens: maxTokens },
      };
    case "chat":
      return {
        path: "/v1/chat/completions",
        body: { model, messages, stream: true, max_tokens: maxTokens },
      };
    case "completions":
      return {
        path: "/v1/completions",
        body: { model, prompt: "hello", stream: true, max_tokens: maxTokens },
      };
    case "responses":
      return {
        path: "/v1/responses",
        body: { model, input: "hello", stream: true, max_output_tokens: maxTokens },
      };
    case "gemini":
      return {
        path: `/v1beta/models/${model}:streamGenerateContent?alt=sse`,
        body: {
          contents: [{ role: "user", parts: [{ text: "hello" }] }],
          generationConfig: { maxOutputTokens: maxTokens },
        },
      };
  }
}

interface Asked {
  readonly client: ClientStyle;
  readonly route: RouteStyle;
  readonly price: number;
  readonly said: Said;
  /** Tokens that the budget still pays for. */
  readonly leftTokens: number;
  readonly maxTokens: number;
}

interface Answer {
  readonly text: string;
  readonly receipt: Receipt;
  readonly leftMicroVnd: bigint;
  readonly microVndPerToken: bigint;
}

const maxOutputTokens = 128_000;

async function openWorld() {
  let said: Said | undefined;
  const provider = mockProvider((request) => {
    assert(said !== undefined);
    const style = request.path.includes("/messages")
      ? "messages"
      : request.path.includes("/chat/")
      ? "chat"
      : request.path.includes("/responses")
      ? "responses"
      : "gemini";
    const stream = streams[style](said);
    return new Response(
      ReadableStream.from((async function* () {
        for (const piece of stream) yield await Promise.resolve(encoder.encode(piece));
      })()),
      { headers: { "content-type": "text/event-stream" } },
    );
  });
  const gateway = await openTestGateway(servedBy(provider, {
    defaultModel: "chat-900",
    models: routeStyles.flatMap((style) =>
      prices.map((vndPerMtok) => ({
        id: `${style}-${vndPerMtok}`,
        price: { unit: "token", vndPerMtok },
        contextWindow: 1_000_000,
        maxOutputTokens,
        routes: [{ provider: "p", style, model: "m" }],
      }))
    ),
  }));
  return {
    gateway,
    async ask({ client, route, price, said: now, leftTokens, maxTokens }: Asked): Promise<Answer> {
      said = now;
      const { key, accountId } = await gateway.customer(10_000_000);
      const microVndPerToken = fromVnd(price) / 1_000_000n;
      const leftMicroVnd = microVndPerToken * BigInt(leftTokens);
      const budget = {
        id: "b",
        name: "Search",
        subject: { kind: "account" },
        window: "day",
        amountMicroVnd: leftMicroVnd,
        atLimit: "refuse",
        createdAtMs: gateway.time.nowMs(),
      } as const;
      await changeBudgets(gateway.kv, accountId, () => [budget]);
      const { path, body } = requestOf(client, `${route}-${price}`, maxTokens);
      const answer = await gateway.fetch(apiPost(`http://gateway${path}`, key, body));
      const text = await answer.text();
      assertEquals(answer.status, 200, text);
      const { receipts: [receipt] } = await listReceipts(gateway.kv, accountId, { limit: 1 });
      assert(receipt !== undefined);
      assertEquals(receipt.shortfallMicroVnd, 0n);
      return { text, receipt, leftMicroVnd, microVndPerToken };
    },
    async [Symbol.asyncDispose]() {
      assertEquals((await verifyStore(gateway.kv)).problems, []);
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

const languages = {
  ascii: "The river runs to the sea, and carries what the rain has left behind. ",
  vietnamese: "Dòng sông chảy về biển, mang theo những gì cơn mưa để lại phía sau. ",
  chinese: "河水流向大海，带走雨水留下的一切。",
  japanese: "川は海へ流れ、雨が残したものを運ぶ。",
  emoji: "🌊🛶🌧️🐟👩‍🚀🇻🇳",
} as const;

/** Splits endless text of a language into pieces of so many characters, until they have so many bytes. */
function piecesOf(text: string, charsOfPiece: number, bytes: number): string[] {
  const chars = Array.from(text);
  const pieces: string[] = [];
  let at = 0;
  for (let sum = 0; sum < bytes;) {
    const piece = Array.from({ length: charsOfPiece }, () => chars[at++ % chars.length]).join("");
    pieces.push(piece);
    sum += bytesOf(piece);
  }
  return pieces;
}

const arbitraryAsked = fc.record({
  price: fc.constantFrom(...prices),
  leftTokens: fc.integer({ min: 361, max: 6_000 }),
  language: fc.constantFrom(...Object.values(languages)),
  charsOfPiece: fc.integer({ min: 1, max: 40 }),
  bytesPerToken: fc.constantFrom(undefined, 1.8, 2.7, 4, 5.5),
  reportsEach: fc.boolean(),
});

/** Bytes of a stream that are read in one go: at its beginning, and later. */
const [firstSliceBytes, laterSliceBytes] = [2_048, 256];

for (const client of clientStyles) {
  for (const route of routeStyles) {
    Deno.test(`${client} to ${route}: a stream uses what is left of a budget, little more, and its end names it`, async () => {
      await using world = await openWorld();
      await fc.assert(
        fc.asyncProperty(arbitraryAsked, async ({ language, charsOfPiece, ...some }) => {
          const { leftTokens, price, bytesPerToken, reportsEach } = some;
          const said = {
            bytesPerToken,
            reportsEach,
            pieces: piecesOf(language, charsOfPiece, leftTokens * 12),
          };
          const asked = { client, route, price, leftTokens, said, maxTokens: maxOutputTokens };
          const { text, receipt, leftMicroVnd, microVndPerToken } = await world.ask(asked);
          assertEquals([receipt.outcome, receipt.endCode], ["cut", "budget_exceeded"]);
          assert(/The budget \\"Search\\" is used up.*It resets at/.test(text), text.slice(-600));
          const used = receipt.costMicroVnd;
          assert(used * 10n >= leftMicroVnd * 9n, `${used} of ${leftMicroVnd}`);
          // What one read contains cannot be held back: counted at the provider's rate, or as a token of four bytes.
          const pieceBytes = Math.max(...said.pieces.map(bytesOf));
          const isFirst = leftTokens * 4 <= firstSliceBytes;
          const sliceBytes = pieceBytes + (isFirst ? firstSliceBytes : laterSliceBytes);
          const over = BigInt(Math.ceil(sliceBytes / Math.min(bytesPerToken ?? 4, 4))) + 1n;
          assert(used <= leftMicroVnd + over * microVndPerToken, `${used} of ${leftMicroVnd}`);
        }),
        { numRuns: 20 },
      );
    });
  }
}

for (const style of routeStyles) {
  Deno.test(`${style}: up to its end a stream that a budget ends is the provider's, byte by byte`, async () => {
    await using world = await openWorld();
    const price = 8_300;
    const pieces = piecesOf(languages.vietnamese, 7, 12_000);
    const said = { bytesPerToken: undefined, reportsEach: false, pieces };
    const asked = { client: style, route: style, price, leftTokens: 900, said };
    const { text } = await world.ask({ ...asked, maxTokens: maxOutputTokens });
    // The name of the model is the client's.
    const sent = [...streams[style](said)].join("")
      .replaceAll(/"(model|modelVersion)":"m"/g, `"$1":"${style}-${price}"`);
    let same = 0;
    while (same < text.length && text[same] === sent[same]) same++;
    assertStringIncludes(text.slice(same), "is used up");
    assert(same > 3_600, `the first ${same} of ${text.length}`);
    // What differs is the error, which is two events in the Responses style.
    const rest = text.slice(text.lastIndexOf("\n\n", same) + 2).trim().split("\n\n");
    assertEquals(rest.length, style === "responses" ? 2 : 1);
  });
}

Deno.test("a stream that fits what is left of a budget is whole, whatever its bytes could be", async () => {
  await using world = await openWorld();
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...clientStyles),
      fc.constantFrom(...routeStyles),
      arbitraryAsked,
      async (client, route, { language, charsOfPiece, leftTokens, price, bytesPerToken }) => {
        const said = {
          bytesPerToken,
          reportsEach: false,
          pieces: piecesOf(language, charsOfPiece, (leftTokens - 100) * 3),
        };
        const asked = { client, route, price, leftTokens, said, maxTokens: maxOutputTokens };
        const { receipt, leftMicroVnd, microVndPerToken } = await world.ask(asked);
        assertEquals([receipt.outcome, receipt.endCode], ["completed", undefined]);
        // Beyond the budget by what the provider counted more than the gateway.
        const counted = Math.ceil(bytesOf(said.pieces.join("")) / 4);
        const beyond = Math.max(0, (reported(said, said.pieces.length) ?? 0) - counted);
        const most = leftMicroVnd + microVndPerToken * BigInt(beyond);
        assert(receipt.costMicroVnd <= most, `${receipt.costMicroVnd} of ${most}`);
      },
    ),
    { numRuns: 60 },
  );
});

Deno.test("3 VND pay a stream of 300 tokens at 8,300 VND per million", async () => {
  await using world = await openWorld();
  for (const client of clientStyles) {
    const said = {
      bytesPerToken: 4,
      reportsEach: false,
      pieces: piecesOf(languages.ascii, 12, 1_196),
    };
    const asked = { client, route: "chat", price: 8_300, leftTokens: 361, said, maxTokens: 300 };
    const { text, receipt } = await world.ask({ ...asked, route: "chat" });
    assertEquals([receipt.outcome, receipt.usage?.output], ["completed", 300], text);
    assertStringIncludes(text, "river");
  }
});
