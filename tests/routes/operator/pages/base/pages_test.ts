import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "../../../../support/assert.ts";
import { parseCsv } from "../../../../../core/lib/base/csv.ts";
import { fromVnd } from "../../../../../core/billing/money/micro_vnd.ts";
import { findAccountByEmail, getAccount } from "../../../../../kv/people/accounts/accounts.ts";
import { listApprovals } from "../../../../../kv/services/operations/approvals.ts";
import { requestInvoice } from "../../../../../kv/money/invoices/invoices.ts";
import { mailQueue } from "../../../../../kv/engine/outbox/outbox.ts";
import { listAuditLines } from "../../../../../kv/people/audit/operator_audit.ts";
import { claimDue } from "../../../../../kv/engine/outbox/outbox_claims.ts";
import { getTopupOrder } from "../../../../../kv/money/payments/topups.ts";
import { listUnreadable } from "../../../../../kv/money/payments/bank_notices.ts";
import { verifyStore } from "../../../../../kv/services/verify/verify_books.ts";
import { approve, confirmed } from "../../../../support/browser/confirmed.ts";
import { operatorWorld } from "../../../../support/worlds/operator_world.ts";
import { reportOf } from "../../../../support/route_reports.ts";
import { notice, receivingAccount } from "../../../../support/worlds/topup_world.ts";
import type { KeyValueStore } from "../../../../../kv/engine/store/key_value_store.ts";

const acts = async (kv: KeyValueStore) =>
  (await listAuditLines(kv, { count: 50 })).map(({ act }) => act)
    .filter((act) => !act.startsWith("second_factor")).reverse();

const route = reportOf(
  { model: "general-1", id: "general-1/north", provider: "north", upstreamModel: "g1" },
  "open",
);

Deno.test("every page renders in both languages, without inline script or style", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    const event = notice("khong ma");
    await world.intake.take(event, "<script>alert(1)</script>");
    await world.intake.keepUnreadable("sepay", "field id", "{}");
    for (const [name, locale] of [["staff", "en"], ["second", "vi"]] as const) {
      const browser = await operator(name, locale);
      for (
        const path of [
          "/operator",
          "/operator/review",
          "/operator/review?q=khongma",
          `/operator/notices/sepay/${event.id}`,
          "/operator/bank",
          "/operator/accounts",
          `/operator/accounts/${ann.id}`,
          "/operator/approvals",
          "/operator/invoices?state=requested",
          "/operator/claims",
          "/operator/service",
          "/operator/provider-routes",
          "/operator/audit",
        ]
      ) {
        const page = await browser.get(path);
        assertEquals(page.status, 200, path);
        assertStringIncludes(page.text, `<html lang="${locale}"`);
        assert(!/ style=| on[a-z]+="/.test(page.text), path);
        assert(!/<script(?![^>]* src=)/.test(page.text), path);
        // Every id on a page is there once: labels and errors point to the right field.
        const ids = [...page.text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
        assertEquals(ids.length, new Set(ids).size, path);
      }
    }
  }, { routes: [route] }));

Deno.test("a near miss is credited with one click, mailed, audited, and only once", () =>
  operatorWorld(async ({ world, operator, hints }) => {
    const ann = await world.customer("ann");
    const order = await world.order(ann);
    const wrong = order.code.slice(0, 9) + (order.code.endsWith("2") ? "3" : "2");
    const event = notice(`CK ${wrong} cam on`);
    await world.intake.take(event, "{}");
    const staff = await operator("staff");
    const path = `/operator/notices/sepay/${event.id}`;
    const page = await staff.get(path);
    assertStringIncludes(page.text, `Credit to ${order.code}`);
    assertStringIncludes(page.text, "one typing error, same amount");
    const fields = { target: order.code, reason: "one typing error" };
    const both = await Promise.all([
      confirmed(staff, `${path}/assign`, fields),
      confirmed(staff, `${path}/assign`, fields),
    ]);
    assertEquals(both.map(({ status }) => status).toSorted(), [303, 400]);
    assertEquals(await world.balanceVnd(ann.id), 200_000);
    assertEquals((await getTopupOrder(world.kv, order.code)).value?.state, "paid");
    assertEquals(await acts(world.kv), ["notice_assigned"]);
    assertEquals(hints(), 1);
    const mails = await claimDue(world.kv, mailQueue, { nowMs: world.nowMs, count: 9 });
    assertEquals(mails.map(({ payload }) => [payload.kind, payload.to]), [
      ["topup_credited", "ann@example.com"],
    ]);
    assertEquals(await world.findings(), []);
    assert((await verifyStore(world.kv)).ok);
  }));

