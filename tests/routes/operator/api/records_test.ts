/** The operator's API lists and moves what only pages had: audit log, announcements, money that comes in, invoices, calls. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { mailQueue, nextDueAtMs } from "../../../../kv/engine/outbox/outbox.ts";
import { setBlocked } from "../../../../kv/people/accounts/accounts.ts";
import { keepUnreadable } from "../../../../kv/money/payments/bank_notices.ts";
import { requestApproval } from "../../../../kv/services/operations/approvals.ts";
import { cancelTopupOrder, type TopupOrder } from "../../../../kv/money/payments/topups.ts";
import { operatorProgram } from "../../../../kv/people/audit/operator_audit.ts";
import { exportInvoices } from "../../../../routes/operator/operations/money/invoices.ts";
import type { OperationName } from "../../../../routes/operator/operations/contract/paths.ts";
import { askForInvoice, issued, paidOrder } from "../../../support/worlds/invoice_requests.ts";
import { operatorApi } from "../../../support/worlds/operator_api.ts";
import { refuse } from "../../../support/worlds/refused_calls.ts";
import { notice, operator, topupWorld } from "../../../support/worlds/topup_world.ts";
import { bearerPost } from "../../../support/api_post.ts";

type Api = Awaited<ReturnType<typeof operatorApi>>;

/** Reads all pages of a list, each of `limit` rows at most. */
async function pages(
  w: Api,
  name: OperationName,
  path: string,
  { limit, cursor = "before" }: { readonly limit: number; readonly cursor?: string },
): Promise<Record<string, unknown>[][]> {
  const found: Record<string, unknown>[][] = [];
  let query = new URLSearchParams({ limit: String(limit) });
  for (;;) {
    const mark = path.includes("?") ? "&" : "?";
    const page = await w.done(name, `${path}${mark}${query}`);
    found.push(page.data);
    if (!page.has_more) return found;
    assert(found.length < 20, "the list goes on for ever");
    query = new URLSearchParams({ limit: String(limit), [cursor]: page.last_id });
  }
}

Deno.test("the audit log is read in pages, and by act, subject and operator", async () => {
  await using w = await operatorApi();
  const { kv, time } = w.gateway;
  const staff = { accountId: newId("account", 1), email: "staff@example.com" };
  const [{ accountId: ann }, { accountId: bob }] = [
    await w.gateway.customer(),
    await w.gateway.customer(),
  ];
  const acts = [[ann, true], [bob, true], [ann, false], [bob, false]] as const;
  for (const [at, [id, blocked]] of acts.entries()) {
    const act = { operator: staff, nowMs: time.nowMs() + at };
    await setBlocked(kv, id, { blocked, reason: `reason ${at}` }, act);
  }
  const path = `/api/accounts/${ann}/block`;
  await w.done("accounts.block", path, { blocked: true, reason: "by a program" });
  const details = (rows: readonly Record<string, unknown>[]) => rows.map(({ detail }) => detail);
  const all = await pages(w, "audit.list", "/api/audit", { limit: 2 });
  assertEquals(all.map((rows) => rows.length), [2, 2, 1]);
  assertEquals(new Set(details(all.flat())).size, 5);
  const filters: readonly (readonly [Record<string, string>, unknown[]])[] = [
    [{ act: "account_unblocked" }, ["reason 3", "reason 2"]],
    [{ subject: bob }, ["reason 3", "reason 1"]],
    [{ operator: "operator key" }, ["by a program"]],
    [{ operator: "staff@example.com", subject: ann }, ["reason 2", "reason 0"]],
    [{ operator: "nobody@example.com" }, []],
  ];
  for (const [filter, expected] of filters) {
    const query = new URLSearchParams(filter);
    for (const limit of [1, 50]) {
      const found = await pages(w, "audit.list", `/api/audit?${query}`, { limit });
      assertEquals(details(found.flat()), expected, `${query} by ${limit}`);
    }
  }
});

