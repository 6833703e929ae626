import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "../../../../support/assert.ts";
import { Deadlines } from "../../../../../core/lib/time/deadlines.ts";
import { keepAliveMs } from "../../../../../core/calls/stream/metered_stream.ts";
import { chimeMp3Base64 } from "../../../../../sandbox/provider/media/assets/chime_mp3.ts";
import { ManualTime } from "../../../../support/manual_time.ts";
import {
  errorOf,
  mockProvider,
  openMediaWorld,
  type SeenRequest,
} from "../../gateway/media_world.ts";
import { nextTurn } from "../../../../support/turns.ts";

const audio = new Uint8Array(70_000).map((_, i) => (i * 7) % 256);

function models(...providers: string[]) {
  return [{
    id: "speech-t",
    kind: "speech",
    family: "test",
    price: { unit: "request", vnd: 1350 },
    routes: providers.map((provider, priority) => ({ provider, priority, model: "tts-up" })),
  }];
}

function audioResponse(contentType = "audio/mpeg", body: BodyInit = audio): Response {
  return new Response(body, { headers: { "content-type": contentType, "x-internal": "1" } });
}

function brokenAfter(bytes: number): ReadableStream<Uint8Array<ArrayBuffer>> {
  let sent = false;
  return new ReadableStream({
    pull(controller) {
      if (sent) return controller.error(new Error("cut"));
      sent = true;
      controller.enqueue(audio.slice(0, bytes));
    },
  });
}

const request = { model: "speech-t", input: "Xin chào", voice: "lan", speed: 1.25 };

Deno.test("audio is relayed byte for byte with its type, at one price", async () => {
  await using provider = mockProvider(() => audioResponse("audio/flac"));
  const world = await openMediaWorld({ providers: { p1: provider.port }, models: models("p1") });
  await using _ = world;
  const response = await world.post("/v1/audio/speech", { ...request, response_format: "flac" });
  assertEquals(await response.bytes(), audio);
  const { headers } = response;
  assertEquals(headers.get("content-type"), "audio/flac");
  assertEquals(headers.get("x-gateway-model"), "speech-t");
  assertEquals(headers.get("x-gateway-cost-vnd"), "1350");
  assertEquals(headers.get("x-gateway-price-vnd-per-request"), "1350");
  assertEquals([headers.get("x-gateway-price-vnd-per-mtok"), headers.get("x-internal")], [
    null,
    null,
  ]);
  assertEquals(await world.balanceVnd(), 1_000_000 - 1_350);
  const receipt = await world.receiptOf(response);
  assertEquals([receipt?.kind, receipt?.style, receipt?.units, receipt?.outcome], [
    "speech",
    "speech",
    1,
    "completed",
  ]);
  assertEquals(provider.seen[0]!.path, "/v1/audio/speech");
  assertEquals(provider.seen[0]!.json(), { ...request, response_format: "flac", model: "tts-up" });
});

Deno.test("audio with a generic type, or without one, is accepted", async () => {
  let headers: HeadersInit = {};
  await using provider = mockProvider(() => new Response(audio, { headers }));
  const world = await openMediaWorld({ providers: { p1: provider.port }, models: models("p1") });
  await using _ = world;
  const cases: [HeadersInit, string][] = [
    [{ "content-type": "binary/octet-stream" }, "binary/octet-stream"],
    [{}, "audio/mpeg"],
  ];
  for (const [said, told] of cases) {
    headers = said;
    const response = await world.post("/v1/audio/speech", request);
    assertEquals([response.status, response.headers.get("content-type")], [200, told]);
    assertEquals(await response.bytes(), audio);
  }
  assertEquals(await world.balanceVnd(), 1_000_000 - 2 * 1_350);
});

Deno.test("audio in many pieces stays intact though the driver reuses its buffer", async () => {
  await using world = await openMediaWorld();
  const response = await world.post("/v1/audio/speech", { model: "speech-1", input: "Xin chào" });
  assertEquals(await response.bytes(), Uint8Array.fromBase64(chimeMp3Base64.join("")));
});

Deno.test("errors are JSON although success is binary, cost nothing, and another route is tried if a route is at fault", async () => {
  const answers: (() => Response)[] = [];
  const next = (_: SeenRequest) => (answers.shift() ?? (() => audioResponse()))();
  await using first = mockProvider(next);
  await using second = mockProvider(() => audioResponse());
  const providers = { p1: first.port, p2: second.port };
  await using world = await openMediaWorld({ providers, models: models("p1", "p2") });
  const post = () => world.post("/v1/audio/speech", request);
  answers.push(() =>
    Response.json({ error: { type: "invalid_request_error", message: "voice: unknown" } }, {
      status: 400,
    })
  );
  const refused = await errorOf(await post());
  assertEquals([refused.status, refused.message], [400, "voice: unknown"]);
  assertEquals([second.seen.length, await world.balanceVnd()], [0, 1_000_000]);
  const faults = [
    () => new Response("x", { status: 503 }),
    () => Response.json({ error: { message: "broken" } }),
    () => audioResponse("audio/mpeg", ""),
    () => new Response("<html>", { headers: { "content-type": "text/html" } }),
  ];
  for (const [index, fault] of faults.entries()) {
    answers.push(fault);
    assertEquals(await (await post()).bytes(), audio);
    assertEquals(second.seen.length, index + 1, `fault ${index}`);
  }
  assertEquals(await world.balanceVnd(), 1_000_000 - 4 * 1_350);
});

