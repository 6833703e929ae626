/** What every engine of the store must do. Each engine's test file runs it over stores that it opens. */
import * as fc from "../../../support/property.ts";
import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import { encodeKey } from "../../../../kv/engine/parts/tuple_key.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { firstRowsOf, rowsOfKeys } from "../../../../kv/engine/store/read_ahead.ts";
import { until } from "../../../support/until.ts";

/** A new empty store that several clients open. */
export interface TestStore extends AsyncDisposable {
  /** Another client of the same store. The embedded engines give the same one each time. */
  readonly clients: readonly KeyValueStore[];
}

type Case = (kv: KeyValueStore, clients: readonly KeyValueStore[]) => Promise<void>;

async function valuesOf(rows: AsyncIterable<Deno.KvEntry<unknown>>): Promise<unknown[]> {
  return await Array.fromAsync(rows, ({ value }) => value);
}

async function fill(kv: KeyValueStore, count: number): Promise<void> {
  const write = kv.atomic();
  for (let at = 0; at < count; at++) write.set(["row", at], at);
  assert((await write.commit()).ok);
}

const keyPart = fc.oneof(
  fc.string({ unit: "binary", maxLength: 6 }),
  fc.double({ noNaN: true }),
  fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }),
  fc.boolean(),
  fc.uint8Array({ maxLength: 4 }),
  fc.constantFrom("", "\0", "\0\0", "a\0b", 0, -0, 1e300, -1e-300, 0n, 255n, 256n, -255n, -256n),
);

