/** Goal 15: how long the serving thread stops while many streams are open. */
import { BenchGateway } from "./gateway.ts";
import { type Effort, type JobShape, runJob, wholeCalls } from "./measure.ts";
import { print } from "./print.ts";
import type { Row } from "./report.ts";
import type { Setting } from "./setting.ts";
import { isStop } from "./stop_watch.ts";
import { median, quantile } from "./statistics.ts";

const openStreams = 2_000;

const shape: JobShape = {
  ...wholeCalls,
  scenario: "bench-sparse",
  connections: openStreams,
  mode: "hold",
};

/** The longest stops of the seconds in which all streams were open. */
async function stopsOnce(mockPort: number): Promise<readonly number[]> {
  await using gateway = await BenchGateway.prepare(mockPort, { watch: "stop_watch.ts" });
  await gateway.start();
  const { target } = gateway;
  await runJob({ ...wholeCalls, target, seconds: 6, warmSeconds: 0 });
  const held = await runJob({ ...shape, target, seconds: 8, warmSeconds: 0 });
  const open = gateway.watched().filter(isStop).filter(({ atMs }) =>
    atMs - 1_000 >= held.openFromMs && atMs <= held.openToMs
  );
  const stopsMs = open.map(({ longestMs }) => longestMs);
  print(
    `  ${held.calls} of ${openStreams} streams whole; longest stops by second: ` +
      stopsMs.map((ms) => ms.toFixed(1)).join(", "),
  );
  if (held.calls < openStreams) throw new Error(`${openStreams - held.calls} streams failed`);
  return stopsMs;
}

/** Measures the goal, each round on a new process. */
export async function stopRows({ mock }: Setting, effort: Effort): Promise<Row[]> {
  const rounds: (readonly number[])[] = [];
  while (rounds.length < effort.openRounds) rounds.push(await stopsOnce(mock.port));
  const all = rounds.flat();
  return [{
    goal: 15,
    measure: `${openStreams} open streams: longest stop of the thread`,
    seen: `${all.length} seconds: half of them up to ${quantile(all, 0.5).toFixed(1)} ms`,
    value: all.length === 0 ? undefined : median(rounds.map((stopsMs) => Math.max(...stopsMs))),
    bar: { firstStep: 20, goal: 10, better: "less", unit: " ms" },
  }];
}
