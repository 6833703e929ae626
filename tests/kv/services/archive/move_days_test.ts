import { assert, assertEquals } from "../../../support/assert.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { hourMs } from "../../../../core/lib/time/durations.ts";
import { pageInColumns, pagesOf } from "../../../../kv/money/archive/receipt_rows.ts";
import { encodeReceipt } from "../../../../kv/money/receipts/receipt_codec.ts";
import { newAccount, receiptOf } from "../../../support/worlds/money_world.ts";
import type { ReceiptArchive } from "../../../../kv/money/archive/receipt_archive.ts";
import { openSqliteArchive } from "../../../../kv/money/archive/sqlite_archive.ts";
import { testDropping } from "./dropping.ts";
import { type TestArchive, testMoving } from "./moving.ts";
import { testMovingSums } from "./moving_sums.ts";
import { archiveCalls, documentedColumns, documentedStatements, views } from "./reports_page.ts";

async function openArchive(): Promise<TestArchive> {
  const folder = await Deno.makeTempDir({ prefix: "gateway-archive-" });
  const archive = await openSqliteArchive(folder);
  const change = async (sql: string) => {
    const { DatabaseSync } = await import("node:sqlite");
    for (const { month } of await archive.months()) {
      using db = new DatabaseSync(`${folder}/${month}.sqlite`);
      db.exec(sql);
    }
  };
  return {
    archive,
    change,
    raiseDaySums: () => change("update day_sums set cost_micro_vnd = cost_micro_vnd + 1"),
    async [Symbol.asyncDispose]() {
      await archive.close();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

testMoving("SQLite", openArchive);
testMovingSums("SQLite", openArchive);
// As the gateway runs: SQLite attaches no file then, not even for `vacuum`.
testDropping("SQLite", openArchive, { permissions: { read: true, write: true } });

Deno.test("SQLite: who reads while the first hour of a month is written sees nothing of it yet", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gateway-archive-" });
  const archive = await openSqliteArchive(folder);
  const startMs = Date.UTC(2026, 10, 1);
  const mark = { startMs, pages: 0, receipts: 0, chargedMicroVnd: 0n, digest: "d" };
  const release = Promise.withResolvers<void>();
  let isWritten = false;
  const writing = archive.writeHour({
    startMs,
    digest: "d",
    calls: (async function* () {
      yield [];
      await release.promise;
    })(),
    mark: () => mark,
  }).finally(() => isWritten = true);
  const reader = await openSqliteArchive(folder);
  const hours = () => reader.hoursBetween(startMs, startMs + 1);
  while ((await reader.months()).length === 0) assertEquals(await hours(), []);
  assertEquals([await hours(), isWritten], [[], false]);
  release.resolve();
  assertEquals(await writing, true);
  assertEquals(await hours(), [mark]);
  await reader.close();
  await archive.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test({
  name: "SQLite: a dropped month gives its disk back",
  permissions: { read: true, write: true },
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "gateway-archive-" });
    const archive = await openSqliteArchive(folder);
    const startMs = Date.UTC(2026, 10, 1);
    const receipts = Array.from(
      { length: 2_000 },
      (_, n) => receiptOf(newAccount(), { requestId: newId("request", startMs + 36 * n) }),
    );
    const mark = { startMs, pages: 2_000, receipts: 2_000, chargedMicroVnd: 0n, digest: "d" };
    async function* calls() {
      for (const receipt of receipts) {
        const { requestId } = receipt;
        const text = `[["${requestId}",${encodeReceipt(receipt)}]]`;
        const columns = pageInColumns({ newest: requestId, text }, 0);
        if (columns.ok) yield columns.calls;
      }
    }
    await archive.writeHour({ startMs, digest: "d", calls: calls(), mark: () => mark });
    const [full] = await archive.months();
    assertEquals(full?.receipts, 2_000);
    await archive.dropMonth("2026-11");
    const [empty] = await archive.months();
    assertEquals(empty?.receipts, 0);
    assert((empty?.bytes ?? 0) * 3 < (full?.bytes ?? 0), `${full?.bytes} to ${empty?.bytes} bytes`);
    await archive.close();
    await Deno.remove(folder, { recursive: true });
  },
});

Deno.test({
  name: "SQLite: a month of an earlier release is read, and written on",
  permissions: { read: true, write: true },
  async fn() {
    const { DatabaseSync } = await import("node:sqlite");
    const folder = await Deno.makeTempDir({ prefix: "gateway-archive-" });
    const startMs = Date.UTC(2026, 10, 1);
    const attempts = [{ route: "one/m", outcome: "ok", ms: 5 }];
    const write = async (archive: ReceiptArchive, atMs: number, heldMicroVnd?: bigint) => {
      const some = { requestId: newId("request", atMs), attempts, ...defined({ heldMicroVnd }) };
      const receipt = receiptOf(newAccount(), some);
      const text = `[["${receipt.requestId}",${encodeReceipt(receipt)}]]`;
      const columns = pageInColumns({ newest: receipt.requestId, text }, 0);
      assert(columns.ok, "a page");
      const mark = { startMs: atMs, pages: 1, receipts: 1, chargedMicroVnd: 7n, digest: text };
      const calls = ReadableStream.from([columns.calls]);
      assert(await archive.writeHour({ startMs: atMs, digest: text, calls, mark: () => mark }));
      return text;
    };
    const earlier = await openSqliteArchive(folder);
    const first = await write(earlier, startMs);
    await earlier.close();
    using db = new DatabaseSync(`${folder}/2026-11.sqlite`);
    db.exec("alter table receipts drop column held_micro_vnd; drop table sums");
    const archive = await openSqliteArchive(folder);
    const range = { fromMs: startMs, toMs: startMs + 2 * hourMs, limit: 9, reverse: false };
    assertEquals(pagesOf(await archive.callsBetween(range)).map(({ text }) => text), [first]);
    const second = await write(archive, startMs + hourMs, 360n);
    const texts = pagesOf(await archive.callsBetween(range)).map(({ text }) => text);
    assertEquals(texts, [first, second]);
    const all = { fromAccount: "", toAccount: "~", fromDay: "", toDay: "~", limit: 9 };
    assertEquals(await archive.sumPages(all), []);
    await archive.close();
    await Deno.remove(folder, { recursive: true });
  },
});

Deno.test("SQLite: the page about reports has the columns of a month, and its statements run", async () => {
  const { DatabaseSync } = await import("node:sqlite");
  const folder = await Deno.makeTempDir({ prefix: "gateway-archive-" });
  const archive = await openSqliteArchive(folder);
  const { day, paidMicroVnd } = await archiveCalls(archive);
  using month = new DatabaseSync(`${folder}/${day.slice(0, 7)}.sqlite`, { readOnly: true });
  for (const view of views) {
    const columns = month.prepare(`select name from pragma_table_info('${view}')`).all();
    assertEquals(columns.map(({ name }) => name), documentedColumns(view, "SQLite"));
  }
  const answers = documentedStatements("SQLite").map((sql) => month.prepare(sql).all());
  assertEquals(answers.filter((rows) => rows.length === 0), []);
  assertEquals(answers[0]?.map((row) => row["paid_vnd"]), [Number(paidMicroVnd) / 1e6]);
  await archive.close();
  await Deno.remove(folder, { recursive: true });
});
