/** Web searches for models that have none: the model that the operator names runs them, as calls of their own. */
import { assert, assertEquals } from "../../support/assert.ts";
import { readGatewayFile } from "../../../core/catalog/read_file.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import type { Style } from "../../../core/wire/contract/contract.ts";
import { answerFrames } from "../../../core/wire/stream/answer_frames.ts";
import { listReceipts } from "../../../kv/money/receipts/receipts.ts";
import { verifyStore } from "../../../kv/services/verify/verify_books.ts";
import {
  openTestGateway,
  type TestGatewayOptions,
} from "../../support/gateways/gateway_in_process.ts";
import { ManualTime } from "../../support/manual_time.ts";
import { answerOf, calling, streamOf, styleOf } from "../../support/hosted_answers.ts";
import { readStream, readWhole } from "../../conformance/clients.ts";
import { nextTurn } from "../../support/turns.ts";
import { until } from "../../support/until.ts";
import { validateRequest } from "../../../sandbox/vendor_validators/validators.ts";
import { mockProvider } from "./gateway/media_world.ts";
import { apiPost } from "../../support/api_post.ts";

const styles: readonly Style[] = ["messages", "chat", "responses", "gemini"];
const usualCreditVnd = 100_000;
/** The search model costs twice as much as the others; every answer has 10 tokens in and 20 out. */
const searchMicroVnd = 60_000n;

const price = (vndPerMtok: number) => ({ unit: "token", vndPerMtok });

const route = (style: Style, model: string, more: object = {}) => ({
  provider: "p",
  style,
  model,
  ...more,
});

const searchModel = (style: Style) => ({
  id: "searcher",
  kind: "chat",
  family: "test",
  price: price(2_000),
  aliases: ["searcher-alias"],
  routes: [route(style, "vendor-searcher", {
    allow: ["web_search"],
    ...(style === "chat" && { capabilities: { extra_fields: ["web_search_options"] } }),
  })],
});

const file = (port: number, searcher: Style, webSearchModel: string | undefined) => ({
  defaultModel: "plain-chat",
  ...(webSearchModel !== undefined && { webSearchModel }),
  providers: {
    p: { kind: "http", baseUrl: `http://127.0.0.1:${port}`, apiKeyEnv: "PROVIDER_KEY" },
  },
  models: [
    ...styles.map((style) => ({
      id: `plain-${style}`,
      kind: "chat",
      family: "test",
      price: price(1_000),
      routes: [route(style, "vendor-plain")],
    })),
    searchModel(searcher),
  ],
});

type GatewayFile = ReturnType<typeof file>;

const only = {
  messages: [{ tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 8 }] }, {
    tools: [{ type: "web_search_20250305", name: "web_search" }],
    tool_choice: { type: "tool", name: "web_search" },
  }],
  chat: [{ web_search_options: {} }, { tools: [{ type: "openrouter:web_search" }] }],
  responses: [{ tools: [{ type: "web_search" }] }, { tools: [{ type: "web_search_preview" }] }],
  gemini: [{ tools: [{ googleSearch: {} }] }],
} satisfies Record<Style, object[]>;

const plain = {
  messages: { messages: [{ role: "user", content: "hi" }], max_tokens: 50 },
  chat: { messages: [{ role: "user", content: "hi" }], max_tokens: 50 },
  responses: { input: "hi", max_output_tokens: 50 },
  gemini: {
    contents: [{ role: "user", parts: [{ text: "hi" }] }],
    generationConfig: { maxOutputTokens: 50 },
  },
} satisfies Record<Style, object>;

function pathOf(style: Style, model: string, stream: boolean): string {
  switch (style) {
    case "messages":
      return "/v1/messages";
    case "chat":
      return "/v1/chat/completions";
    case "responses":
      return "/v1/responses";
    case "gemini":
      return `/v1beta/models/${model}:${
        stream ? "streamGenerateContent?alt=sse" : "generateContent"
      }`;
  }
}

/** A request as the provider got it. */
interface Asked {
  readonly style: Style;
  readonly isSearcher: boolean;
  readonly body: Record<string, unknown>;
}
type Plan = (asked: Asked) => JsonObject | Response | Promise<Response> | undefined;

/** An answer that calls the search and says nothing. */
function callingSilently(style: Style, args: JsonObject): JsonObject {
  const text = JSON.stringify(calling(style, [["web_search", args]]));
  const silent: Json = JSON.parse(text.replace('"Let me look."', '""'));
  assert(isJsonObject(silent));
  return silent;
}

