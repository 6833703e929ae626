/** Other gateways, and nginx as a pipe, where they are installed: the benchmark installs nothing. */
import { startLiteLlm } from "./litellm.ts";
import { startNginx } from "./nginx.ts";
import { startPortkey } from "./portkey.ts";
import type { Bar } from "./report.ts";
import type { StartedPeer } from "./started_peer.ts";

/** A peer, and what is compared with it. */
export interface Peer {
  readonly name: string;
  /** Undefined where it is absent. */
  readonly started: StartedPeer | undefined;
  /** Way to provide it. */
  readonly howToProvide: string;
  readonly compared: "callsPerSecond" | "cpuMicrosPerCall";
  readonly bar: Bar;
}

/** Starts every peer that is there, each with the mock upstream as its provider. */
export async function startPeers(upstreamPort: number): Promise<readonly Peer[]> {
  return [{
    name: "Portkey",
    started: await startPortkey(upstreamPort),
    howToProvide: "BENCH_PORTKEY_CMD",
    compared: "callsPerSecond",
    bar: { firstStep: 9, goal: 15, better: "more", unit: "×" },
  }, {
    name: "LiteLLM",
    started: await startLiteLlm(upstreamPort),
    howToProvide: "BENCH_LITELLM_CMD",
    compared: "callsPerSecond",
    bar: { firstStep: 50, goal: 100, better: "more", unit: "×" },
  }, {
    name: "nginx as a pipe",
    started: await startNginx(upstreamPort),
    howToProvide: "apt-get install nginx",
    compared: "cpuMicrosPerCall",
    bar: { firstStep: undefined, goal: 2, better: "less", unit: "×" },
  }];
}
