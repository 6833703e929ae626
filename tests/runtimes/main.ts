/**
 * `deno task test:runtimes`: runs the tests of conversion on three versions of Node and in Chromium, from one bundle; on
 * Deno they are unit tests. Fails unless every test passes and each runtime ran the same number of them.
 *
 * Node comes from npm (`npx`). A runtime that is not installed is named as skipped.
 */
import { hasChromium } from "../support/browser/chromium.ts";
import { bundleTests, exclusions } from "./bundle.ts";
import { type Run, runInChromium, runInProcess } from "./run.ts";

/** The last of each line that was there when the list was written. */
const nodeVersions = ["20.20.2", "22.23.3", "24.21.0"];

interface Runtime {
  readonly name: string;
  /** `undefined` if the runtime is not installed and cannot be. */
  readonly run: (folder: string) => Promise<Run | undefined>;
}

async function runOnNode(folder: string, version: string): Promise<Run | undefined> {
  const run = await runInProcess(folder, ["npx", "-y", `node@${version}`]);
  if (run !== undefined && run.version !== `v${version}`) {
    throw new Error(`npx ran Node ${run.version}, not v${version}`);
  }
  return run;
}

const runtimes: readonly Runtime[] = [
  ...nodeVersions.map((version) => ({
    name: `Node ${version}`,
    run: (folder: string) => runOnNode(folder, version),
  })),
  {
    name: "Chromium",
    run: async (folder) => await hasChromium() ? await runInChromium(folder) : undefined,
  },
];

interface Outcome {
  readonly name: string;
  readonly run: Run | undefined;
  readonly seconds: number;
}

async function outcomeOf({ name, run }: Runtime, folder: string): Promise<Outcome> {
  const begin = performance.now();
  const result = await run(folder);
  return { name, run: result, seconds: Math.round((performance.now() - begin) / 1_000) };
}

/** All runtimes, as many at a time as the machine has processors; the outcomes in the order of the list. */
async function runAll(folder: string): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  const waiting = runtimes.entries();
  const worker = async () => {
    for (const [at, runtime] of waiting) outcomes[at] = await outcomeOf(runtime, folder);
  };
  await Promise.all(Array.from({ length: navigator.hardwareConcurrency }, worker));
  return outcomes;
}

function lineOf({ name, run, seconds }: Outcome): string {
  const label = name.padEnd(14);
  if (run === undefined) return `${label} skipped: not installed`;
  const { ran, ignored, failures } = run;
  return `${label} ${ran} tests, ${failures.length} failed, ${ignored} ignored (${seconds} s)`;
}

/** What makes the whole run fail. */
function problemsOf(outcomes: readonly Outcome[]): readonly string[] {
  const runs = outcomes.flatMap(({ run }) => run ?? []);
  const problems = outcomes.flatMap(({ name, run }) =>
    (run?.failures ?? []).map((failure) => `${name}: ${failure.name}\n${failure.error}`)
  );
  if (new Set(runs.map(({ ran }) => ran)).size > 1) {
    problems.push("The runtimes ran different numbers of tests");
  }
  const unknown = new Set(runs.flatMap(({ unknownExclusions }) => unknownExclusions));
  for (const name of unknown) problems.push(`The excluded test does not exist: ${name}`);
  if (runs.some(({ ran }) => ran === 0)) problems.push("No tests were found");
  return problems;
}

async function print(lines: readonly string[]): Promise<void> {
  await new Blob([`${lines.join("\n")}\n`]).stream().pipeTo(Deno.stdout.writable);
}

if (import.meta.main) {
  const folder = await Deno.makeTempDir();
  try {
    await bundleTests(folder);
    const outcomes = await runAll(folder);
    const problems = problemsOf(outcomes);
    const excluded = Object.entries(exclusions)
      .map(([name, reason]) => `left out on all: "${name}" (${reason})`);
    await print([...outcomes.map(lineOf), ...excluded, ...problems]);
    Deno.exitCode = problems.length === 0 ? 0 : 1;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
