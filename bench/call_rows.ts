/** Goals 1, 2 and 9: calls that do not stream. */
import { type Effort, inTurns, type Measured, wholeCalls } from "./measure.ts";
import { reference } from "./reference.ts";
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
  if (wants(1)) rows.push(await smallRow(setting, effort));
  if (wants(2)) rows.push(await peerRow(setting, effort));
  if (wants(9)) rows.push(await promptRow(setting, effort));
  return rows;
}

async function smallRow(setting: Setting, effort: Effort): Promise<Row> {
  const { raw, gateway } = await inTurns(effort, {
    raw: { target: setting.raw, shape: wholeCalls },
    gateway: { target: setting.gateway.target, shape: wholeCalls },
  });
  return {
    goal: 1,
    measure: "1 KB JSON, 64 connections: CPU per request / raw",
    seen: `${show(gateway)}; raw ${show(raw)}`,
    value: gateway.ratioTo(raw, "cpuMicrosPerCall"),
    bar: { firstStep: 1.5, goal: 1, better: "less", unit: "×" },
  };
}

async function peerRow(setting: Setting, effort: Effort): Promise<Row> {
  const row = {
    goal: 2,
    measure: "requests per second / Portkey",
    bar: { firstStep: 9, goal: 15, better: "more", unit: "×" },
  } as const;
  if (setting.portkey === undefined) {
    return { ...row, seen: "Portkey is absent (BENCH_PORTKEY_CMD)", value: undefined };
  }
  const { gateway, portkey } = await inTurns(effort, {
    gateway: { target: setting.gateway.target, shape: wholeCalls },
    portkey: { target: setting.portkey, shape: wholeCalls },
  });
  return {
    ...row,
    seen: `${show(gateway)}; Portkey ${show(portkey)}`,
    value: gateway.ratioTo(portkey, "callsPerSecond"),
  };
}

async function promptRow(setting: Setting, effort: Effort): Promise<Row> {
  const large = { ...wholeCalls, connections: 16, promptBytes: 100_000 };
  const { raw, gateway } = await inTurns(effort, {
    raw: { target: setting.raw, shape: large },
    gateway: { target: setting.gateway.target, shape: large },
  });
  return {
    goal: 9,
    measure: "100 KB prompt, 16 connections",
    seen: `${show(gateway)}; raw ${show(raw)}`,
    value: gateway.seen("callsPerSecond"),
    bar: { firstStep: 3_000, goal: 5_000, better: "more", unit: "/s" },
    floor: { name: "raw pipe", here: raw.seen("callsPerSecond"), there: reference.largePerSecond },
  };
}
