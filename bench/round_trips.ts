/**
 * Goal 8: how often a warm call accesses the store before its upstream gets the request. The gateway runs inside this
 * process, on a store whose round trips are counted.
 */
import { systemClock } from "../core/lib/time/clock.ts";
import { readConfig } from "../core/config/config.ts";
import { newMasterKey, readMasterKeys } from "../core/api_keys/seal.ts";
import { fromVnd } from "../core/billing/micro_vnd.ts";
import { createAccount } from "../kv/accounts/accounts.ts";
import { createApiKey } from "../kv/api_keys/api_key_changes.ts";
import { credit } from "../kv/ledger/ledger.ts";
import { createApp } from "../routes/app.ts";
import { assemble } from "../routes/server/assemble.ts";
import { configuration } from "./gateway.ts";
import { wholeAnswer } from "./mock_answers.ts";
import type { Row } from "./report.ts";
import type { KeyValueStore } from "../kv/store/key_value_store.ts";

const calls = 50;
/** Keys, leases and routes are in memory after these. */
const warmCalls = 10;

function countCalls(target: object, name: string, onCall: (result: unknown) => void): void {
  const method: unknown = Reflect.get(target, name);
  if (typeof method !== "function") throw new TypeError(`No method ${name}`);
  Reflect.set(target, name, (...args: unknown[]) => {
    const result: unknown = method.apply(target, args);
    onCall(result);
    return result;
  });
}

/** Counts every round trip of `kv` from here on. */
function countRoundTrips(kv: KeyValueStore): () => number {
  let count = 0;
  const onCall = () => void count++;
  for (const name of ["get", "getMany", "list", "set", "delete"]) countCalls(kv, name, onCall);
  countCalls(kv, "atomic", (operation) => {
    if (typeof operation === "object" && operation !== null) {
      countCalls(operation, "commit", onCall);
    }
  });
  return () => count;
}

async function makeKey(kv: KeyValueStore, nowMs: number): Promise<string> {
  const masterKeys = await readMasterKeys(newMasterKey());
  const account = await createAccount(kv, { nowMs, email: "bench@example.invalid" });
  await credit(kv, {
    accountId: account.id,
    amountMicroVnd: fromVnd(1_000_000_000),
    kind: "demo",
    operationId: "bench",
    reason: "bench",
    atMs: nowMs,
  });
  const made = await createApiKey(kv, masterKeys, account.id, { name: "bench", nowMs });
  if (!made.ok) throw new Error("No key");
  return made.secret;
}

export async function roundTripRows(): Promise<Row[]> {
  using kv = await Deno.openKv(":memory:");
  const secret = await makeKey(kv, Date.now());
  const roundTrips = countRoundTrips(kv);
  let atUpstream = 0;
  await using upstream = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      atUpstream = roundTrips();
      await request.bytes();
      return new Response(wholeAnswer("chat"), { headers: { "content-type": "application/json" } });
    },
  );
  const read = readConfig({ BENCH_PROVIDER_KEY: "bench" }, configuration(upstream.addr.port));
  if (!read.ok) throw new Error(read.problems.join("\n"));
  const assembled = await assemble(read.config, kv, {
    clock: systemClock,
    random: Math.random,
    write: () => {},
  });
  const app = createApp(assembled.gateway, { stopping: () => false });
  const seen: number[] = [];
  for (let call = 0; call < calls; call++) {
    const before = roundTrips();
    const answer = await app.fetch(
      new Request("http://gateway.invalid/v1/chat/completions", {
        method: "POST",
        headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
        body: JSON.stringify({
          model: "bench-json",
          max_tokens: 100,
          messages: [{ role: "user", content: "Hello!" }],
        }),
      }),
      { clientAddress: "127.0.0.1" },
    );
    await answer.bytes();
    if (answer.status !== 200) throw new Error(`status ${answer.status}`);
    seen.push(atUpstream - before);
  }
  await assembled.close();
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
