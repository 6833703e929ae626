/**
 * Measures how long the thread of a process does not come back to its timers. Loaded by `--preload` into the gateway
 * under test; appends the longest of each second to the file that `BENCH_WATCH` names.
 */
import { preciseNowMs } from "./wall_clock.ts";

/** The longest stop of a second. */
export interface Stop {
  /** End of the second, by the clock that all processes share. */
  readonly atMs: number;
  readonly longestMs: number;
}

/** Reads a line of the file. */
export function isStop(value: unknown): value is Stop {
  return typeof value === "object" && value !== null && "atMs" in value && "longestMs" in value;
}

const everyMs = 1;
const reportMs = 1_000;

function watch(file: string): void {
  let beforeMs = preciseNowMs();
  let reportedMs = beforeMs;
  let longestMs = 0;
  const interval = setInterval(() => {
    const nowMs = preciseNowMs();
    longestMs = Math.max(longestMs, nowMs - beforeMs - everyMs);
    beforeMs = nowMs;
    if (nowMs - reportedMs < reportMs) return;
    const stop: Stop = { atMs: nowMs, longestMs };
    Deno.writeTextFileSync(file, JSON.stringify(stop) + "\n", { append: true });
    // What this write took is not the gateway's.
    beforeMs = preciseNowMs();
    reportedMs = nowMs;
    longestMs = 0;
  }, everyMs);
  // Otherwise the preload would not end, and the program would not begin.
  Deno.unrefTimer(interval);
}

const file = Deno.env.get("BENCH_WATCH");
if (file !== undefined) watch(file);
