/** The cost of a call in the usage of its answer. */
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { formatVnd, parseVnd } from "../../../../core/billing/money/micro_vnd.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { isJsonObject, type JsonObject } from "../../../../core/lib/json/json.ts";
import type { Style } from "../../../../core/wire/contract/contract.ts";
import { listReceipts } from "../../../../kv/money/receipts/receipts.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { openTestGateway, servedBy } from "../../../support/gateways/gateway_in_process.ts";
import { serveGateway } from "../../../support/gateways/served_gateway.ts";
import * as fc from "../../../support/property.ts";
import { mockProvider } from "../gateway/media_world.ts";
import { type Told, transcripts, vendorPrice } from "./usage_world.ts";
import { apiPost } from "../../../support/api_post.ts";

const styles: readonly Style[] = ["messages", "chat", "responses", "gemini"];

/** Counts of a provider, before its style writes them. */
interface Counts {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

function usageOf(style: Style, { input, cached, output }: Counts): JsonObject {
  const all = input + cached;
  switch (style) {
    case "messages":
      return { input_tokens: input, cache_read_input_tokens: cached, output_tokens: output };
    case "chat":
      return {
        prompt_tokens: all,
        completion_tokens: output,
        total_tokens: all + output,
        prompt_tokens_details: { cached_tokens: cached },
      };
    case "responses":
      return {
        input_tokens: all,
        output_tokens: output,
        total_tokens: all + output,
        input_tokens_details: { cached_tokens: cached },
      };
    case "gemini":
      return {
        promptTokenCount: all,
        candidatesTokenCount: output,
        totalTokenCount: all + output,
        cachedContentTokenCount: cached,
      };
  }
}

const geminiTranscript = {
  whole: ({ text, usage }: Told) => ({
    candidates: [{ content: { role: "model", parts: [{ text }] }, finishReason: "STOP", index: 0 }],
    usageMetadata: usage,
    modelVersion: "m",
    responseId: "g",
  }),
  stream: ({ text, usage }: Told) =>
    [
      { candidates: [{ content: { role: "model", parts: [{ text }] }, index: 0 }] },
      {
        candidates: [{ content: { role: "model", parts: [] }, finishReason: "STOP", index: 0 }],
        usageMetadata: usage,
      },
    ].map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`).join(""),
};

/** The bytes of a text in pieces of some lengths, as a network cuts them. */
function inPieces(text: string, lengths: readonly number[]): ReadableStream<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  let piece = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      const length = lengths[piece++ % lengths.length] ?? bytes.length;
      controller.enqueue(bytes.slice(at, at + length));
      at += length;
    },
  });
}

async function openWorld() {
  let now: { style: Style; told: Told; pieces: readonly number[] } | undefined;
  let sent: JsonObject = {};
  const provider = mockProvider(({ path, json }) => {
    assert(now !== undefined);
    const body = json();
    assert(isJsonObject(body));
    sent = body;
    const { style, told, pieces } = now;
    const transcript = style === "gemini" ? geminiTranscript : transcripts[style];
    return body["stream"] === true || path.includes(":stream")
      ? new Response(inPieces(transcript.stream(told), pieces), {
        headers: { "content-type": "text/event-stream" },
      })
      : Response.json(transcript.whole(told));
  });
  const prices = {
    plain: { unit: "token", vndPerMtok: 8_333.3333 },
    vendor: vendorPrice,
    flat: { unit: "request", vnd: 230.5 },
    gratis: { unit: "token", vndPerMtok: 0 },
  };
  const gateway = await openTestGateway(servedBy(provider, {
    defaultModel: "plain-chat",
    models: Object.entries(prices).flatMap(([name, price]) =>
      styles.map((style) => ({
        id: `${name}-${style}`,
        price,
        contextWindow: 100_000,
        maxOutputTokens: 10_000,
        routes: [{ provider: "p", style, model: "m" }],
      }))
    ),
  }));
  const { key, accountId } = await gateway.customer(1_000_000);

  function requestOf(call: Call): readonly [path: string, body: JsonObject] {
    const { client, form } = call;
    const model = `${call.price}-${call.provider}`;
    const stream = form !== "whole";
    const messages = [{ role: "user", content: "hi" }];
    switch (client) {
      case "messages":
        return ["/v1/messages", { model, stream, messages, max_tokens: 100 }];
      case "chat":
        return ["/v1/chat/completions", {
          model,
          stream,
          messages,
          max_tokens: 100,
          // Asking for the cost asks for the chunk with the usage as well.
          ...(stream && !call.asks && { stream_options: { include_usage: true } }),
        }];
      case "responses":
        return ["/v1/responses", { model, stream, input: "hi", max_output_tokens: 100 }];
      case "gemini": {
        const act = stream ? "streamGenerateContent" : "generateContent";
        const path = `/v1beta/models/${model}:${act}${form === "stream" ? "?alt=sse" : ""}`;
        return [path, { contents: [{ role: "user", parts: [{ text: "hi" }] }] }];
      }
    }
  }

  return {
    sent: () => sent,
    async ask(call: Call): Promise<{ readonly text: string; readonly receipt: Receipt }> {
      now = {
        style: call.provider,
        told: { text: call.text, usage: call.counts && usageOf(call.provider, call.counts) },
        pieces: call.pieces,
      };
      const [path, body] = requestOf(call);
      const response = await gateway.fetch(apiPost(`http://gateway.example${path}`, key, {
        ...body,
        ...(call.asks === "body" && { usage: { include: true } }),
      }, { ...(call.asks === "header" && { "x-gateway-usage-cost": "true" }) }));
      const text = await response.text();
      assertEquals(response.status, 200, text);
      const id = response.headers.get("x-request-id") ?? "";
      const [receipt] = (await listReceipts(gateway.kv, accountId, { limit: 1 })).receipts;
      assertEquals(receipt?.requestId, id);
      assert(receipt !== undefined);
      // Converted answers have ids that are made of that of the request.
      return { text: text.replaceAll(id.slice("req_".length), "ID"), receipt };
    },
    async refused(usage: unknown) {
      const response = await gateway.fetch(
        apiPost("http://gateway.example/v1/chat/completions", key, {
          model: "plain-chat",
          messages: [{ role: "user", content: "hi" }],
          usage,
        }),
      );
      const { error } = await response.json();
      return [response.status, error.param];
    },
    async [Symbol.asyncDispose]() {
      assert((await verifyStore(gateway.kv)).ok);
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

interface Call {
  readonly client: Style;
  readonly provider: Style;
  readonly form: "whole" | "stream" | "array";
  readonly price: "plain" | "vendor" | "flat" | "gratis";
  readonly text: string;
  readonly counts: Counts | null;
  readonly pieces: readonly number[];
  readonly asks?: "body" | "header";
}

const added = /,?"cost":([\d.]+),"(?:cost_details|costDetails)":\{"currency":"VND"([^}]*)\}/g;

