import { assert, assertEquals } from "../support/assert.ts";
import OpenAI from "openai";
import type { Video } from "openai/resources/videos";
import { type StartedGateway, startGateway } from "../support/gateways/started_gateway.ts";
import { until } from "../support/until.ts";

const priceVnd = 2_200;
const startVnd = 100_000;
/** Milliseconds in which the sandbox has made some dozen videos, even on a busy machine. */
const videosMs = 120_000;

function client(gateway: StartedGateway): OpenAI {
  return new OpenAI({ baseURL: `${gateway.address}/v1`, apiKey: gateway.key, maxRetries: 0 });
}

async function allVideos(openai: OpenAI): Promise<Video[]> {
  return await Array.fromAsync(openai.videos.list({ limit: 100 }));
}

/** Whether a process that has answered these tasks is to be killed now. */
type KillAt = (answered: readonly string[], openai: OpenAI) => boolean | Promise<boolean>;

const tasksOfLife = 9;

const hasEnded = ({ status }: Video) => status === "completed" || status === "failed";

/** Processes that are killed while tasks are accepted, and while they are polled and refunded. */
const lives: readonly KillAt[] = [
  ({ length }) => length >= 1,
  ({ length }) => length >= 4,
  async ({ length }, openai) => length === tasksOfLife && (await allVideos(openai)).some(hasEnded),
  async ({ length }, openai) =>
    length === tasksOfLife && (await allVideos(openai)).filter(hasEnded).length > tasksOfLife,
  ({ length }) => length >= 2,
];

/** Creates tasks until the process dies; returns the ids that were answered. */
async function createUntilKilled(gateway: StartedGateway, killAt: KillAt): Promise<string[]> {
  const openai = client(gateway);
  const answered: string[] = [];
  const callers = Array.from({ length: 3 }, async (_, caller) => {
    for (let i = 0; i < tasksOfLife / 3; i++) {
      const prompt = (caller + i) % 2 === 0 ? "works" : "[[sandbox:video-fail]]";
      try {
        answered.push((await openai.videos.create({ model: "video-c", prompt })).id);
      } catch {
        return; // killed
      }
    }
  });
  await until(() => killAt(answered, openai), "the moment of the kill", videosMs);
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
    for (const killAt of lives) {
      const gateway = await startGateway({ folder });
      answered.push(...await createUntilKilled(gateway, killAt));
    }
    await using gateway = await startGateway({ folder });
    const openai = client(gateway);
    const videos = await until(
      async () => {
        const all = await allVideos(openai);
        return all.every(hasEnded) && all;
      },
      "all tasks end",
      videosMs,
    );
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
