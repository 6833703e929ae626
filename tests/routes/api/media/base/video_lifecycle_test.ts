import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
} from "../../../../support/assert.ts";
import { verifyStore } from "../../../../../kv/services/verify/verify_books.ts";
import { createApp } from "../../../../../routes/server/listen/app.ts";
import { listenWith } from "../../../../support/gateways/listening_app.ts";
import {
  errorOf,
  type MediaWorld,
  mockProvider,
  openMediaWorld,
} from "../../gateway/media_world.ts";

const mp4 = new Uint8Array(5_000).map((_, i) => i % 251);

function model(more: Record<string, unknown> = {}) {
  return {
    id: "video-t",
    kind: "video",
    family: "test",
    price: { unit: "video", tiers: [{ fromSeconds: 1, toSeconds: 30, vnd: 3000 }] },
    videoRules: { profile: "A" },
    routes: [{ provider: "p1", ...more }],
  };
}

/** A provider of the standard dialect whose answers the test sets. */
function standardProvider() {
  const state = {
    video: { id: "up-1", status: "queued" } as Record<string, unknown>,
    poll: undefined as (() => Response) | undefined,
    cancel: () => Response.json({ deleted: true }),
    content: (_range: string | null): Response =>
      new Response(mp4, { headers: { "content-type": "video/mp4" } }),
  };
  const provider = mockProvider(({ method, path, headers }) => {
    if (method === "POST") return Response.json(state.video);
    if (method === "DELETE") return state.cancel();
    if (path.includes("/content")) return state.content(headers.get("range"));
    return state.poll?.() ?? Response.json(state.video);
  });
  return Object.assign(provider, { state });
}

async function created(world: MediaWorld): Promise<string> {
  const response = await world.post("/v1/videos", { model: "video-t", prompt: "x" });
  const { id } = await response.json();
  assertEquals(response.status, 200);
  return id;
}

async function completed(world: MediaWorld, provider: ReturnType<typeof standardProvider>) {
  const id = await created(world);
  provider.state.video = { id: "up-1", status: "completed" };
  await world.advance(1_100);
  await world.poll();
  return id;
}

async function remove(world: MediaWorld, id: string): Promise<Response> {
  return await world.send(`/v1/videos/${id}`, { method: "DELETE" });
}

async function assertBooks(world: MediaWorld): Promise<void> {
  await world.gateway.wallet.indexOnce();
  assertEquals((await verifyStore(world.gateway.kv)).problems, []);
}

Deno.test("DELETE of a task that had not started: cancelled at the provider, refunded once", async () => {
  await using provider = standardProvider();
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model()] });
  const id = await created(world);
  assertEquals(await world.balanceVnd(), 997_000);
  const response = await remove(world, id);
  assertEquals(await response.json(), {
    id,
    object: "video.deleted",
    deleted: true,
    status: "cancelled",
    refunded: true,
  });
  assertEquals(provider.seen.map(({ method, path }) => `${method} ${path}`), [
    "POST /v1/videos",
    "GET /v1/videos/up-1",
    "DELETE /v1/videos/up-1",
  ]);
  assertEquals(await world.balanceVnd(), 1_000_000);
  assertEquals((await (await world.send(`/v1/videos/${id}`)).json()).status, "cancelled");
  // The poll that was due finds an ended task and goes; the provider is not asked again.
  await world.advance(1_100);
  assertEquals(await world.poll(), 1);
  assertEquals(await world.poll(), 0);
  assertEquals(provider.seen.length, 3);
  // Again: what has ended is removed, without a second refund.
  assertEquals((await (await remove(world, id)).json()).refunded, true);
  assertEquals((await errorOf(await remove(world, id))).status, 404);
  assertEquals(await world.balanceVnd(), 1_000_000);
  await assertBooks(world);
});

Deno.test("DELETE of a task that had started at the provider: cancelled, the charge stays", async () => {
  await using provider = standardProvider();
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model()] });
  const id = await created(world);
  provider.state.video = { id: "up-1", status: "in_progress" };
  const body = await (await remove(world, id)).json();
  assertEquals([body.status, body.refunded], ["cancelled", false]);
  assertEquals(await world.balanceVnd(), 997_000);
  await assertBooks(world);
});

Deno.test("DELETE of a task that has just ended: refused with its state, and the end is stored", async () => {
  await using provider = standardProvider();
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model()] });
  const done = await created(world);
  provider.state.video = { id: "up-1", status: "completed" };
  assertEquals((await errorOf(await remove(world, done))).status, 400);
  assertEquals((await (await world.send(`/v1/videos/${done}`)).json()).status, "completed");

  const broken = await created(world);
  provider.state.video = { id: "up-1", status: "failed", error: { code: "x", message: "y" } };
  assertEquals((await errorOf(await remove(world, broken))).status, 400);
  assertEquals((await (await world.send(`/v1/videos/${broken}`)).json()).status, "failed");
  assertEquals(await world.balanceVnd(), 997_000, "one charged, one refunded");
  await assertBooks(world);
});