Deno.test("an open order of the same amount is offered, an older or other one is not", () =>
  operatorWorld(async ({ world, operator }) => {
    const [ann, bob] = [await world.customer("ann"), await world.customer("bob")];
    const old = await world.order(bob);
    world.nowMs += 3 * 86_400_000;
    const order = await world.order(ann);
    const other = await world.order(ann, 300_000);
    const event = notice("nap tien", { at: "2026-11-23 14:30:00" });
    await world.intake.take(event, "{}");
    const page = await (await operator("staff")).get(`/operator/notices/sepay/${event.id}`);
    assertStringIncludes(page.text, `Credit to ${order.code}`);
    for (const { code } of [old, other]) assert(!page.text.includes(`Credit to ${code}`));
  }));

Deno.test("an account is found by e-mail for a notice; nonsense and missing reasons are refused", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    const event = notice("nap tien");
    await world.intake.take(event, "{}");
    const staff = await operator("staff");
    const path = `/operator/notices/sepay/${event.id}`;
    for (const [target, reason] of [["nobody@example.com", "r"], ["ST7K2M9QXJ", "r"], ["", "r"]]) {
      assertEquals(
        (await confirmed(staff, `${path}/assign`, { target: target!, reason: reason! })).status,
        400,
      );
    }
    const noReason = await confirmed(staff, `${path}/assign`, {
      target: "ann@example.com",
      reason: "",
    });
    assertStringIncludes(noReason.text, "Give a reason");
    assertEquals(await world.balanceVnd(ann.id), 0);
    const done = await confirmed(staff, `${path}/assign`, {
      target: "ANN@example.com",
      reason: "phone",
    });
    assertEquals(done.location, `${path}?done=assigned`);
    assertStringIncludes((await staff.get(done.location!)).text, "has been credited");
    assertEquals(await world.balanceVnd(ann.id), 200_000);
  }));

Deno.test("a notice that was joined or set aside automatically is put back with one click", () =>
  operatorWorld(async ({ world, operator }) => {
    const first = notice("nap tien", { reference: "R1" });
    const joined = notice("nap tien", { source: "casso", id: "c:1", reference: "R1" });
    const own = notice("noi bo", { payer: { account: receivingAccount.account } });
    for (const event of [first, joined, own]) await world.intake.take(event, "{}");
    const staff = await operator("staff");
    for (const event of [joined, own]) {
      const path = `/operator/notices/${event.source}/${encodeURIComponent(event.id)}`;
      assertStringIncludes((await staff.get(path)).text, "Put back into the queue");
      assertEquals((await staff.post(`${path}/resolve`, { verdict: "return" })).status, 303);
      assertEquals((await world.state(event))?.kind, "review");
      assertStringIncludes((await staff.get("/operator/review")).text, path);
      assertEquals((await staff.post(`${path}/resolve`, { verdict: "return" })).status, 400);
    }
    assertEquals(await acts(world.kv), ["notice_returned", "notice_returned"]);
    assertEquals(await world.findings(), []);
  }));

