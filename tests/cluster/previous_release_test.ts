/** Gateways of the previous release and of this one serve the same store during a rolling update. */
import { assertEquals } from "../support/assert.ts";
import { sleep } from "../../core/lib/time/sleep.ts";
import { checkOut, hasRelease } from "../support/gateways/releases.ts";
import { assertExactBooks } from "./books.ts";
import { ClientLedger } from "./client_ledger.ts";
import { Cluster } from "./cluster.ts";
import { openOrders, payOrders } from "./paid_orders.ts";
import { clusterEngines } from "./stores.ts";
import { startTraffic } from "./traffic.ts";

const instances = 3;
/** Top-ups of each step of the update. */
const ordersPerStep = 4;

const isThere = await hasRelease("0.2.0");

/** Replaces the gateways one by one, while money comes in and calls are made. */
async function update(cluster: Cluster, ledger: ClientLedger): Promise<void> {
  const orders = await openOrders(cluster, instances * ordersPerStep);
  const { key } = await cluster.newPayer(ledger, 1_000_000);
  const traffic = startTraffic(cluster, ledger, key, { clients: 9 });
  await sleep(1_000);
  cluster.root = undefined;
  for (const at of cluster.gateways.keys()) {
    assertEquals(await cluster.gateways[at]!.end("SIGTERM"), 0);
    await cluster.startOne(at);
    const first = at * ordersPerStep;
    await payOrders(cluster, ledger, orders.slice(first, first + ordersPerStep), first);
    await cluster.newPayer(ledger, 1_000);
    const { code, output } = await cluster.admin("verify");
    assertEquals(code, 0, output);
  }
  await traffic.stop();
  // Clients go round without asking /readyz.
  const unexpected = ledger.failed.keys().toArray().filter((status) => status !== "connection");
  assertEquals(unexpected, []);
}

for (const engine of clusterEngines) {
  const missing = engine.missing ??
    (isThere ? undefined : "the history of the repository back to it");
  const name = "gateways of the previous release are replaced one by one under traffic";
  Deno.test({
    name: `${engine.name}: ${name}${missing === undefined ? "" : ` (needs: ${missing})`}`,
    ignore: missing !== undefined,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      await using previous = await checkOut("0.2.0");
      await using store = await engine.start();
      const environments = Array.from({ length: instances }, () => store.env(store.port));
      await using cluster = await Cluster.start(environments, previous.root);
      const ledger = new ClientLedger();
      ledger.creditedVnd += await cluster.demoVnd();
      await update(cluster, ledger);
      await assertExactBooks(`${engine.name}, from the previous release`, cluster, ledger);
    },
  });
}
