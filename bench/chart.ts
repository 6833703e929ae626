/** Draws the ratios of all recorded runs, by commit: a small chart for each measure. */
import type { RecordedRun } from "./results.ts";

/** Sizes in pixels of the picture. */
const chart = { width: 420, height: 120, left: 48, right: 24, top: 28, bottom: 22, columns: 2 };

interface Point {
  readonly commit: string;
  readonly value: number;
}

interface Series {
  readonly measure: string;
  readonly goal: number;
  readonly points: readonly Point[];
}

/** The measures that are ratios, in the order of the newest run. */
function seriesOf(runs: readonly RecordedRun[]): readonly Series[] {
  const newest = runs.at(-1)?.rows ?? [];
  return newest.filter(({ bar }) => bar.unit === "×").flatMap(({ measure, bar }) => {
    const points = runs.flatMap(({ commit, rows }) => {
      const value = rows.find((row) => row.measure === measure)?.value;
      return typeof value === "number" ? [{ commit, value }] : [];
    });
    return points.length === 0 ? [] : [{ measure, goal: bar.goal, points }];
  });
}

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function drawn({ measure, goal, points }: Series): string {
  const { width, height, left, right, top, bottom } = chart;
  const most = Math.max(goal, ...points.map(({ value }) => value)) * 1.1;
  const x = (index: number) =>
    points.length === 1
      ? (left + width - right) / 2
      : left + (index * (width - left - right)) / (points.length - 1);
  const y = (value: number) => height - bottom - (value / most) * (height - top - bottom);
  const text = (atX: number, atY: number, content: string, anchor = "start") =>
    `<text x="${atX.toFixed(1)}" y="${atY.toFixed(1)}" text-anchor="${anchor}">${
      escaped(content)
    }</text>`;
  const line = points.map(({ value }, index) => `${x(index).toFixed(1)},${y(value).toFixed(1)}`);
  const marks = points.map(({ commit, value }, index) =>
    `<circle cx="${x(index).toFixed(1)}" cy="${y(value).toFixed(1)}" r="3">` +
    `<title>${escaped(commit)}: ${value.toFixed(2)}×</title></circle>`
  );
  const last = points.at(-1)!;
  return [
    text(left, 14, `${measure}: ${last.value.toFixed(2)}×`),
    `<line class="goal" x1="${left}" x2="${width - right}" y1="${y(goal).toFixed(1)}" y2="${
      y(goal).toFixed(1)
    }"/>`,
    text(left - 6, y(goal) + 4, `${goal}×`, "end"),
    `<polyline points="${line.join(" ")}"/>`,
    ...marks,
    text(left, height - 6, points[0]!.commit),
    ...points.length === 1 ? [] : [text(width - right, height - 6, last.commit, "end")],
  ].join("\n");
}

/** The picture, as SVG. Dashed lines are goals. */
export function ratiosByCommit(runs: readonly RecordedRun[]): string {
  const series = seriesOf(runs);
  const { width, height, columns } = chart;
  const places = series.map((one, index) =>
    `<g transform="translate(${(index % columns) * width} ${
      Math.floor(index / columns) * height
    })">\n${drawn(one)}\n</g>`
  );
  const size = `${columns * width} ${Math.ceil(series.length / columns) * height}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size}" font-family="sans-serif" font-size="11">
<style>
text { fill: #555 } polyline { fill: none; stroke: #0b6bcb; stroke-width: 2 }
circle { fill: #0b6bcb } .goal { stroke: #999; stroke-dasharray: 4 3 }
</style>
${places.join("\n")}
</svg>
`;
}