Deno.test("above the limit nothing moves until a second operator approves", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    const event = notice("nap tien", { amountVnd: 5_000_001 });
    await world.intake.take(event, "{}");
    const [staff, second] = [await operator("staff"), await operator("second")];
    const asked = await confirmed(staff, `/operator/notices/sepay/${event.id}/assign`, {
      target: ann.id,
      reason: "contract",
    });
    assertEquals(asked.location, "/operator/approvals?done=asked");
    const adjustment = { amount: "6.000.000", reason: "gift", form: crypto.randomUUID() };
    for (let time = 0; time < 2; time++) {
      const sent = await confirmed(staff, `/operator/accounts/${ann.id}/adjust`, adjustment);
      assertEquals(sent.location, "/operator/approvals?done=asked");
    }
    const other = { ...adjustment, amount: "7.000.000" };
    assertEquals(
      (await confirmed(staff, `/operator/accounts/${ann.id}/adjust`, other)).status,
      400,
    );
    const [gift, credit, ...more] = await listApprovals(world.kv, 9);
    assertEquals(more, []);
    assertEquals(await world.balanceVnd(ann.id), 0);
    assertEquals((await approve(staff, credit!.id)).status, 400);
    assert(!(await staff.get("/operator/approvals")).text.includes(`${credit!.id}/approve`));
    assertEquals((await approve(second, credit!.id)).status, 303);
    assertEquals((await approve(second, credit!.id)).status, 400);
    assertEquals(await world.balanceVnd(ann.id), 5_000_001);
    assertEquals((await second.post(`/operator/approvals/${gift!.id}/refuse`)).status, 303);
    assertEquals(await world.balanceVnd(ann.id), 5_000_001);
    assertEquals(await acts(world.kv), [
      "assignment_requested",
      "adjustment_requested",
      "notice_assigned",
      "adjustment_refused",
    ]);
    assertEquals(await world.findings(), []);
  }));

Deno.test("the approver sees from, to, memo, order, balance and evidence: in list, dossier and log", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    const order = await world.order(ann, 9_000_000);
    const payer = { name: "NGUYEN VAN BINH", account: "0987654321", bank: "VCB" };
    const event = notice("tien nha <thang 11>", { amountVnd: 9_000_000, payer });
    await world.intake.take(event, "{}");
    const staff = await operator("staff");
    await confirmed(staff, `/operator/notices/sepay/${event.id}/assign`, {
      target: order.code,
      reason: "contract 12",
    });
    const staffSees = async (path: string) =>
      (await staff.get(path)).text.replaceAll("\u00a0", " ");
    const second = await operator("second", "vi");
    const secondSees = async (path: string) =>
      (await second.get(path)).text.replaceAll("\u00a0", " ");
    const facts = [
      "NGUYEN VAN BINH, 0987654321, VCB",
      "ann@example.com",
      order.code,
      "tien nha &lt;thang 11&gt;",
      `sepay:${event.id}, ${event.reference}`,
    ];
    const english = [...facts, "₫0 → ₫9,000,000", ">From<", ">Memo<", ">Evidence<"];
    const vietnamese = [...facts, "0 ₫ → 9.000.000 ₫", ">Từ<", ">Nội dung<", ">Chứng cứ<"];
    const list = await secondSees("/operator/approvals");
    const [waiting] = await listApprovals(world.kv, 1);
    const dossier = await secondSees(`/operator/approvals/${waiting!.id}`);
    for (const text of [...vietnamese, "contract 12"]) assertStringIncludes(dossier, text);
    for (const text of vietnamese) assertStringIncludes(list, text);
    for (const text of english) assertStringIncludes(await staffSees("/operator/approvals"), text);
    const [approval] = await listApprovals(world.kv, 1);
    assertEquals((await approve(second, approval!.id)).status, 303);
    for (const text of vietnamese) assertStringIncludes(await secondSees("/operator/audit"), text);
    for (const text of english) assertStringIncludes(await staffSees("/operator/audit"), text);
    for (const text of english) assertStringIncludes(await staffSees("/operator/approvals"), text);
  }));

