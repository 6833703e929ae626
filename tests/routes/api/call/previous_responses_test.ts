/** Conversations that Responses clients continue by the id of the last response. */
import OpenAI from "openai";
import { isJsonObject, type JsonObject } from "../../../../core/lib/json/json.ts";
import type { Style } from "../../../../core/wire/contract/contract.ts";
import { responseKeptMs } from "../../../../core/calls/request/kept_responses.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import { openTestGateway, servedBy } from "../../../support/gateways/gateway_in_process.ts";
import { serveGateway } from "../../../support/gateways/served_gateway.ts";
import { mockProvider } from "../gateway/media_world.ts";

const styles: readonly Style[] = ["messages", "chat", "responses", "gemini"];

const paths: readonly (readonly [end: string, style: Style])[] = [
  ["/chat/completions", "chat"],
  ["/messages", "messages"],
  ["/responses", "responses"],
  [":generateContent", "gemini"],
  [":streamGenerateContent", "gemini"],
];

/** What a provider answers to its call of a number. */
function answerOf(style: Style, number: number): JsonObject {
  const said = `alpha ${number}`;
  switch (style) {
    case "chat":
      return {
        id: `c${number}`,
        object: "chat.completion",
        created: 1,
        model: "up",
        choices: [{
          index: 0,
          message: { role: "assistant", content: said },
          finish_reason: "stop",
        }],
        usage: { prompt_tokens: 20, completion_tokens: 5, total_tokens: 25 },
      };
    case "messages":
      return {
        id: `m${number}`,
        type: "message",
        role: "assistant",
        model: "up",
        content: [{ type: "text", text: said }],
        stop_reason: "end_turn",
        stop_sequence: null,
        usage: { input_tokens: 20, output_tokens: 5 },
      };
    case "responses":
      return {
        id: `resp_${number}`,
        object: "response",
        created_at: 1,
        status: "completed",
        model: "up",
        output: [
          {
            type: "reasoning",
            id: `rs_${number}`,
            summary: [],
            encrypted_content: `sealed ${number}`,
          },
          {
            type: "message",
            id: `msg_${number}`,
            role: "assistant",
            status: "completed",
            content: [{ type: "output_text", text: said, annotations: [] }],
          },
        ],
        usage: { input_tokens: 20, output_tokens: 5, total_tokens: 25 },
      };
    case "gemini":
      return {
        candidates: [{ content: { role: "model", parts: [{ text: said }] }, finishReason: "STOP" }],
        usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 5, totalTokenCount: 25 },
      };
  }
}

function eventsOf(answer: JsonObject): string {
  const { output } = answer;
  const items = Array.isArray(output) ? output.filter(isJsonObject) : [];
  let sequence_number = 0;
  const event = (type: string, body: JsonObject) =>
    `event: ${type}\ndata: ${
      JSON.stringify({ type, sequence_number: sequence_number++, ...body })
    }\n\n`;
  return [
    event("response.created", { response: { ...answer, status: "in_progress", output: [] } }),
    ...items.flatMap((item, output_index) => [
      event("response.output_item.added", { output_index, item: { ...item, content: [] } }),
      event("response.output_item.done", { output_index, item }),
    ]),
    event("response.completed", { response: answer }),
  ].join("");
}

