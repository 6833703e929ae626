/** Runs load jobs against several targets, in turns, so that a slow minute of the machine hits all of them. */
import { cores, denoCommand, output } from "./child.ts";
import type { LoadJob, LoadResult, Target } from "./load_job.ts";
import { print } from "./print.ts";
import { median } from "./statistics.ts";

/** Durations and repetitions; the numbers of `quick` are not for quoting. */
export interface Effort {
  /**
   * Warm-up of each target before its first round. A service runs for days; in its first seconds the compiler adds half
   * as much again.
   */
  readonly settleSeconds: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly warmSeconds: number;
  /** Number of slow streams that are held open. */
  readonly openStreams: number;
  /** Repetitions, each on a new process. */
  readonly openRounds: number;
}

export const efforts = {
  quick: {
    settleSeconds: 6,
    rounds: 3,
    seconds: 1.5,
    warmSeconds: 0.3,
    openStreams: 300,
    openRounds: 1,
  },
  full: {
    settleSeconds: 20,
    rounds: 9,
    seconds: 2,
    warmSeconds: 0.5,
    openStreams: 1_000,
    openRounds: 3,
  },
} as const satisfies Record<string, Effort>;

export type JobShape = Omit<LoadJob, "target" | "seconds" | "warmSeconds">;

/** Chat calls that do not stream, over 64 connections. */
export const wholeCalls: JobShape = {
  path: "/v1/chat/completions",
  scenario: "bench-json",
  connections: 64,
  promptBytes: 860,
  pauseMs: 0,
  mode: "repeat",
};

export async function runJob(job: LoadJob): Promise<LoadResult> {
  const command = denoCommand("load.ts", JSON.stringify(job));
  const result: LoadResult = JSON.parse(await output({ command, core: cores.around }));
  if (result.errors > 0) {
    print(`  ! ${result.errors} errors in ${job.scenario} on ${job.target.url}: ${result.error}`);
  }
  // Clients keep their connections. The cost of accepting and closing would hide the cost of a call.
  if (job.mode === "repeat" && result.opened > 2 * job.connections) {
    print(`  ! ${result.opened} connections opened for ${result.calls} calls on ${job.target.url}`);
  }
  return result;
}

/** Rounds of `shape` on every target, one after another. */
export async function inTurns<Name extends string>(
  effort: Effort,
  targets: Readonly<Record<Name, { readonly target: Target; readonly shape: JobShape }>>,
): Promise<Record<Name, Measured>> {
  const names = Object.keys(targets) as Name[];
  const results = new Map<Name, LoadResult[]>(names.map((name) => [name, []]));
  for (const name of names) {
    const { target, shape } = targets[name];
    await runJob({ ...shape, target, seconds: 0.1, warmSeconds: effort.settleSeconds });
  }
  for (let round = 0; round < effort.rounds; round++) {
    for (const name of names) {
      const { target, shape } = targets[name];
      const { seconds, warmSeconds } = effort;
      const result = await runJob({ ...shape, target, seconds, warmSeconds });
      results.get(name)?.push(result);
      print(`  ${shape.scenario} ${shape.path} ${name}: ${describe(result)}`);
    }
  }
  const measured = names.map((name) => [name, new Measured(results.get(name) ?? [])] as const);
  return Object.fromEntries(measured) as Record<Name, Measured>;
}

function describe(result: LoadResult): string {
  const per = (count: number) => (result.cpuMicros / count).toFixed(1);
  const events = result.events > 0
    ? `, ${Math.round(result.events / result.seconds)} events/s, ${per(result.events)} µs CPU each`
    : "";
  return `${Math.round(result.calls / result.seconds)} calls/s, ${
    per(result.calls)
  } µs CPU each, ` +
    `p50 ${result.callP50Ms.toFixed(2)} ms, p99 ${result.callP99Ms.toFixed(2)} ms${events}`;
}

/** The result of a round. */
const readings = {
  callsPerSecond: ({ calls, seconds }: LoadResult) => calls / seconds,
  cpuMicrosPerCall: ({ cpuMicros, calls }: LoadResult) => cpuMicros / calls,
  eventsPerSecond: ({ events, seconds }: LoadResult) => events / seconds,
  cpuMicrosPerEvent: ({ cpuMicros, events }: LoadResult) => cpuMicros / events,
  firstByteP50Ms: ({ firstByteP50Ms }: LoadResult) => firstByteP50Ms,
  callP99Ms: ({ callP99Ms }: LoadResult) => callP99Ms,
} as const;

export type Reading = keyof typeof readings;

/** The rounds of one target. */
export class Measured {
  readonly #rounds: readonly LoadResult[];

  constructor(rounds: readonly LoadResult[]) {
    this.#rounds = rounds;
  }

  /** The median over the rounds. */
  seen(reading: Reading): number {
    return median(this.#rounds.map(readings[reading]));
  }

  /** Compares it round by round with another target, under the same conditions, and takes the median. */
  #compared(other: Measured, reading: Reading, compare: (own: number, other: number) => number) {
    const read = readings[reading];
    return median(this.#rounds.flatMap((round, at) => {
      const beside = other.#rounds[at];
      return beside === undefined ? [] : [compare(read(round), read(beside))];
    }));
  }

  /** The ratio to the other target. */
  ratioTo(other: Measured, reading: Reading): number {
    return this.#compared(other, reading, (own, others) => own / others);
  }

  /** The difference from the other target. */
  addedTo(other: Measured, reading: Reading): number {
    return this.#compared(other, reading, (own, others) => own - others);
  }
}