Deno.test("small amounts count together on the pages, and no operator credits their own wallet", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    const [staff, second] = [await operator("staff"), await operator("second")];
    const adjust = (browser: typeof staff, accountId: string) =>
      confirmed(browser, `/operator/accounts/${accountId}/adjust`, {
        amount: "4.000.000",
        reason: "late",
        form: crypto.randomUUID(),
      });
    const both = await Promise.all([adjust(staff, ann.id), adjust(staff, ann.id)]);
    assertEquals(both.map(({ location }) => location).toSorted(), [
      `/operator/accounts/${ann.id}?done=adjusted`,
      "/operator/approvals?done=asked",
    ]);
    assertEquals(await world.balanceVnd(ann.id), 4_000_000);
    const own = await findAccountByEmail(world.kv, "staff@example.com");
    assert(own !== undefined);
    const refused = await adjust(staff, own.id);
    assertEquals(refused.status, 400);
    assertStringIncludes(refused.text, "may own the wallet that changes");
    // The other one asks for a friend; the friend finds no button, and a forged form does nothing.
    assertEquals((await adjust(second, own.id)).status, 303);
    await adjust(second, own.id);
    const [approval] = await listApprovals(world.kv, 1);
    const path = `/operator/approvals/${approval!.id}/approve`;
    const list = (await staff.get("/operator/approvals")).text;
    assert(!list.includes(path));
    assertStringIncludes(list, "The wallet is your own");
    assertEquals((await staff.post(path)).status, 400);
    assertEquals((await approve(staff, approval!.id)).status, 400);
    assertEquals(await world.balanceVnd(own.id), 4_000_000);
  }));

Deno.test("an unreadable notice waits for an operator, and is set aside once, with a note", () =>
  operatorWorld(async ({ world, operator }) => {
    const staff = await operator("staff");
    for (let at = 0; at < 3; at++) {
      world.nowMs += 1_000;
      await world.intake.keepUnreadable("sepay", "field id", `{"at":${at}}`);
    }
    const path = "/operator/review/unreadable";
    assertStringIncludes((await staff.get("/operator")).text, path);
    assertStringIncludes((await staff.get("/operator/review")).text, path);
    assertStringIncludes((await staff.post("/operator/bank/check")).text, path);
    const { text } = await staff.get(path);
    const order = [0, 1, 2].map((at) => text.indexOf(`{&quot;at&quot;:${at}}`));
    assertEquals(order.toSorted((one, other) => one - other), order, "oldest first");
    const hash = /name="hash" value="([0-9a-f]+)"/.exec(text)![1]!;
    const act = { source: "sepay", hash, note: "" };
    assertEquals((await staff.post(path, act)).status, 400);
    assertEquals((await staff.post(path, { ...act, note: "credited by hand" })).status, 303);
    assertEquals((await staff.post(path, { ...act, note: "again" })).status, 400);
    assertEquals((await listUnreadable(world.kv)).length, 2);
    await world.intake.keepUnreadable("sepay", "field id", `{"at":0}`);
    assertEquals((await listUnreadable(world.kv)).length, 2, "it was looked at already");
    assertEquals(await acts(world.kv), ["unreadable_notice_closed"]);
  }));

Deno.test("wallets are credited and debited with a reason, once per form, never below zero", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    const staff = await operator("staff");
    const path = `/operator/accounts/${ann.id}/adjust`;
    const caseId = crypto.randomUUID();
    for (let time = 0; time < 2; time++) {
      const done = await confirmed(staff, path, {
        amount: "50,000",
        reason: "sorry",
        form: caseId,
      });
      assertEquals(done.status, 303);
    }
    assertEquals(await world.balanceVnd(ann.id), 50_000);
    const refused: readonly [string, string][] = [["-50001", "r"], ["0", "r"], ["1.5", "r"], [
      "x",
      "r",
    ], ["5", ""]];
    for (const [amount, reason] of refused) {
      const fields = { amount, reason, form: crypto.randomUUID() };
      assertEquals((await confirmed(staff, path, fields)).status, 400, amount);
    }
    const back = { amount: "-20000", reason: "back", form: crypto.randomUUID() };
    await confirmed(staff, path, back);
    assertEquals(await world.balanceVnd(ann.id), 30_000);
    assertEquals(await acts(world.kv), ["wallet_adjusted", "wallet_adjusted"]);
    assert((await verifyStore(world.kv)).ok);
  }));