Deno.test("a program publishes an announcement, updates it and ends it", async () => {
  await using w = await operatorApi();
  const made = await w.done("announcements.publish", "/api/announcements", {
    kind: "maintenance",
    title: "New machines",
    text: "Calls pause for a minute",
    startsAt: "2026-12-01T00:00:00+07:00",
  });
  assertEquals([made.startsAt, made.endedAt], ["2026-11-30T17:00:00.000Z", null]);
  const updates = `/api/announcements/${made.id}/updates`;
  await w.done("announcements.update", updates, { text: "It began" });
  const ended = await w.done("announcements.update", updates, { text: "Done", ends: true });
  assertEquals(ended.endedAt, new Date(w.gateway.time.nowMs()).toISOString());
  const { data } = await w.done("announcements.list", "/api/announcements");
  assertEquals(data, [ended]);
  assertEquals(data[0].updates.map(({ text }: { text: string }) => text), [
    "Calls pause for a minute",
    "It began",
    "Done",
  ]);
  assertEquals(await w.audited(), [
    "announcement_updated by operator key: ended: Done",
    "announcement_updated by operator key: It began",
    "announcement_published by operator key: maintenance: New machines",
  ]);
});

const textsOf = (rows: readonly Record<string, unknown>[], member: string) =>
  rows.map((row) => row[member]);

Deno.test("orders are listed by account, or of all accounts those without payment", async () => {
  await using w = await operatorApi();
  const { kv } = w.gateway;
  const world = topupWorld(kv);
  const [ann, bob] = [await world.customer("ann"), await world.customer("bob")];
  const orders: TopupOrder[] = [];
  for (const account of [ann, bob, ann, ann]) {
    world.nowMs += 1_000;
    orders.push(await world.order(account));
  }
  const [paid, ofBob, open, cancelled] = orders;
  assert(
    paid !== undefined && ofBob !== undefined && open !== undefined && cancelled !== undefined,
  );
  await world.intake.take(notice(paid.code), "{}");
  await cancelTopupOrder(kv, { code: cancelled.code, accountId: ann.id, nowMs: world.nowMs });
  const ofAnn = await pages(w, "topups.list", `/api/topups?account=${ann.id}`, { limit: 2 });
  const byEmail = await pages(w, "topups.list", "/api/topups?account=Ann@example.com", {
    limit: 2,
  });
  assertEquals(byEmail, ofAnn);
  assertEquals(ofAnn.map((rows) => textsOf(rows, "code")), [
    [cancelled.code, open.code],
    [paid.code],
  ]);
  assertEquals(textsOf(ofAnn.flat(), "receivedVnd"), ["0", "0", "200000"]);
  assertEquals(textsOf(ofAnn.flat(), "status"), ["cancelled", "pending", "paid"]);
  const withoutPayment = await pages(w, "topups.list", "/api/topups", { limit: 1 });
  assertEquals(textsOf(withoutPayment.flat(), "code"), [open.code, ofBob.code]);
});

Deno.test("notices are listed whole, or those that wait for a person", async () => {
  await using w = await operatorApi();
  const world = topupWorld(w.gateway.kv);
  const order = await world.order(await world.customer("ann"));
  for (const memo of [order.code, "no code", "none either"]) {
    world.nowMs += 1_000;
    await world.intake.take(notice(memo), "{}");
  }
  const journal = await pages(w, "notices.list", "/api/bank-notices", { limit: 2 });
  assertEquals(textsOf(journal.flat(), "memo"), ["none either", "no code", order.code]);
  const state: unknown = journal.flat()[2]?.["state"];
  assertEquals(state, {
    kind: "credited",
    accountId: order.accountId,
    orderCode: order.code,
    by: "auto",
    at: new Date(world.nowMs - 2_000).toISOString(),
  });
  const waiting = await pages(w, "notices.waiting", "/api/bank-notices/waiting", {
    limit: 1,
    cursor: "after",
  });
  assertEquals(waiting.map((rows) => textsOf(rows, "memo")), [["no code"], ["none either"]]);
});

