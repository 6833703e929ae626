/** Clients of the Gemini style: native bytes, both forms of a stream, keys, what is refused, what is written down. */
import { assert, assertEquals } from "../../support/assert.ts";
import type { Json } from "../../../core/lib/json/json.ts";
import { responseOf } from "../../../core/net/http1/server/reply.ts";
import { serveHotPath } from "../../../routes/api/app.ts";
import { openTestGateway, servedBy } from "../../support/gateways/gateway_in_process.ts";
import { mockProvider } from "./gateway/media_world.ts";

const usageMetadata = { promptTokenCount: 30, candidatesTokenCount: 12, totalTokenCount: 42 };
const parts = ["Xin ", "chào"].map((text, i): Json => ({
  candidates: [{
    content: { role: "model", parts: [{ text }] },
    ...(i === 1 ? { finishReason: "STOP" } : {}),
    index: 0,
  }],
  usageMetadata,
  modelVersion: "vendor-9",
}));
const events = parts.map((part) => `data: ${JSON.stringify(part)}\r\n\r\n`).join("");
// Written as no serializer would: every byte but the name's comes back.
const whole =
  ` {"candidates" :[{"content":{"parts":[{"text":"Ch\\u00e0o"}],"role":"model"},"finishReason":"STOP"}],
  "modelVersion" : "vendor-9", "usageMetadata":${JSON.stringify(usageMetadata)} }`;
const chatAnswer = {
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 30, completion_tokens: 12, total_tokens: 42 },
};

async function openWorld() {
  const counts = { answer: () => Response.json({ totalTokens: 77, input_tokens: 88 }) };
  const provider = mockProvider(({ path }) => {
    if (/[:/]count_?tokens$/i.test(path)) return counts.answer();
    if (path.endsWith(":streamGenerateContent?alt=sse")) {
      return new Response(events, { headers: { "content-type": "text/event-stream" } });
    }
    return path.endsWith(":generateContent")
      ? new Response(whole, { headers: { "content-type": "application/json" } })
      : Response.json(chatAnswer);
  });
  const price = { unit: "token", vndPerMtok: 1_000_000 };
  const model = (id: string, style: string, more: object = {}) => ({
    id,
    kind: "chat",
    family: "test",
    price,
    contextWindow: 100_000,
    maxOutputTokens: 1_000,
    vision: true,
    routes: [{ provider: "p", style, model: "vendor-9" }],
    ...more,
  });
  const gateway = await openTestGateway(servedBy(provider, {
    defaultModel: "gem",
    models: [
      model("gem", "gemini", { aliases: ["a/b:free"] }),
      model("talk", "chat"),
      ...(["gemini", "messages"] as const).map((style) =>
        model(`counts-${style}`, style, {
          routes: [{ provider: "p", style, model: "vendor-9", countTokens: true }],
        })
      ),
    ],
  }, "x-goog-api-key"));
  const { key } = await gateway.customer(1_000_000);
  /** As the server does: calls go past the application's router, and everything else through it. */
  const serve = async (request: Request) => {
    const connection = { clientAddress: "127.0.0.1", isFirstOfConnection: false };
    const hot = serveHotPath(gateway.assembled.gateway, request, connection);
    return hot === undefined ? await gateway.fetch(request) : responseOf(await hot);
  };
  const asked = { contents: [{ role: "user", parts: [{ text: "hi" }] }] };
  return {
    key,
    gateway,
    seen: provider.seen,
    counts,
    ask: (
      path: string,
      body: object = asked,
      headers: Record<string, string> = { "x-goog-api-key": key },
    ) =>
      serve(
        new Request(`http://gateway${path}`, {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: JSON.stringify(body),
        }),
      ),
    get: (path: string, headers: Record<string, string> = { "x-goog-api-key": key }) =>
      gateway.fetch(new Request(`http://gateway${path}`, { headers })),
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a native call passes byte for byte, but for the model's name, and is charged", async () => {
  await using world = await openWorld();
  const body = {
    contents: [{ parts: [{ text: "hi" }] }],
    safetySettings: [],
    generation_config: { top_k: 4 },
  };
  const answer = await world.ask("/v1beta/models/gem:generateContent", body);
  assertEquals(await answer.text(), whole.replace("vendor-9", "gem"));
  assertEquals(answer.headers.get("x-gateway-cost-vnd"), "42");
  const [sent] = world.seen;
  assertEquals(sent?.path, "/v1beta/models/vendor-9:generateContent");
  assertEquals(new TextDecoder().decode(sent?.body), JSON.stringify(body));
  // A name with a slash and a colon, as aggregators have them.
  const named = await world.ask("/v1beta/models/a/b:free:generateContent");
  assertEquals((await named.json()).modelVersion, "a/b:free");
});

