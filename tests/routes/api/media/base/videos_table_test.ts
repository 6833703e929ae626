import { assert, assertEquals } from "../../../../support/assert.ts";
import { listReceipts } from "../../../../../kv/money/receipts/receipts.ts";
import { verifyStore } from "../../../../../kv/services/verify/verify_books.ts";
import { errorOf, type MediaWorld, openMediaWorld } from "../../gateway/media_world.ts";

type Body = Record<string, unknown>;

const png = "iVBORw0KGgoAAAAA";
const small = ["720x1280", "1280x720", "1024x1792", "1792x1024"];
const large = ["1024x1024", "768x1024", "1024x768", "1680x720"];

/** The four built-in video models: prices in VND by length, sizes, and what else the model takes. */
const table = {
  "video-a": { seconds: { 5: 3300, 10: 3300 }, sizes: small, ratios: ["9:16", "16:9"], images: 3 },
  "video-b": {
    seconds: { 4: 2500, 6: 2500, 8: 2500 },
    sizes: small,
    ratios: ["9:16", "16:9"],
    images: 3,
  },
  "video-c": {
    seconds: { 5: 2200, 10: 3700, 15: 5700 },
    sizes: [...small, ...large],
    ratios: ["9:16", "16:9", "1:1", "3:4", "4:3", "21:9"],
    images: 10,
  },
  "video-d": {
    seconds: {
      5: 2800,
      10: 4300,
      15: 6300,
      ...Object.fromEntries(Array.from({ length: 11 }, (_, i) => [20 + i, 9300])),
    },
    sizes: [...small, ...large],
    ratios: ["9:16", "16:9", "1:1", "3:4", "4:3", "21:9"],
    images: 10,
  },
} as const;
type Model = keyof typeof table;
const models = Object.keys(table) as Model[];

const defaultPrice: Record<Model, number> = {
  "video-a": 3300,
  "video-b": 2500,
  "video-c": 2200,
  "video-d": 2800,
};

function* validCells(): Generator<
  [Model, Body, number, Partial<{ size: string; seconds: string }>]
> {
  for (const model of models) {
    const { seconds, sizes, ratios, images } = table[model];
    const price = defaultPrice[model];
    const made = 5 in seconds ? "5" : "6";
    yield [model, {}, price, { size: "720x1280", seconds: made }];
    for (const [length, vnd] of Object.entries(seconds)) {
      yield [model, { seconds: Number(length) }, vnd, { seconds: length }];
      yield [model, { seconds: length }, vnd, { seconds: length }];
    }
    for (const size of sizes) yield [model, { size }, price, { size }];
    for (const aspect_ratio of ratios) yield [model, { aspect_ratio }, price, {}];
    if (!ratios.some((known) => known === "1:1")) {
      yield [model, { aspect_ratio: "1:1" }, price, { size: "1024x1792" }];
      yield [model, { aspect_ratio: "21:9" }, price, { size: "1280x720" }];
    }
    yield [model, { aspect_ratio: "16:9", size: "1792x1024" }, price, { size: "1792x1024" }];
    yield [model, { input_reference: png }, price, {}];
    yield [model, { input_reference: Array.from({ length: images }, () => png) }, price, {}];
    yield [model, { image_url: "https://example.com/a.png" }, price, {}];
  }
  const price = defaultPrice;
  yield ["video-a", { input_video: "https://example.com/a.mp4" }, price["video-a"], {}];
  yield ["video-b", { input_reference: png, last_frame: png }, price["video-b"], {}];
  yield ["video-b", { resolution: "720p" }, price["video-b"], {}];
  yield ["video-b", { resolution: "1080p", seconds: "8" }, price["video-b"], {}];
}

