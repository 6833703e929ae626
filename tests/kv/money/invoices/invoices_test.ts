import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { type BuyerForm, readBuyerForm } from "../../../../core/trade/invoices/invoice.ts";
import { invoicesAsCsv, invoicesAsJson } from "../../../../core/trade/invoices/invoice_export.ts";
import { parseCsv } from "../../../../core/lib/base/csv.ts";
import type { OrderCode } from "../../../../core/trade/bank/order_code.ts";
import { attachInvoiceFile, readInvoiceFile } from "../../../../kv/money/invoices/invoice_files.ts";
import {
  getInvoice,
  listAccountInvoices,
  listInvoices,
  moveInvoice,
  requestInvoice,
  usualBuyer,
} from "../../../../kv/money/invoices/invoices.ts";
import {
  askForInvoice,
  buyer,
  buyerForm,
  issued,
  openVnd,
  paidOrder,
} from "../../../support/worlds/invoice_requests.ts";
import { notice, operator, topupWorld } from "../../../support/worlds/topup_world.ts";

Deno.test("readBuyerForm() wants name and address, and warns of a tax code once", () => {
  const problems = (change: Partial<BuyerForm>) => {
    const read = readBuyerForm({ ...buyerForm, ...change });
    return read.ok ? [] : read.problems.map(({ field, what }) => `${field} ${what}`);
  };
  assertEquals(problems({}), []);
  assertEquals(problems({ taxCode: "0101234567" }), ["taxCode confirm"]);
  assertEquals(problems({ taxCode: "0101234567", confirmed: true }), []);
  assertEquals(problems({ taxCode: "123", confirmed: true }), ["taxCode form"]);
  assertEquals(problems({ taxCode: "" }), ["taxCode required"]);
  assertEquals(problems({ taxCode: "", type: "person" }), []);
  assertEquals(problems({ legalName: " ", address: "\n", email: "" }), [
    "legalName required",
    "address required",
    "email required",
  ]);
  assertEquals(problems({ email: "a@b" }), ["email form"]);
  assertEquals(problems({ email: "a@b.vn\r\nbcc: x@y.vn" }), ["email form"]);
  assertEquals(problems({ phone: "abc" }), ["phone form"]);
  assertEquals(buyer({ taxCode: "0101234567", confirmed: true }).taxCodeConfirmed, true);
  assertEquals(buyer({ phone: "090 123-4567" }).phone, "0901234567");
});

Deno.test("a request freezes sums, rate and buyer", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const order = await paidOrder(world, ann);
  const made = await askForInvoice(world, ann.id, [order.code]);
  assert(made.ok);
  const { invoice } = made;
  assertEquals([invoice.grossVnd, invoice.netVnd, invoice.vatVnd], [200_000n, 185_185n, 14_815n]);
  assertEquals(invoice.amountInWords, "Hai trăm nghìn đồng");
  assertEquals((await getInvoice(kv, invoice.id)).value, invoice);
  assertEquals(await listAccountInvoices(kv, ann.id, 10), [invoice]);
  assertEquals((await usualBuyer(kv, ann.id)).taxCode, "0100233488");
  // More money under the same order later does not change what was frozen.
  await world.intake.take(notice(order.code, { at: "2026-11-20 16:00:00" }), "{}");
  assertEquals((await getInvoice(kv, invoice.id)).value?.grossVnd, 200_000n);
});

Deno.test("an order has one invoice, also when two are asked for at once", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const order = await paidOrder(world, ann);
  const both = await Promise.all([
    askForInvoice(world, ann.id, [order.code]),
    askForInvoice(world, ann.id, [order.code]),
  ]);
  assertEquals(both.filter(({ ok }) => ok).length, 1);
  assertEquals(await askForInvoice(world, ann.id, [order.code]), { ok: false, why: "taken" });
  assertEquals((await listInvoices(kv, { count: 10 })).length, 1);
});

Deno.test("a foreign, an unpaid and an unknown order have no invoice", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const [ann, bob] = [await world.customer("ann"), await world.customer("bob")];
  const paid = await paidOrder(world, ann);
  const unpaid = await world.order(ann);
  assertEquals(await askForInvoice(world, bob.id, [paid.code]), { ok: false, why: "order" });
  assertEquals(await askForInvoice(world, ann.id, [paid.code, unpaid.code]), {
    ok: false,
    why: "order",
  });
  assertEquals(await askForInvoice(world, ann.id, []), { ok: false, why: "order" });
  assertEquals(await askForInvoice(world, ann.id, ["ST7K2M9QXJ" as OrderCode]), {
    ok: false,
    why: "order",
  });
  assertEquals(await openVnd(world, paid.code), 200_000n);
});