async function openWorld() {
  const seen: JsonObject[] = [];
  /** Ends streams before their last event. */
  const vendor = { breaks: false };
  const provider = mockProvider(({ path, json }) => {
    const style = paths.find(([end]) => path.split("?")[0]?.endsWith(end))?.[1] ?? "chat";
    const body = json();
    assert(isJsonObject(body));
    seen.push(body);
    const answer = answerOf(style, seen.length);
    // A whole answer to a stream becomes a stream in the gateway.
    if (style !== "responses" || body["stream"] !== true) return Response.json(answer);
    const events = eventsOf(answer);
    const sent = vendor.breaks ? events.slice(0, events.lastIndexOf("event:")) : events;
    return new Response(sent, { headers: { "content-type": "text/event-stream" } });
  });
  const gateway = await openTestGateway(servedBy(provider, {
    defaultModel: "m-chat",
    models: styles.map((style) => ({
      id: `m-${style}`,
      price: { unit: "token", vndPerMtok: 1_000 },
      contextWindow: 100_000,
      maxOutputTokens: 1_000,
      routes: [{ provider: "p", style, model: "up" }],
    })),
  }));
  const { key } = await gateway.customer(1_000);
  const { key: otherKey } = await gateway.customer(1_000);
  const fetched = async (method: string, path: string, body?: JsonObject, of = key) => {
    const response = await gateway.fetch(
      new Request(`http://gateway.example${path}`, {
        method,
        headers: { "x-api-key": of, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    );
    return { status: response.status, text: await response.text() };
  };
  return {
    seen,
    vendor,
    otherKey,
    gateway,
    fetched,
    /** The response that a call got, whole or as the last event of its stream. */
    async respond(body: JsonObject, of = key) {
      const { status, text } = await fetched("POST", "/v1/responses", body, of);
      if (body["stream"] !== true || status !== 200) return { status, response: JSON.parse(text) };
      const last = text.split("\n").filter((line) => line.startsWith("data: ")).at(-1) ?? "";
      return { status, response: JSON.parse(last.slice("data: ".length)).response };
    },
    async [Symbol.asyncDispose]() {
      assert((await verifyStore(gateway.kv)).ok);
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

const first = { input: "Say one", instructions: "Be brief." };
const second = [{ role: "user", content: [{ type: "input_text", text: "Say two" }] }];

Deno.test("the provider gets for a continued response what it gets for the whole conversation, in every style", async () => {
  await using world = await openWorld();
  for (const style of styles) {
    for (const stream of [false, true]) {
      const model = `m-${style}`;
      const story = `${style}, stream ${stream}`;
      const { response: one } = await world.respond({ model, stream, ...first });
      const input = [{ role: "user", content: first.input }, ...one.output, ...second];
      const continued = { model, stream, input: second, previous_response_id: one.id };
      const { status, response: two } = await world.respond(continued);
      assertEquals(status, 200, story);
      const byId = world.seen.at(-1);
      await world.respond({ model, stream, input });
      assertEquals(byId, world.seen.at(-1), story);
      assert(!JSON.stringify(byId).includes("Be brief."), "instructions are not carried over");
      // A third turn, and another one beside the second.
      const third = { model, stream, input: "Say three", previous_response_id: two.id };
      assertEquals((await world.respond(third)).status, 200, story);
      const sent = JSON.stringify(world.seen.at(-1));
      for (const part of ["Say one", "Say two", "Say three"]) {
        assertEquals(sent.split(part).length, 2, `${story}: ${part} in ${sent}`);
      }
      await world.respond({ ...third, previous_response_id: one.id });
      assert(!JSON.stringify(world.seen.at(-1)).includes("Say two"), story);
    }
  }
});

Deno.test("a response is read, counted and removed by its id, by its account only", async () => {
  await using world = await openWorld();
  for (const stream of [false, true]) {
    const { response } = await world.respond({ model: "m-responses", stream, ...first });
    const path = `/v1/responses/${response.id}`;
    const read = await world.fetched("GET", path);
    assertEquals([read.status, JSON.parse(read.text)], [200, response]);
    const next = { model: "m-responses", input: "more", previous_response_id: response.id };
    const count = async (body: JsonObject) => {
      const { text } = await world.fetched("POST", "/v1/responses/input_tokens", body);
      return JSON.parse(text).input_tokens;
    };
    assert(await count(next) > await count({ model: "m-responses", input: "more" }));
    assertEquals((await world.fetched("GET", `${path}?stream=true`)).status, 400);
    assertEquals((await world.fetched("GET", path, undefined, world.otherKey)).status, 404);
    assertEquals((await world.fetched("DELETE", path, undefined, world.otherKey)).status, 404);
    const foreign = await world.respond(next, world.otherKey);
    assertEquals([foreign.status, foreign.response.error.code], [
      400,
      "previous_response_not_found",
    ]);
    const { response: child } = await world.respond(next);
    const removed = await world.fetched("DELETE", path);
    assertEquals(JSON.parse(removed.text), {
      id: response.id,
      object: "response",
      deleted: true,
    });
    for (const method of ["GET", "DELETE"]) {
      assertEquals((await world.fetched(method, path)).status, 404);
      const below = await world.fetched(method, `${path}/cancel`);
      assert(below.text.includes("does not offer"), below.text);
    }
    assertEquals((await world.fetched("POST", path, {})).status, 405);
    const { status, response: { error } } = await world.respond(next);
    assertEquals([status, error.code, error.param], [
      400,
      "previous_response_not_found",
      "previous_response_id",
    ]);
    assert(error.message.startsWith(`Previous response with id '${response.id}' not found.`));
    assert(error.message.includes("send the whole conversation as input"), error.message);
    // What led to a later response is part of that one.
    const late = { ...next, previous_response_id: child.id };
    await world.respond(late);
    assert(JSON.stringify(world.seen.at(-1)).includes("Say one"));
    await world.gateway.advance(responseKeptMs);
    assertEquals((await world.respond(late)).response.error.code, "previous_response_not_found");
  }
});

Deno.test("a continued response names the turn before it in each event that has it, and in no other byte", async () => {
  await using world = await openWorld();
  for (const style of styles) {
    const model = `m-${style}`;
    const { response: one } = await world.respond({ model, ...first });
    for (const stream of [false, true]) {
      const ask = async (more: JsonObject, input: unknown) => {
        const body = JSON.stringify({ model, stream, store: false, input, ...more });
        const { text } = await world.fetched("POST", "/v1/responses", JSON.parse(body));
        return text;
      };
      const by = await ask({ previous_response_id: one.id }, second);
      const named = by.split(`"previous_response_id":"${one.id}"`);
      const events = by.split("\n").filter((line) => line.startsWith("data: {")).length;
      assertEquals(named.length > 1, true, by);
      const objects = by.match(/"object": ?"response"/g)?.length;
      assertEquals(named.length - 1, objects, `${style}, ${events} events: ${by}`);
      const input = [{ role: "user", content: first.input }, ...one.output, ...second];
      const whole = await ask({}, input);
      const plain = (text: string) =>
        text.replaceAll(
          /"previous_response_id":(?:"[^"]*"|null),?|,"previous_response_id":"[^"]*"/g,
          "",
        )
          .replaceAll(/[\d]+/g, "0").replaceAll(/[a-z]+_0?[0-9a-zA-Z]{8,}/g, "id");
      assertEquals(plain(by), plain(whole), style);
    }
  }
});

Deno.test("the items that led to a response are listed in pages, as a list of them would be cut", async () => {
  await using world = await openWorld();
  const model = "m-responses";
  const { response: one } = await world.respond({ model, ...first });
  const { response: two } = await world.respond({
    model,
    previous_response_id: one.id,
    input: [{ type: "message", id: "msg_own", role: "user", content: [] }, ...second],
  });
  const path = `/v1/responses/${two.id}/input_items`;
  const list = async (query: string, of?: string) => {
    const { status, text } = await world.fetched("GET", `${path}?${query}`, undefined, of);
    return { status, page: JSON.parse(text) };
  };
  const { page: { data: all } } = await list("order=asc");
  const [asked, , answered, own] = all;
  assertEquals(asked.content, [{ type: "input_text", text: first.input }]);
  assertEquals([answered.content, own.id], [one.output[1].content, "msg_own"]);
  assertEquals(all.length, 5);
  for (const order of ["asc", "desc"]) {
    const whole = order === "asc" ? all : all.toReversed();
    for (let limit = 1; limit < 7; limit++) {
      for (const [at, item] of [undefined, ...whole].entries()) {
        const after = item === undefined ? "" : `&after=${item.id}`;
        const { page } = await list(`order=${order}&limit=${limit}${after}`);
        const data = whole.slice(at, at + limit);
        assertEquals(page, {
          object: "list",
          data,
          first_id: data[0]?.id ?? null,
          last_id: data.at(-1)?.id ?? null,
          has_more: at + limit < whole.length,
        });
      }
    }
  }
  assertEquals((await list("", world.otherKey)).status, 404);
  for (const wrong of ["limit=0", "limit=101", "order=up", "after=msg_unknown"]) {
    assertEquals((await list(wrong)).status, 400, wrong);
  }
});

Deno.test("nothing is kept with store false, of a broken stream, and of a refused call", async () => {
  await using world = await openWorld();
  const { keptResponses } = world.gateway.assembled.gateway;
  for (const stream of [false, true]) {
    for (const style of styles) {
      await world.respond({ model: `m-${style}`, stream, store: false, ...first });
    }
  }
  assertEquals(keptResponses.bytes, 0);
  world.vendor.breaks = true;
  const broken = await world.respond({ model: "m-responses", stream: true, ...first });
  assertEquals(broken.response?.status, "failed");
  const refused = await world.respond({ model: "m-responses", ...first, max_output_tokens: 0 });
  assertEquals(refused.status, 400);
  const poor = await world.gateway.customer(0);
  assertEquals((await world.respond({ model: "m-responses", ...first }, poor.key)).status, 402);
  assertEquals([keptResponses.bytes, keptResponses.turns], [0, 0]);
});

Deno.test("wrong ids are refused, and a conversation may not exceed the largest body", async () => {
  await using world = await openWorld();
  const body = { model: "m-responses", ...first };
  for (const previous_response_id of [7, {}, "", "resp_unknown", "__proto__"]) {
    const { status, response } = await world.respond({ ...body, previous_response_id });
    assertEquals([status, response.error.param], [400, "previous_response_id"]);
  }
  assertEquals((await world.respond({ ...body, previous_response_id: null })).status, 200);
  const { response } = await world.respond({ ...body, input: "x".repeat(6 * 1024 * 1024) });
  const long = { ...body, input: "y".repeat(15 * 1024 * 1024), previous_response_id: response.id };
  const { status, response: { error } } = await world.respond(long);
  assertEquals([status, error.code], [413, "request_too_large"]);
});

Deno.test("the official SDK continues, reads and deletes responses, whole and streamed", async () => {
  await using gateway = await serveGateway();
  const key = /: (sk-\S+)$/m.exec(await gateway.line(/: sk-\S+$/m))![1]!;
  const openai = new OpenAI({ baseURL: `${gateway.address}/v1`, apiKey: key, maxRetries: 0 });
  for (const model of ["premium-1", "general-01"]) {
    const one = await openai.responses.create({ model, input: "first words" });
    const two = await openai.responses.create({
      model,
      input: "second words",
      previous_response_id: one.id,
    });
    const alone = await openai.responses.create({ model, input: "second words" });
    assert(two.usage!.input_tokens > alone.usage!.input_tokens, "the first turn is part of it");
    const stream = openai.responses.stream({
      model,
      input: "third words",
      previous_response_id: two.id,
    });
    const three = await stream.finalResponse();
    assert(three.usage!.input_tokens > two.usage!.input_tokens);
    const four = await openai.responses.create({
      model,
      input: "fourth words",
      previous_response_id: three.id,
    });
    assert(four.usage!.input_tokens > three.usage!.input_tokens);
    assertEquals([one, two, three].map((turn) => turn.previous_response_id), [
      null,
      one.id,
      two.id,
    ]);
    const items = await Array.fromAsync(openai.responses.inputItems.list(three.id, { limit: 2 }));
    assertEquals(items.map((item) => item.type === "message" && item.role), [
      "user",
      "assistant",
      "user",
      "assistant",
      "user",
    ]);
    const read = await openai.responses.retrieve(three.id);
    assertEquals([read.id, read.output_text], [three.id, three.output_text]);
    await openai.responses.delete(three.id);
    await assertRejects(() => openai.responses.retrieve(three.id), OpenAI.NotFoundError);
    const refused = await openai.responses.create({
      model,
      input: "more",
      previous_response_id: three.id,
    }).catch((error) => error);
    assert(refused instanceof OpenAI.BadRequestError);
    assertEquals(refused.code, "previous_response_not_found");
  }
});
