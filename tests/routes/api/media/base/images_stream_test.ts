import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { Deadlines } from "../../../../../core/lib/time/deadlines.ts";
import { keepAliveMs } from "../../../../../core/calls/stream/metered_stream.ts";
import { ManualTime } from "../../../../support/manual_time.ts";
import { errorOf, mockProvider, openMediaWorld } from "../../gateway/media_world.ts";

const encoder = new TextEncoder();
const png = "iVBORw0KGgoAAAAA";

function model(more: Record<string, unknown> = {}) {
  return {
    id: "image-t",
    kind: "image",
    family: "test",
    price: { unit: "image", vnd: 1000 },
    routes: [{ provider: "p1" }],
    ...more,
  };
}

function pictures(count: number): Response {
  return Response.json({
    created: 1,
    data: Array.from({ length: count }, () => ({ b64_json: png })),
    usage: { input_tokens: 5, output_tokens: 100, total_tokens: 105 },
  });
}

const preview =
  'event: image_generation.partial_image\ndata: {"type":"image_generation.partial_image",' +
  `"b64_json":"${png}","partial_image_index":0}\n\n`;
const finished = 'event: image_generation.completed\ndata: {"type":"image_generation.completed",' +
  `"b64_json":"${png}"}\n\n`;

function streamOf(parts: readonly string[], end: "close" | "break" | "open") {
  let at = 0;
  return new Response(
    new ReadableStream({
      pull(controller) {
        const part = parts[at++];
        if (part !== undefined) return controller.enqueue(encoder.encode(part));
        if (end === "close") controller.close();
        else if (end === "break") controller.error(new Error("cut"));
        else return new Promise(() => {});
      },
    }),
    { headers: { "content-type": "text/event-stream" } },
  );
}

Deno.test("image streams are relayed as they arrive and charged by how they end", async () => {
  let answer = () => streamOf([preview, finished], "close");
  await using provider = mockProvider(() => answer());
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model()] });
  const post = (n = 1) =>
    world.post("/v1/images/generations", { model: "image-t", prompt: "x", n, stream: true });
  let balance = 1_000_000;

  const whole = await post();
  assertEquals(whole.headers.get("content-type"), "text/event-stream; charset=utf-8");
  assertEquals(whole.headers.get("x-gateway-cost-vnd"), null);
  assertEquals(await whole.text(), preview + finished);
  balance -= 1_000;
  assertEquals(await world.balanceVnd(), balance);

  answer = () => streamOf([preview, finished, preview], "break");
  const text = await (await post(2)).text();
  assert(text.startsWith(preview + finished) && text.includes("event: error\n"), text);
  balance -= 1_000;
  assertEquals(await world.balanceVnd(), balance, "one of two came before the break");

  answer = () => streamOf([preview], "break");
  assert((await (await post()).text()).includes("event: error\n"));
  assertEquals(await world.balanceVnd(), balance, "half a picture is free");

  answer = () => streamOf([preview], "open");
  const left = await post();
  const reader = left.body!.getReader();
  assert((await reader.read()).value !== undefined);
  await reader.cancel();
  balance -= 1_000;
  assertEquals(await world.balanceVnd(), balance, "who leaves after a preview pays for it");
});

/** The data of the events of a stream of images. */
function eventsOf(text: string): Record<string, unknown>[] {
  return text.split("\n\n").slice(0, -1).map((event) => {
    const [name, data, ...more] = event.split("\n");
    assertEquals(more, [], event);
    const value = JSON.parse(data!.slice("data: ".length));
    assertEquals(name, `event: ${value.type}`);
    return value;
  });
}

Deno.test("pictures of a provider that ignores the request for a stream are sent as events, and charged", async () => {
  const usage = { input_tokens: 5, output_tokens: 100, total_tokens: 105 };
  const about = { created: 7, size: "1024x1024", quality: "low", background: null };
  let data: unknown[] = [];
  await using provider = mockProvider(() =>
    // With line breaks, as some servers write it.
    new Response(JSON.stringify({ ...about, data, usage }, null, 2), {
      headers: { "content-type": "application/json" },
    })
  );
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model()] });
  const post = (path: string, n: number) =>
    world.post(path, { model: "image-t", prompt: "x", n, stream: true, image: png });
  let balance = 1_000_000;
  const event = (type: string, more: object) => ({
    created_at: 7,
    size: "1024x1024",
    quality: "low",
    background: null,
    type,
    ...more,
  });

  data = [{ type: "image", b64_json: png, revised_prompt: "a\nb" }, { b64_json: null }, {
    url: "u",
  }];
  const response = await post("/v1/images/generations", 2);
  assertEquals([response.status, response.headers.get("content-type")], [
    200,
    "text/event-stream; charset=utf-8",
  ]);
  const type = "image_generation.completed";
  assertEquals(eventsOf(await response.text()), [
    event(type, { b64_json: png, revised_prompt: "a\nb" }),
    event(type, { url: "u", usage }),
  ]);
  balance -= 2_000;
  assertEquals(await world.balanceVnd(), balance);
  const receipt = await world.receiptOf(response);
  assertEquals([receipt?.units, receipt?.outcome, receipt?.attempts.length], [2, "completed", 1]);

  const edit = await post("/v1/images/edits", 1);
  const [one, ...rest] = eventsOf(await edit.text());
  assertEquals([one?.["type"], rest], ["image_edit.completed", []], "no more than asked for");
  balance -= 1_000;
  assertEquals(await world.balanceVnd(), balance);

  for (data of [[], [png]]) {
    const error = await errorOf(await post("/v1/images/generations", 1));
    assertEquals([error.status, error.type], [502, "api_error"]);
  }
  assertEquals(await world.balanceVnd(), balance);
});

