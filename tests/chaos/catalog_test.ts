/** Changes of the catalogue where several threads serve, and where the process is killed in the middle of them. */
import { assert, assertEquals } from "../support/assert.ts";
import { sleep } from "../../core/lib/time/sleep.ts";
import { until } from "../support/until.ts";
import { type StartedGateway, startGateway } from "../support/gateways/started_gateway.ts";
import { serveThreaded } from "../support/gateways/threaded_gateway.ts";

const operatorKey = "operator-key-of-24-characters";
const env = { GATEWAY_OPERATOR_KEY: operatorKey };

type Ask = (path: string, init?: RequestInit) => Promise<Response>;

async function stateOf(ask: Ask) {
  const headers = { authorization: `Bearer ${operatorKey}` };
  return await (await ask("/operator/catalog", { headers })).json();
}

/** Sets the price of a model of which a call costs one unit. */
async function setPrice(ask: Ask, vnd: number): Promise<Response> {
  const { newest, catalog } = await stateOf(ask);
  for (const model of catalog.models) if (model.id === "low-cost-01") model.price.vnd = vnd;
  return await ask("/operator/catalog", {
    method: "PUT",
    headers: {
      authorization: `Bearer ${operatorKey}`,
      "if-match": `"${newest}"`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ catalog, reason: `costs ${vnd}` }),
  });
}

async function costOfCall(ask: Ask, key: string): Promise<string | null> {
  const response = await ask("/v1/chat/completions", {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "low-cost-01", messages: [{ role: "user", content: "hi" }] }),
  });
  await response.body?.cancel();
  assertEquals(response.status, 200);
  return response.headers.get("x-gateway-cost-vnd");
}

Deno.test("a price that one worker was told comes into force on all", {
  sanitizeOps: false,
  sanitizeResources: false,
}, async () => {
  await using gateway = await serveThreaded({ workers: 2, env });
  const { key } = await gateway.customer(100_000);
  assertEquals(await costOfCall(gateway.fetch, key), "230");
  for (const vnd of [310, 320]) {
    const applied = await setPrice(gateway.fetch, vnd);
    assertEquals(applied.status, 200);
    await applied.body?.cancel();
    // Connections of their own reach all workers: twenty on one of two alone are one in 500,000.
    await until(async () => {
      const costs = await Promise.all(
        Array.from({ length: 20 }, () => costOfCall(gateway.fetch, key)),
      );
      return costs.every((cost) => cost === String(vnd));
    }, `all workers charge ${vnd}`);
  }
  // Threads write their lines after they charge.
  const changed = () => gateway.lines.filter((line) => line.includes('"catalogue changed"'));
  await until(
    () => changed().length >= 3 * 2,
    "a line of the owner and two workers for each change",
  );
  assertEquals(changed().length, 3 * 2);
});

/** Sends a change and kills the process meanwhile; the answer, if it came. */
async function killedWhileChanging(
  gateway: StartedGateway,
  vnd: number,
  afterMs: number,
): Promise<number | undefined> {
  const ask: Ask = (path, init) => fetch(`${gateway.address}${path}`, init);
  const asked = setPrice(ask, vnd).then(async (response) => {
    await response.body?.cancel();
    return response.status;
  }).catch(() => undefined);
  await sleep(afterMs);
  await gateway.end("SIGKILL");
  return await asked;
}

Deno.test("a process that is killed while the catalogue changes starts with the old or the new version", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gateway-catalog-kill-" });
  try {
    let price = 230;
    let version = 1;
    for (const [round, afterMs] of [0, 4, 8, 12, 20, 40].entries()) {
      const wanted = 400 + round;
      const first = await startGateway({ folder, env });
      const status = await killedWhileChanging(first, wanted, afterMs);
      await using second = await startGateway({ folder, env });
      const ask: Ask = (path, init) => fetch(`${second.address}${path}`, init);
      const state = await stateOf(ask);
      const cost = Number(await costOfCall(ask, second.key));
      const isNew = state.version === version + 1;
      assert(isNew || state.version === version, `version ${state.version} after ${version}`);
      assertEquals(cost, isNew ? wanted : price);
      if (status === 200) assert(isNew, "what was confirmed is there");
      if (isNew) [price, version] = [wanted, version + 1];
      const verified = await second.admin("verify", "--full");
      assertEquals(verified.code, 0, verified.output);
      assertEquals(await second.end("SIGTERM"), 0);
    }
    await using last = await startGateway({ folder, env });
    const ask: Ask = (path, init) => fetch(`${last.address}${path}`, init);
    const changed = await setPrice(ask, 999);
    await changed.body?.cancel();
    assertEquals(changed.status, 200);
    assertEquals(Number(await costOfCall(ask, last.key)), 999);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
