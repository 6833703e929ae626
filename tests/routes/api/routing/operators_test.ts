import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { breakerConsecutiveFailures } from "../../../../core/routing/health/breaker.ts";
import { maintenanceRetrySeconds } from "../../../../core/routing/health/limits.ts";
import { controlStaleMs } from "../../../../kv/engine/control/control.ts";
import { maxOperatorBodyBytes } from "../../../../routes/operator/api/app.ts";
import { listAuditLines } from "../../../../kv/people/audit/operator_audit.ts";
import { openTestGateway, type TestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { apiPost, bearerPost } from "../../../support/api_post.ts";

const operatorKey = "operator-key-of-24-characters";
const env = { GATEWAY_OPERATOR_KEY: operatorKey };
const bearer = { authorization: `Bearer ${operatorKey}` };

async function ask(
  gateway: TestGateway,
  path: string,
  init: RequestInit = { headers: bearer },
): Promise<{ status: number; text: string; headers: Headers }> {
  const response = await gateway.fetch(new Request(`http://gateway${path}`, init));
  return { status: response.status, text: await response.text(), headers: response.headers };
}

const post = (body?: unknown): RequestInit => ({
  method: "POST",
  headers: bearer,
  ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
});

/** Ids may hold `#`, which ends a path unless it is encoded. */
const pathOf = (id: string, action: string) =>
  `/operator/routes/${encodeURIComponent(id)}/${action}`;

interface RouteJson {
  readonly id: string;
  readonly model: string;
  readonly switched: string;
  readonly credentials: { readonly count: number };
  readonly operations: Record<string, { state: string; window: { calls: number } }>;
}

async function routes(gateway: TestGateway): Promise<RouteJson[]> {
  const { status, text } = await ask(gateway, "/operator/routes");
  assertEquals(status, 200);
  return JSON.parse(text).data;
}

async function chat(gateway: TestGateway, key: string, model: string): Promise<Response> {
  return await gateway.fetch(bearerPost("http://gateway/v1/chat/completions", key, {
    model,
    max_tokens: 10,
    messages: [{ role: "user", content: "Hi, here is my secret prompt" }],
  }));
}

async function statusOf(gateway: TestGateway, key: string): Promise<number> {
  const response = await chat(gateway, key, "premium-1");
  await response.body?.cancel();
  return response.status;
}

/** Its status for a call, once an instance has served as long as it may by what it read of the store. */
async function statusIn2s(gateway: TestGateway, key: string): Promise<number> {
  await gateway.advance(controlStaleMs + 1);
  return await statusOf(gateway, key);
}

Deno.test("without an operator key configured the operator paths are 404; a wrong key is refused", async () => {
  await using gateway = await openTestGateway({ env });
  await using closed = await openTestGateway();
  const paths = ["/operator/routes", "/operator/maintenance", "/metrics"];
  for (const path of paths) {
    assertEquals((await ask(gateway, path, {})).status, 404, path);
    const wrong = { headers: { authorization: "Bearer wrong-key-of-24-characters" } };
    assertEquals((await ask(gateway, path, wrong)).status, 401, path);
    assertEquals((await ask(gateway, path)).status, 200, path);
    assertEquals(
      (await ask(closed, path)).status,
      404,
      `${path} without a key in the configuration`,
    );
  }
  const { key } = await gateway.customer(1_000);
  const customers = { headers: { authorization: `Bearer ${key}` } };
  assertEquals((await ask(gateway, "/operator/routes", customers)).status, 401);
});

Deno.test("GET /operator/routes shows each route with its health, and no secret", async () => {
  await using gateway = await openTestGateway({
    env: { ...env, VENDOR_KEY: "vendor-secret-value" },
    file: (file) => ({
      ...file,
      providers: {
        ...Object(file["providers"]),
        vendor: { kind: "http", baseUrl: "https://api.vendor.example", apiKeyEnv: "VENDOR_KEY" },
      },
    }),
  });
  const { key } = await gateway.customer(10_000);
  await (await chat(gateway, key, "premium-1")).body?.cancel();
  const all = await routes(gateway);
  const used = all.filter(({ operations }) => (operations["chat"]?.window.calls ?? 0) > 0);
  assertEquals(used.map(({ model, operations }) => [model, operations["chat"]?.state]), [
    ["premium-1", "closed"],
  ]);
  const { text } = await ask(gateway, "/operator/routes");
  assert(!text.includes("vendor-secret") && !text.includes("api.vendor.example"));
});

Deno.test("a route that is switched off on one instance is off on another within two seconds, and on again", async () => {
  using kv = await Deno.openKv(":memory:");
  await using one = await openTestGateway({ env, kv });
  await using two = await openTestGateway({ env, kv, masterKeys: one.masterKeys });
  const { key } = await one.customer(10_000);
  const ids = (await routes(one)).filter(({ model }) => model === "premium-1").map(({ id }) => id);
  for (const action of ["disable", "drain"] as const) {
    for (const id of ids) {
      const { status, text } = await ask(
        one,
        pathOf(id, action),
        post({ reason: "test" }),
      );
      assertEquals(status, 200, text);
    }
    assertEquals((await chat(one, key, "premium-1")).status, 503, "at once here");
    assertEquals(await statusIn2s(two, key), 503);
    const switched = new Set(
      (await routes(two)).filter(({ model }) => model === "premium-1").map((route) =>
        route.switched
      ),
    );
    assertEquals([...switched], [action === "drain" ? "draining" : "disabled"]);
    for (const id of ids) await ask(one, pathOf(id, "enable"), post());
    assertEquals((await chat(one, key, "premium-1")).status, 200);
    assertEquals(await statusIn2s(two, key), 200);
  }
});

Deno.test("maintenance holds on all instances within two seconds; models and status stay readable", async () => {
  using kv = await Deno.openKv(":memory:");
  await using one = await openTestGateway({ env, kv });
  await using two = await openTestGateway({ env, kv, masterKeys: one.masterKeys });
  const { key } = await one.customer(10_000);
  await ask(one, "/operator/maintenance", post({ on: true, message: "Back at noon" }));
  const refused = await chat(one, key, "premium-1");
  assertEquals(refused.status, 503);
  assertEquals(refused.headers.get("retry-after"), String(maintenanceRetrySeconds));
  assertStringIncludes(await refused.text(), "Back at noon");
  assertEquals(await statusIn2s(two, key), 503);
  const status = JSON.parse((await ask(two, "/v1/status", {})).text);
  assertEquals(status.maintenance, true);
  assertEquals((await ask(two, "/healthz", {})).status, 200);
  await ask(one, "/operator/maintenance", post({ on: false }));
  const lines = await listAuditLines(kv, { count: 10 });
  assertEquals(lines.map(({ operatorEmail, act, subject }) => [operatorEmail, act, subject]), [
    ["operator key", "maintenance_changed", "off"],
    ["operator key", "maintenance_changed", "on"],
  ]);
  assertEquals(await statusIn2s(two, key), 200);
});

Deno.test("requests of operators are validated", async () => {
  await using gateway = await openTestGateway({ env });
  const id = (await routes(gateway))[0]?.id ?? "";
  const bad: readonly [string, RequestInit, number][] = [
    [pathOf(id, "disable"), post("{nonsense"), 400],
    [pathOf(id, "disable"), post({ reason: "" }), 400],
    [pathOf(id, "disable"), post({ other: 1 }), 400],
    [pathOf(id, "disable"), post("x".repeat(maxOperatorBodyBytes + 1)), 413],
    ["/operator/routes/no/such/disable", post(), 404],
    [pathOf(id, "explode"), post(), 404],
    ["/operator/maintenance", post({}), 400],
    ["/operator/maintenance", post("[]"), 400],
  ];
  for (const [path, init, status] of bad) {
    const answer = await ask(gateway, path, init);
    assertEquals(
      answer.status,
      status,
      `${path} ${String(init.body).slice(0, 40)}: ${answer.text}`,
    );
  }
  assertEquals((await routes(gateway)).every(({ switched }) => switched === "enabled"), true);
});

Deno.test("GET /readyz is 503 when the ledger is closed; GET /healthz stays 200", async () => {
  await using gateway = await openTestGateway({ env });
  assertEquals((await ask(gateway, "/readyz", {})).status, 200);
  await gateway.assembled.gateway.wallet.close();
  const answer = await ask(gateway, "/readyz", {});
  assertEquals([answer.status, JSON.parse(answer.text).reasons], [503, ["ledger unavailable"]]);
  assertEquals((await ask(gateway, "/healthz", {})).status, 200);
});

Deno.test("GET /v1/status needs no key and has each model, with times once they are measured", async () => {
  await using gateway = await openTestGateway({ env });
  const { key } = await gateway.customer(10_000);
  const stream = await gateway.fetch(apiPost("http://gateway/v1/messages", key, {
    model: "premium-1",
    max_tokens: 10,
    stream: true,
    messages: [{ role: "user", content: "Hi" }],
  }));
  await stream.text();
  const { text, headers } = await ask(gateway, "/v1/status", {});
  assert(headers.get("cache-control")?.includes("max-age"));
  const { models }: {
    models: { id: string; status: string; first_output_ms: { p50: number | null } }[];
  } = JSON.parse(text);
  const used = models.find(({ id }) => id === "premium-1");
  assertEquals(used?.status, "up");
  assert(typeof used?.first_output_ms.p50 === "number");
  assertEquals(models.find(({ id }) => id === "general-01")?.first_output_ms.p50, null);
  assert(!text.includes("sandbox"), "providers are nobody's business");
});

Deno.test("GET /v1/status answers while the store fails", async () => {
  await using gateway = await openTestGateway({ env });
  const { gateway: parts } = gateway.assembled;
  const failing = new Proxy(parts.kv, {
    get: (kv, name) => {
      if (name === "list") throw new Error("the store is gone");
      return Reflect.get(kv, name, kv);
    },
  });
  const { DayOfAvailability, serveStatus } = await import("../../../../routes/api/status.ts");
  const broken = { ...parts, kv: failing };
  const response = await serveStatus(broken, new DayOfAvailability(broken));
  assertEquals(response.status, 200);
  await response.body?.cancel();
});

Deno.test("GET /metrics: calls, tokens, money, attempts, times and states, in the Prometheus format", async () => {
  await using gateway = await openTestGateway({ env });
  const { key } = await gateway.customer(10_000);
  const answer = await chat(gateway, key, "premium-1");
  const cost = answer.headers.get("x-gateway-cost-vnd");
  await answer.body?.cancel();
  await (await chat(gateway, key, 'no-such-model-"\n{}')).body?.cancel();
  const { text, headers } = await ask(gateway, "/metrics");
  assertEquals(headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  assertStringIncludes(
    text,
    'gateway_calls_total{model="premium-1",outcome="completed",status="200"} 2\n',
  );
  assertStringIncludes(text, `gateway_cost_vnd_total{model="premium-1"} ${2 * Number(cost)}\n`);
  assertStringIncludes(text, 'gateway_tokens_total{model="premium-1",type="output"} ');
  assert(/gateway_attempts_total\{route="[^"]+",result="ok"\} 2\n/.test(text), text);
  assert(/gateway_route_breaker\{route="[^"]+",operation="chat"\} 0\n/.test(text));
  assertStringIncludes(text, "gateway_calls_in_flight 0\n");
  assertStringIncludes(text, "gateway_teller_healthy 1\n");
  assertStringIncludes(
    text,
    'gateway_call_duration_seconds_bucket{model="premium-1",le="+Inf"} 2\n',
  );
  assert(!text.includes("no-such-model"), "names that strangers send are no labels");
  assert(!text.includes("secret prompt") && !text.includes(key));
  for (const line of text.trimEnd().split("\n")) {
    assert(
      /^# (HELP|TYPE) [a-z_]+ .+$/.test(line) ||
        /^[a-z_]+(\{([a-z_]+="[^"\\]*",?)+\})? [0-9.e+-]+$/.test(line),
      line,
    );
  }
});

Deno.test("the log has a line per call and per change of a route, and no prompt, key or host", async () => {
  await using gateway = await openTestGateway({
    env: { ...env, VENDOR_KEY: "vendor-secret-value" },
    file: () => ({
      defaultModel: "m",
      providers: {
        vendor: { kind: "http", baseUrl: "http://127.0.0.1:1", apiKeyEnv: "VENDOR_KEY" },
      },
      models: [{
        id: "m",
        kind: "chat",
        family: "f",
        price: { unit: "request", vnd: 5 },
        routes: [{ provider: "vendor" }],
      }],
    }),
  });
  const { key } = await gateway.customer(10_000);
  for (let i = 0; i < breakerConsecutiveFailures; i++) {
    const answer = await chat(gateway, key, "m");
    assertEquals(answer.status, 502);
    await answer.body?.cancel();
  }
  const lines = gateway.log.map((line): Record<string, unknown> => JSON.parse(line));
  assertEquals(lines.filter(({ message }) => message === "call").length, 3);
  const changes = lines.filter(({ message }) => message === "route state");
  assertEquals(
    changes.map(({ route, operation, state, reason }) => [route, operation, state, reason]),
    [["vendor/m", "chat", "open", "upstream_unreachable"]],
  );
  const log = gateway.log.join("\n");
  for (const secret of [key, "vendor-secret", "secret prompt", "127.0.0.1"]) {
    assert(!log.includes(secret), `the log holds ${secret}`);
  }
});
