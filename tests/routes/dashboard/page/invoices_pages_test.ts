import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "../../../support/assert.ts";
import { attachInvoiceFile } from "../../../../kv/money/invoices/invoice_files.ts";
import { listAccountInvoices, moveInvoice } from "../../../../kv/money/invoices/invoices.ts";
import type { Account } from "../../../../kv/people/accounts/accounts.ts";
import { readTopupSettings, type TopupSettings } from "../../../../core/trade/settings/settings.ts";
import {
  createInvoicePages,
  type InvoiceDeps,
} from "../../../../routes/dashboard/customer/invoices/invoices_pages.tsx";
import { pageApp, type PageVisitor, visit } from "../../../support/browser/page_visitor.ts";
import {
  notice,
  operator,
  receivingAccount,
  type TopupWorld,
  topupWorld,
} from "../../../support/worlds/topup_world.ts";

interface Invoiced {
  readonly world: TopupWorld;
  readonly ann: Account;
  readonly browser: PageVisitor;
  readonly code: string;
  as(account: Account | undefined): Promise<PageVisitor>;
}

async function invoiced(
  run: (invoiced: Invoiced) => Promise<void>,
  change: Partial<TopupSettings> = {},
): Promise<void> {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const read = readTopupSettings({ GATEWAY_VAT_RATES: "2025-07-01=8,2027-01-01=10" });
  assert(read.ok);
  const deps: InvoiceDeps = {
    kv,
    clock: { nowMs: () => world.nowMs, monotonicMs: () => world.nowMs },
    baseUrl: "http://127.0.0.1:8787",
    operators: [],
    sandbox: false,
    topup: { ...read.settings, receivingAccounts: [receivingAccount], ...change },
  };
  const app = pageApp(deps, createInvoicePages(deps));
  const ann = await world.customer("ann");
  const { code } = await world.order(ann);
  await world.intake.take(notice(code), "{}");
  const as: Invoiced["as"] = (account) => visit(app, deps, account);
  await run({ world, ann, code, as, browser: await as(ann) });
}

const buyer = {
  type: "company",
  taxCode: "0100233488",
  legalName: "Công ty TNHH Một Hai",
  address: "1 Phố A, Hà Nội",
  email: "ke.toan@example.com",
  phone: "",
  note: "",
};

Deno.test("a paid order gets its invoice: form, request, state", () =>
  invoiced(async ({ world, ann, browser, code }) => {
    assertStringIncludes((await browser.get("/invoices")).text, code);
    const form = await browser.get(`/invoices/new?order=${code}`);
    assertStringIncludes(form.text, 'value="ann@example.com"');
    const sent = await browser.post("/invoices", { ...buyer, order: code });
    assertEquals(sent.status, 303);
    const page = await browser.get(sent.location!);
    for (
      const shown of [
        "Requested",
        "₫185,185",
        "₫14,815",
        "VAT (8\u00a0%)",
        "Hai trăm nghìn đồng",
        "0100233488",
      ]
    ) {
      assertStringIncludes(page.text, shown);
    }
    assertStringIncludes((await browser.get("/invoices")).text, "Every paid order has its invoice");
    const again = await browser.post("/invoices", { ...buyer, order: code });
    assertEquals(again.status, 400);
    assertStringIncludes(again.text, "already has an invoice");
    assertEquals((await listAccountInvoices(world.kv, ann.id, 9)).length, 1);
  }));

Deno.test("a second transfer for an invoiced order is offered for an invoice of its own", () =>
  invoiced(async ({ world, ann, browser, code }) => {
    assertEquals((await browser.post("/invoices", { ...buyer, order: code })).status, 303);
    await world.intake.take(notice(code, { amountVnd: 100_000 }), "{}");
    const list = await browser.get("/invoices");
    assertStringIncludes(list.text, `/invoices/new?order=${code}`);
    assertStringIncludes(list.text, `value="${100_000n * 1_000_000n}"`);
    assertStringIncludes((await browser.get(`/invoices/new?order=${code}`)).text, "₫100,000");
    const sent = await browser.post("/invoices", { ...buyer, order: code });
    assertEquals(sent.status, 303);
    assertStringIncludes((await browser.get(sent.location!)).text, "₫100,000");
    const sums = (await listAccountInvoices(world.kv, ann.id, 9)).map(({ grossVnd }) => grossVnd);
    assertEquals(sums, [100_000n, 200_000n]);
    assertStringIncludes((await browser.get("/invoices")).text, "Every paid order has its invoice");
  }));

Deno.test("the rate is that of the day, from the setting", () =>
  invoiced(async ({ world, ann, as, code }) => {
    world.nowMs = Date.parse("2027-01-01T00:00:00+07:00");
    const sent = await (await as(ann)).post("/invoices", { ...buyer, order: code });
    assertStringIncludes((await (await as(ann)).get(sent.location!)).text, "VAT (10\u00a0%)");
    assertEquals((await listAccountInvoices(world.kv, ann.id, 1))[0]?.vatVnd, 18_182n);
  }));

