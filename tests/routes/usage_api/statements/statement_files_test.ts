/** A month of an account as JSON, CSV, XLSX and PDF: readers that are not ours find the sums of ledger and receipts. */
import { type CellObject, read, utils } from "xlsx";
import { extractText, getDocumentProxy } from "unpdf";
import { TimeSlices } from "../../../../core/lib/time/time_slices.ts";
import { parseCsv } from "../../../../core/lib/base/csv.ts";
import { fieldsJson } from "../../../../core/lib/json/fields.ts";
import { formatVnd, fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { type AccountId, newId } from "../../../../core/lib/ids/ids.ts";
import { parseVatSchedule } from "../../../../core/trade/invoices/vat.ts";
import { rowsOfKindPrefix } from "../../../../kv/engine/schema/keys.ts";
import { credit } from "../../../../kv/money/ledger/ledger.ts";
import { refundCall } from "../../../../kv/money/ledger/refunds.ts";
import { readMonthStatement } from "../../../../kv/money/statements/month_statement.ts";
import { openWalletEngine } from "../../../../kv/money/wallet/mod.ts";
import { createAccount } from "../../../../kv/people/accounts/accounts.ts";
import { setInvoiceSettings } from "../../../../kv/money/invoices/invoices.ts";
import {
  type StatementDocument,
  statementDocument,
} from "../../../../routes/usage_api/statements/statement_document.ts";
import {
  type StatementFileKind,
  statementFileKinds,
} from "../../../../routes/usage_api/statements/statement_files.ts";
import { statementFields } from "../../../../routes/usage_api/statements/statement_json.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "../../../support/assert.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import {
  draftOf,
  ledgerLines,
  listAllReceipts,
  mustReserve,
} from "../../../support/worlds/money_world.ts";

/** Nothing rests while the clock stands still. */
const slices = new TimeSlices({ clock: { monotonicMs: () => 0 }, pause: () => Promise.resolve() });

const at = (text: string) => Date.parse(`${text}:00+07:00`);

const vatRates = parseVatSchedule("2025-07-01=8") ?? [];

/** October has a top-up and calls; November a top-up, a bonus, a voucher, a correction, a refund and calls. */
async function openWorld() {
  const kv = await Deno.openKv(":memory:");
  const time = new ManualTime(at("2026-10-03T09:00"));
  const wallet = await openWalletEngine(kv, { clock: time, timer: time });
  const account = await createAccount(kv, { nowMs: time.nowMs(), email: "ngoc@example.com" });
  const accountId: AccountId = account.id;
  await setInvoiceSettings(kv, accountId, {
    type: "company",
    legalName: "CÔNG TY TNHH Nguyễn Thị Ngọc Ánh",
    taxCode: "0314409058",
    address: "Số 1, phố Huế, Hà Nội",
  });
  const keyIds = [newId("apiKey", time.nowMs()), newId("apiKey", time.nowMs() + 1)] as const;
  let operations = 0;
  const move = async (
    atText: string,
    kind: "topup" | "bonus" | "voucher" | "admin",
    vnd: number,
  ) => {
    const result = await credit(kv, {
      accountId,
      amountMicroVnd: fromVnd(vnd),
      kind,
      operationId: `test:${operations++}`,
      reason: `=HYPERLINK("x") ${kind}`,
      atMs: at(atText),
    });
    assertEquals(result.status, "applied");
  };
  const call = async (atText: string, microVnd: bigint, model: string, key: 0 | 1) => {
    const startedAtMs = at(atText);
    const requestId = newId("request", startedAtMs);
    const reservation = await mustReserve(wallet, accountId, microVnd);
    const draft = draftOf(microVnd, { requestId, startedAtMs, model, keyId: keyIds[key] });
    return await wallet.settle(reservation, draft);
  };
  await move("2026-10-03T10:00", "topup", 300_000);
  await call("2026-10-31T23:59", 1_000_000_007n, "text-1", 0);
  await move("2026-11-01T00:00", "topup", 1_000_001);
  await move("2026-11-02T09:00", "bonus", 50_000);
  await move("2026-11-02T10:00", "voucher", 20_000);
  await move("2026-11-03T10:00", "admin", 5);
  await call("2026-11-05T08:00", 8_300_123n, "text-1", 0);
  await call("2026-11-05T09:00", 1_350_000_000n, "image-1", 1);
  const refunded = await call("2026-11-30T23:59", 3_300_000_001n, "video-1", 1);
  await refundCall(kv, refunded, { reason: "failed", atMs: at("2026-11-30T23:59") });
  await call("2026-12-01T00:00", 77n, "text-1", 0);
  while ((await wallet.indexOnce()).waiting > 0);
  const nowMs = at("2026-12-02T00:00");
  return {
    kv,
    accountId,
    wallet,
    async statement(month: string) {
      const found = await readMonthStatement(kv, accountId, { month, nowMs, vatRates });
      assert(found !== undefined, month);
      return found;
    },
    async file(kind: StatementFileKind, locale: "vi" | "en", month = "2026-11") {
      const statement = await this.statement(month);
      const document = statementDocument(statement, {
        locale,
        brand: "Model Gateway",
        seller: "Cổng mô hình",
        proofAddress: "https://gateway.example/v1/statements/2026-11/proof",
      });
      return await statementFileKinds[kind].write(document, statement.toDay, slices);
    },
    async [Symbol.asyncDispose]() {
      await wallet.close();
      kv.close();
    },
  };
}

type World = Awaited<ReturnType<typeof openWorld>>;

/** What ledger and receipts themselves say of November. */
async function november({ kv, accountId }: World) {
  const inMonth = (atMs: number) => atMs >= at("2026-11-01T00:00") && atMs < at("2026-12-01T00:00");
  const lines = await ledgerLines(kv, accountId);
  const receipts = await Array.fromAsync(listAllReceipts(kv));
  const movedIn = lines.filter(({ atMs }) => inMonth(atMs));
  const calls = receipts.filter(({ startedAtMs }) => inMonth(startedAtMs));
  return {
    lines: movedIn,
    calls,
    movedMicroVnd: movedIn.reduce((sum, { amountMicroVnd }) => sum + amountMicroVnd, 0n),
    costMicroVnd: calls.reduce((sum, { costMicroVnd }) => sum + costMicroVnd, 0n),
  };
}

Deno.test("a month leads from its first balance to its last, as ledger, receipts and wallet have them", async () => {
  await using world = await openWorld();
  const october = await world.statement("2026-10");
  const month = await world.statement("2026-11");
  const december = await world.statement("2026-12");
  const truth = await november(world);
  assertEquals(october.openingMicroVnd, 0n);
  assertEquals(month.openingMicroVnd, october.closingMicroVnd);
  assertEquals(december.openingMicroVnd, month.closingMicroVnd);
  assertEquals(
    month.closingMicroVnd - month.openingMicroVnd,
    truth.movedMicroVnd - truth.costMicroVnd,
  );
  assertEquals(month.calls.costMicroVnd, truth.costMicroVnd);
  const { totalMicroVnd } = await world.wallet.balance(world.accountId);
  assertEquals([december.closingMicroVnd, december.isOpen, month.isOpen], [
    totalMicroVnd,
    true,
    false,
  ]);
  assertEquals(month.kinds.map(({ kind }) => kind), [
    "topup",
    "bonus",
    "voucher",
    "admin",
    "refund",
  ]);
  assertEquals(month.byDay.map(({ of }) => of), ["2026-11-05", "2026-11-30"]);
  assertEquals(month.byModel.map(({ of }) => of), ["image-1", "text-1", "video-1"]);
  const [topup] = month.topups;
  assertEquals(topup?.split, { grossVnd: 1_000_001n, netVnd: 925_927n, vatVnd: 74_074n });
});

Deno.test("a month stays whole when its receipts have left the store", async () => {
  await using world = await openWorld();
  const before = await world.statement("2026-11");
  for (const kind of ["receipt", "receipts_of"] as const) {
    const rows = await Array.fromAsync(world.kv.list({ prefix: rowsOfKindPrefix(kind) }));
    assert(rows.length > 0, kind);
    for (const { key } of rows) await world.kv.delete(key);
  }
  assertEquals(await world.statement("2026-11"), before);
});

const micro = (value: unknown) => BigInt(Math.round(Number(value) * 1e6));

/** The cells of a column of a sheet, from its first row on. */
type Sheet = ReturnType<typeof read>["Sheets"][string];

function columnOf(sheet: Sheet, column: number): (CellObject | undefined)[] {
  const { e: end } = utils.decode_range(sheet["!ref"] ?? "A1");
  return Array.from(
    { length: end.r + 1 },
    (_, row): CellObject | undefined => sheet[utils.encode_cell({ r: row, c: column })],
  );
}

/** The value of the last sum of a sheet, after each of them was computed anew from the cells that it names. */
function checkedSum(sheet: Sheet): bigint | undefined {
  const { e: end } = utils.decode_range(sheet["!ref"] ?? "A1");
  let last: bigint | undefined;
  for (let column = 0; column <= end.c; column++) {
    const cells = columnOf(sheet, column);
    const sum = cells.at(-1);
    const [, from, to] = /^SUM\((\w+):(\w+)\)$/.exec(sum?.f ?? "") ?? [];
    if (from === undefined || to === undefined) continue;
    const [first, final] = [utils.decode_cell(from), utils.decode_cell(to)];
    assertEquals([first.c, final.c, final.r], [column, column, cells.length - 2]);
    last = cells.slice(first.r, final.r + 1).reduce(
      (total, cell) => total + micro(cell?.v ?? 0),
      0n,
    );
    assertEquals(micro(sum?.v), last, sum?.f);
  }
  return last;
}

for (const locale of ["vi", "en"] as const) {
  Deno.test(`another program reads the XLSX file (${locale}): sums are formulas, and exact`, async () => {
    await using world = await openWorld();
    const truth = await november(world);
    const month = await world.statement("2026-11");
    const book = read(await world.file("xlsx", locale), { cellDates: true, cellNF: true });
    const sheets = book.SheetNames.flatMap((name) => book.Sheets[name] ?? []);
    assertEquals(sheets.length, 7);
    const [summary, movements, byDay, byModel, byKey, vat] = sheets.map(checkedSum);
    assertEquals(summary, month.closingMicroVnd);
    assertEquals(movements, truth.movedMicroVnd);
    for (const cost of [byDay, byModel, byKey]) assertEquals(cost, truth.costMicroVnd);
    assertEquals(vat, fromVnd(74_074));
    const [, lines, days] = sheets;
    assert(lines !== undefined && days !== undefined);
    const amounts = columnOf(lines, 4).slice(1, -1);
    assertEquals(
      amounts.map((cell) => [cell?.t, cell?.z, micro(cell?.v)]),
      truth.lines.map(({ amountMicroVnd }) => ["n", "#,##0.00####", amountMicroVnd]),
    );
    const [, firstDay] = columnOf(days, 0);
    assertEquals([firstDay?.t, firstDay?.z], ["d", "yyyy-mm-dd"]);
  });
}

/** The text of a PDF file, with any white space as one space. */
async function textOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const { text } = await extractText(await getDocumentProxy(bytes), { mergePages: true });
  return text.replace(/\s+/g, " ");
}

