import { assert, assertEquals } from "../../../support/assert.ts";
import {
  keptSinceMs,
  type RetentionKindName,
  retentionKindNames,
  type RetentionSettings,
} from "../../../../core/config/retention.ts";
import { microVndPerVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import type { Invoice, InvoiceState } from "../../../../core/trade/invoices/invoice.ts";
import { mailQueue } from "../../../../kv/engine/outbox/outbox.ts";
import { bury } from "../../../../kv/engine/outbox/outbox_dead_letters.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { archivedStore } from "../../../../kv/money/archive/archived_store.ts";
import { addAuditLine, commandLine } from "../../../../kv/people/audit/operator_audit.ts";
import { moveDays } from "../../../../kv/services/archive/move_days.ts";
import { writeRefusedCall } from "../../../../kv/services/calls/refused_calls.ts";
import {
  applyRetention,
  planRetention,
  type RetentionSource,
} from "../../../../kv/services/retention/retention.ts";
import { readChain } from "../../../../kv/services/verify/days/checkpoint_chain.ts";
import { listDropped } from "../../../../kv/services/verify/days/dropped_rows.ts";
import { videoPolls } from "../../../../kv/services/videos/mod.ts";
import { buyer } from "../../../support/worlds/invoice_requests.ts";
import { seededRandom } from "../../../support/random.ts";
import { BooksWorld, problemLines } from "../../../support/worlds/books_world.ts";
import { Breaking, type TestArchive } from "../archive/moving.ts";

/** Short enough that most rows of a world are older. */
const settings: RetentionSettings = {
  receipts: 3,
  refused_calls: 40,
  audit_log: 5,
  money_acts: 0,
  invoices: 0,
  unsent_mails: 60,
};

type RowsKind = Exclude<RetentionKindName, "receipts">;

/** A row as it was written. */
interface Written {
  readonly kind: RowsKind;
  readonly atMs: number;
  readonly sort: string;
  readonly amountMicroVnd: bigint;
}

const steps = 60;
/** Far more than it takes: a run that never ends fails. */
const maxKills = 100;
const invoiceStates: readonly InvoiceState[] = ["requested", "sent", "rejected", "replaced"];
const foreverMs = 100_000 * dayMs;

/** An archive that is closed at the end of a test. */
type OpenArchive = AsyncDisposable & Pick<TestArchive, "archive">;

/** A store with rows of all kinds over a year and a half, whose days are sealed and archived. */
class AgedWorld implements AsyncDisposable {
  readonly written: Written[] = [];
  /** Rows that stay, whatever their age. */
  readonly staying: Deno.KvKey[] = [];
  readonly world: BooksWorld;
  readonly #test: OpenArchive;
  readonly #random: () => number;

  private constructor(world: BooksWorld, test: OpenArchive, seed: number) {
    this.world = world;
    this.#test = test;
    this.#random = seededRandom(seed);
  }

  static async open(test: OpenArchive, kv: KeyValueStore, seed: number): Promise<AgedWorld> {
    const aged = new AgedWorld(await BooksWorld.open(kv), test, seed);
    const { world } = aged;
    await world.topUp(world.ann, 100_000n);
    await world.topUp(world.bob, 100_000n);
    for (let step = 0; step < steps; step++) {
      await aged.#step();
      world.advance(Math.ceil(aged.#random() * 15) * dayMs);
    }
    assertEquals(problemLines(await world.verify()), []);
    const { checkpoints } = await readChain(kv, world.masterKeys);
    const before = vietnamDay(world.nowMs - 35 * dayMs);
    const some = checkpoints.filter(({ day }) => day < before);
    const parts = { living: kv, archive: test.archive };
    const moved = await moveDays(parts, { checkpoints: some, nowMs: world.nowMs });
    assertEquals(moved.problems, []);
    return aged;
  }

  #one<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.#random() * items.length)];
    assert(item !== undefined, "an item");
    return item;
  }

  async #step(): Promise<void> {
    const { kv, nowMs, ann, bob } = this.world;
    const accountId = this.#one([ann, bob]);
    await this.world.call(accountId, BigInt(Math.ceil(this.#random() * 50)));
    await this.world.topUp(accountId, 3n);
    const op = kv.atomic();
    const note = (kind: RowsKind, sort: string, amountMicroVnd = 0n) =>
      this.written.push({ kind, atMs: nowMs, sort, amountMicroVnd });
    const code = this.#one(["rate_limit_exceeded", "invalid_request"] as const);
    const requestId = newId("request", nowMs);
    const keyId = newId("apiKey", nowMs);
    writeRefusedCall(op, {
      ...{ requestId, accountId, keyId, atMs: nowMs, latencyMs: 1 },
      ...{ status: 429, code, message: "no" },
    }, foreverMs);
    note("refused_calls", code);
    const isOfMoney = this.#random() < 0.5;
    const act = isOfMoney ? "wallet_adjusted" : "route_changed";
    const amountMicroVnd = isOfMoney ? BigInt(Math.ceil(this.#random() * 9)) : 0n;
    const balances = { balanceBeforeMicroVnd: 0n, balanceAfterMicroVnd: amountMicroVnd };
    const money = { accountId, amountMicroVnd, ...balances };
    const line = { act, subject: "s", detail: "d", atMs: nowMs } as const;
    addAuditLine(op, commandLine, { ...line, ...(isOfMoney && { money }) });
    note(isOfMoney ? "money_acts" : "audit_log", act, amountMicroVnd);
    const row = { payload: {}, createdAtMs: nowMs, attempts: 8 };
    bury(op, mailQueue, { id: requestId, row, reason: "SmtpError", nowMs });
    note("unsent_mails", "SmtpError");
    bury(op, videoPolls, { id: requestId, row, reason: "TypeError", nowMs });
    this.staying.push(["outbox_dead", videoPolls.name, requestId]);
    await op.commit();
    await this.#invoice(this.#one(invoiceStates));
  }

  async #invoice(state: InvoiceState): Promise<void> {
    const { kv, nowMs, ann } = this.world;
    const id = newId("invoice", nowMs);
    const file = {
      fileId: "f",
      name: "f.pdf",
      type: "application/pdf",
      bytes: 2,
      parts: 2,
    } as const;
    const invoice: Invoice = {
      ...{ id, accountId: ann, basis: { kind: "orders", codes: [] }, note: "", itemName: "n" },
      ...{ rate: { percent: 8 }, netVnd: 9n, vatVnd: 1n, grossVnd: 10n, amountInWords: "ten" },
      ...{ requestedAtMs: nowMs, changedAtMs: nowMs, state, files: [file] },
      buyer: buyer(),
    };
    await kv.atomic().set(["invoice", id], invoice).set(["invoice_by_account", ann, id], null)
      .set(["invoice_file", id, "f", 0], new Uint8Array(1))
      .set(["invoice_file", id, "f", 1], new Uint8Array(1)).commit();
    if (state === "requested") this.staying.push(["invoice", id], ["invoice_file", id, "f", 1]);
    else {
      const amountMicroVnd = invoice.grossVnd * microVndPerVnd;
      this.written.push({ kind: "invoices", atMs: nowMs, sort: state, amountMicroVnd });
    }
  }

  source(kv = this.world.kv, rowsPerCommit?: number): RetentionSource {
    const { masterKeys, nowMs } = this.world;
    const parts = { living: kv, archive: this.#test.archive };
    return { kv, parts, masterKeys, settings, nowMs, ...(rowsPerCommit && { rowsPerCommit }) };
  }

  /** What was written of a kind and is too old. */
  old(kind: RowsKind): readonly Written[] {
    const sinceMs = keptSinceMs(kind, settings[kind], this.world.nowMs);
    return this.written.filter((row) => row.kind === kind && row.atMs < sinceMs);
  }

  /** Drops old refused calls up to the middle of a month; returns the month, which has more to drop. */
  async dropRefusedUpToMiddle(): Promise<string> {
    const monthOf = ({ atMs }: Written) => vietnamDay(atMs).slice(0, 7);
    const old = this.old("refused_calls");
    const kept = old.find((row, at) => {
      const before = old[at - 1];
      return at > old.length / 2 && before !== undefined && monthOf(before) === monthOf(row);
    });
    assert(kept !== undefined, "a month with several refused calls");
    const refused_calls = (this.world.nowMs - kept.atMs) / dayMs;
    await applyRetention({ ...this.source(), settings: { ...settings, refused_calls } });
    return monthOf(kept);
  }

  /** All that adds money or calls up, and what proves it. */
  async sums(): Promise<unknown> {
    const kv = archivedStore(this.world.kv, this.#test.archive);
    const kinds = [
      "usage",
      "usage_by_day",
      "usage_hours",
      "refunded",
      "refunded_tags",
      "ledger",
      "wallet",
      "checkpoint",
    ];
    const rows = [];
    for (const kind of kinds) {
      rows.push(
        await Array.fromAsync(kv.list({ prefix: [kind] }), ({ key, value }) => [key, value]),
      );
    }
    const report = await this.world.verify({ kv, isFull: true });
    assertEquals([...problemLines(report), ...problemLines(await this.world.verify({ kv }))], []);
    const { receipts: _, ...totals } = report;
    return { rows, totals };
  }

  async count(...prefix: Deno.KvKey): Promise<number> {
    return (await Array.fromAsync(this.world.kv.list({ prefix }))).length;
  }

  async dropped() {
    const { sums, problems } = await listDropped(this.world.kv, this.world.masterKeys);
    assertEquals(problems, []);
    return sums;
  }

  /** Compares what is left of the dropped rows with what was written, and what is there with the rest. */
  async assertDropped(): Promise<void> {
    const all = await this.dropped();
    for (const kind of retentionKindNames) {
      if (kind === "receipts") continue;
      const old = this.old(kind);
      const sums = all.filter((sum) => sum.kind === kind);
      const months = new Set(old.map(({ atMs }) => vietnamDay(atMs).slice(0, 7)));
      assertEquals(sums.map(({ month }) => month), [...months].sort(), kind);
      for (const sum of sums) {
        const rows = old.filter(({ atMs }) => vietnamDay(atMs).startsWith(sum.month));
        const counts = Map.groupBy(rows, ({ sort }) => sort);
        assertEquals(
          new Map(Object.entries(sum.counts)),
          new Map([...counts].map(([sort, { length }]) => [sort, length])),
        );
        const amount = rows.reduce((total, row) => total + row.amountMicroVnd, 0n);
        assertEquals([sum.rows, sum.amountMicroVnd], [rows.length, amount], `${kind} ${sum.month}`);
      }
    }
    const left = (kind: RowsKind) =>
      this.written.filter((row) => row.kind === kind).length - this.old(kind).length;
    assertEquals(await this.count("refused_call"), left("refused_calls"));
    assertEquals(await this.count("refused_call_by_id"), left("refused_calls"));
    assertEquals(await this.count("outbox_dead", mailQueue.name), left("unsent_mails"));
    const unfinished = this.staying.filter(([kind]) => kind === "invoice").length;
    assertEquals(await this.count("invoice"), left("invoices") + unfinished);
    assertEquals(await this.count("invoice_by_account"), left("invoices") + unfinished);
    assertEquals(await this.count("invoice_file"), 2 * (left("invoices") + unfinished));
    for (const key of this.staying) {
      assert((await this.world.kv.get(key)).versionstamp !== null, key.join(" "));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#test[Symbol.asyncDispose]();
    await this.world[Symbol.asyncDispose]();
  }
}

/** Tests that old rows leave a store, whatever it is made of. */
export function testRetention(
  name: string,
  open: () => Promise<{ readonly archive: OpenArchive; readonly kv: KeyValueStore }>,
  options: Omit<Deno.TestDefinition, "name" | "fn"> = {},
): void {
  const test = (what: string, fn: () => Promise<void>) =>
    Deno.test({ name: `${name}: ${what}`, fn, ...options });
  const aged = async (seed: number) => {
    const { archive, kv } = await open();
    return await AgedWorld.open(archive, kv, seed);
  };

  test("old rows leave as they were shown: sums are as before, and everything is verified", async () => {
    for (const seed of [1, 2]) {
      await using world = await aged(seed);
      const sums = await world.sums();
      const rows = await Array.fromAsync(world.world.kv.list({ prefix: [] }));
      const plan = await planRetention(world.source());
      assertEquals(await Array.fromAsync(world.world.kv.list({ prefix: [] })), rows);
      assertEquals(plan.map(({ kind }) => kind), [...retentionKindNames]);
      for (const { kind, rows, problem } of plan) {
        assert(rows > 0 && problem === undefined, `${kind}: ${rows} ${problem}`);
        if (kind !== "receipts") assertEquals(rows, world.old(kind).length);
      }
      assertEquals(await applyRetention(world.source()), plan);
      await world.assertDropped();
      assertEquals(await world.sums(), sums);
      const again = await applyRetention(world.source());
      assertEquals(
        again.map(({ rows, problem }) => [rows, problem]),
        again.map(() => [0, undefined]),
      );
    }
  });

  test("killed at any act, the next run ends with what an undisturbed one leaves", async () => {
    for (const isAfter of [false, true]) {
      await using world = await aged(4);
      const sums = await world.sums();
      let kills = 0;
      for (let isDone = false; !isDone && kills < maxKills; kills++) {
        // Each run may do one act more than the one before, so that each act is once the last.
        const breaking = new Breaking(kills, isAfter);
        const source = world.source(breaking.store(world.world.kv), 7);
        isDone = await applyRetention(source).then(
          (kinds) => kinds.every(({ problem }) => problem === undefined),
          () => false,
        );
      }
      assert(kills > 10, `${kills} kills`);
      await world.assertDropped();
      assertEquals(await world.sums(), sums);
    }
  });

  test("two that drop at once count each row once", async () => {
    await using world = await aged(5);
    await Promise.all([
      applyRetention(world.source(undefined, 5)),
      applyRetention(world.source(undefined, 3)),
    ]);
    await applyRetention(world.source());
    await world.assertDropped();
    await world.sums();
  });

  test("sums of dropped rows that were changed are found, and nothing is added to them", async () => {
    await using world = await aged(6);
    const { kv } = world.world;
    const month = await world.dropRefusedUpToMiddle();
    const row = await kv.get<{ text: string; seal: string }>(["dropped", "refused_calls", month]);
    assert(row.value !== null, "sums of refused calls");
    await kv.set(row.key, { ...row.value, text: row.value.text.replace('"rows":', '"rows":1') });
    const found = problemLines(await world.world.verify());
    assert(
      found.some((line) => line.startsWith("seal: the sums of dropped refused_calls")),
      "found",
    );
    const before = await world.count("refused_call");
    const kinds = await applyRetention(world.source());
    const calls = kinds.find(({ kind }) => kind === "refused_calls");
    assert(calls?.problem?.includes("changed after it was sealed") === true, calls?.problem ?? "");
    assertEquals(await world.count("refused_call"), before);
    await kv.set(row.key, row.value);
    await applyRetention(world.source());
    await world.assertDropped();
  });

  test("sums of dropped rows that were deleted or put back are found", async () => {
    await using world = await aged(7);
    const { kv } = world.world;
    const found = async () => problemLines(await world.world.verify());
    const month = await world.dropRefusedUpToMiddle();
    const sums = await kv.get(["dropped", "refused_calls", month]);
    const contents = await kv.get(["dropped", "refused_calls"]);
    assert(sums.value !== null && contents.value !== null, "both are there");
    await kv.delete(sums.key);
    const missing = `seal: the sums of dropped refused_calls of ${month} are missing`;
    assertEquals(await found(), [missing]);
    const before = await world.count("refused_call");
    const stopped = await applyRetention(world.source());
    const calls = stopped.find(({ kind }) => kind === "refused_calls");
    assert(calls?.problem !== undefined, "nothing is added to what is wrong");
    assertEquals(await world.count("refused_call"), before);
    await kv.set(sums.key, sums.value);
    assertEquals(await found(), []);
    // Older sums are sealed as well; the contents name the last ones.
    await applyRetention(world.source());
    const later = await kv.get(sums.key);
    assert(JSON.stringify(later.value) !== JSON.stringify(sums.value), "rows were added");
    await kv.set(sums.key, sums.value);
    const old = `seal: the sums of dropped refused_calls of ${month} are not the last ones`;
    assertEquals(await found(), [old]);
    await kv.set(sums.key, later.value);
    // With their contents they are missed from the next sealed day on.
    world.world.advance(2 * dayMs);
    assertEquals(await found(), []);
    for await (const { key } of kv.list({ prefix: ["dropped"] })) {
      if (key[1] === "refused_calls") await kv.delete(key);
    }
    await kv.delete(contents.key);
    assertEquals(await found(), ["seal: the contents of dropped refused_calls are missing"]);
    await kv.set(contents.key, contents.value);
    await kv.set(sums.key, sums.value);
    assert((await found()).includes("seal: the contents of dropped refused_calls are old ones"));
  });

  test("sums of an earlier release, which kept no contents, go on with contents", async () => {
    await using world = await aged(8);
    const { kv } = world.world;
    await world.dropRefusedUpToMiddle();
    for await (const { key } of kv.list({ prefix: ["dropped"] })) await kv.delete(key.slice(0, 2));
    assertEquals(problemLines(await world.world.verify()), []);
    await applyRetention(world.source());
    await world.assertDropped();
    const [first] = (await world.dropped()).filter(({ kind }) => kind === "refused_calls");
    await kv.delete(["dropped", "refused_calls", first?.month ?? ""]);
    const found = problemLines(await world.world.verify());
    assert(found.some((line) => line.endsWith("are missing")), found.join());
  });
}
