/** Runs load jobs against several targets, in turns, so that a slow minute of the machine hits all of them. */
import { cores, denoCommand, output } from "./child.ts";
import type { LoadJob, LoadResult, Target } from "./load_job.ts";
import { print } from "./print.ts";
import { median } from "./statistics.ts";

/** How long and how often; `quick` is for a look, not for numbers to quote. */
export interface Effort {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmSeconds: number;
  /** How many slow streams are held open. */
  readonly heldStreams: number;
}

export const efforts = {
  quick: { rounds: 1, seconds: 2, warmSeconds: 1, heldStreams: 300 },
  full: { rounds: 5, seconds: 4, warmSeconds: 2, heldStreams: 1_000 },
} as const satisfies Record<string, Effort>;

export type JobShape = Omit<LoadJob, "target" | "seconds" | "warmSeconds">;

export async function runJob(job: LoadJob): Promise<LoadResult> {
  const command = denoCommand("load.ts", JSON.stringify(job));
  const result: LoadResult = JSON.parse(await output({ command, core: cores.around }));
  if (result.errors > 0) {
    print(`  ! ${result.errors} errors in ${job.scenario} on ${job.target.url}: ${result.error}`);
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

/** Medians over rounds. */
export class Measured {
  readonly #results: readonly LoadResult[];

  constructor(results: readonly LoadResult[]) {
    this.#results = results;
  }

  #median(read: (result: LoadResult) => number): number {
    return median(this.#results.map(read));
  }

  get callsPerSecond(): number {
    return this.#median(({ calls, seconds }) => calls / seconds);
  }

  get cpuMicrosPerCall(): number {
    return this.#median(({ cpuMicros, calls }) => cpuMicros / calls);
  }

  get eventsPerSecond(): number {
    return this.#median(({ events, seconds }) => events / seconds);
  }

  get cpuMicrosPerEvent(): number {
    return this.#median(({ cpuMicros, events }) => cpuMicros / events);
  }

  get firstByteP50Ms(): number {
    return this.#median(({ firstByteP50Ms }) => firstByteP50Ms);
  }
}
