import { assert, assertEquals } from "../../../../support/assert.ts";
import {
  errorOf,
  mockProvider,
  openMediaWorld,
  type SeenRequest,
} from "../../gateway/media_world.ts";

const png = "iVBORw0KGgoAAAAA";
const pngBytes = Uint8Array.fromBase64(png);

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

Deno.test("the charge is for the images that arrived, at most for the requested number", async () => {
  let answer = () => pictures(1);
  await using provider = mockProvider(() => answer());
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model()] });
  let balance = 1_000_000;
  const cases: [number, number, number][] = [[1, 1, 1], [4, 4, 4], [4, 2, 2], [2, 5, 2]];
  for (const [asked, came, charged] of cases) {
    answer = () => pictures(came);
    const response = await world.post("/v1/images/generations", {
      model: "image-t",
      prompt: "x",
      n: asked,
    });
    const message = `${came} of ${asked}`;
    assertEquals(response.status, 200, message);
    assertEquals((await response.json()).data.length, came, message);
    assertEquals(response.headers.get("x-gateway-cost-vnd"), String(charged * 1000), message);
    balance -= charged * 1000;
    assertEquals(await world.balanceVnd(), balance, message);
    const receipt = await world.receiptOf(response);
    assertEquals([receipt?.units, receipt?.outcome], [charged, "completed"]);
  }
});

Deno.test("a model may be priced per request instead", async () => {
  await using provider = mockProvider(() => pictures(3));
  const models = [model({ price: { unit: "request", vnd: 700 } })];
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models });
  const body = { model: "image-t", prompt: "x", n: 3 };
  const response = await world.post("/v1/images/generations", body);
  await response.body?.cancel();
  assertEquals(response.headers.get("x-gateway-cost-vnd"), "700");
});

Deno.test("request and answer are passed on byte for byte", async () => {
  const answerText = '{ "created":1,\n"data":[{"b64_json":"AA=="}], "x":1.0 }';
  await using provider = mockProvider(() => new Response(answerText));
  const models = [model({ routes: [{ provider: "p1", model: "up-1" }] })];
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models });
  const sent = '{"prompt":"caf\\u00e9" ,"model":"image-t","quality":"high","n":1.0}';
  const response = await world.send("/v1/images/generations", {
    method: "POST",
    headers: { "content-type": "application/json; charset=utf-8" },
    body: sent,
  });
  assertEquals(await response.text(), answerText);
  const [seen] = provider.seen;
  assertEquals(new TextDecoder().decode(seen!.body), sent.replace("image-t", "up-1"));
  assertEquals([seen!.path, seen!.headers.get("content-type")], [
    "/v1/images/generations",
    "application/json",
  ]);
});

Deno.test("an edit sends files: uploaded ones unchanged, remote ones fetched from public addresses only", async () => {
  await using pics = mockProvider(({ path }) =>
    path === "/page" ? new Response("<html>") : new Response(pngBytes)
  );
  await using provider = mockProvider(() => pictures(1));
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: [model()],
    names: { "pics.example": pics.port },
  });
  const edit = (more: Record<string, unknown>) =>
    world.post("/v1/images/edits", { model: "image-t", prompt: "x", ...more });
  const good = await edit({ image_url: "http://pics.example/a.png", ref_image: png });
  assertEquals(good.status, 200, await good.text());
  const { body, headers, path } = provider.seen[0]!;
  const form = await new Response(body.slice(), {
    headers: { "content-type": headers.get("content-type") ?? "" },
  }).formData();
  assertEquals([path, [...form.keys()]], [
    "/v1/images/edits",
    ["model", "prompt", "image[]", "image[]"],
  ]);
  const file = form.getAll("image[]")[0];
  assert(file instanceof File);
  assertEquals(await file.bytes(), pngBytes);

  const refused: [Record<string, unknown>, string][] = [
    [{ image: "http://127.0.0.1/a.png" }, "image"],
    [{ reference_image: "http://inner.example/a.png" }, "reference_image"],
    [{ ref_image: "http://pics.example/page" }, "ref_image"],
    [{ image: png, image_url: [png, `${png}!`] }, "image_url"],
    [{ image: png, mask: "http://pics.example/page" }, "mask"],
    [{ image_url: "http://169.254.169.254/latest" }, "image_url"],
    [{ image: "junk" }, "image"],
    [{}, "image"],
  ];
  for (const [more, param] of refused) {
    const error = await errorOf(await edit(more));
    assertEquals([error.status, error.param], [400, param], JSON.stringify(more));
  }
  assertEquals(provider.seen.length, 1, "the provider was not asked");
  assertEquals(await world.balanceVnd(), 999_000);
});

