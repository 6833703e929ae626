/** One process of a test run: started, bounded in time, and reported. */
import { reportMark } from "../support/report.ts";
import { root } from "../repository/source_files.ts";
import { readTestReport, type TestCase } from "./test_report.ts";

/** A process that runs tests. */
export interface Job {
  readonly name: string;
  /** Arguments of `deno`, or another program with its arguments. */
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Places that the job takes, none if it waits for most of its time; "all": nothing else runs beside it. */
  readonly places: number | "all";
  /** About how long it takes; of jobs that could start, the longest does. */
  readonly expectedSeconds?: number;
  /**
   * How its results are read: `junit` from the file of `deno test`; `exit`: the job counts as one test, which fails
   * with an exit code other than 0.
   */
  readonly reports: "junit" | "exit";
  /** Run in its place if the process ends without a report: one file that does not load hides no other. */
  readonly parts?: readonly Job[];
}

/** The end of a job. */
export interface JobResult {
  readonly job: Job;
  readonly cases: readonly TestCase[];
  /** Whether the process itself reported its tests. */
  readonly isReported: boolean;
  readonly seconds: number;
  /** Lines that the process asked to print. */
  readonly reports: readonly string[];
  /** What a reader needs to understand its failures; empty without one. */
  readonly failureText: string;
}

/** Longest time of a job; a hanging one counts as failed. Ten times what the longest takes on two quiet cores. */
const maxJobMs = 40 * 60_000;

/** Lines of a failing job that has no list of errors. */
const maxTailLines = 80;

/** Bytes of one job's output that are kept, from its end. */
const maxOutputBytes = 4 * 1024 * 1024;

async function lastBytes(stream: ReadableStream<Uint8Array>): Promise<string> {
  let chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    length += chunk.length;
    while (chunks.length > 1 && length - (chunks[0]?.length ?? 0) > maxOutputBytes) {
      length -= chunks[0]?.length ?? 0;
      chunks = chunks.slice(1);
    }
  }
  return await new Blob(chunks.map((chunk) => new Uint8Array(chunk))).text();
}

/** The list of errors of `deno test`, or the last lines. */
function failureTextOf(output: string): string {
  const errorsAt = output.search(/^ ERRORS/mu);
  if (errorsAt >= 0) return output.slice(errorsAt);
  return output.split("\n").slice(-maxTailLines).join("\n");
}

/** The lines that a process marked with `tests/support/report.ts`. */
function reportsOf(output: string): string[] {
  return output.split("\n").filter((line) => line.startsWith(reportMark))
    .map((line) => line.slice(reportMark.length));
}

function casesOf(job: Job, report: string, exitCode: number): TestCase[] {
  const whole = (name: string, outcome: TestCase["outcome"]): TestCase => ({
    name,
    file: job.name,
    seconds: 0,
    outcome,
  });
  if (job.reports === "exit") return [whole("the program", exitCode === 0 ? "passed" : "failed")];
  const cases = readTestReport(report);
  if (exitCode === 0) return cases.length > 0 ? cases : [whole("no test was reported", "failed")];
  const hasFailed = cases.some(({ outcome }) => outcome === "failed");
  return hasFailed ? cases : [...cases, whole(`the process ended with ${exitCode}`, "failed")];
}

/** Runs a job to its end; never throws for a failing test. */
export async function runJob(job: Job, folder: string): Promise<JobResult> {
  const startedMs = performance.now();
  const junit = `${folder}/${job.name.replaceAll(/[^\w.-]+/gu, "_")}.xml`;
  const child = new Deno.Command(Deno.execPath(), {
    args: job.reports === "junit" ? [...job.args, `--junit-path=${junit}`] : [...job.args],
    cwd: root,
    env: { NO_COLOR: "1", ...job.env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const timer = setTimeout(() => child.kill("SIGKILL"), maxJobMs);
  const [stdout, stderr, { code }] = await Promise.all([
    lastBytes(child.stdout),
    lastBytes(child.stderr),
    child.status,
  ]);
  clearTimeout(timer);
  const report = job.reports === "junit" ? await Deno.readTextFile(junit).catch(() => "") : "";
  const cases = casesOf(job, report, code);
  const hasFailed = cases.some(({ outcome }) => outcome === "failed");
  return {
    job,
    cases,
    isReported: cases.some(({ file }) => file !== job.name) || job.reports === "exit",
    reports: reportsOf(stdout),
    seconds: (performance.now() - startedMs) / 1_000,
    failureText: hasFailed ? failureTextOf(`${stderr}\n${stdout}`) : "",
  };
}

/** Runs jobs side by side, the longest first, those alone last, at most `places` at once; calls `onEnd` as each ends. */
export async function runJobs(
  jobs: readonly Job[],
  places: number,
  folder: string,
  onEnd: (result: JobResult) => void,
): Promise<void> {
  const isAlone = ({ places }: Job) => places === "all";
  const expected = (job: Job) => isAlone(job) ? -1 : job.expectedSeconds ?? 0;
  const waiting = jobs.toSorted((one, other) => expected(other) - expected(one));
  const running = new Map<Job, Promise<void>>();
  let free = places;
  const fits = (job: Job) =>
    isAlone(job)
      ? running.size === 0
      : placesOf(job, places) <= free && !running.keys().some(isAlone);
  while (waiting.length > 0 || running.size > 0) {
    const next = waiting.findIndex(fits);
    const job = waiting[next];
    if (job === undefined) {
      await Promise.race(running.values());
      continue;
    }
    waiting.splice(next, 1);
    free -= placesOf(job, places);
    const ended = runJob(job, folder).then((result) => {
      running.delete(job);
      free += placesOf(job, places);
      if (result.isReported || job.parts === undefined) onEnd(result);
      else waiting.unshift(...job.parts);
    });
    running.set(job, ended);
  }
}

function placesOf(job: Job, places: number): number {
  return job.places === "all" ? places : Math.min(job.places, places);
}
