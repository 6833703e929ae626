import { assert, assertEquals } from "../../../../support/assert.ts";
import { Deadlines } from "../../../../../core/lib/time/deadlines.ts";
import { attemptsPerRoute } from "../../../../../core/calls/attempts/attempt_loop.ts";
import { ManualTime } from "../../../../support/manual_time.ts";
import { nextTurn } from "../../../../support/turns.ts";
import {
  errorOf,
  type MediaWorld,
  type MockProvider,
  mockProvider,
  openMediaWorld,
  type SeenRequest,
} from "../../gateway/media_world.ts";

const png = "iVBORw0KGgoAAAAA";
const event = "image_generation.completed";
const pictureEvent = `event: ${event}\ndata: {"type":"${event}","b64_json":"${png}"}\n\n`;

/** Answers what each endpoint asks for. */
function good({ path, json }: SeenRequest): Response {
  if (path.endsWith("/speech")) {
    return new Response("audio", { headers: { "content-type": "audio/mpeg" } });
  }
  if (path.endsWith("/videos")) return Response.json({ id: "up-1", status: "queued" });
  if (path.endsWith("/generations") && json()["stream"] === true) {
    return new Response(pictureEvent, { headers: { "content-type": "text/event-stream" } });
  }
  return Response.json({ created: 1, data: [{ b64_json: png }] });
}

/** A provider that takes requests and never answers, until the end of the test. */
function hungProvider(): MockProvider & { readonly reached: Promise<void> } {
  const release = Promise.withResolvers<Response>();
  const reached = Promise.withResolvers<void>();
  const provider = mockProvider(() => {
    reached.resolve();
    return release.promise;
  });
  return {
    port: provider.port,
    seen: provider.seen,
    reached: reached.promise,
    [Symbol.asyncDispose]: async () => {
      release.resolve(new Response());
      await provider[Symbol.asyncDispose]();
    },
  };
}

/** The answer of a call whose provider hangs, once more time has passed than the tests give it. */
async function outlasting(
  world: MediaWorld,
  hung: { readonly reached: Promise<void> },
  calling: Promise<Response>,
): Promise<Response> {
  await hung.reached;
  await world.advance(2 * patienceMs);
  return await calling;
}

/** How long the tests wait for a provider that hangs. */
const patienceMs = 150;

function models(more: Record<string, unknown> = {}) {
  const shared = {
    family: "test",
    routes: [{ provider: "p1" }, { provider: "p2", priority: 1 }],
    ...more,
  };
  return [
    { id: "image-t", kind: "image", price: { unit: "image", vnd: 1000 }, ...shared },
    { id: "speech-t", kind: "speech", price: { unit: "request", vnd: 1000 }, ...shared },
    {
      id: "video-t",
      kind: "video",
      price: { unit: "video", tiers: [{ fromSeconds: 1, toSeconds: 30, vnd: 1000 }] },
      videoRules: { profile: "A" },
      ...shared,
    },
  ];
}

const calls: Record<string, readonly [path: string, body: Record<string, unknown>]> = {
  "an image": ["/v1/images/generations", { model: "image-t", prompt: "x" }],
  "a streamed image": ["/v1/images/generations", { model: "image-t", prompt: "x", stream: true }],
  "an edit": ["/v1/images/edits", { model: "image-t", prompt: "x", image: png }],
  "speech": ["/v1/audio/speech", { model: "speech-t", input: "x", voice: "lan" }],
  "a video": ["/v1/videos", { model: "video-t", prompt: "x" }],
};

for (const [what, [path, body]] of Object.entries(calls)) {
  Deno.test(`${what} moves on from a provider that hangs, after its timeout`, async () => {
    await using hung = hungProvider();
    await using second = mockProvider(good);
    await using world = await openMediaWorld({
      providers: { p1: hung.port, p2: second.port },
      timeouts: { p1: { firstOutputMs: patienceMs } },
      models: models(),
    });
    const response = await outlasting(world, hung, world.post(path, body));
    assertEquals(response.status, 200, await response.text());
    assertEquals([hung.seen.length, second.seen.length], [1, 1]);
    const receipt = await world.receiptOf(response);
    assertEquals(receipt?.attempts.map(({ outcome }) => outcome), ["upstream_timeout", "ok"]);
    assertEquals(await world.balanceVnd(), 999_000);
  });
}