Deno.test("states move only forward, and a replaced invoice is named by the next", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const order = await paidOrder(world, ann);
  const staff = await operator(world, "staff");
  const made = await askForInvoice(world, ann.id, [order.code]);
  assert(made.ok);
  const { id } = made.invoice;
  const move = async (step: Parameters<typeof moveInvoice>[1]["move"]) => {
    const result = await moveInvoice(kv, { id, move: step, operator: staff, nowMs: world.nowMs });
    return result.ok ? result.invoice.state : result.why;
  };
  assertEquals(await move({ to: "sent" }), "refused");
  assertEquals(await move({ to: "exported" }), "exported");
  assertEquals(await move({ to: "issued", issued }), "issued");
  assertEquals(await move({ to: "rejected", reason: "x" }), "refused");
  assertEquals(await move({ to: "sent" }), "sent");
  assertEquals(await askForInvoice(world, ann.id, [order.code]), { ok: false, why: "taken" });
  assertEquals(await move({ to: "replaced", reason: "wrong address" }), "replaced");
  const next = await askForInvoice(world, ann.id, [order.code]);
  assert(next.ok);
  assertEquals(next.invoice.replaces, id);
  assertEquals((await getInvoice(kv, id)).value?.issued, issued);
});

Deno.test("a rejected request frees its order", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const order = await paidOrder(world, ann);
  const staff = await operator(world, "staff");
  const made = await askForInvoice(world, ann.id, [order.code]);
  assert(made.ok);
  const step = { id: made.invoice.id, operator: staff, nowMs: world.nowMs };
  await moveInvoice(kv, { ...step, move: { to: "rejected", reason: "wrong code" } });
  const next = await askForInvoice(world, ann.id, [order.code]);
  assert(next.ok);
  assertEquals(next.invoice.replaces, undefined);
});

Deno.test("files come back byte for byte, and only PDF and XML go in", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const made = await askForInvoice(world, ann.id, [(await paidOrder(world, ann)).code]);
  assert(made.ok);
  const { id } = made.invoice;
  const staff = await operator(world, "staff");
  const attach = (name: string, bytes: Uint8Array<ArrayBuffer>) =>
    attachInvoiceFile(kv, { id, name, bytes, operator: staff, nowMs: world.nowMs });
  const pdf = new Uint8Array(150_001).map((_, at) => at % 251);
  pdf.set(new TextEncoder().encode("%PDF-1.7"));
  const result = await attach('../../hóa đơn\r\n"1".pdf', pdf);
  assert(result.ok);
  assertEquals([result.file.name, result.file.parts], ["hóa đơn1.pdf", 3]);
  assertEquals(await readInvoiceFile(kv, id, result.file), pdf);
  assertEquals(await attach("again.pdf", pdf), result, "a form sent twice attaches once");
  assertEquals((await getInvoice(kv, id)).value!.files.length, 1);
  const html = new TextEncoder().encode("<html><script>");
  assertEquals(await attach("x.pdf", html), { ok: false, why: "type" });
  const large = new Uint8Array(2 * 1024 * 1024 + 1);
  large.set(new TextEncoder().encode("%PDF-"));
  assertEquals(await attach("x.pdf", large), { ok: false, why: "size" });
});

Deno.test("exports hold every figure, once per invoice, and no formula", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const order = await paidOrder(world, ann);
  const made = await requestInvoice(kv, {
    accountId: ann.id,
    codes: [order.code],
    buyer: buyer({ legalName: "=HYPERLINK(1)", address: 'Số 1, "A"' }),
    note: "",
    rate: { percent: 10 },
    itemName: "Phí",
    nowMs: world.nowMs,
  });
  assert(made.ok);
  const csv = invoicesAsCsv([made.invoice]);
  assert(csv.startsWith("\ufeffreference_code,"));
  const [header, row, ...more] = parseCsv(csv);
  assertEquals([header!.length, row!.length, more.length], [27, 27, 0]);
  const cell = (name: string) => row![header!.indexOf(name)];
  assertEquals(cell("buyer_legal_name"), "'=HYPERLINK(1)");
  assertEquals(cell("buyer_address"), 'Số 1, "A"');
  assertEquals(cell("buyer_tax_code"), "0100233488");
  assertEquals([cell("amount_without_vat"), cell("vat_amount"), cell("total_amount")], [
    "181818",
    "18182",
    "200000",
  ]);
  const json = JSON.parse(invoicesAsJson([made.invoice]));
  assertEquals(json.invoices[0].items[0].vat_rate, "10%");
  assertStringIncludes(json.invoices[0].amount_in_words, "Hai trăm nghìn");
});