Deno.test("notices that could not be read are listed without their content", async () => {
  await using w = await operatorApi();
  const { kv, time } = w.gateway;
  for (const [at, raw] of ["second: s3cret", "first: s3cret"].entries()) {
    const receivedAtMs = time.nowMs() - at;
    await keepUnreadable(kv, { source: "casso", reason: raw.slice(0, 6), raw, receivedAtMs });
  }
  const { data } = await w.done("notices.unreadable", "/api/bank-notices/unreadable");
  assertEquals(textsOf(data, "reason"), ["first:", "second"]);
  assert(!JSON.stringify(data).includes("s3cret"));
});

Deno.test("what waits for a second operator is listed, with the money of now", async () => {
  await using w = await operatorApi();
  const { kv } = w.gateway;
  const world = topupWorld(kv);
  const staff = await operator(world, "staff");
  const { accountId } = await w.gateway.customer(50_000);
  for (const [at, reason] of ["first", "second"].entries()) {
    const act = { kind: "adjust", accountId, amountMicroVnd: fromVnd(9_000_000), reason } as const;
    const context = {
      operator: staff,
      nowMs: world.nowMs + at,
      balanceOf: () => Promise.resolve(0n),
    };
    const asked = await requestApproval(kv, act, context);
    assert(asked.ok);
  }
  const listed = await pages(w, "approvals.list", "/api/approvals", { limit: 1 });
  assertEquals(textsOf(listed.flat(), "reason"), ["second", "first"]);
  const [newest] = listed.flat();
  assertEquals(newest?.["state"], "pending");
  assertEquals(newest?.["money"], {
    accountId,
    amountVnd: "9000000",
    balanceBeforeVnd: "50000",
    balanceAfterVnd: "9050000",
  });
  const path = `/api/approvals/${String(newest?.["id"])}`;
  assertEquals((await w.send("POST", `${path}/approve`)).status, 404);
});

Deno.test("a program exports invoices, issues, sends, rejects and replaces them, each with a line and its mail", async () => {
  await using w = await operatorApi();
  const { kv } = w.gateway;
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const ask = async () => {
    world.nowMs += 1_000;
    const made = await askForInvoice(world, ann.id, [(await paidOrder(world, ann)).code]);
    assert(made.ok);
    return made.invoice.id;
  };
  const [first, second] = [await ask(), await ask()];
  const { invoices } = await w.done("invoices.export", "/api/invoice-export");
  assertEquals(textsOf(invoices, "reference_code"), [first, second]);
  const again = await w.done("invoices.export", "/api/invoice-export");
  assertEquals(textsOf(again.invoices, "state"), ["exported", "exported"]);
  const third = await ask();
  const requested = await pages(w, "invoices.list", "/api/invoices?state=requested", { limit: 1 });
  assertEquals(textsOf(requested.flat(), "reference_code"), [third]);
  const act = (name: OperationName, id: string, body: unknown = {}) =>
    w.done(name, `/api/invoices/${id}/${name.replace("invoices.", "")}`, body);
  const done = await act("invoices.issue", first, { ...issued, lookupCode: "" });
  assertEquals([done.state, done.issued], ["issued", { ...issued }]);
  assertEquals((await act("invoices.send", first)).state, "sent");
  assertEquals((await act("invoices.replace", first, { reason: "wrong name" })).state, "replaced");
  assertEquals(
    (await act("invoices.reject", second, { reason: "no such company" })).state,
    "rejected",
  );
  const all = await pages(w, "invoices.list", "/api/invoices", { limit: 2 });
  assertEquals(all.map((rows) => textsOf(rows, "state")), [["requested", "rejected"], [
    "replaced",
  ]]);
  assertEquals(await w.audited(), [
    "invoice_rejected by operator key: no such company",
    "invoice_replaced by operator key: wrong name",
    "invoice_sent by operator key: ",
    `invoice_issued by operator key: ${issued.series} ${issued.number}`,
    "invoice_exported by operator key: ",
    "invoice_exported by operator key: ",
  ]);
  assertEquals(await nextDueAtMs(kv, mailQueue), w.gateway.time.nowMs());
});