Deno.test("fetched pictures count against the memory budget, separately for each route", async () => {
  const large = new Uint8Array(400_000);
  large.set(pngBytes);
  await using pics = mockProvider(() => new Response(large));
  const held: number[] = [];
  const answers = [new Response("x", { status: 500 }), pictures(1)];
  await using provider = mockProvider(() => {
    held.push(world.gateway.bodies.usedBytes);
    return answers.shift() ?? pictures(1);
  });
  await using world = await openMediaWorld({
    providers: { p1: provider.port, p2: provider.port },
    models: [model({ routes: [{ provider: "p1" }, { provider: "p2", priority: 1 }] })],
    names: { "pics.example": pics.port },
    bufferedBytes: 1_000_000,
  });
  const edit = (images: number) =>
    world.post("/v1/images/edits", {
      model: "image-t",
      prompt: "x",
      image: Array.from({ length: images }, (_, i) => `http://pics.example/${i}.png`),
    });
  const good = await edit(2);
  assertEquals(good.status, 200, await good.text());
  assertEquals(held, [800_000, 800_000], "those for the route before are let go");
  assertEquals(world.gateway.bodies.usedBytes, 0);
  const error = await errorOf(await edit(3));
  assertEquals([error.status, error.code], [503, "busy"]);
  assertEquals([world.gateway.bodies.usedBytes, provider.seen.length], [0, 2]);
  assertEquals(await world.balanceVnd(), 999_000);
});

Deno.test("a form with files keeps its boundary", async () => {
  await using provider = mockProvider(() => pictures(1));
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model()] });
  const form = new FormData();
  form.append("model", "image-t");
  form.append("prompt", "x");
  form.append("image", new File([pngBytes], "mine.png", { type: "image/png" }));
  const request = new Request("http://x/", { method: "POST", body: form });
  const contentType = request.headers.get("content-type")!;
  const bytes = await request.bytes();
  const response = await world.send("/v1/images/edits", {
    method: "POST",
    headers: { "content-type": contentType },
    body: bytes,
  });
  assertEquals(response.status, 200, await response.text());
  assertEquals(provider.seen[0]!.body, bytes);
});

Deno.test("refusals of the provider cost nothing; after a fault of a route the next one is tried", async () => {
  const answers: (() => Response)[] = [];
  const next = (_: SeenRequest) => (answers.shift() ?? (() => pictures(1)))();
  await using first = mockProvider(next);
  await using second = mockProvider(() => pictures(1));
  const models = [
    model({ routes: [{ provider: "p1", priority: 0 }, { provider: "p2", priority: 1 }] }),
  ];
  const providers = { p1: first.port, p2: second.port };
  await using world = await openMediaWorld({ providers, models });
  const post = () => world.post("/v1/images/generations", { model: "image-t", prompt: "x" });
  const moderation = {
    error: {
      type: "image_generation_user_error",
      code: "moderation_blocked",
      message: "Blocked by our moderation system.",
      param: null,
    },
  };
  answers.push(() => Response.json(moderation, { status: 400 }));
  const blocked = await errorOf(await post());
  assertEquals([blocked.status, blocked.code, blocked.message], [
    400,
    "content_policy_violation",
    "Blocked by our moderation system.",
  ]);
  assertEquals([second.seen.length, await world.balanceVnd()], [0, 1_000_000]);
  const detail = [{ loc: ["body", "size"], msg: "Input should be 'a' or 'b'" }];
  answers.push(() => Response.json({ detail }, { status: 422 }));
  const invalid = await errorOf(await post());
  assertEquals([invalid.status, invalid.code, invalid.message], [
    422,
    "invalid_request",
    "size: Input should be 'a' or 'b'",
  ]);
  assertEquals([second.seen.length, await world.balanceVnd()], [0, 1_000_000]);
  const faults = [
    () => new Response("oops", { status: 500 }),
    () => new Response("<html>"),
    () => Response.json({ error: { type: "server_error", message: "x" } }),
    () => Response.json({ error: { code: "rate_limit_exceeded", message: "x" } }, { status: 429 }),
  ];
  for (const [index, fault] of faults.entries()) {
    answers.push(fault);
    const response = await post();
    assertEquals(response.status, 200, `fault ${index}: ${await response.text()}`);
    assertEquals(second.seen.length, index + 1);
  }
  assertEquals(await world.balanceVnd(), 1_000_000 - 4_000);
});