Deno.test("DELETE when the provider cannot be reached or refuses: nothing changes", async () => {
  await using provider = standardProvider();
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model()] });
  const id = await created(world);
  provider.state.poll = () => new Response("down", { status: 503 });
  assertEquals((await errorOf(await remove(world, id))).status, 502);
  provider.state.poll = undefined;
  provider.state.cancel = () => new Response("down", { status: 500 });
  assertEquals((await errorOf(await remove(world, id))).status, 502);
  provider.state.cancel = () => Response.json({ error: "too late" }, { status: 409 });
  assertEquals((await errorOf(await remove(world, id))).status, 400);
  assertEquals((await (await world.send(`/v1/videos/${id}`)).json()).status, "queued");
  assertEquals(await world.balanceVnd(), 997_000);
  provider.state.cancel = () => new Response(null, { status: 405 });
  const body = await (await remove(world, id)).json();
  assertEquals([body.status, body.refunded], ["cancelled", false], "it will be made all the same");
});

Deno.test("DELETE of a completed task removes it here and at the provider; money stays", async () => {
  await using provider = standardProvider();
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model()] });
  const id = await completed(world, provider);
  const calls = provider.seen.length;
  for (const query of ["", "?confirm=1", "?confirm="]) {
    const response = await world.send(`/v1/videos/${id}${query}`, { method: "DELETE" });
    const { status, param } = await errorOf(response);
    assertEquals([status, param], [400, "confirm"], query);
  }
  assertEquals(provider.seen.length, calls, "the file is paid, and a late cancel must not lose it");
  const read = await world.send(`/v1/videos/${id}`);
  assertEquals((await read.json()).status, "completed");
  const removed = await world.send(`/v1/videos/${id}?confirm=true`, { method: "DELETE" });
  for (const { headers } of [read, removed]) {
    assertEquals(
      [headers.get("x-gateway-model"), headers.get("x-gateway-price-vnd-per-request")],
      ["video-t", "3000"],
    );
  }
  const body = await removed.json();
  assertEquals([body.status, body.refunded, body.deleted], ["completed", false, true]);
  assertEquals(provider.seen.at(-1)?.method, "DELETE");
  assertEquals((await errorOf(await world.send(`/v1/videos/${id}`))).status, 404);
  assertEquals((await errorOf(await world.send(`/v1/videos/${id}/content`))).status, 404);
});

Deno.test("content: whole and in ranges, headers of the provider by an allow-list, free", async () => {
  await using provider = standardProvider();
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model()] });
  const id = await completed(world, provider);
  const balance = await world.balanceVnd();
  provider.state.content = (range) => {
    const base = { "content-type": "video/mp4", "set-cookie": "a=b", "x-internal": "secret" };
    if (range === "bytes=9999-") {
      return new Response(null, { status: 416, headers: { "content-range": "bytes */5000" } });
    }
    if (range === null) return new Response(mp4, { headers: { ...base, etag: '"e"' } });
    assertEquals(range, "bytes=10-19");
    const headers = { ...base, "content-range": "bytes 10-19/5000", "accept-ranges": "bytes" };
    return new Response(mp4.slice(10, 20), { status: 206, headers });
  };
  const get = (headers: HeadersInit = {}) => world.send(`/v1/videos/${id}/content`, { headers });
  const whole = await get();
  assertEquals([whole.status, whole.headers.get("etag")], [200, '"e"']);
  assertEquals(whole.headers.get("x-content-type-options"), "nosniff");
  assertEquals([whole.headers.get("set-cookie"), whole.headers.get("x-internal")], [null, null]);
  assertEquals(await whole.bytes(), mp4);
  const part = await get({ range: "bytes=10-19" });
  assertEquals([part.status, part.headers.get("content-range")], [206, "bytes 10-19/5000"]);
  assertEquals(await part.bytes(), mp4.slice(10, 20));
  const beyond = await get({ range: "bytes=9999-" });
  assertEquals([beyond.status, beyond.headers.get("content-range")], [416, "bytes */5000"]);
  await beyond.body?.cancel();
  const thumbnail = await world.send(`/v1/videos/${id}/content?variant=thumbnail`);
  await thumbnail.body?.cancel();
  assertEquals(provider.seen.at(-1)?.path, "/v1/videos/up-1/content?variant=thumbnail");
  assertEquals(provider.seen.at(-1)?.headers.get("authorization"), "Bearer secret-of-p1");
  const variant = await errorOf(await world.send(`/v1/videos/${id}/content?variant=x`));
  assertEquals([variant.status, variant.param], [400, "variant"]);
  assertEquals(await world.balanceVnd(), balance);
});

