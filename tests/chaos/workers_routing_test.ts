/** What one serving thread finds out about routes and their keys holds for the others, and for one that starts later. */
import { assert, assertEquals } from "../support/assert.ts";
import { breakerConsecutiveFailures } from "../../core/routing/health/breaker.ts";
import { entraSecret, FakeCloud } from "../support/servers/fake_cloud.ts";
import { serveThreaded, type ThreadedGateway } from "../support/gateways/threaded_gateway.ts";
import { until } from "../support/until.ts";
import { startWorkerThread } from "../../routes/server/workers/worker_thread.ts";

const threads = { sanitizeOps: false, sanitizeResources: false };

const answer = {
  id: "chatcmpl-1",
  object: "chat.completion",
  model: "x",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
};

const file = (provider: object, hasFallback: boolean) =>
  JSON.stringify({
    defaultModel: "low-cost-01",
    providers: { cloud: { kind: "http", ...provider }, sandbox: { kind: "sandbox" } },
    models: [{
      id: "low-cost-01",
      kind: "chat",
      family: "test",
      contextWindow: 100_000,
      maxOutputTokens: 4_096,
      price: { unit: "token", vndPerMtok: 8_300 },
      routes: [
        { provider: "cloud", model: "x", style: "chat", priority: 1 },
        ...(hasFallback ? [{ provider: "sandbox", style: "chat", priority: 2 }] : []),
      ],
    }],
  });

/** A client with one kept connection, and so with one worker. */
interface Connection extends Disposable {
  readonly worker: number;
  call(): Promise<{ readonly status: number; readonly model: string }>;
  /** The state of the first route's breaker, as its worker reports it to operators. */
  breaker(): Promise<string | undefined>;
}

const operatorKey = "operator-key-of-24-characters";

interface World extends AsyncDisposable {
  readonly cloud: FakeCloud;
  readonly gateway: ThreadedGateway;
  /** What the owner told a worker, or a worker the owner, by kinds, in order. */
  told(worker: number): readonly string[];
  /** One connection to each worker. */
  connections(): Promise<readonly [Connection, Connection]>;
}

/** The kinds of what a message tells about routes. */
function kindsIn(message: unknown, name: string): string[] {
  if (!Array.isArray(message)) return [];
  return message.flatMap(([, , called, states]) =>
    called === name ? states.map(({ kind }: { readonly kind: string }) => kind) : []
  );
}