/** A gateway whose provider answers in the style of each request, and searches where it is asked to. */
async function openWorld(
  searcher: Style,
  webSearchModel: string | undefined,
  creditVnd = usualCreditVnd,
  { change, ...options }: Pick<TestGatewayOptions, "time" | "timer"> & {
    /** Changes the file of the gateway. */
    readonly change?: (file: GatewayFile) => object;
  } = {},
) {
  const events = { headers: { "content-type": "text/event-stream" } };
  let plan: Plan = () => undefined;
  const provider = mockProvider(async (request) => {
    const style = styleOf(request.path);
    const isStream = /streamGenerate/.test(request.path) ||
      (style !== "gemini" && request.json()["stream"] === true);
    const isSearcher = `${request.path} ${request.json()["model"]}`.includes("vendor-searcher");
    const planned = await plan({ style, isSearcher, body: request.json() });
    if (planned instanceof Response) return planned;
    if (planned !== undefined) {
      return isStream ? new Response(answerFrames(style, planned), events) : Response.json(planned);
    }
    const answer = { searches: isSearcher ? 1 : 0 };
    return isStream
      ? new Response(streamOf(style, answer), events)
      : Response.json(answerOf(style, answer));
  });
  const gateway = await openTestGateway({
    env: { PROVIDER_KEY: "provider-secret-1234567890" },
    file: () => {
      const given = file(provider.port, searcher, webSearchModel);
      return change?.(given) ?? given;
    },
    ...options,
  });
  const { key, accountId } = await gateway.customer(creditVnd);
  const open = async (
    caller: Style,
    model: string,
    stream: boolean,
    body: object,
    ownKey = key,
  ) =>
    await gateway.fetch(apiPost(`http://gateway${pathOf(caller, model, stream)}`, ownKey, {
      ...(caller === "gemini" ? {} : { model, stream }),
      ...plain[caller],
      ...body,
    }, { "x-goog-api-key": ownKey }));
  return {
    gateway,
    provider,
    accountId,
    /** Sets what the provider answers; `undefined`: a text, from the search model with a search. */
    plan(next: Plan) {
      plan = next;
    },
    open,
    async send(caller: Style, model: string, stream: boolean, body: object, ownKey = key) {
      const response = await open(caller, model, stream, body, ownKey);
      const text = await response.text();
      return { status: response.status, headers: response.headers, text };
    },
    async receipts() {
      return (await listReceipts(gateway.kv, accountId, { limit: 200 })).receipts;
    },
    async spentMicroVnd() {
      const balance = await gateway.assembled.gateway.wallet.balance(accountId);
      assertEquals(balance.reservedMicroVnd, 0n);
      const verified = await verifyStore(gateway.kv);
      assert(verified.ok, JSON.stringify(verified.problems));
      return BigInt(creditVnd) * 1_000_000n - balance.totalMicroVnd;
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

function messageOf(text: string): string {
  const body: Json = JSON.parse(text);
  const error = isJsonObject(body) && isJsonObject(body["error"]) ? body["error"] : {};
  return String(error["message"]);
}

Deno.test("a request for nothing but a search is answered by the search model: one call, one receipt", async () => {
  for (const searcher of styles) {
    await using world = await openWorld(searcher, "searcher-alias");
    let calls = 0n;
    for (const caller of styles) {
      for (const [i, body] of only[caller].entries()) {
        for (const target of styles) {
          const stream = (i + styles.indexOf(target)) % 2 === 0;
          const name = `${caller} to ${target}, searched by ${searcher}, ${JSON.stringify(body)}`;
          const { status, headers, text } = await world.send(
            caller,
            `plain-${target}`,
            stream,
            body,
          );
          assertEquals(status, 200, `${name}: ${text}`);
          assert(text.includes("is the capital."), `${name}: ${text}`);
          assertEquals(headers.get("x-gateway-model"), "searcher", name);
          assertEquals(headers.get("x-gateway-model-mapped-from"), `plain-${target}`, name);
          calls++;
        }
      }
    }
    assert(world.provider.seen.every(({ path }) => styleOf(path) === searcher));
    const receipts = await world.receipts();
    assertEquals(BigInt(receipts.length), calls);
    for (const { model, mappedFrom, costMicroVnd } of receipts) {
      assertEquals([model, costMicroVnd], ["searcher", searchMicroVnd]);
      assert(mappedFrom?.startsWith("plain-"), mappedFrom);
    }
    assertEquals(await world.spentMicroVnd(), calls * searchMicroVnd);
  }
});

Deno.test("without a search model the refusal names the setting, and costs nothing", async () => {
  await using world = await openWorld("messages", undefined);
  for (const caller of styles) {
    for (const target of styles) {
      for (const stream of [false, true]) {
        const name = `${caller} to ${target}`;
        const [body = {}] = only[caller];
        const { status, text } = await world.send(caller, `plain-${target}`, stream, body);
        // An option of Chat is dropped by name where no route takes it.
        if (caller === "chat" && target !== "chat") {
          assertEquals(status, 200, `${name}: ${text}`);
          continue;
        }
        assertEquals(status, 400, `${name}: ${text}`);
        assert(messageOf(text).includes("webSearchModel"), `${name}: ${text}`);
      }
    }
  }
  const free = (await world.receipts()).filter(({ outcome }) => outcome === "failed");
  assert(free.every(({ costMicroVnd }) => costMicroVnd === 0n));
});

Deno.test("other requests keep their model: no search, a tool that is not to be called, a search of its own", async () => {
  await using world = await openWorld("messages", "searcher");
  const search = only.messages[0]?.tools ?? [];
  const cases: [string, object, string][] = [
    ["plain-messages", {}, "plain-messages"],
    ["plain-chat", { tools: search, tool_choice: { type: "none" } }, "plain-chat"],
    ["searcher", { tools: search }, "searcher"],
  ];
  for (const [model, body, served] of cases) {
    const { status, headers, text } = await world.send("messages", model, false, body);
    assertEquals([status, headers.get("x-gateway-model")], [200, served], text);
    assertEquals(headers.get("x-gateway-model-mapped-from"), null);
  }
});

Deno.test("a catalogue names a search model that is there and can search", () => {
  const problemsOf = (webSearchModel: string, searcher: object = searchModel("messages")) => {
    const { models, ...rest } = file(1, "messages", webSearchModel);
    const text = JSON.stringify({ ...rest, models: [...models.slice(0, -1), searcher] });
    return readGatewayFile(text).problems;
  };
  assertEquals(problemsOf("searcher"), []);
  for (const name of ["nowhere", "plain-chat"]) {
    const [problem = "none", ...others] = problemsOf(name);
    assert(problem.startsWith(`gateway.json webSearchModel: `), problem);
    assert(problem.includes(`"${name}"`), problem);
    assertEquals(others, []);
  }
  const withoutOption = { ...searchModel("chat"), routes: [route("chat", "m")] };
  assertEquals(problemsOf("searcher", withoutOption).length, 1);
});

const schema = { type: "object", properties: { x: { type: "string" } } };
/** A search beside a function of the client. */
const beside = {
  messages: {
    tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 2 }, {
      name: "f",
      input_schema: schema,
    }],
  },
  chat: {
    web_search_options: {},
    tools: [{ type: "function", function: { name: "f", parameters: schema } }],
  },
  responses: {
    tools: [{ type: "web_search", filters: { allowed_domains: ["example.com"] } }, {
      type: "function",
      name: "f",
      parameters: schema,
    }],
  },
  gemini: {
    tools: [{ googleSearch: {} }, { functionDeclarations: [{ name: "f", parameters: schema }] }],
  },
} satisfies Record<Style, object>;

/** What an answer shows of the search in each style. */
const shown: Record<Style, readonly string[]> = {
  messages: ['"server_tool_use"', '"web_search_tool_result"', "ugw1_req_", "https://example.com"],
  chat: ["url_citation", "https://example.com"],
  responses: ['"web_search_call"', "capital of Vietnam", "https://example.com"],
  gemini: ["groundingChunks", "https://example.com"],
};

/** Reads an answer as a client does that accepts nothing but its vendor's own form. */
function acceptStrictly(style: Style, text: string, stream: boolean): void {
  if (stream) {
    const outcome = readStream(style, new TextEncoder().encode(text));
    assertEquals(outcome.kind, "answer", text);
    return;
  }
  const body: Json = JSON.parse(text);
  assert(isJsonObject(body));
  readWhole(style, body);
}

/** A limit of output that leaves room for many rounds. */
const manyTokens = {
  messages: { max_tokens: 1_000 },
  chat: { max_tokens: 1_000 },
  responses: { max_output_tokens: 1_000 },
  gemini: { generationConfig: { maxOutputTokens: 1_000 } },
} satisfies Record<Style, object>;

const endedForLength =
  /"(?:stop_reason":"max_tokens|finish_reason":"length|reason":"max_output_tokens|finishReason":"MAX_TOKENS)"/;

const roundMicroVnd = 30_000n;
const query: JsonObject = { query: "capital of Vietnam" };

/** Whether a request has the result of a search. */
const hasResult = ({ body }: Asked) => JSON.stringify(body).includes("https://example.com");

Deno.test("beside other tools the model decides when to search: rounds of one call, searches with own receipts", async () => {
  await using world = await openWorld("messages", "searcher");
  let spent = 0n;
  for (const caller of styles) {
    for (const target of styles) {
      for (const stream of [false, true]) {
        const name = `${caller} to ${target}, ${stream ? "streamed" : "whole"}`;
        const seen: Asked[] = [];
        world.plan((asked) => {
          if (asked.isSearcher) return undefined;
          seen.push(asked);
          return hasResult(asked) ? undefined : calling(asked.style, [["web_search", query]]);
        });
        const before = (await world.receipts()).length;
        const usage = caller === "chat" && stream
          ? { stream_options: { include_usage: true } }
          : {};
        const { status, headers, text } = await world.send(caller, `plain-${target}`, stream, {
          ...beside[caller],
          ...usage,
        });
        assertEquals(status, 200, `${name}: ${text}`);
        acceptStrictly(caller, text, stream);
        for (const part of ["Let me look.", "is the capital.", ...shown[caller]]) {
          assert(text.includes(part), `${name}: no ${part} in ${text}`);
        }
        assertEquals(headers.get("x-gateway-model"), `plain-${target}`, name);
        assertEquals(headers.get("x-gateway-conversion"), null, name);
        assertEquals(seen.map(({ style }) => style), [target, target], name);
        for (const { style, body } of seen) {
          // The Gemini style has the model in the path.
          const sent: Json = JSON.parse(JSON.stringify({ model: "m", ...body }));
          assert(isJsonObject(sent));
          assertEquals(validateRequest(style, sent), undefined, name);
        }
        const [main, search, ...others] = (await world.receipts()).slice(
          0,
          (await world.receipts()).length - before,
        ).toSorted((a, b) => a.model.localeCompare(b.model));
        assertEquals(others, [], name);
        assertEquals([main?.model, search?.model], [`plain-${target}`, "searcher"], name);
        assertEquals([main?.costMicroVnd, search?.costMicroVnd], [
          2n * roundMicroVnd,
          searchMicroVnd,
        ], name);
        assertEquals([main?.usage?.output, main?.estimated], [40, false], name);
        spent += 2n * roundMicroVnd + searchMicroVnd;
      }
    }
  }
  assertEquals(await world.spentMicroVnd(), spent);
});

type World = Awaited<ReturnType<typeof openWorld>>;

/** The receipts since `before` ones, that of the main call first. */
async function receiptsSince(world: World, before: number) {
  const all = await world.receipts();
  return all.slice(0, all.length - before).toSorted((a, b) => a.model.localeCompare(b.model));
}

/** The answer of the main model until it has read what matches. */
function searchingUntil(read: RegExp, calls: readonly [string, JsonObject][]): Plan {
  return ({ style, isSearcher, body }) =>
    isSearcher || read.test(JSON.stringify(body)) ? undefined : calling(style, calls);
}

Deno.test("a model that searches and calls a tool of the client gets both: the answer ends with the client's call", async () => {
  await using world = await openWorld("chat", "searcher");
  for (const caller of styles) {
    for (const stream of [false, true]) {
      world.plan(searchingUntil(/example\.com/, [["web_search", query], ["f", { x: "y" }]]));
      const before = (await world.receipts()).length;
      // Without a bound of domains, which the request itself would hold.
      const body = caller === "responses"
        ? { tools: [{ type: "web_search" }, ...beside.responses.tools.slice(1)] }
        : beside[caller];
      const { status, text } = await world.send(caller, "plain-messages", stream, body);
      assertEquals(status, 200, text);
      assert(/tool_use|tool_calls|function_call|functionCall/.test(text), text);
      assert(!text.includes("is the capital."), text);
      const [main, search, ...others] = await receiptsSince(world, before);
      assertEquals([main?.costMicroVnd, search?.costMicroVnd, others.length], [
        roundMicroVnd,
        searchMicroVnd,
        0,
      ]);
    }
  }
});

interface Bound {
  readonly max_uses?: number;
  readonly max_tokens?: number;
}

Deno.test("searches of one answer are bounded by the client, by the gateway, and by the tokens that are left", async () => {
  await using world = await openWorld("messages", "searcher");
  const f = beside.messages.tools.slice(1);
  const cases: [Bound, searches: number, rounds: number, stop: string][] = [
    // The last round may not search; a model that does all the same has answered.
    [{ max_uses: 2 }, 2, 4, "end_turn"],
    [{ max_uses: 0 }, 0, 2, "end_turn"],
    [{}, 5, 7, "end_turn"],
    [{ max_uses: 99 }, 10, 12, "end_turn"],
    [{ max_uses: 9, max_tokens: 70 }, 3, 3, "max_tokens"],
  ];
  for (const [bound, searches, rounds, stop] of cases) {
    for (const stream of [false, true]) {
      let count = 0;
      world.plan(({ style, isSearcher }) => {
        if (isSearcher) return undefined;
        return calling(style, [["web_search", { query: `q${count++}` }]]);
      });
      const before = (await world.receipts()).length;
      const { max_tokens = 1_000, ...tool } = bound;
      const tools = [{ type: "web_search_20250305", name: "web_search", ...tool }, ...f];
      const body = { tools, max_tokens };
      const { status, text } = await world.send("messages", "plain-chat", stream, body);
      assertEquals(status, 200, text);
      assert(text.includes(`"stop_reason":"${stop}"`), text);
      const receipts = await receiptsSince(world, before);
      const name = JSON.stringify(bound);
      assertEquals(receipts[0]?.costMicroVnd, BigInt(rounds) * roundMicroVnd, name);
      assertEquals(receipts.length - 1, searches, name);
    }
  }
  await world.spentMicroVnd();
});

Deno.test("a search that fails is told to model and client, and costs nothing", async () => {
  await using world = await openWorld("messages", "searcher");
  for (const caller of styles) {
    for (const stream of [false, true]) {
      world.plan(({ style, isSearcher, body }) => {
        if (isSearcher) return new Response("{}", { status: 500 });
        return /search failed/.test(JSON.stringify(body))
          ? undefined
          : calling(style, [["web_search", query]]);
      });
      const before = (await world.receipts()).length;
      const { status, text } = await world.send(caller, "plain-chat", stream, beside[caller]);
      assertEquals(status, 200, text);
      assert(text.includes("is the capital."), text);
      if (caller === "messages") assert(text.includes("web_search_tool_result_error"), text);
      const [main, search, ...others] = await receiptsSince(world, before);
      assertEquals([main?.costMicroVnd, search?.outcome, search?.costMicroVnd, others.length], [
        2n * roundMicroVnd,
        "failed",
        0n,
        0,
      ]);
    }
  }
  await world.spentMicroVnd();
});

Deno.test("a search that the wallet cannot pay beside the running call fails alone", async () => {
  // 100,000 tokens are reserved for what a search adds to a prompt: 100 VND at the asked model, 200 at the other.
  await using world = await openWorld("messages", "searcher", 150);
  world.plan(searchingUntil(/search failed: .*balance/i, [["web_search", query]]));
  for (const [i, stream] of [false, true].entries()) {
    const { status, text } = await world.send("messages", "plain-chat", stream, beside.messages);
    assertEquals(status, 200, text);
    assert(text.includes("web_search_tool_result_error") && text.includes("is the capital."), text);
    const receipts = await world.receipts();
    assertEquals(receipts.map(({ model }) => model), Array(i + 1).fill("plain-chat"));
  }
  assertEquals(await world.spentMicroVnd(), 4n * roundMicroVnd);
});

Deno.test("the words of a search are output: a stream ends when its wallet cannot pay for more of them", async () => {
  const pieceChars = 500;
  const pieces = 80;
  const piece = (text: string) => ({
    choices: [{
      index: 0,
      delta: { tool_calls: [{ index: 0, function: { arguments: text } }] },
      finish_reason: null,
    }],
  });
  const call = { id: "c", type: "function", function: { name: "web_search", arguments: "" } };
  const chunks = [
    {
      choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...call }] }, finish_reason: null }],
    },
    piece('{"query":"'),
    ...Array.from({ length: pieces }, () => piece("x".repeat(pieceChars))),
    piece('"}'),
    { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
    { choices: [], usage: { prompt_tokens: 10, completion_tokens: pieces * pieceChars } },
  ];
  const body = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
  // Besides what is reserved for the prompt, this pays for a quarter of the output.
  await using world = await openWorld("messages", "searcher", 115);
  world.plan(({ isSearcher }) =>
    isSearcher
      ? undefined
      : new Response(body, { headers: { "content-type": "text/event-stream" } })
  );
  const { accountId } = world;
  const { status, text } = await world.send("messages", "plain-chat", true, {
    ...beside.messages,
    max_tokens: 100_000,
  });
  assertEquals(status, 200, text);
  assert(text.includes('"stop_reason":"max_tokens"'), text);
  const { receipts } = await listReceipts(world.gateway.kv, accountId, { limit: 9 });
  assertEquals(
    receipts.map(({ model, outcome, shortfallMicroVnd }) => [model, outcome, shortfallMicroVnd]),
    [
      ["plain-chat", "cut", 0n],
    ],
  );
  await world.spentMicroVnd();
});

