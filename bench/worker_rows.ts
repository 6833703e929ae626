/** Goal 13: what serving on two threads costs a call, beside one thread. Both gateways may use every core. */
import { cores } from "./child.ts";
import { BenchGateway } from "./gateway.ts";
import { type Effort, inTurns, wholeCalls } from "./measure.ts";
import type { Row } from "./report.ts";
import type { Setting } from "./setting.ts";

/** Measures goal 13. */
export async function workerRows({ mock }: Setting, effort: Effort): Promise<Row[]> {
  await using one = await BenchGateway.prepare(mock.port, { core: cores.all });
  await using two = await BenchGateway.prepare(mock.port, { core: cores.all, workers: 2 });
  await one.start();
  await two.start();
  const measured = await inTurns(effort, {
    one: { target: one.target, shape: wholeCalls },
    two: { target: two.target, shape: wholeCalls },
  });
  const show = (name: "one" | "two") =>
    `${measured[name].seen("cpuMicrosPerCall").toFixed(1)} µs, ${
      Math.round(measured[name].seen("callsPerSecond"))
    }/s`;
  return [{
    goal: 13,
    measure: "two workers: calls per CPU second / one",
    seen: `two ${show("two")}; one ${show("one")}`,
    value: measured.one.ratioTo(measured.two, "cpuMicrosPerCall"),
    bar: { firstStep: 0.8, goal: 0.9, better: "more", unit: "×" },
  }];
}