Deno.test("an account is blocked and unblocked, with reasons in the log", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    const staff = await operator("staff");
    const path = `/operator/accounts/${ann.id}`;
    assertEquals((await staff.post(`${path}/block`, { reason: "" })).status, 400);
    await staff.post(`${path}/block`, { reason: "card fraud" });
    assertEquals((await getAccount(world.kv, ann.id))?.blockedReason, "card fraud");
    assertStringIncludes((await staff.get(path)).text, "card fraud");
    await staff.post(`${path}/unblock`, { reason: "cleared" });
    const open = await getAccount(world.kv, ann.id);
    assertEquals([open?.blockedAtMs, open?.blockedReason], [undefined, undefined]);
    assertEquals(await acts(world.kv), ["account_blocked", "account_unblocked"]);
  }));

Deno.test("accounts are found by address, id and order code", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    const order = await world.order(ann);
    const staff = await operator("staff");
    for (const query of ["ann@example.com", ann.id, order.code.toLowerCase()]) {
      const found = await staff.get(`/operator/accounts?q=${encodeURIComponent(query)}`);
      assertEquals(found.location, `/operator/accounts/${ann.id}`, query);
    }
    assertStringIncludes(
      (await staff.get("/operator/accounts?q=zzz")).text,
      "No account was found",
    );
  }));

Deno.test("an invoice goes from the queue to the customer: export, issue, file, mail", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    const order = await world.order(ann);
    await world.intake.take(notice(order.code), "{}");
    const made = await requestInvoice(world.kv, {
      accountId: ann.id,
      codes: [order.code],
      buyer: {
        type: "company",
        taxCode: "0100233488",
        legalName: "Công ty A",
        address: "Hà Nội",
        email: "ke.toan@example.com",
      },
      note: "",
      rate: { percent: 8 },
      itemName: "Phí dịch vụ",
      nowMs: world.nowMs,
    });
    assert(made.ok);
    const staff = await operator("staff");
    const path = `/operator/invoices/${made.invoice.id}`;
    const csv = await staff.post("/operator/invoices/export", { format: "csv" });
    assert(csv.text.startsWith("\ufeffreference_code"));
    assertEquals(parseCsv(csv.text).length, 2);
    const json = JSON.parse(
      (await staff.post("/operator/invoices/export", { format: "json" })).text,
    );
    assertEquals(json.invoices[0].state, "exported");

    assertEquals(
      (await staff.post(`${path}/move`, { to: "issued", series: "", number: "" })).status,
      400,
    );
    const issue = { to: "issued", series: "C26TAA", number: "00000012", date: "2026-11-20" };
    assertEquals((await staff.post(`${path}/move`, issue)).status, 303);
    const bytes = new TextEncoder().encode("%PDF-1.7 signed");
    const file = new File([bytes], "hoadon.pdf");
    assertEquals((await staff.post(`${path}/files`, { file })).status, 303);
    const html = new File(["<html>"], "x.pdf");
    assertEquals((await staff.post(`${path}/files`, { file: html })).status, 400);
    const page = await staff.get(path);
    const href = new RegExp(`${path}/files/[\\w-]+`).exec(page.text)?.[0];
    assert(href !== undefined);
    assertEquals((await staff.get(href)).bytes, bytes);
    assertEquals((await staff.post(`${path}/move`, { to: "sent" })).status, 303);
    assertEquals((await staff.post(`${path}/move`, { to: "sent" })).status, 400);
    const mails = await claimDue(world.kv, mailQueue, { nowMs: world.nowMs, count: 9 });
    assertEquals(mails.map(({ payload }) => [payload.kind, payload.to]), [
      ["invoice_issued", "ke.toan@example.com"],
    ]);
    assertEquals(await acts(world.kv), [
      "invoice_exported",
      "invoice_issued",
      "invoice_file_attached",
      "invoice_sent",
    ]);
  }));