Deno.test("a search does not wait for the money that its own call holds", async () => {
  // Timers end only when the test says so: a search that waited would wait for ever.
  const time = new ManualTime(Date.UTC(2026, 10, 20, 5, 30, 30));
  await using world = await openWorld("messages", "searcher", 150, { time, timer: time });
  const limits = { dailyLimitMicroVnd: 150_000_000n };
  const { key } = await world.gateway.customer(usualCreditVnd, limits);
  world.plan(searchingUntil(/search failed/i, [["web_search", query]]));
  for (const ownKey of [undefined, key]) {
    for (const stream of [false, true]) {
      const { status, text } = await world.send(
        "messages",
        "plain-chat",
        stream,
        beside.messages,
        ownKey,
      );
      assertEquals(status, 200, text);
      assert(text.includes("web_search_tool_result_error"), text);
      assert(text.includes("is the capital."), text);
    }
  }
});

Deno.test("a slow search starts no second route, and is no fault of the model that waits for it", async () => {
  const time = new ManualTime(Date.UTC(2026, 10, 20, 5, 30, 30));
  const searchMs = 60_000;
  const withTimeout = (file: GatewayFile) => ({
    ...file,
    providers: {
      p: { ...file.providers.p, timeouts: { firstOutputMs: searchMs / 2 } },
      q: file.providers.p,
    },
    models: file.models.map((model) =>
      model.id === "searcher"
        ? { ...model, routes: model.routes.map((route) => ({ ...route, provider: "q" })) }
        : { ...model, routes: [...model.routes, { ...model.routes[0], model: "second" }] }
    ),
  });
  await using world = await openWorld("messages", "searcher", usualCreditVnd, {
    time,
    timer: time,
    change: withTimeout,
  });
  for (const caller of styles) {
    for (const target of styles) {
      const models: unknown[] = [];
      const searching = Promise.withResolvers<void>();
      const answering = Promise.withResolvers<Response>();
      world.plan((asked) => {
        if (asked.isSearcher) {
          searching.resolve();
          return answering.promise;
        }
        models.push(asked.body["model"]);
        return hasResult(asked) ? undefined : callingSilently(asked.style, query);
      });
      const answer = world.send(caller, `plain-${target}`, true, beside[caller]);
      await searching.promise;
      for (let ms = 0; ms < searchMs; ms += 1_000) {
        time.advance(1_000);
        await nextTurn();
      }
      answering.resolve(Response.json(answerOf("messages", { searches: 1 })));
      const { status, text } = await answer;
      const name = `${caller} to ${target}: ${text}`;
      assertEquals(status, 200, name);
      assert(text.includes("is the capital."), name);
      assertEquals(models.filter((model) => model === "second"), [], name);
    }
  }
});

