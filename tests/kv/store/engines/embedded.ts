/** The embedded engine, for the tests of all engines. */
import type { TestStore } from "./conformance.ts";

/** Opens a store in memory. */
export async function openEmbedded(): Promise<TestStore> {
  const kv = await Deno.openKv(":memory:");
  return {
    clients: [kv],
    [Symbol.asyncDispose]() {
      kv.close();
      return Promise.resolve();
    },
  };
}
