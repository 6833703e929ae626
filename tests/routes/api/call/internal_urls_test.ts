import { assertEquals } from "../../../support/assert.ts";
import { mockProvider, openMediaWorld } from "../gateway/media_world.ts";

const chatModel = {
  id: "seeing",
  kind: "chat",
  family: "test",
  price: { unit: "token", vndPerMtok: 8_300 },
  contextWindow: 100_000,
  maxOutputTokens: 10_000,
  vision: true,
  routes: [{ provider: "p1", style: "chat", model: "m" }],
};

const parts: readonly ((url: string) => object)[] = [
  (url) => ({ type: "image_url", image_url: { url } }),
  (url) => ({ type: "image_url", image_url: url }),
  (url) => ({ type: "file", file: { file_data: url } }),
  (url) => ({ type: "video_url", video_url: { url } }),
];

Deno.test("internal URLs never reach a provider, and nothing is charged", async () => {
  await using provider = mockProvider(() =>
    Response.json({
      choices: [{
        index: 0,
        message: { role: "assistant", content: "A cat" },
        finish_reason: "stop",
      }],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    })
  );
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: [chatModel],
    names: { "pictures.example": 1 },
  });
  const ask = (part: object) =>
    world.post("/v1/chat/completions", {
      model: "seeing",
      max_tokens: 9,
      messages: [{ role: "user", content: [{ type: "text", text: "What?" }, part] }],
    });
  const before = await world.balanceVnd();
  const inside = [
    "http://127.0.0.1/a.png",
    "http://0x7f000001/",
    "https://[::1]/a.png",
    "http://169.254.169.254/latest/meta-data",
    "https://localhost/a.png",
    "https://inside.example/a.png",
    "file:///etc/passwd",
    "ht\ttp://127.0.0.1/",
    "//inside.example/a.png",
    "gopher://pictures.example/",
  ];
  for (const url of inside) {
    for (const part of parts) {
      const response = await ask(part(url));
      const { error } = await response.json();
      assertEquals([response.status, error.type], [400, "invalid_request_error"], url);
      assertEquals(error.param, "messages.0.content.1");
    }
  }
  assertEquals([provider.seen.length, await world.balanceVnd()], [0, before]);
  for (const part of parts) {
    assertEquals((await ask(part("https://pictures.example/a.png"))).status, 200);
  }
  // Text that names a URL, sources and data are nobody's to fetch.
  for (
    const part of [
      { type: "text", text: "http://127.0.0.1/" },
      { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } },
    ]
  ) {
    assertEquals((await ask(part)).status, 200);
  }
});

/** Requests of the other endpoints that forward members which the gateway does not know. */
const otherEndpoints: readonly (readonly [path: string, kind: string, body: object])[] = [
  ["/v1/images/generations", "image", { prompt: "A cat" }],
  ["/v1/audio/speech", "speech", { input: "Hi", voice: "lan" }],
  ["/v1/embeddings", "embedding", { input: "Hi" }],
  ["/v1/rerank", "rerank", { query: "Hi", documents: ["http://127.0.0.1/ is text"] }],
  ["/v1/moderations", "moderation", { input: "Hi" }],
  ["/v1/completions", "completion", { prompt: "Hi", max_tokens: 5 }],
];

Deno.test("internal URLs in members that are forwarded unread reach no provider of any kind", async () => {
  await using provider = mockProvider(() => new Response(null, { status: 500 }));
  const price = { unit: "request", vnd: 100 };
  const prices: Record<string, object> = {
    image: { unit: "image", vnd: 100 },
    completion: chatModel.price,
    embedding: { unit: "token", vndPerMtok: 100 },
  };
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: otherEndpoints.map(([, kind]) => ({
      id: kind,
      kind,
      family: "test",
      price: prices[kind] ?? price,
      ...(kind === "completion" && { contextWindow: 10_000, maxOutputTokens: 1_000 }),
      routes: [{ provider: "p1", model: "m" }],
    })),
    names: { "pictures.example": 1 },
  });
  for (const [path, kind, body] of otherEndpoints) {
    for (const url of ["ht\ttp://127.0.0.1/", "//169.254.169.254/", "https://inside.example/"]) {
      const response = await world.post(path, { model: kind, ...body, reference: [{ url }] });
      const { error } = await response.json();
      assertEquals([response.status, error.param], [400, "reference.0.url"], `${path} ${url}`);
    }
    assertEquals(provider.seen.length, 0);
  }
  for (const [path, kind, body] of otherEndpoints) {
    const before = provider.seen.length;
    const reference = "https://pictures.example/a.png";
    await (await world.post(path, { model: kind, ...body, reference })).body?.cancel();
    assertEquals(provider.seen.length > before, true, path);
  }
});

Deno.test("a provider that counts tokens gets no internal URL either", async () => {
  await using provider = mockProvider(() => Response.json({ input_tokens: 7 }));
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: [{
      ...chatModel,
      routes: [{ provider: "p1", style: "messages", model: "m", countTokens: true }],
    }],
    names: { "pictures.example": 1 },
  });
  const count = (url: string) =>
    world.post("/v1/messages/count_tokens", {
      model: "seeing",
      messages: [{ role: "user", content: [{ type: "image", source: { type: "url", url } }] }],
    });
  for (const url of ["http://10.0.0.1/", "https://inside.example/", "fi\tle:///etc/passwd"]) {
    const response = await count(url);
    await response.body?.cancel();
    assertEquals([response.status, provider.seen.length], [400, 0], url);
  }
  const response = await count("https://pictures.example/a.png");
  assertEquals([await response.json(), provider.seen.length], [{ input_tokens: 7 }, 1]);
});
