/** What one serving thread learns or counts holds for all of them. */
import { assert, assertEquals } from "../support/assert.ts";
import { fromVnd } from "../../core/billing/money/micro_vnd.ts";
import { breakerConsecutiveFailures } from "../../core/routing/health/breaker.ts";
import { readWallet } from "../../kv/money/balances/wallets.ts";
import { newAdminPayer } from "../support/gateways/admin_payer.ts";
import { startGateway } from "../support/gateways/started_gateway.ts";
import { runThreaded, serveThreaded } from "../support/gateways/threaded_gateway.ts";
import { until } from "../support/until.ts";
import { assertSound, callVnd, chat, type Seen } from "../support/worlds/threaded_calls.ts";

const threads = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "/metrics of any worker are those of all, and do not go back when one dies",
  threads,
  async () => {
    const operatorKey = "operator-key-of-24-characters";
    await using gateway = await serveThreaded({ env: { GATEWAY_OPERATOR_KEY: operatorKey } });
    const { key } = await gateway.customer(1_000_000);
    const headers = { authorization: `Bearer ${operatorKey}` };
    let replaced = 0;
    const counted = async () => {
      const text = await (await gateway.fetch("/metrics", { headers })).text();
      assert(text.includes(`\ngateway_workers_replaced_total ${replaced}\n`));
      assert(text.includes('\ngateway_outbox_rows{queue="mail"} 0\n'), "the owner reads the store");
      assertEquals(text.match(/^# TYPE gateway_calls_total /gm)?.length, 1);
      const [, count = "0"] = /^gateway_calls_total\{[^}]*\} (\d+)$/m.exec(text) ?? [];
      const [, buckets = "0"] =
        /^gateway_call_duration_seconds_count\{[^}]*\} (\d+)$/m.exec(text) ??
          [];
      assertEquals(buckets, count);
      return Number(count);
    };
    const calls = async (count: number) =>
      void await Promise.all(
        Array.from({ length: count }, (_, i) => chat(gateway, key, `call ${i}`)),
      );
    await calls(40);
    for (let scrape = 0; scrape < 6; scrape++) assertEquals(await counted(), 40);
    gateway.threads.get(2)?.terminate();
    await until(
      () => gateway.lines.some((line) => line.includes("was replaced")),
      "it is replaced",
    );
    replaced++;
    for (let scrape = 0; scrape < 6; scrape++) assertEquals(await counted(), 40);
    await calls(10);
    for (let scrape = 0; scrape < 6; scrape++) assertEquals(await counted(), 50);
  },
);

Deno.test(
  "a call with an idempotency key is charged once, whichever worker gets its repeats",
  threads,
  async () => {
    await using gateway = await serveThreaded();
    const { key, accountId } = await gateway.customer(1_000_000);
    for (const stream of [false, true]) {
      const headers = { "idempotency-key": `one-${stream}` };
      const repeat = () => chat(gateway, key, "[[sandbox:pace 20]] rivers", { stream, headers });
      const atOnce = await Promise.all(Array.from({ length: 4 }, repeat));
      // At most four wait for a first one at the same worker.
      const later: Seen[] = [];
      while (later.length < 12) later.push(...await Promise.all(Array.from({ length: 4 }, repeat)));
      const [first] = atOnce;
      for (const seen of [...atOnce, ...later]) {
        assertEquals([seen.status, seen.isWhole], [200, true], seen.text);
        assertEquals(seen.text, first?.text);
      }
      const replayed = later.filter((seen) => seen.headers.get("idempotent-replayed") === "true");
      assertEquals(replayed.length, 12);
    }
    await assertSound(gateway);
    const { availableMicroVnd } = await gateway.afterwards((kv) => readWallet(kv, accountId));
    assertEquals(availableMicroVnd, fromVnd(1_000_000 - 2 * callVnd));
  },
);

