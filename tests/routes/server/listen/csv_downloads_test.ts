/** Every CSV download keeps one convention: names of columns, days, times, the time zone, amounts, quoting. */
import { assert, assertEquals, assertMatch } from "../../../support/assert.ts";
import { assertKeepsCsv, withoutIds } from "../../../support/golden.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { parseCsv } from "../../../../core/lib/base/csv.ts";
import { credit } from "../../../../kv/money/ledger/ledger.ts";
import { marginGroups } from "../../../../kv/money/costs/margins.ts";
import { requestInvoice } from "../../../../kv/money/invoices/invoices.ts";
import { openWalletEngine } from "../../../../kv/money/wallet/mod.ts";
import { costedCatalog, makeCostedCalls } from "../../../support/worlds/costed_calls.ts";
import { campaign } from "../../../support/worlds/credit_world.ts";
import { openDashboardWorld, requestIdAt } from "../../../support/worlds/dashboard_world.ts";
import { draftOf, mustReserve, topUp } from "../../../support/worlds/money_world.ts";
import { operatorWorld } from "../../../support/worlds/operator_world.ts";
import { topupSettings } from "../../../support/worlds/topup_settings.ts";
import { notice } from "../../../support/worlds/topup_world.ts";

interface Download {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

const name = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+07:00$/;
const day = /^\d{4}-\d\d-\d\d$/;
const amount = /^-?\d+(\.\d{1,6})?$/;
/** Amounts of the invoice file are named by the fields of an electronic invoice. */
const isAmount = /_vnd$|^(unit_price|amount_without_vat|vat_amount|total_amount)$/;

/** What a cell must look like, by the name of its column; cells may be empty. */
function formOf(column: string): RegExp | undefined {
  if (column.endsWith("_at")) return time;
  if (/(^|_)(day|date)$/.test(column)) return day;
  return isAmount.test(column) ? amount : undefined;
}

/** Checks the whole file and returns its rows by column. */
function rowsOf(path: string, { status, text, headers }: Download): Record<string, string>[] {
  assertEquals(status, 200, path);
  assertEquals(headers.get("content-type"), "text/csv; charset=utf-8", path);
  assertMatch(headers.get("content-disposition") ?? "", /^attachment; filename="[\w.-]+\.csv"$/);
  assert(text.startsWith("\ufeff") && text.endsWith("\r\n"), path);
  assert(!/[^\r]\n|\r[^\n]/.test(text), `${path}: a line end other than CR LF`);
  const [columns, ...rows] = parseCsv(text);
  assert(columns !== undefined && rows.length > 0, path);
  assertEquals(new Set(columns).size, columns.length, path);
  for (const column of columns) assertMatch(column, name, path);
  return rows.map((row) => {
    assertEquals(row.length, columns.length, path);
    for (const [at, cell] of row.entries()) {
      const column = columns[at]!;
      const form = formOf(column);
      if (form !== undefined && cell !== "") assertMatch(cell, form, `${path}: ${column}`);
      if (form === undefined) {
        assert(!/\d\d:\d\d|\d{4}-\d\d-\d\d/.test(cell), `${path}: a time in ${column}`);
      }
    }
    return Object.fromEntries(row.map((cell, at) => [columns[at]!, cell]));
  });
}

/** Checks that a file still has the columns and cells that it was kept with. */
async function keeps(name: string, { text }: Download): Promise<void> {
  await assertKeepsCsv(new URL(`golden/${name}.csv`, import.meta.url), withoutIds(text));
}

/** Whatever may answer with a CSV file, by its path. */
function downloadsOf(routes: readonly { readonly path: string }[]): string[] {
  const paths = routes.map(({ path }) => path).filter((path) => /csv|export|download/.test(path));
  return [...new Set(paths)].sort();
}

const catalog = costedCatalog();

// Half past midnight in Vietnam: in UTC the day before.
const atMs = Date.UTC(2026, 10, 19, 17, 30, 5, 7);
const written = "2026-11-20T00:30:05.007+07:00";

Deno.test("CSV files of customers keep the convention, in either language", async () => {
  const topup = topupSettings();
  await using world = await openDashboardWorld({
    topup,
  });
  const { browser, account } = await world.signIn();
  await topUp(world.kv, account.id, fromVnd(2_000_000));
  await credit(world.kv, {
    accountId: account.id,
    amountMicroVnd: 1_245_000n,
    kind: "refund",
    operationId: "refund:video_1",
    reason: 'said "no", twice',
    atMs,
  });
  const reserved = await mustReserve(world.wallet, account.id, 1_000_001n);
  const draft = draftOf(1_000_001n, { requestId: requestIdAt(atMs), startedAtMs: atMs });
  await world.wallet.settle(reserved, draft);
  await world.wallet.indexOnce();
  const read = async (path: string, locale: string): Promise<Download> => {
    const cookies = new Map([...browser.cookies, ["locale", locale]]);
    const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
    const response = await world.fetch(new Request(world.baseUrl + path, { headers: { cookie } }));
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(await response.bytes());
    return { status: response.status, text, headers: response.headers };
  };
  const paths = ["/usage/export.csv", "/wallet/statement.csv"];
  assertEquals(
    downloadsOf(world.routes),
    ["/activity.csv", paths[0], "/usage/export.json", paths[1]],
    "a new download belongs into this test",
  );
  const files: Record<string, string>[][] = [];
  for (const path of paths) {
    const english = await read(path, "en");
    files.push(rowsOf(path, english));
    assertEquals((await read(path, "vi")).text, english.text, `${path} depends on the language`);
  }
  // Each download of the activity is a line of it, so two of them differ.
  assertEquals(rowsOf("/activity.csv", await read("/activity.csv", "vi")).length > 0, true);
  await keeps("statement", await read(paths[1]!, "en"));
  const [call] = files[0]!;
  assertEquals([call!.started_at, call!.cost_vnd], [written, "1.000001"]);
  assertEquals(
    files[1]!.map(({ day, booked_at, kind, detail, calls, change_vnd, balance_vnd }) =>
      [day, booked_at, kind, detail, calls, change_vnd, balance_vnd].join("|")
    ),
    [
      "2026-11-01||opening_balance||||0",
      "2026-11-20|2026-11-20T07:00:00.000+07:00|topup|test||2000000|2000000",
      '2026-11-20|2026-11-20T00:30:05.007+07:00|refund|said "no", twice||1.245|2000001.245',
      "2026-11-20||usage||1|-1.000001|2000000.244999",
      "2026-11-20||closing_balance||||2000000.244999",
    ],
  );
});

Deno.test("CSV files of operators keep the convention, in either language", () =>
  operatorWorld(async ({ world, app, deps, operator }) => {
    assertEquals(
      downloadsOf(app.routes),
      [
        "/operator/bank/topups.csv",
        "/operator/campaigns/:id/codes.csv",
        "/operator/invoices/export",
        "/operator/margins/export.csv",
        "/operator/margins/sheet.csv",
      ],
      "a new download belongs into this test",
    );
    const ann = await world.customer("ann");
    const order = await world.order(ann);
    await world.intake.take(
      notice(order.code, { at: "2026-11-20 00:30:05", id: "90001", reference: "REF1" }),
      "{}",
    );
    const made = await requestInvoice(world.kv, {
      accountId: ann.id,
      codes: [order.code],
      buyer: {
        type: "company",
        taxCode: "0100233488",
        legalName: 'Công ty "A", Hà Nội',
        address: "Hà Nội",
        email: "ke.toan@example.com",
      },
      note: "",
      rate: { percent: 8 },
      itemName: "Phí dịch vụ",
      nowMs: atMs,
    });
    assert(made.ok);
    const english = await operator("staff", "en");
    const vietnamese = await operator("second", "vi");
    const topups = "/operator/bank/topups.csv?from=2026-11-01&to=2026-11-30";
    const file = await english.get(topups);
    const [credited] = rowsOf(topups, file);
    assertEquals(credited!.transferred_at, "2026-11-20T00:30:05.000+07:00");
    assertEquals((await vietnamese.get(topups)).text, file.text);
    // The codes of orders are random.
    const withoutCode = (text: string) => text.replaceAll(order.code, "CODE");
    await keeps("topups", { ...file, text: withoutCode(file.text) });

    const queue = "/operator/invoices/export";
    await english.post(queue, { format: "csv" });
    const invoices = await english.post(queue, { format: "csv" });
    const [invoice] = rowsOf(queue, invoices);
    assertEquals(
      [invoice!.requested_date, invoice!.buyer_legal_name, invoice!.total_amount],
      ["2026-11-20", 'Công ty "A", Hà Nội', "200000"],
    );
    assertEquals((await vietnamese.post(queue, { format: "csv" })).text, invoices.text);

    const wallet = await openWalletEngine(world.kv, { clock: deps.clock });
    await makeCostedCalls({
      wallet,
      catalog,
      accountId: ann.id,
      keyId: newId("apiKey", world.nowMs),
      nowMs: world.nowMs,
      calls: 4,
    });
    await wallet.close();
    const groups = marginGroups.map((by) => [`margins-${by}`, `export.csv?period=30d&by=${by}`]);
    for (const [name, path] of [...groups, ["provider-sheet", "sheet.csv"]]) {
      const whole = `/operator/margins/${path}`;
      const costs = await english.get(whole);
      rowsOf(whole, costs);
      await keeps(name!, costs);
      assertEquals((await vietnamese.get(whole)).text, costs.text, whole);
    }

    const { id } = await campaign(world.kv);
    const codes = `/operator/campaigns/${id}/codes.csv`;
    const vouchers = rowsOf(codes, await english.post(codes, { count: "3", uses: "1" }));
    assertEquals(vouchers.length, 3);
  }, { catalog }));