/** The cost and the sum of its parts in an answer, and the answer without them. */
function costIn(text: string) {
  const found = [...text.matchAll(added)];
  const amounts = found.map(([, cost = "", parts = ""]) => ({
    cost: parseVnd(cost),
    parts: [...parts.matchAll(/:([\d.]+)/g)].map(([, part = ""]) => parseVnd(part) ?? -1n)
      .reduce((sum, part) => sum + part, 0n),
  }));
  return { amounts, without: text.replaceAll(added, "") };
}

const count = fc.oneof(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 1, max: 3 }));
const call: fc.Arbitrary<Call> = fc.record({
  client: fc.constantFrom(...styles),
  provider: fc.constantFrom(...styles),
  form: fc.constantFrom("whole" as const, "stream" as const, "stream" as const, "array" as const),
  price: fc.constantFrom("plain" as const, "vendor" as const, "flat" as const, "gratis" as const),
  text: fc.string({ minLength: 1, maxLength: 60, unit: "grapheme" }),
  counts: fc.record({ input: count, cached: count, output: count }),
  pieces: fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 4 }),
}).map((drawn) =>
  drawn.form === "array" && drawn.client !== "gemini" ? { ...drawn, form: "stream" } : drawn
);

Deno.test("the cost in an answer is that of its receipt, and all else is as without it", async () => {
  await using world = await openWorld();
  await fc.assert(
    fc.asyncProperty(
      call,
      fc.constantFrom("body" as const, "header" as const),
      async (drawn, asks) => {
        const { text, receipt } = await world.ask({ ...drawn, asks });
        assertEquals("usage" in world.sent(), false, "the member is the gateway's own");
        const plain = await world.ask(drawn);
        const { amounts, without } = costIn(text);
        const expected = receipt.costMicroVnd;
        assertEquals(amounts, [{ cost: expected, parts: expected }], text);
        assertEquals(plain.receipt.costMicroVnd, expected);
        assertEquals(without, plain.text);
      },
    ),
    { numRuns: 120 },
  );
});