Deno.test(
  "repeats at several workers of a call whose answer is not kept do not wait for each other",
  threads,
  async () => {
    await using gateway = await serveThreaded();
    const { key } = await gateway.customer(1_000_000);
    const headers = { "idempotency-key": "lost" };
    const repeat = () => chat(gateway, key, "rivers", { headers });
    assertEquals((await repeat()).status, 200);
    // Both workers are replaced, so nobody has the answer.
    for (const thread of [...gateway.threads.values()]) thread.terminate();
    const replaced = () => gateway.lines.filter((line) => line.includes("was replaced")).length;
    await until(() => replaced() === 2, "both are replaced");
    const later = await Promise.all(Array.from({ length: 8 }, repeat));
    const codes = later.map(({ text }) => JSON.parse(text).error.code);
    assertEquals(
      codes.filter((code) => code !== "already_answered" && code !== "order_under_way"),
      [],
    );
    assert(codes.includes("already_answered"));
  },
);

Deno.test(
  "a Responses request may refer to an item that another worker made",
  threads,
  async () => {
    await using gateway = await serveThreaded();
    const { key } = await gateway.customer(1_000_000);
    const ask = async (input: unknown) => {
      const response = await gateway.fetch("/v1/responses", {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "premium-1", input }),
      });
      return { status: response.status, body: await response.json() };
    };
    const { body: { output: [{ id }] } } = await ask("first words");
    const statuses = await Promise.all(
      Array.from(
        { length: 16 },
        () => ask([{ type: "item_reference", id }, { role: "user", content: "Go on." }]),
      ),
    );
    assertEquals(new Set(statuses.map(({ status }) => status)), new Set([200]));
  },
);

Deno.test(
  "a Responses request may continue, read and remove a response that another worker made",
  threads,
  async () => {
    await using gateway = await serveThreaded();
    const { key } = await gateway.customer(1_000_000);
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const ask = async (method: string, path: string, body?: unknown) => {
      const response = await gateway.fetch(path, {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: await response.json() };
    };
    const create = (more: object) =>
      ask("POST", "/v1/responses", { model: "premium-1", input: "words", ...more });
    const many = <Answer>(run: () => Promise<Answer>) =>
      Promise.all(Array.from({ length: 16 }, run));
    const { body: { id, usage } } = await create({});
    const continued = await many(() => create({ previous_response_id: id }));
    for (const { status, body } of continued) {
      assertEquals(status, 200, JSON.stringify(body));
      assert(body.usage.input_tokens > usage.input_tokens);
    }
    // Two turns on, so that the turn between them has come from elsewhere, too.
    const { body: last } = continued[0]!;
    for (const { status, body } of await many(() => create({ previous_response_id: last.id }))) {
      assertEquals(status, 200, JSON.stringify(body));
      assert(body.usage.input_tokens > last.usage.input_tokens);
    }
    const path = `/v1/responses/${id}`;
    assertEquals((await many(() => ask("GET", path))).filter(({ body }) => body.id !== id), []);
    const removed = await many(() => ask("DELETE", path));
    assert(removed.some(({ status }) => status === 200));
    for (const { status } of await many(() => ask("GET", path))) assertEquals(status, 404);
    const { status, body } = await create({ previous_response_id: id });
    assertEquals([status, body.error.code], [400, "previous_response_not_found"]);
  },
);

/** A provider that counts its calls and fails. */
function failingProvider() {
  let calls = 0;
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    await request.body?.cancel();
    calls++;
    return Response.json({ error: { message: "broken" } }, { status: 500 });
  });
  return { port: server.addr.port, calls: () => calls, end: () => server.shutdown() };
}

const brokenFirst = (port: number) =>
  JSON.stringify({
    defaultModel: "low-cost-01",
    providers: {
      broken: { kind: "http", baseUrl: `http://127.0.0.1:${port}`, apiKeyEnv: "BROKEN_KEY" },
      sandbox: { kind: "sandbox" },
    },
    models: [{
      id: "low-cost-01",
      kind: "chat",
      family: "test",
      contextWindow: 100_000,
      maxOutputTokens: 4_096,
      price: { unit: "token", vndPerMtok: 8_300 },
      routes: [
        { provider: "broken", style: "chat", priority: 1 },
        { provider: "sandbox", style: "chat", priority: 2 },
      ],
    }],
  });

