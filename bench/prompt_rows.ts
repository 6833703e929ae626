/** Goal 9: calls with large prompts, as agents send them each turn. */
import { type Effort, inTurns, type JobShape, wholeCalls } from "./measure.ts";
import type { Row } from "./report.ts";
import type { Setting } from "./setting.ts";

/** A prompt as an agent sends it after some turns. */
export const largePrompt: JobShape = { ...wholeCalls, promptBytes: 100_000, connections: 16 };

const prompts = [
  { name: "100 KB", shape: largePrompt },
  { name: "1 MB", shape: { ...wholeCalls, promptBytes: 1_000_000, connections: 4 } },
] as const;

/** Measures goal 9. */
export async function promptRows(setting: Setting, effort: Effort): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { name, shape } of prompts) {
    const measured = await inTurns(effort, {
      raw: { target: setting.raw, shape },
      gateway: { target: setting.gateway.target, shape },
    });
    const show = (target: "raw" | "gateway") =>
      `${measured[target].seen("cpuMicrosPerCall").toFixed(0)} µs, ${
        Math.round(measured[target].seen("callsPerSecond"))
      }/s`;
    rows.push({
      goal: 9,
      measure: `${name} prompt, ${shape.connections} connections: calls per second / raw`,
      seen: `${show("gateway")}; raw ${show("raw")}`,
      value: measured.gateway.ratioTo(measured.raw, "callsPerSecond"),
      bar: { firstStep: 0.9, goal: 1.3, better: "more", unit: "×" },
    });
  }
  return rows;
}
