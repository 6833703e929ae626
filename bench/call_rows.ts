/** Goals 1, 2 and 9: calls that are answered whole. */
import { type Effort, inTurns, type JobShape, type Measured } from "./measure.ts";
import type { Row } from "./report.ts";
import type { Setting } from "./setting.ts";

const shape: JobShape = {
  path: "/v1/chat/completions",
  scenario: "bench-json",
  connections: 64,
  promptBytes: 860,
  mode: "repeat",
};

const show = (measured: Measured) =>
  `${measured.cpuMicrosPerCall.toFixed(1)} µs, ${Math.round(measured.callsPerSecond)}/s`;

export async function callRows(setting: Setting, effort: Effort): Promise<Row[]> {
  const raw = { target: setting.raw, shape };
  const gateway = { target: setting.gateway.target, shape };
  const portkey = setting.portkey;
  const measured = await inTurns(effort, { raw, gateway });
  const rows: Row[] = [{
    goal: 1,
    measure: "1 KB JSON, 64 connections: CPU per request / raw",
    seen: `${show(measured.gateway)}; raw ${show(measured.raw)}`,
    value: measured.gateway.cpuMicrosPerCall / measured.raw.cpuMicrosPerCall,
    bar: { firstStep: 1.5, goal: 1, better: "less", unit: "×" },
  }];
  const peer = portkey === undefined
    ? undefined
    : await inTurns(effort, { gateway, portkey: { target: portkey, shape } });
  rows.push({
    goal: 2,
    measure: "requests per second / Portkey",
    seen: peer === undefined
      ? "Portkey is absent (BENCH_PORTKEY_CMD)"
      : `${Math.round(peer.gateway.callsPerSecond)}/s; ${
        Math.round(peer.portkey.callsPerSecond)
      }/s`,
    value: peer && peer.gateway.callsPerSecond / peer.portkey.callsPerSecond,
    bar: { firstStep: 9, goal: 15, better: "more", unit: "×" },
  });
  const large = { ...shape, connections: 16, promptBytes: 100_000 };
  const prompts = await inTurns(effort, {
    raw: { ...raw, shape: large },
    gateway: { ...gateway, shape: large },
  });
  rows.push({
    goal: 9,
    measure: "100 KB prompt, 16 connections",
    seen: `${show(prompts.gateway)}; raw ${show(prompts.raw)}`,
    value: prompts.gateway.callsPerSecond,
    bar: { firstStep: 3_000, goal: 5_000, better: "more", unit: "/s" },
  });
  return rows;
}
