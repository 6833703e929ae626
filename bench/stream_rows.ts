/** Goals 3 to 6 and 10: streams. */
import { residentBytes } from "./process_stats.ts";
import { type Effort, inTurns, type JobShape, type Measured, runJob } from "./measure.ts";
import { print } from "./print.ts";
import { reference } from "./reference.ts";
import type { Row } from "./report.ts";
import type { Setting } from "./setting.ts";
import { median } from "./statistics.ts";

/** Streams as fast as the client reads. */
export const burst: JobShape = {
  path: "/v1/chat/completions",
  scenario: "bench-burst",
  connections: 16,
  promptBytes: 860,
  pauseMs: 0,
  mode: "repeat",
};
/** Streams at the pace of a quick model. */
export const paced: JobShape = { ...burst, scenario: "bench-paced", connections: 50 };
const first: JobShape = { ...burst, scenario: "bench-first", connections: 1, pauseMs: 3 };
const converted = (shape: JobShape): JobShape => ({ ...shape, path: "/v1/messages" });

/** Measures the goals for which `wants` is true. */
export async function streamRows(
  setting: Setting,
  effort: Effort,
  wants: (goal: number) => boolean,
): Promise<Row[]> {
  const rows: Row[] = [];
  if (wants(3) || wants(4)) rows.push(...await eventRows(setting, effort));
  if (wants(5)) rows.push(await firstByteRow(setting, effort));
  if (wants(10)) rows.push(await leaveRow(setting));
  if (wants(6)) rows.push(...await openStreamRows(setting, effort));
  return rows.filter(({ goal }) => wants(goal));
}

async function eventRows(setting: Setting, effort: Effort): Promise<Row[]> {
  const pace = await threeWays(setting, effort, paced);
  const speed = await threeWays(setting, effort, burst);
  const kinds = [
    {
      goal: 3,
      kind: "same",
      paceBar: { firstStep: 1.4, goal: 1.15 },
      speedBar: { firstStep: 1, goal: 2.5 },
    },
    {
      goal: 4,
      kind: "converted",
      paceBar: { firstStep: 1.5, goal: 1.3 },
      speedBar: { firstStep: 1, goal: 1.5 },
    },
  ] as const;
  return kinds.flatMap(({ goal, kind, paceBar, speedBar }): Row[] => {
    const name = kind === "same" ? "same style" : "converted";
    const cost = (measured: Measured) => `${measured.seen("cpuMicrosPerEvent").toFixed(1)} µs`;
    const rate = (measured: Measured) => `${Math.round(measured.seen("eventsPerSecond"))}/s`;
    return [{
      goal,
      measure: `stream, ${name}: CPU per paced event / raw`,
      seen: `${cost(pace[kind])}; raw ${cost(pace.raw)}`,
      value: pace[kind].ratioTo(pace.raw, "cpuMicrosPerEvent"),
      bar: { ...paceBar, better: "less", unit: "×" },
    }, {
      goal,
      measure: `stream, ${name}: burst events per second / raw`,
      seen: `${rate(speed[kind])}, ${cost(speed[kind])}; raw ${rate(speed.raw)}, ${
        cost(speed.raw)
      }`,
      value: speed[kind].ratioTo(speed.raw, "eventsPerSecond"),
      bar: { ...speedBar, better: "more", unit: "×" },
    }];
  });
}

function threeWays(setting: Setting, effort: Effort, shape: JobShape) {
  const { target } = setting.gateway;
  return inTurns(effort, {
    raw: { target: setting.raw, shape },
    same: { target, shape },
    converted: { target, shape: converted(shape) },
  });
}

async function firstByteRow(setting: Setting, effort: Effort): Promise<Row> {
  const { direct, raw, gateway } = await inTurns(effort, {
    direct: { target: setting.direct, shape: first },
    raw: { target: setting.raw, shape: first },
    gateway: { target: setting.gateway.target, shape: first },
  });
  return {
    goal: 5,
    measure: "first byte added over raw, one connection, p50",
    seen: `${gateway.seen("firstByteP50Ms").toFixed(3)} ms; raw ${
      raw.seen("firstByteP50Ms").toFixed(3)
    } ms; the mock alone ${direct.seen("firstByteP50Ms").toFixed(3)} ms`,
    value: gateway.addedTo(raw, "firstByteP50Ms"),
    bar: { firstStep: 0.1, goal: 0, better: "less", unit: " ms" },
    floor: {
      name: "the raw pipe's hop",
      here: raw.addedTo(direct, "firstByteP50Ms"),
      there: reference.hopMs,
    },
  };
}

