/** The mail of an issued invoice goes to an accountant without an account: its link alone shows the files. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { attachInvoiceFile } from "../../../../kv/money/invoices/invoice_files.ts";
import { listAccountInvoices, moveInvoice } from "../../../../kv/money/invoices/invoices.ts";
import { mailInvoiceSent } from "../../../../kv/money/payments/topup_checks.ts";
import { tokenOf } from "../../../support/worlds/dashboard_world.ts";
import { openTopupSite, seedTopups, type TopupSite } from "../../../support/worlds/topup_site.ts";
import type { TestBrowser } from "../../../support/browser/test_browser.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";

const bytes = new TextEncoder().encode("%PDF-1.7 signed");
/** Issues the seeded invoice, attaches its file, marks it as sent, and returns the token that was mailed. */
async function sendInvoice({ world, customer }: TopupSite): Promise<string> {
  const { kv, time } = world;
  const [invoice] = await listAccountInvoices(kv, customer.id, 1);
  assert(invoice !== undefined);
  const act = {
    id: invoice.id,
    operator: { accountId: customer.id, email: "staff@example.com" },
    nowMs: time.nowMs(),
  };
  const issued = { series: "C26TAA", number: "00000012", date: "2026-11-20" };
  assert((await moveInvoice(kv, { ...act, move: { to: "issued", issued } })).ok);
  assert((await attachInvoiceFile(kv, { ...act, name: "hoá đơn.pdf", bytes })).ok);
  const sent = await moveInvoice(kv, {
    ...act,
    move: { to: "sent" },
    attach: (operation, moved) => mailInvoiceSent(operation, moved, customer, time.nowMs()),
  });
  assert(sent.ok);
  const mail = (await world.deliver()).find(({ to }) => to === "ke.toan@example.com");
  assertStringIncludes(mail?.text ?? "", "/invoices/shared#token=");
  return tokenOf(mail);
}

async function show(browser: TestBrowser, token: string) {
  return await browser.submit(await browser.get("/invoices/shared"), "/invoices/shared", { token });
}

Deno.test("the mailed link shows the invoice and its files, more than once, without an account", async () => {
  await using site = await openTopupSite();
  await seedTopups(site);
  const token = await sendInvoice(site);
  const accountant = site.world.browser({ "accept-language": "vi" });
  for (let time = 0; time < 2; time++) {
    const page = await show(accountant, token);
    assertEquals(page.status, 200);
    for (const text of ["00000012", "0100233488", "hoá đơn.pdf"]) {
      assertStringIncludes(page.text, text);
    }
    const action = /action="(\/invoices\/shared\/files\/[^"]+)"/.exec(page.text)?.[1];
    assert(action !== undefined);
    const file = await accountant.submit(page, action);
    assertEquals([file.status, file.text], [200, "%PDF-1.7 signed"]);
    assertStringIncludes(file.headers.get("content-disposition") ?? "", "attachment");
  }
  // It opens this invoice and nothing else.
  assertEquals((await accountant.get("/invoices")).status, 303);
  assertEquals((await accountant.get("/account")).status, 303);
});

Deno.test("a link that is old, cut or of another mail shows nothing", async () => {
  await using site = await openTopupSite();
  await seedTopups(site);
  const token = await sendInvoice(site);
  const { world } = site;
  await world.signIn("ann@example.com");
  const browser = world.browser();
  await browser.submit(await browser.get("/forgot"), "/forgot", { email: "ann@example.com" });
  const reset = tokenOf((await world.deliver())[0]);
  for (const wrong of ["", token.slice(0, -1), "x".repeat(5_000), reset]) {
    assertEquals((await show(browser, wrong)).status, 422, wrong.slice(0, 9));
  }
  const page = await show(browser, token);
  const action = /action="(\/invoices\/shared\/files\/[^"]+)"/.exec(page.text)![1]!;
  assertEquals((await browser.submit(page, action, { token: reset })).status, 422);
  world.time.advance(30 * dayMs - 1);
  assertEquals((await show(world.browser(), token)).status, 200);
  world.time.advance(1);
  assertEquals((await show(world.browser(), token)).status, 422);
});

Deno.test("the token of an invoice is at rest as a hash only", async () => {
  await using site = await openTopupSite();
  await seedTopups(site);
  const token = await sendInvoice(site);
  for await (const row of site.world.kv.list({ prefix: [] })) {
    assert(!Deno.inspect(row, { strAbbreviateSize: 1e6 }).includes(token));
  }
});
