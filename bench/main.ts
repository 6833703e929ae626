/**
 * Measures the goals of `docs/performance.md` side by side in one run.
 *
 * `deno task bench -- [quick] [--only=1,3,7] [--growth=RECEIPTS] [--log=CALLS] [--json=FILE] [--record]`, or
 * `--counts` for what one
 * call takes
 *
 * Linux. Everything runs on loopback and in temporary folders.
 */
import { callRows } from "./call_rows.ts";
import { coldStartRows } from "./cold_start.ts";
import { printCallCounts } from "./counts.ts";
import { endpointRows } from "./endpoint_rows.ts";
import { growthRows } from "./growth.ts";
import { logRows } from "./log_rows.ts";
import { efforts } from "./measure.ts";
import { print } from "./print.ts";
import { stolenTicks } from "./process_stats.ts";
import { recordRun } from "./record.ts";
import { printReport, type Row, verdictOf } from "./report.ts";
import { judged } from "./results.ts";
import { roundTripRows } from "./round_trips.ts";
import { openSetting } from "./setting.ts";
import { stopRows } from "./stop_rows.ts";
import { streamRows } from "./stream_rows.ts";
import { walletRows } from "./wallet_rows.ts";
import { workerRows } from "./worker_rows.ts";

interface Choice {
  readonly isQuick: boolean;
  readonly only: ReadonlySet<number> | undefined;
  readonly growthReceipts: number;
  readonly logCalls: number;
  readonly jsonFile: string | undefined;
  /** Keeps the results in the repository, with `docs/benchmarks.md`. */
  readonly isRecorded: boolean;
}

const usage =
  "deno task bench -- [quick] [--only=1,3,7] [--growth=RECEIPTS] [--log=CALLS] [--json=FILE] [--record] | --counts";

function readChoice(args: readonly string[]): Choice | undefined {
  let choice: Choice = {
    isQuick: false,
    only: undefined,
    growthReceipts: 0,
    logCalls: 0,
    jsonFile: undefined,
    isRecorded: false,
  };
  for (const arg of args) {
    const [name, value = ""] = arg.split("=", 2);
    if (arg === "--") continue;
    else if (arg === "--record") choice = { ...choice, isRecorded: true };
    else if (arg === "quick") choice = { ...choice, isQuick: true };
    else if (name === "--only") choice = { ...choice, only: new Set(value.split(",").map(Number)) };
    else if (name === "--growth") choice = { ...choice, growthReceipts: Number(value) };
    else if (name === "--log") choice = { ...choice, logCalls: Number(value) };
    else if (name === "--json") choice = { ...choice, jsonFile: value };
    else return undefined;
  }
  return choice;
}

/** Runs one part; a failure in it must not lose the numbers of the others. */
async function part(rows: Row[], name: string, run: () => Promise<Row[]>): Promise<void> {
  print(name);
  const before = stolenTicks();
  try {
    rows.push(...await run());
  } catch (error) {
    failures.push(`${name}: ${error instanceof Error ? error.message : error}`);
  }
  const after = stolenTicks();
  const passed = after.all - before.all;
  if (passed === 0) return;
  const stolen = (after.stolen - before.stolen) / passed;
  // On a machine that shares its processors, wall-clock times depend on other guests as well.
  print(`  stolen by the host meanwhile: ${(stolen * 100).toFixed(0)} % of the processors`);
}

const failures: string[] = [];

async function measureAll(choice: Choice): Promise<Row[]> {
  const effort = choice.isQuick ? efforts.quick : efforts.full;
  const wants = (...goals: readonly number[]) =>
    choice.only === undefined || goals.some((goal) => choice.only?.has(goal));
  const rows: Row[] = [];
  if (wants(1, 2, 3, 4, 5, 6, 9, 10, 13, 14, 15)) {
    await using setting = await openSetting();
    if (wants(1, 2, 9)) await part(rows, "Calls", () => callRows(setting, effort, wants));
    if (wants(14)) await part(rows, "Endpoints", () => endpointRows(setting, effort));
    if (wants(13)) await part(rows, "Workers", () => workerRows(setting, effort));
    if (wants(3, 4, 5, 6, 10)) {
      await part(rows, "Streams", () => streamRows(setting, effort, wants));
    }
    if (wants(15)) await part(rows, "Stops", () => stopRows(setting, effort));
  }
  if (wants(7)) await part(rows, "Ledger", () => walletRows(effort));
  if (wants(8)) await part(rows, "Store", roundTripRows);
  if (wants(11)) await part(rows, "Growth", () => growthRows(effort, choice.growthReceipts));
  if (wants(12)) await part(rows, "Start", () => coldStartRows(effort));
  if (wants(16)) await part(rows, "Log", () => logRows(choice.logCalls));
  return rows.toSorted((a, b) => a.goal - b.goal);
}

if (Deno.args.includes("--counts")) {
  await printCallCounts();
  Deno.exit();
}
const choice = readChoice(Deno.args);
if (choice === undefined) {
  print(`Usage: ${usage}`);
  Deno.exit(2);
}
print(
  `Deno ${Deno.version.deno}, ${navigator.hardwareConcurrency} cores; CPU is user + system time`,
);
const rows = await measureAll(choice);
printReport(rows);
for (const failure of failures) print(`Could not measure. ${failure}`);
if (choice.jsonFile !== undefined) {
  await Deno.writeTextFile(choice.jsonFile, JSON.stringify(judged(rows), null, 2) + "\n");
}
if (choice.isRecorded) await recordRun(rows, choice.isQuick ? "quick" : "full");
Deno.exit(failures.length > 0 || rows.some((row) => verdictOf(row) === "missed") ? 1 : 0);