interface OpenStreams {
  readonly restBytes: number;
  readonly peakBytes: number;
  /** Of events while all streams were open. */
  readonly delayP50Ms: number;
  readonly delayP99Ms: number;
  /** Of all events, including the second in which the streams open and the one in which they end. */
  readonly withOpeningP99Ms: number;
  readonly whole: number;
  /** The same streams without a gateway, while all are open. */
  readonly aloneP99Ms: number;
}

/**
 * Measured on a new process, because memory that earlier streams left would hide the cost of a stream; but on a warm
 * one, whose heap has its usual size.
 */
async function openOnce({ gateway, direct }: Setting, connections: number): Promise<OpenStreams> {
  await gateway.stop();
  await gateway.start();
  const { target } = gateway;
  const warming: JobShape = { ...burst, scenario: "bench-json", connections: 64 };
  await runJob({ ...warming, target, seconds: 6, warmSeconds: 0 });
  await runJob({ ...paced, target, seconds: 4, warmSeconds: 0 });
  const restBytes = residentBytes(target.pid);
  const shape: JobShape = { ...burst, scenario: "bench-slow", connections, mode: "hold" };
  const held = await runJob({ ...shape, target, seconds: 8, warmSeconds: 0 });
  const alone = await runJob({ ...shape, target: direct, seconds: 8, warmSeconds: 0 });
  print(
    `  ${connections} slow streams: ${(restBytes / 1e6).toFixed(0)} → ` +
      `${(held.peakResidentBytes / 1e6).toFixed(0)} MB, delay p99 ` +
      `${held.openDelayP99Ms.toFixed(1)} ms while all are open, ${held.delayP99Ms.toFixed(1)} ms ` +
      `with their opening; the mock alone ${alone.openDelayP99Ms.toFixed(1)} ms, ` +
      `${alone.delayP99Ms.toFixed(1)} ms`,
  );
  return {
    restBytes,
    peakBytes: held.peakResidentBytes,
    delayP50Ms: held.openDelayP50Ms,
    delayP99Ms: held.openDelayP99Ms,
    withOpeningP99Ms: held.delayP99Ms,
    whole: held.calls,
    aloneP99Ms: alone.openDelayP99Ms,
  };
}

async function openStreamRows(setting: Setting, effort: Effort): Promise<Row[]> {
  const { openStreams, openRounds } = effort;
  const rounds: OpenStreams[] = [];
  while (rounds.length < openRounds) rounds.push(await openOnce(setting, openStreams));
  const seen = (read: (round: OpenStreams) => number) => median(rounds.map(read));
  const bar = { firstStep: 15, goal: 7, better: "less", unit: " ms" } as const;
  const delayP99Ms = seen((round) => round.delayP99Ms);
  const aloneP99Ms = seen((round) => round.aloneP99Ms);
  return [{
    goal: 6,
    measure: "open slow streams: memory of one",
    seen: `${openStreams} streams, from ${(seen((round) => round.restBytes) / 1e6).toFixed(0)} MB`,
    value: seen((round) => (round.peakBytes - round.restBytes) / openStreams / 1_000),
    bar: { firstStep: 70, goal: 60, better: "less", unit: " KB" },
  }, {
    goal: 6,
    measure: "open slow streams: event delay p99",
    seen: `p50 ${seen((round) => round.delayP50Ms).toFixed(2)} ms, p99 ${
      delayP99Ms.toFixed(1)
    } ms; with their opening ${
      seen((round) => round.withOpeningP99Ms).toFixed(1)
    } ms; the mock alone ${aloneP99Ms.toFixed(1)} ms; ${
      Math.min(...rounds.map(({ whole }) => whole))
    } of ${openStreams} whole`,
    // If events are later than the goal even without a gateway, the machine is the limit.
    value: aloneP99Ms > bar.firstStep ? undefined : delayP99Ms,
    bar,
  }];
}

async function leaveRow({ gateway: { target }, mock }: Setting): Promise<Row> {
  const shape: JobShape = { ...burst, scenario: "bench-endless", connections: 20, mode: "leave" };
  const { leftMs } = await runJob({ ...shape, target, seconds: 2, warmSeconds: 0 });
  const { runningStreams, lastLeftMs } = await untilLeft(mock.port);
  return {
    goal: 10,
    measure: "client gone → upstream closed",
    seen: `20 streams, ${runningStreams} still running`,
    value: runningStreams > 0 ? Infinity : lastLeftMs - leftMs,
    bar: { firstStep: 200, goal: 50, better: "less", unit: " ms" },
  };
}

/** The view of the mock upstream when its streams were left, or after three seconds. */
async function untilLeft(
  port: number,
): Promise<{ readonly runningStreams: number; readonly lastLeftMs: number }> {
  for (let tries = 1;; tries++) {
    const control = await (await fetch(`http://127.0.0.1:${port}/control`)).json();
    if (control.runningStreams === 0 || tries === 30) return control;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
