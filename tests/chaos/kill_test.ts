import { assert, assertEquals } from "../support/assert.ts";
import { sameSignalMs } from "../../routes/process/keep_serving.ts";
import { sleep } from "../../core/lib/time/sleep.ts";
import { type StartedGateway, startGateway } from "../support/gateways/started_gateway.ts";
import { until } from "../support/until.ts";
import { apiPost, bearerPost } from "../support/api_post.ts";

/** What one client saw of its stream. */
interface Seen {
  readonly requestId: string;
  readonly complete: boolean;
}

async function stream(
  gateway: StartedGateway,
  i: number,
  onBegin: () => void = () => {},
  paceMs = 1 + i % 7,
): Promise<Seen | undefined> {
  let requestId: string | undefined;
  let text = "";
  try {
    const response = await fetch(bearerPost(`${gateway.address}/v1/chat/completions`, gateway.key, {
      model: "general-01",
      max_tokens: 200,
      stream: true,
      messages: [{
        role: "user",
        content: `[[sandbox:pace ${paceMs}]] call number ${i}: tell me of rivers`,
      }],
    }));
    requestId = response.headers.get("x-request-id") ?? undefined;
    onBegin();
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) text += chunk;
  } catch {
    // The server was killed.
  }
  return requestId === undefined
    ? undefined
    : { requestId, complete: text.includes("data: [DONE]") };
}

/** Keeps `inFlight` streams running until the server dies; adds the outcome of each to `seen`. */
async function load(gateway: StartedGateway, inFlight: number, seen: Seen[]): Promise<void> {
  let started = 0;
  let alive = true;
  const client = async () => {
    while (alive && started < 5_000) {
      const result = await stream(gateway, started++);
      if (result === undefined) alive = false;
      else {
        seen.push(result);
        if (!result.complete) alive = false;
      }
    }
  };
  await Promise.all(Array.from({ length: inFlight }, client));
}

const impatient = {
  "SIGTERM with a stream that will not end: it gets an error event of its style within the deadline":
    { drainMs: 200, signals: 1 },
  "SIGTERM twice: the second one ends at once what would have had a minute": {
    drainMs: 60_000,
    signals: 2,
  },
};

for (const [threads, workers] of [["one thread", "1"], ["two workers", "2"]] as const) {
  const env = { GATEWAY_WORKERS: workers };

  Deno.test(
    `${threads}: kill -9 under 64 streams: every answer that was seen complete has its receipt, and the money adds up`,
    {
      sanitizeOps: false,
      sanitizeResources: false,
    },
    async () => {
      const folder = await Deno.makeTempDir({ prefix: "gateway-kill-" });
      try {
        const all: Seen[] = [];
        for (const ended of [64, 200]) {
          const gateway = await startGateway({ folder, env });
          const running = load(gateway, 64, all);
          const begun = Promise.withResolvers<void>();
          const slow = stream(gateway, 0, begun.resolve, 10_000);
          await begun.promise;
          await until(() => all.length >= ended, `${ended} streams have ended`);
          await gateway.end("SIGKILL");
          await running;
          assertEquals((await slow)?.complete, false, "a stream was cut off");
        }
        const complete = all.filter((seen) => seen.complete);

        await using gateway = await startGateway({ folder, env });
        const verified = await gateway.admin("verify");
        assertEquals(verified.code, 0, verified.output);
        const exported = (await gateway.admin("export")).output;
        const missing = complete.filter(({ requestId }) => !exported.includes(requestId));
        assertEquals(missing, []);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  );

  Deno.test(
    `${threads}: SIGTERM: running streams end by themselves, everything is settled, the process exits 0`,
    {
      sanitizeOps: false,
      sanitizeResources: false,
    },
    async () => {
      const folder = await Deno.makeTempDir({ prefix: "gateway-term-" });
      try {
        const gateway = await startGateway({ folder, env });
        let begun = 0;
        const running = Promise.all(
          Array.from({ length: 16 }, (_, i) => stream(gateway, i * 7 + 6, () => begun++)),
        );
        await until(() => begun === 16, "all streams have begun");
        const code = await gateway.end("SIGTERM");
        assertEquals(code, 0);
        const seen = await running;
        assertEquals(seen.filter((one) => one?.complete).length, 16);
        await using again = await startGateway({ folder, env });
        const verified = await again.admin("verify");
        assertEquals(verified.code, 0, verified.output);
        assertEquals(JSON.parse(verified.output).leasedVnd, "0");
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  );

  for (const [name, { drainMs, signals }] of Object.entries(impatient)) {
    Deno.test(`${threads}: ${name}`, { sanitizeOps: false, sanitizeResources: false }, async () => {
      const folder = await Deno.makeTempDir({ prefix: "gateway-term-" });
      try {
        const gateway = await startGateway({
          folder,
          env: { ...env, GATEWAY_DRAIN_MS: String(drainMs) },
        });
        const response = await fetch(apiPost(`${gateway.address}/v1/messages`, gateway.key, {
          model: "premium-1",
          max_tokens: 400,
          stream: true,
          messages: [{
            role: "user",
            content: "[[sandbox:stall-after 3]] tell me of rivers and of the sea",
          }],
        }));
        const reading = response.text();
        for (let sent = 1; sent < signals; sent++) {
          Deno.kill(gateway.pid, "SIGTERM");
          await until(() => gateway.log.some((line) => line.includes('"stopping"')), "it stops");
          await sleep(sameSignalMs);
        }
        const code = await gateway.end("SIGTERM");
        assertEquals(code, 0);
        const text = await reading;
        assert(text.includes("event: error"), text);
        assert(!text.includes("message_stop"), text);
        await using again = await startGateway({ folder, env });
        const verified = await again.admin("verify");
        assertEquals(verified.code, 0, verified.output);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    });
  }
}

Deno.test(
  "200 calls at once on a wallet that affords exactly 50: 50 succeed, 150 get 402, nothing is left",
  {
    sanitizeOps: false,
    sanitizeResources: false,
  },
  async () => {
    await using gateway = await startGateway();
    const { id } = JSON.parse((await gateway.admin("account", "create")).output);
    const { key } = JSON.parse((await gateway.admin("key", "create", id)).output);
    await gateway.admin("credit", id, String(50 * 230), "--reason", "exactly fifty calls");
    const statuses = await Promise.all(Array.from({ length: 200 }, async (_, i) => {
      const response = await fetch(bearerPost(`${gateway.address}/v1/chat/completions`, key, {
        model: "low-cost-01",
        max_tokens: 5,
        messages: [{ role: "user", content: `call ${i}` }],
      }));
      await response.body?.cancel();
      return response.status;
    }));
    assertEquals(statuses.filter((status) => status === 200).length, 50);
    assertEquals(statuses.filter((status) => status === 402).length, 150);
    assertEquals(JSON.parse((await gateway.admin("account", "show", id)).output).balanceVnd, "0");
    assertEquals((await gateway.admin("verify")).code, 0);
  },
);
