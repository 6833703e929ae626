/** Tests that the sums of old days move to an archive, whatever it is made of. */
import { ascending } from "../../../../core/lib/base/ascending.ts";
import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import type { CallTag } from "../../../../core/billing/usage/call_tags.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { type AccountId, type ApiKeyId, newId } from "../../../../core/lib/ids/ids.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";
import { shiftDay, vietnamDayStartMs } from "../../../../core/lib/time/vietnam_time.ts";
import {
  dayCopyKey,
  daySumKey,
  daySumsOfDayKey,
  kindOfKey,
  tagSumKey,
  tagSumsPrefix,
} from "../../../../kv/engine/schema/keys.ts";
import { decodeKey, decodeValue } from "../../../../kv/engine/parts/tuple_key.ts";
import { type ReadSnapshot, trackedSnapshot } from "../../../../kv/engine/parts/snapshot.ts";
import { WriteTracker } from "../../../../kv/engine/parts/write_tracker.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { rowsOfKeys } from "../../../../kv/engine/store/read_ahead.ts";
import { archivedSnapshot, archivedStore } from "../../../../kv/money/archive/archived_store.ts";
import type { ReceiptArchive } from "../../../../kv/money/archive/receipt_archive.ts";
import { chunkGroups, groupReceipts } from "../../../../kv/money/receipts/day_sum_group.ts";
import {
  addReceipt,
  daySumCell,
  endOfDays,
  noUsage,
  type UsageSum,
  usageSum,
} from "../../../../kv/money/receipts/day_sums.ts";
import { writeIndex } from "../../../../kv/money/receipts/index_write.ts";
import { readTagRows, TagSums } from "../../../../kv/money/receipts/tag_sums.ts";
import { moveSums } from "../../../../kv/services/archive/move_sums.ts";
import { receiptOf } from "../../../support/worlds/money_world.ts";
import { seededRandom } from "../../../support/random.ts";
import { Breaking, type TestArchive } from "./moving.ts";

const firstDay = "2026-03-30";
const days = Array.from({ length: 4 }, (_, at) => shiftDay(firstDay, at));
/** All of them are old enough. */
const nowMs = vietnamDayStartMs(shiftDay(firstDay, 60));
const models = ["m-1", "m 1", "mô hình", "\u{1F600}x", "~z"];
const tags: readonly CallTag[] = [
  { key: "team", value: "a b" },
  { key: "team", value: "ư~" },
  { key: "dự án", value: "\u{1F600}" },
];

/** A store with sums of some accounts, its archive, and a model of what readers have to see. */
class SumsWorld implements AsyncDisposable {
  readonly living: KeyValueStore;
  readonly archive: ReceiptArchive;
  readonly whole: KeyValueStore;
  readonly accounts: readonly AccountId[];
  readonly #test: TestArchive;
  readonly #keys: readonly ApiKeyId[];
  readonly #random: () => number;
  readonly #receipts: Receipt[] = [];

  private constructor(living: KeyValueStore, test: TestArchive, seed: number) {
    this.living = living;
    this.#test = test;
    this.accounts = Array.from({ length: 7 }, () => newId("account", nowMs)).sort();
    this.#keys = Array.from({ length: 2 }, () => newId("apiKey", nowMs));
    this.#random = seededRandom(seed);
    this.archive = this.#known(test.archive);
    this.whole = archivedStore(living, this.archive);
  }

  static async open(openArchive: () => Promise<TestArchive>, seed: number): Promise<SumsWorld> {
    return new SumsWorld(await Deno.openKv(":memory:"), await openArchive(), seed);
  }