const cases: Readonly<Record<string, Case>> = {
  async "a row that is absent has neither value nor versionstamp"(kv) {
    assertEquals(await kv.get(["none"]), { key: ["none"], value: null, versionstamp: null });
  },

  async "values keep their types"(kv) {
    const value = {
      whole: 2n ** 70n,
      bytes: Uint8Array.of(0, 255),
      time: new Date(86_400_000),
      map: new Map([["a", [1, null]]]),
      nothing: undefined,
      text: "mười nghìn đồng 🙂 \0",
    };
    await kv.set(["value"], value);
    assertEquals((await kv.get<typeof value>(["value"])).value, value);
  },

  async "the rows of a commit share a versionstamp that no other commit has"(kv) {
    const first = await kv.atomic().set(["a"], 1).set(["b"], 1).commit();
    assert(first.ok);
    assertEquals((await kv.get(["a"])).versionstamp, first.versionstamp);
    assertEquals((await kv.get(["b"])).versionstamp, first.versionstamp);
    const second = await kv.set(["a"], 1);
    assert(second.versionstamp !== first.versionstamp);
    assertEquals((await kv.get(["b"])).versionstamp, first.versionstamp);
  },

  async "a commit whose check fails writes nothing"(kv) {
    const { versionstamp } = await kv.set(["a"], 1);
    const absent = await kv.atomic().check({ key: ["a"], versionstamp: null }).set(["b"], 1)
      .delete(["a"]).commit();
    assertEquals(absent, { ok: false });
    const gone = await kv.atomic().check({ key: ["c"], versionstamp }).set(["c"], 1).commit();
    assertEquals(gone, { ok: false });
    const mixed = await kv.atomic().check({ key: ["a"], versionstamp }).check({
      key: ["a"],
      versionstamp: null,
    }).set(["b"], 1).commit();
    assertEquals(mixed, { ok: false });
    assertEquals(await valuesOf(kv.list({ prefix: [] })), [1]);
    assert((await kv.atomic().check({ key: ["a"], versionstamp }).delete(["a"]).commit()).ok);
    assertEquals((await kv.get(["a"])).value, null);
  },

  async "the last write of a row in a commit counts"(kv) {
    await kv.atomic().set(["a"], 1).delete(["a"]).set(["a"], 2).set(["b"], 1).delete(["b"])
      .commit();
    assertEquals(await valuesOf(kv.list({ prefix: [] })), [2]);
  },

  async "a check alone is answered without a write"(kv) {
    const { versionstamp } = await kv.set(["a"], 1);
    assert((await kv.atomic().check({ key: ["a"], versionstamp }).commit()).ok);
    assert((await kv.atomic().check({ key: ["b"], versionstamp: null }).commit()).ok);
    assertEquals((await kv.get(["a"])).versionstamp, versionstamp);
    assertEquals((await kv.get(["b"])).versionstamp, null);
  },

  async "of many commits that need a row to be absent, one succeeds"(_kv, clients) {
    for (let round = 0; round < 8; round++) {
      const results = await Promise.all(
        Array.from({ length: 24 }, (_, at) => {
          const kv = clients[at % clients.length] ?? _kv;
          const write = kv.atomic().check({ key: ["once", round], versionstamp: null });
          // Half of them write another row only: the check alone has to hold.
          return write.set(at % 2 === 0 ? ["once", round] : ["other", round, at], at)
            .set(["once", round], at).commit();
        }),
      );
      assertEquals(results.filter(({ ok }) => ok).length, 1);
    }
  },

  async "no increment under a check is lost"(kv, clients) {
    await kv.set(["sum"], 0);
    const add = async (client: KeyValueStore) => {
      for (;;) {
        const row = await client.get<number>(["sum"]);
        const next = (row.value ?? NaN) + 1;
        if ((await client.atomic().check(row).set(["sum"], next).commit()).ok) return;
      }
    };
    await Promise.all(
      Array.from({ length: 40 }, (_, at) => add(clients[at % clients.length] ?? kv)),
    );
    assertEquals((await kv.get(["sum"])).value, 40);
  },

  async "money that moves between rows in every order keeps its sum"(kv, clients) {
    const places = 4;
    for (let at = 0; at < places; at++) await kv.set(["purse", at], 100);
    const move = async (client: KeyValueStore, from: number, to: number) => {
      for (let tries = 0; tries < 200; tries++) {
        const source = await client.get<number>(["purse", from]);
        const target = await client.get<number>(["purse", to]);
        const write = client.atomic().check(source).check(target);
        write.set(["purse", from], (source.value ?? NaN) - 1);
        write.set(["purse", to], (target.value ?? NaN) + 1);
        if ((await write.commit()).ok) return;
      }
      throw new Error("no turn in 200 tries");
    };
    await Promise.all(Array.from({ length: 48 }, (_, at) => {
      const from = at % places;
      return move(clients[at % clients.length] ?? kv, from, (from + 1 + at % 3) % places);
    }));
    const sums = await Array.fromAsync(kv.list<number>({ prefix: ["purse"] }), (row) => row.value);
    assertEquals(sums.reduce((sum, value) => sum + value, 0), 400);
  },

  async "two commits that each check what the other writes do not both succeed"(kv, clients) {
    for (let round = 0; round < 12; round++) {
      const one = await kv.set(["skew", round, 1], 0);
      const two = await kv.set(["skew", round, 2], 0);
      const results = await Promise.all([
        (clients[0] ?? kv).atomic().check({ key: ["skew", round, 1], ...one }).set(
          ["skew", round, 2],
          1,
        ).commit(),
        (clients.at(-1) ?? kv).atomic().check({ key: ["skew", round, 2], ...two }).set(
          ["skew", round, 1],
          1,
        ).commit(),
      ]);
      assertEquals(results.filter(({ ok }) => ok).length, 1);
    }
  },

  async "a client sees what another committed before"(kv, clients) {
    for (const [at, client] of clients.entries()) {
      await client.set(["seen", at], at);
      for (const other of clients) assertEquals((await other.get(["seen", at])).value, at);
    }
    assertEquals((await valuesOf(kv.list({ prefix: ["seen"] }))).length, clients.length);
  },

  async "rows come in the order of their keys, with the keys as they were written"(kv) {
    const keys = fc.uniqueArray(fc.array(keyPart, { minLength: 1, maxLength: 3 }), {
      minLength: 2,
      maxLength: 12,
      selector: (key) => encodeKey(key).toHex(),
    });
    let round = 0;
    await fc.assert(
      fc.asyncProperty(keys, async (given) => {
        const prefix = ["order", ++round];
        const write = kv.atomic();
        for (const key of given) write.set([...prefix, ...key], encodeKey(key).toHex());
        await write.commit();
        const rows = await Array.fromAsync(kv.list<string>({ prefix }));
        const expected = given.map((key) => encodeKey(key).toHex()).sort();
        assertEquals(rows.map(({ value }) => value), expected);
        assertEquals(rows.map(({ key }) => encodeKey(key.slice(2)).toHex()), expected);
      }),
      { numRuns: 25 },
    );
  },

  async "a prefix leaves out the row of the prefix itself and those beside it"(kv) {
    for (const key of [["a"], ["a", 1], ["a", 1, 2], ["a\0"], ["ab", 1]]) await kv.set(key, key);
    assertEquals(await valuesOf(kv.list({ prefix: ["a"] })), [["a", 1], ["a", 1, 2]]);
    assertEquals(await valuesOf(kv.list({ prefix: ["a", 1] })), [["a", 1, 2]]);
  },

  async "a range begins at its start and ends before its end"(kv) {
    await fill(kv, 9);
    const read = (selector: Deno.KvListSelector, options: Deno.KvListOptions = {}) =>
      valuesOf(kv.list(selector, options));
    assertEquals(await read({ start: ["row", 2], end: ["row", 5] }), [2, 3, 4]);
    assertEquals(await read({ prefix: ["row"], start: ["row", 6] }), [6, 7, 8]);
    assertEquals(await read({ prefix: ["row"], end: ["row", 2] }), [0, 1]);
    const last = { limit: 2, reverse: true };
    assertEquals(await read({ prefix: ["row"], end: ["row", 5] }, last), [4, 3]);
    assertEquals(await read({ start: ["row", 5], end: ["row", 5] }), []);
  },

  async "a cursor continues a list in either direction, over pages of any size"(kv) {
    await fill(kv, 11);
    for (const reverse of [false, true]) {
      for (const batchSize of [1, 3, 100]) {
        const read: unknown[] = [];
        let cursor = "";
        do {
          const rows = kv.list({ prefix: ["row"] }, { limit: 4, reverse, batchSize, cursor });
          const page = await valuesOf(rows);
          read.push(...page);
          cursor = page.length < 4 ? "" : rows.cursor;
        } while (cursor !== "");
        const all = Array.from({ length: 11 }, (_, at) => at);
        assertEquals(read, reverse ? all.reverse() : all);
      }
    }
  },

  async "the first rows of several ranges are those of a list each"(kv) {
    await fill(kv, 9);
    await kv.set(["other", 1], "other");
    const ranges = [
      { start: ["row", 5], end: ["row", 9] },
      { start: ["row", 20], end: ["row", 30] },
      { start: ["row", 1], end: ["row", 3] },
      { prefix: ["other"] },
      { start: ["row", 5], end: ["row", 9] },
    ];
    const rows = await firstRowsOf(kv, ranges, 3);
    assertEquals(rows.map((some) => some.map(({ value }) => value)), [
      [5, 6, 7],
      [],
      [1, 2],
      ["other"],
      [5, 6, 7],
    ]);
    const last = await firstRowsOf(kv, ranges, 3, true);
    assertEquals(last.map((some) => some.map(({ value }) => value)), [
      [8, 7, 6],
      [],
      [2, 1],
      ["other"],
      [8, 7, 6],
    ]);
    const [first] = await Array.fromAsync(kv.list(ranges[0]!, { limit: 1 }));
    assertEquals(rows[0]?.[0], first);
    assertEquals(await firstRowsOf(kv, [], 3), []);
  },

  async "rows that are read by their keys are those of each key, and no rows behind them"(kv) {
    await fill(kv, 25);
    await kv.set(["row", 7, "behind"], "behind");
    const numbers = [7, 24, 25, 3, 3, ...Array.from({ length: 20 }, (_, at) => at)];
    const rows = await rowsOfKeys(kv, numbers.map((number) => ["row", number]));
    assertEquals(rows.map((row) => row?.value), numbers.map((one) => one < 25 ? one : undefined));
    const { versionstamp } = await kv.get(["row", 7]);
    assertEquals(rows[0]?.versionstamp, versionstamp ?? "");
    const others = await rowsOfKeys(kv, [["row"], ["row", 7, "behind"]]);
    assertEquals(others.map((row) => row?.value), [undefined, "behind"]);
  },

  async "a cursor stays good when its row is gone"(kv) {
    await fill(kv, 6);
    const rows = kv.list({ prefix: ["row"] }, { limit: 3 });
    await valuesOf(rows);
    await kv.delete(["row", 2]);
    const rest = kv.list({ prefix: ["row"] }, { cursor: rows.cursor });
    assertEquals(await valuesOf(rest), [3, 4, 5]);
  },

  async "getMany() answers in the order of its keys"(kv) {
    await fill(kv, 3);
    const rows = await kv.getMany([["row", 2], ["none"], ["row", 0], ["row", 2]]);
    assertEquals(rows.map(({ value }) => value), [2, null, 0, 2]);
    assertEquals(await kv.getMany([]), []);
  },

  async "what is too large or malformed is a TypeError, and nothing is written"(kv) {
    const refused = (call: () => unknown) => assertRejects(async () => void await call(), Error);
    await refused(() => kv.set([], 1));
    await refused(() => kv.set(["x".repeat(2_048)], 1));
    await refused(() => kv.set(["value"], "x".repeat(65_537)));
    await refused(() => kv.set(["value"], () => {}));
    await refused(() => kv.set(["value"], 1, { expireIn: -1 }));
    await refused(() => kv.getMany(Array.from({ length: 11 }, (_, at) => ["row", at])));
    await refused(() => valuesOf(kv.list({ prefix: ["row"] }, { batchSize: 1_001 })));
    await refused(() => valuesOf(kv.list({ prefix: ["row"] }, { cursor: "!" })));
    await refused(() => valuesOf(kv.list({ prefix: ["row"], start: ["other"] })));
    await refused(() => valuesOf(kv.list({ start: ["b"], end: ["a"] })));
    await refused(() => kv.atomic().check({ key: ["a"], versionstamp: "no" }).commit());
    const rows = Array.from({ length: 1_001 }, (_, at) => at);
    await refused(() =>
      rows.reduce((write, at) => write.set(["row", at], 1), kv.atomic()).commit()
    );
    await refused(() =>
      rows.slice(0, 101).reduce(
        (write, at) => write.check({ key: ["row", at], versionstamp: null }),
        kv.atomic(),
      ).commit()
    );
    await refused(() =>
      rows.slice(0, 14).reduce(
        (write, at) => write.set(["row", at], "x".repeat(60_000)),
        kv.atomic(),
      ).commit()
    );
    assertEquals(await valuesOf(kv.list({ prefix: [] })), []);
  },

  async "a commit of the greatest size is whole"(kv) {
    const write = kv.atomic();
    for (let at = 0; at < 13; at++) write.set(["large", at], "x".repeat(60_000));
    for (let at = 0; at < 900; at++) write.set(["small", at], at);
    assert((await write.commit()).ok);
    assertEquals((await valuesOf(kv.list({ prefix: ["large"] }))).length, 13);
    assertEquals((await valuesOf(kv.list({ prefix: ["small"] }))).length, 900);
  },
};