function* invalidCells(): Generator<[Model, Body, string]> {
  for (const model of models) {
    const { seconds, sizes, images } = table[model];
    for (let length = 0; length <= 31; length++) {
      if (!(length in seconds)) yield [model, { seconds: length }, "seconds"];
    }
    for (const length of [-5, 5.5, "5s", "", "1e1", true, [5], {}, 1e300]) {
      yield [model, { seconds: length }, "seconds"];
    }
    for (const size of [...large, "1920x1080", "", "x", 720]) {
      if (!sizes.some((known) => known === size)) yield [model, { size }, "size"];
    }
    for (const aspect_ratio of ["2:1", ""]) yield [model, { aspect_ratio }, "aspect_ratio"];
    yield [model, { aspect_ratio: "16:9", size: "720x1280" }, "aspect_ratio"];
    const tooMany = Array.from({ length: images + 1 }, () => png);
    yield [model, { input_reference: tooMany }, "input_reference"];
    yield [model, { input_reference: "http://127.0.0.1/a.png" }, "input_reference"];
    yield [model, { input_reference: "nonsense!" }, "input_reference"];
    yield [model, { prompt: "" }, "prompt"];
    yield [model, { prompt: undefined }, "prompt"];
    yield [
      model,
      { last_frame: png, ...(model === "video-b" ? {} : { input_reference: png }) },
      "last_frame",
    ];
    if (model !== "video-a") {
      yield [model, { input_video: "https://example.com/a.mp4" }, "input_video"];
    }
    if (model !== "video-b") yield [model, { resolution: "720p" }, "resolution"];
  }
  yield ["video-a", { input_video: "file:///etc/passwd" }, "input_video"];
  yield ["video-b", { resolution: "4k" }, "resolution"];
}

async function assertUntouched(world: MediaWorld, vnd: number, message: string): Promise<void> {
  const balance = await world.gateway.wallet.balance(world.accountId);
  assertEquals(Number(balance.totalMicroVnd) / 1e6, vnd, message);
  assertEquals(balance.reservedMicroVnd, 0n, `something is still held: ${message}`);
}

Deno.test("every valid cell of the video table is accepted at its price", async () => {
  await using world = await openMediaWorld({ vnd: 10_000_000 });
  let spent = 0;
  let cells = 0;
  for (const [model, more, price, shown] of validCells()) {
    const message = `${model} ${JSON.stringify(more)}`;
    const response = await world.post("/v1/videos", { model, prompt: "a cat", ...more });
    const video = await response.json();
    assertEquals(response.status, 200, `${message}: ${JSON.stringify(video)}`);
    assertEquals([video.status, video.model], ["queued", model], message);
    for (const [name, value] of Object.entries(shown)) assertEquals(video[name], value, message);
    assertEquals(response.headers.get("x-gateway-model"), model);
    assertEquals(response.headers.get("x-gateway-cost-vnd"), String(price), message);
    assertEquals(response.headers.get("x-gateway-price-vnd-per-request"), String(price), message);
    assertEquals(response.headers.get("x-gateway-price-vnd-per-mtok"), null);
    spent += price;
    cells++;
    assertEquals(await world.balanceVnd(), 10_000_000 - spent, message);
  }
  assert(cells > 80, `${cells} cells`);
});

Deno.test("an unsupported shape is named, and refused in strict mode", async () => {
  await using world = await openMediaWorld();
  const body = { model: "video-a", prompt: "a cat", aspect_ratio: "1:1" };
  const response = await world.post("/v1/videos", body);
  assertEquals(response.headers.get("x-gateway-conversion"), "dropped=aspect_ratio");
  await response.body?.cancel();
  const strict = await world.post("/v1/videos", body, { "x-gateway-strict": "true" });
  assertEquals((await errorOf(strict)).param, "aspect_ratio");
});

Deno.test("every invalid cell is a 400 that names its field; no provider is called, the wallet is unchanged", async () => {
  await using world = await openMediaWorld();
  let cells = 0;
  for (const [model, more, field] of invalidCells()) {
    const message = `${model} ${JSON.stringify(more).slice(0, 120)}`;
    const body = { model, prompt: "a cat", ...more };
    const response = await world.post("/v1/videos", body);
    const error = await errorOf(response);
    assertEquals(
      [error.status, error.type, error.param],
      [400, "invalid_request_error", field],
      `${message}: ${error.message}`,
    );
    assert(error.message.startsWith(`${field}: `), error.message);
    assertEquals(response.headers.get("x-should-retry"), "false");
    assertEquals(response.headers.get("x-gateway-cost-vnd"), "0");
    await assertUntouched(world, 1_000_000, message);
    cells++;
  }
  assert(cells > 200, `${cells} cells`);
  const { receipts } = await listReceipts(world.gateway.kv, world.accountId, { limit: 10 });
  assertEquals(receipts, [], "nothing reached a provider");
  assertEquals((await (await world.send("/v1/videos")).json()).data, []);
});