Deno.test("audio that breaks off at the provider breaks the client's connection and is free", async () => {
  await using provider = mockProvider(() => audioResponse("audio/mpeg", brokenAfter(20_000)));
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models("p1"),
  });
  const response = await world.post("/v1/audio/speech", request);
  assertEquals(response.status, 200);
  await assertRejects(() => response.bytes());
  assertEquals(await world.balanceVnd(), 1_000_000);
  assertEquals((await world.receiptOf(response))?.outcome, "broken");
});

Deno.test("a client that leaves pays, and its provider is stopped", async () => {
  const stopped = Promise.withResolvers<void>();
  const endless = () =>
    new ReadableStream({
      pull: (controller) => controller.enqueue(audio),
      cancel: () => stopped.resolve(),
    });
  await using provider = mockProvider(() => audioResponse("audio/mpeg", endless()));
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models("p1"),
  });
  const response = await world.post("/v1/audio/speech", request);
  const reader = response.body!.getReader();
  assert((await reader.read()).value !== undefined);
  await reader.cancel();
  await stopped.promise;
  assertEquals(await world.balanceVnd(), 1_000_000 - 1_350);
  assertEquals((await world.receiptOf(response))?.outcome, "client_gone");
  assertEquals(world.gateway.calls.count, 0);
});

Deno.test("errors name the wrong field of the request; the wallet is unchanged", async () => {
  await using world = await openMediaWorld();
  const cases: [unknown, number, string | null][] = [
    [{ input: "x" }, 400, "model"],
    [{ model: "speech-1" }, 400, "input"],
    [{ model: "speech-1", input: "  " }, 400, "input"],
    [{ model: "speech-1", input: 7 }, 400, "input"],
    [{ model: "speech-1", input: "x".repeat(40_001) }, 400, "input"],
    [{ model: "image-1", input: "x" }, 400, "model"],
    [{ model: "nope", input: "x" }, 400, "model"],
  ];
  for (const [body, status, param] of cases) {
    const error = await errorOf(await world.post("/v1/audio/speech", body));
    assertEquals([error.status, error.param], [status, param], JSON.stringify(body).slice(0, 80));
  }
  const form = await world.send("/v1/audio/speech", { method: "POST", body: new FormData() });
  assertEquals((await errorOf(form)).status, 415);
  assertEquals(await world.balanceVnd(), 1_000_000);
});

const delta = 'data: {"type":"speech.audio.delta","audio":"AA=="}\n\n';
const done = 'data: {"type":"speech.audio.done","usage":{"total_tokens":7}}\n\n';
const asEvents = { ...request, stream_format: "sse" };
const eventStream = (body: BodyInit) => audioResponse("text/event-stream", body);

Deno.test("events instead of audio are relayed unchanged, without a cost header", async () => {
  await using provider = mockProvider(() => eventStream(delta + delta + done));
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models("p1"),
  });
  const response = await world.post("/v1/audio/speech", asEvents);
  assertEquals(await response.text(), delta + delta + done);
  assertEquals(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
  assertEquals(response.headers.get("x-gateway-cost-vnd"), null);
  assertEquals(await world.balanceVnd(), 1_000_000 - 1_350);
  const receipt = await world.receiptOf(response);
  assertEquals([receipt?.stream, receipt?.units, receipt?.outcome], [true, 1, "completed"]);
});

Deno.test("events: after an error before any speech the next route is tried; a later error or a cut is passed on and free", async () => {
  const failure = 'data: {"type":"error","error":{"message":"no voice today"}}\n\n';
  const answers = [failure, "", ": hello\n\n", delta + failure];
  await using first = mockProvider(() => {
    const next = answers.shift();
    return eventStream(next ?? brokenAfter(0));
  });
  await using second = mockProvider(() => eventStream(delta + done));
  const providers = { p1: first.port, p2: second.port };
  await using world = await openMediaWorld({ providers, models: models("p1", "p2") });
  for (let moved = 1; moved <= 3; moved++) {
    const response = await world.post("/v1/audio/speech", asEvents);
    assertEquals(await response.text(), delta + done);
    assertEquals([second.seen.length, await world.balanceVnd()], [moved, 1_000_000 - moved * 1350]);
  }
  // In one piece with its first audio the error is still in time.
  const late = await world.post("/v1/audio/speech", asEvents);
  assertEquals(await late.text(), delta + done);
  assertEquals(world.gateway.calls.count, 0);
});