Deno.test("exports at the same moment have all open requests, each marked once", async () => {
  await using w = await operatorApi();
  const world = topupWorld(w.gateway.kv);
  const ann = await world.customer("ann");
  const ids: string[] = [];
  for (let at = 0; at < 4; at++) {
    world.nowMs += 1_000;
    const made = await askForInvoice(world, ann.id, [(await paidOrder(world, ann)).code]);
    assert(made.ok);
    ids.push(made.invoice.id);
  }
  const exports = await Promise.all(
    Array.from({ length: 6 }, () => w.done("invoices.export", "/api/invoice-export")),
  );
  for (const { invoices } of exports) {
    assertEquals(textsOf(invoices, "reference_code").toSorted(), ids.toSorted());
  }
  assertEquals(await w.audited(), ids.map(() => "invoice_exported by operator key: "));
});

Deno.test("a request that another export marks between two readings is in an export once", async () => {
  using store = await Deno.openKv(":memory:");
  const world = topupWorld(store);
  const ann = await world.customer("ann");
  const made = await askForInvoice(world, ann.id, [(await paidOrder(world, ann)).code]);
  assert(made.ok);
  const act = { operator: operatorProgram, nowMs: world.nowMs };
  let lists = 0;
  const kv = new Proxy(store, {
    get(target, name) {
      if (name !== "list") {
        const member: unknown = Reflect.get(target, name);
        return typeof member === "function" ? member.bind(target) : member;
      }
      return async function* (...args: Parameters<Deno.Kv["list"]>) {
        if (++lists === 2) await exportInvoices({ kv: target }, act);
        yield* target.list(...args);
      };
    },
  });
  const invoices = await exportInvoices({ kv }, act);
  assertEquals(invoices.map(({ id, state }) => [id, state]), [[made.invoice.id, "exported"]]);
});

Deno.test("an announcement with as many or as long updates as it takes can still be ended", async () => {
  await using w = await operatorApi();
  const long = "ế".repeat(2_000);
  const tables: readonly (readonly [string, number])[] = [["u", 49], [long, 9]];
  for (const [text, count] of tables) {
    const told = { kind: "incident", title: "T", text };
    const { id } = await w.done("announcements.publish", "/api/announcements", told);
    const path = `/api/announcements/${id}/updates`;
    for (let at = 0; at < count; at++) await w.done("announcements.update", path, { text });
    const refused = await w.send("POST", path, { text });
    assertEquals(refused.status, 400);
    assertStringIncludes(refused.body.error.message, "too many updates; end it");
    const ended = await w.done("announcements.update", path, { text: long, ends: true });
    assertEquals([ended.updates.length, typeof ended.endedAt], [count + 2, "string"]);
    assertEquals((await w.send("POST", path, { text, ends: true })).status, 400);
  }
});

Deno.test("calls of all customers or of one are listed, each with its route and cost", async () => {
  await using w = await operatorApi();
  const { kv, time } = w.gateway;
  const ann = await w.gateway.customer(50_000);
  const { accountId: bob } = await w.gateway.customer();
  const response = await w.gateway.fetch(
    bearerPost("http://gateway/v1/chat/completions", ann.key, {
      model: "sandbox-1",
      messages: [{ role: "user", content: "s3cret" }],
    }),
  );
  assertEquals(response.status, 200, await response.text());
  const keyId = newId("apiKey", 0);
  const { requestId: refusedId } = await refuse(kv, {
    accountId: bob,
    keyId,
    atMs: time.nowMs() - 5_000,
  });
  await w.gateway.advance(2_000);
  const all = (await pages(w, "calls.list", "/api/calls", { limit: 1 })).flat();
  assertEquals(textsOf(all, "account_id"), [ann.accountId, bob]);
  assertEquals(textsOf(all, "route").map((route) => typeof route), ["string", "object"]);
  assert(!JSON.stringify(all).includes("s3cret"));
  const [answered] = all;
  const tables: readonly (readonly [string, unknown[]])[] = [
    [`account=${ann.accountId}`, [answered?.["request_id"]]],
    [`account=${bob}`, [refusedId]],
    ["status=refused", [refusedId]],
    ["status=ok", [answered?.["request_id"]]],
    [`key=${keyId}`, [refusedId]],
    ["to=2020-01-01", []],
  ];
  for (const [query, ids] of tables) {
    const found = await pages(w, "calls.list", `/api/calls?${query}`, { limit: 50 });
    assertEquals(textsOf(found.flat(), "request_id"), ids, query);
  }
  for (const row of all) {
    assertEquals(await w.done("calls.show", `/api/calls/${String(row["request_id"])}`), row);
  }
});

