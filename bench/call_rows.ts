/** Goals 1, 2 and 9: calls that do not stream. */
import { type Effort, inTurns, type Measured, wholeCalls } from "./measure.ts";
import { peerRows } from "./peers.ts";
import { promptRows } from "./prompt_rows.ts";
import type { Row } from "./report.ts";
import type { Setting } from "./setting.ts";

const show = (measured: Measured) =>
  `${measured.seen("cpuMicrosPerCall").toFixed(1)} µs, ${
    Math.round(measured.seen("callsPerSecond"))
  }/s`;

/** Measures the goals for which `wants` is true. */
export async function callRows(
  setting: Setting,
  effort: Effort,
  wants: (goal: number) => boolean,
): Promise<Row[]> {
  const rows: Row[] = [];
  if (wants(1)) rows.push(...await smallRows(setting, effort));
  if (wants(2)) rows.push(...await peerRows(setting, effort));
  if (wants(9)) rows.push(...await promptRows(setting, effort));
  return rows;
}

async function smallRows(setting: Setting, effort: Effort): Promise<Row[]> {
  const { target } = setting.gateway;
  const { raw, gateway, converted } = await inTurns(effort, {
    raw: { target: setting.raw, shape: wholeCalls },
    gateway: { target, shape: wholeCalls },
    converted: { target, shape: { ...wholeCalls, path: "/v1/messages" } },
  });
  return [{
    goal: 1,
    measure: "1 KB JSON, 64 connections: CPU per request / raw",
    seen: `${show(gateway)}; raw ${show(raw)}`,
    value: gateway.ratioTo(raw, "cpuMicrosPerCall"),
    bar: { firstStep: 1.5, goal: 0.6, better: "less", unit: "×" },
  }, {
    goal: 1,
    measure: "the same, converted",
    seen: `${show(converted)}; raw ${show(raw)}`,
    value: converted.ratioTo(raw, "cpuMicrosPerCall"),
    bar: { firstStep: 2, goal: 0.9, better: "less", unit: "×" },
  }];
}
