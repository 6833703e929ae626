import * as fc from "../../../../support/property.ts";
import { assertEquals } from "../../../../support/assert.ts";
import { mockProvider, openMediaWorld } from "../../gateway/media_world.ts";

const models = [{
  id: "embed-t",
  kind: "embedding",
  family: "test",
  price: { unit: "token", vndPerMtok: 1_000_000 },
  routes: [
    { provider: "p1", priority: 0, model: "embed-up" },
    { provider: "p2", priority: 1, model: "embed-up" },
  ],
}];

const path = (operation: string) => `/v1beta/models/embed-t:${operation}`;
const content = (...texts: string[]) => ({ parts: texts.map((text) => ({ text })) });

const json = (text: string) =>
  new Response(text, { headers: { "content-type": "application/json" } });

Deno.test("embeddings of Gemini clients: numbers as the provider wrote them, in the order of the texts", async () => {
  let answer = "";
  await using provider = mockProvider(() => json(answer));
  await using world = await openMediaWorld({
    providers: { p1: provider.port, p2: provider.port },
    models,
  });
  const numbers = fc.array(
    fc.constantFrom("0.10", "-2e-7", "1.0E+3", "0", "12345678901234567890"),
    {
      minLength: 1,
      maxLength: 4,
    },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.string({ minLength: 1 }), numbers, fc.nat()), {
        minLength: 1,
        maxLength: 6,
      }),
      fc.boolean(),
      async (items, hasPlaces) => {
        const places = items.map(([, , sort], place) => ({ place, sort }));
        if (hasPlaces) places.sort((one, other) => one.sort - other.sort);
        const rows = places.map(({ place }) =>
          `{${hasPlaces ? `"index":${place},` : ""}"embedding":[${items[place]![1].join(", ")}]}`
        );
        answer = `{"model":"embed-up","data":[${rows.join()}],"usage":{"prompt_tokens":1}}`;
        const response = await world.post(path("batchEmbedContents"), {
          requests: items.map(([text]) => ({
            model: "models/embed-t",
            content: content(text.slice(0, 1), text.slice(1)),
          })),
        });
        const vectors = items.map(([, values]) => `{"values":[${values.join(", ")}]}`);
        assertEquals(await response.text(), `{"embeddings":[${vectors.join()}]}`);
        assertEquals(response.headers.get("x-gateway-cost-vnd"), "1");
        const sent = JSON.parse(new TextDecoder().decode(provider.seen.at(-1)!.body));
        assertEquals(sent, {
          model: "embed-up",
          input: items.map(([text]) => text),
          encoding_format: "float",
        });
      },
    ),
    { numRuns: 30 },
  );
});

Deno.test("a vector in base64 becomes numbers, and one that is none fails over, free", async () => {
  const base64 = new Uint8Array(new Float32Array([0.5, -2]).buffer).toBase64();
  const noNumbers = new Uint8Array(new Float32Array([0.5, NaN]).buffer).toBase64();
  let vectors: string[] = [];
  await using provider = mockProvider(() =>
    json(JSON.stringify({ data: [{ embedding: vectors.shift() }], usage: { prompt_tokens: 2 } }))
  );
  await using world = await openMediaWorld({
    providers: { p1: provider.port, p2: provider.port },
    models,
  });
  const ask = () => world.post(path("embedContent"), { content: content("a") });
  vectors = [noNumbers, base64];
  assertEquals(await (await ask()).json(), { embedding: { values: [0.5, -2] } });
  const before = await world.balanceVnd();
  vectors = [noNumbers, "@@@@"];
  const failed = await ask();
  assertEquals([failed.status, (await failed.json()).error.code], [502, 502]);
  assertEquals(await world.balanceVnd(), before);
});

Deno.test("what no other provider has is named, or refused, and wrong requests name their field", async () => {
  await using provider = mockProvider(() => json('{"data":[{"embedding":[1]}]}'));
  await using world = await openMediaWorld({
    providers: { p1: provider.port, p2: provider.port },
    models,
  });
  const body = {
    content: content("a"),
    taskType: "RETRIEVAL_QUERY",
    title: "T",
    output_dimensionality: 3,
  };
  const named = await world.post(path("embedContent"), body);
  assertEquals(named.status, 200, await named.text());
  assertEquals(named.headers.get("x-gateway-conversion"), "dropped=taskType,title");
  const sent = JSON.parse(new TextDecoder().decode(provider.seen.at(-1)!.body));
  assertEquals(sent.dimensions, 3);
  const strict = await world.send(path("embedContent"), {
    method: "POST",
    headers: { "content-type": "application/json", "x-gateway-strict": "true" },
    body: JSON.stringify(body),
  });
  assertEquals(strict.status, 400, await strict.text());

  const calls = provider.seen.length;
  const picture = { inlineData: { mimeType: "image/png", data: "AA==" } };
  const wrong: readonly (readonly [operation: string, body: unknown, field: string])[] = [
    ["embedContent", {}, "content"],
    ["embedContent", { content: "a" }, "content"],
    ["embedContent", { content: { parts: [picture] } }, "content.parts.0"],
    ["embedContent", { content: { parts: [{ text: "a", ...picture }] } }, "content.parts.0"],
    ["embedContent", { content: content("") }, "content.parts"],
    ["embedContent", { content: content("a"), model: "models/other" }, "model"],
    ["embedContent", { content: content("a"), outputDimensionality: 0 }, "outputDimensionality"],
    ["batchEmbedContents", { content: content("a") }, "requests"],
    ["batchEmbedContents", { requests: [1] }, "requests.0"],
    ["batchEmbedContents", { requests: [{ content: content("a") }, {}] }, "requests.1.content"],
    ["batchEmbedContents", {
      requests: [1, 2].map((outputDimensionality) => ({
        content: content("a"),
        outputDimensionality,
      })),
    }, "requests"],
    ["batchEmbedContents", {
      requests: Array.from({ length: 101 }, () => ({ content: content("a") })),
    }, "requests"],
  ];
  for (const [operation, body, field] of wrong) {
    const response = await world.post(path(operation), body);
    const { error } = await response.json();
    assertEquals([response.status, error.status], [400, "INVALID_ARGUMENT"], JSON.stringify(body));
    assertEquals(error.message.startsWith(`${field}: `), true, error.message);
  }
  assertEquals(provider.seen.length, calls);
});