for (const what of ["a streamed image", "speech", "a video"]) {
  Deno.test(`${what} obeys the model's slowAfterMs`, async () => {
    const [path, body] = calls[what]!;
    await using hung = hungProvider();
    await using second = mockProvider(good);
    await using world = await openMediaWorld({
      providers: { p1: hung.port, p2: second.port },
      models: models({ slowAfterMs: patienceMs }),
    });
    const response = await outlasting(world, hung, world.post(path, body));
    assertEquals(response.status, 200, await response.text());
    assertEquals(second.seen.length, 1);
  });
}

Deno.test("when every provider hangs the answer is 504, and costs nothing", async () => {
  await using hung = hungProvider();
  await using last = hungProvider();
  await using world = await openMediaWorld({
    providers: { p1: hung.port, p2: last.port },
    timeouts: { p1: { firstOutputMs: patienceMs }, p2: { firstOutputMs: patienceMs } },
    models: models(),
  });
  const calling = outlasting(world, hung, world.post(...calls["an image"]!));
  const error = await errorOf(await outlasting(world, last, calling));
  assertEquals([error.status, error.type], [504, "timeout_error"]);
  assertEquals(await world.balanceVnd(), 1_000_000);
});

Deno.test("the client's own picture may take longer than the provider", async () => {
  const time = new ManualTime();
  await using pictures = mockProvider(() => {
    time.advance(2_000);
    return new Response(Uint8Array.fromBase64(png));
  });
  await using provider = mockProvider(good);
  await using world = await openMediaWorld({
    providers: { p1: provider.port, p2: provider.port },
    timeouts: { p1: { firstOutputMs: 1_000 } },
    models: models(),
    names: { "pics.example": pictures.port },
    deadlines: new Deadlines({ clock: time, timer: time }),
  });
  const body = { model: "image-t", prompt: "x", image_url: "http://pics.example/a.png" };
  const response = await world.post("/v1/images/edits", body);
  assertEquals(response.status, 200, await response.text());
  const receipt = await world.receiptOf(response);
  assertEquals(receipt?.attempts.map(({ outcome }) => outcome), ["ok"]);
});

Deno.test("a route whose keys are all refused is tried three times, not as often as it has keys", async () => {
  await using first = mockProvider(() => Response.json({ error: {} }, { status: 401 }));
  await using second = mockProvider(good);
  await using world = await openMediaWorld({
    providers: { p1: first.port, p2: second.port },
    secretsPerProvider: 8,
    models: models(),
  });
  const response = await world.post(...calls["an image"]!);
  assertEquals(response.status, 200, await response.text());
  assertEquals([first.seen.length, second.seen.length], [attemptsPerRoute, 1]);
  const keys = first.seen.map(({ headers }) => headers.get("authorization"));
  assertEquals(new Set(keys).size, keys.length, "each with another key");
});

Deno.test("a route that cannot carry the request is skipped; a URL that cannot be fetched is tried once", async () => {
  await using pictures = mockProvider(() => new Response("none", { status: 404 }));
  await using provider = mockProvider(good);
  const edits = (...facts: Record<string, unknown>[]) =>
    models({ routes: facts.map((own, i) => ({ provider: `p${i + 1}`, facts: own })) });
  const body = { model: "image-t", prompt: "x", image: "http://pics.example/a.png" };
  const open = (facts: Record<string, unknown>[]) =>
    openMediaWorld({
      providers: { p1: provider.port, p2: provider.port },
      models: edits(...facts),
      names: { "pics.example": pictures.port },
    });
  {
    await using world = await open([{}, {}]);
    const error = await errorOf(await world.post("/v1/images/edits", body));
    assertEquals([error.status, error.param], [400, "image"]);
    assertEquals([pictures.seen.length, provider.seen.length], [1, 0]);
  }
  await using world = await open([{}, { image_edits: "json" }]);
  const response = await world.post("/v1/images/edits", body);
  assertEquals(response.status, 200, await response.text());
  const { images } = provider.seen[0]!.json();
  assert(JSON.stringify(images).includes("pics.example"), "its provider fetches by itself");
});