Deno.test("the rates of long prompts are those of a long round, not of all rounds together", async () => {
  const longPrompt = { aboveTokens: 200_000, vndPerMtok: 2_000 };
  await using world = await openWorld("messages", "searcher", usualCreditVnd, {
    change: (file) => ({
      ...file,
      models: file.models.map((model) => ({
        ...model,
        contextWindow: 1_000_000,
        price: { ...model.price, longPrompt },
      })),
    }),
  });
  const output = 20;
  for (const caller of styles) {
    for (const stream of [false, true]) {
      for (const [promptTokens, vndPerMtok] of [[150_000, 1_000], [250_000, 2_000]] as const) {
        const usage = {
          prompt_tokens: promptTokens,
          completion_tokens: output,
          total_tokens: promptTokens + output,
        };
        world.plan((asked) => {
          if (asked.isSearcher) return undefined;
          const answer = hasResult(asked)
            ? answerOf("chat", {})
            : calling("chat", [["web_search", query]]);
          return { ...answer, usage };
        });
        const before = (await world.receipts()).length;
        const { status, text } = await world.send(caller, "plain-chat", stream, beside[caller]);
        const name = `${caller}, ${stream ? "streamed" : "whole"}, ${promptTokens}`;
        assertEquals(status, 200, `${name}: ${text}`);
        const [main] = await receiptsSince(world, before);
        assertEquals(main?.costMicroVnd, BigInt(2 * (promptTokens + output) * vndPerMtok), name);
      }
    }
  }
  await world.spentMicroVnd();
});

