/** Lines that a test run prints although its tests pass: versions of programs, counts of calls. */

/** The beginning by which `tests/run/` knows such a line in the output of a process. */
export const reportMark = "report: ";

/** Prints a line that the run passes on. */
export function report(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${reportMark}${line}\n`));
}
