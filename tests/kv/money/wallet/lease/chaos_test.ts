import * as fc from "../../../../support/property.ts";
import { secondMs } from "../../../../../core/lib/time/durations.ts";
import { SkippableTime } from "../../../../support/skippable_time.ts";
import { ChaosWorld, type Happening } from "../chaos_world.ts";

const index = fc.nat({ max: 7 });

const fate = fc.oneof(
  { weight: 10, arbitrary: fc.constant("answered" as const) },
  { weight: 1, arbitrary: fc.constant("fails" as const) },
  { weight: 2, arbitrary: fc.constant("answer_lost" as const) },
  { weight: 2, arbitrary: fc.constant("denied" as const) },
  { weight: 1, arbitrary: fc.constant("silent" as const) },
);

const happening: fc.Arbitrary<Happening> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("reserve" as const),
      wallet: index,
      account: index,
      amount: fc.nat({ max: 700 }),
      least: fc.option(fc.record({ percent: fc.nat({ max: 100 }), takesAll: fc.boolean() }), {
        nil: undefined,
      }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("settle" as const),
      which: index,
      percent: fc.constantFrom(0, 1, 50, 100, 100, 150, 1000),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("release" as const), which: index }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("withhold" as const), which: index }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("extend" as const),
      which: index,
      amount: fc.integer({ min: 1, max: 400 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("credit" as const),
      account: index,
      amount: fc.integer({ min: 1, max: 500 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom("index" as const, "heartbeat" as const),
      wallet: index,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("crash" as const), wallet: index }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("open" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("reap" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("oversleep" as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("wait" as const),
      ms: fc.constantFrom(20, 600, 1_500, 6_000, 61_000),
    }),
  },
  {
    weight: 16,
    arbitrary: fc.record({
      do: fc.constant("pass" as const),
      which: index,
      count: fc.integer({ min: 1, max: 12 }),
      fate,
    }),
  },
);

/** The same with credit that is given, and expires. */
const happeningWithCredit: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 16, arbitrary: happening },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("give" as const),
      account: index,
      campaign: index,
      spendGranted: fc.constantFrom("first" as const, "last" as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("expire" as const) }) },
);

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