  /** Receipts are not moved here, by which an archive knows its accounts. */
  #known(archive: ReceiptArchive): ReceiptArchive {
    const list = this.accounts;
    return {
      ...new Breaking(Infinity, false).archive(archive),
      accountsOfDay: () => Promise.resolve(list),
      accounts: ({ from, limit, reverse }) =>
        Promise.resolve(
          (reverse ? list.filter((id) => id < from).toReversed() : list.filter((id) => id >= from))
            .slice(0, limit),
        ),
    };
  }

  #one<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.#random() * items.length)];
    assert(item !== undefined, "one of some");
    return item;
  }

  receipt(some: Partial<Receipt> = {}): Receipt {
    const startedAtMs = vietnamDayStartMs(this.#one(days)) + Math.floor(this.#random() * dayMs);
    const providers = this.#random() < 0.7;
    return receiptOf(this.#one(this.accounts), {
      requestId: newId("request", startedAtMs),
      startedAtMs,
      keyId: this.#one(this.#keys),
      model: this.#one(models),
      route: this.#one(["one/m", "two/m x"]),
      units: 1 + Math.floor(this.#random() * 3),
      costMicroVnd: BigInt(Math.floor(this.#random() * 1e6)) *
        (this.#random() < 0.1 ? 10n ** 12n : 1n),
      latencyMs: Math.floor(this.#random() * 1_000),
      ...(this.#random() < 0.3 && { tags: [this.#one(tags)] }),
      ...(providers && {
        providerCost: this.#random() < 0.2 ? { kind: "unknown" } : {
          kind: "known",
          card: this.#one(["card", "card 2"]),
          units: { input: 3, output: Math.floor(this.#random() * 9) },
          costMicroVnd: BigInt(Math.floor(this.#random() * 1e5)),
        },
      }),
      ...some,
    });
  }

  /** Writes calls as the indexer does. */
  async write(receipts: readonly Receipt[], kv = this.whole): Promise<void> {
    for (const chunk of chunkGroups(groupReceipts(receipts))) {
      const outcome = await writeIndex(kv, chunk, { bounded: (call) => call });
      assertEquals(outcome, "written");
    }
    this.#receipts.push(...receipts);
  }

  move(
    parts: { readonly living?: KeyValueStore; readonly archive?: ReceiptArchive } = {},
    rowsPerCommit?: number,
  ) {
    const { living, archive } = this;
    return moveSums({ living, archive, ...parts }, days, { nowMs, rowsPerCommit });
  }

  /** What calls add up to, by the texts of the keys of all three kinds. */
  right(): Map<string, UsageSum> {
    const sums = new Map<
      string,
      {
        readonly one: Receipt;
        readonly sum: { -readonly [K in keyof UsageSum]: UsageSum[K] };
        readonly tags: TagSums;
      }
    >();
    for (const receipt of this.#receipts) {
      const key = JSON.stringify(cellKey(receipt));
      const known = sums.get(key) ?? { one: receipt, sum: { ...noUsage }, tags: new TagSums() };
      sums.set(key, known);
      addReceipt(known.sum, receipt);
      known.tags.add(receipt);
    }
    const right = new Map<string, UsageSum>();
    for (const { one, sum, tags } of sums.values()) {
      const cell = daySumCell(one);
      right.set(JSON.stringify(cellKey(one)), sum);
      if (sum.providers !== undefined) right.set(JSON.stringify(dayCopyKey(cell)), sum);
      for (const { tag, sum: tagged } of tags) {
        right.set(JSON.stringify(tagSumKey(cell, tag)), tagged);
      }
    }
    return right;
  }

  /** Reads all sums in every way, and compares them. */
  async check(when: string): Promise<void> {
    const right = this.right();
    const seen: [string, UsageSum][] = [];
    for (const kind of ["usage", "usage_by_day", "usage_tags"]) {
      for (const batchSize of [3, 100]) {
        const rows = await Array.fromAsync(
          this.whole.list<unknown>({ prefix: [kind] }, { batchSize }),
        );
        const living = await Deno.openKv(":memory:");
        for (const { key } of rows) await living.set(key, 0);
        const inOrder = await Array.fromAsync(living.list({ prefix: [kind] }), ({ key }) => key);
        living.close();
        assertEquals(rows.map(({ key }) => key), inOrder, `${kind} in order ${when}`);
        if (batchSize === 3) seen.push(...rows.map(entryOf));
      }
    }
    assertEquals(sorted(seen), sorted(right), when);
    const keys = [...right.keys()].map((key): Deno.KvKey => JSON.parse(key));
    const found = await rowsOfKeys(this.whole, keys);
    assertEquals(
      sorted(found.flatMap((row) => row === undefined ? [] : [entryOf(row)])),
      sorted(right),
    );
    const [account = "", other = ""] = this.accounts as readonly string[];
    await this.#checkRange({ prefix: ["usage", account] }, right, when);
    await this.#checkRange(
      { prefix: tagSumsPrefix(other as AccountId, days[1] ?? "") },
      right,
      when,
    );
    await this.#checkRange(
      {
        start: daySumsOfDayKey(account as AccountId, days[1] ?? ""),
        end: daySumsOfDayKey(account as AccountId, endOfDays(days[2] ?? "")),
      },
      right,
      when,
    );
    await this.#checkRange(
      {
        start: ["usage_by_day", days[1] ?? "", other],
        end: ["usage_by_day", endOfDays(days[2] ?? "")],
      },
      right,
      when,
    );
    for (const accountId of this.accounts.slice(0, 2)) {
      const rows = await readTagRows(this.whole, accountId, {
        fromDay: firstDay,
        toDay: days[3] ?? "",
      });
      const wanted = keys.filter((key) => kindOfKey(key) === "usage_tags" && key[1] === accountId);
      assertEquals(rows.length, wanted.length, `tags ${when}`);
    }
    await this.#checkTagged(keys, when);
  }

  /** The accounts with sums by tag are those of the store and those of which the archive says so. */
  async #checkTagged(keys: readonly Deno.KvKey[], when: string): Promise<void> {
    const tagged = new Set<Deno.KvKeyPart | undefined>();
    for await (const { key } of this.living.list({ prefix: ["usage_tags"] })) tagged.add(key[1]);
    const archived = this.whole.archivedDaySums?.();
    assert(archived !== undefined);
    for await (const { key, hasTags } of archived) if (hasTags) tagged.add(key[1]);
    const wanted = keys.filter((key) => kindOfKey(key) === "usage_tags").map((key) => key[1]);
    assertEquals(wanted.filter((account) => !tagged.has(account)), [], `tagged ${when}`);
  }

  async #checkRange(
    selector: Deno.KvListSelector,
    right: ReadonlyMap<string, UsageSum>,
    when: string,
  ) {
    const all = await Deno.openKv(":memory:");
    for (const key of right.keys()) await all.set(JSON.parse(key), 0);
    const wanted = await Array.fromAsync(all.list(selector), ({ key }) => JSON.stringify(key));
    all.close();
    const rows = await Array.fromAsync(this.whole.list<unknown>(selector, { batchSize: 2 }));
    assertEquals(
      rows.map(({ key }) => JSON.stringify(key)),
      wanted,
      `${JSON.stringify(selector)} ${when}`,
    );
    assertEquals(
      rows.map(entryOf).map(([, sum]) => sum),
      wanted.map((key) => right.get(key)),
      when,
    );
  }

  /**
   * What a backup has of the sums, the last row of a key counting.
   *
   * @param amid runs once the store was read as of one moment, and nothing of the archive
   */
  async backedUp(
    amid: () => Promise<void> = () => Promise.resolve(),
    maxSeenSums?: number,
  ): Promise<[string, UsageSum][]> {
    const { living, archive } = this;
    const rows = new Map<string, UsageSum>();
    const snapshot: ReadSnapshot = async function* (reading) {
      yield* trackedSnapshot(living, new WriteTracker(), reading);
      await amid();
    };
    const options = { clock: { nowMs: () => nowMs }, ...defined({ maxSeenSums }) };
    const source = { kv: living, snapshot };
    for await (const { key, value } of archivedSnapshot(source, archive, options)) {
      const decoded = decodeKey(key);
      if (!["usage", "usage_by_day", "usage_tags"].includes(kindOfKey(decoded))) continue;
      if (value !== null) rows.set(JSON.stringify(decoded), usageSum(decodeValue(value)));
    }
    return [...rows];
  }

  async livingRows(): Promise<number> {
    let rows = 0;
    for (const kind of ["usage", "usage_by_day", "usage_tags"]) {
      rows += (await Array.fromAsync(this.living.list({ prefix: [kind] }))).length;
    }
    return rows;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.living.close();
    await this.#test[Symbol.asyncDispose]();
  }
}

function cellKey(receipt: Receipt): Deno.KvKey {
  const { accountId, day, keyId, model } = daySumCell(receipt);
  return daySumKey(accountId, day, keyId, model);
}

function entryOf({ key, value }: Deno.KvEntry<unknown>): [string, UsageSum] {
  return [JSON.stringify(key), usageSum(value)];
}

function sorted(rows: Iterable<[string, UsageSum]>): [string, UsageSum][] {
  return [...rows].sort(([one], [other]) => ascending(one, other));
}

export function testMovingSums(
  name: string,
  openArchive: () => Promise<TestArchive>,
  options: Omit<Deno.TestDefinition, "name" | "fn"> = {},
): void {
  const test = (what: string, fn: () => Promise<void>) =>
    Deno.test({ name: `${name}: ${what}`, fn, ...options });
  const open = (seed = 1) => SumsWorld.open(openArchive, seed);

  test("sums that have moved are read as before, in every order and range", async () => {
    await using world = await open();
    await world.check("of nothing");
    await world.write(Array.from({ length: 60 }, () => world.receipt()));
    await world.check("before");
    assert(await world.move() > 20, "cells were moved");
    assertEquals(await world.livingRows(), 0);
    await world.check("afterwards");
    assertEquals(await world.move(), 0);
    assertEquals(sorted(await world.backedUp()), sorted(world.right()));
  });

  test("sums of days that are not old enough stay", async () => {
    await using world = await open();
    await world.write([world.receipt()]);
    const { living, archive } = world;
    const early = { nowMs: vietnamDayStartMs(shiftDay(firstDay, 35)) };
    assertEquals(await moveSums({ living, archive }, days, early), 0);
    await world.check("within the days that stay");
  });

  test("a random life of calls, late ones, moves and kills adds up all the time", async () => {
    for (let seed = 1; seed <= 4; seed++) {
      await using world = await open(seed);
      const random = seededRandom(seed);
      for (let step = 0; step < 12; step++) {
        const draw = random();
        if (draw < 0.45) {
          const count = 1 + Math.floor(random() * 20);
          await world.write(Array.from({ length: count }, () => world.receipt()));
        } else if (draw < 0.6) await world.move({}, 3);
        else if (draw < 0.9) {
          const breaking = new Breaking(Math.floor(random() * 30), random() < 0.5);
          const parts = {
            living: breaking.store(world.living),
            archive: { ...world.archive, writeSums: breaking.archive(world.archive).writeSums },
          };
          await world.move(parts, 3).catch(() => {});
        } else {
          const receipts = Array.from({ length: 5 }, () => world.receipt());
          await Promise.all([world.move({}, 3), world.write(receipts), world.move({}, 3)]);
        }
        await world.check(`with seed ${seed} after step ${step}`);
      }
      assertEquals(sorted(await world.backedUp()), sorted(world.right()));
      for (let night = 0; night < 3; night++) await world.move();
      assertEquals(await world.livingRows(), 0);
      await world.check(`with seed ${seed} in the end`);
      assertEquals(sorted(await world.backedUp()), sorted(world.right()));
    }
  });

  test("a late call, or another run, amid any act of a move is lost nowhere", async () => {
    for (const what of ["a late call", "another run"]) {
      let acts = 0;
      for (let isDone = false; !isDone; acts++) {
        await using world = await open(7);
        const first = world.receipt({ tags: [{ key: "team", value: "a" }] });
        const late = () => ({ ...first, requestId: newId("request", first.startedAtMs) });
        await world.write([first, world.receipt(), late()]);
        await world.move();
        await world.write([late()]);
        isDone = true;
        const breaking = new Breaking(acts, false, () => new Error("never"));
        const interrupt = async () => {
          isDone = false;
          if (what === "a late call") await world.write([late()]);
          else await world.move();
        };
        breaking.act = async (run) => {
          if (breaking.left-- === 0) await interrupt();
          return await run();
        };
        await world.move({
          living: breaking.store(world.living),
          archive: { ...world.archive, writeSums: breaking.archive(world.archive).writeSums },
        }, 2);
        await world.check(`${what} before act ${acts}`);
        await world.move();
        assertEquals(await world.livingRows(), 0, `${what} before act ${acts}`);
        await world.check(`${what} before act ${acts}, moved`);
      }
      assert(acts > 3, `${acts} acts`);
    }
  });

  test("a late call between the copy of its sum and the commit of the copy stays", async () => {
    await using world = await open(5);
    const first = world.receipt();
    const late = () => ({ ...first, requestId: newId("request", first.startedAtMs) });
    await world.write([first]);
    const archive: ReceiptArchive = {
      ...world.archive,
      writeSums: ({ merge, ...sums }) =>
        world.archive.writeSums({
          ...sums,
          merge: async (pages) => {
            const merged = await merge(pages);
            await world.write([late()]);
            return merged;
          },
        }),
    };
    assertEquals(await world.move({ archive }), 0);
    await world.check("with a late call in the store");
    assertEquals(await world.move(), 1);
    await world.check("moved");
  });

  test("a backup has the sums of its moment, whatever moves and ends late meanwhile", async () => {
    await using world = await open(11);
    const first = world.receipt({ tags: [{ key: "team", value: "a" }] });
    const late = () => ({ ...first, requestId: newId("request", first.startedAtMs) });
    await world.write([first, world.receipt(), world.receipt()]);
    const before = sorted(world.right());
    const moveLate = async () => {
      await world.move();
      await world.write([late()]);
      await world.move();
    };
    assertEquals(sorted(await world.backedUp(moveLate)), before, "of days that leave first now");
    await assertRejects(() => world.backedUp(moveLate), Error, "try again");
    assertEquals(sorted(await world.backedUp()), sorted(world.right()));
  });

  test("a backup that cannot remember all sums fails once their day leaves, and else does not", async () => {
    await using world = await open(12);
    await world.write(Array.from({ length: 20 }, () => world.receipt()));
    assertEquals(sorted(await world.backedUp(undefined, 3)), sorted(world.right()));
    await assertRejects(() => world.backedUp(async () => void await world.move(), 3), Error);
    assertEquals(sorted(await world.backedUp(undefined, 3)), sorted(world.right()));
  });

  test("a writer that has read an archived sum does not undo another one's call", async () => {
    for (const isThere of [true, false]) {
      for (const isMoved of [true, false]) {
        // The other call comes before the archive is looked at once more, or behind that.
        for (const isLate of [true, false]) {
          await using world = await open(3);
          const first = world.receipt();
          const late = () => ({ ...first, requestId: newId("request", first.startedAtMs) });
          // Some sum of the day has left in any case.
          await world.write([isThere ? first : { ...late(), model: "another" }]);
          await world.move();
          let commits = 0;
          const slowed = (kv: KeyValueStore) =>
            withCommits(kv, async (commit) => {
              if (commits++ === 0) {
                await world.write([late()]);
                if (isMoved) await world.move();
              }
              return await commit();
            });
          const slow = isLate
            ? archivedStore(slowed(world.living), world.archive)
            : slowed(world.whole);
          await world.write([late()], slow);
          assertEquals(commits, 2, "the first commit was refused");
          await world.check("after both");
          await world.move();
          await world.check("after both, moved");
        }
      }
    }
  });
}

type Commit = () => Promise<Deno.KvCommitResult | Deno.KvCommitError>;

/** A store whose commits go through a function. */
function withCommits(
  kv: KeyValueStore,
  through: (commit: Commit) => ReturnType<Commit>,
): KeyValueStore {
  return {
    ...new Breaking(Infinity, false).store(kv),
    atomic() {
      const op = kv.atomic();
      const commit = op.commit.bind(op);
      op.commit = () => through(commit);
      return op;
    },
  };
}