Deno.test("a stream comes as events or as one array, natively and from another style", async () => {
  await using world = await openWorld();
  const sse = await world.ask("/v1beta/models/gem:streamGenerateContent?alt=sse");
  assertEquals(sse.headers.get("content-type"), "text/event-stream; charset=utf-8");
  assertEquals(await sse.text(), events.replaceAll("vendor-9", "gem"));
  const array = await world.ask("/v1beta/models/gem:streamGenerateContent");
  assertEquals(array.headers.get("content-type"), "application/json");
  assertEquals(array.headers.get("x-gateway-cost-vnd"), null);
  const named = JSON.parse(JSON.stringify(parts).replaceAll("vendor-9", "gem"));
  assertEquals(await array.json(), named);
  const whole = await world.ask("/v1beta/models/talk:generateContent");
  const converted = await whole.json();
  assertEquals(converted.candidates[0].content.parts, [{ text: "Hi" }]);
  assertEquals(converted.usageMetadata.totalTokenCount, 42);
});

Deno.test("the key may be in either header or the query, which reaches no log and no error", async () => {
  await using world = await openWorld();
  const path = "/v1beta/models/gem:generateContent";
  for (
    const headers of [{ "x-goog-api-key": world.key }, { authorization: `Bearer ${world.key}` }]
  ) {
    assertEquals((await world.ask(path, undefined, headers)).status, 200);
  }
  assertEquals((await world.ask(`${path}?key=${world.key}`, undefined, {})).status, 200);
  assertEquals((await world.get(`/v1beta/models?key=${world.key}`, {})).status, 200);
  const wrong = await world.ask(`${path}?key=sk-wrong-key-1234`, undefined, {});
  assertEquals(wrong.status, 401);
  const text = await wrong.text();
  assert(text.includes('"status":"UNAUTHENTICATED"') && !text.includes("sk-wrong"), text);
  // Other paths know no key in the query.
  const other = await world.ask(`/v1/chat/completions?key=${world.key}`, {}, {});
  assertEquals(other.status, 401);
  await other.body?.cancel();
  for (const { path, headers } of world.seen) {
    assert(!path.includes(world.key) && headers.get("x-goog-api-key") !== world.key);
  }
});

Deno.test("a model in the body is allowed, means nothing, and reaches no provider", async () => {
  await using world = await openWorld();
  for (const model of ["gem", "models/gem", "models/other"]) {
    const body = { model, contents: [{ role: "user", parts: [{ text: "Hi" }] }] };
    const answer = await world.ask("/v1beta/models/gem:generateContent", body);
    assertEquals((await answer.json()).modelVersion, "gem");
    const sent = world.seen.at(-1)!;
    assert(sent.path.includes(":generateContent"));
    assertEquals(JSON.parse(new TextDecoder().decode(sent.body)), { contents: body.contents });
  }
});

Deno.test("errors have the vendor's shape", async () => {
  await using world = await openWorld();
  const errorOf = async (path: string, body: object) => {
    const answer = await world.ask(path, body);
    const { error } = await answer.json();
    assertEquals(error.code, answer.status);
    return [answer.status, error.status, error.details[0].reason];
  };
  const call = "/v1beta/models/gem:generateContent";
  assertEquals(await errorOf(call, {}), [400, "INVALID_ARGUMENT", "INVALID_REQUEST"]);
  assertEquals(await errorOf("/v1beta/models/gem:generateAnswer", {}), [
    404,
    "NOT_FOUND",
    "NOT_FOUND",
  ]);
  assertEquals(await errorOf("/v1beta/files", {}), [404, "NOT_FOUND", "NOT_FOUND"]);
  const long = { contents: "hi", stream: true };
  assertEquals(await errorOf(call, long), [400, "INVALID_ARGUMENT", "INVALID_REQUEST"]);
});

