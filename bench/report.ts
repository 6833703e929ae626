/** The table of goals, and the same as JSON. */
import { print } from "./print.ts";

export interface Bar {
  readonly firstStep: number | undefined;
  readonly goal: number;
  readonly better: "less" | "more";
  readonly unit: string;
}

export interface Row {
  /** Number of the goal in `docs/performance.md`. */
  readonly goal: number;
  readonly measure: string;
  /** What was seen, in absolute numbers. */
  readonly seen: string;
  /** The number that is held against the bar; undefined = not measured, and `seen` says why. */
  readonly value: number | undefined;
  readonly bar: Bar;
}

export type Verdict = "goal" | "first step" | "missed" | "not measured";

export function verdictOf({ value, bar }: Row): Verdict {
  if (value === undefined || Number.isNaN(value)) return "not measured";
  const passes = (limit: number) => bar.better === "less" ? value <= limit : value >= limit;
  if (passes(bar.goal)) return "goal";
  return bar.firstStep !== undefined && passes(bar.firstStep) ? "first step" : "missed";
}

function show(value: number | undefined, unit: string): string {
  if (value === undefined || Number.isNaN(value)) return "–";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)}${unit}`;
}

function showBar(limit: number | undefined, { better, unit }: Bar): string {
  return limit === undefined ? "–" : `${better === "less" ? "≤" : "≥"} ${limit}${unit}`;
}

export function printReport(rows: readonly Row[]): void {
  const lines = [
    ["#", "measure", "measured", "value", "first step", "goal", "verdict"],
    ...rows.map((row) => [
      String(row.goal),
      row.measure,
      row.seen,
      show(row.value, row.bar.unit),
      showBar(row.bar.firstStep, row.bar),
      showBar(row.bar.goal, row.bar),
      verdictOf(row),
    ]),
  ];
  const widths = lines[0]?.map((_, column) => {
    return Math.max(...lines.map((line) => line[column]?.length ?? 0));
  }) ?? [];
  print();
  for (const [index, line] of lines.entries()) {
    print(`| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`);
    if (index === 0) print(`|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`);
  }
}
