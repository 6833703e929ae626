/**
 * `deno task test`, `test:long`, `test:rest` and `test:changed`: runs every suite to its end, whatever fails before it,
 * and prints each failure, the slowest files and the count.
 *
 * - `main.ts fast|long|rest [SUITE …]` runs a tier, or only the suites that are named.
 * - `main.ts changed [REF]` runs the unit tests that import what has changed since REF (default: HEAD).
 *
 * `SEED` repeats a run: the order of tests and the cases of properties follow from it.
 */
import { testsSince } from "./changed.ts";
import { type Job, type JobResult, runJobs } from "./job.ts";
import { type RunOptions, suitesOf, unitJobs } from "./plan.ts";
import { summaryLines } from "./summary.ts";
import type { Tier } from "./tiers.ts";

const usage = "usage: main.ts fast|long|rest [SUITE …], or main.ts changed [REF]";

/** Seeds are 31-bit: Deno's shuffle and fast-check both take them. */
const maxSeed = 2 ** 31;

/** Jobs beside one for each processor: tests of processes wait for servers and browsers for a good part of their time. */
const waitingJobs = 1;

async function print(...lines: string[]): Promise<void> {
  await Deno.stdout.write(new TextEncoder().encode(`${lines.join("\n")}\n`));
}

function seedOf(text: string | undefined): number {
  if (text === undefined || text === "") return Math.floor(Math.random() * maxSeed);
  const seed = Number(text);
  if (!Number.isInteger(seed) || seed < 0 || seed >= maxSeed) {
    throw new Error(`SEED is a whole number below ${maxSeed}, not "${text}"`);
  }
  return seed;
}

function jobsOfTier(tier: Tier, names: readonly string[], options: RunOptions): readonly Job[] {
  const suites = suitesOf(tier, options);
  const unknown = names.filter((name) => !suites.has(name));
  if (unknown.length > 0) {
    throw new Error(`no suite ${unknown.join(", ")}; there are ${[...suites.keys()].join(", ")}`);
  }
  return [...suites].filter(([name]) => names.length === 0 || names.includes(name))
    .flatMap(([, jobs]) => jobs);
}

async function jobsOf(args: readonly string[], options: RunOptions): Promise<readonly Job[]> {
  const [command, ...names] = args;
  if (command === "fast" || command === "long" || command === "rest") {
    return jobsOfTier(command, names, options);
  }
  if (command !== "changed" || names.length > 1) throw new Error(usage);
  const { files, distant } = await testsSince(names[0] ?? "HEAD");
  await print(`${files.length} test files import the change or lie beside it`);
  if (distant.length > 0) {
    await print(`${distant.length} reach it through the whole gateway only: deno task test`);
  }
  return unitJobs("changed", files, "fast", options);
}

async function main(args: readonly string[]): Promise<boolean> {
  const folder = await Deno.makeTempDir({ prefix: "gateway_tests_" });
  try {
    const seed = seedOf(Deno.env.get("SEED"));
    const jobs = await jobsOf(args, { seed, folder });
    await print(
      `SEED=${seed}: ${jobs.length} processes on ${navigator.hardwareConcurrency} processors`,
    );
    const results: JobResult[] = [];
    await runJobs(jobs, navigator.hardwareConcurrency + waitingJobs, folder, (result) => {
      results.push(result);
      const { job, cases, seconds, reports, failureText } = result;
      const failed = cases.filter(({ outcome }) => outcome === "failed").length;
      const line = `${failed > 0 ? "FAILED" : "ok"} ${job.name}: ${cases.length} tests, ${
        seconds.toFixed(1)
      } s`;
      void print(
        `[${results.length}/${jobs.length}] ${line}`,
        ...reports.map((text) => `  ${text}`),
        ...(failed > 0 ? [failureText] : []),
      );
    });
    await print(...summaryLines(results, seed));
    return results.every(({ cases }) => cases.every(({ outcome }) => outcome !== "failed"));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) Deno.exitCode = await main(Deno.args) ? 0 : 1;
