/** Tax code and invoice mail are set in the account and fill the form of every request. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { closeAccount } from "../../../../kv/services/operations/account_closing.ts";
import {
  getInvoiceSettings,
  listAccountInvoices,
  setInvoiceSettings,
} from "../../../../kv/money/invoices/invoices.ts";
import { openDashboardWorld } from "../../../support/worlds/dashboard_world.ts";
import { formsOf, TestBrowser } from "../../../support/browser/test_browser.ts";
import { openTopupSite, type TopupSite } from "../../../support/worlds/topup_site.ts";
import { notice } from "../../../support/worlds/topup_world.ts";

const details = {
  type: "company",
  taxCode: "0100233488",
  legalName: "Công ty TNHH Một Hai",
  address: "1 Phố A, Hà Nội",
  email: "ke.toan@example.com",
  phone: "",
};

function opened(site: TopupSite) {
  const browser = new TestBrowser(site.world.fetch, site.address);
  browser.cookies.set("session", site.customerToken);
  const paid = async () => {
    const order = await site.order(200_000);
    await site.intake.take(notice(order.code), "{}");
    return order.code;
  };
  const save = async (change: Record<string, string>) =>
    await browser.submit(await browser.get("/account"), "/account/invoice", change);
  return { browser, save, paid, id: site.customer.id };
}

/** What a form on a page holds, by the names of its fields. */
function filled(html: string, action: string): Record<string, string> {
  const form = formsOf(html).find((found) => found.action === action);
  return Object.fromEntries((form?.fields ?? []).filter(([name]) => name in details));
}

Deno.test("what is set in the account fills the first request, and stays when another buyer is invoiced", async () => {
  await using site = await openTopupSite();
  const { browser, save, paid, id } = opened(site);
  const saved = await save(details);
  assertEquals(saved.headers.get("location"), "/account?done=invoice");
  const account = await browser.follow(saved);
  assertStringIncludes(account.text, "Your invoice details are saved.");
  assertEquals(filled(account.text, "/account/invoice"), details);
  const [first, second] = [await paid(), await paid()];
  const form = await browser.get(`/invoices/new?order=${first}`);
  assertEquals(filled(form.text, "/invoices"), details);
  const other = { taxCode: "", type: "person", legalName: "Nguyễn Văn A", email: "a@example.com" };
  assertEquals((await browser.submit(form, "/invoices", other)).status, 303);
  assertEquals((await listAccountInvoices(site.world.kv, id, 1))[0]?.buyer.email, "a@example.com");
  const next = await browser.get(`/invoices/new?order=${second}`);
  assertEquals(filled(next.text, "/invoices"), details);
});

Deno.test("tax code and mail are enough; errors are named and inputs are kept", async () => {
  await using site = await openTopupSite();
  const { browser, save, paid, id } = opened(site);
  const blank = { taxCode: "", legalName: "", address: "", email: "", phone: "" };
  assertEquals(
    (await save({ ...blank, taxCode: "0100233488", email: "k@example.com" })).status,
    303,
  );
  const code = await paid();
  const form = await browser.get(`/invoices/new?order=${code}`);
  assertEquals(filled(form.text, "/invoices"), {
    ...blank,
    type: "company",
    taxCode: "0100233488",
    email: "k@example.com",
  });
  const wrong = await save({ ...blank, taxCode: "12", email: "nowhere", legalName: "A <b>" });
  assertEquals(wrong.status, 422);
  for (
    const text of ["A tax code has 10, 12 or 13 digits.", "This is not valid.", "A &lt;b&gt;"]
  ) {
    assertStringIncludes(wrong.text, text);
  }
  const doubtful = await save({ ...blank, taxCode: "0101234567" });
  assertStringIncludes(doubtful.text, "check digit does not match");
  assertEquals((await getInvoiceSettings(site.world.kv, id)).taxCode, "0100233488");
  const fields = { ...blank, taxCode: "0101234567", confirmed: "yes" };
  assertEquals((await browser.submit(doubtful, "/account/invoice", fields)).status, 303);
  assertEquals((await getInvoiceSettings(site.world.kv, id)).taxCode, "0101234567");
  assertEquals((await save(blank)).status, 303);
  assertEquals(await getInvoiceSettings(site.world.kv, id), {});
});

Deno.test("without settings the last request fills the next, as before; another tax code takes none of its name", async () => {
  await using site = await openTopupSite();
  const { browser, save, paid } = opened(site);
  const [first, second, third] = [await paid(), await paid(), await paid()];
  const form = await browser.get(`/invoices/new?order=${first}`);
  assertEquals((await browser.submit(form, "/invoices", details)).status, 303);
  const next = await browser.get(`/invoices/new?order=${second}`);
  assertEquals(filled(next.text, "/invoices"), details);
  await save({ taxCode: "0314409058-002", legalName: "", address: "", email: "", phone: "" });
  const other = filled((await browser.get(`/invoices/new?order=${third}`)).text, "/invoices");
  assertEquals([other["taxCode"], other["legalName"]], ["0314409058-002", ""]);
});

Deno.test("invoice settings are deleted with the person, and cannot be set afterwards", async () => {
  await using site = await openTopupSite();
  const { save, id } = opened(site);
  await save(details);
  const nowMs = site.world.time.nowMs();
  await closeAccount(site.world.kv, id, { nowMs, givenUpMicroVnd: 0n });
  assertEquals(await getInvoiceSettings(site.world.kv, id), {});
  assertEquals(await setInvoiceSettings(site.world.kv, id, { email: "a@example.com" }), false);
});

Deno.test("without invoicing the account page has no form for invoice details", async () => {
  await using world = await openDashboardWorld({ offers: { bankTransfer: true, invoices: false } });
  const { browser } = await world.signIn();
  const page = await browser.get("/account");
  assert(!page.text.includes("/account/invoice"));
});
