import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { parseBankTime, sameBankTime } from "../../../../core/trade/bank/bank_notice.ts";
import { csvCell, csvFile, parseCsv } from "../../../../core/lib/base/csv.ts";
import { parseStatement } from "../../../../core/trade/statements/statement_csv.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";

const statement = [
  "\ufeffNGÂN HÀNG TMCP A,,,,,",
  '"Sao kê tài khoản 0123456789, từ 01/11/2026",,,,,',
  ",,,,,",
  "STT,Ngày giao dịch,Số tiền ghi nợ,Số tiền ghi có,Nội dung giao dịch,Số tham chiếu",
  '1,20/11/2026 14:02:37,,"200,000","ST7K2M9QXJ, nạp tiền",FT26324001',
  "2,20/11/2026 15:00:00,50000,,Phi dich vu,FT26324002",
  '3,21/11/2026,,"1.000.000,00",khong ma,',
  ",Tổng cộng,50000,1200000,,",
].join("\r\n");

Deno.test("parseStatement() reads a Vietnamese export with titles above and totals below", async () => {
  const { events, problems } = await parseStatement(statement, "0123456789");
  assertEquals(problems, []);
  assertEquals(
    events.map(({ direction, amountMicroVnd, memo, reference, time }) => [
      direction,
      amountMicroVnd,
      memo,
      reference,
      new Date(time.atMs).toISOString(),
      time.precision,
    ]),
    [
      [
        "in",
        200_000_000_000n,
        "ST7K2M9QXJ, nạp tiền",
        "FT26324001",
        "2026-11-20T07:02:37.000Z",
        "second",
      ],
      ["out", 50_000_000_000n, "Phi dich vu", "FT26324002", "2026-11-20T08:00:00.000Z", "second"],
      ["in", 1_000_000_000_000n, "khong ma", undefined, "2026-11-20T17:00:00.000Z", "day"],
    ],
  );
});

Deno.test("parseStatement() gives a row the same id each time it is imported", async () => {
  const first = await parseStatement(statement, "0123456789");
  const again = await parseStatement(statement, "0123456789");
  assertEquals(again, first);
  // A longer export that holds the same rows between others.
  const lines = statement.split("\r\n");
  lines.splice(4, 0, "0,20/11/2026 09:00:00,,70000,truoc,FT0");
  const longer = await parseStatement(lines.join("\r\n"), "0123456789");
  assertEquals(longer.events.slice(1).map(({ id }) => id), first.events.map(({ id }) => id));
});

Deno.test("parseStatement() tells equal rows apart, so that two equal transfers stay two", async () => {
  const text = "Ngày,Số tiền,Nội dung\n20/11/2026,100000,A\n20/11/2026,100000,A\n";
  const { events } = await parseStatement(text, "1");
  assertEquals(events.length, 2);
  assert(events[0]?.id !== events[1]?.id);
});

Deno.test("the id of a row does not depend on a balance column, and rows of older imports are known", async () => {
  const bare = await parseStatement(
    "Ngày,Số tiền,Nội dung\n20/11/2026,100000,A\n20/11/2026,100000,A\n",
    "1",
  );
  const withBalance = await parseStatement(
    "Ngày,Số tiền,Nội dung,Số dư\n20/11/2026,100000,A,500000\n20/11/2026,100000,A,600000\n",
    "1",
  );
  const ids = ["300b9033aaefd79fe9452b147cfc4c95", "c4c29372ea2b52125b298efe7807442a"];
  assertEquals(bare.events.map(({ id }) => id), ids);
  assertEquals(withBalance.events.map(({ id }) => id), ids);
  // What these rows were called when the balance still was a part of the id.
  assertEquals([...bare.formerIds], []);
  assertEquals([...withBalance.formerIds.values()], [
    "dc04f43c7b22928b2209c820843da140",
    "d89e97a8bc47dd83aa30d18a345f694c",
  ]);
});

Deno.test("rows of one file share an import, other rows have another", async () => {
  const first = await parseStatement(statement, "0123456789");
  const imports = new Set(first.events.map(({ importId }) => importId));
  assertEquals(imports.size, 1);
  const other = await parseStatement(statement.replace("14:02:37", "14:02"), "0123456789");
  assert(!imports.has(other.events[0]?.importId));
});

Deno.test("parseStatement() reads English headers, semicolons and a column for the time", async () => {
  const text = "Transaction date;Time;Amount;Description;Reference;Balance\n" +
    "2026-11-20;14:02;+200.000 VND;hello;R1;1.200.000\n2026-11-20;14:03;-5.000;out;R2;1.195.000\n";
  const { events, problems } = await parseStatement(text, "1");
  assertEquals(problems, []);
  assertEquals(
    events.map((
      { direction, amountMicroVnd, time },
    ) => [direction, amountMicroVnd, time.precision]),
    [
      ["in", 200_000_000_000n, "minute"],
      ["out", 5_000_000_000n, "minute"],
    ],
  );
  assertEquals(events[0]?.balanceAfterMicroVnd, 1_200_000_000_000n);
});

