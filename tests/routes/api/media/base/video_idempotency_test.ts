/** `Idempotency-Key` of a video: however often a client asks, it gets one task and pays once. */
import { assert, assertEquals, assertNotEquals } from "../../../../support/assert.ts";
import { maxIdempotencyKeyChars } from "../../../../../core/calls/body/idempotency_key.ts";
import { idempotencyKeptMs } from "../../../../../kv/services/calls/idempotency.ts";
import { verifyStore } from "../../../../../kv/services/verify/verify_books.ts";
import {
  errorOf,
  type MediaWorld,
  mockProvider,
  openMediaWorld,
} from "../../gateway/media_world.ts";
import { apiPost } from "../../../../support/api_post.ts";

const models = [{
  id: "video-t",
  kind: "video",
  family: "test",
  price: { unit: "video", tiers: [{ fromSeconds: 1, toSeconds: 30, vnd: 3000 }] },
  videoRules: { profile: "A" },
  routes: [{ provider: "p1" }],
}];
const call = { model: "video-t", prompt: "a cat" };
const png = Uint8Array.fromBase64("iVBORw0KGgoAAAAA");

/** Accepts each task under a name of its own. */
function provider(answer?: () => Response | Promise<Response>) {
  let tasks = 0;
  return mockProvider(() => answer?.() ?? Response.json({ id: `up-${++tasks}`, status: "queued" }));
}

const post = (world: MediaWorld, key: string, body: unknown = call) =>
  world.post("/v1/videos", body, { "idempotency-key": key });

async function idOf(response: Response): Promise<string> {
  const body = await response.json();
  assertEquals(response.status, 200, JSON.stringify(body));
  return body.id;
}

async function assertBooks(world: MediaWorld, videos: number): Promise<void> {
  await world.gateway.wallet.indexOnce();
  assertEquals((await verifyStore(world.gateway.kv)).problems, []);
  assertEquals(await world.balanceVnd(), 1_000_000 - videos * 3000);
}

Deno.test("a repeated request with the same key gets the same task, paid once, for a day", async () => {
  await using p1 = provider();
  await using world = await openMediaWorld({ providers: { p1: p1.port }, models });
  const first = await post(world, "key-1");
  assertEquals(first.headers.get("idempotent-replayed"), null);
  const id = await idOf(first);
  const again = await post(world, "key-1");
  assertEquals(again.headers.get("idempotent-replayed"), "true");
  assertEquals(again.headers.get("x-gateway-cost-vnd"), "0");
  assertEquals(await idOf(again), id);
  await assertBooks(world, 1);
  assertEquals(p1.seen.length, 1);
  assertEquals(p1.seen[0]!.headers.get("idempotency-key"), null, "it is ours, not the provider's");

  assertNotEquals(await idOf(await post(world, "key-2")), id);
  assertNotEquals(await idOf(await world.post("/v1/videos", call)), id);
  await world.advance(idempotencyKeptMs - 1_000);
  assertEquals(await idOf(await post(world, "key-1")), id);
  await world.advance(2_000);
  assertNotEquals(await idOf(await post(world, "key-1")), id);
  await assertBooks(world, 4);
});

Deno.test("a key that was used for another request is refused; keys of accounts are independent", async () => {
  await using p1 = provider();
  await using world = await openMediaWorld({ providers: { p1: p1.port }, models });
  const id = await idOf(await post(world, "key-1"));
  const error = await errorOf(await post(world, "key-1", { ...call, prompt: "a dog" }));
  assertEquals(
    [error.status, error.type, error.code, error.param],
    [422, "invalid_request_error", "idempotency_key_reused", "idempotency-key"],
  );
  const { key } = await world.test.customer(10_000);
  const foreign = await world.test.fetch(
    apiPost("http://gateway.example/v1/videos", key, call, { "idempotency-key": "key-1" }),
  );
  assertNotEquals(await idOf(foreign), id);
  await assertBooks(world, 1);
});