Deno.test("what is stored in the operator's account, and what costs more, is refused before it is sent", async () => {
  await using world = await openWorld();
  const user = (part: object) => ({ contents: [{ role: "user", parts: [part] }] });
  const file = (fileUri: string) => user({ fileData: { fileUri, mimeType: "image/png" } });
  const cases: [object, string][] = [
    [{ ...user({ text: "a" }), cachedContent: "cachedContents/1" }, "cachedContent"],
    [{ ...user({ text: "a" }), cached_content: "cachedContents/1" }, "cachedContent"],
    [file("https://generativelanguage.googleapis.com/v1beta/files/abc"), "fileUri"],
    [file("gs://bucket/a.png"), "fileUri"],
    [user({ file_data: { file_uri: "files/abc", mime_type: "image/png" } }), "fileUri"],
    [file("http://169.254.169.254/latest"), "public address"],
    [{ ...user({ text: "a" }), tools: [{ googleSearch: {} }] }, "tools.0.googleSearch"],
    [{ ...user({ text: "a" }), tools: [{ google_search: {} }] }, "tools.0.googleSearch"],
    [{ ...user({ text: "a" }), tools: [{ somethingNew: {} }] }, "tools.0"],
    [{ ...user({ text: "a" }), serviceTier: "priority" }, "serviceTier"],
    [
      { ...user({ text: "a" }), generationConfig: { responseModalities: ["IMAGE"] } },
      "responseModalities",
    ],
    [{ ...user({ text: "a" }), generationConfig: { candidateCount: 99 } }, "candidateCount"],
    [{ ...user({ text: "a" }), GenerationConfig: {} }, "generationConfig"],
  ];
  for (const [body, name] of cases) {
    const answer = await world.ask("/v1beta/models/gem:generateContent", body);
    const text = await answer.text();
    assertEquals(answer.status, 400, text);
    assert(text.includes(name), `${name}: ${text}`);
  }
  assertEquals(world.seen, []);
});

Deno.test("a member that is there twice reaches the provider as it was read", async () => {
  await using world = await openWorld();
  const answer = await world.gateway.fetch(
    new Request("http://gateway/v1beta/models/gem:generateContent", {
      method: "POST",
      headers: { "content-type": "application/json", "x-goog-api-key": world.key },
      body: '{"contents":[{"parts":[{"text":"a"}]}],' +
        '"generationConfig":{"candidateCount":8,"candidateCount":1, "maxOutputTokens":900,"maxOutputTokens":5}}',
    }),
  );
  assertEquals(answer.status, 200);
  await answer.body?.cancel();
  const sent = new TextDecoder().decode(world.seen[0]?.body);
  assert(sent.includes('"generationConfig":{"candidateCount":1,"maxOutputTokens":5}'), sent);
});

Deno.test("models are listed by their methods, and tokens counted as an estimate", async () => {
  await using world = await openWorld();
  const { models, nextPageToken } = await (await world.get("/v1beta/models?pageSize=2")).json();
  assertEquals(models.map(({ name }: { name: string }) => name), ["models/gem", "models/a/b:free"]);
  const next = await (await world.get(`/v1beta/models?pageSize=2&pageToken=${nextPageToken}`))
    .json();
  assertEquals(next.models.length, 2);
  const rest = await (await world.get(`/v1beta/models?pageToken=${next.nextPageToken}`)).json();
  assertEquals(rest.models.length, 1);
  assertEquals(rest.nextPageToken, undefined);
  assertEquals((await (await world.get("/v1beta/models/gem")).json()).outputTokenLimit, 1_000);
  const missing = await world.get("/v1beta/models/none");
  assertEquals([missing.status, (await missing.json()).error.status], [404, "NOT_FOUND"]);
  const body = {
    generateContentRequest: {
      model: "models/gem",
      contents: [{ parts: [{ text: "Hello, how are you?" }] }],
    },
  };
  const counted = await world.ask("/v1beta/models/gem:countTokens", body);
  assertEquals(counted.headers.get("x-gateway-estimate"), "true");
  assertEquals(counted.headers.get("x-gateway-cost-vnd"), "0");
  assertEquals((await counted.json()).totalTokens, 13);
});

const countOf = async (
  answer: Response,
) => [answer.headers.get("x-gateway-estimate"), await answer.json()];
const bodies = (world: Awaited<ReturnType<typeof openWorld>>) =>
  world.seen.map(({ path, body }) => [path, JSON.parse(new TextDecoder().decode(body))]);

Deno.test("a provider of the style counts the tokens, of a whole request too", async () => {
  await using world = await openWorld();
  const contents = [{ role: "user", parts: [{ text: "hi" }] }];
  const path = "/v1beta/models/counts-gemini:countTokens";
  assertEquals(await countOf(await world.ask(path, { contents })), [null, { totalTokens: 77 }]);
  const whole = {
    model: "models/counts-gemini",
    contents,
    system_instruction: { parts: [{ text: "x" }] },
  };
  const answer = await world.ask(path, { generate_content_request: whole });
  assertEquals(answer.headers.get("x-gateway-cost-vnd"), "0");
  assertEquals(await countOf(answer), [null, { totalTokens: 77 }]);
  const sent = { model: "models/vendor-9", contents };
  assertEquals(bodies(world), [
    ["/v1beta/models/vendor-9:countTokens", { generateContentRequest: sent }],
    ["/v1beta/models/vendor-9:countTokens", {
      generateContentRequest: { ...sent, systemInstruction: { parts: [{ text: "x" }] } },
    }],
  ]);
});

