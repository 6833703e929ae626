/** Lists of operators name customers and their figures, and the audit log is read without knowing ids. */
import { fromVnd } from "../../../../../core/billing/money/micro_vnd.ts";
import { newId } from "../../../../../core/lib/ids/ids.ts";
import { dayMs } from "../../../../../core/lib/time/durations.ts";
import { vietnamDay } from "../../../../../core/lib/time/vietnam_time.ts";
import {
  addAuditLine,
  type AuditLine,
  commandLine,
} from "../../../../../kv/people/audit/operator_audit.ts";
import { openWalletEngine } from "../../../../../kv/money/wallet/mod.ts";
import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "../../../../support/assert.ts";
import { confirmed } from "../../../../support/browser/confirmed.ts";
import { countedKv } from "../../../../support/stores/counted_kv.ts";
import { requestIdAt } from "../../../../support/worlds/dashboard_world.ts";
import { draftOf, mustReserve, topUp } from "../../../../support/worlds/money_world.ts";
import { operatorWorld } from "../../../../support/worlds/operator_world.ts";
import { refuse } from "../../../../support/worlds/refused_calls.ts";
import { notice } from "../../../../support/worlds/topup_world.ts";

/** The row of a table in which a text is, without tags. */
function rowOf(text: string, has: string): string {
  const row = [...text.matchAll(/<tr[^>]*>(.*?)<\/tr>/gs)].find(([, cells]) =>
    cells?.includes(has)
  );
  return (row?.[1] ?? "").replaceAll("\u00a0", " ").replaceAll(/<[^>]+>/g, " ");
}

Deno.test("customers are listed with balance, charges of 30 days and last call, in few reads", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    for (let at = 0; at < 30; at++) await world.customer(`quiet${at}`);
    await topUp(world.kv, ann.id, fromVnd(50_000));
    const clock = { nowMs: () => world.nowMs, monotonicMs: () => world.nowMs };
    const wallet = await openWalletEngine(world.kv, { clock });
    const calls = [[3, 1_000], [40, 2_000]] as const;
    for (const [daysAgo, vnd] of calls) {
      const startedAtMs = world.nowMs - daysAgo * 86_400_000;
      const draft = draftOf(fromVnd(vnd), { requestId: requestIdAt(startedAtMs), startedAtMs });
      await wallet.settle(await mustReserve(wallet, ann.id, fromVnd(vnd)), draft);
    }
    await wallet.indexOnce();
    await wallet.close();
    const browser = await operator("staff");
    await browser.get("/operator/audit");
    const counts = countedKv(world.kv);
    const { text } = await browser.get("/operator/accounts");
    // One read for the last call of each, and a bounded number for everything else.
    assert(counts.reads < 32 + 20, `${counts.reads} reads`);
    assertMatch(rowOf(text, "ann@example.com"), /Open\s+₫47,000\s+₫1,000\s+17 Nov 2026/);
    assertMatch(rowOf(text, "quiet7@example.com"), /Open\s+₫0\s+₫0\s+–/);
  }));

Deno.test("calls name the customer in list and page, and link to the customer", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    const { requestId } = await refuse(world.kv, {
      accountId: ann.id,
      keyId: newId("apiKey", 0),
      atMs: world.nowMs - 1_000,
    });
    const browser = await operator("staff");
    const link = new RegExp(
      `<a href="/operator/accounts/${ann.id}">(?:<span[^>]*>)?ann@example\\.com<`,
    );
    for (
      const path of ["/operator/calls", "/operator/calls/live", `/operator/calls/${requestId}`]
    ) {
      const { text } = await browser.get(path);
      assertMatch(text, link);
      assert(!text.includes(`>${ann.id}<`), path);
    }
  }));

