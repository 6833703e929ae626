import { assert, assertEquals } from "../support/assert.ts";
import OpenAI from "openai";
import type { Video } from "openai/resources/videos";
import { type StartedGateway, startGateway } from "../support/gateways/started_gateway.ts";

const priceVnd = 2_200;
const startVnd = 100_000;

function client(gateway: StartedGateway): OpenAI {
  return new OpenAI({ baseURL: `${gateway.address}/v1`, apiKey: gateway.key, maxRetries: 0 });
}

async function allVideos(openai: OpenAI): Promise<Video[]> {
  return await Array.fromAsync(openai.videos.list({ limit: 100 }));
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Creates tasks until the process dies; returns the ids that were answered. */
async function createUntilKilled(gateway: StartedGateway, lifeMs: number): Promise<string[]> {
  const openai = client(gateway);
  const answered: string[] = [];
  const callers = Array.from({ length: 3 }, async (_, caller) => {
    for (let i = 0; i < 3; i++) {
      const prompt = (caller + i) % 2 === 0 ? "works" : "[[sandbox:video-fail]]";
      try {
        answered.push((await openai.videos.create({ model: "video-c", prompt })).id);
      } catch {
        return; // killed
      }
    }
  });
  await pause(lifeMs);
  await gateway.end("SIGKILL");
  await Promise.all(callers);
  return answered;
}

Deno.test(
  "kill -9 while tasks are created and polled: each ends once, failures are refunded once, the money adds up",
  {
    sanitizeOps: false,
    sanitizeResources: false,
  },
  async () => {
    const folder = await Deno.makeTempDir({ prefix: "gateway-kill-" });
    const answered: string[] = [];
    // Processes that are killed while tasks are accepted, and while they are polled and refunded.
    for (const lifeMs of [15, 40, 2_900, 3_300, 120]) {
      const gateway = await startGateway({ folder });
      answered.push(...await createUntilKilled(gateway, lifeMs));
    }
    await using gateway = await startGateway({ folder });
    const openai = client(gateway);
    let videos = await allVideos(openai);
    while (videos.some(({ status }) => status === "queued" || status === "in_progress")) {
      await pause(300);
      videos = await allVideos(openai);
    }
    const ids = new Set(videos.map(({ id }) => id));
    assertEquals(ids.size, videos.length, "no task twice");
    for (const id of answered) assert(ids.has(id), `${id} was answered and is not there`);
    const failed = videos.filter(({ status }) => status === "failed").length;
    const completed = videos.filter(({ status }) => status === "completed").length;
    assertEquals(failed + completed, videos.length);
    assert(failed > 3 && completed > 3, `${failed} failed, ${completed} completed`);

    const { output } = await gateway.admin("account", "show", "demo@sandbox.invalid");
    assertEquals(Number(JSON.parse(output).balanceVnd), startVnd - completed * priceVnd);
    const verified = await gateway.admin("verify");
    assertEquals(verified.code, 0, verified.output);
    await gateway.end("SIGTERM");
    await Deno.remove(folder, { recursive: true });
  },
);
