import { assert, assertEquals, assertMatch } from "../../../support/assert.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import type { LedgerEntry } from "../../../../kv/money/ledger/ledger.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { BooksWorld, problemLines } from "../../../support/worlds/books_world.ts";
import { passTurns } from "../../../support/turns.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";

/** Three days of calls, of which the first two are sealed, and calls of today. */
async function sealedWorld(): Promise<BooksWorld> {
  const world = await BooksWorld.used();
  const report = await world.verify({ nowMs: world.nowMs - dayMs });
  assertEquals(problemLines(report), []);
  assertEquals(report.sealedNow.length, 2);
  return world;
}

Deno.test("the first verification reads everything and seals the days that are over", async () => {
  await using world = await BooksWorld.used();
  const today = vietnamDay(world.nowMs);
  const report = await world.verify();
  assertEquals(problemLines(report), []);
  assertEquals([report.ok, report.full, report.receipts, report.moving], [true, true, 16, []]);
  assertEquals(report.sealedNow, [3, 2, 1].map((ago) => vietnamDay(world.nowMs - ago * dayMs)));
  assert(!report.sealedNow.includes(today));
  assertEquals(report.sealed?.day, report.sealedNow.at(-1));
});

Deno.test("a day is verified from its own rows, and its seal follows the one before", async () => {
  await using world = await BooksWorld.used();
  const first = await world.verify();
  world.nextDay();
  await world.call(world.ann, 5n);
  const second = await world.verify();
  assertEquals(problemLines(second), []);
  assertEquals([second.full, second.receipts, second.sealedNow.length], [false, 5, 1]);
  assertEquals(second.ledgerMicroVnd, 24_000n);
  assertEquals(second.chargedMicroVnd, 245n);
  assertEquals(second.availableMicroVnd + second.leasedMicroVnd, 24_000n - 245n);
  assert(first.sealed?.seal !== second.sealed?.seal);
  const third = await world.verify();
  assertEquals([third.receipts, third.sealedNow], [1, []]);
  assertEquals(third.sealed, second.sealed);
});

Deno.test("a day without a row is sealed, too", async () => {
  await using world = await BooksWorld.used();
  await world.verify();
  for (let day = 0; day < 5; day++) world.nextDay();
  const report = await world.verify();
  assertEquals([report.ok, report.full, report.sealedNow.length], [true, false, 5]);
  assertEquals((await world.verify({ isFull: true })).ok, true);
});

Deno.test("a day is sealed two hours after its end, no sooner", async () => {
  await using world = await BooksWorld.used();
  await world.verify();
  world.advance(13.9 * 3_600_000); // 01:54 of the next day
  assertEquals((await world.verify()).sealedNow, []);
  world.advance(0.2 * 3_600_000);
  assertEquals((await world.verify()).sealedNow.length, 1);
});

type Damage = (world: BooksWorld) => Promise<unknown>;

async function changeReceipt(kv: KeyValueStore, { key, value }: Deno.KvEntry<unknown>) {
  await kv.set(key, String(value).replace(/"(\d+)","0",\[\]/, '"1","0",[]'));
}

/** Returns the id of the copy, which may stand before or behind the receipt. */
async function copyReceipt(kv: KeyValueStore, { key, value }: Deno.KvEntry<unknown>) {
  const id = String(key[1]);
  const other = `${id.slice(0, -1)}${id.endsWith("z") ? "y" : "z"}`;
  await kv.set(["receipt", other], String(value).replaceAll(id, other));
  return other;
}

async function addToWallet(kv: KeyValueStore, account: AccountId, amount: bigint) {
  const { value } = await kv.get<{ availableMicroVnd: bigint }>(["wallet", account]);
  await kv.set(["wallet", account], {
    availableMicroVnd: (value?.availableMicroVnd ?? 0n) + amount,
  });
}

async function changeLine(world: BooksWorld, { key, value }: Deno.KvEntry<unknown>) {
  await world.kv.set(key, { ...value as LedgerEntry, amountMicroVnd: 7n });
}