Deno.test("no round begins that the wallet or the key cannot pay: the answer ends for length", async () => {
  await using world = await openWorld("messages", "searcher");
  const { wallet } = world.gateway.assembled.gateway;
  const usage = { prompt_tokens: 140_000, completion_tokens: 20, total_tokens: 140_020 };
  const payers = {
    wallet: () => world.gateway.customer(260),
    key: () => world.gateway.customer(usualCreditVnd, { dailyLimitMicroVnd: 260_000_000n }),
    neither: () => world.gateway.customer(usualCreditVnd),
  };
  for (const caller of styles) {
    for (const stream of [false, true]) {
      for (const [bound, customer] of Object.entries(payers)) {
        const name = `${caller}, ${stream ? "streamed" : "whole"}, bound by ${bound}`;
        const { accountId, key } = await customer();
        let rounds = 0;
        world.plan(({ isSearcher, body }) => {
          if (isSearcher) return undefined;
          rounds++;
          if (JSON.stringify(body).includes("No more searches")) return undefined;
          return { ...calling("chat", [["web_search", { query: `q${rounds}` }]]), usage };
        });
        const body = {
          ...beside[caller],
          ...manyTokens[caller],
          ...(caller === "chat" && stream && { stream_options: { include_usage: true } }),
        };
        const { status, text } = await world.send(caller, "plain-chat", stream, body, key);
        assertEquals(status, 200, `${name}: ${text}`);
        acceptStrictly(caller, text, stream);
        const isPaid = bound === "neither";
        assertEquals(rounds > 1, isPaid, name);
        assertEquals(
          endedForLength.test(text),
          !isPaid,
          name,
        );
        const { receipts } = await listReceipts(world.gateway.kv, accountId, { limit: 50 });
        const main = receipts.find(({ model }) => model === "plain-chat");
        assertEquals(main?.shortfallMicroVnd, 0n, name);
        if (!isPaid) assertEquals(main?.costMicroVnd, 140_020_000n, name);
        assertEquals((await wallet.balance(accountId)).reservedMicroVnd, 0n, name);
      }
    }
  }
});