Deno.test("a client that leaves after all pictures arrived at once pays for all; a stopped call pays for those sent", async () => {
  await using provider = mockProvider(() => pictures(3));
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model()] });
  const post = () =>
    world.post("/v1/images/generations", { model: "image-t", prompt: "x", n: 3, stream: true });
  const left = await post();
  await left.body?.cancel();
  assertEquals((await world.receiptOf(left))?.outcome, "client_gone");
  assertEquals(await world.balanceVnd(), 997_000);
  const stopped = await post();
  world.gateway.calls.stopAll();
  const text = await stopped.text();
  assertEquals(text.match(/event: .*/g), [
    "event: image_generation.completed",
    "event: image_generation.completed",
    "event: error",
  ]);
  assertEquals(await world.balanceVnd(), 995_000);
});

Deno.test("the first preview of a stream may be a large picture", async () => {
  const large = preview.replace(png, "A".repeat(3 * 1024 * 1024));
  await using provider = mockProvider(() => streamOf([large, finished], "close"));
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model()] });
  const body = { model: "image-t", prompt: "x", stream: true, partial_images: 1 };
  const response = await world.post("/v1/images/generations", body);
  assertEquals(response.status, 200);
  assert(await response.text() === large + finished, "byte for byte");
});

Deno.test("a client that leaves a stream before its first picture stops the provider and pays nothing", async () => {
  const asked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<Response>();
  await using provider = mockProvider(() => {
    asked.resolve();
    return release.promise;
  });
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model()] });
  const leaving = new AbortController();
  const answer = world.send("/v1/images/generations", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "image-t", prompt: "x", stream: true }),
    signal: leaving.signal,
  });
  await asked.promise;
  leaving.abort();
  const response = await answer;
  await response.body?.cancel();
  assertEquals((await world.receiptOf(response))?.outcome, "client_gone");
  assertEquals([await world.balanceVnd(), world.gateway.calls.count], [1_000_000, 0]);
  release.resolve(pictures(1));
});

Deno.test("if the client leaves before a route is tried, no provider is called", async () => {
  let asked = 0;
  await using provider = mockProvider(() => {
    asked++;
    return streamOf([preview, finished], "close");
  });
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model()] });
  const response = await world.send("/v1/images/generations", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "image-t", prompt: "x", stream: true }),
    signal: AbortSignal.abort(),
  });
  await response.body?.cancel();
  assertEquals((await world.receiptOf(response))?.outcome, "client_gone");
  assertEquals([asked, await world.balanceVnd(), world.gateway.calls.count], [0, 1_000_000, 0]);
});

Deno.test("a provider's error in plain text is passed on as its error, and not logged", async () => {
  const failure = "event: error\ndata: a red fox was refused\n\n";
  await using provider = mockProvider(() => streamOf([preview, failure], "close"));
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model()] });
  const body = { model: "image-t", prompt: "a red fox", n: 1, stream: true };
  const response = await world.post("/v1/images/generations", body);
  assertStringIncludes(await response.text(), "a red fox was refused");
  assertEquals(await world.balanceVnd(), 1_000_000);
  assertEquals(world.test.log.filter((line) => line.includes("fox")), []);
});

Deno.test("after 15 s without a picture the client gets its status and a keep-alive", async () => {
  const time = new ManualTime();
  const deadlines = new Deadlines({ clock: time, timer: time });
  let reached = Promise.withResolvers<void>();
  let release = Promise.withResolvers<Response>();
  await using provider = mockProvider(() => {
    reached.resolve();
    return release.promise;
  });
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: [model()],
    deadlines,
  });
  const post = async (stream: boolean) => {
    reached = Promise.withResolvers();
    release = Promise.withResolvers();
    const body = { model: "image-t", prompt: "x", stream, note: "long ".repeat(20_000) };
    const answer = world.post("/v1/images/generations", body);
    await reached.promise;
    time.advance(keepAliveMs + 100);
    if (stream) {
      await answer;
      assert(world.gateway.bodies.usedBytes > 100_000, "the next route needs the request");
    }
    return answer;
  };
  const sign = ": keep-alive\n\n";

  const whole = await post(true);
  assertEquals(whole.headers.get("content-type"), "text/event-stream; charset=utf-8");
  assertEquals(whole.headers.get("x-gateway-model"), "image-t");
  const reader = whole.body!.pipeThrough(new TextDecoderStream()).getReader();
  assertEquals((await reader.read()).value, sign);
  release.resolve(streamOf([preview, finished], "close"));
  let text = "";
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    text += piece.value;
  }
  assertEquals(text, preview + finished);
  assertEquals(world.gateway.bodies.usedBytes, 0);
  assertEquals(await world.balanceVnd(), 999_000);

  const plain = await post(true);
  release.resolve(pictures(1));
  assertEquals(eventsOf((await plain.text()).replace(sign, "")).length, 1);
  assertEquals(await world.balanceVnd(), 998_000);

  const failed = await post(true);
  release.resolve(new Response("x", { status: 500 }));
  assert((await failed.text()).startsWith(`${sign}event: error\ndata: `));
  const receipt = await world.receiptOf(failed);
  assertEquals([receipt?.status, receipt?.outcome, receipt?.units], [200, "failed", 0]);

  const left = await post(true);
  await left.body?.cancel();
  assertEquals((await world.receiptOf(left))?.outcome, "client_gone");
  release.resolve(pictures(1));

  const asked = post(false);
  await reached.promise;
  release.resolve(new Response("x", { status: 500 }));
  assertEquals((await errorOf(await asked)).status, 502, "not streamed, the status stays true");
  assertEquals([await world.balanceVnd(), world.gateway.calls.count], [998_000, 0]);
});
