/** VAT invoices and billing details by the management API, as the program of a bookkeeper uses them. */
import { assert, assertEquals } from "../../support/assert.ts";
import { parseId } from "../../../core/lib/ids/ids.ts";
import { findActivity } from "../../../kv/people/audit/account_activity.ts";
import { createAccount } from "../../../kv/people/accounts/accounts.ts";
import { attachInvoiceFile } from "../../../kv/money/invoices/invoice_files.ts";
import { openManagementWorld } from "../../support/worlds/management_world.ts";

type World = Awaited<ReturnType<typeof openManagementWorld>>;

const buyer = {
  type: "company",
  tax_code: "0314409058",
  legal_name: "CONG TY TNHH MAU",
  address: "1 Duong Mau, Ha Noi",
  email: "ketoan@acme.example",
};

async function paidTopup(world: World, amountVnd = 216_000): Promise<string> {
  const { body } = await world.send("POST", "/topups", { body: { amount_vnd: amountVnd } });
  await world.pay(body.id, amountVnd);
  return body.id;
}

Deno.test("an invoice is requested for two top-ups, and what was paid is on it once", async () => {
  await using world = await openManagementWorld();
  const topups = [await paidTopup(world), await paidTopup(world, 108_000)];
  const requested = await world.send("POST", "/invoices", { body: { topups, buyer } });
  assertEquals(requested.status, 200);
  const { gross_vnd, vat_vnd, vat_rate, state } = requested.body;
  assertEquals([gross_vnd, vat_vnd, vat_rate, state], ["324000", "24000", "8%", "requested"]);
  assertEquals(requested.body.buyer, buyer);
  assertEquals(requested.body.topups, topups);
  const again = await world.send("POST", "/invoices", { body: { topups: [topups[0]], buyer } });
  assertEquals([again.status, again.body.error.param], [400, "topups"]);
  assertEquals((await world.send("GET", `/topups/${topups[0]}`)).body.uninvoiced_vnd, "0");
  const { lines } = await findActivity(world.kv, world.owner.id, { count: 1 });
  assertEquals(
    lines.map(({ act, by }) => [act, "keyId" in by && by.keyId]),
    [["invoice_requested", world.adminKey.id]],
  );
});

Deno.test("billing details are changed in part, and fill what a request leaves out", async () => {
  await using world = await openManagementWorld();
  assertEquals((await world.send("PATCH", "/billing-details", { body: buyer })).status, 200);
  const changed = await world.send("PATCH", "/billing-details", {
    body: { phone: "+84901234567", address: null },
  });
  const { address: _, ...kept } = buyer;
  const expected = { object: "billing_details", ...kept, phone: "+84901234567" };
  assertEquals(changed.body, expected);
  assertEquals((await world.send("GET", "/billing-details")).body, expected);
  const topups = [await paidTopup(world)];
  const missing = await world.send("POST", "/invoices", { body: { topups } });
  assertEquals([missing.status, missing.body.error.param], [400, "buyer.address"]);
  const { body } = await world.send("POST", "/invoices", {
    body: { topups, buyer: { address: "2 Duong Mau" }, note: "PO 7" },
  });
  assertEquals([body.buyer.address, body.buyer.phone, body.note], [
    "2 Duong Mau",
    "+84901234567",
    "PO 7",
  ]);
});

Deno.test("a tax code that fails its check is taken once it is confirmed", async () => {
  await using world = await openManagementWorld();
  const send = (more: object) =>
    world.send("PATCH", "/billing-details", { body: { tax_code: "0101234567", ...more } });
  const doubted = await send({});
  assertEquals([doubted.status, doubted.body.error.param], [400, "tax_code"]);
  assertEquals((await send({ tax_code_confirmed: true })).body.tax_code_confirmed, true);
  const later = await world.send("PATCH", "/billing-details", { body: { phone: null } });
  assertEquals(later.status, 200, "what was confirmed stays so");
  assertEquals((await send({ tax_code: "0101234568" })).status, 400, "another one does not");
});

Deno.test("wrong requests name the member, and nothing is requested", async () => {
  await using world = await openManagementWorld();
  const topup = await paidTopup(world);
  const { body: { id: unpaid } } = await world.send("POST", "/topups", {
    body: { amount_vnd: 50_000 },
  });
  const eve = await createAccount(world.kv, { nowMs: world.time.nowMs(), email: "eve@x.example" });
  const { secret } = await world.secretOf("admin", eve);
  const wrong: readonly (readonly [object, string, string?])[] = [
    [{ buyer }, "topups"],
    [{ topups: [], buyer }, "topups"],
    [{ topups: [unpaid], buyer }, "topups"],
    [{ topups: [topup, "nothing"], buyer }, "topups"],
    [{ topups: Array(6).fill(topup), buyer }, "topups"],
    [{ topups: [topup], buyer: { ...buyer, tax_code: "12" } }, "buyer.tax_code"],
    [{ topups: [topup], buyer: { ...buyer, legal_name: "" } }, "buyer.legal_name"],
    [{ topups: [topup], buyer: { ...buyer, email: "x" } }, "buyer.email"],
    [{ topups: [topup], buyer: { ...buyer, phone: "call me" } }, "buyer.phone"],
    [{ topups: [topup], buyer, note: "x".repeat(501) }, "note"],
    [{ topups: [topup], buyer }, "topups", secret],
  ];
  for (const [body, param, key = world.admin] of wrong) {
    const { status, body: answer } = await world.send("POST", "/invoices", { body, secret: key });
    assertEquals([status, answer.error.param], [400, param], JSON.stringify(body));
  }
  assertEquals((await world.send("GET", "/invoices")).body.data, []);
});

Deno.test("invoices and their files are read by the organisation that has them, and listed by pages", async () => {
  await using world = await openManagementWorld();
  const made: string[] = [];
  for (let at = 0; at < 3; at++) {
    await world.time.advance(1_000);
    const topups = [await paidTopup(world)];
    made.unshift((await world.send("POST", "/invoices", { body: { topups, buyer } })).body.id);
  }
  const first = (await world.send("GET", "/invoices?limit=2")).body;
  const second = (await world.send("GET", `/invoices?limit=2&after=${first.last_id}`)).body;
  const ids = [...first.data, ...second.data].map(({ id }: { id: string }) => id);
  assertEquals([ids, first.has_more, second.has_more], [made, true, false]);
  const id = parseId("invoice", made[0] ?? "");
  assert(id !== undefined);
  const pdf = new TextEncoder().encode("%PDF-1.4 invoice");
  const nowMs = world.time.nowMs();
  const operator = { accountId: world.owner.id, email: "op@example.com" };
  const file = { id, name: "a.pdf", bytes: pdf, operator, nowMs };
  assert((await attachInvoiceFile(world.kv, file)).ok);
  const { files: [listed] } = (await world.send("GET", `/invoices/${id}`)).body;
  const path = `/invoices/${id}/files/${listed.id}`;
  const sent = await world.send("GET", path);
  assertEquals(sent.headers.get("content-type"), "application/pdf");
  assertEquals(new TextDecoder().decode(sent.bytes), "%PDF-1.4 invoice");
  const eve = await createAccount(world.kv, { nowMs, email: "eve@x.example" });
  const { secret } = await world.secretOf("admin", eve);
  for (const other of [path, `/invoices/${id}`]) {
    assertEquals((await world.send("GET", other, { secret })).status, 404, other);
  }
  assertEquals((await world.send("GET", `/invoices/${id}/files/none`)).status, 404);
});