Deno.test("a tax code with a wrong check digit asks, and goes through once confirmed", () =>
  invoiced(async ({ world, ann, browser, code }) => {
    const doubtful = { ...buyer, taxCode: "0101234567", order: code };
    const asked = await browser.post("/invoices", doubtful);
    assertEquals(asked.status, 400);
    assertStringIncludes(asked.text, "check digit does not match");
    assertStringIncludes(asked.text, 'name="confirmed"');
    // What was typed is still there.
    assertStringIncludes(asked.text, 'value="1 Phố A, Hà Nội"');
    assertEquals(await listAccountInvoices(world.kv, ann.id, 9), []);
    const sent = await browser.post("/invoices", { ...doubtful, confirmed: "yes" });
    assertEquals(sent.status, 303);
  }));

Deno.test("a missing company name or address is named beside its field", () =>
  invoiced(async ({ browser, code }) => {
    const page = await browser.post("/invoices", {
      ...buyer,
      legalName: "",
      address: "",
      order: code,
    });
    assertEquals(page.status, 400);
    for (const id of ["legalName-error", "address-error"]) {
      assertStringIncludes(page.text, `id="${id}"`);
    }
  }));

Deno.test("what customers type is escaped", () =>
  invoiced(async ({ browser, code }) => {
    const sent = await browser.post("/invoices", {
      ...buyer,
      legalName: '"><script>alert(1)</script>',
      order: code,
    });
    const page = await browser.get(sent.location!);
    assert(!page.text.includes("<script>alert"));
    assertStringIncludes(page.text, "&lt;script&gt;");
  }));

Deno.test("without a rate set by the operator nothing can be requested", () =>
  invoiced(async ({ browser, code }) => {
    assertStringIncludes((await browser.get("/invoices")).text, "cannot be requested here yet");
    assertEquals((await browser.get(`/invoices/new?order=${code}`)).status, 404);
    assertEquals((await browser.post("/invoices", { ...buyer, order: code })).status, 404);
  }, { vatRates: [] }));

Deno.test("orders, requests and files of others look like none", () =>
  invoiced(async ({ world, ann, browser, code, as }) => {
    const sent = await browser.post("/invoices", { ...buyer, order: code });
    const id = (await listAccountInvoices(world.kv, ann.id, 1))[0]!.id;
    const staff = await operator(world, "staff");
    const bytes = new TextEncoder().encode("%PDF-1.7 hello");
    const attached = await attachInvoiceFile(world.kv, {
      id,
      name: "hoá đơn.pdf",
      bytes,
      operator: staff,
      nowMs: world.nowMs,
    });
    assert(attached.ok);
    const file = `${sent.location}/files/${attached.file.fileId}`;
    const mine = await browser.get(file);
    assertEquals([mine.status, mine.bytes.length], [200, bytes.length]);
    assertEquals(mine.headers.get("content-type"), "application/pdf");
    assertMatch(
      mine.headers.get("content-disposition") ?? "",
      /^attachment; filename="inv_\w+\.pdf"/,
    );
    assertStringIncludes((await browser.get(sent.location!)).text, "hoá đơn.pdf");

    const bob = await as(await world.customer("bob"));
    const stranger = await as(undefined);
    for (const path of [sent.location!, file, `/invoices/new?order=${code}`]) {
      assertEquals((await bob.get(path)).status, 404, path);
      assertEquals((await stranger.get(path)).status, 303, path);
    }
    assertEquals((await bob.post("/invoices", { ...buyer, order: code })).status, 404);
    assertEquals((await browser.postForged("/invoices", { ...buyer, order: code })).status, 403);
    assertEquals((await browser.get(`${sent.location}/files/other`)).status, 404);
    assertEquals((await browser.get("/invoices/inv_nothing")).status, 404);
  }));

Deno.test("a rejected request shows the reason and the way back", () =>
  invoiced(async ({ world, ann, browser, code }) => {
    const sent = await browser.post("/invoices", { ...buyer, order: code });
    const { id } = (await listAccountInvoices(world.kv, ann.id, 1))[0]!;
    await moveInvoice(world.kv, {
      id,
      move: { to: "rejected", reason: "Sai địa chỉ" },
      operator: await operator(world, "staff"),
      nowMs: world.nowMs,
    });
    const page = await browser.get(sent.location!);
    assertStringIncludes(page.text, "Sai địa chỉ");
    assertStringIncludes(page.text, `/invoices/new?order=${code}`);
    assertStringIncludes(
      (await browser.get(`/invoices/new?order=${code}`)).text,
      "Công ty TNHH Một Hai",
    );
  }));
