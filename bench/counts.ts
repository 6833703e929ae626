/**
 * Counts what one small call takes: system calls, operations of the runtime, timers, promises, garbage and rows of the store.
 * Then the same, without the rows, for an event of a paced stream. Times depend on the machine and on its other work; counts
 * do not.
 *
 * `deno task bench -- --counts`. System calls need `strace`.
 */
import { cores, denoCommand, Server } from "./child.ts";
import { BenchGateway } from "./gateway.ts";
import { countCalls, openInProcessGateway } from "./in_process_gateway.ts";
import { type JobShape, runJob, wholeCalls } from "./measure.ts";
import { print } from "./print.ts";

/** Counted facts, and what each is counted for. */
interface Counted {
  readonly shape: JobShape;
  readonly each: "call" | "event";
  readonly seconds: number;
}

const calls: Counted = { shape: wholeCalls, each: "call", seconds: 2 };
/** A two-hundredth of a stream's call is in the count of an event. Long enough for several collections. */
const events: Counted = {
  shape: { ...wholeCalls, scenario: "bench-paced", connections: 50 },
  each: "event",
  seconds: 12,
};

const warmSeconds = 4;

type Counts = ReadonlyMap<string, number>;

function printCounts(what: string, counts: Counts, times: number, each: Counted["each"]): void {
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  print(`\n${what}: ${(all / times).toFixed(2)} per ${each}`);
  const most = [...counts].sort(([, one], [, other]) => other - one);
  for (const [name, count] of most) {
    if (count / times >= leastShown) print(`  ${(count / times).toFixed(2).padStart(7)}  ${name}`);
  }
}

/** Fewer per call are work of the process, not of calls. */
const leastShown = 0.02;

/** Loads the gateway; returns how many calls or events there were. */
async function load(
  gateway: BenchGateway,
  { shape, each }: Counted,
  durationSeconds: number,
): Promise<number> {
  const { target } = gateway;
  const result = await runJob({ ...shape, target, seconds: durationSeconds, warmSeconds: 0 });
  return each === "call" ? result.calls : result.events;
}

/** System calls of all threads of the process. */
async function systemCalls(
  gateway: BenchGateway,
  directory: string,
  counted: Counted,
): Promise<void> {
  const file = `${directory}/strace`;
  const args = ["-c", "-f", "-p", String(gateway.target.pid), "-o", file];
  let strace: Deno.ChildProcess;
  try {
    strace = new Deno.Command("strace", { args, stderr: "null" }).spawn();
  } catch {
    return print("\nsystem calls: strace is not installed");
  }
  const times = await load(gateway, counted, counted.seconds);
  strace.kill("SIGINT");
  await strace.status;
  const counts = new Map<string, number>();
  for (const line of (await Deno.readTextFile(file)).split("\n")) {
    // % time, seconds, µs per call, calls, errors (may be empty), name
    const [, count, name] = /^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?(\w+)$/.exec(line) ?? [];
    if (name !== undefined && name !== "total") counts.set(name, Number(count));
  }
  printCounts("system calls", counts, times, counted.each);
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
async function operations(mockPort: number, directory: string, counted: Counted): Promise<void> {
  const trace = `${directory}/trace-${counted.each}`;
  await using gateway = await BenchGateway.prepare(mockPort, { trace });
  await gateway.start();
  await load(gateway, counted, warmSeconds);
  const [opsBefore, outputBefore] = await traces(trace);
  const times = await load(gateway, counted, counted.seconds);
  const [ops, output] = await traces(trace);
  const counts = new Map<string, number>();
  for (const [, name = ""] of ops.slice(opsBefore.length).matchAll(/\] (\w+) *: Dispatched/g)) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const { each } = counted;
  printCounts("operations", counts, times, each);
  const timers = [...counts].filter(([name]) => name.startsWith("op_timer_schedule"));
  printCounts("timers", new Map(timers), times, each);
  const bytes = allocatedBytes(output.slice(outputBefore.length));
  print(`\nbytes allocated on the heap: ${Math.round(bytes / times)} per ${each}`);
}

function traces(trace: string): Promise<[string, string]> {
  return Promise.all([Deno.readTextFile(`${trace}.ops`), Deno.readTextFile(`${trace}.output`)]);
}

/** Promises of the serving thread, those of its runtime included. */
async function promises(mockPort: number, counted: Counted): Promise<void> {
  await using gateway = await BenchGateway.prepare(mockPort, { watch: "promise_watch.ts" });
  await gateway.start();
  await load(gateway, counted, warmSeconds);
  const last = () => Number(gateway.watched().at(-1));
  // Two reports, so that what comes before the load is counted before it.
  await new Promise((resolve) => setTimeout(resolve, 500));
  const before = last();
  const times = await load(gateway, counted, counted.seconds);
  await new Promise((resolve) => setTimeout(resolve, 500));
  const created = last() - before;
  print(
    created > 0
      ? `\npromises: ${(created / times).toFixed(1)} per ${counted.each}`
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
  printCounts("store (commits, and rows in them)", counts, callsAtOnce * callsEach, "call");
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
      for (const counted of [calls, events]) {
        await load(gateway, counted, warmSeconds);
        await systemCalls(gateway, directory, counted);
      }
    }
    for (const counted of [calls, events]) {
      await operations(mock.port, directory, counted);
      await promises(mock.port, counted);
    }
    await storeRows(mock.port);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
