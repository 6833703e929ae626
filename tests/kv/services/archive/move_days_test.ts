import { assertEquals } from "../../../support/assert.ts";
import { SqliteArchive } from "../../../../kv/money/archive/sqlite_archive.ts";
import { testDropping } from "./dropping.ts";
import { type TestArchive, testMoving } from "./moving.ts";

async function openArchive(): Promise<TestArchive> {
  const folder = await Deno.makeTempDir({ prefix: "gateway-archive-" });
  const archive = await SqliteArchive.open(folder);
  return {
    archive,
    async change(sql) {
      const { DatabaseSync } = await import("node:sqlite");
      for (const { month } of await archive.months()) {
        using db = new DatabaseSync(`${folder}/${month}.sqlite`);
        db.exec(sql);
      }
    },
    async [Symbol.asyncDispose]() {
      await archive.close();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

testMoving("SQLite", openArchive);
testDropping("SQLite", openArchive);

Deno.test("SQLite: who reads while the first hour of a month is written sees nothing of it yet", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gateway-archive-" });
  const archive = await SqliteArchive.open(folder);
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
  const reader = await SqliteArchive.open(folder);
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
