/** The table of goals, and the same as JSON. */
import { print } from "./print.ts";

/**
 * The minimum of its kind on this machine and on the one for which the goals were set. A goal in absolute units depends
 * on both the gateway and the machine; scaled by its floor, on the gateway only.
 */
export interface Floor {
  readonly name: string;
  readonly here: number;
  readonly there: number;
}

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
  /** The measurement in absolute numbers. */
  readonly seen: string;
  /** The number that is compared with the goal; undefined = not measured, and `seen` gives the reason. */
  readonly value: number | undefined;
  readonly bar: Bar;
  /** For goals in absolute units. */
  readonly floor?: Floor;
}

export type Verdict = "goal" | "first step" | "missed" | "not measured";

/** The goal as it is set. */
export function verdictOf({ value, bar }: Row): Verdict {
  if (value === undefined || Number.isNaN(value)) return "not measured";
  const passes = (limit: number) => bar.better === "less" ? value <= limit : value >= limit;
  if (passes(bar.goal)) return "goal";
  return bar.firstStep !== undefined && passes(bar.firstStep) ? "first step" : "missed";
}

/** The goal scaled to this machine; undefined if it is already a ratio. */
export function scaledVerdictOf(row: Row): Verdict | undefined {
  const scaled = scaledBarOf(row);
  return scaled === undefined ? undefined : verdictOf({ ...row, bar: scaled });
}

function scaledBarOf({ bar, floor }: Row): Bar | undefined {
  if (floor === undefined) return undefined;
  const scale = floor.here / floor.there;
  const firstStep = bar.firstStep === undefined ? undefined : bar.firstStep * scale;
  return { ...bar, firstStep, goal: bar.goal * scale };
}

function showScaled(row: Row): string {
  const scaled = scaledBarOf(row);
  if (row.floor === undefined || scaled === undefined) return "–";
  const limit = show(scaled.firstStep, scaled.unit);
  return `${scaledVerdictOf(row)}: ${bound(scaled)} ${limit} (${row.floor.name} ${
    show(row.floor.here, scaled.unit)
  }, there ${show(row.floor.there, scaled.unit)})`;
}

const bound = ({ better }: Bar) => better === "less" ? "≤" : "≥";

function show(value: number | undefined, unit: string): string {
  if (value === undefined || Number.isNaN(value)) return "–";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)}${unit}`;
}

function showBar(limit: number | undefined, bar: Bar): string {
  return limit === undefined ? "–" : `${bound(bar)} ${limit}${bar.unit}`;
}

/** The table in Markdown, a line each, with columns of equal width. */
export function tableOf(rows: readonly Row[]): readonly string[] {
  const lines = [
    ["#", "measure", "measured", "value", "first step", "goal", "verdict", "first step to scale"],
    ...rows.map((row) => [
      String(row.goal),
      row.measure,
      row.seen,
      show(row.value, row.bar.unit),
      showBar(row.bar.firstStep, row.bar),
      showBar(row.bar.goal, row.bar),
      verdictOf(row),
      showScaled(row),
    ]),
  ];
  const widths = lines[0]?.map((_, column) => {
    return Math.max(...lines.map((line) => line[column]?.length ?? 0));
  }) ?? [];
  return lines.flatMap((line, index) => {
    const text = `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
    const rule = `|${widths.map((width) => "-".repeat(width + 2)).join("|")}|`;
    return index === 0 ? [text, rule] : [text];
  });
}

export function printReport(rows: readonly Row[]): void {
  print();
  for (const line of tableOf(rows)) print(line);
}
