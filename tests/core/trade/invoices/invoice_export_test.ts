/** Invoice requests as CSV and as JSON: known columns and members stay as they are, byte for byte. */
import type { Invoice } from "../../../../core/trade/invoices/invoice.ts";
import { invoicesAsCsv, invoicesAsJson } from "../../../../core/trade/invoices/invoice_export.ts";
import { parseOrderCode } from "../../../../core/trade/bank/order_code.ts";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { assert } from "../../../support/assert.ts";
import { assertKeepsCsv, assertKeepsJson } from "../../../support/golden.ts";

const [first, second] = ["a", "b"].map((last) =>
  parseId("invoice", `inv_${"0".repeat(24)}${last}`)
);
const accountId = parseId("account", `acc_${"0".repeat(25)}`);
const code = parseOrderCode("ST7K2M9QXJ");
assert(first && second && accountId && code);
const requestedAtMs = Date.UTC(2026, 10, 19, 17, 30, 5, 7);

const company: Invoice = {
  id: first,
  accountId,
  basis: { kind: "orders", codes: [code, code] },
  buyer: {
    type: "company",
    taxCode: "0314409058-002",
    legalName: "=HYPERLINK(1)",
    address: 'Số 1, "A"',
    email: "ke.toan@example.com",
    phone: "0901234567",
  },
  note: "-1; +2",
  rate: { percent: 8 },
  netVnd: 185_185n,
  vatVnd: 14_815n,
  grossVnd: 200_000n,
  amountInWords: "Hai trăm nghìn đồng",
  itemName: "Phí dịch vụ",
  requestedAtMs,
  changedAtMs: requestedAtMs,
  state: "issued",
  issued: { number: "00000007", series: "1C26TAA", date: "2026-11-21", lookupCode: "X1" },
  files: [],
  replaces: second,
};

const invoices: readonly Invoice[] = [company, {
  id: second,
  accountId,
  basis: { kind: "month", month: "2026-11" },
  buyer: { type: "person", legalName: "Ann", address: "Hà Nội", email: "ann@example.com" },
  note: "",
  rate: { percent: 10 },
  netVnd: 1n,
  vatVnd: 0n,
  grossVnd: 1n,
  amountInWords: "Một đồng",
  itemName: "Phí",
  requestedAtMs,
  changedAtMs: requestedAtMs,
  state: "requested",
  files: [],
}];

Deno.test("the invoice file keeps its columns", async () => {
  await assertKeepsCsv(new URL("golden/invoices.csv", import.meta.url), invoicesAsCsv(invoices));
});

Deno.test("the invoices' JSON keeps its members", async () => {
  const rows: Record<string, unknown>[] = JSON.parse(invoicesAsJson(invoices)).invoices;
  await assertKeepsJson(new URL("golden/invoices.jsonl", import.meta.url), rows);
});