Deno.test("the same cells sent as forms: repeated fields, files, and the same refusals", async () => {
  await using world = await openMediaWorld();
  const post = (fields: [string, string | File][]) => {
    const form = new FormData();
    for (const [name, value] of fields) form.append(name, value);
    return world.send("/v1/videos", { method: "POST", body: form });
  };
  const file = new File([Uint8Array.fromBase64(png)], "a.png", { type: "image/png" });
  const files = (count: number): [string, File][] =>
    Array.from({ length: count }, () => ["input_reference", file]);
  const base: [string, string][] = [["prompt", "một con mèo"]];
  for (const model of models) {
    const { images, seconds } = table[model];
    const length = Object.keys(seconds)[0]!;
    const good = await post([
      ...base,
      ["model", model],
      ["seconds", length],
      ...files(images),
    ]);
    assertEquals(good.status, 200, JSON.stringify(await good.json()));
    const tooMany = await post([...base, ["model", model], ...files(images + 1)]);
    assertEquals((await errorOf(tooMany)).param, "input_reference");
    const wrongLength = await post([...base, ["model", model], ["seconds", "7"]]);
    assertEquals((await errorOf(wrongLength)).param, "seconds");
    const notAPicture = new File(["<html>"], "a.png", { type: "image/png" });
    const page = await post([...base, ["model", model], ["input_reference", notAPicture]]);
    assertEquals((await errorOf(page)).param, "input_reference");
  }
  const twoFrames = await post([
    ...base,
    ["model", "video-b"],
    ["input_reference", file],
    ["last_frame", file],
  ]);
  assertEquals(twoFrames.status, 200, JSON.stringify(await twoFrames.json()));
});

Deno.test("a wallet that cannot pay is a 402 before any provider is called", async () => {
  await using world = await openMediaWorld({ vnd: 3_299 });
  const error = await errorOf(await world.post("/v1/videos", { model: "video-a", prompt: "x" }));
  assertEquals([error.status, error.type, error.code], [
    402,
    "insufficient_balance",
    "insufficient_balance",
  ]);
  await assertUntouched(world, 3_299, "402");
});

Deno.test("unknown models, models of other kinds and other bodies are refused in the style of the endpoint", async () => {
  await using world = await openMediaWorld();
  const cases: [unknown, number, string | null][] = [
    [{ prompt: "x" }, 400, "model"],
    [{ model: "video-z", prompt: "x" }, 400, "model"],
    [{ model: "premium-1", prompt: "x" }, 400, "model"],
    [{ model: "image-1", prompt: "x" }, 400, "model"],
  ];
  for (const [body, status, param] of cases) {
    const error = await errorOf(await world.post("/v1/videos", body));
    assertEquals([error.status, error.param], [status, param], JSON.stringify(body));
  }
  const text = await world.send("/v1/videos", { method: "POST", body: "hello" });
  assertEquals((await errorOf(text)).status, 415);
  const broken = await world.send("/v1/videos", {
    method: "POST",
    body: "--x\r\n",
    headers: { "content-type": "multipart/form-data; boundary=x" },
  });
  assertEquals((await errorOf(broken)).status, 400);
  const kind = await errorOf(
    await world.post("/v1/chat/completions", {
      model: "video-a",
      messages: [{ role: "user", content: "x" }],
    }),
  );
  assert(kind.message.includes("/v1/videos"), kind.message);
});

Deno.test("fields that the endpoint does not know are dropped and named; strict callers get a 400", async () => {
  await using world = await openMediaWorld();
  const body = { model: "video-d", prompt: "x", duration: 60, n: 9 };
  const response = await world.post("/v1/videos", body);
  assertEquals(response.headers.get("x-gateway-conversion"), "dropped=duration,n");
  assertEquals((await response.json()).seconds, "5");
  const strict = await world.post("/v1/videos", body, { "x-gateway-strict": "true" });
  assertEquals((await errorOf(strict)).param, "duration");
  assertEquals(await world.balanceVnd(), 1_000_000 - 2_800);
});

Deno.test("the ledger balances after tasks with every possible end", async () => {
  await using world = await openMediaWorld();
  for (const fate of ["x", "[[sandbox:video-fail]]", "[[sandbox:video-stall]]"]) {
    const response = await world.post("/v1/videos", { model: "video-c", prompt: fate });
    assertEquals(response.status, 200, JSON.stringify(await response.json()));
  }
  await world.gateway.wallet.indexOnce();
  const report = await verifyStore(world.gateway.kv);
  assertEquals(report.problems, []);
});
