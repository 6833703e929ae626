/** Writes `docs/benchmarks.md` and its chart from the recorded runs. */
import { ratiosByCommit } from "./chart.ts";
import { fromFileUrl } from "./paths.ts";
import { type Row, tableOf } from "./report.ts";
import { keepRun, type RecordedRun, recordedRuns } from "./results.ts";

/** Figures beside other gateways and of stores with an archive, kept by hand: measuring them takes hours at full size. */
const archivePart = fromFileUrl("results/archive.md");

function pageOf({ at, commit, machine, deno, effort, rows }: RecordedRun): string {
  return `# Benchmarks

Written by \`deno task bench -- --record\`: the newest recorded run, and how ratios changed by commit.
What is measured, and how, is in [performance.md](performance.md).

- when: ${at}
- commit: \`${commit}\`
- machine: ${machine}
- Deno ${deno}
- run: ${effort}

${tableOf(rows).join("\n")}

${Deno.readTextFileSync(archivePart).trimEnd()}

## By commit

Ratios of all runs in \`bench/results/\`, each within its own run; dashed lines are goals. Runs on
different machines are not comparable in anything else.

![Ratios by commit](benchmarks.svg)
`;
}

/** Keeps the run, and writes page and chart. */
export async function recordRun(
  rows: readonly Row[],
  effort: RecordedRun["effort"],
): Promise<void> {
  const run = await keepRun(rows, effort);
  const page = fromFileUrl("../docs/benchmarks.md");
  await Deno.writeTextFile(page, pageOf(run));
  await Deno.writeTextFile(fromFileUrl("../docs/benchmarks.svg"), ratiosByCommit(recordedRuns()));
  const files = [page, fromFileUrl("results")];
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "--quiet", ...files] }).output();
}