Deno.test("a call that does not ask for its cost has none, and a wrong wish is refused", async () => {
  await using world = await openWorld();
  const base = {
    price: "plain",
    text: "a",
    counts: { input: 5, cached: 0, output: 5 },
    pieces: [99],
  } as const;
  for (const style of styles) {
    for (const form of ["whole", "stream"] as const) {
      const { text } = await world.ask({ ...base, client: style, provider: style, form });
      assert(!text.includes('"cost"'), text);
    }
  }
  for (const usage of [true, "include", {}, { include: 1 }, []]) {
    assertEquals(await world.refused(usage), [400, "usage"], JSON.stringify(usage));
  }
});

Deno.test("an answer whose provider tells no usage has its cost, too", async () => {
  await using world = await openWorld();
  const base = { price: "plain", text: "a", counts: null, pieces: [999], asks: "body" } as const;
  for (const style of ["chat", "responses"] as const) {
    for (const form of ["whole", "stream"] as const) {
      const { text, receipt } = await world.ask({ ...base, client: style, provider: style, form });
      const { amounts } = costIn(text);
      assertEquals(amounts.map(({ cost }) => cost), [receipt.costMicroVnd], text);
      if (form === "whole") JSON.parse(text);
      else if (style === "chat") {
        assertStringIncludes(text, `"usage":{"cost":${formatVnd(receipt.costMicroVnd)}`);
      }
    }
  }
});

Deno.test("the SDKs keep the cost, whole and at the end of streams", async () => {
  await using gateway = await serveGateway();
  const apiKey = /: (sk-\S+)$/m.exec(await gateway.line(/: sk-\S+$/m))![1]!;
  const usage = { include: true };
  const model = "premium-1";
  const messages = [{ role: "user" as const, content: "Hello" }];
  const costOf = (told: unknown) => {
    assert(typeof told === "object" && told !== null && "cost" in told, JSON.stringify(told));
    assert(typeof told.cost === "number" && told.cost > 0);
    return told.cost;
  };
  const headerCost = (response: Response) => Number(response.headers.get("x-gateway-cost-vnd"));

  const openai = new OpenAI({ baseURL: `${gateway.address}/v1`, apiKey, maxRetries: 0 });
  const chat = await openai.chat.completions.create({ model, messages, ...{ usage } })
    .withResponse();
  assertEquals(costOf(chat.data.usage), headerCost(chat.response));
  const chunks = await openai.chat.completions.create({
    model,
    messages,
    stream: true,
    ...{ usage },
  });
  let last: unknown;
  for await (const chunk of chunks) last = chunk.usage ?? last;
  costOf(last);
  const input = { model, input: "Hello", ...{ usage } };
  const response = await openai.responses.create(input).withResponse();
  assertEquals(costOf(response.data.usage), headerCost(response.response));
  costOf((await openai.responses.stream(input).finalResponse()).usage);

  const anthropic = new Anthropic({ baseURL: gateway.address, apiKey, maxRetries: 0 });
  const params = { model, messages, max_tokens: 100, ...{ usage } };
  const message = await anthropic.messages.create(params).withResponse();
  assertEquals(costOf(message.data.usage), headerCost(message.response));
  for await (const event of await anthropic.messages.create({ ...params, stream: true })) {
    if (event.type === "message_delta") last = event.usage;
  }
  costOf(last);

  const headers = { "x-gateway-usage-cost": "true" };
  const ai = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: gateway.address, headers } });
  costOf((await ai.models.generateContent({ model, contents: "Hello" })).usageMetadata);
  last = undefined;
  for await (const part of await ai.models.generateContentStream({ model, contents: "Hello" })) {
    last = part.usageMetadata ?? last;
  }
  costOf(last);
});
