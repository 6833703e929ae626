/** Prints the counts of a report as a table that can be compared from release to release. */
import type { Row } from "./measure.ts";

const heads = [
  "direction",
  "requests",
  "valid",
  "refused by name",
  "invalid",
  "weighty losses",
  "whole usable",
  "stream usable",
  "stream = whole",
] as const;

/** Formats a table in Markdown, with one line for each direction and one for all. */
export function tableOf(rows: readonly Row[]): string {
  const lines = [
    ...rows.map((row) => cells(`${row.from} → ${row.to}`, row)),
    cells("all", sum(rows)),
  ];
  const widths = heads.map((head, i) =>
    Math.max(head.length, ...lines.map((line) => line[i]?.length ?? 0))
  );
  const line = (texts: readonly string[]) =>
    `| ${texts.map((text, i) => pad(text, widths[i] ?? 0, i > 0)).join(" | ")} |`;
  const rule = `| ${
    widths.map((width, i) => i > 0 ? `${"-".repeat(width - 1)}:` : "-".repeat(width)).join(" | ")
  } |`;
  return [line(heads), rule, ...lines.map(line)].join("\n");
}

function pad(text: string, width: number, right: boolean): string {
  return right ? text.padStart(width) : text.padEnd(width);
}

type Counts = Omit<Row, "from" | "to" | "remarks">;

function cells(direction: string, row: Counts): string[] {
  return [
    direction,
    String(row.requests),
    String(row.valid),
    String(row.refusedByName),
    String(row.invalid),
    String(row.weightyLosses),
    `${row.wholeUsable}/${row.answers}`,
    `${row.streamUsable}/${row.streams}`,
    `${row.streamIsWhole}/${row.comparable}`,
  ];
}

function sum(rows: readonly Row[]): Counts {
  const total = (key: keyof Counts) => rows.reduce((so, row) => so + row[key], 0);
  return {
    requests: total("requests"),
    valid: total("valid"),
    refusedByName: total("refusedByName"),
    invalid: total("invalid"),
    weightyLosses: total("weightyLosses"),
    answers: total("answers"),
    wholeUsable: total("wholeUsable"),
    streams: total("streams"),
    streamUsable: total("streamUsable"),
    comparable: total("comparable"),
    streamIsWhole: total("streamIsWhole"),
  };
}
