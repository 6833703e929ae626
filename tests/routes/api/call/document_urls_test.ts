/** Documents that a client names by URL reach routes that take only their data; what cannot be fetched costs nothing. */
import { assert, assertEquals } from "../../../support/assert.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { type MediaWorldOptions, mockProvider, openMediaWorld } from "../gateway/media_world.ts";

const pdf = `%PDF-1.7\n${"x".repeat(100)}`;
const url = "https://files.example.com/plan.pdf";
const host = "files.example.com";

const answer: JsonObject = {
  id: "c",
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
};
const model = (...routes: JsonObject[]) => ({
  id: "reader",
  kind: "chat",
  family: "f",
  contextWindow: 100_000,
  maxOutputTokens: 1000,
  price: { unit: "token", vndPerMtok: 1000 },
  routes,
});

/** A file server behind a public name, and the world that reaches it. TLS is the driver's affair: http here. */
async function openWorld(port: number, file: string, more: MediaWorldOptions = {}) {
  const files = mockProvider(() => new Response(file));
  const world = await openMediaWorld({
    providers: { p1: port },
    models: [model({ provider: "p1", model: "m", style: "chat" })],
    names: { [host]: files.port },
    ...more,
  });
  return {
    files,
    world,
    [Symbol.asyncDispose]: async () => {
      await world[Symbol.asyncDispose]();
      await files[Symbol.asyncDispose]();
    },
  };
}

const named = (source: string): JsonObject => ({
  type: "document",
  title: "Plan.pdf",
  source: { type: "url", url: source },
});
const request = (content: JsonObject[], more: JsonObject = {}): JsonObject => ({
  model: "reader",
  max_tokens: 100,
  messages: [{ role: "user", content: [{ type: "text", text: "Read" }, ...content] }],
  ...more,
});
const plain = url.replace("https:", "http:");

Deno.test("a PDF by URL is sent as data to a route that takes only data, streamed or not", async () => {
  await using provider = mockProvider((asked) =>
    asked.json()["stream"] === true
      ? new Response(
        'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
        { headers: { "content-type": "text/event-stream" } },
      )
      : Response.json(answer)
  );
  await using opened = await openWorld(provider.port, pdf);
  const { world, files } = opened;
  const part = {
    type: "file",
    file: {
      filename: "Plan.pdf",
      file_data: `data:application/pdf;base64,${new TextEncoder().encode(pdf).toBase64()}`,
    },
  };
  for (const stream of [false, true]) {
    const response = await world.post("/v1/messages", request([named(plain)], { stream }));
    assertEquals(response.status, 200, await response.clone().text());
    await response.body?.cancel();
    const messages = provider.seen.at(-1)!.json()["messages"] as JsonObject[];
    assertEquals((messages[0]!.content as JsonObject[])[1], part);
  }
  assertEquals(files.seen.map(({ headers }) => headers.get("accept")), [
    "application/pdf",
    "application/pdf",
  ]);
  // Nothing of it is held any more.
  assertEquals(world.gateway.bodies.usedBytes, 0);
  const twice = await world.post("/v1/messages", request([named(plain), named(plain)]));
  await twice.body?.cancel();
  assertEquals(files.seen.length, 3);
});

Deno.test("a document that is not a PDF, too large or not public is an error that names its path, and is free", async () => {
  await using provider = mockProvider(() => Response.json(answer));
  const wrong: readonly (readonly [string, string])[] = [
    ["<html>", plain],
    [pdf, "http://127.0.0.1/a.pdf"],
    [`%PDF-${"x".repeat(20 * 1024 * 1024)}`, plain],
  ];
  for (const [file, source] of wrong) {
    await using opened = await openWorld(provider.port, file);
    const response = await opened.world.post("/v1/messages", request([named(source)]));
    const { error } = await response.json();
    assertEquals([response.status, error.type], [400, "invalid_request_error"], error.message);
    assert(error.message.startsWith("messages.0.content.1: "), error.message);
    assertEquals(await opened.world.balanceVnd(), 1_000_000);
  }
  assertEquals(provider.seen.length, 0);
});

Deno.test("at most eight documents are fetched for a call", async () => {
  await using provider = mockProvider(() => Response.json(answer));
  await using opened = await openWorld(provider.port, pdf);
  const many = Array.from({ length: 9 }, (_, i) => named(`${plain}?${i}`));
  const response = await opened.world.post("/v1/messages", request(many));
  const { error } = await response.json();
  assertEquals(response.status, 400);
  assert(error.message.startsWith("messages.0.content.9: "), error.message);
  assertEquals(opened.files.seen.length, 0);
});

Deno.test("a route that fetches itself gets the URL, and the gateway fetches nothing", async () => {
  const message = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [{ type: "text", text: "Hi" }],
    stop_reason: "end_turn",
    usage: { input_tokens: 3, output_tokens: 2 },
  };
  await using provider = mockProvider(() => Response.json(message));
  await using opened = await openWorld(provider.port, pdf, {
    models: [model({ provider: "p1", model: "m", style: "messages" })],
  });
  const content = [{ type: "text", text: "Read" }, { type: "file_url", file_url: { url } }];
  const response = await opened.world.post("/v1/chat/completions", {
    model: "reader",
    messages: [{ role: "user", content }],
  });
  assertEquals(response.status, 200, await response.clone().text());
  await response.body?.cancel();
  const messages = provider.seen.at(-1)!.json()["messages"] as JsonObject[];
  assertEquals((messages[0]!.content as JsonObject[])[1], {
    type: "document",
    source: { type: "url", url },
  });
  assertEquals(opened.files.seen.length, 0);
});

Deno.test("a picture by http is sent as data to a Messages model, one by https as its URL", async () => {
  const png = Uint8Array.fromBase64("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk");
  await using files = mockProvider(() => new Response(png));
  await using provider = mockProvider(() =>
    Response.json({
      id: "msg_1",
      type: "message",
      role: "assistant",
      content: [{ type: "text", text: "Hi" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 3, output_tokens: 2 },
    })
  );
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: [{ ...model({ provider: "p1", model: "m", style: "messages" }), vision: true }],
    names: { [host]: files.port },
  });
  const ask = (picture: string) =>
    world.post("/v1/chat/completions", {
      model: "reader",
      messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: picture } }] }],
    });
  for (const scheme of ["http", "https"]) {
    const response = await ask(`${scheme}://${host}/a.png`);
    assertEquals(response.status, 200, await response.text());
  }
  const sources = provider.seen.map((seen) => JSON.stringify(seen.json()["messages"]));
  assert(sources[0]?.includes(`"media_type":"image/png","data":"${png.toBase64()}"`), sources[0]);
  assert(sources[1]?.includes(`"source":{"type":"url","url":"https://${host}/a.png"}`), sources[1]);
  assertEquals([files.seen.length, world.gateway.bodies.usedBytes], [1, 0]);
});
