/** What a gateway reads from its store while nothing calls it, and how soon it sees what others change then. */
import { assert, assertEquals } from "../support/assert.ts";
import { sleep } from "../../core/lib/time/sleep.ts";
import { newMasterKey } from "../../core/people/api_keys/seal.ts";
import type { Config } from "../../core/config/config.ts";
import { serve } from "../../routes/server/serve.ts";
import { runCommand } from "../support/gateways/admin_command.ts";
import { testConfig } from "../support/gateways/gateway_in_process.ts";
import { startGateway } from "../support/gateways/started_gateway.ts";
import { SkippableTime } from "../support/skippable_time.ts";
import { type FaultyStore, startFaultyStore } from "../support/servers/kv_connect/server.ts";
import { postgresPrograms, startPostgres } from "../support/servers/postgres_server.ts";
import { until } from "../support/until.ts";

const processes = { sanitizeOps: false, sanitizeResources: false };

/** Milliseconds after the last call in which things come to rest. */
const restMs = 12_000;

/** Milliseconds for which calls of the store are counted. */
const watchMs = 60_000;

/** Milliseconds after a change from which an idle instance sees it: it trusts what it read so long ago. */
const trustedMs = 500;

/** Shorter than any pause between two reads, so that each of them happens. */
const stepMs = 250;

/** Real milliseconds for an answer of the store. */
const answerMs = 10;

/** A gateway in this process, whose time the test skips. */
interface IdleGateway {
  readonly time: SkippableTime;
  readonly address: string;
  readonly config: Config;
  stop(): Promise<number>;
}

async function withIdleGateway(
  { env }: FaultyStore,
  run: (gateway: IdleGateway) => Promise<void>,
): Promise<void> {
  // The runtime reads it when it opens a store.
  Deno.env.set("DENO_KV_ACCESS_TOKEN", env.DENO_KV_ACCESS_TOKEN ?? "");
  using time = new SkippableTime(stepMs);
  const config = testConfig({ env: { ...env, PORT: "0" } });
  const stopping = new AbortController();
  const listening = Promise.withResolvers<string>();
  const ended = serve(config, {
    clock: time,
    random: Math.random,
    signal: stopping.signal,
    write(line) {
      const [, address] = /listening on (\S+)/.exec(line) ?? [];
      if (address !== undefined) listening.resolve(address);
    },
  });
  const stop = () => {
    stopping.abort();
    return ended;
  };
  try {
    await run({ time, address: await listening.promise, config, stop });
  } finally {
    await stop();
  }
}

/**
 * Lets time pass. A remote store answers by a socket, which takes some real time after each step: a machine that needs
 * more of it makes fewer reads, never more.
 */
async function pass({ time }: IdleGateway, durationMs: number): Promise<void> {
  for (let leftMs = durationMs; leftMs > 0; leftMs -= stepMs) {
    await time.skip(stepMs);
    await sleep(answerMs);
  }
}

async function probe({ address }: IdleGateway): Promise<void> {
  const response = await fetch(`${address}/readyz`);
  assertEquals(response.status, 200, await response.text());
}

async function statusOf({ address }: { readonly address: string }, key: string): Promise<number> {
  const response = await fetch(`${address}/v1/models`, {
    headers: { authorization: `Bearer ${key}` },
  });
  await response.body?.cancel();
  return response.status;
}

/** Runs a command on the store from outside of the gateway, as another instance would. */
async function command({ config }: IdleGateway, ...args: readonly string[]): Promise<string> {
  const { code, written, errors } = await runCommand(config, args);
  assertEquals(code, 0, errors);
  return written;
}

Deno.test(
  "an idle gateway that a balancer probes reads its store at most 30 times a minute",
  processes,
  async () => {
    await using store = startFaultyStore();
    await withIdleGateway(store, async (gateway) => {
      await pass(gateway, restMs);
      let reads = 0;
      store.fateOf = (call) => {
        if (call === "snapshot_read") reads++;
        return "answered";
      };
      for (let passedMs = 0; passedMs < watchMs; passedMs += 10_000) {
        await probe(gateway);
        await pass(gateway, 10_000);
      }
      // One each two seconds, and one more where the first falls on the beginning of the minute and the last on its end.
      assert(reads > 0 && reads <= 31, `${reads} reads`);
      assertEquals(await gateway.stop(), 0);
    });
  },
);

Deno.test(
  "after a pause, the first call sees what another instance changed before",
  processes,
  async () => {
    await using store = startFaultyStore();
    await withIdleGateway(store, async (gateway) => {
      const { id } = JSON.parse(await command(gateway, "account", "create"));
      const made = JSON.parse(await command(gateway, "key", "create", id));
      assertEquals(await statusOf(gateway, made.key), 200);
      await pass(gateway, restMs);
      await command(gateway, "key", "revoke", id, made.id);
      await pass(gateway, 2 * trustedMs);
      assertEquals(await statusOf(gateway, made.key), 401);
      await pass(gateway, restMs);
      await command(gateway, "maintenance", "on", "--message", "soon");
      await pass(gateway, 2 * trustedMs);
      assertEquals(await statusOf(gateway, made.key), 503);
      assertEquals(await gateway.stop(), 0);
    });
  },
);

/**
 * Milliseconds after which a session of PostgreSQL that has become idle reports its transactions: `PGSTAT_IDLE_INTERVAL`
 * of its source is ten seconds. Those of the polls before the rest would otherwise count in the minute behind it.
 */
const reportedMs = 11_000;

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
    await until(async () => await statusOf(idle, made.key) === 401, "it is refused");
    assertEquals(await other.end("SIGTERM"), 0);
    await sleep(restMs + reportedMs);
    const count = async () =>
      Number(await server.query("select sum(xact_commit) from pg_stat_database"));
    const inMinute = async () => {
      const before = await count();
      await sleep(watchMs);
      return await count() - before;
    };
    const first = await inMinute();
    // On a busy machine sessions report what was before the rest in the first minute behind it, and not in the next.
    const transactions = first <= 30 ? first : await inMinute();
    assert(transactions <= 30, `${first}, then ${transactions} transactions`);
    assertEquals(await idle.end("SIGTERM"), 0);
  },
});