Deno.test("a wrong request on a record changes nothing, and says what is wrong", async () => {
  await using w = await operatorApi();
  const nobody = newId("account", 1);
  const announcement = `/api/announcements/${newId("announcement", 1)}/updates`;
  const invoice = `/api/invoices/${newId("invoice", 1)}`;
  const wrong: readonly (readonly [string, string, unknown, number, string])[] = [
    ["GET", "/api/audit?before=x", undefined, 400, "before: "],
    ["GET", "/api/audit?act=murder", undefined, 400, "act: "],
    ["GET", "/api/audit?limit=1000", undefined, 400, "limit: "],
    ["GET", "/api/audit?colour=red", undefined, 400, "colour: "],
    ["GET", "/api/topups?account=x", undefined, 400, "Not an account id"],
    ["GET", "/api/topups?before=ST7K2M9QXJ", undefined, 400, "before: "],
    ["GET", "/api/bank-notices?before=1", undefined, 400, "before: "],
    ["GET", "/api/bank-notices/waiting?after=1", undefined, 400, "after: "],
    ["GET", "/api/approvals?before=x", undefined, 400, "before: "],
    ["GET", "/api/invoices?before=x", undefined, 400, "before: "],
    ["GET", "/api/invoices?state=lost", undefined, 400, "state: "],
    ["GET", "/api/calls?before=x", undefined, 400, "before: "],
    ["GET", "/api/calls?status=bad", undefined, 400, "status: must be ok"],
    ["GET", "/api/calls?from=yesterday", undefined, 400, "from: "],
    ["GET", `/api/calls?account=${nobody}`, undefined, 404, "No such account"],
    ["GET", "/api/calls/x", undefined, 404, "no such call"],
    ["POST", "/api/announcements", { kind: "incident", title: "" }, 400, "title: "],
    ["POST", "/api/announcements", { kind: "war", title: "t", text: "t" }, 400, "kind: "],
    ...["2026-12-01", "0001-01-01T00:00:00Z", "2999-01-01T00:00:00Z"].map((startsAt) =>
      [
        "POST",
        "/api/announcements",
        { kind: "incident", title: "t", text: "t", startsAt },
        400,
        "startsAt: must be a time",
      ] as const
    ),
    ["POST", announcement, { text: "t" }, 404, "no such announcement"],
    ["POST", announcement, {}, 400, "text: "],
    ["POST", `${invoice}/send`, {}, 404, "no such invoice"],
    ["POST", `${invoice}/reject`, {}, 400, "reason: "],
    ["POST", `${invoice}/issue`, { ...issued, date: "tomorrow" }, 400, "date: must be a day"],
    ["POST", `${invoice}/issue`, { ...issued, series: "x".repeat(21) }, 400, "series: "],
  ];
  for (const [method, path, body, status, text] of wrong) {
    const refused = await w.send(method, path, body);
    assertEquals(refused.status, status, `${method} ${path}`);
    assertStringIncludes(refused.body.error.message, text);
  }
  assertEquals(await w.audited(), []);
});

Deno.test("an invoice is moved only as its state allows", async () => {
  await using w = await operatorApi();
  const world = topupWorld(w.gateway.kv);
  const ann = await world.customer("ann");
  const made = await askForInvoice(world, ann.id, [(await paidOrder(world, ann)).code]);
  assert(made.ok);
  for (const [act, body] of [["send", {}], ["replace", { reason: "r" }]] as const) {
    const { status, body: answer } = await w.send(
      "POST",
      `/api/invoices/${made.invoice.id}/${act}`,
      body,
    );
    assertEquals(status, 400, act);
    assertStringIncludes(answer.error.message, "its state does not allow this");
  }
  assertEquals(await w.audited(), []);
});
