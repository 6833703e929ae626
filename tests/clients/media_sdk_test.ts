import { assert, assertEquals, assertRejects } from "../support/assert.ts";
import OpenAI, { APIError, toFile } from "openai";
import type { Video } from "openai/resources/videos";
import { type StartedGateway, startGateway } from "../support/gateways/started_gateway.ts";
import { canProbe, probe } from "../support/media_probe.ts";
import { drawPng } from "../../sandbox/provider/media/media_images.ts";

const png = drawPng({ width: 8, height: 8, seed: 3 });

function client(gateway: StartedGateway, apiKey = gateway.key): OpenAI {
  return new OpenAI({ baseURL: `${gateway.address}/v1`, apiKey, maxRetries: 0 });
}

async function walletVnd(gateway: StartedGateway): Promise<number> {
  const { output } = await gateway.admin("account", "show", "demo@sandbox.invalid");
  return Number(JSON.parse(output).balanceVnd);
}

async function ended(openai: OpenAI, id: string): Promise<Video> {
  for (;;) {
    const video = await openai.videos.retrieve(id);
    if (video.status !== "queued" && video.status !== "in_progress") return video;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function refusal(run: () => Promise<unknown>): Promise<APIError> {
  try {
    await run();
  } catch (error) {
    if (error instanceof APIError) return error;
    throw error;
  }
  throw new Error("accepted");
}

Deno.test("the official OpenAI SDK makes images, speech and videos at a started gateway", {
  sanitizeOps: false,
  sanitizeResources: false,
}, async (t) => {
  await using gateway = await startGateway();
  const openai = client(gateway);
  const fileOf = (name: string, type = "image/png") => toFile(png, name, { type });

  await t.step("images.generate: two pictures, charged by the picture", async () => {
    const { data, response } = await openai.images.generate({
      model: "image-1",
      prompt: "a cat",
      n: 2,
      size: "1536x1024",
    }).withResponse();
    assertEquals(data.data?.length, 2);
    const bytes = Uint8Array.fromBase64(data.data![0]!.b64_json!);
    if (canProbe) assertEquals((await probe(bytes)).codecs, ["png"]);
    const { headers } = response;
    assertEquals(headers.get("x-gateway-model"), "image-1");
    assertEquals(headers.get("x-gateway-cost-vnd"), "2000");
    assertEquals(headers.get("x-gateway-price-vnd-per-request"), "1000");
    assertEquals(headers.get("x-gateway-price-vnd-per-mtok"), null);
  });

  await t.step("images.generate streamed: previews pass, then the picture", async () => {
    const stream = await openai.images.generate({
      model: "image-1",
      prompt: "a dog",
      stream: true,
      partial_images: 2,
    });
    const types = [];
    for await (const event of stream) types.push(event.type);
    assertEquals(types, [
      "image_generation.partial_image",
      "image_generation.partial_image",
      "image_generation.completed",
    ]);
  });

  await t.step("images.edit with one file, with several, and with a mask", async () => {
    const params = { model: "image-1", prompt: "make it blue" } as const;
    for (
      const image of [await fileOf("a.png"), [await fileOf("a.png"), await fileOf("b.png")]]
    ) {
      const { data } = await openai.images.edit({ ...params, image });
      assertEquals(data?.length, 1);
    }
    const masked = await openai.images.edit({
      ...params,
      image: await fileOf("a.png"),
      mask: await fileOf("m.png"),
      n: 3,
    });
    assertEquals(masked.data?.length, 3);
  });

  await t.step("audio.speech.create: a file that a decoder accepts", async () => {
    for (const [format, codec] of [["mp3", "mp3"], ["wav", "pcm_s16le"]] as const) {
      const response = await openai.audio.speech.create({
        model: "speech-1",
        voice: "alloy",
        input: "Xin chào",
        response_format: format,
      });
      const expected = format === "mp3" ? "audio/mpeg" : "audio/wav";
      assertEquals(response.headers.get("content-type"), expected);
      assertEquals(response.headers.get("x-gateway-cost-vnd"), "1350");
      assertEquals(response.headers.get("x-gateway-price-vnd-per-request"), "1350");
      const bytes = new Uint8Array(await response.arrayBuffer());
      assert(bytes.length > 4_000, `${bytes.length} bytes`);
      if (!canProbe) continue;
      const { codecs, seconds } = await probe(bytes);
      assertEquals(codecs, [codec]);
      assert(seconds > 0.4 && seconds < 1.5, String(seconds));
    }
  });

  await t.step("what went out is what was debited", async () => {
    // Two pictures, one streamed, 1 + 1 + 3 edited, two speeches.
    assertEquals(await walletVnd(gateway), 100_000 - 8 * 1_000 - 2 * 1_350);
  });

  let finishedId = "";
  await t.step("videos.create, retrieve until the end, downloadContent", async () => {
    const { data: created, response } = await openai.videos.create({
      model: "video-a",
      prompt: "a cat that runs",
      size: "1280x720",
    }).withResponse();
    assertEquals([created.status, created.object, created.progress], ["queued", "video", 0]);
    assertEquals([created.size, created.seconds], ["1280x720", "5"]);
    assertEquals(response.headers.get("x-gateway-cost-vnd"), "3300");
    assertEquals(response.headers.get("x-gateway-price-vnd-per-request"), "3300");

    const early = await refusal(() => openai.videos.downloadContent(created.id));
    assertEquals(early.status, 400);
    const video = await ended(openai, created.id);
    assertEquals([video.status, video.progress, video.error], ["completed", 100, null]);
    assertEquals(video.expires_at, video.completed_at! + 3_600);
    const content = await openai.videos.downloadContent(video.id);
    assertEquals(content.headers.get("content-type"), "video/mp4");
    const bytes = new Uint8Array(await content.arrayBuffer());
    assertEquals(content.headers.get("content-length"), String(bytes.length));
    if (canProbe) assertEquals(await probe(bytes), { codecs: ["h264", "aac"], seconds: 2 });

    const thumbnail = await openai.videos.downloadContent(video.id, { variant: "thumbnail" });
    assertEquals(thumbnail.headers.get("content-type"), "image/webp");
    await thumbnail.body?.cancel();
    const part = await fetch(`${gateway.address}/v1/videos/${video.id}/content`, {
      headers: { authorization: `Bearer ${gateway.key}`, range: "bytes=4-11" },
    });
    assertEquals([part.status, part.headers.get("content-range")], [
      206,
      `bytes 4-11/${bytes.length}`,
    ]);
    assertEquals(await part.bytes(), bytes.slice(4, 12));
    finishedId = video.id;
  });

  await t.step("videos.create with a picture as a file, and as an address", async () => {
    const withFile = await openai.videos.create({
      model: "video-c",
      prompt: "from this picture",
      input_reference: await fileOf("first.png"),
    });
    const withUrl = await openai.videos.create({
      model: "video-d",
      prompt: "from this address",
      input_reference: { image_url: "https://example.com/first.png" },
    });
    const finals = await Promise.all([withFile, withUrl].map(({ id }) => ended(openai, id)));
    assertEquals(finals.map(({ status }) => status), ["completed", "completed"]);
  });

  await t.step("a task that fails says why, and the money comes back", async () => {
    const before = await walletVnd(gateway);
    const { id } = await openai.videos.create({
      model: "video-b",
      prompt: "[[sandbox:video-fail]]",
    });
    assertEquals(await walletVnd(gateway), before - 2_500);
    const video = await ended(openai, id);
    assertEquals([video.status, video.error?.code], ["failed", "moderation_blocked"]);
    assertEquals(await walletVnd(gateway), before);
  });

  await t.step("videos.list pages through the caller's own tasks, newest first", async () => {
    const ids: string[] = [];
    for await (const video of openai.videos.list({ limit: 2 })) ids.push(video.id);
    assertEquals(ids.length, 4);
    assertEquals(ids, ids.toSorted().reverse());
    assertEquals(ids.at(-1), finishedId);
  });

  await t.step(
    "videos.delete removes a task that has ended; another account cannot see it",
    async () => {
      const made = await gateway.admin("account", "create", "--email", "other@example.com");
      assertEquals(made.code, 0, made.output);
      const key = await gateway.admin("key", "create", "other@example.com");
      const secret = /sk-[A-Za-z0-9]+/.exec(key.output)?.[0];
      assert(secret !== undefined, key.output);
      const stranger = client(gateway, secret);
      for (
        const run of [
          () => stranger.videos.retrieve(finishedId),
          () => stranger.videos.downloadContent(finishedId),
          () => stranger.videos.delete(finishedId),
        ]
      ) assertEquals((await refusal(run)).status, 404);
      assertEquals((await stranger.videos.list()).data, []);

      assertEquals((await refusal(() => openai.videos.delete(finishedId))).param, "confirm");
      const deleted = await openai.videos.delete(finishedId, { query: { confirm: "true" } });
      assertEquals([deleted.id, deleted.object, deleted.deleted], [
        finishedId,
        "video.deleted",
        true,
      ]);
      assertEquals((await refusal(() => openai.videos.retrieve(finishedId))).status, 404);
    },
  );

  await t.step(
    "videos.delete cancels a pending task, which is refunded if it had not started",
    async () => {
      const before = await walletVnd(gateway);
      const { id } = await openai.videos.create({
        model: "video-a",
        prompt: "[[sandbox:video-slow 600000]]",
      });
      const { deleted } = await openai.videos.delete(id);
      assertEquals(deleted, true);
      assertEquals(String((await openai.videos.retrieve(id)).status), "cancelled");
      assertEquals(await walletVnd(gateway), before);
    },
  );

  await t.step("an invalid length is a 400 that names the field and costs nothing", async () => {
    const before = await walletVnd(gateway);
    const error = await refusal(() =>
      openai.videos.create({ model: "video-b", prompt: "x", seconds: "12" })
    );
    assertEquals([error.status, error.param], [400, "seconds"]);
    assertEquals(await walletVnd(gateway), before);
  });

  await t.step("a refusal by moderation is told as one", async () => {
    const error = await refusal(() =>
      openai.images.generate({ model: "image-1", prompt: "[[sandbox:moderation]]" })
    );
    assertEquals([error.status, error.code], [400, "content_policy_violation"]);
    await assertRejects(() =>
      openai.videos.create({ model: "video-a", prompt: "[[sandbox:moderation]]" })
    );
  });

  await t.step("the books of the store balance", async () => {
    const { code, output } = await gateway.admin("verify");
    assertEquals(code, 0, output);
  });
});
