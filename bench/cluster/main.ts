/**
 * Measures several instances on one real store: calls per second, added latency, messages to the
 * store per call and per idle minute.
 *
 * `deno task bench:cluster -- [quick]`
 *
 * A store, up to three gateways, the provider and the load share this machine, so only the ratios
 * within one run say something. Needs PostgreSQL or denokv; the one that is missing is left out.
 */
import { sleep } from "../../core/lib/time/sleep.ts";
import { type ClusterEngine, clusterEngines } from "../../tests/cluster/stores.ts";
import { cores, denoCommand, Server } from "../child.ts";
import type { LoadResult, Target } from "../load_job.ts";
import { runJob, wholeCalls } from "../measure.ts";
import { print } from "../print.ts";
import { Fleet, type Gateways } from "./fleet.ts";

const isQuick = Deno.args.includes("quick");
const seconds = isQuick ? 1 : 3;
const warmSeconds = isQuick ? 1 : 4;
const idleMs = isQuick ? 10_000 : 60_000;
/** Milliseconds after the last call until leases, indexes and polls are those of an idle instance. */
const calmMs = 5_000;
const instanceCounts = [1, 2, 3];
/** Milliseconds that a round trip to the store takes longer. */
const distancesMs = [20, 150];
const clientCounts = [4, 64];

interface Load {
  readonly callsPerSecond: number;
  readonly calls: number;
  readonly p50Ms: number;
}

/** The same number of clients on all targets together. */
async function load(targets: readonly Target[], clients: number): Promise<Load> {
  const results: LoadResult[] = await Promise.all(targets.map((target, at) => {
    const share = Math.floor(clients / targets.length);
    const connections = share + (at < clients % targets.length ? 1 : 0);
    return runJob({ ...wholeCalls, connections, target, seconds, warmSeconds });
  }));
  const calls = results.reduce((sum, result) => sum + result.calls, 0);
  return {
    calls,
    callsPerSecond: results.reduce((sum, result) => sum + result.calls / result.seconds, 0),
    p50Ms: results.reduce((sum, { callP50Ms, calls: own }) => sum + callP50Ms * own, 0) / calls,
  };
}

/** The load without a gateway, by number of clients. */
type Direct = ReadonlyMap<number, Load>;

async function measure(what: string, { targets }: Gateways, direct: Direct): Promise<void> {
  for (const clients of clientCounts) {
    const own = await load(targets, clients);
    const without = direct.get(clients)!;
    print(
      `${what}, ${clients} clients: ${Math.round(own.callsPerSecond)} calls/s ` +
        `(${(own.callsPerSecond / without.callsPerSecond).toFixed(3)} of direct), ` +
        `median ${own.p50Ms.toFixed(2)} ms, added ${(own.p50Ms - without.p50Ms).toFixed(2)} ms`,
    );
  }
}

/** Counts what gateways send to the store. A message above some kilobytes may count more than once. */
async function countMessages(what: string, fleet: Fleet, { targets }: Gateways): Promise<void> {
  for (const clients of clientCounts) {
    let calls = 0;
    const before = fleet.proxy.sent;
    for (const target of targets) {
      const connections = Math.ceil(clients / targets.length);
      calls +=
        (await runJob({ ...wholeCalls, connections, target, seconds, warmSeconds: 0 })).calls;
    }
    const perCall = (fleet.proxy.sent - before) / calls;
    print(`${what}, ${clients} clients: ${perCall.toFixed(2)} messages to the store a call`);
  }
  await sleep(calmMs);
  const before = fleet.proxy.sent;
  await sleep(idleMs);
  const perMinute = (fleet.proxy.sent - before) / targets.length / (idleMs / 60_000);
  print(`${what}, idle: ${Math.round(perMinute)} messages to the store a minute and instance`);
}

async function measureEngine(engine: ClusterEngine, mock: Server, direct: Direct): Promise<void> {
  if (engine.missing !== undefined) {
    print(`${engine.name} is left out: ${engine.missing}`);
    return;
  }
  await using fleet = await Fleet.open(engine, mock.port);
  for (const count of instanceCounts) {
    const what = `${engine.name}, ${count} instance${count === 1 ? "" : "s"}`;
    await using near = await fleet.start(count, true);
    await measure(`${what}, 0 ms`, near, direct);
    await near[Symbol.asyncDispose]();
    fleet.proxy.delayMs = 0;
    await using far = await fleet.start(count, false);
    await countMessages(what, fleet, far);
    for (const distanceMs of distancesMs) {
      fleet.proxy.delayMs = distanceMs;
      await measure(`${what}, ${distanceMs} ms`, far, direct);
    }
    fleet.proxy.delayMs = 0;
  }
}

await using mock = await Server.start({
  command: denoCommand("mock_upstream.ts"),
  core: cores.around,
});
const direct = new Map<number, Load>();
for (const clients of clientCounts) {
  const target = { url: `http://127.0.0.1:${mock.port}`, headers: [], pid: mock.pid };
  const own = await load([target], clients);
  direct.set(clients, own);
  print(
    `direct, ${clients} clients: ${Math.round(own.callsPerSecond)} calls/s, median ${
      own.p50Ms.toFixed(2)
    } ms`,
  );
}
for (const engine of clusterEngines) await measureEngine(engine, mock, direct);
