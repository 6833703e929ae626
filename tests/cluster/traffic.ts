/** Clients that call one gateway after the other until they are stopped. */
import { sleep } from "../../core/lib/time/sleep.ts";
import type { ClientLedger } from "./client_ledger.ts";
import type { Cluster } from "./cluster.ts";
import { sdkCall, type Sdks, sdksFor } from "./sdk_calls.ts";

/** Milliseconds between two calls of a client: leaves the two cores of a small machine to the gateways. */
const pauseMs = 10;
/** Milliseconds after a failed call, as a client with backoff waits. */
const afterFailureMs = 50;

export interface Traffic {
  /** Lets the calls under way end. */
  stop(): Promise<void>;
}

export interface TrafficOptions {
  readonly clients: number;
  /** The next gateway for a client, or `undefined` to wait; round-robin by default. */
  readonly choose?: (number: number) => number | undefined;
}

/** Most calls under way at once of an open rate: those of a minute of outage. */
const maxOpenCalls = 2_000;

/** Calls at a rate, whether or not earlier ones have ended, as from many customers. */
export function startOpenTraffic(
  cluster: Cluster,
  ledger: ClientLedger,
  key: string,
  { callsPerSecond }: { readonly callsPerSecond: number },
): Traffic {
  let isOver = false;
  const sdks: Sdks[] = cluster.gateways.map((_, at) => sdksFor(cluster.address(at), key));
  const underWay = new Set<Promise<unknown>>();
  const running = (async () => {
    const beganMs = performance.now();
    for (let number = 0; !isOver; number++) {
      if (underWay.size < maxOpenCalls) {
        const call = ledger.record(() => sdkCall(sdks[number % sdks.length]!, number));
        underWay.add(call);
        call.finally(() => underWay.delete(call));
      }
      // From the start, so that a slow turn is made up for.
      const nextMs = beganMs + (number + 1) * 1_000 / callsPerSecond;
      await sleep(Math.max(0, nextMs - performance.now()));
    }
    await Promise.all(underWay);
  })();
  return {
    async stop() {
      isOver = true;
      await running;
    },
  };
}

/** Starts clients that share one key. */
export function startTraffic(
  cluster: Cluster,
  ledger: ClientLedger,
  key: string,
  { clients, choose = (number) => number % cluster.gateways.length }: TrafficOptions,
): Traffic {
  let isOver = false;
  const sdks: Sdks[] = cluster.gateways.map((_, at) => sdksFor(cluster.address(at), key));
  const running = Array.from({ length: clients }, async (_, client) => {
    for (let number = client; !isOver; number++) {
      const at = choose(number);
      const failed = at === undefined
        ? "waiting"
        : await ledger.record(() => sdkCall(sdks[at]!, number));
      await sleep(failed === undefined ? pauseMs : afterFailureMs);
    }
  });
  return {
    async stop() {
      isOver = true;
      await Promise.all(running);
    },
  };
}