Deno.test("times have one form on every page, and one time zone", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    const order = await world.order(ann);
    const event = notice(order.code, { at: "2026-11-20 00:30:05" });
    await world.intake.take(event, "{}");
    const made = await requestInvoice(world.kv, {
      accountId: ann.id,
      codes: [order.code],
      buyer: {
        type: "company",
        taxCode: "0100233488",
        legalName: "Công ty A",
        address: "Hà Nội",
        email: "ke.toan@example.com",
      },
      note: "",
      rate: { percent: 8 },
      itemName: "Phí dịch vụ",
      nowMs: Date.UTC(2026, 10, 19, 17, 30, 5),
    });
    assert(made.ok);
    for (const [name, locale] of [["staff", "en"], ["second", "vi"]] as const) {
      const browser = await operator(name, locale);
      for (const path of [`/operator/notices/sepay/${event.id}`, "/operator/invoices"]) {
        const { text } = await browser.get(path);
        const written = locale === "en" ? "20 Nov 2026, 00:30:05" : "20/11/2026, 00:30:05";
        const time = /title="2026-11-20T00:30:05.000\+07:00"[^>]*>([^<]+)<\/time>/.exec(text)?.[1];
        assertEquals(time, written, path);
        assert(!/>\s*\d{4}-\d\d-\d\d \d\d:/.test(text), path);
      }
    }
  }));

Deno.test("a statement is imported, the provider asked, the sums compared, the top-ups exported", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    const order = await world.order(ann);
    const staff = await operator("staff");
    const text =
      `Ngày giao dịch,Số tiền,Nội dung,Số tham chiếu\n20/11/2026 14:02:37,200000,${order.code},FT1\n20/11/2026 99:00:00,1,x,y\n`;
    const statement = new File([text], "saoke.csv");
    const fields = { account: receivingAccount.account, statement };
    const imported = await staff.post("/operator/bank/import", fields);
    assertStringIncludes(imported.text, "1 movements read, 1 of them new.");
    assertStringIncludes(imported.text, "Line 3");
    assertStringIncludes((await staff.post("/operator/bank/import", fields)).text, "0 of them new");
    assertEquals(
      (await staff.post("/operator/bank/import", { account: "x", statement })).status,
      400,
    );
    assertEquals(await world.balanceVnd(ann.id), 200_000);
    const polled = await staff.post("/operator/bank/poll");
    assertStringIncludes(polled.text, "could not be read: refused 429");
    assertStringIncludes((await staff.post("/operator/bank/check")).text, "Everything agrees.");
    const csv = await staff.get("/operator/bank/topups.csv?from=2026-11-01&to=2026-11-30");
    const [header, line, ...more] = parseCsv(csv.text);
    assertEquals([more.length, line![header!.indexOf("order_code")], line!.at(-1)], [
      0,
      order.code,
      "200000",
    ]);
    const empty = await staff.get("/operator/bank/topups.csv?from=2026-01-01&to=2026-01-31");
    assertEquals(parseCsv(empty.text).length, 1);
    assertEquals(await acts(world.kv), [
      "statement_imported",
      "statement_imported",
      "notices_polled",
    ]);
  }, { poll: () => Promise.resolve({ ok: false, why: "refused", status: 429 }) }));

