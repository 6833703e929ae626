import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import {
  kvCallMs,
  silentReadMs,
  StoreTimeoutError,
  withDeadlines,
} from "../../../../kv/engine/store/store_deadlines.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { nextTurn } from "../../../support/turns.ts";

const silence = () => new Promise<never>(() => {});

/** A store that never answers: neither a call, nor the second row of a list. */
async function silentStore(): Promise<KeyValueStore> {
  const kv = await Deno.openKv(":memory:");
  const list = kv.list.bind(kv);
  const atomic = kv.atomic.bind(kv);
  return Object.assign(kv, {
    get: silence,
    set: silence,
    delete: silence,
    getMany: silence,
    list(...call: Parameters<KeyValueStore["list"]>) {
      const rows = list(...call);
      const value = { key: ["row", "one"], value: "one", versionstamp: "0".repeat(20) };
      let isFirst = true;
      rows.next = () => {
        if (!isFirst) return silence();
        isFirst = false;
        return Promise.resolve({ done: false, value });
      };
      return rows;
    },
    atomic: () => Object.assign(atomic(), { commit: silence }),
  });
}

Deno.test("a store with deadlines answers as without", async () => {
  const time = new ManualTime();
  const deadlines = new Deadlines({ clock: time, timer: time });
  using kv = withDeadlines(await Deno.openKv(":memory:"), deadlines);
  await kv.set(["a", 1], "one");
  const written = await kv.atomic().check({ key: ["a", 2], versionstamp: null }).set(
    ["a", 2],
    "two",
  )
    .commit();
  assert(written.ok);
  assertEquals((await kv.get(["a", 2])).versionstamp, written.versionstamp);
  const many = await kv.getMany<string[]>([["a", 1], ["a", 3]]);
  assertEquals(many.map(({ value }) => value), ["one", null]);
  const rows = kv.list<string>({ prefix: ["a"] }, { limit: 1 });
  assertEquals((await Array.fromAsync(rows)).map(({ value }) => value), ["one"]);
  const rest = kv.list<string>({ prefix: ["a"] }, { cursor: rows.cursor });
  assertEquals((await Array.fromAsync(rest)).map(({ value }) => value), ["two"]);
  await kv.delete(["a", 1]);
  assertEquals((await kv.get(["a", 1])).value, null);
  const refused = await kv.atomic().check({ key: ["a", 2], versionstamp: null }).commit();
  assertEquals(refused.ok, false);
  await assertRejects(() => kv.set(["a"], "x".repeat(70_000)), TypeError);
  assertEquals(deadlines.armedCount, 0);
  deadlines.close();
});

const calls: Readonly<Record<string, (kv: KeyValueStore) => Promise<unknown>>> = {
  get: (kv) => kv.get(["row", "one"]),
  set: (kv) => kv.set(["row", "three"], 3),
  delete: (kv) => kv.delete(["row", "one"]),
  getMany: (kv) => kv.getMany([["row", "one"]]),
  "the second row of a list": (kv) => Array.fromAsync(kv.list({ prefix: ["row"] })),
  commit: (kv) => kv.atomic().set(["row", "three"], 3).delete(["row", "one"]).commit(),
};

for (const [name, call] of Object.entries(calls)) {
  Deno.test(`a silent store: ${name} is given up after kvCallMs`, async () => {
    const time = new ManualTime();
    const deadlines = new Deadlines({ clock: time, timer: time });
    using kv = withDeadlines(await silentStore(), deadlines);
    let isOver = false;
    const given = assertRejects(
      () => call(kv).finally(() => isOver = true),
      StoreTimeoutError,
      "The store does not answer at the moment; try again",
    );
    await nextTurn();
    time.advance(kvCallMs - 1);
    await nextTurn();
    assertEquals(isOver, false);
    time.advance(1_000);
    await given;
    deadlines.close();
  });
}

Deno.test("while a store is silent, further reads are given up sooner and writes are not; any answer ends that", async () => {
  const time = new ManualTime();
  const deadlines = new Deadlines({ clock: time, timer: time });
  const waiting: (() => void)[] = [];
  const inner = await Deno.openKv(":memory:");
  const hold = () => new Promise<never>((_, reject) => waiting.push(() => reject(new Error())));
  let isSilent = true;
  const get = inner.get.bind(inner);
  const set = inner.set.bind(inner);
  let answerLate = () => {};
  const engine: KeyValueStore = Object.assign(inner, {
    get: (...call: Parameters<typeof get>) => isSilent ? hold() : get(...call),
    set: (...call: Parameters<typeof set>) =>
      isSilent
        ? new Promise<Deno.KvCommitResult>((resolve) =>
          answerLate = () => resolve({ ok: true, versionstamp: "0" })
        )
        : set(...call),
  });
  using kv = withDeadlines(engine, deadlines);
  /** How long a call waits, in steps of a tenth of a second. */
  const waitOf = async (call: Promise<unknown>): Promise<number> => {
    let isOver = false;
    call.then(() => isOver = true, () => isOver = true);
    for (let waitedMs = 0;; waitedMs += 100) {
      for (let turn = 0; turn < 3; turn++) await nextTurn();
      if (isOver) return waitedMs;
      time.advance(100);
    }
  };
  /** The deadline that ended a call; ends of deadlines come with the next tick. */
  const endOf = async (call: Promise<unknown>) => {
    const waitedMs = await waitOf(call);
    return [kvCallMs, silentReadMs, 0].find((deadlineMs) => waitedMs >= deadlineMs);
  };
  assertEquals(await endOf(kv.get(["row"])), kvCallMs);
  assertEquals(await endOf(kv.get(["row"])), silentReadMs);
  assertEquals(await endOf(kv.set(["row"], 1)), kvCallMs);
  answerLate();
  await nextTurn();
  assertEquals(await endOf(kv.get(["row"])), kvCallMs, "something was answered, if too late");
  isSilent = false;
  assertEquals(await endOf(kv.get(["row"])), 0);
  isSilent = true;
  assertEquals(await endOf(kv.get(["row"])), kvCallMs, "the store had come back");
  for (const end of waiting) end();
  deadlines.close();
});
