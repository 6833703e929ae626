/** Days as tables for a warehouse: every row once, exact, and whole or not at all. */
import { listAllReceipts } from "../../../support/worlds/money_world.ts";
import { parquetReadObjects } from "hyparquet";
import { assertEquals, assertRejects } from "../../../support/assert.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { linesByTime } from "../../../../kv/money/ledger/ledger.ts";
import { asLines, dayTables, fromLines } from "../../../../kv/services/warehouse/day_tables.ts";
import { type Column, parquetFile } from "../../../../kv/services/warehouse/parquet.ts";
import { idTimeMs } from "../../../../core/lib/ids/ids.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { BooksWorld } from "../../../support/worlds/books_world.ts";

async function readBack(parts: AsyncIterable<Uint8Array<ArrayBuffer>>) {
  const file = await new Blob(await Array.fromAsync(parts)).arrayBuffer();
  return await parquetReadObjects({ file });
}

async function* each<Row>(rows: readonly Row[]): AsyncGenerator<Row> {
  yield* rows;
}

Deno.test("a file has every cell as it was: amounts to the µVND, times, nulls, also of many rows", async () => {
  interface Row {
    readonly text?: string;
    readonly count: number;
    readonly vnd: bigint;
    readonly atMs: number;
    readonly flag: boolean;
    readonly share: number;
  }
  const columns: readonly Column<Row>[] = [
    { name: "text", type: "text", about: "", cell: ({ text }) => text },
    { name: "count", type: "count", about: "", cell: ({ count }) => count },
    { name: "vnd", type: "vnd", about: "", cell: ({ vnd }) => vnd },
    { name: "at", type: "time", about: "", cell: ({ atMs }) => atMs },
    { name: "flag", type: "flag", about: "", cell: ({ flag }) => flag },
    { name: "share", type: "number", about: "", cell: ({ share }) => share },
  ];
  const rows = Array.from({ length: 45_000 }, (_, at): Row => ({
    ...(at % 3 > 0 && { text: `tên ${at}` }),
    count: at * 200_000_000_000,
    vnd: BigInt(at) * 1_000_001n - 7n,
    atMs: 1_795_000_000_000 + at,
    flag: at % 2 === 0,
    share: at / 7,
  }));
  const found = await readBack(parquetFile(columns, each(rows)));
  assertEquals(found.length, rows.length);
  for (const at of [0, 1, 19_999, 20_000, 44_999]) {
    const { text = null, count, vnd, atMs, flag, share } = rows[at]!;
    const { vnd: foundVnd, ...others } = found[at]!;
    assertEquals(others, { text, count: BigInt(count), at: new Date(atMs), flag, share });
    // The reader of this test has decimals as floating-point numbers.
    assertEquals(BigInt(Math.round(Number(foundVnd) * 1e6)), vnd);
  }
  assertEquals(await readBack(parquetFile(columns, each([]))), []);
});

Deno.test("the tables of all days have each receipt and each ledger line once, on its day", async () => {
  await using world = await BooksWorld.used();
  const { kv } = world;
  const days = [3, 2, 1, 0].map((ago) => vietnamDay(world.nowMs - ago * dayMs));
  const receipts = await Array.fromAsync(listAllReceipts(kv));
  const lines = await Array.fromAsync(linesByTime(kv, undefined, undefined));
  const expected = {
    receipts: receipts.map(({ requestId, costMicroVnd }) =>
      [requestId, vietnamDay(idTimeMs("request", requestId)), formatVnd(costMicroVnd)].join(" ")
    ),
    ledger: lines.length,
  };
  const found: string[] = [];
  let foundLines = 0;
  for (const day of days) {
    const through = (table: "receipts" | "ledger") =>
      readBack(dayTables[table].file(fromLines(asLines(dayTables[table].read(kv, { day })))));
    for (const row of await through("receipts")) {
      assertEquals(Object.keys(row), dayTables.receipts.columns.map(({ name }) => name));
      const cost = BigInt(Math.round(Number(row["cost_vnd"]) * 1e6));
      found.push([row["request_id"], day, formatVnd(cost)].join(" "));
    }
    for (const row of await through("ledger")) {
      assertEquals(Object.keys(row), dayTables.ledger.columns.map(({ name }) => name));
      foundLines++;
    }
  }
  assertEquals(found.sort(), expected.receipts.sort());
  assertEquals([receipts.length, foundLines], [16, expected.ledger]);
});

Deno.test("rows that break off anywhere are no day", async () => {
  const lines = (await Array.fromAsync(asLines(each([["a"], [1], { b: "\n" }])))).join("");
  assertEquals(await Array.fromAsync(fromLines(each([lines]))), [["a"], [1], { b: "\n" }]);
  assertEquals(await Array.fromAsync(fromLines(each([...lines]))), [["a"], [1], { b: "\n" }]);
  assertEquals(await Array.fromAsync(fromLines(asLines(each([])))), []);
  for (let end = 0; end < lines.length; end++) {
    await assertRejects(() => Array.fromAsync(fromLines(each([lines.slice(0, end)]))));
  }
});

Deno.test("the guide lists each column with its meaning", async () => {
  const guide = await Deno.readTextFile(
    new URL("../../../../docs/operations/warehouse.md", import.meta.url),
  );
  const rows = Array.from(guide.matchAll(/^\| `(\w+)` +\|[^|]+\| (.+?) +\|$/gmu));
  const columns = [...dayTables.receipts.columns, ...dayTables.ledger.columns];
  assertEquals(
    rows.map(([, name, about]) => `${name}: ${about}`),
    columns.map(({ name, about }) => `${name}: ${about}`),
  );
});
