/**
 * Counts what one small call takes: system calls, operations of the runtime, timers, promises, garbage and rows of the store.
 * Times depend on the machine and on its other work; counts do not.
 *
 * `deno task bench -- --counts`. System calls need `strace`.
 */
import { cores, denoCommand, Server } from "./child.ts";
import { BenchGateway } from "./gateway.ts";
import { countCalls, openInProcessGateway } from "./in_process_gateway.ts";
import type { LoadResult } from "./load_job.ts";
import { runJob, wholeCalls } from "./measure.ts";
import { print } from "./print.ts";

const warmSeconds = 4;
const seconds = 2;

type Counts = ReadonlyMap<string, number>;

function printCounts(what: string, counts: Counts, calls: number): void {
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  print(`\n${what}: ${(all / calls).toFixed(2)} per call`);
  const most = [...counts].sort(([, one], [, other]) => other - one);
  for (const [name, count] of most) {
    if (count / calls >= leastShown) print(`  ${(count / calls).toFixed(2).padStart(7)}  ${name}`);
  }
}

/** Fewer per call are work of the process, not of calls. */
const leastShown = 0.02;

function load(gateway: BenchGateway, durationSeconds: number): Promise<LoadResult> {
  return runJob({
    ...wholeCalls,
    target: gateway.target,
    seconds: durationSeconds,
    warmSeconds: 0,
  });
}

/** System calls of all threads of the process. */
async function systemCalls(gateway: BenchGateway, directory: string): Promise<void> {
  const file = `${directory}/strace`;
  const args = ["-c", "-f", "-p", String(gateway.target.pid), "-o", file];
  let strace: Deno.ChildProcess;
  try {
    strace = new Deno.Command("strace", { args, stderr: "null" }).spawn();
  } catch {
    return print("\nsystem calls: strace is not installed");
  }
  const { calls } = await load(gateway, seconds);
  strace.kill("SIGINT");
  await strace.status;
  const counts = new Map<string, number>();
  for (const line of (await Deno.readTextFile(file)).split("\n")) {
    // % time, seconds, µs per call, calls, errors (may be empty), name
    const [, count, name] = /^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?(\w+)$/.exec(line) ?? [];
    if (name !== undefined && name !== "total") counts.set(name, Number(count));
  }
  printCounts("system calls", counts, calls);
}

/** Sums the bytes that were allocated between two collections. */
function allocatedBytes(trace: string): number {
  let megabytes = 0;
  let before: number | undefined;
  for (const [, from, to] of trace.matchAll(/ ms: [^\n]*?([\d.]+) \([\d.]+\) -> ([\d.]+) \(/g)) {
    if (before !== undefined) megabytes += Math.max(0, Number(from) - before);
    before = Number(to);
  }
  return megabytes * 1024 * 1024;
}

/** Operations of the runtime and bytes of garbage, from the traces that the runtime writes. */
async function operations(mockPort: number, directory: string): Promise<void> {
  const trace = `${directory}/trace`;
  await using gateway = await BenchGateway.prepare(mockPort, { trace });
  await gateway.start();
  await load(gateway, warmSeconds);
  const [opsBefore, outputBefore] = await traces(trace);
  const { calls } = await load(gateway, seconds);
  const [ops, output] = await traces(trace);
  const counts = new Map<string, number>();
  for (const [, name = ""] of ops.slice(opsBefore.length).matchAll(/\] (\w+) *: Dispatched/g)) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  printCounts("operations", counts, calls);
  const timers = [...counts].filter(([name]) => name.startsWith("op_timer_schedule"));
  printCounts("timers", new Map(timers), calls);
  const bytes = allocatedBytes(output.slice(outputBefore.length));
  print(`\nbytes allocated on the heap: ${Math.round(bytes / calls)} per call`);
}

function traces(trace: string): Promise<[string, string]> {
  return Promise.all([Deno.readTextFile(`${trace}.ops`), Deno.readTextFile(`${trace}.output`)]);
}

/** Promises of the serving thread, those of its runtime included. */
async function promises(mockPort: number): Promise<void> {
  await using gateway = await BenchGateway.prepare(mockPort, { watch: "promise_watch.ts" });
  await gateway.start();
  await load(gateway, warmSeconds);
  const last = () => Number(gateway.watched().at(-1));
  // Two reports, so that what comes before the load is counted before it.
  await new Promise((resolve) => setTimeout(resolve, 500));
  const before = last();
  const { calls } = await load(gateway, seconds);
  await new Promise((resolve) => setTimeout(resolve, 500));
  const created = last() - before;
  print(
    created > 0
      ? `\npromises: ${(created / calls).toFixed(1)} per call`
      : "\npromises: this runtime does not count them",
  );
}

/** Commits, and the rows that they check, write and delete, with 64 calls at a time. */
async function storeRows(mockPort: number): Promise<void> {
  const callsAtOnce = 64;
  const callsEach = 20;
  using kv = await Deno.openKv(":memory:");
  const counts = new Map<string, number>();
  const count = (name: string) => () => void counts.set(name, (counts.get(name) ?? 0) + 1);
  await using gateway = await openInProcessGateway(
    kv,
    mockPort,
    () =>
      countCalls(kv, "atomic", (operation) => {
        if (typeof operation !== "object" || operation === null) return;
        for (const name of ["check", "set", "delete", "commit"]) {
          countCalls(operation, name, count(name));
        }
      }),
  );
  const rounds = () =>
    Promise.all(Array.from({ length: callsAtOnce }, async () => {
      for (let call = 0; call < callsEach; call++) await gateway.call();
    }));
  await rounds();
  counts.clear();
  await rounds();
  printCounts("store (commits, and rows in them)", counts, callsAtOnce * callsEach);
}

/** Prints all counts. */
export async function printCallCounts(): Promise<void> {
  const directory = await Deno.makeTempDir({ prefix: "bench" });
  try {
    await using mock = await Server.start({
      command: denoCommand("mock_upstream.ts"),
      core: cores.around,
    });
    {
      await using gateway = await BenchGateway.prepare(mock.port);
      await gateway.start();
      await load(gateway, warmSeconds);
      await systemCalls(gateway, directory);
    }
    await operations(mock.port, directory);
    await promises(mock.port);
    await storeRows(mock.port);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