/** Damage to days that are not sealed: the verification of the day finds each, and seals nothing. */
const unsealed: readonly (readonly [name: string, problem: RegExp, damage: Damage])[] = [
  [
    "a changed receipt",
    /balance: /,
    async ({ kv, row }) => changeReceipt(kv, await row(["receipt"], 9)),
  ],
  [
    "a deleted receipt",
    /index: 1 receipts are missing/,
    async ({ kv, row }) => kv.delete((await row(["receipt"], 9)).key),
  ],
  [
    "a deleted receipt of today",
    /index: 1 receipts are missing/,
    async ({ kv, row }) => kv.delete((await row(["receipt"], -1)).key),
  ],
  [
    "an added receipt",
    /index: receipts and index differ/,
    async ({ kv, row }) => copyReceipt(kv, await row(["receipt"], 9)),
  ],
  [
    "a garbled receipt",
    /row: /,
    async ({ kv, row }) => kv.set((await row(["receipt"], 9)).key, "[9]"),
  ],
  [
    "an index page that is gone",
    /balance: /,
    async ({ kv, row }) => kv.delete((await row(["receipts_of"], -1)).key),
  ],
  [
    "an index entry without a receipt",
    /index: 1 receipts are missing/,
    async ({ kv, row, bob }) => {
      const id = String((await row(["receipts_of"], -1)).key[2]);
      await kv.set(["receipts_of", bob, `${id.slice(0, -3)}zzz`], `${id.slice(11, -3)}zzz`);
    },
  ],
  [
    "a day sum that is gone",
    /rollup: the day sum/,
    async ({ kv, row }) => kv.delete((await row(["usage"], -1)).key),
  ],
  [
    "a ledger line that is gone",
    /ledger: books:\w+ has moved money, but its line \w+ is missing/,
    async ({ kv, row }) => kv.delete((await row(["ledger"], -2)).key),
  ],
  [
    "a changed ledger line",
    /ledger: the line \w+ and its copy by time disagree/,
    async (world) => changeLine(world, await world.row(["ledger"], -2)),
  ],
  [
    "a changed copy of a ledger line",
    /ledger: the line \w+ and its copy by time disagree/,
    async (world) => changeLine(world, await world.row(["ledger_by_time"], -1)),
  ],
  [
    "a ledger line without a copy, with its money",
    /ledger: the line led_\w+ has no copy by time/,
    async ({ kv, row, bob }) => {
      const { value } = await row(["ledger"], -2);
      const line = value as LedgerEntry;
      const ledgerId = line.ledgerId.slice(0, -3) + "zzz";
      await kv.set(["ledger", bob, ledgerId], { ...line, accountId: bob, ledgerId });
      await addToWallet(kv, bob, line.amountMicroVnd);
    },
  ],
  [
    "an operation that could be carried out again",
    /ledger: the line \w+ is not the one that books:\w+ wrote/,
    async ({ kv, row }) => {
      const { operationId } = (await row(["ledger"], -2)).value as LedgerEntry;
      await kv.delete(["ledger_operation", operationId]);
    },
  ],
  ["a wallet with more money", /balance: /, ({ kv, bob }) => addToWallet(kv, bob, 1n)],
  ["a wallet that is gone", /balance: /, ({ kv, bob }) => kv.delete(["wallet", bob])],
  [
    "a lease that is gone",
    /balance: /,
    async ({ kv, row }) => kv.delete((await row(["lease"])).key),
  ],
  [
    "a sealed balance that was changed, with the wallet",
    /seal: the balances of [\d-]+ are not those that were sealed/,
    async ({ kv, row, bob }) => {
      const { key, value } = await row(["checkpoint_balances"]);
      await kv.set(key, String(value).replace(/ (\d+)\n$/, (_, n) => ` ${BigInt(n) + 9n}\n`));
      await addToWallet(kv, bob, 9n);
    },
  ],
];

for (const [name, problem, damage] of unsealed) {
  Deno.test(`the verification of a day finds ${name}, and seals nothing`, async () => {
    await using world = await sealedWorld();
    const seen = { kv: world.kv, bob: world.bob, row: world.row.bind(world) };
    await damage(Object.assign(Object.create(world), seen));
    for (const rowsAtOnce of [1, 1_000]) {
      const report = await world.verify({ rowsAtOnce });
      const lines = problemLines(report);
      assert(lines.some((line) => problem.test(line)), lines.join("\n"));
      assertEquals([report.ok, report.full, report.sealedNow], [false, false, []]);
    }
  });
}

/** Damage to sealed days: only a reading of those days finds it. */
const sealed: readonly (readonly [name: string, problem: RegExp, damage: Damage])[] = [
  [
    "a changed receipt",
    /seal: the receipts of [\d-]+ are not those that were sealed, in the hours 12:00: 4 with 60 µVND were, 4 with/,
    async ({ kv, row }) => changeReceipt(kv, await row(["receipt"], 1)),
  ],
  [
    "a deleted receipt",
    /in the hours 12:00: 4 with 60 µVND were, 3 with \d+ µVND are there/,
    async ({ kv, row }) => kv.delete((await row(["receipt"], 1)).key),
  ],
  [
    "an added receipt",
    /in the hours 12:00: 4 with 60 µVND were, 5 with \d+ µVND are there/,
    async ({ kv, row }) => copyReceipt(kv, await row(["receipt"], 1)),
  ],
  [
    "a changed ledger line",
    /seal: the ledger lines of [\d-]+ are not those that were sealed: 3 with 21000 µVND were, 3 with/,
    async (world) => changeLine(world, await world.row(["ledger_by_time"])),
  ],
  [
    "a deleted ledger line",
    /seal: the ledger lines of [\d-]+ are not those that were sealed: 3 with 21000 µVND were, 2 with/,
    async ({ kv, row }) => kv.delete((await row(["ledger_by_time"])).key),
  ],
];

