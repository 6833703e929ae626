/**
 * Goal 2: other gateways, and nginx as a pipe, with the mock upstream as their provider. The benchmark installs none:
 * the file that `BENCH_PEERS` names lists them, and `docs/performance.md` has it for those that are known.
 */
import { freePort } from "../tests/support/servers/free_port.ts";
import { cores, lastDescendant, Server, untilAccepts } from "./child.ts";
import type { Target } from "./load_job.ts";
import {
  type Effort,
  inTurns,
  type JobShape,
  type Measured,
  type Reading,
  wholeCalls,
} from "./measure.ts";
import { startNginx } from "./nginx.ts";
import { residentBytes } from "./process_stats.ts";
import { largePrompt } from "./prompt_rows.ts";
import type { Bar, Row } from "./report.ts";
import type { Setting } from "./setting.ts";
import type { StartedPeer } from "./started_peer.ts";
import { burst, paced } from "./stream_rows.ts";

/** A gateway of the file; `{port}` and `{upstream}`, the base address of the provider, are replaced in its texts. */
interface ListedPeer {
  readonly name: string;
  /** A command of the shell that serves at `{port}`. */
  readonly command: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Name that it takes in the place of all models of the benchmark. */
  readonly model?: string;
}

interface PeerShape {
  readonly name: string;
  readonly shape: JobShape;
}

const wholeShape: PeerShape = { name: "1 KB JSON, 64 connections", shape: wholeCalls };
const shapes: readonly PeerShape[] = [
  wholeShape,
  { name: "200 events at once, 16 connections", shape: burst },
  { name: "200 paced events, 50 connections", shape: paced },
  { name: "100 KB prompt, 16 connections", shape: largePrompt },
];

const atMost = (goal: number): Bar => ({ firstStep: undefined, goal, better: "less", unit: "×" });

/** Goals of CPU a call, by peer and shape; where none was set, to take no more than the peer. */
const goals: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  Rolter: { [wholeShape.name]: 0.8, "200 events at once, 16 connections": 0.5 },
  "nginx as a pipe": { [wholeShape.name]: 2 },
};

/** Peers whose goal is in calls per second. */
const callGoals: Readonly<Record<string, Bar>> = {
  Portkey: { firstStep: 9, goal: 15, better: "more", unit: "×" },
  LiteLLM: { firstStep: 50, goal: 100, better: "more", unit: "×" },
};

async function startListed(peer: ListedPeer, upstreamPort: number): Promise<StartedPeer> {
  const port = freePort();
  const filled = (text: string) =>
    text.replaceAll("{port}", String(port))
      .replaceAll("{upstream}", `http://127.0.0.1:${upstreamPort}`);
  const server = await Server.start({
    command: ["sh", "-c", `echo ready ${port}; ${filled(peer.command)}`],
    core: cores.measured,
    isQuiet: true,
  });
  await untilAccepts(port);
  const headers = Object.entries(peer.headers ?? {})
    .map(([name, value]) => [name, filled(value)] as const);
  const { model } = peer;
  const target = { url: `http://127.0.0.1:${port}`, pid: lastDescendant(server.pid), headers };
  return { server, target: model === undefined ? target : { ...target, model } };
}

function listedPeers(): readonly ListedPeer[] {
  const file = Deno.env.get("BENCH_PEERS");
  return file === undefined ? [] : JSON.parse(Deno.readTextFileSync(file));
}

const show = (measured: Measured, target: Target, restBytes: number) =>
  `${measured.seen("cpuMicrosPerCall").toFixed(1)} µs, ${
    Math.round(measured.seen("callsPerSecond"))
  }/s, p99 ${measured.seen("callP99Ms").toFixed(1)} ms, ` +
  `${megabytes(restBytes)} → ${megabytes(residentBytes(target.pid))} MB`;

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(0);

/** Measures the gateway and a peer in turns that only these two have: a third, slow one would heat or idle the core. */
async function rowsBeside(
  { gateway: { target } }: Setting,
  effort: Effort,
  { name, peer, some }: {
    readonly name: string;
    readonly peer: Target;
    readonly some: readonly PeerShape[];
  },
): Promise<Row[]> {
  const rows: Row[] = [];
  const rest = { own: residentBytes(target.pid), peer: residentBytes(peer.pid) };
  for (const { name: what, shape } of some) {
    const measured = await inTurns(effort, {
      gateway: { target, shape },
      peer: { target: peer, shape },
    });
    const row = (reading: Reading, unit: string, bar: Bar): Row => ({
      goal: 2,
      measure: `${what}: ${unit} / ${name}`,
      seen: `${show(measured.gateway, target, rest.own)}; ${name} ${
        show(measured.peer, peer, rest.peer)
      }`,
      value: measured.gateway.ratioTo(measured.peer, reading),
      bar,
    });
    const calls = what === wholeShape.name ? callGoals[name] : undefined;
    rows.push(
      calls === undefined
        ? row("cpuMicrosPerCall", "CPU per call", atMost(goals[name]?.[what] ?? 1))
        : row("callsPerSecond", "calls per second", calls),
    );
  }
  return rows;
}

/** Measures goal 2 beside each peer, which runs meanwhile and no longer. */
export async function peerRows(setting: Setting, effort: Effort): Promise<Row[]> {
  const rows: Row[] = [];
  const upstreamPort = setting.mock.port;
  const beside = async (name: string, some: readonly PeerShape[], started: StartedPeer) => {
    await using _running = started.server;
    rows.push(...await rowsBeside(setting, effort, { name, peer: started.target, some }));
  };
  const absent = (name: string, reason: string): Row => ({
    goal: 2,
    measure: `${wholeShape.name}: CPU per call / ${name}`,
    seen: `${name} is absent (${reason})`,
    value: undefined,
    bar: atMost(goals[name]?.[wholeShape.name] ?? 1),
  });
  const nginx = await startNginx(upstreamPort);
  const pipe = "nginx as a pipe";
  if (nginx === undefined) rows.push(absent(pipe, "apt-get install nginx"));
  else await beside(pipe, [wholeShape], nginx);
  const listed = listedPeers();
  if (listed.length === 0) rows.push(absent("other gateways", "BENCH_PEERS"));
  for (const peer of listed) {
    await beside(peer.name, shapes, await startListed(peer, upstreamPort));
  }
  return rows;
}
