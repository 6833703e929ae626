import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { exactNumber } from "../../../../../core/lib/runtime/built_ins.ts";
import { videoModelProblems } from "../../../../../core/catalog/entries/video_rules.ts";
import { defaultCatalog } from "../../../../support/gateways/gateway_in_process.ts";
import {
  errorOf,
  type MediaWorld,
  mockProvider,
  openMediaWorld,
  type SeenRequest,
} from "../../gateway/media_world.ts";

const png = "iVBORw0KGgoAAAAA";
const pngUrl = `data:image/png;base64,${png}`;
const mp4 = new Uint8Array([0, 0, 0, 8, 0x66, 0x74, 0x79, 0x70, 1, 2, 3, 4]);
const price = { unit: "video", tiers: [{ fromSeconds: 1, toSeconds: 30, vnd: 3000 }] };

/** A provider that answers `{ request_id }`, then `pending` with 202, then `done` with the address of the file. */
const requestIdShape = {
  submit: {
    path: "/v1/videos/generations",
    fields: {
      model: "model",
      prompt: "prompt",
      seconds: { to: "duration", as: "number" },
      aspectRatio: "aspect_ratio",
      resolution: "resolution",
      inputReferences: { to: "image", shape: "object", key: "url" },
      inputVideo: "video.url",
    },
    id: "request_id",
  },
  poll: {
    path: "/v1/videos/{id}",
    state: "status",
    states: { pending: "in_progress", done: "completed", expired: "failed", failed: "failed" },
    progress: "progress",
    errorCode: "error.code",
    errorMessage: "error.message",
  },
  content: { url: "video.url" },
};

/** A provider whose tasks lie in `data`, with `width` and `height`, its own words for states, and its own cancel. */
const taskIdShape = {
  submit: {
    path: "/api/tasks",
    fields: {
      model: "model_name",
      prompt: "input.text",
      seconds: "input.seconds",
      width: { to: "input.width", as: "number" },
      height: { to: "input.height", as: "number" },
      inputReferences: { to: "input.images", shape: "list" },
      lastFrame: { to: "input.tail", shape: "text" },
    },
    fixed: { "input.watermark": false, source: "gateway" },
    id: "data.task_id",
  },
  poll: {
    path: "/api/tasks/{id}?detail=1",
    state: "data.task_status",
    states: {
      submitted: "queued",
      processing: "in_progress",
      succeeded: "completed",
      fail: "failed",
    },
    progress: "data.percent",
    completedAt: "data.finished_at",
    expiresAt: "data.expires_at",
    errorMessage: "data.message",
  },
  content: { path: "/api/files/{id}.mp4" },
  cancel: { method: "POST", path: "/api/tasks/{id}/stop" },
};

function model(id: string, profile: string, adapter: unknown, provider = "p1") {
  const facts = adapter === undefined ? {} : { videoAdapter: adapter };
  return {
    id,
    kind: "video",
    family: "test",
    price,
    videoRules: { profile },
    routes: [{ provider, model: "upstream-name", facts }],
  };
}

async function statusOf(world: MediaWorld, id: string) {
  return await (await world.send(`/v1/videos/${id}`)).json();
}

Deno.test("a provider with request_id, pending and done, described in gateway.json", async () => {
  let answer: unknown = { status: "pending", progress: 40 };
  let status = 202;
  await using store = mockProvider(() =>
    new Response(mp4, { headers: { "content-type": "video/mp4" } })
  );
  await using provider = mockProvider(({ method }) =>
    method === "POST" ? Response.json({ request_id: "job/1 ä" }) : Response.json(answer, { status })
  );
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    names: { "store.example": store.port, "example.com": store.port },
    models: [model("video-x", "A", requestIdShape)],
  });
  const created = await world.post("/v1/videos", {
    model: "video-x",
    prompt: "a cat",
    seconds: "10",
    aspect_ratio: "16:9",
    input_reference: png,
    input_video: "https://example.com/in.mp4",
  });
  const { id, status: first } = await created.json();
  assertEquals([created.status, first], [200, "queued"]);
  const submit = provider.seen[0]!;
  assertEquals([submit.method, submit.path], ["POST", "/v1/videos/generations"]);
  assertEquals(submit.headers.get("authorization"), "Bearer secret-of-p1");
  assertEquals(submit.json(), {
    model: "upstream-name",
    prompt: "a cat",
    duration: 10,
    aspect_ratio: "16:9",
    image: { url: pngUrl },
    video: { url: "https://example.com/in.mp4" },
  });

  await world.advance(1_100);
  await world.poll();
  assertEquals(provider.seen[1]!.path, "/v1/videos/job%2F1%20%C3%A4");
  const running = await statusOf(world, id);
  assertEquals([running.status, running.progress], ["in_progress", 40]);

  answer = { status: "done", progress: 100, video: { url: "http://store.example/signed?x=1" } };
  status = 200;
  await world.advance(1_100);
  await world.poll();
  assertEquals((await statusOf(world, id)).status, "completed");
  const content = await world.send(`/v1/videos/${id}/content`);
  assertEquals(await content.bytes(), mp4);
  assertEquals(store.seen[0]!.path, "/signed?x=1");
  assertEquals(
    store.seen[0]!.headers.get("authorization"),
    null,
    "no credential leaves its provider",
  );
  const thumbnail = await errorOf(await world.send(`/v1/videos/${id}/content?variant=thumbnail`));
  assertEquals([thumbnail.status, thumbnail.param], [400, "variant"]);
});