Deno.test("the PDF file says the same in both languages, accents and all digits included", async () => {
  await using world = await openWorld();
  const { closingMicroVnd } = await world.statement("2026-11");
  const vi = await textOf(await world.file("pdf", "vi"));
  for (
    const part of [
      "Sao kê tháng 11/2026",
      "CÔNG TY TNHH Nguyễn Thị Ngọc Ánh",
      "Số dư đầu kỳ 298.999,999993",
      `Số dư cuối kỳ ${
        formatVnd(closingMicroVnd).replace(/\B(?=(\d{3})+\.)/g, "!").replace(".", ",").replaceAll(
          "!",
          ".",
        )
      }`,
      "Thưởng nạp tiền",
      "Hoàn tiền",
      "Thuế GTGT trong tiền nạp",
      "74.074",
      "Trang 1 / ",
    ]
  ) assertStringIncludes(vi, part);
  const en = await textOf(await world.file("pdf", "en"));
  for (
    const part of [
      "Statement for 11/2026",
      "Opening balance 298,999.999993",
      "Calls by model",
      "3,300.000001",
      "https://gateway.example/v1/statements/2026-11/proof",
    ]
  ) assertStringIncludes(en, part);
});

Deno.test("the CSV file has every row, and sums to the µVND, in both languages", async () => {
  await using world = await openWorld();
  const truth = await november(world);
  for (const locale of ["vi", "en"] as const) {
    const [head = [], ...rows] = parseCsv(
      new TextDecoder().decode(await world.file("csv", locale)),
    );
    const cell = (row: readonly string[], name: string) => row[head.indexOf(name)] ?? "";
    const sumOf = (section: string) =>
      rows.filter((row) => cell(row, "section") === section && cell(row, "line") === "sum")
        .map((row) => cell(row, "amount_vnd"));
    assertEquals(sumOf("movements"), [formatVnd(truth.movedMicroVnd)]);
    assertEquals(sumOf("by_day"), [formatVnd(truth.costMicroVnd)]);
    const details = rows.filter((row) => cell(row, "section") === "movements")
      .map((row) => cell(row, "detail"));
    assert(details.every((detail) => !detail.startsWith("=")), "no cell is run as a formula");
  }
});

