import { assert, assertEquals } from "../../../support/assert.ts";
import { newId, type RequestId } from "../../../../core/lib/ids/ids.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";
import {
  archivedSchemaVersion,
  readSchemaVersion,
} from "../../../../kv/engine/opening/schema_version.ts";
import type { AtomicWrite, KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { readUsage } from "../../../../kv/money/ledger/usage.ts";
import {
  type ArchivedSum,
  sumPagesOf,
  sumsOnPage,
} from "../../../../kv/money/archive/sum_pages.ts";
import { rebuildDaySums } from "../../../../kv/money/receipts/rebuild_sums.ts";
import { openWalletEngine } from "../../../../kv/money/wallet/mod.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { StoreUnavailableError } from "../../../../kv/engine/store/store_unavailable.ts";
import { archivedStore } from "../../../../kv/money/archive/archived_store.ts";
import type { ReceiptArchive } from "../../../../kv/money/archive/receipt_archive.ts";
import { callColumns } from "../../../../kv/money/archive/archive_tables.ts";
import { idOfRequest } from "../../../../kv/money/archive/receipt_rows.ts";
import { runRandom } from "../../../support/random.ts";
import { listFailed } from "../../../../kv/money/receipts/receipt_index.ts";
import { listReceipts, readReceipts } from "../../../../kv/money/receipts/receipts.ts";
import {
  moveDays,
  type MoveOptions,
  type MoveReport,
} from "../../../../kv/services/archive/move_days.ts";
import { readChain } from "../../../../kv/services/verify/days/checkpoint_chain.ts";
import { resealDays } from "../../../../kv/services/verify/verify_books.ts";
import { draftOf, listAllReceipts, mustReserve } from "../../../support/worlds/money_world.ts";
import { BooksWorld, problemLines } from "../../../support/worlds/books_world.ts";

/** An empty archive of a test's own. */
export interface TestArchive extends AsyncDisposable {
  readonly archive: ReceiptArchive;
  /** Changes rows behind the archive's back. */
  change(sql: string): Promise<void>;
  /** Makes each sum by day dearer by 1 µVND behind the archive's back. */
  raiseDaySums(): Promise<void>;
}

/** A world of which three days are sealed, with an archive. */
class ArchiveWorld implements AsyncDisposable {
  readonly world: BooksWorld;
  readonly test: TestArchive;
  /** What readers use. */
  readonly whole: KeyValueStore;

  constructor(world: BooksWorld, test: TestArchive) {
    this.world = world;
    this.test = test;
    this.whole = archivedStore(world.kv, test.archive);
  }

  async move(
    parts: { readonly living?: KeyValueStore; readonly archive?: ReceiptArchive } = {},
    options: Partial<Pick<MoveOptions, "rowsPerCommit" | "nowMs">> = {},
  ): Promise<MoveReport> {
    const { world, test: { archive } } = this;
    const { checkpoints, problems } = await readChain(world.kv, world.masterKeys);
    assertEquals(problems, []);
    return await moveDays({ living: world.kv, archive, ...parts }, {
      checkpoints,
      nowMs: world.nowMs,
      ...options,
    });
  }

  /** Everything that readers of receipts see. */
  async seen(kv = this.whole) {
    const { ann, bob } = this.world;
    const accounts = [];
    for (const accountId of [ann, bob]) {
      const pages: RequestId[][] = [];
      let before: RequestId | undefined;
      do {
        const page = await listReceipts(kv, accountId, { limit: 3, ...(before && { before }) });
        pages.push(page.receipts.map(({ requestId }) => requestId));
        before = page.next;
      } while (before !== undefined);
      accounts.push({ pages, failed: await Array.fromAsync(listFailed(kv, accountId)) });
    }
    const all = await Array.fromAsync(listAllReceipts(kv));
    const ids = all.map(({ requestId }) => requestId);
    return { accounts, all, byId: await readReceipts(kv, ids) };
  }

  async rows(prefix: string): Promise<number> {
    return (await Array.fromAsync(this.world.kv.list({ prefix: [prefix] }))).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.test[Symbol.asyncDispose]();
    await this.world[Symbol.asyncDispose]();
  }
}

/** A store or archive that breaks at the n-th act that changes something, before or after it took effect. */
export class Breaking {
  left: number;
  readonly #isAfter: boolean;

  readonly #failure: () => Error;

  constructor(left: number, isAfter: boolean, failure = () => new Error("killed")) {
    this.left = left;
    this.#isAfter = isAfter;
    this.#failure = failure;
  }

  async act<Result>(run: () => Promise<Result>): Promise<Result> {
    const isLast = this.left-- === 0;
    if (isLast && !this.#isAfter) throw this.#failure();
    const result = await run();
    if (isLast) throw this.#failure();
    if (this.left < -1) throw new Error("a dead process acts");
    return result;
  }

  store(kv: KeyValueStore): KeyValueStore {
    const atomic = (): AtomicWrite => {
      const op = kv.atomic();
      const commit = op.commit.bind(op);
      op.commit = () => this.act(commit);
      return op;
    };
    return {
      get: (key) => kv.get(key),
      getMany: (keys) => kv.getMany(keys),
      list: (selector, options) => kv.list(selector, options),
      set: (key, value, options) => this.act(() => kv.set(key, value, options)),
      delete: (key) => this.act(() => kv.delete(key)),
      atomic,
      close: () => {},
      [Symbol.dispose]: () => {},
    };
  }

  archive(archive: ReceiptArchive): ReceiptArchive {
    return {
      callsBetween: (range) => archive.callsBetween(range),
      callsThatFit: (reading) => archive.callsThatFit(reading),
      callsByDay: (...asked) => archive.callsByDay(...asked),
      timeOfCall: (...asked) => archive.timeOfCall(...asked),
      idsOf: (accountId, reading) => archive.idsOf(accountId, reading),
      idsAmong: (calls, onlyFailed) => archive.idsAmong(calls, onlyFailed),
      accounts: (list) => archive.accounts(list),
      hoursBetween: (fromMs, toMs) => archive.hoursBetween(fromMs, toMs),
      accountsOfDay: (day, onlyFailed) => archive.accountsOfDay(day, onlyFailed),
      chargesOf: (fromDay, toDay) => archive.chargesOf(fromDay, toDay),
      sumPages: (reading) => archive.sumPages(reading),
      writeSums: (sums) => this.act(() => archive.writeSums(sums)),
      writeHour: (hour) => this.act(() => archive.writeHour(hour)),
      finishDay: (day, lines) => this.act(() => archive.finishDay(day, lines)),
      packDay: (day) => this.act(() => archive.packDay(day)),
      packMonth: (month) => this.act(() => archive.packMonth(month)),
      months: () => archive.months(),
      dropMonth: (month) => archive.dropMonth(month),
      close: () => archive.close(),
    };
  }
}

/** Tests that days move to an archive, whatever it is made of. */
export function testMoving(
  name: string,
  openArchive: () => Promise<TestArchive>,
  options: Omit<Deno.TestDefinition, "name" | "fn"> = {},
): void {
  const test = (what: string, fn: () => Promise<void>) =>
    Deno.test({ name: `${name}: ${what}`, fn, ...options });
  const open = async () => {
    const world = await BooksWorld.used();
    assertEquals((await world.verify()).sealedNow.length, 3);
    return new ArchiveWorld(world, await openArchive());
  };
  test("a moved day leaves the store, and every reader sees what it saw before", async () => {
    await using world = await open();
    const before = await world.seen(world.world.kv);
    assertEquals(before.all.length, 16);
    const report = await world.move();
    assertEquals(report.problems, []);
    assertEquals(report.moved.map(({ receipts }) => receipts), [4, 4, 4]);
    // What is left are the calls of today.
    assertEquals([await world.rows("receipt"), await world.rows("receipts_of")], [4, 4]);
    assertEquals(await world.seen(), before);
    assertEquals(await world.move(), { moved: [], problems: [] });
    for (const isFull of [false, true]) {
      const books = await world.world.verify({ kv: world.whole, isFull });
      assertEquals(problemLines(books), []);
      assertEquals(books.full, isFull);
    }
    assertEquals((await world.world.verify({ kv: world.whole, isFull: true })).receipts, 16);
  });

  test("a run that loses its store says what it has moved, and the next one moves the rest", async () => {
    let isCutShort = false;
    for (const left of [0, 4, 8, 12]) {
      await using world = await open();
      const before = await world.seen(world.world.kv);
      const away = () => new StoreUnavailableError("unreachable");
      const living = new Breaking(left, left % 8 === 0, away).store(world.world.kv);
      const cut = await world.move({ living }, { rowsPerCommit: 1 });
      assertEquals([cut.outage?.kind, cut.problems], ["unreachable", []]);
      isCutShort ||= cut.moved.length > 0;
      const rest = await world.move();
      assertEquals([rest.outage, cut.moved.length + rest.moved.length], [undefined, 3]);
      assertEquals(await world.seen(), before);
    }
    assert(isCutShort, "a day had moved before an outage");
  });

  test("archived sums are verified against archived receipts, and rebuilt where they are wrong", async () => {
    await using world = await open();
    const { kv, ann, bob, nowMs } = world.world;
    const verified = async () =>
      problemLines(await world.world.verify({ kv: world.whole, isFull: true }));
    assertEquals((await world.move({}, { nowMs: nowMs + 60 * dayMs })).sums, 6);
    assertEquals(await world.rows("usage"), 2);
    assertEquals(await verified(), []);
    const [page] = await world.test.archive.sumPages({
      fromAccount: ann,
      toAccount: ann,
      fromDay: "",
      toDay: "~",
      limit: 1,
    });
    assert(page !== undefined, "a page");
    const [sum] = sumsOnPage(page, [ann]);
    assert(sum !== undefined, "a sum");
    const wrong: ArchivedSum[] = [
      { ...sum, sum: { ...sum.sum, outputTokens: sum.sum.outputTokens + 1 } },
      { ...sum, cell: { ...sum.cell, model: "without calls" } },
    ];
    const others = sumsOnPage(page, [bob]);
    await world.test.archive.writeSums({
      day: page.day,
      fromAccount: page.firstAccount,
      toAccount: page.lastAccount,
      merge: () => Promise.resolve(sumPagesOf(page.day, [...wrong, ...others])),
    });
    const lines = await verified();
    assert(lines.some((line) => line.includes(`${page.day} ${sum.cell.keyId}`)), lines.join());
    const rebuilt = await rebuildDaySums(world.whole, ann, { nowMs, afterDay: undefined });
    assertEquals(rebuilt, { corrected: 2, isMoving: false });
    const again = await rebuildDaySums(world.whole, ann, { nowMs, afterDay: undefined });
    assertEquals(again, { corrected: 0, isMoving: false });
    assertEquals(await verified(), []);
    // What stands in place of an archived sum moves behind it.
    assertEquals((await world.move({}, { nowMs: nowMs + 60 * dayMs })).sums, 2);
    assertEquals((await Array.fromAsync(kv.list({ prefix: ["usage"] }))).length, 2);
    assertEquals(await verified(), []);
    const days = { fromDay: page.day, toDay: page.day };
    const [usage, ...more] = await readUsage(world.whole, ann, days);
    assertEquals([usage?.usage.calls, more.length], [2, 0]);
  });

  test("a call that ends after its sums have moved is in them once, and moves behind them", async () => {
    await using world = await open();
    const { ann, bob, nowMs } = world.world;
    const later = { nowMs: nowMs + 60 * dayMs };
    await world.move({}, later);
    const wallet = await openWalletEngine(world.whole, {
      clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
      timer: new ManualTime(),
    });
    const startedAtMs = nowMs - 2 * dayMs + 60_000;
    const day = vietnamDay(startedAtMs);
    for (const account of [ann, bob, ann]) {
      const late = draftOf(5n, { requestId: newId("request", startedAtMs), startedAtMs });
      await wallet.settle(await mustReserve(wallet, account, 5n), late);
    }
    await wallet.indexOnce();
    await wallet.close();
    const calls = async () => {
      const sums = [ann, bob].map((id) => readUsage(world.whole, id, { fromDay: day, toDay: day }));
      return (await Promise.all(sums)).map((rows) => rows.map(({ usage }) => usage.calls));
    };
    assertEquals(await calls(), [[4], [3]]);
    const { masterKeys } = world.world;
    const options = { masterKeys, nowMs, pause: () => Promise.resolve() };
    assertEquals(problemLines(await resealDays(world.whole, day, options)), []);
    const report = await world.move({}, later);
    assertEquals([report.problems, report.sums], [[], 2]);
    assertEquals([await world.rows("receipt"), await world.rows("usage")], [4, 2]);
    assertEquals(await calls(), [[4], [3]]);
    assertEquals(problemLines(await world.world.verify({ kv: world.whole, isFull: true })), []);
  });

  test("a store whose days have moved is refused by programs without an archive", async () => {
    await using world = await open();
    assertEquals(await readSchemaVersion(world.world.kv), 1);
    await world.move();
    assertEquals(await readSchemaVersion(world.world.kv), archivedSchemaVersion);
  });

  test("without its archive, the books of a store do not agree", async () => {
    await using world = await open();
    await world.move();
    const books = await world.world.verify({ isFull: true });
    assert(!books.ok, "twelve receipts are missing");
  });

  test("a changed row of the archive shows against the seal of its day", async () => {
    await using world = await open();
    await world.move();
    await world.test.change(
      "update receipts set output_tokens = output_tokens + 1 where cost_micro_vnd = 20",
    );
    const books = await world.world.verify({ kv: world.whole, isFull: true });
    assert(problemLines(books).some((line) => line.startsWith("seal: the receipts of")), "a seal");
  });

  test("a changed column of any call of the archive is found if its readers see it", async () => {
    await using world = await open();
    const { all } = await world.seen(world.world.kv);
    await world.move();
    const pages = async () => {
      const rows = await Array.fromAsync(world.whole.list<string>({ prefix: ["receipt"] }));
      return rows.map(({ key, value }) => `${key.join(" ")} ${value}`).join("\n");
    };
    const before = await pages();
    const numbers = Object.values(callColumns).filter(({ name, kind }) =>
      name !== "position" && !["time", "flag", "text"].includes(kind)
    );
    const found: string[] = [];
    const first = Math.floor(runRandom() * 12);
    for (const { name } of numbers) {
      const change = (id: string, by: string) =>
        world.test.change(
          `update receipts set ${name} = ${name} ${by} where id = '${idOfRequest(id)}'`,
        );
      // A column of another kind of call is empty, and stays so: the next call has its turn.
      for (let tried = 0; tried < 12 && !found.includes(name); tried++) {
        const receipt = all[(first + tried) % 12];
        assert(receipt !== undefined, "an archived call");
        await change(receipt.requestId, "+ 1");
        const isSeen = await pages() !== before;
        if (isSeen) found.push(name);
        if (isSeen || tried === 0) {
          const books = await world.world.verify({ kv: world.whole, isFull: true });
          assertEquals(books.ok, !isSeen, `${name}: ${problemLines(books).join()}`);
        }
        await change(receipt.requestId, "- 1");
      }
    }
    assert(found.length >= 8, found.join());
    assertEquals(problemLines(await world.world.verify({ kv: world.whole, isFull: true })), []);
  });

  for (const isMovedBefore of [false, true]) {
    const when = isMovedBefore ? "after its day has moved" : "after the seal";
    test(`a call that is settled ${when} stays in the store until its day is sealed anew`, async () => {
      await using world = await open();
      const { kv, wallet, masterKeys, nowMs } = world.world;
      const [, second] = (await readChain(kv, masterKeys)).checkpoints;
      assert(second !== undefined, "a second day");
      if (isMovedBefore) await world.move();
      const startedAtMs = nowMs - 2 * dayMs + 60_000;
      const late = draftOf(5n, { requestId: newId("request", startedAtMs), startedAtMs });
      await wallet.settle(await mustReserve(wallet, world.world.ann, 5n), late);
      await wallet.indexOnce();
      const seen = await world.seen();
      assertEquals(seen.all.length, 17);
      const report = await world.move();
      assertEquals(report.moved.length, isMovedBefore ? 0 : 2);
      assert(report.problems[0]?.includes(second.day), report.problems[0] ?? "");
      assertEquals(await world.rows("receipt"), isMovedBefore ? 5 : 9);
      assertEquals(await world.seen(), seen);
      const options = { masterKeys, nowMs, pause: () => Promise.resolve() };
      assertEquals(problemLines(await resealDays(world.whole, second.day, options)), []);
      assertEquals((await world.move()).problems, []);
      assertEquals([await world.rows("receipt"), await world.rows("receipts_of")], [4, 4]);
      assertEquals(await world.seen(), seen);
    });
  }

  test("a day with a page that cannot be archived stays in the store", async () => {
    await using world = await open();
    const { kv, masterKeys, nowMs } = world.world;
    const page = await world.world.row(["receipt"], 5);
    await kv.set(page.key, String(page.value).replace(",", " ,"));
    const options = { masterKeys, nowMs, pause: () => Promise.resolve() };
    const [first] = (await readChain(kv, masterKeys)).checkpoints;
    assertEquals(problemLines(await resealDays(kv, first?.day ?? "", options)), []);
    const report = await world.move();
    assertEquals(report.moved.length, 2);
    assert(report.problems[0]?.includes("written in another way"), report.problems[0] ?? "");
    assertEquals(await world.rows("receipt"), 8);
  });

  test("killed at any act, a receipt is seen once all the time, and the next run ends the day", async () => {
    for (const isAfter of [false, true]) {
      let acts = 0;
      for (let isDone = false; !isDone; acts++) {
        await using world = await open();
        const before = await world.seen(world.world.kv);
        const breaking = new Breaking(acts, isAfter);
        const parts = {
          living: breaking.store(world.world.kv),
          archive: breaking.archive(world.test.archive),
        };
        isDone = await world.move(parts, { rowsPerCommit: 2 }).then(() => true, () => false);
        assertEquals(await world.seen(), before, `after ${acts} acts`);
        const books = await world.world.verify({ kv: world.whole, isFull: true });
        assertEquals(problemLines(books), [], `after ${acts} acts`);
        assertEquals((await world.move()).problems, []);
        assertEquals([await world.rows("receipt"), await world.rows("receipts_of")], [4, 4]);
        assertEquals(await world.seen(), before);
      }
      assert(acts > 15, `${acts} acts`);
    }
  });

  test("the months before that of the last day are packed", async () => {
    await using world = await open();
    const empty = {
      receipts: 0,
      chargedMicroVnd: 0n,
      lines: 0,
      ledgerMicroVnd: 0n,
      receiptHours: Array<string>(24).fill(""),
      ledgerDigest: "",
      previousSeal: null,
      balances: null,
      sealedAtMs: 0,
      seal: "",
    };
    const days = ["2026-01-30", "2026-01-31", "2026-02-28", "2026-03-01", "2026-03-02"];
    const packed: string[] = [];
    const archive: ReceiptArchive = {
      ...new Breaking(Infinity, false).archive(world.test.archive),
      packMonth: (month) => Promise.resolve(void packed.push(month)),
    };
    const checkpoints = days.map((day) => ({ ...empty, day }));
    await moveDays({ living: world.world.kv, archive }, { checkpoints, nowMs: 0 });
    assertEquals(packed, ["2026-01", "2026-02"]);
  });

  test("two that move at once leave what one leaves", async () => {
    await using world = await open();
    const before = await world.seen(world.world.kv);
    const reports = await Promise.all([world.move(), world.move()]);
    assertEquals(reports.flatMap(({ problems }) => problems), []);
    assertEquals([await world.rows("receipt"), await world.rows("receipts_of")], [4, 4]);
    assertEquals(await world.seen(), before);
  });

  test("a list that is read while its day leaves misses nothing and doubles nothing", async () => {
    await using world = await open();
    const before = (await world.seen(world.world.kv)).all;
    for (const batchSize of [1, 2, 3, 100]) {
      for (const reverse of [false, true]) {
        const rows = world.whole.list({ prefix: ["receipt"] }, { batchSize, reverse });
        const keys: string[] = [];
        for await (const { key } of rows) {
          keys.push(key.join());
          if (keys.length === 6) await world.move();
        }
        assertEquals(keys.length, before.length);
        assertEquals([...new Set(keys)].sort(), reverse ? keys.toReversed() : keys);
      }
    }
  });
}
