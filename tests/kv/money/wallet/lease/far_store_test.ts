import { assert, assertEquals } from "../../../../support/assert.ts";
import { type FarStoreOptions, playFarStore, type Waits } from "../far_store_world.ts";

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Times of a provider, the same in every run. */
function variedMs(maxMs: number): () => number {
  let seed = 1;
  return () => {
    seed = seed * 16_807 % 2_147_483_647;
    return 1 + seed / 2_147_483_647 * maxMs;
  };
}

function play(some: Partial<FarStoreOptions>): Promise<Waits> {
  return playFarStore({
    roundTripMs: 20,
    clients: 64,
    accounts: 64,
    providerMs: variedMs(3),
    warmCalls: 20,
    calls: 30,
    ...some,
  });
}

for (const roundTripMs of [20, 150]) {
  for (const accounts of [64, 1]) {
    for (const maxMs of [3, 600]) {
      const name = `${roundTripMs} ms away, 64 clients of ${accounts} accounts, ` +
        `providers of up to ${maxMs} ms`;
      Deno.test(`an answer waits 1.3 round trips at most: ${name}`, async () => {
        const waits = await play({ roundTripMs, accounts, providerMs: variedMs(maxMs) });
        assert(mean(waits.settle) <= 1.3, `${mean(waits.settle)} on average`);
        assert(Math.max(...waits.settle) <= 2.5, `${Math.max(...waits.settle)} at most`);
        assertEquals(Math.max(...waits.reserve), 0, "no first byte waits for the store");
        assert(waits.commitsPerRoundTrip <= 12, `${waits.commitsPerRoundTrip} commits`);
      });
    }
  }
}

Deno.test("one client of a far store waits one round trip", async () => {
  const waits = await play({ roundTripMs: 150, clients: 1, accounts: 1 });
  assertEquals(mean(waits.settle), 1);
  assertEquals(Math.max(...waits.reserve), 0);
});

Deno.test("calls that cost all they reserve do not wait for draws", async () => {
  for (const accounts of [8, 1]) {
    const waits = await play({
      roundTripMs: 150,
      accounts,
      providerMs: variedMs(100),
      priceMicroVnd: 1_000_000n,
      warmCalls: 60,
      calls: 60,
    });
    assertEquals(Math.max(...waits.reserve), 0, `${accounts} accounts`);
    assert(mean(waits.settle) <= 1.3, `${mean(waits.settle)} on average`);
  }
});

Deno.test("without lanes the same clients wait for the commits of each other", async () => {
  const waits = await play({ maxLanes: 0 });
  assert(mean(waits.settle) > 1.6, `${mean(waits.settle)} on average`);
});

Deno.test("a near store gets one commit at a time", async () => {
  const waits = await play({ roundTripMs: 4 });
  assert(waits.commitsPerRoundTrip <= 1.1, `${waits.commitsPerRoundTrip} commits`);
});
