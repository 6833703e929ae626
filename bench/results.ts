/** Results that are kept in `bench/results/`, one file per recorded run. */
import { fromFileUrl } from "./paths.ts";
import { type Row, scaledVerdictOf, type Verdict, verdictOf } from "./report.ts";

/** A row with its verdicts. */
export interface JudgedRow extends Row {
  readonly verdict: Verdict;
  readonly scaledVerdict?: Verdict | undefined;
}

/** A recorded run. */
export interface RecordedRun {
  /** `2026-11-23T21:30:00Z` */
  readonly at: string;
  readonly commit: string;
  readonly machine: string;
  readonly deno: string;
  /** `quick` runs are short: their numbers are not for quoting. */
  readonly effort: "quick" | "full";
  readonly rows: readonly JudgedRow[];
}

const folder = fromFileUrl("results");

function firstMatch(file: string, pattern: RegExp): string | undefined {
  return pattern.exec(Deno.readTextFileSync(file))?.[1]?.trim();
}

function machineOf(): string {
  const processor = firstMatch("/proc/cpuinfo", /^model name\s*:(.*)$/m) ?? Deno.build.arch;
  const kilobytes = Number(firstMatch("/proc/meminfo", /^MemTotal:\s+(\d+) kB$/m) ?? 0);
  const gigabytes = Math.round(kilobytes / 1024 / 1024);
  return `${navigator.hardwareConcurrency} cores of ${processor}, ${gigabytes} GB`;
}

function commitOf(): string {
  const { stdout } = new Deno.Command("git", {
    args: ["describe", "--always", "--dirty", "--abbrev=8"],
    cwd: fromFileUrl(".."),
  }).outputSync();
  return new TextDecoder().decode(stdout).trim();
}

/** Adds the verdicts to rows. */
export function judged(rows: readonly Row[]): readonly JudgedRow[] {
  return rows.map((row) => {
    return { ...row, verdict: verdictOf(row), scaledVerdict: scaledVerdictOf(row) };
  });
}

/** Keeps a run in a file of its own, and returns it. */
export async function keepRun(
  rows: readonly Row[],
  effort: RecordedRun["effort"],
): Promise<RecordedRun> {
  const run: RecordedRun = {
    at: new Date().toISOString().replace(/\.\d+Z$/, "Z"),
    commit: commitOf(),
    machine: machineOf(),
    deno: Deno.version.deno,
    effort,
    rows: judged(rows),
  };
  await Deno.mkdir(folder, { recursive: true });
  const name = `${run.at.slice(0, 16).replace(":", "")}-${run.commit}.json`;
  await Deno.writeTextFile(`${folder}/${name}`, JSON.stringify(run, null, 2) + "\n");
  return run;
}

/** All recorded runs, the oldest first. */
export function recordedRuns(): readonly RecordedRun[] {
  const names = Array.from(Deno.readDirSync(folder), ({ name }) => name);
  return names.filter((name) => name.endsWith(".json")).toSorted()
    .map((name) => JSON.parse(Deno.readTextFileSync(`${folder}/${name}`)) as RecordedRun);
}
