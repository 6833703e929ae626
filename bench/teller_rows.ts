/** Goal 7: durable debits, by `teller.ts` in a process of its own. */
import { cores, denoCommand, output } from "./child.ts";
import type { Effort } from "./measure.ts";
import { print } from "./print.ts";
import type { Row } from "./report.ts";

interface TellerLine {
  readonly wallets: number;
  readonly inFlight: number;
  readonly debitsPerSecond: number;
  readonly p99Ms: number;
}

export async function tellerRows(effort: Effort): Promise<Row[]> {
  const text = await output({
    command: denoCommand("teller.ts", String(2 * effort.seconds)),
    core: cores.measured,
  });
  const lines: TellerLine[] = text.trim().split("\n").map((line) => JSON.parse(line));
  const rows: Row[] = [];
  for (const { wallets, inFlight, debitsPerSecond, p99Ms } of lines) {
    print(
      `  teller, ${wallets} wallets, ${inFlight} in flight: ${debitsPerSecond}/s, p99 ${p99Ms} ms`,
    );
    if (inFlight !== 64) continue;
    const measure = `durable debits, 64 in flight, ${wallets} ${
      wallets === 1 ? "wallet" : "wallets"
    }`;
    rows.push({
      goal: 7,
      measure: `${measure}: per second`,
      seen: `${debitsPerSecond}/s`,
      value: debitsPerSecond,
      bar: { firstStep: 20_000, goal: 50_000, better: "more", unit: "/s" },
    }, {
      goal: 7,
      measure: `${measure}: p99`,
      seen: `${p99Ms} ms`,
      value: p99Ms,
      bar: { firstStep: 10, goal: 3, better: "less", unit: " ms" },
    });
  }
  return rows;
}