Deno.test("parseStatement() names the lines it cannot read and keeps the others", async () => {
  const text =
    "Ngày,Số tiền,Nội dung\n31/02/2026,1000,a\n20/11/2026,12x,b\n20/11/2026,1000,c\n20/11/2026,0,d\n";
  const { events, problems } = await parseStatement(text, "1");
  assertEquals(events.map(({ memo }) => memo), ["c"]);
  assertEquals(problems.map(({ line }) => line), [2, 3, 5]);
  assertEquals(
    (await parseStatement("hello\nworld", "1")).problems[0]?.what,
    "no header row was found",
  );
});

Deno.test("parseCsv() reads back what csvFile() writes", () => {
  const cell = fc.string({ unit: fc.constantFrom(...'ab,;"\n\r\t đ1'), minLength: 1, maxLength: 8 })
    .filter((text) => !/^[=+\-@\t\r]/.test(text));
  const table = fc.array(fc.array(cell, { minLength: 3, maxLength: 3 }), {
    minLength: 1,
    maxLength: 4,
  });
  fc.assert(fc.property(table, (rows) => {
    const columns = ["x", "y", "z"].map((name, at) => ({ name, cell: (row: string[]) => row[at] }));
    const text = csvFile(columns, rows);
    // The separator is guessed from unquoted text too: only tables where a comma leads are our own files.
    if (text.split(";").length > 2 || text.split("\t").length > 2) return;
    assertEquals(parseCsv(text).slice(1), rows);
  }));
});

Deno.test("csvCell() disarms formulas but leaves numbers alone", () => {
  assertEquals(csvCell("=HYPERLINK(1)"), "'=HYPERLINK(1)");
  assertEquals(csvCell("@x"), "'@x");
  assertEquals(csvCell("-5.25"), "-5.25");
  assertEquals(csvCell("-5+cmd"), "'-5+cmd");
  assertEquals(csvCell('say "hi", you'), '"say ""hi"", you"');
  assertEquals(csvCell("nap;=1+1"), `"nap;'=1+1"`);
  assertEquals(csvCell("a, b; c"), '"a, b; c"');
});

Deno.test("no separator that a spreadsheet may choose begins a cell with a formula", () => {
  const pieces = [..."=+-@;,\t\n\r|\"' a1"];
  const cell = fc.string({ unit: fc.constantFrom(...pieces), maxLength: 12 });
  fc.assert(fc.property(fc.array(cell, { minLength: 1, maxLength: 4 }), (row) => {
    const line = csvFile(row.map((text) => ({ name: "x", cell: () => text })), [row]).slice(1);
    for (const part of line.split(/[,;|\t\r\n]/)) {
      const text = part.replace(/^[\s"]+/, "");
      const isNumber = /^-\d+(?:\.\d+)?"?$/.test(text);
      assert(isNumber || !/^[=+\-@]/.test(text), JSON.stringify(line));
    }
  }));
});

Deno.test("parseBankTime() takes Vietnam's clock unless a zone is told", () => {
  const cases: readonly [string, string | undefined, string?][] = [
    ["2026-11-20 14:02:37", "2026-11-20T07:02:37.000Z", "second"],
    ["2026-11-20T14:02:37", "2026-11-20T07:02:37.000Z", "second"],
    ["2026-11-20T14:02:37+07:00", "2026-11-20T07:02:37.000Z", "second"],
    ["2026-11-20T07:02:37.123Z", "2026-11-20T07:02:37.000Z", "second"],
    ["20/11/2026 14:02", "2026-11-20T07:02:00.000Z", "minute"],
    ["05-11-2026", "2026-11-04T17:00:00.000Z", "day"],
    ["29/02/2024", "2024-02-28T17:00:00.000Z", "day"],
    ["29/02/2026", undefined],
    ["31/04/2026", undefined],
    ["20/13/2026", undefined],
    ["20/11/2026 24:00", undefined],
    ["", undefined],
    ["now", undefined],
  ];
  for (const [text, iso, precision] of cases) {
    const time = parseBankTime(text);
    assertEquals(time && new Date(time.atMs).toISOString(), iso, text);
    assertEquals(
      time?.precision,
      precision as typeof time extends undefined ? undefined : "day",
      text,
    );
  }
});

Deno.test("sameBankTime() compares at the coarser precision, by Vietnam's day", () => {
  const read = (text: string) => parseBankTime(text)!;
  assert(sameBankTime(read("2026-11-20 00:30:00"), read("20/11/2026")));
  assert(!sameBankTime(read("2026-11-19 23:30:00"), read("20/11/2026")));
  assert(sameBankTime(read("2026-11-20 14:02:37"), read("20/11/2026 14:02")));
  assert(!sameBankTime(read("2026-11-20 14:02:37"), read("2026-11-20 14:02:38")));
  assertEquals(vietnamDay(Date.parse("2026-11-20T17:00:00Z")), "2026-11-21");
});