Deno.test("the receipt of a call to an overloaded provider has the status that the client got", async () => {
  await using provider = mockProvider(() => new Response("x", { status: 529 }));
  await using world = await openMediaWorld({ providers: { p1: provider.port }, models: [model()] });
  const response = await world.post("/v1/images/generations", { model: "image-t", prompt: "x" });
  const receipt = await world.receiptOf(response);
  assertEquals([(await errorOf(response)).status, receipt?.status], [503, 503]);
});

Deno.test("an answer in another shape is neither delivered nor charged, and another route is tried", async () => {
  const shapes = [
    { images: [{ b64_json: png }] },
    { data: [`data:image/png;base64,${png}`] },
    { created: 1, output: png },
    { data: [{ image_base64: png }] },
  ];
  let shape: unknown;
  await using strange = mockProvider(() => Response.json(shape));
  await using good = mockProvider(() => pictures(1));
  const world = await openMediaWorld({
    providers: { p1: strange.port, p2: good.port },
    models: [
      model({ id: "image-s" }),
      model({ routes: [{ provider: "p1" }, { provider: "p2", priority: 1 }] }),
    ],
  });
  await using _ = world;
  let charged = 0;
  for (shape of shapes) {
    const body = { model: "image-t", prompt: "x" };
    const response = await world.post("/v1/images/generations", body);
    assertEquals((await response.json()).data, [{ b64_json: png }]);
    assertEquals(response.headers.get("x-gateway-cost-vnd"), "1000");
    charged += 1_000;
    if (shape !== shapes[0]) continue;
    const alone = await world.post("/v1/images/generations", { ...body, model: "image-s" });
    const error = await errorOf(alone);
    assertEquals([error.status, error.type], [502, "api_error"]);
  }
  assertEquals(await world.balanceVnd(), 1_000_000 - charged);
});

Deno.test("a model on the wrong endpoint is refused with the name of the right one", async () => {
  await using world = await openMediaWorld();
  const chat = await errorOf(
    await world.post("/v1/images/generations", { model: "premium-1", prompt: "x" }),
  );
  assertEquals([chat.status, chat.param], [400, "model"]);
  assert(chat.message.includes("/v1/messages"), chat.message);
  const unknown = await errorOf(
    await world.post("/v1/images/edits", { model: "nope", prompt: "x", image: png }),
  );
  assertEquals([unknown.status, unknown.param], [400, "model"]);
  const image = await errorOf(
    await world.post("/v1/chat/completions", {
      model: "image-1",
      messages: [{ role: "user", content: "x" }],
    }),
  );
  assertEquals([image.status, image.param], [400, "model"]);
  assert(image.message.includes("image-1 is an image model; use /v1/images/"), image.message);
  const get = await world.send("/v1/images/generations");
  assertEquals([get.status, get.headers.get("allow")], [405, "POST"]);
  await get.body?.cancel();
});
