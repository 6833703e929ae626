/**
 * The entry under the constraints of Deno Deploy, as far as one machine can have them: the platform's store, no file
 * that could be written, no timer of a second or more, isolates that are frozen or killed between requests.
 */
import { assert, assertEquals } from "../support/assert.ts";
import { readConfig } from "../../core/config/config.ts";
import {
  commandUnderPlatform,
  deployEnvironment,
  type Isolate,
  startIsolate,
} from "../support/servers/deno_deploy/isolate.ts";
import { runCommand } from "../support/gateways/admin_command.ts";
import { type SharedStore, startFaultyStore } from "../support/servers/kv_connect/server.ts";
import { residentMegabytes } from "../support/resident_memory.ts";
import { until } from "../support/until.ts";
import { folderFor, installOnce, runInstaller } from "../support/installed_once.ts";

/** The last version of each line that the platform has run on since the gateway knows it. */
const versions = ["2.5.7", "2.6.8", "2.7.9"] as const;

/** A runtime, or why it cannot be had here. */
type EarlierRuntime =
  & { readonly version: string }
  & ({ readonly program: string } | { readonly missing: string });

/**
 * Installs earlier versions of the runtime from npm, once per machine: the platform chooses the version, and its newest
 * one is not always ours. The package has the program in a package for each platform, which needs no script.
 */
async function earlierRuntimes(): Promise<readonly EarlierRuntime[]> {
  const runtimes: EarlierRuntime[] = [];
  for (const version of versions) {
    const name = `@deno/linux-x64-glibc@${version}`;
    const installed = await installOnce(await folderFor("deno", name), async (folder) => {
      await Deno.writeTextFile(`${folder}/package.json`, "{}");
      const options = ["--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund"];
      const problem = await runInstaller("npm", ["install", ...options, name], folder);
      if (problem === undefined) await Deno.chmod(programIn(folder), 0o755);
      return problem;
    });
    runtimes.push(
      "missing" in installed
        ? { version, missing: installed.missing }
        : { version, program: programIn(installed.folder) },
    );
  }
  return runtimes;
}

function programIn(folder: string): string {
  return `${folder}/node_modules/@deno/linux-x64-glibc/deno`;
}

const callVnd = 230;

const processes = {
  ignore: Deno.build.os !== "linux",
  sanitizeOps: false,
  sanitizeResources: false,
};

/** Commands of an operator on a machine of their own, who reaches the store by its address. */
function operatorOf({ env }: SharedStore) {
  Deno.env.set("DENO_KV_ACCESS_TOKEN", env.DENO_KV_ACCESS_TOKEN ?? "");
  const read = readConfig(
    env,
    Deno.readTextFileSync(new URL("../../gateway.json", import.meta.url)),
  );
  assert(read.ok, read.ok ? "" : read.problems.join("\n"));
  const { config } = read;
  const admin = async (...args: string[]): Promise<string> => {
    const { code, written, errors } = await runCommand(config, args);
    assertEquals(code, 0, `${args.join(" ")}: ${written}${errors}`);
    return written;
  };
  return {
    admin,
    verified: async (): Promise<{ leasedVnd: string }> => JSON.parse(await admin("verify")),
    async payer(vnd: number): Promise<{ readonly id: string; readonly key: string }> {
      const { id } = JSON.parse(await admin("account", "create"));
      const { key } = JSON.parse(await admin("key", "create", id));
      await admin("credit", id, String(vnd), "--reason", "money to spend");
      return { id, key };
    },
    async balanceVnd(id: string): Promise<number> {
      return Number(JSON.parse(await admin("account", "show", id)).balanceVnd);
    },
  };
}

function post({ address }: Isolate, path: string, key: string, body: unknown): Promise<Response> {
  return fetch(`${address}${path}`, {
    method: "POST",
    // Each request finds its isolate anew.
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      connection: "close",
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(30_000),
  });
}

/** A call at 230 VND: its request id, once the whole answer is there, or its error. */
async function call(
  isolate: Isolate,
  key: string,
  said: string,
  stream = false,
): Promise<{ readonly requestId?: string; readonly error?: string }> {
  const response = await post(isolate, "/v1/chat/completions", key, {
    model: "low-cost-01",
    max_tokens: 20,
    stream,
    messages: [{ role: "user", content: said }],
  });
  const text = await response.text();
  if (response.status !== 200) return { error: JSON.parse(text).error.code };
  assert(stream ? text.includes("data: [DONE]") : text.endsWith("}"), text);
  return { requestId: response.headers.get("x-request-id") ?? "" };
}