Deno.test("the audit log names customers, links ids and formats amounts, in both languages", () =>
  operatorWorld(async ({ world, operator }) => {
    const ann = await world.customer("ann");
    const event = notice("nap tien");
    await world.intake.take(event, "{}");
    const staff = await operator("staff");
    const reason = "phone";
    await confirmed(staff, `/operator/notices/sepay/${event.id}/assign`, {
      target: ann.id,
      reason,
    });
    const form = crypto.randomUUID();
    await confirmed(staff, `/operator/accounts/${ann.id}/adjust`, {
      amount: "5.000",
      reason,
      form,
    });
    const campaign = newId("campaign", world.nowMs);
    const operation = world.kv.atomic();
    const detail = 'signup "Tet", at most 3000000 VND';
    const line = { act: "campaign_made", subject: campaign, detail, atMs: world.nowMs } as const;
    addAuditLine(operation, commandLine, line);
    addAuditLine(operation, commandLine, { ...line, act: "catalog_applied", subject: "version 4" });
    await operation.commit();
    const english = (await staff.get("/operator/audit")).text;
    for (
      const link of [
        `<a href="/operator/accounts/${ann.id}"><span class="person" title="ann@example.com">`,
        `<a href="/operator/notices/sepay/${event.id}">sepay:${event.id}</a>`,
        `<a href="/operator/campaigns/${campaign}" title="${campaign}">campaign</a>`,
        '<a href="/operator/catalogue/versions/4">version 4</a>',
      ]
    ) assertStringIncludes(english, link);
    assertMatch(rowOf(english, "Made campaign"), /Credit for a sign-up “Tet”, up to ₫3,000,000/);
    assertMatch(rowOf(english, "Changed wallet"), /ann@example\.com\s+phone\s/);
    const vietnamese = (await (await operator("second", "vi")).get("/operator/audit")).text;
    assertMatch(
      rowOf(vietnamese, "Tạo chương trình tặng tiền"),
      /Tặng khi đăng ký “Tet”, tối đa 3\.000\.000 ₫/,
    );
    assertEquals(rowOf(vietnamese, "Điều chỉnh ví").includes("ann@example.com"), true);
  }));

Deno.test("the audit log is searched by words, act, person and days, and the search goes on with its pages", () =>
  operatorWorld(async ({ world, operator }) => {
    const { kv, nowMs } = world;
    const ann = await world.customer("ann");
    const staff = await operator("staff");
    const write = async (line: Pick<AuditLine, "act" | "subject" | "detail">, daysAgo = 0) => {
      const operation = kv.atomic();
      addAuditLine(operation, commandLine, { ...line, atMs: nowMs - daysAgo * dayMs });
      await operation.commit();
    };
    await write({ act: "note_added", subject: ann.id, detail: "hỏi về hoá đơn tháng 11" });
    await write({ act: "route_changed", subject: "north/premium-1", detail: "disable: slow" }, 3);
    for (let at = 0; at < 120; at++) {
      await write({ act: "invoice_exported", subject: `inv ${at}`, detail: "" }, 9);
    }
    /** The acts of the rows that a search finds. */
    const found = async (query: string, locale: "en" | "vi" = "en") => {
      const browser = locale === "en" ? staff : await operator("second", "vi");
      const { text } = await browser.get(`/operator/audit?${query}`);
      return [...text.matchAll(/<tr><td.*?<\/tr>/gs)].map(([row]) =>
        row.replaceAll(/<[^>]+>/g, " ")
      );
    };
    const only = async (query: string, word: string) => {
      const rows = await found(query);
      assertEquals(rows.length, 1, query);
      assertStringIncludes(rows[0] ?? "", word);
    };
    await only("q=hoa+don", "hỏi về hoá đơn");
    await only("q=ANN@", "Added note");
    await only(`q=${ann.id}`, "Added note");
    await only("q=taken+out", "Taken out: slow");
    await only("act=note_added", "Added note");
    await only("who=staff%40example.com", "Enrolled second factor");
    await only(
      `from=${vietnamDay(nowMs - 4 * dayMs)}&to=${vietnamDay(nowMs - dayMs)}`,
      "premium-1",
    );
    assertEquals((await found("q=đã+ngắt", "vi")).length, 1);
    assertEquals(await found("q=nobody+wrote+this"), []);
    const { text } = await staff.get("/operator/audit?act=invoice_exported&q=inv");
    const [, next = ""] = /href="(\/operator\/audit\?[^"]*before=[^"]*)"/.exec(text) ?? [];
    const second = await staff.get(next.replaceAll("&amp;", "&"));
    assertEquals([...second.text.matchAll(/<tr><td/g)].length, 20);
  }));
