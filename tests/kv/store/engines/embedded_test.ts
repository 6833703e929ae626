import { testEngine } from "./conformance.ts";

testEngine("embedded engine", async () => {
  const kv = await Deno.openKv(":memory:");
  return {
    clients: [kv],
    [Symbol.asyncDispose]() {
      kv.close();
      return Promise.resolve();
    },
  };
});