Deno.test(
  "isolates that are killed and frozen between requests: every answer has its receipt",
  processes,
  async () => {
    await using store = startFaultyStore();
    const operator = operatorOf(store);
    const { id, key } = await operator.payer(1_000_000);
    const env = deployEnvironment(store);
    await using ended = new AsyncDisposableStack();
    const start = async () => ended.use(await startIsolate(env));
    let isolates: { readonly isolate: Isolate; isFrozen: boolean }[] = [];
    const whole: string[] = [];
    let started = 0;
    let thaws = 0;
    let peakMegabytes = 0;
    for (let i = 0; i < 48; i++) {
      // The platform starts an instance where all others are busy or gone, and never more than three here.
      if (isolates.length === 0 || isolates.length < 3 && i % 5 === 0) {
        isolates.push({ isolate: await start(), isFrozen: false });
        started++;
      }
      const chosen = isolates[i % isolates.length]!;
      if (chosen.isFrozen) {
        await chosen.isolate.thaw();
        thaws++;
      }
      chosen.isFrozen = false;
      const { requestId, error } = await call(chosen.isolate, key, `call ${i}`, i % 2 === 0);
      assertEquals(error, undefined, `call ${i}`);
      whole.push(requestId!);
      peakMegabytes = Math.max(peakMegabytes, await residentMegabytes(chosen.isolate.pid));
      if (i % 6 === 5) {
        await chosen.isolate.kill();
        isolates = isolates.filter((one) => one !== chosen);
      } else if (i % 2 === 0) {
        chosen.isolate.freeze();
        chosen.isFrozen = true;
      }
    }
    assert(started >= 5 && thaws >= 5, `${started} isolates were started, ${thaws} thawed`);
    assert(peakMegabytes < 512, `${peakMegabytes} MB`);
    for (const { isolate } of isolates) {
      assertEquals(await isolate.stop(), 0, isolate.lines.join("\n"));
    }
    // What the killed ones held comes back by cron, in an isolate that serves nobody.
    const last = await start();
    // Its clock is ahead of all others, each of which is ahead by its own freezes.
    for (let thaw = 0; thaw <= thaws; thaw++) await last.thaw();
    await last.cron();
    await last.stop();
    assertEquals((await operator.verified()).leasedVnd, "0");
    assertEquals(await operator.balanceVnd(id), 1_000_000 - whole.length * callVnd);
    const exported = await operator.admin("export");
    assertEquals(whole.filter((requestId) => exported.split(`"${requestId}"`).length < 2), []);
    assertEquals(new Set(whole).size, whole.length);
    for (const line of last.lines) assert(!line.includes("opened the store"), line);
  },
);

Deno.test(
  "schedules are registered before the server, which serves what comes by cron",
  processes,
  async () => {
    await using store = startFaultyStore();
    await using isolate = await startIsolate(deployEnvironment(store));
    const registered = isolate.lines.filter((line) => line.includes("platform: cron"));
    assertEquals(registered, [
      "platform: cron work of a minute at * * * * *",
      "platform: cron work of ten minutes at */10 * * * *",
      "platform: cron work of six hours at 0 */6 * * *",
    ]);
    // A run that comes while the store is being opened waits for it.
    await isolate.cron();
    assertEquals(isolate.lines.filter((line) => /"level":"error"/.test(line)), []);
  },
);

Deno.test("a command of the administrator registers no schedule, and ends", processes, async () => {
  await using store = startFaultyStore();
  const { code, stdout, stderr } = await commandUnderPlatform(store, ["admin", "account", "list"]);
  assertEquals(code, 0, stderr);
  assert(!`${stdout}${stderr}`.includes("platform: cron"), stderr);
});

Deno.test(
  "an isolate that wakes after its lease has lapsed does not spend it again",
  processes,
  async () => {
    await using store = startFaultyStore();
    const operator = operatorOf(store);
    const { id, key } = await operator.payer(40 * callVnd);
    const env = deployEnvironment(store);
    await using sleeper = await startIsolate(env);
    const served = [];
    for (let i = 0; i < 4; i++) served.push(await call(sleeper, key, `before the freeze ${i}`));
    sleeper.freeze();
    const { leasedVnd } = await operator.verified();
    assert(Number(leasedVnd) > callVnd, `the frozen isolate holds ${leasedVnd} VND`);
    // Two minutes later by its clock, another isolate takes back what the first one held, by cron, and spends it all.
    await using other = await startIsolate(env);
    await other.thaw();
    await other.cron();
    for (;;) {
      const seen = await call(other, key, "meanwhile");
      if (seen.error !== undefined) break;
      served.push(seen);
    }
    assert(served.length > 1, "the lease came back");
    await sleeper.thaw();
    assertEquals((await call(sleeper, key, "after the freeze")).error, "insufficient_balance");
    await Promise.all([sleeper.stop(), other.stop()]);
    assertEquals(await operator.balanceVnd(id), (40 - served.length) * callVnd);
    const exported = await operator.admin("export");
    for (const { requestId } of served) assert(exported.includes(requestId!), requestId);
    await operator.verified();
  },
);

