/** Goal 7: durable debits, by `wallet_engine.ts` in a process of its own. */
import { cores, denoCommand, output } from "./child.ts";
import type { Effort } from "./measure.ts";
import { print } from "./print.ts";
import { reference } from "./reference.ts";
import type { Row } from "./report.ts";

/** The output of `wallet_engine.ts`: first the floor, then a line per run. */
interface FloorLine {
  readonly commitsPerSecond: number;
  readonly p50Ms: number;
}

interface WalletLine {
  readonly wallets: number;
  readonly inFlight: number;
  readonly debitsPerSecond: number;
  readonly p99Ms: number;
}

export async function walletRows(effort: Effort): Promise<Row[]> {
  const text = await output({
    command: denoCommand("wallet_engine.ts", String(2 * effort.seconds)),
    core: cores.measured,
  });
  const [floorText = "{}", ...texts] = text.trim().split("\n");
  const floor: FloorLine = JSON.parse(floorText);
  const lines: WalletLine[] = texts.map((line) => JSON.parse(line));
  print(`  commits of one row, 64 in flight: ${floor.commitsPerSecond}/s, p50 ${floor.p50Ms} ms`);
  const rows: Row[] = [];
  for (const { wallets, inFlight, debitsPerSecond, p99Ms } of lines) {
    print(
      `  wallet engine, ${wallets} wallets, ${inFlight} in flight: ${debitsPerSecond}/s, p99 ${p99Ms} ms`,
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
      floor: {
        name: "commits of one row",
        here: floor.commitsPerSecond,
        there: reference.commitsPerSecond,
      },
    }, {
      goal: 7,
      measure: `${measure}: p99`,
      seen: `${p99Ms} ms`,
      value: p99Ms,
      bar: { firstStep: 10, goal: 3, better: "less", unit: " ms" },
      floor: { name: "their median", here: floor.p50Ms, there: reference.commitP50Ms },
    });
  }
  return rows;
}