async function openWorld(
  provider: (cloud: FakeCloud) => object,
  env: Readonly<Record<string, string>>,
  hasFallback = true,
): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const cloud = stack.use(await FakeCloud.start());
  cloud.answer = () => Response.json(answer);
  const told = new Map<number, string[]>([[1, []], [2, []]]);
  let lastTeller = 0;
  const gateway = stack.use(
    await serveThreaded({
      env: { ...env, GATEWAY_OPERATOR_KEY: operatorKey },
      file: file({ baseUrl: cloud.origin, ...provider(cloud) }, hasFallback),
      startThread(start) {
        const thread = startWorkerThread(start);
        const { port } = thread;
        return {
          ...thread,
          port: {
            ...port,
            receive: (onMessage) =>
              port.receive((message) => {
                if (kindsIn(message, "share").length > 0) lastTeller = start.number;
                onMessage(message);
              }),
            post(message) {
              port.post(message);
              told.get(start.number)?.push(...kindsIn(message, "merge"));
            },
          },
        };
      },
    }),
  );
  const { key } = await gateway.customer(1_000_000);
  let conversations = 0;
  const connect = async (): Promise<Connection> => {
    const client = Deno.createHttpClient({ poolMaxIdlePerHost: 1 });
    const call = async () => {
      const response = await fetch(`${gateway.address}/v1/chat/completions`, {
        client,
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({
          model: "low-cost-01",
          max_tokens: 20,
          // The first turn of a conversation decides which key is asked first.
          messages: [{ role: "user", content: `hello ${conversations++}` }],
        }),
      });
      const { id } = await response.json();
      return { status: response.status, model: id === answer.id ? "cloud" : "sandbox" };
    };
    const breaker = async () => {
      const headers = { authorization: `Bearer ${operatorKey}` };
      const response = await fetch(`${gateway.address}/operator/routes`, { client, headers });
      const { data } = await response.json();
      return data[0].operations.chat?.state;
    };
    lastTeller = 0;
    assertEquals((await call()).status, 200);
    // Whoever served the call tells how it went.
    const worker = await until(() => lastTeller === 0 ? undefined : lastTeller, "it is told");
    return { worker, call, breaker, [Symbol.dispose]: () => client.close() };
  };
  const owned = stack.move();
  return {
    cloud,
    gateway,
    told: (worker) => told.get(worker) ?? [],
    async connections() {
      const first = owned.use(await connect());
      for (;;) {
        const second = owned.use(await connect());
        if (second.worker !== first.worker) return [first, second];
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

for (const status of [401, 429]) {
  Deno.test(
    `a key that got ${status} at one worker is not tried by the other, nor by those that replace them`,
    threads,
    async () => {
      await using world = await openWorld(
        () => ({ apiKeyEnv: ["FIRST", "SECOND"] }),
        { FIRST: "first-key", SECOND: "second-key" },
      );
      const { cloud, gateway } = world;
      const [one, two] = await world.connections();
      let refused = 0;
      cloud.answer = ({ headers }) => {
        if (headers.get("authorization") !== "Bearer first-key") return Response.json(answer);
        refused++;
        return Response.json({ error: { message: "no" } }, {
          status,
          headers: { "retry-after": "50" },
        });
      };
      const before = world.told(two.worker).filter((kind) => kind === "credential").length;
      await until(async () => (await one.call()).model === "cloud" && refused > 0, "it is refused");
      const isTold = () =>
        world.told(two.worker).filter((kind) => kind === "credential").length > before;
      await until(isTold, "the other is told");
      for (let i = 0; i < 6; i++) assertEquals((await two.call()).model, "cloud");
      assertEquals(refused, 1);
      for (const thread of [...gateway.threads.values()]) thread.terminate();
      const replaced = () => gateway.lines.filter((line) => line.includes("was replaced")).length;
      await until(() => replaced() === 2, "both are replaced");
      const [three, four] = await world.connections();
      for (let i = 0; i < 6; i++) {
        assertEquals([(await three.call()).model, (await four.call()).model], ["cloud", "cloud"]);
      }
      assertEquals(refused, 1);
    },
  );
}

Deno.test(
  "failures of which each worker has too few open the breaker at both",
  threads,
  async () => {
    await using world = await openWorld(() => ({ apiKeyEnv: "FIRST" }), { FIRST: "first-key" });
    const { cloud } = world;
    const [one, two] = await world.connections();
    let failed = 0;
    cloud.answer = () => {
      failed++;
      return Response.json({ error: { message: "broken" } }, { status: 500 });
    };
    assertEquals((await one.call()).model, "sandbox");
    for (let i = 1; i < breakerConsecutiveFailures; i++) {
      assertEquals((await two.call()).model, "sandbox");
    }
    // No further call is made, so neither worker learns of the route by a call of its own.
    for (const { breaker } of [one, two]) {
      await until(async () => await breaker() === "open", "its worker's breaker is open");
    }
    assertEquals(failed, breakerConsecutiveFailures);
  },
);

Deno.test("one token of a cloud serves all workers, and is renewed once", threads, async () => {
  await using world = await openWorld(
    (cloud) => ({
      apiKeyEnv: "ENTRA",
      auth: { kind: "entra", tenant: "tenant-1", clientId: "client-1", authority: cloud.origin },
      cloud: { name: "azure", apiVersion: "2024-10-21" },
    }),
    { ENTRA: entraSecret },
    // A token that takes longer than calls usually do would let the other route answer, on a busy machine.
    false,
  );
  const { cloud, gateway } = world;
  // Ten seconds before its end a token is not used any more.
  cloud.lifeSeconds = 12;
  const seen: string[] = [];
  cloud.answer = ({ headers }) => {
    seen.push(headers.get("authorization") ?? "");
    return Response.json(answer);
  };
  const [one, two] = await world.connections();
  const both = () => Promise.all([one.call(), two.call(), one.call(), two.call()]);
  await until(async () => {
    assertEquals(new Set((await both()).map(({ model }) => model)), new Set(["cloud"]));
    return cloud.tokenRequests >= 4;
  }, "the token has expired several times");
  assertEquals(new Set(seen).size, cloud.tokenRequests, "each token is asked for once, and used");
  // A token that the cloud refuses is replaced once, although both workers have it.
  cloud.lifeSeconds = 3600;
  const former = cloud.tokenRequests;
  await until(async () => {
    await both();
    return cloud.tokenRequests > former;
  }, "a token that lasts is issued");
  await both();
  const lasting = cloud.tokenRequests;
  cloud.tokens.clear();
  assertEquals(new Set((await both()).map(({ model }) => model)), new Set(["cloud"]));
  assertEquals(cloud.tokenRequests, lasting + 1);
  // A worker that starts has no token, and the owner has one.
  gateway.threads.get(1)?.terminate();
  await until(() => gateway.lines.some((line) => line.includes("was replaced")), "it is replaced");
  for (const connection of await world.connections()) {
    assertEquals((await connection.call()).model, "cloud");
  }
  assertEquals(cloud.tokenRequests, lasting + 1);
  assert(!gateway.lines.some((line) => line.includes("token-") || line.includes(entraSecret)));
});

Deno.test(
  "a stored key is used by all workers once one has taken it, and by one that starts later",
  threads,
  async () => {
    await using world = await openWorld(() => ({ apiKeyVault: "main" }), {});
    const { cloud, gateway } = world;
    const seen: string[] = [];
    cloud.answer = ({ headers }) => {
      seen.push(headers.get("authorization") ?? "none");
      return Response.json(answer);
    };
    const store = async (method: string, path: string, body: object) => {
      const response = await gateway.fetch(`/operator/api/provider-keys${path}`, {
        method,
        headers: { authorization: `Bearer ${operatorKey}` },
        body: JSON.stringify(body),
      });
      assertEquals(response.status, 200, await response.text());
    };
    const both = await world.connections();
    const areServedWith = async (key: string) => {
      for (const connection of both) {
        await until(async () => {
          seen.length = 0;
          return (await connection.call()).model === "cloud" && seen[0] === `Bearer ${key}`;
        }, `${key} is used`);
      }
    };
    for (const { call } of both) assertEquals((await call()).model, "sandbox");
    assertEquals(seen, []);
    await store("POST", "", { name: "main", secret: "first-stored-key" });
    await areServedWith("first-stored-key");
    await store("PUT", "/main", { secret: "second-stored-key" });
    await areServedWith("second-stored-key");

    for (const thread of [...gateway.threads.values()]) thread.terminate();
    const replaced = () => gateway.lines.filter((line) => line.includes("was replaced")).length;
    await until(() => replaced() === 2, "both are replaced");
    seen.length = 0;
    for (const { call } of await world.connections()) assertEquals((await call()).model, "cloud");
    assertEquals(new Set(seen), new Set(["Bearer second-stored-key"]));
    assert(!gateway.lines.some((line) => line.includes("stored-key")));
  },
);
