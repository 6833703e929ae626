import { assert, assertEquals } from "../../../support/assert.ts";
import {
  openTestGateway,
  testConfig,
  type TestGateway,
} from "../../../support/gateways/gateway_in_process.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { until } from "../../../support/until.ts";
import { controlStaleMs } from "../../../../kv/engine/control/control.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { catalogText } from "../../../../kv/services/catalog/contents.ts";
import {
  addVersion,
  readHead,
  rollBack,
  seedCatalog,
} from "../../../../kv/services/catalog/versions.ts";
import { commandLine } from "../../../../kv/people/audit/operator_audit.ts";
import { readReceipt } from "../../../../kv/money/receipts/receipts.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { bearerPost } from "../../../support/api_post.ts";

const startMs = Date.UTC(2026, 10, 20, 5, 30, 30);

function fileAt(vnd: number, providers: readonly string[] = ["one"]) {
  return {
    defaultModel: "m",
    providers: Object.fromEntries(providers.map((name) => [name, { kind: "sandbox" }])),
    models: [{
      id: "m",
      kind: "chat",
      family: "f",
      price: { unit: "request", vnd },
      routes: providers.map((provider, priority) => ({ provider, priority })),
    }],
  };
}

async function apply(kv: KeyValueStore, file: object): Promise<number> {
  const base = (await readHead(kv))?.newest ?? 0;
  const act = { author: commandLine, reason: "test", nowMs: startMs, base };
  const made = await addVersion(kv, { text: catalogText(file) }, act);
  assert(made.ok);
  return made.version.version;
}

function chat(key: string, text: string, stream = false): Request {
  return bearerPost("http://gateway/v1/chat/completions", key, {
    model: "m",
    stream,
    messages: [{ role: "user", content: text }],
  });
}

/** The cost and the version on the receipt of an answer. */
async function charged(gateway: TestGateway, response: Response) {
  await response.body?.pipeTo(new WritableStream());
  const requestId = parseId("request", response.headers.get("x-request-id") ?? "");
  assert(requestId !== undefined);
  const receipt = await until(
    () => readReceipt(gateway.kv, requestId),
    "the receipt of the call",
  );
  return { vnd: formatVnd(receipt.costMicroVnd), version: receipt.catalogVersion };
}

async function twoInstances(file: object) {
  const kv = await Deno.openKv(":memory:");
  const config = testConfig({ file: () => file });
  await seedCatalog(kv, config.fileContents, startMs);
  const time = new ManualTime(startMs);
  const options = { kv, file: () => file, time };
  const one = await openTestGateway(options);
  const two = await openTestGateway({ ...options, masterKeys: one.masterKeys });
  return {
    kv,
    one,
    two,
    async [Symbol.asyncDispose]() {
      await two[Symbol.asyncDispose]();
      await one[Symbol.asyncDispose]();
      kv.close();
    },
  };
}

Deno.test("a price is in force on all instances within two seconds, and each call has one version", async () => {
  await using world = await twoInstances(fileAt(10));
  const { kv, one, two } = world;
  const { key } = await one.customer(100_000);
  const expected: Record<number, string> = { 1: "10", 2: "70", 3: "10" };
  const seen = { one: new Set<number>(), two: new Set<number>() };
  const call = async (name: "one" | "two") => {
    const gateway = world[name];
    const { vnd, version } = await charged(gateway, await gateway.fetch(chat(key, "hi")));
    assertEquals(vnd, expected[version ?? 0]);
    seen[name].add(version ?? 0);
    return version;
  };
  assertEquals(await call("one"), 1);
  assertEquals(await call("two"), 1);
  for (const change of ["apply", "roll back"] as const) {
    const version = change === "apply"
      ? await apply(kv, fileAt(70))
      : (await rollBack(kv, { to: 1 }, {
          author: commandLine,
          reason: "",
          nowMs: startMs,
          base: 2,
        })).ok
      ? 3
      : 0;
    // As long as an instance may serve by what it read: the next call on each has the new version.
    await one.advance(controlStaleMs + 1);
    for (const name of ["one", "two"] as const) {
      assertEquals(await call(name), version, `${change}, on ${name}`);
    }
  }
  assertEquals([...seen.one, ...seen.two], [1, 2, 3, 1, 2, 3]);
  const { models } = await (await two.fetch(
    new Request("http://gateway/v1/models", { headers: { "x-api-key": key } }),
  )).json().then(({ data }) => ({ models: JSON.stringify(data) }));
  assert(models.includes("10"));
});

Deno.test("a stream that runs across a change keeps the price with which it began", async () => {
  await using world = await twoInstances(fileAt(10));
  const { kv, one } = world;
  const { key } = await one.customer(100_000);
  const stream = await one.fetch(
    chat(key, "hello [[sandbox:length 60]] [[sandbox:pace 20]]", true),
  );
  assertEquals(stream.status, 200);
  await apply(kv, fileAt(70));
  await one.assembled.gateway.control.refresh();
  const next = await charged(one, await one.fetch(chat(key, "hi")));
  assertEquals(next, { vnd: "70", version: 2 });
  assertEquals(one.assembled.gateway.calls.count, 1, "the stream still runs");
  assertEquals(await charged(one, stream), { vnd: "10", version: 1 });
});

Deno.test("a provider is removed under load, and another takes its place, without a failed call", async () => {
  await using world = await twoInstances(fileAt(10, ["one"]));
  const { kv, one } = world;
  const { key } = await one.customer(1_000_000);
  let isOver = false;
  const statuses: number[] = [];
  const versions = new Set<number | undefined>();
  const caller = async (stream: boolean) => {
    while (!isOver) {
      const response = await one.fetch(chat(key, "hi [[sandbox:pace 5]]", stream));
      statuses.push(response.status);
      versions.add((await charged(one, response)).version);
    }
  };
  const callers = Array.from({ length: 8 }, (_, i) => caller(i % 2 === 0));
  for (const providers of [["two"], ["two", "three"], ["three"], ["one"]]) {
    const version = await apply(kv, fileAt(10, providers));
    await one.assembled.gateway.control.refresh();
    await until(() => versions.has(version), `a call of version ${version}`);
  }
  isOver = true;
  await Promise.all(callers);
  assert(statuses.every((status) => status === 200), String(new Set(statuses)));
  assertEquals(one.log.filter((line) => line.includes('"level":"error"')), []);
});

Deno.test("what is known of a route stays while other routes change, and begins anew where it changes", async () => {
  await using world = await twoInstances(fileAt(10, ["one", "two"]));
  const { kv, one } = world;
  const { gateway } = one.assembled;
  const { key } = await one.customer(100_000);
  await charged(one, await one.fetch(chat(key, "hi")));
  const known = () =>
    gateway.router.reports().filter(({ operations }) => (operations.chat?.windowCalls ?? 0) > 0)
      .map(({ route }) => route.id);
  assertEquals(known(), ["one/m"]);
  const file = fileAt(10, ["one", "two", "three"]);
  await apply(kv, file);
  await gateway.control.refresh();
  assertEquals(known(), ["one/m"]);
  const strict = { ...file.providers, one: { kind: "sandbox", strict: true } };
  await apply(kv, { ...file, providers: strict });
  await gateway.control.refresh();
  assertEquals(known(), []);
});
