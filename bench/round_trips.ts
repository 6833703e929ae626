/**
 * Goal 8: how often a warm call accesses the store before its upstream gets the request. The gateway runs inside this
 * process, on a store whose round trips are counted.
 */
import { countCalls, openInProcessGateway } from "./in_process_gateway.ts";
import { wholeAnswer } from "./mock_answers.ts";
import type { Row } from "./report.ts";
import type { KeyValueStore } from "../kv/engine/store/key_value_store.ts";

const calls = 50;
/** Keys, leases and routes are in memory after these. */
const warmCalls = 10;

/** Counts every round trip of `kv` from here on. */
function countRoundTrips(kv: KeyValueStore, onCall: () => void): void {
  for (const name of ["get", "getMany", "list", "set", "delete"]) countCalls(kv, name, onCall);
  countCalls(kv, "atomic", (operation) => {
    if (typeof operation === "object" && operation !== null) {
      countCalls(operation, "commit", onCall);
    }
  });
}

export async function roundTripRows(): Promise<Row[]> {
  using kv = await Deno.openKv(":memory:");
  let roundTrips = 0;
  let atUpstream = 0;
  await using upstream = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      atUpstream = roundTrips;
      await request.bytes();
      return new Response(wholeAnswer("chat"), { headers: { "content-type": "application/json" } });
    },
  );
  const seen: number[] = [];
  {
    await using gateway = await openInProcessGateway(
      kv,
      upstream.addr.port,
      () => countRoundTrips(kv, () => void roundTrips++),
    );
    for (let call = 0; call < calls; call++) {
      const before = roundTrips;
      await gateway.call();
      seen.push(atUpstream - before);
    }
  }
  const warm = seen.slice(warmCalls);
  const none = warm.filter((count) => count === 0).length;
  return [{
    goal: 8,
    measure: "store round trips before the first upstream byte",
    seen: `first call ${seen[0]}; ${none} of ${warm.length} warm calls none`,
    // The heartbeat of the instance may fall into a call, so a few in a hundred may show one.
    value: warm.toSorted((a, b) => a - b)[Math.floor(warm.length * 0.9)],
    bar: { firstStep: 0, goal: 0, better: "less", unit: "" },
  }];
}
