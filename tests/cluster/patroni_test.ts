/** PostgreSQL under Patroni elects another primary by itself, under the calls of three gateways. */
import { assert } from "../support/assert.ts";
import {
  type PatroniCluster,
  type PatroniNode,
  startPatroni,
} from "../support/servers/patroni/cluster.ts";
import { missingPackages } from "../support/servers/patroni/programs.ts";
import { report } from "../support/report.ts";
import { until } from "../support/until.ts";
import { assertExactBooks } from "./books.ts";
import { ClientLedger } from "./client_ledger.ts";
import { Cluster } from "./cluster.ts";
import { startOpenTraffic, startTraffic } from "./traffic.ts";

const missing = await missingPackages();

/** Gateways of a cluster. */
const instances = 3;
const clients = 9;

/** Calls that have to end before and after each change, so that it falls among them and all clients go on. */
const callsOfPhase = 60;

interface Scene {
  readonly patroni: PatroniCluster;
  readonly ledger: ClientLedger;
  /** Waits until calls have ended on whichever node leads. */
  untilCallsEnd(): Promise<void>;
}

/** Calls a second of an open rate. */
const callsPerSecond = 15;

async function play(
  name: string,
  patroni: PatroniCluster,
  run: (scene: Scene) => Promise<void>,
  rate: "open" | "closed" = "closed",
): Promise<void> {
  // As in production: calls that come during a fail-over wait for its end.
  const env = { GATEWAY_KV: patroni.url, GATEWAY_STORE_WAIT_MS: "30000" };
  await using cluster = await Cluster.start(Array.from({ length: instances }, () => env));
  const ledger = new ClientLedger();
  ledger.creditedVnd += await cluster.demoVnd();
  const { key } = await cluster.newPayer(ledger, 10_000_000);
  const traffic = rate === "closed"
    ? startTraffic(cluster, ledger, key, { clients })
    : startOpenTraffic(cluster, ledger, key, { callsPerSecond });
  const untilCallsEnd = async () => {
    const before = ledger.whole.size;
    await until(() => ledger.whole.size > before + callsOfPhase, "calls end");
  };
  await untilCallsEnd();
  await run({ patroni, ledger, untilCallsEnd });
  await traffic.stop();
  await assertExactBooks(`Patroni, ${name}`, cluster, ledger);
}

/** Registers a scenario: three gateways under load on a new cluster, and exact books at the end. */
function patroniTest(
  name: string,
  run: (scene: Scene) => Promise<void>,
  rate: "open" | "closed" = "closed",
): void {
  const needs = missing.length === 0 ? "" : ` (needs: apt-get install ${missing.join(" ")})`;
  Deno.test({
    name: `Patroni: ${name}${needs}`,
    ignore: missing.length > 0,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      await using patroni = await startPatroni();
      await play(name, patroni, run, rate);
    },
  });
}

/** The node that leads, and the other one. */
async function leaderAndOther(patroni: PatroniCluster): Promise<[PatroniNode, PatroniNode]> {
  const leader = await patroni.leader();
  const other = patroni.nodes.find((node) => node !== leader);
  assert(leader && other);
  return [leader, other];
}

/** Waits until another node leads and calls end there, and reports how long that took. */
async function untilTakenOver(what: string, scene: Scene, from: PatroniNode): Promise<void> {
  const startMs = performance.now();
  const { patroni, untilCallsEnd } = scene;
  const isTakenOver = async () => {
    const leader = await patroni.leader(from);
    return leader !== undefined && leader !== from;
  };
  await until(isTakenOver, `another node than ${from.name} leads`);
  const electedMs = performance.now() - startMs;
  await untilCallsEnd();
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  report(
    `${what}: elected after ${seconds(electedMs)}, ` +
      `${callsOfPhase} calls more after ${seconds(performance.now() - startMs)}`,
  );
}

patroniTest(
  "the leader dies with its agent, comes back as a standby, and is handed the lead again",
  async (scene) => {
    const { patroni, untilCallsEnd } = scene;
    const [first, second] = await leaderAndOther(patroni);
    await first.kill();
    await untilTakenOver("the leader was killed", scene, first);
    first.start();
    await patroni.untilRole(first, "sync_standby");
    await untilCallsEnd();
    await patroni.switchOver(second, first);
    await untilTakenOver("the lead was handed over", scene, second);
    await patroni.untilRole(second, "sync_standby");
  },
);

patroniTest(
  "the leader dies under calls that arrive at a rate, and nearly all of them are answered",
  async (scene) => {
    const [first] = await leaderAndOther(scene.patroni);
    await first.kill();
    await untilTakenOver("the leader was killed under an open rate", scene, first);
    const { ledger } = scene;
    const failed = ledger.failures();
    report(
      `an open rate: ${failed} of ${ledger.calls} failed, the longest took ${
        (ledger.longestMs / 1000).toFixed(1)
      } s`,
    );
    assert(failed <= ledger.calls / 100, `${failed} of ${ledger.calls} failed`);
  },
  "open",
);

patroniTest(
  "a leader that is cut off from the others gives up before another one leads",
  async (scene) => {
    const { patroni } = scene;
    const [first] = await leaderAndOther(patroni);
    first.cutOff(true);
    await untilTakenOver("the leader was cut off", scene, first);
    const inRecovery = await first.query("select pg_is_in_recovery()");
    assert(inRecovery === "t" || inRecovery === undefined, "it takes no writes any more");
    first.cutOff(false);
    await patroni.untilRole(first, "sync_standby");
  },
);