Deno.test("JSON has the amounts as exact text", async () => {
  await using world = await openWorld();
  const statement = await world.statement("2026-11");
  const json = fieldsJson(statementFields, statement);
  assertEquals(json["opening_vnd"], "298999.999993");
  assertEquals(json["closing_vnd"], formatVnd(statement.closingMicroVnd));
  assertEquals(json["complete"], true);
});

Deno.test("a long table is printed in part and in slices, with all its sums; a sheet has a bound", async () => {
  const rows = Array.from({ length: 5_001 }, (_, number) => ({
    item: `row ${number}`,
    amount_vnd: 1_000_001n,
  }));
  const document: StatementDocument = {
    locale: "en",
    brand: "Model Gateway",
    title: "Statement",
    facts: [],
    sections: [{
      name: "movements",
      columns: ["item", "amount_vnd"],
      rows,
      sumLabel: "Total",
      summed: ["amount_vnd"],
    }],
  };
  let nowMs = 0;
  let rests = 0;
  const busy = new TimeSlices({
    clock: { monotonicMs: () => nowMs++ },
    pause: () => Promise.resolve(void rests++),
  });
  const text = await textOf(await statementFileKinds.pdf.write(document, "2026-11-30", busy));
  assert(rests > 50, `${rests} rests`);
  assertStringIncludes(text, "row 1499 ");
  assert(!text.includes("row 1500 "));
  assertStringIncludes(text, "3,501 further lines");
  assertStringIncludes(text, "Total 5,001.005001");
  await assertRejects(
    () => statementFileKinds.xlsx.write(document),
    GatewayError,
    "at most 2,000 rows",
  );
});