Deno.test("content: files with a generic type or none are served", async () => {
  await using provider = standardProvider();
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model()] });
  const id = await completed(world, provider);
  const cases: [said: string | undefined, variant: string, told: string][] = [
    ["binary/octet-stream", "video", "binary/octet-stream"],
    ["application/octet-stream", "thumbnail", "application/octet-stream"],
    [undefined, "video", "video/mp4"],
    [undefined, "thumbnail", "application/octet-stream"],
    [" Video/MP4; codecs=x", "video", "Video/MP4; codecs=x"],
  ];
  for (const [said, variant, told] of cases) {
    const headers = said === undefined ? undefined : { "content-type": said };
    provider.state.content = () => new Response(mp4, headers && { headers });
    const response = await world.send(`/v1/videos/${id}/content?variant=${variant}`);
    assertEquals([response.status, response.headers.get("content-type")], [200, told]);
    assertEquals(response.headers.get("x-content-type-options"), "nosniff");
    assertEquals(await response.bytes(), mp4);
  }
});

Deno.test("content: not ready, failed, gone, a page instead of a file, a provider that is down", async () => {
  await using provider = standardProvider();
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model()] });
  const early = await created(world);
  const tooEarly = await errorOf(await world.send(`/v1/videos/${early}/content`));
  assertEquals([tooEarly.status, tooEarly.message], [400, "The video is queued: it has no file"]);
  const id = await completed(world, provider);
  const cases: [() => Response, number][] = [
    [() => new Response("gone", { status: 404 }), 404],
    [() => new Response("signed link expired", { status: 403 }), 404],
    [() => Response.json({ error: "x" }), 502],
    [() => new Response("<script>", { headers: { "content-type": "text/html" } }), 502],
    [() => new Response("down", { status: 503 }), 502],
  ];
  for (const [content, status] of cases) {
    provider.state.content = content;
    assertEquals((await errorOf(await world.send(`/v1/videos/${id}/content`))).status, status);
  }
});

Deno.test("content stored elsewhere: redirects go to public addresses only and carry no credential", async () => {
  await using provider = standardProvider();
  await using store = mockProvider(({ path, headers }) => {
    if (path === "/hop") {
      return new Response(null, { status: 302, headers: { location: "/file?s=1" } });
    }
    const partial = headers.get("range") === "bytes=0-9";
    return new Response(partial ? mp4.slice(0, 10) : mp4, {
      status: partial ? 206 : 200,
      headers: { "content-type": "video/mp4" },
    });
  });
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: [model()],
    names: { "cdn.example": store.port },
  });
  const id = await completed(world, provider);
  const redirectTo = (location: string) => {
    provider.state.content = () => new Response(null, { status: 302, headers: { location } });
  };
  redirectTo("http://cdn.example/hop");
  const part = await world.send(`/v1/videos/${id}/content`, { headers: { range: "bytes=0-9" } });
  assertEquals([part.status, (await part.bytes()).length], [206, 10]);
  assertEquals(store.seen.map(({ path }) => path), ["/hop", "/file?s=1"]);
  for (const { headers } of store.seen) assertEquals(headers.get("authorization"), null);
  const inner = [
    "http://127.0.0.1/",
    "http://inner.example/x",
    "http://[::1]/",
    "ftp://cdn.example/",
  ];
  for (const location of [...inner, "http://cdn.example:22/"]) {
    redirectTo(location);
    const error = await errorOf(await world.send(`/v1/videos/${id}/content`));
    assertEquals(error.status, 502, location);
  }
  assertEquals(store.seen.length, 2);
});

Deno.test("a client that leaves a download closes it at the provider", async () => {
  await using provider = standardProvider();
  const upstreamClosed = Promise.withResolvers<void>();
  provider.state.content = () =>
    new Response(
      new ReadableStream({
        pull: (controller) => controller.enqueue(mp4),
        cancel: () => upstreamClosed.resolve(),
      }),
      { headers: { "content-type": "video/mp4" } },
    );
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model()] });
  const id = await completed(world, provider);
  const response = await world.send(`/v1/videos/${id}/content`);
  const reader = response.body!.getReader();
  assert((await reader.read()).value !== undefined);
  assertEquals(world.gateway.calls.count, 1);
  await reader.cancel();
  await upstreamClosed.promise;
  assertEquals(world.gateway.calls.count, 0);
});