for (const [name, problem, damage] of sealed) {
  Deno.test(`a reading of sealed days finds ${name}`, async () => {
    await using world = await sealedWorld();
    const first = vietnamDay(world.nowMs - 3 * dayMs);
    const second = vietnamDay(world.nowMs - 2 * dayMs);
    const seen = { kv: world.kv, row: world.row.bind(world) };
    await damage(Object.assign(Object.create(world), seen));
    for (const options of [{ isFull: true }, { fromDay: first }]) {
      const report = await world.verify(options);
      const lines = problemLines(report);
      assert(lines.some((line) => problem.test(line) && line.includes(first)), lines.join("\n"));
      assertEquals([report.ok, report.sealedNow], [false, []], lines.join("\n"));
    }
    assertEquals(problemLines(await world.verify({ fromDay: second })), [], "another day is right");
  });
}

Deno.test("a receipt that is settled after its day was sealed is named", async () => {
  await using world = await sealedWorld();
  const receipt = await world.row(["receipt"], 1);
  const { value } = receipt;
  const copied = await copyReceipt(world.kv, receipt);
  const account = String(JSON.parse(String(value))[0][1][1]) as AccountId;
  await world.kv.set(["receipts_of", account, copied], copied.slice(11));
  await addToWallet(world.kv, account, -BigInt(JSON.parse(String(value))[0][1][18]));
  const [line] = problemLines(await world.verify());
  assertMatch(line ?? "", /^seal: all rows of the account prove its balance, but not its sealed/);
});

Deno.test("what an earlier release left out is added, and the store is right", async () => {
  await using world = await BooksWorld.used();
  for await (const { key } of world.kv.list({ prefix: ["ledger_by_time"] })) {
    await world.kv.delete(key);
  }
  const first = await world.verify();
  assertEquals([problemLines(first), first.sealedNow.length], [[], 3]);
  const { key } = await world.row(["ledger_by_time"], -1);
  await world.kv.delete(key); // the top-up of today, by an instance of the earlier release
  const second = await world.verify();
  assertMatch(problemLines(second).join(), /has no copy by time/);
  assertEquals(problemLines(await world.verify({ isFull: true })), []);
  assertEquals(problemLines(await world.verify()), []);
});

Deno.test("a day is verified beside calls, and calls that go on do not keep it from being sealed", async () => {
  await using world = await sealedWorld();
  for (const account of [world.ann, world.bob]) await world.topUp(account, 1_000_000n);
  const pause = () => passTurns(5);
  for (let day = 0; day < 2; day++) {
    // The clock does not move while calls run, as it would take the wallet engine for dead.
    if (day > 0) world.nextDay();
    // The first call renews the lease of the instance.
    await world.call(world.ann, 1n);
    let isOver = false;
    const calls = async (account: AccountId) => {
      for (let made = 0; !isOver && made < 2_000; made++) {
        await world.call(account, 1n);
        await pause();
      }
    };
    const working = [calls(world.ann), calls(world.bob)];
    try {
      for (let round = 0; round < 3; round++) {
        const report = await world.verify({ pause });
        assertEquals([problemLines(report), report.moving], [[], []], `round ${round}`);
        assertEquals(report.sealedNow.length, round === 0 ? 1 : 0);
      }
    } finally {
      isOver = true;
      await Promise.all(working);
    }
  }
  assertEquals(problemLines(await world.verify()), []);
});

Deno.test("verifications at once make one chain", async () => {
  await using world = await BooksWorld.used();
  const reports = await Promise.all(Array.from({ length: 4 }, () => world.verify()));
  for (const report of reports) assertEquals(problemLines(report), []);
  const days = reports.flatMap(({ sealedNow }) => sealedNow);
  assertEquals(new Set(days).size, days.length, "each day was sealed by one of them");
  const after = await world.verify({ isFull: true });
  assertEquals([problemLines(after), after.sealed?.day], [[], vietnamDay(world.nowMs - dayMs)]);
});
