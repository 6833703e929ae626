/** Goal 11: the same calls on a store with years of data. */
import { cores, denoCommand, output, Server } from "./child.ts";
import { BenchGateway } from "./gateway.ts";
import { type Effort, inTurns, wholeCalls } from "./measure.ts";
import { print } from "./print.ts";
import type { Row } from "./report.ts";

const measure = "grown store / fresh store, CPU per request";
const bar = { firstStep: undefined, goal: 1.1, better: "less", unit: "×" } as const;

export async function growthRows(effort: Effort, receipts: number): Promise<Row[]> {
  if (receipts === 0) {
    return [{ goal: 11, measure, seen: "ask for it: --growth=10000000", value: undefined, bar }];
  }
  await using mock = await Server.start({
    command: denoCommand("mock_upstream.ts"),
    core: cores.around,
  });
  await using fresh = await BenchGateway.prepare(mock.port);
  await using grown = await BenchGateway.prepare(mock.port);
  print(`  growing a store by ${receipts} receipts`);
  await output({
    command: denoCommand("grow_store.ts", grown.storePath, String(receipts)),
    core: cores.measured,
  });
  await fresh.start();
  await grown.start();
  const measured = await inTurns(effort, {
    fresh: { target: fresh.target, shape: wholeCalls },
    grown: { target: grown.target, shape: wholeCalls },
  });
  const { size } = await Deno.stat(grown.storePath);
  return [{
    goal: 11,
    measure,
    seen: `${receipts} receipts, ${(size / 1e6).toFixed(0)} MB; ` +
      `${measured.grown.seen("cpuMicrosPerCall").toFixed(1)} µs, ${
        measured.fresh.seen("cpuMicrosPerCall").toFixed(1)
      } µs`,
    value: measured.grown.ratioTo(measured.fresh, "cpuMicrosPerCall"),
    bar,
  }];
}