Deno.test("providers are asked without a socket of the gateway's own", processes, async () => {
  await using provider = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      const { stream } = await request.json();
      const part = (choice: object) => ({
        id: "c1",
        created: 1,
        model: "up",
        choices: [{ index: 0, ...choice }],
        usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
      });
      if (stream !== true) {
        const message = { role: "assistant", content: "Good day" };
        return Response.json({
          object: "chat.completion",
          ...part({ message, finish_reason: "stop" }),
        });
      }
      const event = (choice: object) =>
        `data: ${JSON.stringify({ object: "chat.completion.chunk", ...part(choice) })}\n\n`;
      const events = event({ delta: { content: "Good day" } }) +
        event({ delta: {}, finish_reason: "stop" });
      return new Response(`${events}data: [DONE]\n\n`, {
        headers: { "content-type": "text/event-stream" },
      });
    },
  );
  const folder = await Deno.makeTempDir();
  await using files = new AsyncDisposableStack();
  files.defer(() => Deno.remove(folder, { recursive: true }));
  const file = `${folder}/gateway.json`;
  const model = {
    id: "low-cost-01",
    kind: "chat",
    family: "f",
    displayName: "F",
    contextWindow: 10_000,
    maxOutputTokens: 1_000,
    price: { unit: "request", vnd: callVnd },
    routes: [{ provider: "up", style: ["chat"] }],
  };
  await Deno.writeTextFile(
    file,
    JSON.stringify({
      listRate: 22_000,
      defaultModel: "low-cost-01",
      providers: {
        up: { baseUrl: `http://127.0.0.1:${provider.addr.port}`, apiKeyEnv: "UP_KEY" },
      },
      models: [model],
    }),
  );
  await using store = startFaultyStore();
  const operator = operatorOf(store);
  const { id, key } = await operator.payer(10_000);
  const env = { ...deployEnvironment(store), GATEWAY_CONFIG: file, UP_KEY: "vk-1" };
  await using isolate = await startIsolate(env);
  for (const stream of [false, true]) {
    assertEquals((await call(isolate, key, "hello", stream)).error, undefined, `${stream}`);
  }
  assertEquals(await isolate.stop(), 0, isolate.lines.join("\n"));
  assertEquals(await operator.balanceVnd(id), 10_000 - 2 * callVnd);
});

Deno.test("a video whose isolate was killed is polled to its end by cron", processes, async () => {
  await using store = startFaultyStore();
  const operator = operatorOf(store);
  const { key } = await operator.payer(100_000);
  const env = deployEnvironment(store);
  await using first = await startIsolate(env);
  const made = await post(first, "/v1/videos", key, { model: "video-c", prompt: "works" });
  assertEquals(made.status, 200, await made.clone().text());
  const { id } = await made.json();
  await first.kill();
  await using second = await startIsolate(env);
  const rows = async () =>
    (await operator.admin("export")).split("\n").filter((line) => line.includes(id));
  await until(async () => {
    await second.cron();
    return (await rows()).some((line) => line.includes('"completed"'));
  }, "the task has ended");
  await second.stop();
  await operator.verified();
});

for (const runtime of await earlierRuntimes()) {
  const isMissing = "missing" in runtime;
  Deno.test({
    name: `Deno ${runtime.version} of the platform serves calls and pages${
      isMissing ? `: skipped, ${runtime.missing}` : ""
    }`,
    ...processes,
    ignore: processes.ignore || isMissing,
    async fn() {
      assert(!isMissing);
      await using store = startFaultyStore();
      const operator = operatorOf(store);
      const { id, key } = await operator.payer(10_000);
      await using isolate = await startIsolate(deployEnvironment(store), runtime.program);
      for (const path of ["/", "/models", "/docs", "/status", "/sign-in", "/sign-up"]) {
        const page = await fetch(`${isolate.address}${path}`);
        assertEquals(page.status, 200, `${path}\n${isolate.lines.join("\n")}`);
        const [, script] = /<script[^>]* src="([^"]+)"/.exec(await page.text()) ?? [];
        assert(script !== undefined, `${path} has a script`);
        const asset = await fetch(`${isolate.address}${script}`);
        assert(asset.ok && (await asset.text()).length > 0, script);
      }
      for (const stream of [false, true]) {
        assertEquals((await call(isolate, key, "hello", stream)).error, undefined);
      }
      assertEquals(await isolate.stop(), 0, isolate.lines.join("\n"));
      assertEquals(await operator.balanceVnd(id), 10_000 - 2 * callVnd);
      await operator.verified();
    },
  });
}
