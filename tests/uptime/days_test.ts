/**
 * A gateway that runs for days: idle nights, traffic, failures, changes of keys, drains. Tests that start a new gateway
 * cannot find what grows, stalls or leaks with time. At the end, verify, export and stop are as fast as after a minute,
 * and memory, descriptors, timers and rows are what they were after the first night.
 */
import v8 from "node:v8";
import vm from "node:vm";
import { assert, assertEquals } from "../support/assert.ts";
import { type RowKind, rowKinds, rowsOfKindPrefix } from "../../kv/engine/schema/keys.ts";
import { adminSocketPath } from "../../routes/operator/cli/socket.ts";
import { serve } from "../../routes/server/serve.ts";
import { runCommand } from "../support/gateways/admin_command.ts";
import { testConfig } from "../support/gateways/gateway_in_process.ts";
import { SkippableTime } from "../support/skippable_time.ts";
import { hourMs } from "../../core/lib/time/durations.ts";

/** Less than the pause between two heartbeats of an instance, which must never count as dead. */
const stepMs = 14_000;
/** Real time for steps that take well under a second, with a margin for a busy machine. */
const promptMs = 120_000;
const days = 3;

const operatorKey = "operator-key-of-the-uptime-test";

v8.setFlagsFromString("--expose-gc");
const collectGarbage: () => void = vm.runInNewContext("gc");

