import { assert, assertEquals } from "../../../support/assert.ts";
import { sniffMediaType } from "../../../../core/net/remote/guarded_fetch.ts";
import { writeForm } from "../../../../core/calls/body/multipart.ts";
import { createSandboxTransport } from "../../../../sandbox/provider/transport.ts";
import { drawPng } from "../../../../sandbox/provider/media/media_images.ts";
import { UpstreamFailure, type UpstreamRequest } from "../../../../core/net/transport/transport.ts";
import { canProbe, probe } from "../../../support/media_probe.ts";

const startMs = 1_700_000_000_000;

function sandbox() {
  const clock = { now: startMs, nowMs: () => clock.now, monotonicMs: () => clock.now };
  const transport = createSandboxTransport({ clock, delay: () => Promise.resolve() });
  const send = async (request: Partial<UpstreamRequest> & { path: string }) => {
    const { path, ...more } = request;
    const exchange = transport.open({
      method: "POST",
      url: `http://sandbox.invalid/v1${path}`,
      headers: [["content-type", "application/json"]],
      body: null,
      ...more,
    });
    const response = await exchange.response;
    const chunks: Uint8Array[] = [];
    for (let view = await response.body.read(); view !== null; view = await response.body.read()) {
      chunks.push(view.slice());
    }
    const bytes = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
    let at = 0;
    for (const chunk of chunks) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    return { response, bytes, text: () => new TextDecoder().decode(bytes) };
  };
  const post = (path: string, body: unknown) =>
    send({ path, body: new TextEncoder().encode(JSON.stringify(body)) });
  const video = async (prompt: string) => {
    const { text } = await post("/videos", { model: "v", prompt });
    return JSON.parse(text());
  };
  const state = async (id: string) =>
    JSON.parse((await send({ method: "GET", path: `/videos/${id}` })).text());
  return { clock, send, post, video, state };
}

const codecsOf = async (bytes: Uint8Array) => (await probe(bytes)).codecs;

Deno.test(
  "drawn pictures are PNGs that a decoder reads, small and large, the same for the same seed",
  {
    ignore: !canProbe,
  },
  async () => {
    for (const [width, height] of [[1, 1], [64, 96], [300, 200]] as const) {
      const png = drawPng({ width, height, seed: 9 });
      assertEquals(sniffMediaType(png), "image/png");
      assertEquals(await codecsOf(png), ["png"]);
      assertEquals(drawPng({ width, height, seed: 9 }), png);
    }
  },
);

Deno.test("images: the requested number and shape, whole or streamed", async () => {
  const { post } = sandbox();
  const body = { model: "i", prompt: "a cat", n: 3, size: "1536x1024" };
  const whole = JSON.parse((await post("/images/generations", body)).text());
  assertEquals(whole.data.length, 3);
  const png = Uint8Array.fromBase64(whole.data[0].b64_json);
  const view = new DataView(png.buffer);
  assertEquals([view.getUint32(16), view.getUint32(20)], [96, 64]);
  const streamed = await post("/images/generations", { ...body, stream: true, partial_images: 2 });
  const names = streamed.text().match(/^event: .*$/gm);
  assertEquals(names?.filter((name) => name.endsWith("partial_image")).length, 6);
  assertEquals(names?.filter((name) => name.endsWith("completed")).length, 3);
  const fewer = await post("/images/generations", { ...body, prompt: "[[sandbox:images 1]]" });
  assertEquals(JSON.parse(fewer.text()).data.length, 1);
  const none = await post("/images/generations", { ...body, prompt: "[[sandbox:empty]]" });
  assertEquals(JSON.parse(none.text()).data, []);
});

Deno.test("an edit requires a picture, in a form or in JSON", async () => {
  const { send, post } = sandbox();
  const picture = drawPng({ width: 4, height: 4, seed: 1 });
  const form = writeForm([
    { name: "model", body: "i" },
    { name: "prompt", body: "x" },
    { name: "image[]", body: picture, fileName: "a.png" },
  ], "limit");
  const headers = [["content-type", form.contentType]] as const;
  const asForm = await send({ path: "/images/edits", headers, body: form.body });
  assertEquals(JSON.parse(asForm.text()).data.length, 1);
  const images = [{ image_url: `data:image/png;base64,${picture.toBase64()}` }];
  const asJson = await post("/images/edits", { model: "i", prompt: "x", images });
  assertEquals(JSON.parse(asJson.text()).data.length, 1);
  assertEquals((await post("/images/edits", { model: "i", prompt: "x" })).response.status, 400);
});

Deno.test("speech: formats that a decoder reads; others are refused", {
  ignore: !canProbe,
}, async () => {
  const { post } = sandbox();
  const say = (more: Record<string, unknown>) =>
    post("/audio/speech", { model: "s", input: "Xin chào", voice: "lan", ...more });
  assertEquals(await codecsOf((await say({})).bytes), ["mp3"]);
  assertEquals(await codecsOf((await say({ response_format: "wav" })).bytes), ["pcm_s16le"]);
  assertEquals((await say({ response_format: "pcm" })).bytes.length, 24_000);
  assertEquals((await say({ response_format: "flac" })).response.status, 400);
});