Deno.test("a later round that fails ends the answer with its error; no more is charged than was used", async () => {
  await using world = await openWorld("messages", "searcher");
  for (const caller of styles) {
    for (const stream of [false, true]) {
      world.plan((asked) => {
        if (asked.isSearcher) return undefined;
        if (hasResult(asked)) return new Response("{}", { status: 500 });
        return calling(asked.style, [["web_search", query]]);
      });
      const before = (await world.receipts()).length;
      const { status, text } = await world.send(caller, "plain-chat", stream, beside[caller]);
      assertEquals(status, stream ? 200 : 502, text);
      assert(text.includes("error"), text);
      const receipts = await receiptsSince(world, before);
      const [main, ...searches] = receipts;
      assertEquals(main?.model, "plain-chat");
      assert((main?.costMicroVnd ?? -1n) <= roundMicroVnd, `${caller}: ${main?.costMicroVnd}`);
      if (!stream) assertEquals(main?.costMicroVnd, 0n);
      // A route that is tried again gets what was found.
      assertEquals(searches.map(({ costMicroVnd }) => costMicroVnd), [searchMicroVnd]);
    }
  }
  await world.spentMicroVnd();
});

Deno.test("a forced search is forced once, a function of its name keeps it, and earlier searches are read as text", async () => {
  await using world = await openWorld("messages", "searcher");
  for (const target of styles) {
    const names: string[] = [];
    const seen: string[] = [];
    world.plan(({ style, isSearcher, body }) => {
      if (isSearcher) return undefined;
      const text = JSON.stringify(body);
      seen.push(text);
      const offered = /"(gateway_web_search)"/.exec(text)?.[1] ?? "none";
      names.push(offered);
      return text.includes("https://example.com") ? undefined : calling(style, [[offered, query]]);
    });
    const { status, headers, text } = await world.send("messages", `plain-${target}`, true, {
      tools: [
        { type: "web_search_20250305", name: "web" },
        { name: "web_search", input_schema: schema },
      ],
      tool_choice: { type: "tool", name: "web" },
      messages: [
        { role: "user", content: "hi" },
        {
          role: "assistant",
          content: [
            {
              type: "server_tool_use",
              id: "srvtoolu_1",
              name: "web_search",
              input: { query: "q" },
            },
            {
              type: "web_search_tool_result",
              tool_use_id: "srvtoolu_1",
              content: [{
                type: "web_search_result",
                url: "https://earlier.example",
                title: "Earlier",
                encrypted_content: "e",
                page_age: null,
              }],
            },
            { type: "text", text: "So." },
          ],
        },
        { role: "user", content: "and now?" },
      ],
    });
    assertEquals(status, 200, text);
    assertEquals(
      headers.get("x-gateway-conversion"),
      "dropped=messages.1.content.0,messages.1.content.1",
    );
    assert(text.includes("is the capital."), text);
    assertEquals(names, ["gateway_web_search", "gateway_web_search"], target);
    const [first = "", second = ""] = seen;
    assert(first.includes("https://earlier.example"), first);
    const forced = /"tool_choice":\{"type":"(?:tool|function)"|"allowedFunctionNames"/;
    assertEquals([forced.test(first), forced.test(second)], [true, false], target);
  }
});

Deno.test("rounds without a report of usage are estimated, and never cost less than was reported", async () => {
  await using world = await openWorld("messages", "searcher");
  const unreported = ({ usage: _, ...rest }: JsonObject) => rest;
  for (const stream of [false, true]) {
    for (const reported of [0, 1]) {
      world.plan((asked) => {
        if (asked.isSearcher) return undefined;
        if (hasResult(asked)) return unreported(answerOf("chat", {}));
        const first = calling(asked.style, [["web_search", query]]);
        return reported === 1 ? first : unreported(first);
      });
      const before = (await world.receipts()).length;
      const { status, text } = await world.send("messages", "plain-chat", stream, beside.messages);
      assertEquals(status, 200, text);
      const [main] = await receiptsSince(world, before);
      const cost = main?.costMicroVnd ?? 0n;
      assertEquals(main?.estimated, reported === 0);
      assert(reported === 1 ? cost >= roundMicroVnd : cost > 0n, String(cost));
    }
  }
});

Deno.test("a key that may not use the search model does not search with it", async () => {
  await using world = await openWorld("messages", "searcher");
  const { key } = await world.gateway.customer(usualCreditVnd, { allowedModels: ["plain-chat"] });
  for (const body of [beside.messages, ...only.messages]) {
    const { status, text } = await world.send("messages", "plain-chat", false, body, key);
    // Beside other tools a search that cannot run is dropped by name.
    assertEquals(status, body === beside.messages ? 200 : 400, text);
  }
  assert(
    world.provider.seen.every(({ body }) => !new TextDecoder().decode(body).includes("searcher")),
  );
});

Deno.test("a client that leaves during a search pays for what was produced, and nothing stays reserved", async () => {
  await using world = await openWorld("messages", "searcher");
  const searching = Promise.withResolvers<void>();
  const answering = Promise.withResolvers<Response>();
  world.plan(({ style, isSearcher }) => {
    if (!isSearcher) return calling(style, [["web_search", query]]);
    searching.resolve();
    return answering.promise;
  });
  const response = await world.open("messages", "plain-chat", true, beside.messages);
  const reader = response.body?.getReader();
  await reader?.read();
  await searching.promise;
  await reader?.cancel();
  answering.resolve(Response.json(answerOf("messages", { searches: 1 })));
  await until(async () => (await world.receipts()).length === 2, "two receipts");
  const [main, search] = await receiptsSince(world, 0);
  assertEquals([main?.outcome, main?.costMicroVnd], ["client_gone", roundMicroVnd]);
  assertEquals([search?.outcome, search?.costMicroVnd], ["completed", searchMicroVnd]);
  assertEquals(await world.spentMicroVnd(), roundMicroVnd + searchMicroVnd);
});
