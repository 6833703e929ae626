/** A primary of PostgreSQL crashes under the calls of three gateways, and its synchronous standby takes over. */
import { assert } from "../support/assert.ts";
import { postgresPrograms, startPostgres } from "../support/servers/postgres_server.ts";
import { restartSynchronous } from "../support/servers/synchronous_standby.ts";
import { until } from "../support/until.ts";
import { assertExactBooks } from "./books.ts";
import { ClientLedger } from "./client_ledger.ts";
import { Cluster } from "./cluster.ts";
import { startTraffic } from "./traffic.ts";

const programs = await postgresPrograms();

Deno.test({
  name: "PostgreSQL: the primary dies under load and the synchronous standby takes over" +
    (programs === undefined ? " (needs: apt-get install postgresql)" : ""),
  ignore: programs === undefined,
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using primary = await startPostgres(programs ?? "");
    await using standby = await primary.startStandby();
    await primary.kill();
    assert(await restartSynchronous(primary), "the standby has become synchronous");
    const hosts = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`;
    const env = { GATEWAY_KV: `postgres://gateway@${hosts}/postgres` };
    await using cluster = await Cluster.start([env, env, env]);
    const ledger = new ClientLedger();
    ledger.creditedVnd += await cluster.demoVnd();
    const { key } = await cluster.newPayer(ledger, 10_000_000);
    const traffic = startTraffic(cluster, ledger, key, { clients: 12 });
    await until(() => ledger.whole.size > 50, "calls end on the old primary");
    await primary.kill();
    await standby.promote();
    // Nobody follows the new primary: it must not wait for a standby.
    await standby.set("synchronous_standby_names", "");
    const during = ledger.whole.size;
    await until(() => ledger.whole.size > during + 200, "calls end on the new primary");
    await traffic.stop();
    await assertExactBooks("PostgreSQL, fail-over to the synchronous standby", cluster, ledger);
  },
});
