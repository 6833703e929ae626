/** A network between the gateways and the store that is slow, loses answers, or repeats requests. */
import { assert, assertEquals } from "../support/assert.ts";
import { sleep } from "../../core/lib/time/sleep.ts";
import { startKvConnectProxy } from "../support/servers/kv_connect_proxy.ts";
import { startTcpProxy } from "../support/servers/tcp_proxy.ts";
import { seededRandom } from "../support/random.ts";
import { until } from "../support/until.ts";
import { clusterTest, isLong } from "./scenario.ts";
import { startTraffic } from "./traffic.ts";

const phaseMs = isLong ? 60_000 : 5_000;
/** Milliseconds of a round trip to a store in the next city, and on another continent. */
const delaysMs = [20, 150];
/** The part of the server's pieces in whose place the connection is cut. */
const cutPart = 0.005;

clusterTest("the store is 20, then 150 ms away, then connections are cut after it answered", {
  path: ({ port }) => startTcpProxy(port),
  async run({ cluster, ledger }, proxy) {
    assert(proxy);
    const { key } = await cluster.newPayer(ledger, 10_000_000);
    const traffic = startTraffic(cluster, ledger, key, { clients: 9 });
    for (const delayMs of delaysMs) {
      proxy.delayMs = delayMs;
      await sleep(phaseMs);
    }
    assertEquals([...ledger.failed], [], "distance fails no call");
    proxy.delayMs = 0;
    const next = seededRandom(7);
    let cuts = 0;
    proxy.cutsAnswer = () => {
      const isCut = next() < cutPart;
      if (isCut) cuts++;
      return isCut;
    };
    await until(() => cuts >= 3, "connections are cut after answers of the store");
    proxy.cutsAnswer = () => false;
    await traffic.stop();
  },
});

clusterTest("answers of the store are lost, requests come twice or late", {
  engine: "denokv",
  path: ({ port }) => startKvConnectProxy(port),
  async run({ cluster, ledger }, proxy) {
    assert(proxy);
    const { key } = await cluster.newPayer(ledger, 10_000_000);
    const traffic = startTraffic(cluster, ledger, key, { clients: 9 });
    const next = seededRandom(9);
    proxy.fateOf = () => next() < 0.05 ? "lost" : "answered";
    await sleep(phaseMs);
    proxy.fateOf = () => next() < 0.2 ? "doubled" : "answered";
    await sleep(phaseMs);
    proxy.fateOf = () => next() < 0.05 ? "late" : "answered";
    await sleep(phaseMs);
    proxy.fateOf = () => "answered";
    await traffic.stop();
  },
});
