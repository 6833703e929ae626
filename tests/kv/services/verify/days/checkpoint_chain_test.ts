import { assert, assertEquals, assertMatch } from "../../../../support/assert.ts";
import { newMasterKey, readMasterKeys } from "../../../../../core/people/api_keys/seal.ts";
import { vietnamDay } from "../../../../../core/lib/time/vietnam_time.ts";
import { BooksWorld, problemLines } from "../../../../support/worlds/books_world.ts";
import { dayMs } from "../../../../../core/lib/time/durations.ts";

/** Three sealed days, and the rows of today. */
async function chainOfThree() {
  const world = await BooksWorld.used();
  const report = await world.verify();
  assertEquals([problemLines(report), report.sealedNow.length], [[], 3]);
  const [first = "", second = "", third = ""] = report.sealedNow;
  return { world, days: { first, second, third } };
}

type Days = Awaited<ReturnType<typeof chainOfThree>>["days"];

const damages: readonly (readonly [
  name: string,
  problem: (days: Days) => string,
  damage: (world: BooksWorld, days: Days) => Promise<unknown>,
])[] = [
  [
    "a changed checkpoint",
    ({ second }) => `the checkpoint of ${second} was changed after it was sealed`,
    async ({ kv }, { second }) => {
      const { value } = await kv.get<{ text: string; seal: string }>(["checkpoint", second]);
      const text = value?.text.replace('"receipts":4', '"receipts":3') ?? "";
      assert(text !== value?.text);
      await kv.set(["checkpoint", second], { ...value, text });
    },
  ],
  [
    "a changed seal",
    ({ first }) => `the checkpoint of ${first} was changed after it was sealed`,
    async ({ kv }, { first, second }) => {
      const [one, other] = await kv.getMany<[{ text: string }, { seal: string }]>([
        ["checkpoint", first],
        ["checkpoint", second],
      ]);
      await kv.set(one.key, { ...one.value, seal: other.value?.seal });
    },
  ],
  [
    "a checkpoint that is not one",
    ({ second }) => `the checkpoint of ${second} is not one`,
    ({ kv }, { second }) => kv.set(["checkpoint", second], { text: 1 }),
  ],
  [
    "a missing first checkpoint",
    ({ first }) => `the checkpoint of ${first} is missing`,
    ({ kv }, { first }) => kv.delete(["checkpoint", first]),
  ],
  [
    "a missing checkpoint in the middle",
    ({ second }) => `the checkpoint of ${second} is missing`,
    ({ kv }, { second }) => kv.delete(["checkpoint", second]),
  ],
  [
    "a missing last checkpoint",
    ({ third }) => `the checkpoint of ${third} is missing`,
    ({ kv }, { third }) => kv.delete(["checkpoint", third]),
  ],
  [
    "checkpoints that are all missing",
    ({ third }) => `the checkpoint of ${third} is missing`,
    async ({ kv }) => {
      for await (const { key } of kv.list({ prefix: ["checkpoint"] })) await kv.delete(key);
    },
  ],
  [
    "a missing head",
    () => "the head of the checkpoints is missing",
    ({ kv }) => kv.delete(["checkpoint_head", "last"]),
  ],
  [
    "checkpoints in another order",
    ({ first, second }) => `the checkpoint of ${second} is stored as that of ${first}`,
    async ({ kv }, { first, second }) => {
      const [one, other] = await kv.getMany([["checkpoint", first], ["checkpoint", second]]);
      await kv.set(one.key, other.value);
      await kv.set(other.key, one.value);
    },
  ],
];

for (const [name, problem, damage] of damages) {
  Deno.test(`${name} is named in one line, and the whole store is read`, async () => {
    const { world, days } = await chainOfThree();
    await using _closed = world;
    await damage(world, days);
    world.nextDay();
    const report = await world.verify();
    assertEquals(problemLines(report), [`seal: ${problem(days)}`]);
    assertEquals([report.ok, report.full, report.sealedNow], [false, true, []]);
  });
}

Deno.test("a checkpoint of another chain is found", async () => {
  const { world, days } = await chainOfThree();
  await using _closed = world;
  const { kv } = world;
  const kept = await kv.get(["checkpoint", days.second]);
  // The same days, sealed anew: each text has its own moment.
  for (const kind of ["checkpoint", "checkpoint_head"]) {
    for await (const { key } of kv.list({ prefix: [kind] })) await kv.delete(key);
  }
  world.advance(1_000);
  assertEquals((await world.verify()).sealedNow.length, 3);
  await kv.set(kept.key, kept.value);
  assertEquals(problemLines(await world.verify()), [
    `seal: the checkpoint of ${days.second} does not follow the one of ${days.first} that is stored`,
  ]);
});

Deno.test("seals hold under a new master key as long as the old one is configured", async () => {
  await using world = await BooksWorld.used();
  const [old, fresh] = [newMasterKey(), newMasterKey()];
  const first = await world.verify({
    masterKeys: await readMasterKeys(old),
    nowMs: world.nowMs - dayMs,
  });
  assertEquals(first.sealedNow.length, 2);
  const both = await world.verify({ masterKeys: await readMasterKeys(`${fresh},${old}`) });
  assertEquals([problemLines(both), both.sealedNow.length], [[], 1]);
  const without = await world.verify({ masterKeys: await readMasterKeys(fresh) });
  const [line = ""] = problemLines(without);
  assertMatch(line, /is sealed with the master key [\w-]+, which is not configured$/);
  assert(line.includes(vietnamDay(world.nowMs - 3 * dayMs)));
});

Deno.test("a verification that was interrupted between checkpoints is continued", async () => {
  await using world = await BooksWorld.used();
  await world.verify({ nowMs: world.nowMs - 2 * dayMs });
  // As after a crash: the chain has a day without the balances of its end.
  const { kv } = world;
  await world.verify();
  const last = vietnamDay(world.nowMs - dayMs);
  const before = vietnamDay(world.nowMs - 2 * dayMs);
  const { value } = await kv.get<{ text: string; seal: string }>(["checkpoint", before]);
  assert(value?.text.includes('"balances":null'), "only the last day has balances");
  await kv.delete(["checkpoint", last]);
  await kv.set(["checkpoint_head", "last"], { day: before, seal: value?.seal });
  for await (const { key } of kv.list({ prefix: ["checkpoint_balances", last] })) {
    await kv.set(key, "half of it");
  }
  const report = await world.verify();
  assertEquals([problemLines(report), report.full, report.sealedNow], [[], false, [last]]);
  assertEquals(problemLines(await world.verify({ isFull: true })), []);
});