Deno.test("HEAD of a file has its headers and leaves no connection open", async () => {
  await using provider = standardProvider();
  let upstreamClosed = Promise.withResolvers<void>();
  provider.state.content = () =>
    new Response(
      new ReadableStream({
        pull: (controller) => controller.enqueue(mp4),
        cancel: () => upstreamClosed.resolve(),
      }),
      { headers: { "content-type": "video/mp4", etag: '"v1"' } },
    );
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model()] });
  const id = await completed(world, provider);
  const app = createApp(world.gateway, { stopping: () => false });
  await using listening = listenWith(world.gateway, app);
  const headers = { authorization: `Bearer ${world.key}` };
  const head = (path: string) => fetch(listening.address + path, { method: "HEAD", headers });
  for (const path of [`/v1/videos/${id}/content`, `/v1/videos/${id}/content?variant=video`]) {
    const response = await head(path);
    const { headers } = response;
    assertEquals([response.status, headers.get("content-type"), headers.get("etag")], [
      200,
      "video/mp4",
      '"v1"',
    ]);
    assertEquals((await response.arrayBuffer()).byteLength, 0);
    await upstreamClosed.promise;
    assertEquals(world.gateway.calls.count, 0);
    upstreamClosed = Promise.withResolvers();
  }
  const missing = await head("/v1/videos/video_none/content");
  assertEquals([missing.status, (await missing.arrayBuffer()).byteLength], [404, 0]);
});

Deno.test("a download that its client does not read ends with the process", async () => {
  await using provider = standardProvider();
  provider.state.content = () =>
    new Response(
      new ReadableStream({ pull: (controller) => controller.enqueue(mp4) }),
      { headers: { "content-type": "video/mp4" } },
    );
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model()] });
  const id = await completed(world, provider);
  const response = await world.send(`/v1/videos/${id}/content`);
  assertEquals(world.gateway.calls.count, 1);
  world.gateway.calls.stopAll();
  await world.gateway.calls.idle();
  await assertRejects(() => response.bytes());
});

Deno.test("a task is polled with the credential that created it, also while that one rests", async () => {
  const seen: string[] = [];
  let refused = "";
  await using provider = mockProvider(({ method, headers }) => {
    const credential = headers.get("authorization") ?? "";
    seen.push(`${method} ${credential}`);
    if (method === "POST" && credential === refused) {
      return Response.json({ error: { code: "invalid_api_key", message: "no" } }, { status: 401 });
    }
    return Response.json({ id: "up-1", status: method === "POST" ? "queued" : "completed" });
  });
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    secretsPerProvider: 2,
    models: [model()],
  });
  for (let i = 0; i < 2; i++) await created(world);
  const [first, second] = seen;
  assertNotEquals(first, second, "credentials are used in turn");
  // The first one is refused from now on, so it rests: new tasks are made with the second only.
  refused = first!.slice("POST ".length);
  for (let i = 0; i < 2; i++) await created(world);
  const submits = seen.filter((line) => line.startsWith("POST"));
  assertEquals(submits.filter((line) => line === first).length, 2, "one accepted, one refused");
  await world.advance(1_100);
  assertEquals(await world.poll(), 4);
  const polls = seen.filter((line) => line.startsWith("GET")).toSorted();
  const pinned = [first, second, second, second].map((line) => line!.replace("POST", "GET"));
  assertEquals(polls, pinned.toSorted(), "each poll has the credential of its submit");
});

Deno.test("lists are bounded, and errors name the wrong query parameter", async () => {
  await using world = await openMediaWorld();
  for (
    const query of ["limit=0", "limit=101", "limit=x", "order=up", "after=../x", "after=acc_1"]
  ) {
    const error = await errorOf(await world.send(`/v1/videos?${query}`));
    assertEquals([error.status, error.param], [400, query.split("=")[0] ?? ""], query);
  }
  assertEquals(await (await world.send("/v1/videos?limit=100&order=asc")).json(), {
    object: "list",
    data: [],
    first_id: null,
    last_id: null,
    has_more: false,
  });
});

Deno.test("invalid ids and ids of other accounts get the same 404, on every path", async () => {
  await using provider = standardProvider();
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model()] });
  const id = await completed(world, provider);
  const { key } = await world.test.customer(1_000);
  const asStranger = { headers: { "x-api-key": key, authorization: "" } };
  const request = (path: string, init: RequestInit) =>
    world.test.fetch(new Request(`http://gateway.example${path}`, init));
  for (const path of [`/v1/videos/${id}`, `/v1/videos/${id}/content`, "/v1/videos/video_nope"]) {
    const foreign = await errorOf(await request(path, asStranger));
    assertEquals([foreign.status, foreign.code], [404, "not_found"], path);
  }
  const deleted = await request(`/v1/videos/${id}`, { ...asStranger, method: "DELETE" });
  assertEquals((await errorOf(deleted)).message, "There is no such video");
  const withoutKey = await request(`/v1/videos/${id}`, {});
  assertEquals((await errorOf(withoutKey)).status, 401);
  assertEquals((await (await world.send(`/v1/videos/${id}`)).json()).status, "completed");
});