async function promptly<T>(what: string, task: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`${what} takes longer than ${promptMs} ms`)),
    promptMs,
  );
  try {
    return await Promise.race([task, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function openDescriptors(): number {
  return Deno.build.os === "linux" ? [...Deno.readDirSync("/proc/self/fd")].length : 0;
}

/** Resources of a process that must not grow from day to day. */
interface Footprint {
  readonly heapMegabytes: number;
  readonly descriptors: number;
  readonly timers: number;
}

class Gateway {
  readonly time = new SkippableTime(stepMs);
  readonly #client = Deno.createHttpClient({ poolIdleTimeout: false, poolMaxIdlePerHost: 4 });
  readonly #stop = new AbortController();
  readonly #folder = Deno.makeTempDirSync();
  readonly config = testConfig({
    env: {
      GATEWAY_KV: `${this.#folder}/gateway.sqlite3`,
      PORT: "0",
      GATEWAY_OPERATOR_KEY: operatorKey,
    },
  });
  #address = "";
  #ended: Promise<number> | undefined;
  readonly log: string[] = [];

  async start(): Promise<void> {
    const listening = Promise.withResolvers<string>();
    this.#ended = serve(this.config, {
      clock: this.time,
      random: Math.random,
      signal: this.#stop.signal,
      write: (line) => {
        this.log.push(line);
        const [, address] = /listening on (\S+)/.exec(line) ?? [];
        if (address !== undefined) listening.resolve(address);
      },
    });
    this.#address = await listening.promise;
  }

  async post(path: string, body: unknown, headers: Record<string, string>): Promise<Response> {
    return await fetch(`${this.#address}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
      client: this.#client,
    });
  }

  async operate(path: string, body: unknown): Promise<void> {
    const response = await this.post(path, body, { authorization: `Bearer ${operatorKey}` });
    assertEquals(response.status, 200, `${path}: ${await response.text()}`);
  }

  async admin(...args: readonly string[]): Promise<Record<string, unknown>> {
    const ran = await promptly(`admin ${args.join(" ")}`, runCommand(this.config, args));
    assertEquals(ran.code, 0, `admin ${args.join(" ")}: ${ran.errors}${ran.written}`);
    return JSON.parse(ran.written);
  }

  footprint(): Footprint {
    for (let round = 0; round < 3; round++) collectGarbage();
    return {
      heapMegabytes: Math.round(Deno.memoryUsage().heapUsed / 1024 / 1024 * 10) / 10,
      descriptors: openDescriptors(),
      timers: this.time.timers,
    };
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    const code = await promptly("stopping", this.#ended ?? Promise.resolve(0));
    assertEquals(code, 0);
  }

  dispose(): void {
    this.#stop.abort();
    this.#client.close();
    this.time[Symbol.dispose]();
    Deno.removeSync(this.#folder, { recursive: true });
  }
}

interface Customer {
  readonly accountId: string;
  keyId: string;
  secret: string;
}

async function newKey(gateway: Gateway, accountId: string) {
  const { id, key } = await gateway.admin("key", "create", accountId);
  return { keyId: String(id), secret: String(key) };
}

async function newCustomer(gateway: Gateway): Promise<Customer> {
  const { id } = await gateway.admin("account", "create");
  const accountId = String(id);
  await gateway.admin("credit", accountId, "100000", "--reason", "uptime");
  return { accountId, ...await newKey(gateway, accountId) };
}

/** Requests of callers, each with the status that it must get. */
const requests:
  readonly (readonly [path: string, body: Record<string, unknown>, status: number])[] = [
    ["/v1/chat/completions", chat("Hello"), 200],
    ["/v1/chat/completions", { ...chat("Hello"), stream: true }, 200],
    ["/v1/messages", { ...chat("Hello"), stream: true }, 200],
    ["/v1/responses", { model: "premium-1", input: "Hello" }, 200],
    ["/v1/messages", chat("word ".repeat(20_000)), 200],
    ["/v1/images/generations", { model: "image-1", prompt: "a cat" }, 200],
    ["/v1/audio/speech", { model: "speech-1", input: "Hello", voice: "lan" }, 200],
    ["/v1/chat/completions", chat("[[sandbox:error-400]]"), 400],
    ["/v1/chat/completions", { model: "premium-1" }, 400],
  ];

function chat(content: string): Record<string, unknown> {
  return { model: "premium-1", max_tokens: 20, messages: [{ role: "user", content }] };
}

/** An hour of traffic on every endpoint, with idempotency keys too, and with clients that leave. */
async function traffic(gateway: Gateway, customers: readonly Customer[], hour: string) {
  for (const { secret } of customers) {
    const headers = { authorization: `Bearer ${secret}` };
    await Promise.all(requests.map(async ([path, body, status], index) => {
      const keyed = { ...headers, "idempotency-key": `${hour}-${index}` };
      for (const sent of [headers, keyed, keyed]) {
        const response = await gateway.post(path, body, sent);
        const text = await response.text();
        assertEquals(response.status, status, `${hour} ${path}: ${text}`);
      }
    }));
    const left = await gateway.post(
      "/v1/chat/completions",
      { ...chat("[[sandbox:pace 20]]"), stream: true },
      headers,
    );
    await left.body?.cancel();
  }
}

/** Failures in a row: routes rest, and recover when the time is over. */
async function failures(gateway: Gateway, { secret }: Customer): Promise<void> {
  for (let time = 0; time < 6; time++) {
    const response = await gateway.post(
      "/v1/chat/completions",
      chat("[[sandbox:error-500]]"),
      { authorization: `Bearer ${secret}` },
    );
    assert(response.status >= 500, `${response.status}`);
    await response.body?.cancel();
  }
}

/** Replaces a key; the old one is refused from then on. */
async function rotate(gateway: Gateway, customer: Customer): Promise<void> {
  const { accountId, keyId, secret } = customer;
  Object.assign(customer, await newKey(gateway, accountId));
  await gateway.admin("key", "revoke", accountId, keyId);
  await gateway.time.skip(stepMs);
  const refused = await gateway.post("/v1/chat/completions", chat("Hello"), {
    authorization: `Bearer ${secret}`,
  });
  assertEquals(refused.status, 401);
  await refused.body?.cancel();
}

async function drainRoutes(gateway: Gateway): Promise<void> {
  const route = encodeURIComponent("sandbox/premium-1");
  const model = gateway.config.catalog.find("premium-1");
  const id = encodeURIComponent(model?.routes[0]?.id ?? route);
  await gateway.operate(`/operator/routes/${id}/drain`, {});
  await gateway.time.skip(stepMs);
  await gateway.operate(`/operator/routes/${id}/enable`, {});
  await gateway.admin("maintenance", "on", "--message", "at noon");
  await gateway.time.skip(stepMs);
  await gateway.admin("maintenance", "off");
  await gateway.time.skip(stepMs);
}

async function day(gateway: Gateway, customers: readonly Customer[], number: number) {
  await traffic(gateway, customers, `day-${number}-morning`);
  await gateway.time.skip(hourMs);
  await failures(gateway, customers[0]!);
  await gateway.time.skip(hourMs / 6);
  await rotate(gateway, customers[number % customers.length]!);
  await drainRoutes(gateway);
  await traffic(gateway, customers, `day-${number}-afternoon`);
  await gateway.time.skip(9 * hourMs);
}

async function rowsByKind(path: string): Promise<ReadonlyMap<RowKind, number>> {
  const counts = new Map<RowKind, number>();
  const kv = await Deno.openKv(path);
  try {
    for (const kind of rowKinds) {
      let count = 0;
      for await (const _ of kv.list({ prefix: rowsOfKindPrefix(kind) })) count++;
      counts.set(kind, count);
    }
  } finally {
    kv.close();
  }
  return counts;
}

Deno.test(
  "after days of nights, traffic, failures, new keys and drains everything is as after the first",
  async () => {
    const gateway = new Gateway();
    try {
      await gateway.start();
      const customers = [await newCustomer(gateway), await newCustomer(gateway)];
      const footprints: Footprint[] = [];
      for (let number = 1; number <= days; number++) {
        await day(gateway, customers, number);
        footprints.push(gateway.footprint());
      }
      const report = JSON.stringify(footprints);
      const [first, last] = [footprints[0]!, footprints.at(-1)!];
      assert(last.heapMegabytes <= first.heapMegabytes + 4, report);
      assert(last.descriptors <= first.descriptors + 4, report);
      assert(last.timers <= first.timers + 2, report);

      const verified = await gateway.admin("verify");
      assertEquals([verified["ok"], verified["moving"]], [true, []]);
      await gateway.time.skip(9 * hourMs);
      const exported = await promptly("export", runCommand(gateway.config, ["export"]));
      assertEquals(exported.code, 0, exported.errors);
      assert(exported.written.endsWith("\n") && exported.written.length > 10_000);
      const verifying = runCommand(gateway.config, ["verify"]);
      await gateway.stop();
      await verifying;
      assertEquals(gateway.time.timers, 0, "a timer outlives the gateway");
      assertEquals(gateway.log.filter((line) => /"level":"error"/.test(line)), []);
      await afterwards(gateway);
    } finally {
      gateway.dispose();
    }
  },
);

/** The rows that a stopped gateway leaves. */
async function afterwards({ config }: Gateway): Promise<void> {
  assert(config.store.kind === "file");
  const rows = await rowsByKind(config.store.path);
  for (const kind of ["lease", "settled", "outbox", "outbox_dead", "video_open"] as const) {
    assertEquals(rows.get(kind), 0, kind);
  }
  // One process is one instance, however many nights it was idle.
  assert((rows.get("instance") ?? 0) <= 1, `${rows.get("instance")} instances`);
  const hours = days * 12 + 10;
  assert((rows.get("availability") ?? 0) <= hours, `${rows.get("availability")} hours`);
  const { code, written } = await runCommand(config, ["verify"]);
  assertEquals(code, 0, written);
  assert(
    await Deno.stat(adminSocketPath(config)).then(() => false, () => true),
    "the socket is left",
  );
}
