/** The end of a test run: every failure by name, the slowest files, and the count as the last line. */
import type { JobResult } from "./job.ts";
import type { TestCase } from "./test_report.ts";

/** Rows of the table of the slowest files. */
const maxSlowFiles = 20;

/** Lines of a failure that stand beside its name: enough for a difference of two values and the place. */
const maxFailureLines = 12;

/**
 * The seconds and the number of tests of each file, slowest first. A test counts for the file that a job runs alone, also
 * if a support file has registered it.
 */
function slowestFiles(results: readonly JobResult[]): string[] {
  const files = new Map<string, { seconds: number; tests: number }>();
  for (const { job, cases } of results) {
    for (const { file, seconds } of cases) {
      const name = job.parts === undefined ? job.name : file;
      const sum = files.get(name) ?? { seconds: 0, tests: 0 };
      files.set(name, { seconds: sum.seconds + seconds, tests: sum.tests + 1 });
    }
  }
  return [...files].sort(([, one], [, other]) => other.seconds - one.seconds)
    .slice(0, maxSlowFiles)
    .map(([file, { seconds, tests }]) =>
      `${seconds.toFixed(1).padStart(8)} s ${String(tests).padStart(5)} tests  ${file}`
    );
}

/** What is printed at the end of a run; the last line is `N passed, N failed`. */
export function summaryLines(results: readonly JobResult[], seed: number): string[] {
  const cases = results.flatMap(({ cases }) => cases);
  const count = (outcome: TestCase["outcome"]) =>
    cases.filter((test) => test.outcome === outcome).length;
  const failures = results.flatMap(({ job, cases }) =>
    cases.filter(({ outcome }) => outcome === "failed").flatMap(({ file, name, failure = "" }) => [
      `FAILED ${file}: ${name}${file === job.name ? "" : ` (${job.name})`}`,
      ...failure.split("\n").filter((line) => line.trim() !== "").slice(0, maxFailureLines)
        .map((line) => `  ${line}`),
    ])
  );
  const skipped = count("skipped");
  return [
    "",
    "The slowest files:",
    ...slowestFiles(results),
    "",
    ...failures,
    ...(failures.length > 0 ? [`To repeat this run: SEED=${seed}`, ""] : []),
    `${count("passed")} passed, ${count("failed")} failed${
      skipped > 0 ? `, ${skipped} skipped` : ""
    }`,
  ];
}
