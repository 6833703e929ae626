import * as fc from "../../../../support/property.ts";
import { happening, happeningWithCredit } from "./arbitrary_happenings.ts";
import { secondMs } from "../../../../../core/lib/time/durations.ts";
import { SkippableTime } from "../../../../support/skippable_time.ts";
import { ChaosWorld } from "../chaos_world.ts";

Deno.test("no money is lost or made while an engine commits settlements side by side", async () => {
  using time = new SkippableTime(secondMs);
  await fc.assert(
    fc.asyncProperty(
      fc.array(happening, { minLength: 20, maxLength: 300, size: "max" }),
      fc.integer({ min: 1, max: 4 }),
      async (program, maxLanes) => {
        using kv = await Deno.openKv(":memory:");
        await new ChaosWorld(kv, maxLanes).play(program);
      },
    ),
    { numRuns: Number(Deno.env.get("CHAOS_RUNS") ?? "40") },
  );
  // A process that died in the middle of a repeated commit has left its pause behind.
  await time.skip(secondMs);
});

Deno.test("wallet engines that crash, sleep, lose answers and are reaped never lose or make money", async () => {
  using time = new SkippableTime(secondMs);
  await fc.assert(
    fc.asyncProperty(
      fc.array(happening, { minLength: 20, maxLength: 300, size: "max" }),
      async (program) => {
        using kv = await Deno.openKv(":memory:");
        await new ChaosWorld(kv).play(program);
      },
    ),
    { numRuns: Number(Deno.env.get("CHAOS_RUNS") ?? "40") },
  );
  // A process that died in the middle of a repeated commit has left its pause behind.
  await time.skip(secondMs);
});

Deno.test("credit that is given and expires meanwhile never touches money that was paid", async () => {
  using time = new SkippableTime(secondMs);
  await fc.assert(
    fc.asyncProperty(
      fc.array(happeningWithCredit, { minLength: 20, maxLength: 300, size: "max" }),
      fc.integer({ min: 0, max: 3 }),
      async (program, maxLanes) => {
        using kv = await Deno.openKv(":memory:");
        const world = new ChaosWorld(kv, maxLanes);
        await world.play(program);
        await world.checkCredit();
      },
    ),
    { numRuns: Number(Deno.env.get("CHAOS_RUNS") ?? "40") },
  );
  // A process that died in the middle of a repeated commit has left its pause behind.
  await time.skip(secondMs);
});
