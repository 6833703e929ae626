import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import {
  type SnapshotRow,
  stillSnapshot,
  StoreChangedError,
  trackedSnapshot,
} from "../../../../kv/engine/parts/snapshot.ts";
import { decodeValue } from "../../../../kv/engine/parts/tuple_key.ts";
import { trackWrites, WriteTracker } from "../../../../kv/engine/parts/write_tracker.ts";
import { runRandom } from "../../../support/random.ts";
import { nextTurn, passTurns } from "../../../support/turns.ts";

const wallets = 400;
const startSum = wallets * 1_000;

async function fillWallets(kv: KeyValueStore): Promise<void> {
  for (let at = 0; at < wallets; at += 100) {
    const operation = kv.atomic();
    for (let one = at; one < at + 100; one++) operation.set(["wallet", one], 1_000);
    await operation.commit();
  }
}

/** Moves money from one wallet to another; each third time it goes by way of a row that is made and deleted. */
async function move(kv: KeyValueStore, step: number): Promise<void> {
  const from = ["wallet", Math.floor(runRandom() * wallets)];
  const to = ["wallet", Math.floor(runRandom() * wallets)];
  if (from[1] === to[1]) return;
  const [a, b] = await kv.getMany<number[]>([from, to]);
  const operation = kv.atomic().check(a!, b!).set(from, a!.value! - 1);
  if (step % 3 > 0) {
    await operation.set(to, b!.value! + 1).commit();
    return;
  }
  const lease = ["lease", step];
  if (!(await operation.set(lease, 1).commit()).ok) return;
  for (;;) {
    const now = await kv.get<number>(to);
    const back = kv.atomic().check(now).set(to, now.value! + 1).delete(lease);
    if ((await back.commit()).ok) return;
  }
}

/** Applies rows in their order, the last of a key counting. */
async function sumOf(rows: AsyncIterable<SnapshotRow>): Promise<{ sum: number; rows: number }> {
  const values = new Map<string, number>();
  for await (const { key, value } of rows) {
    if (value === null) values.delete(key.toHex());
    else values.set(key.toHex(), Number(decodeValue(value)));
  }
  return { sum: values.values().reduce((sum, one) => sum + one, 0), rows: values.size };
}

/** Moves money while `run` runs. */
async function whileMoving(kv: KeyValueStore, run: () => Promise<void>): Promise<number> {
  let isOver = false;
  let steps = 0;
  const movers = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      await move(kv, steps++);
      await nextTurn();
    }
  });
  await run();
  isOver = true;
  await Promise.all(movers);
  return steps;
}

Deno.test("a snapshot of a store that is written has the rows of one moment", async () => {
  const kv: KeyValueStore = await Deno.openKv(":memory:");
  using _closing = kv;
  const tracker = new WriteTracker();
  trackWrites(kv, tracker);
  await fillWallets(kv);
  let plainDiffers = false;
  const steps = await whileMoving(kv, async () => {
    for (let round = 0; round < 10 || (!plainDiffers && round < 200); round++) {
      const { sum, rows } = await sumOf(slowly(trackedSnapshot(kv, tracker)));
      assertEquals(sum, startSum);
      assert(rows >= wallets);
      plainDiffers ||= await plainSum(kv) !== startSum;
    }
  });
  assert(steps > 200, `${steps} movements`);
  assert(plainDiffers, "a plain list would have done");
});

async function* slowly(rows: AsyncIterable<SnapshotRow>): AsyncGenerator<SnapshotRow> {
  let count = 0;
  for await (const row of rows) {
    yield row;
    if (++count % 50 === 0) await passTurns(2);
  }
}

async function plainSum(kv: KeyValueStore): Promise<number> {
  let sum = 0;
  for await (const { value } of kv.list<number>({ prefix: [] }, { batchSize: 50 })) {
    sum += value;
    if (runRandom() < 0.05) await nextTurn();
  }
  return sum;
}

Deno.test("writes wait while they are paused, and those under way end first", async () => {
  const tracker = new WriteTracker();
  const order: string[] = [];
  const slow = tracker.write([["a"]], async () => {
    await passTurns(5);
    order.push("under way");
  });
  const paused = tracker.whilePaused(async () => {
    order.push("paused");
    await passTurns(5);
    order.push("resumed");
  });
  const late = tracker.write([["b"]], () => Promise.resolve(void order.push("late")));
  await Promise.all([slow, paused, late]);
  assertEquals(order, ["under way", "paused", "resumed", "late"]);
});

Deno.test("a failed write is recorded, too, since it may have taken effect", async () => {
  const tracker = new WriteTracker();
  using changed = tracker.record();
  await assertRejects(() => tracker.write([["a"]], () => Promise.reject(new Error("no answer"))));
  assertEquals(changed.take(), [["a"]]);
  assertEquals(changed.size, 0);
});

Deno.test("without a view of all writes a snapshot fails if a row changed meanwhile", async () => {
  using kv = await Deno.openKv(":memory:");
  await fillWallets(kv);
  assertEquals((await sumOf(stillSnapshot(kv))).sum, startSum);
  const changes = [
    () => kv.set(["wallet", 0], 999),
    () => kv.set(["lease", 1], 1),
    () => kv.delete(["wallet", 1]),
  ];
  for (const change of changes) {
    await assertRejects(async () => {
      let count = 0;
      for await (const _ of stillSnapshot(kv)) if (++count === wallets - 10) await change();
    }, StoreChangedError);
  }
});