Deno.test("a route that failed at one worker rests at the other", threads, async () => {
  const operatorKey = "operator-key-of-24-characters";
  const provider = failingProvider();
  try {
    await using gateway = await serveThreaded({
      env: { BROKEN_KEY: "broken", GATEWAY_OPERATOR_KEY: operatorKey },
      file: brokenFirst(provider.port),
    });
    const { key } = await gateway.customer(100_000);
    const headers = { authorization: `Bearer ${operatorKey}` };
    const stateAtAnyWorker = async () => {
      const { data } = await (await gateway.fetch("/operator/routes", { headers })).json();
      return data[0].operations.chat?.state;
    };
    for (let i = 0; i < breakerConsecutiveFailures; i++) {
      assertEquals((await chat(gateway, key, "hello")).status, 200);
    }
    // Sixteen connections reach both workers, and the failures of one alone are at most enough for itself.
    await until(async () => {
      const states = await Promise.all(Array.from({ length: 16 }, stateAtAnyWorker));
      return states.every((state) => state === "open");
    }, "the route rests at both workers");
    assertEquals(provider.calls(), breakerConsecutiveFailures);
  } finally {
    await provider.end();
  }
});

Deno.test("a revoked key and maintenance hold at all workers at once", threads, async () => {
  await using gateway = await startGateway({ env: { GATEWAY_WORKERS: "2" } });
  const { id, keyId, key } = await newAdminPayer(gateway, 100_000);
  const fresh = {
    async fetch(path: string, init: RequestInit = {}) {
      using client = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
      try {
        const response = await fetch(`${gateway.address}${path}`, { ...init, client });
        return new Response(await response.bytes(), response);
      } catch (cause) {
        throw new Error(`not served:\n${gateway.log.join("\n")}`, { cause });
      }
    },
  };
  const statuses = async () =>
    new Set(
      (await Promise.all(Array.from({ length: 16 }, () => chat(fresh, key, "hello")))).map((
        { status },
      ) => status),
    );
  const allAre = (status: number) => async () => {
    const seen = await statuses();
    return seen.size === 1 && seen.has(status);
  };
  assertEquals(await statuses(), new Set([200]));
  assertEquals((await gateway.admin("maintenance", "on", "--message", "back soon")).code, 0);
  await until(allAre(503), "maintenance holds");
  assertEquals((await gateway.admin("maintenance", "off")).code, 0);
  await until(allAre(200), "maintenance has ended");
  assertEquals((await gateway.admin("key", "revoke", id, keyId)).code, 0);
  await until(allAre(401), "the key is refused");
  assertEquals(gateway.log.filter((line) => line.includes("listening on")).length, 1);
  assertEquals(await gateway.end("SIGTERM"), 0);
  const ends = gateway.log.filter((line) => line.includes('"stopped"')).length;
  assertEquals(ends, 1);
});

Deno.test(
  "a worker that ends before it serves, time and again, ends the process with one line",
  threads,
  async () => {
    const lines: string[] = [];
    let starts = 0;
    const code = await runThreaded({
      startThread() {
        starts++;
        return {
          port: { receive() {}, post() {}, close() {} },
          ended: Promise.resolve("it is not to be"),
          terminate() {},
        };
      },
    }, { write: (line) => lines.push(line), signal: new AbortController().signal });
    assertEquals(code, 1);
    assertEquals(starts, 10, "five for each worker");
    const said = lines.filter((line) => line.startsWith("Cannot start"));
    assertEquals(said, [
      "Cannot start: a worker ended 5 times before it served: it is not to be",
    ]);
  },
);

Deno.test(
  "a second gateway on the port of a first with workers says that it is taken",
  threads,
  async () => {
    await using first = await serveThreaded();
    const lines: string[] = [];
    const { port } = new URL(first.address);
    const signal = new AbortController().signal;
    const write = (line: string) => void lines.push(line);
    assertEquals(await runThreaded({ env: { PORT: port } }, { write, signal }), 1);
    assertEquals(
      lines.filter((line) => line.startsWith("Cannot listen on")).length,
      1,
      lines.join(),
    );
  },
);