Deno.test("the journal is paged without losing notices that came in the same millisecond", () =>
  operatorWorld(async ({ world, operator }) => {
    for (let count = 0; count < 120; count++) await world.intake.take(notice(`so ${count}`), "{}");
    const staff = await operator("staff");
    const seen = new Set<string>();
    let path: string | undefined = "/operator/bank";
    for (let pages = 0; path !== undefined && pages < 9; pages++) {
      const page = await staff.get(path);
      for (const [, id] of page.text.matchAll(/\/operator\/notices\/sepay\/(\d+)/g)) seen.add(id!);
      path = /href="(\/operator\/bank\?before=[^"]+)"/.exec(page.text)?.[1]?.replaceAll(
        "&amp;",
        "&",
      );
    }
    assertEquals(seen.size, 120);
  }));

Deno.test("maintenance and routes are switched with a reason and audited", () =>
  operatorWorld(async (operators) => {
    const { world, operator } = operators;
    const staff = await operator("staff");
    assertStringIncludes((await staff.get("/operator/provider-routes")).text, "7 of 10 failed");
    await staff.post("/operator/service/maintenance", { on: "yes", message: "back at six" });
    assertEquals(operators.switches.maintenance?.message, "back at six");
    await staff.post("/operator/service/maintenance", { on: "no" });
    assertEquals(operators.switches.maintenance, undefined);
    const change = { route: route.route.id, action: "drain", reason: "slow" };
    await staff.post("/operator/provider-routes/switch", change);
    assertEquals(operators.switches.routes[route.route.id]?.state, "draining");
    assertEquals(
      (await staff.post("/operator/provider-routes/switch", { ...change, reason: "" })).status,
      400,
    );
    assertEquals(
      (await staff.post("/operator/provider-routes/switch", { ...change, route: "x" })).status,
      404,
    );
    const unknown = await staff.post("/operator/provider-routes/switch", {
      ...change,
      action: "sell",
    });
    assertEquals(unknown.status, 404);
    await staff.post("/operator/provider-routes/switch", { ...change, action: "enable" });
    assertEquals(operators.switches.routes, {});
    assertEquals(await acts(world.kv), [
      "maintenance_changed",
      "maintenance_changed",
      "route_changed",
      "route_changed",
    ]);
  }, { routes: [route] }));

Deno.test("the overview shows sums and open work, and verifies the ledger on demand", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    await world.intake.take(notice((await world.order(ann)).code), "{}");
    await world.intake.take(notice("khong ma", { amountVnd: 70_000 }), "{}");
    const staff = await operator("staff");
    const page = await staff.get("/operator");
    assertStringIncludes(page.text, `value="${fromVnd(200_000)}"`);
    assertStringIncludes(page.text, "1 transfer without an order");
    assertStringIncludes(page.text, "1 route out of service");
    assertMatch(
      page.text,
      /<li>.*khong ma.*70,000.*href="\/operator\/notices\/sepay\/[^"]+"[^>]*>Match</,
    );
    const proven = await staff.post("/operator/verify");
    assertMatch(proven.text, /Verified: 1 account, 0 receipts/);
    // A wallet that was tampered with is found.
    await world.kv.set(["wallet", ann.id], { availableMicroVnd: fromVnd(999_999) });
    assertMatch((await staff.post("/operator/verify")).text, /[1-9]\d* problems?/);
  }, { routes: [route] }));

Deno.test("no act is done without the token of the form", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    const event = notice("nap tien");
    await world.intake.take(event, "{}");
    const staff = await operator("staff");
    const forged: readonly [string, Record<string, string>][] = [
      [`/operator/notices/sepay/${event.id}/assign`, { target: ann.id, reason: "r" }],
      [`/operator/accounts/${ann.id}/adjust`, {
        amount: "5",
        reason: "r",
        form: crypto.randomUUID(),
      }],
      ["/operator/service/maintenance", { on: "yes", message: "x" }],
    ];
    for (const [path, fields] of forged) {
      assertEquals((await staff.postForged(path, fields)).status, 403, path);
    }
    assertEquals(await world.balanceVnd(ann.id), 0);
    assertEquals(await acts(world.kv), []);
  }));
