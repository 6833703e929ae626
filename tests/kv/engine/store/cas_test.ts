import { assertEquals } from "../../../support/assert.ts";
import { compareAndSet } from "../../../../kv/engine/store/cas.ts";

Deno.test("compareAndSet() returns the first answer and stops", async () => {
  const tries: number[] = [];
  const result = await compareAndSet((attempt) => {
    tries.push(attempt);
    return Promise.resolve(attempt < 2 ? "again" as const : { done: "yes" });
  }, { attempts: 5, pause: () => Promise.resolve() });
  assertEquals(result, { done: "yes" });
  assertEquals(tries, [0, 1, 2]);
});

Deno.test("compareAndSet() gives up after its tries, pausing longer and at random in between", async () => {
  const pausesMs: number[] = [];
  const result = await compareAndSet(() => Promise.resolve("again"), {
    attempts: 9,
    pause: (delayMs) => {
      pausesMs.push(delayMs);
      return Promise.resolve();
    },
    random: () => 0.5,
  });
  assertEquals(result, "conflict");
  assertEquals(pausesMs, [1, 2, 4, 8, 16, 25, 25, 25]);
});