Deno.test("without money, an error of the request that every route would find comes before the 402, and nothing is fetched", async () => {
  await using pictures = mockProvider(() => new Response("none", { status: 404 }));
  await using provider = mockProvider(good);
  const cut = `${png}A`;
  const remote = "http://pics.example/a.png";
  const videoAdapter = {
    submit: { path: "/v1/videos/all", fields: { model: "model", prompt: "prompt" }, id: "id" },
    poll: {
      path: "/v1/videos/{id}",
      state: "status",
      states: { done: "completed" },
    },
    content: { url: "url" },
  };
  const edit = { path: "/v1/images/edits", model: "image-t" };
  const video = { path: "/v1/videos", model: "video-t" };
  const cases: [string, Record<string, unknown>[], Record<string, unknown>, number][] = [
    ["broken base64", [{}, {}], { ...edit, image: cut }, 400],
    ["behind one that may be good", [{}, {}], { ...edit, images: [remote, cut] }, 400],
    ["one route takes it as text", [{}, { image_edits: "json" }], { ...edit, image: cut }, 402],
    ["what may be behind a URL", [{}, {}], { ...edit, image: remote }, 402],
    ["nothing wrong", [{}, {}], { ...edit, image: png }, 402],
    [
      "no place for it",
      [{ videoAdapter }, { videoAdapter }],
      { ...video, input_reference: png },
      400,
    ],
    ["a place at one", [{ videoAdapter }, {}], { ...video, input_reference: png }, 402],
  ];
  for (const [what, facts, { path, ...body }, status] of cases) {
    const routes = facts.map((own, i) => ({ provider: `p${i + 1}`, facts: own }));
    await using world = await openMediaWorld({
      providers: { p1: provider.port, p2: provider.port },
      models: models({ routes }).filter(({ id }) => id === body["model"]),
      names: { "pics.example": pictures.port },
      vnd: 0,
    });
    const error = await errorOf(await world.post(String(path), { prompt: "x", ...body }));
    assertEquals(error.status, status, `${what}: ${error.message}`);
    if (status === 400) assert(error.param?.startsWith("i"), `${what}: ${error.param}`);
  }
  assertEquals([pictures.seen.length, provider.seen.length], [0, 0]);
});

Deno.test("a streamed image may be silent for as long as the provider's timeout", async () => {
  const time = new ManualTime();
  const preview = pictureEvent.replaceAll("completed", "partial_image");
  const goOn = Promise.withResolvers<void>();
  await using provider = mockProvider(() => {
    const parts = [preview, pictureEvent];
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      async pull(controller) {
        const part = parts.shift();
        if (part === undefined) return controller.close();
        if (part === pictureEvent) await goOn.promise;
        controller.enqueue(new TextEncoder().encode(part));
      },
    }, { highWaterMark: 0 });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  await using world = await openMediaWorld({
    providers: { p1: provider.port, p2: provider.port },
    timeouts: { p1: { idleMs: 300_000 } },
    models: models(),
    deadlines: new Deadlines({ clock: time, timer: time }),
  });
  const response = await world.post(...calls["a streamed image"]!);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  assertEquals((await reader.read()).value, preview);
  const next = reader.read();
  await nextTurn();
  time.advance(299_000);
  goOn.resolve();
  let rest = "";
  for (let piece = await next; !piece.done; piece = await reader.read()) rest += piece.value;
  assertEquals(rest.replaceAll(": keep-alive\n\n", ""), pictureEvent);
});
