/** Rate limits over serving threads: the owner keeps the book, and what ran on an ended thread does not count. */
import { assertEquals } from "../support/assert.ts";
import { serveThreaded } from "../support/gateways/threaded_gateway.ts";
import { until } from "../support/until.ts";
import { chat } from "../support/worlds/threaded_calls.ts";
import { bearerPost } from "../support/api_post.ts";

const threads = { sanitizeOps: false, sanitizeResources: false };

const file = JSON.parse(
  await Deno.readTextFile(new URL("../../gateway.json", import.meta.url)),
);

const withLimits = (account: Record<string, number>) =>
  JSON.stringify({ ...file, rateLimits: { account } });

Deno.test("workers together never exceed a limit, and tell the same figures", threads, async () => {
  await using gateway = await serveThreaded({ file: withLimits({ requestsPerMinute: 12 }) });
  const { key } = await gateway.customer(1_000_000);
  const seen = await Promise.all(
    Array.from({ length: 40 }, (_, at) => chat(gateway, key, `call ${at}`)),
  );
  const admitted = seen.filter(({ status }) => status === 200);
  assertEquals(admitted.length, 12);
  assertEquals(seen.filter(({ status }) => status === 429).length, 28);
  const left = admitted.map(({ headers }) => Number(headers.get("x-ratelimit-remaining-requests")));
  assertEquals(left.sort((a, b) => a - b), Array.from({ length: 12 }, (_, at) => at));
});

Deno.test("calls that ran on an ended worker do not count as running", threads, async () => {
  await using gateway = await serveThreaded({ file: withLimits({ callsAtOnce: 3 }) });
  const { key } = await gateway.customer(1_000_000);
  const running = await Promise.all(
    Array.from({ length: 3 }, () =>
      // The gateway's own fetch waits for the whole answer.
      fetch(bearerPost(`${gateway.address}/v1/chat/completions`, key, {
        model: "low-cost-01",
        max_tokens: 500,
        stream: true,
        messages: [{ role: "user", content: `[[sandbox:pace 500]] ${"rivers ".repeat(100)}` }],
      }))),
  );
  assertEquals(running.map(({ status }) => status), [200, 200, 200]);
  assertEquals((await chat(gateway, key, "now")).status, 429);
  for (const worker of gateway.threads.values()) worker.terminate();
  await until(
    async () => (await chat(gateway, key, "again").catch(() => undefined))?.status === 200,
    "the limit is free again",
  );
  for (const { body } of running) await body?.cancel().catch(() => {});
});
