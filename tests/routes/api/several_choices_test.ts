/** Several answers in one call (`n`, `candidateCount`): reserved for each, delivered in both styles, billed once. */
import { assert, assertEquals } from "../../support/assert.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { listReceipts } from "../../../kv/money/receipts/receipts.ts";
import { verifyStore } from "../../../kv/services/verify/verify_books.ts";
import { openTestGateway, servedBy } from "../../support/gateways/gateway_in_process.ts";
import { mockProvider, type SeenRequest } from "./gateway/media_world.ts";
import { apiPost } from "../../support/api_post.ts";

const styles = ["chat", "gemini"] as const;
type SeveralStyle = (typeof styles)[number];

const said = ["Xin chào", "Hello"] as const;
const chatUsage = { prompt_tokens: 30, completion_tokens: 12, total_tokens: 42 };
const usageMetadata = { promptTokenCount: 30, candidatesTokenCount: 12, totalTokenCount: 42 };

const wholes: Readonly<Record<SeveralStyle, object>> = {
  chat: {
    object: "chat.completion",
    model: "m",
    choices: said.map((content, index) => ({
      index,
      message: { role: "assistant", content },
      finish_reason: "stop",
    })),
    usage: chatUsage,
  },
  gemini: {
    candidates: said.map((text, index) => ({
      index,
      content: { role: "model", parts: [{ text }] },
      finishReason: "STOP",
    })),
    usageMetadata,
    modelVersion: "m",
  },
};

const frames = (chunks: readonly object[]) =>
  chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");

/** The texts of both choices, then their ends. */
const texts: Readonly<Record<SeveralStyle, string>> = {
  chat: frames(said.map((content, index) => ({
    object: "chat.completion.chunk",
    choices: [{ index, delta: { content }, finish_reason: null }],
  }))),
  gemini: frames(said.map((text, index) => ({
    candidates: [{ index, content: { role: "model", parts: [{ text }] } }],
  }))),
};
const ends: Readonly<Record<SeveralStyle, string>> = {
  chat: frames([
    ...said.map((_, index) => ({ choices: [{ index, delta: {}, finish_reason: "stop" }] })),
    { choices: [], usage: chatUsage },
  ]) + "data: [DONE]\n\n",
  gemini: frames([{
    candidates: said.map((_, index) => ({ index, finishReason: "STOP" })),
    usageMetadata,
  }]),
};

/** How the provider answers: as it was asked, with a stream whatever was asked, or with a stream that breaks. */
type Answering = "asked" | "stream" | "broken";

function isAskedToStream(request: SeenRequest): boolean {
  return request.path.includes(":stream") || request.json()["stream"] === true;
}