Deno.test("a repeated form with another boundary is the same request", async () => {
  await using p1 = provider();
  await using world = await openMediaWorld({ providers: { p1: p1.port }, models });
  const send = async (prompt: string) => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ ...call, prompt })) form.append(name, value);
    form.append("input_reference", new File([png], "a.png", { type: "image/png" }));
    const headers = { "idempotency-key": "key-1" };
    return await world.send("/v1/videos", { method: "POST", headers, body: form });
  };
  const id = await idOf(await send("a cat"));
  assertEquals(await idOf(await send("a cat")), id);
  assertEquals((await errorOf(await send("a dog"))).status, 422);
  await assertBooks(world, 1);
});

Deno.test("of many concurrent requests one is submitted; the others get a retry-after, and then its task", async () => {
  const release = Promise.withResolvers<void>();
  await using p1 = provider(async () => {
    await release.promise;
    return Response.json({ id: "up-1", status: "queued" });
  });
  await using world = await openMediaWorld({ providers: { p1: p1.port }, models });
  const calls = Array.from({ length: 8 }, () => post(world, "key-1"));
  const early: Response[] = [];
  await Promise.all(calls.map(async (call) => {
    early.push(await call);
    if (early.length === 7) release.resolve();
  }));
  const refused = early.filter(({ status }) => status === 409);
  assertEquals(refused.length, 7);
  for (const response of refused) {
    assert(Number(response.headers.get("retry-after")) > 0);
    assertEquals(response.headers.get("x-should-retry"), "true");
    assertEquals((await errorOf(response)).code, "order_under_way");
  }
  const id = await idOf(early.find(({ status }) => status === 200)!);
  assertEquals(await idOf(await post(world, "key-1")), id);
  assertEquals(p1.seen.length, 1);
  await assertBooks(world, 1);
});

Deno.test("a call that cost nothing leaves its key free", async () => {
  const answers = [
    () => Response.json({ error: { message: "no" } }, { status: 400 }),
    () => new Response("x", { status: 500 }),
  ];
  await using p1 = provider(() =>
    answers.shift()?.() ?? Response.json({ id: "up-1", status: "queued" })
  );
  await using world = await openMediaWorld({ providers: { p1: p1.port }, models, vnd: 1_000_000 });
  assertEquals((await post(world, "key-1")).status, 400);
  assertEquals((await post(world, "key-1")).status, 502);
  const id = await idOf(await post(world, "key-1"));
  assertEquals(await idOf(await post(world, "key-1")), id);
  await assertBooks(world, 1);
});

Deno.test("a 402 leaves the key free; after its task is deleted the key answers 404", async () => {
  await using p1 = provider();
  await using world = await openMediaWorld({ providers: { p1: p1.port }, models, vnd: 3000 });
  const id = await idOf(await post(world, "key-1"));
  assertEquals((await post(world, "key-2")).status, 402);
  assertEquals((await post(world, "key-2")).status, 402);
  assertEquals(await idOf(await post(world, "key-1")), id, "an empty wallet is no matter");
  const path = `/v1/videos/${id}`;
  await world.send(path, { method: "DELETE" });
  await world.send(path, { method: "DELETE" });
  assertEquals((await errorOf(await post(world, "key-1"))).status, 404);
});

Deno.test("an invalid key is refused, and the stored row contains neither key nor prompt", async () => {
  await using p1 = provider();
  await using world = await openMediaWorld({ providers: { p1: p1.port }, models });
  for (const key of ["", "two words", "k".repeat(maxIdempotencyKeyChars + 1)]) {
    const error = await errorOf(await post(world, key));
    assertEquals([error.status, error.param], [400, "idempotency-key"], key);
  }
  await post(world, "secret-key");
  await post(world, "other-key");
  const rows: { fingerprint: string }[] = [];
  for await (const { key, value } of world.gateway.kv.list({ prefix: ["video_order"] })) {
    const row = value as { fingerprint: string };
    assert(!JSON.stringify([key, row]).includes("secret-key"));
    rows.push(row);
  }
  assertEquals(new Set(rows.map(({ fingerprint }) => fingerprint)).size, 2, "guesses cannot match");
});
