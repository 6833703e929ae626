/** A master key is given up while three gateways serve calls whose provider's key is sealed with it. */
import { assert, assertEquals } from "../support/assert.ts";
import { newMasterKey } from "../../core/people/api_keys/seal.ts";
import { sleep } from "../../core/lib/time/sleep.ts";
import { FakeCloud } from "../support/servers/fake_cloud.ts";
import { until } from "../support/until.ts";
import { assertExactBooks } from "./books.ts";
import { ClientLedger } from "./client_ledger.ts";
import { Cluster } from "./cluster.ts";
import { clusterEngines } from "./stores.ts";
import { bearerPost } from "../support/api_post.ts";

const instances = 3;
const clients = 4;
const pauseMs = 20;
/** Calls that have to end in each phase, so that every instance has served some. */
const callsOfPhase = 20;
/** Milliseconds that a stopped gateway keeps answering, and between two looks of a client at `/readyz`. */
const stopDelayMs = 600;
const lookEveryMs = 150;

const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
const costMicroVnd = 4n * 8_300n;
const answer = {
  id: "chatcmpl-1",
  object: "chat.completion",
  model: "x",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
  usage,
};

/** A catalogue with one model, whose provider has the stored key `main`. */
const catalogue = (baseUrl: string) =>
  JSON.stringify({
    defaultModel: "only-1",
    providers: { cloud: { kind: "http", baseUrl, apiKeyVault: "main" } },
    models: [{
      id: "only-1",
      kind: "chat",
      family: "test",
      contextWindow: 100_000,
      maxOutputTokens: 4_096,
      price: { unit: "token", vndPerMtok: 8_300 },
      routes: [{ provider: "cloud", model: "x", style: "chat" }],
    }],
  });

/** Clients that call gateways that say that they are ready. */
function startClients(cluster: Cluster, ledger: ClientLedger, key: string) {
  const ready = new Set<number>(cluster.gateways.keys());
  let isOver = false;
  const isReady = (at: number) =>
    fetch(`${cluster.address(at)}/readyz`)
      .then(async (response) => [await response.body?.cancel(), response.ok][1] === true)
      .catch(() => false);
  const watching = (async () => {
    for (; !isOver; await sleep(lookEveryMs)) {
      await Promise.all(cluster.gateways.map(async (_, at) => {
        if (await isReady(at)) ready.add(at);
        else ready.delete(at);
      }));
    }
  })();
  const call = async (at: number) => {
    const response = await fetch(bearerPost(`${cluster.address(at)}/v1/chat/completions`, key, {
      model: "only-1",
      max_tokens: 20,
      messages: [{ role: "user", content: "hello" }],
    }));
    const text = await response.text();
    if (!response.ok) throw Object.assign(new Error(text), { status: response.status });
    return { requestId: String(response.headers.get("x-request-id")), costMicroVnd };
  };
  const calling = Array.from({ length: clients }, async (_, client) => {
    for (let number = client; !isOver; number++) {
      const at = [...ready][number % ready.size];
      if (at !== undefined) await ledger.record(() => call(at));
      await sleep(pauseMs);
    }
  });
  return {
    ready,
    async stop() {
      isOver = true;
      await Promise.all([watching, ...calling]);
    },
  };
}

for (const engine of clusterEngines.filter(({ name }) => name === "PostgreSQL")) {
  Deno.test({
    name: `${engine.name}: a master key is given up over three gateways without a refused call` +
      (engine.missing === undefined ? "" : ` (needs: ${engine.missing})`),
    ignore: engine.missing !== undefined,
    sanitizeOps: false,
    sanitizeResources: false,
    fn: () => giveUp(engine),
  });
}

async function giveUp(engine: typeof clusterEngines[number]): Promise<void> {
  await using store = await engine.start();
  await using cloud = await FakeCloud.start();
  const [first, second] = ["first-key-of-the-provider", "second-key-of-the-provider"];
  const known = [first, second].map((secret) => `Bearer ${secret}`);
  cloud.answer = ({ headers }) =>
    known.includes(headers.get("authorization") ?? "")
      ? Response.json(answer)
      : new Response("{}", { status: 401 });
  const file = await Deno.makeTempFile({ prefix: "gateway-cluster-", suffix: ".json" });
  await Deno.writeTextFile(file, catalogue(cloud.origin));
  const env = { ...store.env(store.port), GATEWAY_CONFIG: file };
  await using cluster = await Cluster.start(Array.from({ length: instances }, () => env));
  const ledger = new ClientLedger();
  const keyOf = (at: number) => cluster.env(at)["GATEWAY_MASTER_KEYS"] ?? "";
  const [old, fresh] = [keyOf(0), newMasterKey()];
  await cluster.operate(0, "/operator/api/provider-keys", { name: "main", secret: first });
  const { key } = await cluster.newPayer(ledger, 10_000_000);
  const traffic = startClients(cluster, ledger, key);
  const untilCallsEnd = async () => {
    const enough = ledger.whole.size + callsOfPhase;
    await until(() => ledger.whole.size >= enough, "calls end");
  };
  await until(() => ledger.whole.size > 0, "the stored key is used");
  ledger.failed.clear();
  const restartAll = async (masterKeys: string, afterFirst = () => Promise.resolve()) => {
    for (const at of cluster.gateways.keys()) {
      cluster.change(at, {
        GATEWAY_MASTER_KEYS: masterKeys,
        GATEWAY_STOP_DELAY_MS: String(stopDelayMs),
      });
      assertEquals(await cluster.gateways[at]?.end("SIGTERM"), 0);
      await cluster.startOne(at);
      await until(() => traffic.ready.has(at), "it is ready again");
      if (at === 0) await afterFirst();
      await untilCallsEnd();
    }
  };
  await restartAll(`${old},${fresh}`);
  // What the first one seals with the new key the others have to open.
  await restartAll(`${fresh},${old}`, async () => {
    await cluster.operate(0, "/operator/api/provider-keys/main", { secret: second }, "PUT");
  });
  const resealed = await cluster.admin("reseal-secrets");
  assertEquals(resealed.code, 0, resealed.output);
  await restartAll(fresh);
  await traffic.stop();
  assertEquals([...ledger.failed].map(([status]) => ledger.causes.get(status)), []);
  assert(cloud.requests.length > 0, "the provider was asked");
  await assertExactBooks("a master key is given up", cluster, ledger);
  await Deno.remove(file);
}