/** Waits until a row that expired is absent: the embedded engine and denokv sweep once a minute. */
/** How much longer than an engine a busy machine may take. */
const slownessFactor = 10;

const expires = (expiryLagMs: number): Case => async (kv) => {
  await kv.atomic().set(["short"], 1, { expireIn: 300 }).set(["long"], 1, { expireIn: 3_600_000 })
    .set(["kept"], 1, { expireIn: 300 }).commit();
  assertEquals((await kv.get(["short"])).value, 1);
  // A later write without an end takes the end away.
  await kv.set(["kept"], 2);
  const isGone = async () => (await kv.get(["short"])).value === null;
  await until(isGone, "the row has expired", slownessFactor * expiryLagMs);
  assertEquals((await kv.get(["long"])).value, 1);
  assertEquals((await kv.get(["kept"])).value, 2);
  assertEquals(await valuesOf(kv.list({ prefix: [] })), [2, 1]);
  const again = await kv.atomic().check({ key: ["short"], versionstamp: null }).set(["short"], 3)
    .commit();
  assert(again.ok);
  assertEquals((await kv.get(["short"])).value, 3);
};

function register(
  name: string,
  title: string,
  run: Case,
  open: () => Promise<TestStore>,
  options: Partial<Deno.TestDefinition>,
): void {
  Deno.test({
    ...options,
    name: `${name}: ${title}`,
    async fn() {
      await using store = await open();
      const [first] = store.clients;
      assert(first !== undefined);
      await run(first, store.clients);
    },
  });
}

/** Registers the suite for an engine. */
export function testEngine(
  name: string,
  open: () => Promise<TestStore>,
  options: Partial<Deno.TestDefinition> = {},
): void {
  for (const [title, run] of Object.entries(cases)) register(name, title, run, open, options);
}

/** Registers the one test that waits until rows expire, `expiryLagMs` at most after their time. */
export function testExpiry(
  name: string,
  expiryLagMs: number,
  open: () => Promise<TestStore>,
  options: Partial<Deno.TestDefinition> = {},
): void {
  const title = "a row that expires is absent some time after and not before";
  register(name, title, expires(expiryLagMs), open, options);
}
