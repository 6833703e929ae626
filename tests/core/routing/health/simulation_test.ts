import { assert, assertEquals } from "../../../support/assert.ts";
import { scenarios } from "../../../../bench/routing/scenarios.ts";
import { simulate } from "../../../../bench/routing/simulation.ts";

const options = { calls: 60_000, everyMs: 10 }; // ten simulated minutes at 100 calls a second

for (const scenario of scenarios) {
  Deno.test(`routing by health, "${scenario.name}": no call fails and none waits for what is known to be broken`, () => {
    const health = simulate(scenario, "by health", options);
    const robin = simulate(scenario, "round-robin", options);
    assertEquals(health.failed, 0);
    // A route that fails quickly now and then but answers in a quarter of the time is worth its misses: the middle
    // falls by more than the tail grows.
    const middleGainMs = Math.max(0, robin.p50Ms - health.p50Ms);
    assert(
      health.p95Ms <= robin.p95Ms + 5 + middleGainMs,
      `p95 ${health.p95Ms} against ${robin.p95Ms}, p50 ${health.p50Ms} against ${robin.p50Ms} of round-robin`,
    );
    assert(health.triesPerCall < 1.25, `${health.triesPerCall} tries per call`);
  });
}

Deno.test("a route that was slow or dead for minutes gets its share again when it has recovered", () => {
  for (const name of ["first dies, comes back", "first slows to 5 s"]) {
    const scenario = scenarios.find((s) => s.name === name);
    assert(scenario !== undefined);
    // Five of twenty minutes are bad: a fair third of the other fifteen is a quarter of all.
    const { share } = simulate(scenario, "by health", { calls: 120_000, everyMs: 10 });
    assert((share["a"] ?? 0) > 0.15, `${name}: ${JSON.stringify(share)}`);
  }
});
