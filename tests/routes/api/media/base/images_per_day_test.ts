/** Tests the images that a key may make per day: what counts, what is given back, and how a call is refused. */
import { vietnamPeriodEndMs } from "../../../../../core/lib/time/vietnam_time.ts";
import { assert, assertEquals } from "../../../../support/assert.ts";
import { until } from "../../../../support/until.ts";
import {
  errorOf,
  mockProvider,
  openMediaWorld,
  type SeenRequest,
} from "../../gateway/media_world.ts";
import { bearerPost } from "../../../../support/api_post.ts";

function model(id: string, unit: "image" | "request") {
  return {
    id,
    kind: "image",
    family: "test",
    price: { unit, vnd: 1_000 },
    routes: [{ provider: "p1" }],
  };
}

function pictures(count: number): Response {
  const data = Array.from({ length: count }, () => ({ b64_json: "iVBORw0KGgoAAAAA" }));
  return Response.json({ created: 1, data });
}

function asked(request: SeenRequest): number {
  return Number(request.json()["n"]);
}

/** A gateway whose customer has a key with a limit. */
async function openWorld(
  port: number,
  limits: { readonly imagesPerDay?: bigint; readonly dailyLimitMicroVnd?: bigint },
) {
  const models = [model("image-t", "image"), model("image-r", "request")];
  const world = await openMediaWorld({ providers: { p1: port }, models });
  const { key } = await world.test.customer(1_000_000, limits);
  const post = (path: string, body: unknown) =>
    world.test.fetch(bearerPost(`http://gateway.example${path}`, key, body));
  const statusOf = async (answer: Promise<Response>) => {
    const response = await answer;
    await response.body?.cancel();
    return response.status;
  };
  const images = (n: number, model = "image-t") =>
    post("/v1/images/generations", { model, prompt: "x", n });
  return {
    images,
    statusOf,
    post,
    clock: world.gateway.clock,
    advance: world.advance,
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

Deno.test("calls at once never ask for more images than are left, and what did not come is free again", async () => {
  const gate = Promise.withResolvers<void>();
  await using provider = mockProvider(async (request) => {
    await gate.promise;
    return pictures(Math.min(asked(request), 2));
  });
  await using world = await openWorld(provider.port, { imagesPerDay: 5n });
  // The world ends when its calls have: one that waits for the gate would hide why the test failed.
  using opened = new DisposableStack();
  opened.defer(() => gate.resolve());
  const running = world.images(3);
  await until(() => provider.seen.length === 1, "the first call runs");
  const refused = await world.images(3);
  const nowMs = world.clock.nowMs();
  const seconds = Math.ceil((vietnamPeriodEndMs("day", nowMs) - nowMs) / 1000);
  assertEquals(refused.headers.get("retry-after"), String(seconds));
  assertEquals(
    (await errorOf(refused)).message,
    "Rate limit reached: 5 images per day for this API key; 2 are left and this call asks for 3. " +
      `Try again in ${seconds} s`,
  );
  assertEquals([refused.status, provider.seen.length], [429, 1]);
  gate.resolve();
  assertEquals(await world.statusOf(running), 200);
  assertEquals(await world.statusOf(world.images(2)), 200, "two of three came");
  for (const waitMs of [1_000, 6_000]) { // from memory, and as the store says
    await world.advance(waitMs);
    assertEquals(await world.statusOf(world.images(2)), 429);
  }
  assertEquals(await world.statusOf(world.images(1)), 200);
  assertEquals(await world.statusOf(world.images(1)), 429);
  await world.advance(seconds * 1_000);
  assertEquals(await world.statusOf(world.images(5)), 200, "the next day has all of them");
});

Deno.test("of many calls at once as many are served as the limit has images", async () => {
  await using provider = mockProvider((request) => pictures(asked(request)));
  await using world = await openWorld(provider.port, { imagesPerDay: 10n });
  const statuses = await Promise.all(
    Array.from({ length: 30 }, () => world.statusOf(world.images(1))),
  );
  assertEquals(statuses.filter((status) => status === 200).length, 10);
  assertEquals(statuses.filter((status) => status === 429).length, 20);
});

Deno.test("a failed call gives its images back, and so does one that cannot be paid", async () => {
  let status = 500;
  await using provider = mockProvider((request) =>
    status === 200 ? pictures(asked(request)) : new Response("{}", { status })
  );
  await using world = await openWorld(provider.port, {
    imagesPerDay: 4n,
    dailyLimitMicroVnd: 3_500_000_000n,
  });
  assert(await world.statusOf(world.images(3)) >= 500);
  status = 200;
  assertEquals(await world.statusOf(world.images(4)), 402, "its money does not suffice");
  assertEquals(await world.statusOf(world.images(3)), 200);
  const refused = await world.images(2);
  assertEquals(refused.status, 429, "a second limit that it exceeds is not named first");
  await refused.body?.cancel();
});

Deno.test("calls of other kinds do not count, and a key without the limit has none", async () => {
  await using provider = mockProvider((request) => pictures(asked(request)));
  await using world = await openWorld(provider.port, { imagesPerDay: 1n });
  const chat = { model: "premium-1", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] };
  const speech = { model: "speech-1", input: "Hello", voice: "lan" };
  for (const expected of [200, 429]) {
    for (const [path, body] of [["chat/completions", chat], ["audio/speech", speech]] as const) {
      assertEquals(await world.statusOf(world.post(`/v1/${path}`, body)), 200, path);
    }
    assertEquals(await world.statusOf(world.images(1)), expected);
  }
  await using free = await openWorld(provider.port, {});
  for (let i = 0; i < 3; i++) assertEquals(await free.statusOf(free.images(10)), 200);
});

Deno.test("a call for more images than the limit is told not to try again", async () => {
  await using provider = mockProvider((request) => pictures(asked(request)));
  await using world = await openWorld(provider.port, { imagesPerDay: 2n });
  const refused = await world.images(3);
  assertEquals([refused.status, refused.headers.get("x-should-retry")], [429, "false"]);
  assertEquals(
    (await errorOf(refused)).message,
    "Request too large: it asks for 3 images, and the rate limit is 2 images per day for this API key. " +
      "Ask for less at once",
  );
});

Deno.test("a model that is priced per call gives one image per call under the limit", async () => {
  await using provider = mockProvider((request) => pictures(asked(request)));
  await using world = await openWorld(provider.port, { imagesPerDay: 2n });
  const refused = await world.images(2, "image-r");
  assertEquals(refused.status, 400);
  assert((await errorOf(refused)).message.startsWith("n: this API key has a limit of images"));
  for (const expected of [200, 200, 429]) {
    assertEquals(await world.statusOf(world.images(1, "image-r")), expected);
  }
  await using free = await openWorld(provider.port, {});
  assertEquals(await free.statusOf(free.images(2, "image-r")), 200);
});
