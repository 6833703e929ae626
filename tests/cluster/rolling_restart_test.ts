/** Gateways are restarted in turn, under clients that go round by `/readyz`. */
import { assertEquals } from "../support/assert.ts";
import { sleep } from "../../core/lib/time/sleep.ts";
import { until } from "../support/until.ts";
import type { Cluster } from "./cluster.ts";
import { clusterTest, isLong } from "./scenario.ts";
import { startTraffic } from "./traffic.ts";

const turns = isLong ? 5 : 1;
/** Polling interval of `/readyz` in milliseconds: several within the time that a stopped gateway keeps answering. */
const lookEveryMs = 200;

async function isReady(address: string): Promise<boolean> {
  try {
    const response = await fetch(`${address}/readyz`);
    await response.body?.cancel();
    return response.status === 200;
  } catch {
    return false;
  }
}

/** A client's view of which gateways are ready. */
function watchReadiness(cluster: Cluster) {
  const ready = new Set<number>();
  let isOver = false;
  const watching = (async () => {
    while (!isOver) {
      await Promise.all(cluster.gateways.map(async (_, at) => {
        if (await isReady(cluster.address(at))) ready.add(at);
        else ready.delete(at);
      }));
      await sleep(lookEveryMs);
    }
  })();
  return {
    ready,
    async stop() {
      isOver = true;
      await watching;
    },
  };
}

clusterTest("a rolling restart", {
  async run({ cluster, ledger }) {
    const { key } = await cluster.newPayer(ledger, 10_000_000);
    const { ready, stop } = watchReadiness(cluster);
    const choose = (number: number) => [...ready][number % ready.size];
    await until(() => ready.size === cluster.gateways.length, "all are ready");
    const traffic = startTraffic(cluster, ledger, key, { clients: 9, choose });
    await sleep(500);
    for (let turn = 0; turn < turns; turn++) {
      for (const at of cluster.gateways.keys()) {
        assertEquals(await cluster.gateways[at]!.end("SIGTERM"), 0);
        await cluster.startOne(at);
        await until(() => ready.has(at), "it is ready again");
      }
    }
    await traffic.stop();
    await stop();
    assertEquals([...ledger.failed], []);
  },
});