Deno.test("a provider with task_id, processing and succeeded, described in gateway.json", async () => {
  let data: Record<string, unknown> = { task_status: "SUBMITTED" };
  await using provider = mockProvider(({ method, path }) => {
    if (path.startsWith("/api/files/")) {
      return new Response(mp4, { headers: { "content-type": "video/mp4" } });
    }
    return Response.json(
      method === "POST"
        ? { code: 0, data: { task_id: exactNumber("7777777777777777777") } }
        : { data },
    );
  });
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: [model("video-y", "B", taskIdShape)],
  });
  const created = await world.post("/v1/videos", {
    model: "video-y",
    prompt: "a cat",
    size: "1280x720",
    input_reference: [png, pngUrl],
    last_frame: png,
  });
  const { id } = await created.json();
  assertEquals(created.status, 200);
  assertEquals(provider.seen[0]!.json(), {
    source: "gateway",
    model_name: "upstream-name",
    input: {
      watermark: false,
      text: "a cat",
      seconds: "6",
      width: 1280,
      height: 720,
      images: [pngUrl, pngUrl],
      tail: pngUrl,
    },
  }, "5 seconds are no length of this model: the nearest one is made");

  const steps: [Record<string, unknown>, string, number][] = [
    [{ task_status: "submitted" }, "queued", 0],
    [{ task_status: "processing", percent: "35%" }, "in_progress", 35],
    [{ task_status: "a new word", percent: 60 }, "in_progress", 60],
  ];
  for (const [next, state, progress] of steps) {
    data = next;
    await world.advance(1_100);
    await world.poll();
    const now = await statusOf(world, id);
    assertEquals([now.status, now.progress], [state, progress]);
  }
  assertEquals(provider.seen[1]!.path, "/api/tasks/7777777777777777777?detail=1");
  const nowSeconds = Math.floor(world.gateway.clock.nowMs() / 1_000);
  data = {
    task_status: "succeeded",
    finished_at: nowSeconds - 1,
    expires_at: new Date((nowSeconds + 600) * 1_000).toISOString(),
  };
  await world.advance(1_100);
  await world.poll();
  const done = await statusOf(world, id);
  assertEquals([done.status, done.completed_at, done.expires_at], [
    "completed",
    nowSeconds - 1,
    nowSeconds + 600,
  ]);
  const content = await world.send(`/v1/videos/${id}/content`);
  assertEquals(await content.bytes(), mp4);
  await world.advance(601_000);
  const late = await errorOf(await world.send(`/v1/videos/${id}/content`));
  assertEquals(late.status, 404, "what the provider said has expired is not asked for again");
});

Deno.test("a described failure is refunded; its message is cleaned of hosts and keys", async () => {
  const message = "Blocked by https://internal.example/policy for key sk-abc123456";
  await using provider = mockProvider(({ method }) =>
    Response.json(
      method === "POST" ? { data: { task_id: "t" } } : { data: { task_status: "fail", message } },
    )
  );
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: [model("video-y", "B", taskIdShape)],
  });
  const { id } = await (await world.post("/v1/videos", { model: "video-y", prompt: "x" })).json();
  assertEquals(await world.balanceVnd(), 997_000);
  await world.advance(1_100);
  await world.poll();
  const failed = await statusOf(world, id);
  assertEquals(failed.error, {
    code: "generation_failed",
    message: "Blocked by [removed] for key [removed]",
  });
  assertEquals(await world.balanceVnd(), 1_000_000);
});

