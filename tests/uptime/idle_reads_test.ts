/** What a gateway reads from its store while nothing calls it, and how soon it sees what others change then. */
import { assert, assertEquals } from "../support/assert.ts";
import { sleep } from "../../core/lib/time/sleep.ts";
import { newMasterKey } from "../../core/api_keys/seal.ts";
import { type StartedGateway, startGateway } from "../support/gateways/started_gateway.ts";
import { startFaultyStore } from "../support/servers/kv_connect/server.ts";
import { postgresPrograms, startPostgres } from "../support/servers/postgres_server.ts";
import { until } from "../support/until.ts";

const processes = { sanitizeOps: false, sanitizeResources: false };

/** Milliseconds after the start in which things come to rest. */
const restMs = 12_000;

/** Milliseconds for which calls of the store are counted. */
const watchMs = 60_000;

/** Milliseconds within which other instances see a change. */
const seenWithinMs = 500;

async function probe({ address }: StartedGateway): Promise<void> {
  const response = await fetch(`${address}/readyz`);
  assertEquals(response.status, 200, await response.text());
}

async function statusOf({ address }: StartedGateway, key: string): Promise<number> {
  const response = await fetch(`${address}/v1/models`, {
    headers: { authorization: `Bearer ${key}` },
  });
  await response.body?.cancel();
  return response.status;
}

Deno.test(
  "an idle gateway that a balancer probes reads its store at most 30 times a minute",
  processes,
  async () => {
    await using store = startFaultyStore();
    const gateway = await startGateway({ env: store.env });
    await sleep(restMs);
    const calls = { snapshot_read: 0, atomic_write: 0 };
    store.fateOf = (call) => {
      calls[call]++;
      return "answered";
    };
    for (let passedMs = 0; passedMs < watchMs; passedMs += 10_000) {
      await probe(gateway);
      await sleep(10_000);
    }
    store.fateOf = () => "answered";
    assert(calls.snapshot_read <= 30, `${calls.snapshot_read} reads`);
    assertEquals(await gateway.end("SIGTERM"), 0);
  },
);

Deno.test(
  "after a pause, the first call sees what another instance changed before",
  processes,
  async () => {
    await using store = startFaultyStore();
    const [idle, other] = await Promise.all([
      startGateway({ env: store.env }),
      startGateway({ env: store.env }),
    ]);
    const { id } = JSON.parse((await other.admin("account", "create")).output);
    const made = JSON.parse((await other.admin("key", "create", id)).output);
    assertEquals(await statusOf(idle, made.key), 200);
    await sleep(restMs);
    assertEquals((await other.admin("key", "revoke", id, made.id)).code, 0);
    await sleep(seenWithinMs);
    assertEquals(await statusOf(idle, made.key), 401);
    await sleep(restMs);
    assertEquals((await other.admin("maintenance", "on", "--message", "soon")).code, 0);
    await sleep(seenWithinMs);
    assertEquals(await statusOf(idle, made.key), 503);
    for (const gateway of [idle, other]) assertEquals(await gateway.end("SIGTERM"), 0);
  },
);

const programs = await postgresPrograms();

Deno.test({
  name: "an idle gateway on PostgreSQL is told of changes, and hardly reads",
  ignore: programs === undefined,
  ...processes,
  async fn() {
    await using server = await startPostgres(programs ?? "");
    // Its transactions would be counted.
    await server.set("autovacuum", "off");
    const env = { GATEWAY_KV: server.url, GATEWAY_MASTER_KEYS: newMasterKey() };
    const [idle, other] = await Promise.all([startGateway({ env }), startGateway({ env })]);
    const { id } = JSON.parse((await other.admin("account", "create")).output);
    const made = JSON.parse((await other.admin("key", "create", id)).output);
    assertEquals(await statusOf(idle, made.key), 200);
    assertEquals((await other.admin("key", "revoke", id, made.id)).code, 0);
    await until(async () => await statusOf(idle, made.key) === 401, "it is refused", 500);
    assertEquals(await other.end("SIGTERM"), 0);
    await sleep(restMs);
    const count = async () =>
      Number(await server.query("select sum(xact_commit) from pg_stat_database"));
    const before = await count();
    await sleep(watchMs);
    const transactions = await count() - before;
    assert(transactions <= 30, `${transactions} transactions`);
    assertEquals(await idle.end("SIGTERM"), 0);
  },
});