Deno.test("triggers: errors, moderation, a cut; unknown triggers get a 400", async () => {
  const { post } = sandbox();
  const paths: [string, string, Record<string, unknown>][] = [
    ["/images/generations", "prompt", { model: "m" }],
    ["/audio/speech", "input", { model: "m" }],
    ["/videos", "prompt", { model: "m" }],
  ];
  for (const [path, field, body] of paths) {
    const status = async (trigger: string) =>
      (await post(path, { ...body, [field]: `x [[sandbox:${trigger}]]` })).response.status;
    assertEquals(await status("error-503"), 503, path);
    assertEquals(await status("error-429 7"), 429, path);
    assertEquals(await status("moderation"), 400, path);
    assertEquals(await status("no-such"), 400, path);
    assertEquals((await post(path, { ...body, [field]: "" })).response.status, 400, path);
  }
  const cut = await post("/audio/speech", { model: "m", input: "[[sandbox:cut-after 2]]" })
    .catch((error) => error);
  assert(cut instanceof UpstreamFailure && cut.code === "cut");
});

Deno.test("the state of a video follows the clock", async () => {
  const { clock, video, state, send } = sandbox();
  const { id, status } = await video("a cat");
  assertEquals(status, "queued");
  const seen: [number, string, number][] = [];
  for (const afterMs of [0, 999, 1_000, 2_999, 3_000]) {
    clock.now = startMs + afterMs;
    const now = await state(id);
    seen.push([afterMs, now.status, now.progress]);
  }
  assertEquals(seen, [
    [0, "queued", 0],
    [999, "queued", 33],
    [1_000, "in_progress", 33],
    [2_999, "in_progress", 99],
    [3_000, "completed", 100],
  ]);
  const done = await state(id);
  assertEquals(done.expires_at - done.completed_at, 3_600);
  const { bytes } = await send({ method: "GET", path: `/videos/${id}/content` });
  if (canProbe) assertEquals(await codecsOf(bytes), ["h264", "aac"]);
  const thumbnail = await send({ method: "GET", path: `/videos/${id}/content?variant=thumbnail` });
  assertEquals(sniffMediaType(thumbnail.bytes), "image/webp");
  clock.now = startMs + 3_000 + 3_600_000;
  assertEquals((await send({ method: "GET", path: `/videos/${id}/content` })).response.status, 404);
});

Deno.test("video triggers: fail, stall, expire and slow; a cancelled task is not found", async () => {
  const { clock, video, state, send } = sandbox();
  const fails = await video("[[sandbox:video-fail]]");
  const stalls = await video("[[sandbox:video-stall]]");
  const expires = await video("[[sandbox:video-expire]]");
  const slow = await video("[[sandbox:video-slow 60000]]");
  clock.now += 5_000;
  const statuses = await Promise.all([fails, stalls, expires, slow].map(({ id }) => state(id)));
  assertEquals(statuses.map(({ status }) => status), [
    "failed",
    "in_progress",
    "completed",
    "queued",
  ]);
  assertEquals(statuses[0].error.code, "moderation_blocked");
  clock.now += 3_000;
  const path = `/videos/${expires.id}/content`;
  assertEquals((await send({ method: "GET", path })).response.status, 404);
  clock.now += 24 * 3_600_000;
  assertEquals((await state(stalls.id)).status, "in_progress");
  assertEquals((await send({ method: "DELETE", path: `/videos/${slow.id}` })).response.status, 200);
  assertEquals((await send({ method: "GET", path: `/videos/${slow.id}` })).response.status, 404);
  for (const path of ["/videos/nope", "/videos/sandbox_w_x", "/videos/%2E%2E"]) {
    assertEquals((await send({ method: "GET", path })).response.status, 404, path);
  }
});

Deno.test("ranges of a large file, which is still a playable MP4", async () => {
  const { clock, video, send } = sandbox();
  const { id } = await video("[[sandbox:video-megabytes 1]]");
  clock.now += 3_000;
  const path = `/videos/${id}/content`;
  const whole = await send({ method: "GET", path });
  assertEquals(whole.bytes.length, 13_684 + 1024 * 1024);
  if (canProbe) assertEquals(await codecsOf(whole.bytes), ["h264", "aac"]);
  const length = whole.bytes.length;
  const cases: [string, number, number, number][] = [
    ["bytes=0-9", 206, 0, 10],
    ["bytes=13680-13690", 206, 13_680, 13_691],
    [`bytes=${length - 5}-`, 206, length - 5, length],
    ["bytes=-7", 206, length - 7, length],
    ["bytes=5-99999999", 206, 5, length],
    ["bytes=0-1,3-4", 200, 0, length],
    ["lines=1-2", 200, 0, length],
  ];
  for (const [range, status, start, end] of cases) {
    const part = await send({ method: "GET", path, headers: [["range", range]] });
    assertEquals(part.response.status, status, range);
    assertEquals(part.bytes, whole.bytes.slice(start, end), range);
    if (status === 206) {
      const told = part.response.header("content-range");
      assertEquals(told, `bytes ${start}-${end - 1}/${length}`);
    }
  }
  const beyond = await send({ method: "GET", path, headers: [["range", `bytes=${length}-`]] });
  assertEquals([beyond.response.status, beyond.response.header("content-range")], [
    416,
    `bytes */${length}`,
  ]);
});