Deno.test("events: a provider's error in plain text is passed on as its error, and not logged", async () => {
  const failure = "event: error\ndata: the fox cannot be read out\n\n";
  await using provider = mockProvider(() =>
    eventStream(ReadableStream.from([delta, failure]).pipeThrough(new TextEncoderStream()))
  );
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models("p1"),
  });
  const response = await world.post("/v1/audio/speech", asEvents);
  assertStringIncludes(await response.text(), "the fox cannot be read out");
  assertEquals(world.test.log.filter((line) => line.includes("fox")), []);
});

Deno.test("events that break off after some speech end with an error, and are free", async () => {
  const parts = [delta];
  const cut = () =>
    new ReadableStream<Uint8Array<ArrayBuffer>>({
      async pull(controller) {
        const part = parts.shift();
        if (part !== undefined) return controller.enqueue(new TextEncoder().encode(part));
        await nextTurn();
        controller.error(new Error("cut"));
      },
    }, { highWaterMark: 0 });
  await using provider = mockProvider(() => eventStream(cut()));
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models("p1"),
  });
  const response = await world.post("/v1/audio/speech", asEvents);
  assert((await response.text()).startsWith(`${delta}event: error\ndata: `));
  const receipt = await world.receiptOf(response);
  assertEquals([receipt?.outcome, receipt?.costMicroVnd], ["broken", 0n]);
});

/** The audio that a client hears in events. */
function heard(text: string): Uint8Array {
  const events = text.split("\n\n").filter((event) => event !== "")
    .map((event) => JSON.parse(event.replace(/^data: /, "")));
  assertEquals(events.pop(), { type: "speech.audio.done" });
  const pieces = events.map(({ type, audio }) => {
    assertEquals(type, "speech.audio.delta");
    return [...Uint8Array.fromBase64(audio)];
  });
  return Uint8Array.from(pieces.flat());
}

Deno.test("audio of a provider that ignores the request for events is sent as events", async () => {
  await using provider = mockProvider(() => audioResponse());
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models("p1"),
  });
  const response = await world.post("/v1/audio/speech", asEvents);
  assertEquals(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
  assertEquals(heard(await response.text()), audio);
  assertEquals(await world.balanceVnd(), 1_000_000 - 1_350);
});

Deno.test("after 15 s without speech a client that waits for events gets a keep-alive", async () => {
  const time = new ManualTime();
  let reached = Promise.withResolvers<void>();
  let release = Promise.withResolvers<Response>();
  await using provider = mockProvider(() => {
    reached.resolve();
    return release.promise;
  });
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models("p1"),
    deadlines: new Deadlines({ clock: time, timer: time }),
  });
  const post = async (body: Record<string, unknown>) => {
    reached = Promise.withResolvers();
    release = Promise.withResolvers();
    const answer = world.post("/v1/audio/speech", { ...body, note: "long ".repeat(20_000) });
    await reached.promise;
    time.advance(keepAliveMs + 100);
    return { answer };
  };
  const sign = ": keep-alive\n\n";
  const { bodies } = world.gateway;

  const events = await (await post(asEvents)).answer;
  assertEquals(events.headers.get("x-gateway-model"), "speech-t");
  assert(bodies.usedBytes > 100_000, "the next route needs the request");
  release.resolve(eventStream(delta + done));
  assertEquals(await events.text(), sign + delta + done);
  assertEquals([await world.balanceVnd(), bodies.usedBytes], [1_000_000 - 1_350, 0]);

  const plain = await (await post(asEvents)).answer;
  release.resolve(audioResponse());
  assertEquals(heard((await plain.text()).replace(sign, "")), audio);
  assertEquals(await world.balanceVnd(), 1_000_000 - 2 * 1_350);

  const failed = await (await post(asEvents)).answer;
  release.resolve(new Response("x", { status: 500 }));
  assert((await failed.text()).startsWith(`${sign}event: error\ndata: `));
  const receipt = await world.receiptOf(failed);
  assertEquals([receipt?.status, receipt?.outcome, receipt?.units], [200, "failed", 0]);

  const left = await (await post(asEvents)).answer;
  await left.body?.cancel();
  assertEquals((await world.receiptOf(left))?.outcome, "client_gone");
  release.resolve(audioResponse());

  const whole = await post(request);
  release.resolve(new Response("x", { status: 500 }));
  assertEquals((await errorOf(await whole.answer)).status, 502, "audio: the status stays true");
  assertEquals(await world.balanceVnd(), 1_000_000 - 2 * 1_350);
  assertEquals([world.gateway.calls.count, bodies.usedBytes], [0, 0]);
});
