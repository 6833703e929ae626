/** Gateways die at random under load. */
import { sleep } from "../../core/lib/time/sleep.ts";
import { seededRandom } from "../support/random.ts";
import { until } from "../support/until.ts";
import { clusterTest, rounds } from "./scenario.ts";
import { startTraffic } from "./traffic.ts";

/** Every round of this number kills two gateways at once. */
const doubleRound = 7;

clusterTest("kill -9 at random", {
  async run({ cluster, ledger }) {
    const { key } = await cluster.newPayer(ledger, 10_000_000);
    const traffic = startTraffic(cluster, ledger, key, { clients: 12 });
    const next = seededRandom(20);
    for (let round = 1; round <= rounds; round++) {
      const enough = ledger.whole.size + 20 + next() * 50;
      await until(() => ledger.whole.size > enough, "calls end between two kills");
      const first = Math.floor(next() * 3);
      const killed = round % doubleRound === 0 ? [first, (first + 1) % 3] : [first];
      await Promise.all(killed.map((at) => cluster.gateways[at]!.end("SIGKILL")));
      await sleep(next() * 200);
      await Promise.all(killed.map((at) => cluster.startOne(at)));
    }
    await traffic.stop();
  },
});