Deno.test("the standard dialect: a form when there are files, else JSON with strings", async () => {
  await using provider = mockProvider(() => Response.json({ id: "v1", status: "queued" }));
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: [model("video-s", "A", undefined)],
  });
  await world.post("/v1/videos", {
    model: "video-s",
    prompt: "x",
    seconds: 10,
    input_reference: png,
  });
  assertEquals(provider.seen[0]!.path, "/v1/videos");
  assertEquals(provider.seen[0]!.json(), {
    model: "upstream-name",
    prompt: "x",
    seconds: "10",
    size: "720x1280",
    input_reference: { image_url: pngUrl },
  });
  const form = new FormData();
  form.append("model", "video-s");
  form.append("prompt", "x");
  for (const name of ["a", "b"]) {
    form.append("input_reference", new File([Uint8Array.fromBase64(png)], `${name}.png`));
  }
  assertEquals((await world.send("/v1/videos", { method: "POST", body: form })).status, 200);
  const second = provider.seen[1]!;
  const sent = await new Response(second.body.slice(), {
    headers: { "content-type": second.headers.get("content-type") ?? "" },
  }).formData();
  assertEquals([...sent.keys()], [
    "model",
    "prompt",
    "seconds",
    "size",
    "input_reference",
    "input_reference",
  ]);
  assertEquals([sent.get("model"), sent.get("seconds")], ["upstream-name", "5"]);
  const file = sent.get("input_reference");
  assert(file instanceof File);
  assertEquals([file.name, file.type], ["reference_1.png", "image/png"]);
});

Deno.test("fields that a provider cannot take are refused before it is called", async () => {
  await using provider = mockProvider(() => Response.json({ request_id: "r" }));
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: [model("video-x", "B", requestIdShape)],
  });
  const two = { model: "video-x", prompt: "x", input_reference: [png, png] };
  assertEquals((await errorOf(await world.post("/v1/videos", two))).param, "input_reference");
  const frame = { model: "video-x", prompt: "x", input_reference: png, last_frame: png };
  assertEquals((await errorOf(await world.post("/v1/videos", frame))).param, "last_frame");
  assertEquals(provider.seen, []);
  assertEquals(await world.balanceVnd(), 1_000_000);
});

Deno.test("a refused submit costs nothing: a 4xx goes to the client, after a 5xx the next route is tried", async () => {
  const answers: (() => Response)[] = [];
  const answer = (_: SeenRequest) => (answers.shift() ?? (() => Response.json({ id: "v9" })))();
  await using first = mockProvider(answer);
  await using second = mockProvider(() => Response.json({ id: "from-second" }));
  const both = {
    ...model("video-s", "A", undefined),
    routes: [{ provider: "p1", priority: 0 }, { provider: "p2", priority: 1 }],
  };
  await using world = await openMediaWorld({
    providers: { p1: first.port, p2: second.port },
    models: [both],
  });
  const post = () => world.post("/v1/videos", { model: "video-s", prompt: "x" });
  const bodyOf = (code: string) => ({ error: { code, message: "no", type: "t", param: null } });

  answers.push(() => Response.json(bodyOf("moderation_blocked"), { status: 400 }));
  const refused = await errorOf(await post());
  assertEquals([refused.status, refused.code], [400, "content_policy_violation"]);
  answers.push(() => Response.json({ id: "v", status: "failed", error: { message: "not this" } }));
  const failedAtOnce = await errorOf(await post());
  assertEquals([failedAtOnce.status, failedAtOnce.message], [400, "not this"]);
  assertEquals([second.seen.length, await world.balanceVnd()], [0, 1_000_000]);

  for (
    const trouble of [
      () => new Response("<html>", { status: 502 }),
      () => Response.json({}),
      () => new Response("no json"),
      () => Response.json(bodyOf("invalid_api_key"), { status: 401 }),
    ]
  ) {
    answers.push(trouble);
    const before = second.seen.length;
    const response = await post();
    assertEquals(response.status, 200, JSON.stringify(await response.json()));
    assertEquals(second.seen.length, before + 1);
    const receipt = await world.receiptOf(response);
    assertEquals(receipt?.route, "p2/video-s");
    assertEquals(receipt?.attempts.at(-1)?.outcome, "ok");
  }
  assertEquals(await world.balanceVnd(), 1_000_000 - 4 * 3_000);
});

Deno.test("configuration errors name the wrong rule, price or adapter", () => {
  const good = defaultCatalog().find("video-d");
  assert(good !== undefined);
  assertEquals(videoModelProblems(good), []);
  const [missing] = videoModelProblems({ ...good, videoRules: undefined });
  assertStringIncludes(missing ?? "", "videoRules");
  const [profile] = videoModelProblems({ ...good, videoRules: { profile: "Z" } });
  assertStringIncludes(profile ?? "", "videoRules");
  const tiers = [{ fromSeconds: 5, toSeconds: 29, vnd: 1 }];
  assertEquals(videoModelProblems({ ...good, price: { unit: "video", tiers } }), [
    "price.tiers: 30 seconds are allowed but have no price",
  ]);
  const route = { ...good.routes[0]!, capabilities: { videoAdapter: { submit: {} } } };
  const [adapter] = videoModelProblems({ ...good, routes: [route] });
  assertStringIncludes(adapter ?? "", "routes.0.capabilities.videoAdapter");
  const chat = defaultCatalog().find("premium-1");
  assert(chat !== undefined);
  assertEquals(videoModelProblems(chat), []);
});