async function openWorld(creditVnd: number) {
  let answering: Answering = "asked";
  const provider = mockProvider((request) => {
    const style = request.path.includes("/models/") ? "gemini" : "chat";
    if (answering === "asked" && !isAskedToStream(request)) return Response.json(wholes[style]);
    const body = texts[style] + (answering === "broken" ? "" : ends[style]);
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  const gateway = await openTestGateway(servedBy(provider, {
    defaultModel: "chat",
    models: [
      ...styles.map((style) => ({ id: style, price: { unit: "token", vndPerMtok: 1_000_000 } })),
      { id: "flat", price: { unit: "request", vnd: 10 } },
    ].map(({ id, price }) => ({
      id,
      price,
      contextWindow: 100_000,
      maxOutputTokens: 1_000,
      routes: [{ provider: "p", style: id === "gemini" ? "gemini" : "chat", model: "m" }],
    })),
  }));
  const { key, accountId } = await gateway.customer(creditVnd);
  return {
    seen: provider.seen,
    answer: (how: Answering) => answering = how,
    ask(client: SeveralStyle, model: string, count: number, stream: boolean): Promise<Response> {
      const method = stream ? "streamGenerateContent?alt=sse" : "generateContent";
      const [path, body] = client === "chat"
        ? ["/v1/chat/completions", {
          model,
          stream,
          n: count,
          max_tokens: 100,
          messages: [{ role: "user", content: "hi" }],
        }]
        : [`/v1beta/models/${model}:${method}`, {
          contents: [{ role: "user", parts: [{ text: "hi" }] }],
          generationConfig: { candidateCount: count, maxOutputTokens: 100 },
        }];
      return Promise.resolve(gateway.fetch(apiPost(`http://gateway${path}`, key, body)));
    },
    /** The receipt of the last call. */
    async lastReceipt(): Promise<Receipt | undefined> {
      const { reservedMicroVnd } = await gateway.assembled.gateway.wallet.balance(accountId);
      assertEquals(reservedMicroVnd, 0n);
      assert((await verifyStore(gateway.kv)).ok);
      const [receipt] = (await listReceipts(gateway.kv, accountId, { limit: 1 })).receipts;
      return receipt;
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

Deno.test("both answers arrive in the client's style, whole and streamed, and are billed once", async () => {
  await using world = await openWorld(10_000);
  for (const client of styles) {
    for (const model of styles) {
      for (const how of ["asked", "stream"] as const) {
        for (const stream of [false, true]) {
          world.answer(how);
          const answer = await world.ask(client, model, 2, stream);
          const text = await answer.text();
          const call = `${client} ${model} ${how} ${stream}: ${text}`;
          assertEquals(answer.status, 200, call);
          for (const one of said) assert(text.includes(JSON.stringify(one)), call);
          assert(text.includes('"index":1'), call);
          assertEquals((await world.lastReceipt())?.costMicroVnd, 42_000_000n, call);
          const sent = world.seen.at(-1)?.json();
          const asked = sent?.["n"] ?? Object(sent?.["generationConfig"])["candidateCount"];
          assertEquals(asked, 2, call);
        }
      }
    }
  }
});

/** The limit on the output of one answer that the provider got. */
function sentLimit(request: SeenRequest | undefined): unknown {
  const body = request?.json() ?? {};
  return body["max_tokens"] ?? body["max_completion_tokens"] ??
    Object(body["generationConfig"])["maxOutputTokens"];
}

Deno.test("money is reserved for each answer, in both styles", async () => {
  for (const client of styles) {
    for (const model of styles) {
      const limits: number[] = [];
      for (const count of [1, 2]) {
        // Not enough for 100 tokens of output at 1 VND each, beside the prompt.
        await using world = await openWorld(150);
        assertEquals((await world.ask(client, model, count, false)).status, 200);
        limits.push(Number(sentLimit(world.seen[0])));
      }
      const [one = 0, two = 0] = limits;
      assert(one > 0 && two > 0 && two * 2 <= one, `${client} ${model}: ${one} ${two}`);
    }
  }
});

Deno.test("a stream of several answers that breaks is charged for the text of all", async () => {
  for (const [client, model] of [["chat", "gemini"], ["gemini", "chat"]] as const) {
    const outputs: number[] = [];
    for (const count of [1, 2]) {
      await using world = await openWorld(10_000);
      world.answer("broken");
      const answer = await world.ask(client, model, count, true);
      assert((await answer.text()).includes('"error"'));
      outputs.push((await world.lastReceipt())?.usage?.output ?? 0);
    }
    const [one = 0, two = 0] = outputs;
    assert(one > 0 && two > one && two <= 12, `${client} ${model}: ${one} ${two}`);
  }
});

Deno.test("a model that is priced per call gives one answer, and names the client's field", async () => {
  await using world = await openWorld(10_000);
  for (
    const [client, field] of [["chat", "n"], ["gemini", "generationConfig.candidateCount"]] as const
  ) {
    const refused = await world.ask(client, "flat", 2, false);
    const { error } = await refused.json();
    assertEquals(refused.status, 400);
    assert(error.message.startsWith(field), error.message);
  }
});
