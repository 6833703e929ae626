import { testEngine } from "./conformance.ts";

// The runtime sweeps once a minute.
testEngine("embedded engine", { expiryLagMs: 100_000 }, async () => {
  const kv = await Deno.openKv(":memory:");
  return {
    clients: [kv],
    [Symbol.asyncDispose]() {
      kv.close();
      return Promise.resolve();
    },
  };
});