Deno.test("a prompt is counted by a provider of the other style, converted", async () => {
  await using world = await openWorld();
  const contents = [{ role: "user", parts: [{ text: "hi" }] }];
  const there = await world.ask("/v1beta/models/counts-messages:countTokens", { contents });
  assertEquals(await countOf(there), [null, { totalTokens: 88 }]);
  const body = { model: "counts-gemini", messages: [{ role: "user", content: "hi" }] };
  const back = await world.ask("/v1/messages/count_tokens", body);
  assertEquals(await countOf(back), [null, { input_tokens: 77 }]);
  assertEquals(bodies(world), [
    ["/v1/messages/count_tokens", {
      model: "vendor-9",
      messages: [{ role: "user", content: "hi" }],
    }],
    ["/v1beta/models/vendor-9:countTokens", {
      generateContentRequest: {
        model: "models/vendor-9",
        contents,
      },
    }],
  ]);
});

Deno.test("a counter that fails gives way to the estimate; its refusal is the client's", async () => {
  await using world = await openWorld();
  const path = "/v1beta/models/counts-gemini:countTokens";
  world.counts.answer = () => new Response("busy", { status: 503 });
  assertEquals((await countOf(await world.ask(path)))[0], "true");
  world.counts.answer = () => Response.json({ totalTokens: -1 });
  assertEquals((await countOf(await world.ask(path)))[0], "true");
  world.counts.answer = () =>
    Response.json({
      error: { code: 400, message: "vendor-9 has no such tool", status: "INVALID_ARGUMENT" },
    }, {
      status: 400,
    });
  const refused = await world.ask(path);
  const { error } = await refused.json();
  assertEquals([refused.status, error.status], [400, "INVALID_ARGUMENT"]);
  assert(error.message.includes("counts-gemini"), error.message);
  const sent = world.seen.length;
  const cached = { contents: [{ parts: [{ text: "hi" }] }], cachedContent: "cachedContents/1" };
  assertEquals((await world.ask(path, cached)).status, 400);
  assertEquals(world.seen.length, sent, "the operator's caches must not be reached");
});

Deno.test("calls are served alike by the server itself and by the application's router", async () => {
  await using world = await openWorld();
  const { gateway } = world.gateway.assembled;
  const connection = { clientAddress: "127.0.0.1", isFirstOfConnection: false };
  const request = (path: string, headers: Record<string, string>, body = '{"contents":"hi"}') =>
    new Request(`http://gateway${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    });
  const key = { "x-goog-api-key": world.key };
  const call = "/v1beta/models/gem:generateContent";
  const stream = "/v1beta/models/gem:streamGenerateContent";
  const cases:
    readonly (readonly [path: string, headers?: Record<string, string>, body?: string])[] = [
      [call],
      ["/v1/models/gem:generateContent"],
      ["/v1beta/models/a/b:free:generateContent"],
      [stream],
      [`${stream}?alt=sse`],
      [`${stream}?x=1&alt=%73se`],
      [`${call}?key=${world.key}`, {}],
      [`${call}?key=sk-wrong-key-1234`, {}],
      [call, {}],
      [call, key, "{"],
      ["/v1beta/models/talk:generateContent"],
    ];
  const whatIs = async (response: Response) => ({
    status: response.status,
    type: response.headers.get("content-type"),
    cost: response.headers.get("x-gateway-cost-vnd"),
    names: [...response.headers.keys()].toSorted(),
    text: (await response.text()).replaceAll(/req_\w+|"responseId":"[^"]*"/g, ""),
  });
  for (const [path, headers = key, body] of cases) {
    const hot = serveHotPath(gateway, request(path, headers, body), connection);
    assert(hot !== undefined, path);
    const cold = await world.gateway.fetch(request(path, headers, body));
    assertEquals(await whatIs(responseOf(await hot)), await whatIs(cold), path);
  }
  const others = [
    "/v1beta/models/gem:countTokens",
    "/v1beta/models/gem:generateAnswer",
    "/v1beta/models/g%65m:generateContent",
    "/v1beta//models/gem:generateContent",
    "/v2/models/gem:generateContent",
    "/v1beta/models/:generateContent",
  ];
  for (const path of others) {
    assertEquals(serveHotPath(gateway, request(path, key), connection), undefined, path);
  }
  const page = request(call, { ...key, origin: "https://page.example" });
  assertEquals(serveHotPath(gateway, page, connection), undefined);
});
