/** The store stops answering for a while, or crashes and comes back. */
import { sleep } from "../../core/lib/time/sleep.ts";
import { until } from "../support/until.ts";
import { sdkCall, sdksFor } from "./sdk_calls.ts";
import { clusterTest, isLong, type Scenario } from "./scenario.ts";
import { startTraffic } from "./traffic.ts";

const pausesMs = isLong ? [5_000, 20_000, 60_000] : [5_000];
const crashes = isLong ? 6 : 2;
/** Milliseconds from the crash of the store to its new start. */
const crashedMs = 1_000;
/** Milliseconds within which every gateway has to answer again: below the pause between two probes of `/readyz`. */
const recoveryMs = 10_000;

/** Waits until each gateway answers calls again. */
async function untilAllServe({ cluster, ledger }: Scenario, key: string): Promise<void> {
  await Promise.all(cluster.gateways.map(async (_, at) => {
    const sdks = sdksFor(cluster.address(at), key);
    const serves = async () => await ledger.record(() => sdkCall(sdks, at)) === undefined;
    await until(serves, `gateway ${at} answers again`, recoveryMs);
  }));
}

clusterTest("the store is paused, then crashes", {
  async run(scenario) {
    const { store, cluster, ledger } = scenario;
    const { key } = await cluster.newPayer(ledger, 10_000_000);
    const traffic = startTraffic(cluster, ledger, key, { clients: 9 });
    await sleep(1_000);
    for (const pauseMs of pausesMs) {
      await store.signal("SIGSTOP");
      await sleep(pauseMs);
      await store.signal("SIGCONT");
      await untilAllServe(scenario, key);
      await sleep(1_000);
    }
    for (let crash = 0; crash < crashes; crash++) {
      await store.kill();
      await sleep(crashedMs);
      await store.start();
      await untilAllServe(scenario, key);
      await sleep(1_000);
    }
    await traffic.stop();
  },
});
