import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "../../../support/assert.ts";
import { parseCsv } from "../../../../core/lib/base/csv.ts";
import type { TopupSettings } from "../../../../core/trade/settings/settings.ts";
import { parseOrderCode } from "../../../../core/trade/bank/order_code.ts";
import { openWalletEngine, type WalletEngine } from "../../../../kv/money/wallet/mod.ts";
import { type Account, getAccount } from "../../../../kv/people/accounts/accounts.ts";
import { credit } from "../../../../kv/money/ledger/ledger.ts";
import { listTopupOrders } from "../../../../kv/money/payments/topups.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import type { WalletDeps } from "../../../../routes/dashboard/customer/wallet/deps.ts";
import { createWalletPages } from "../../../../routes/dashboard/customer/wallet/wallet_pages.tsx";
import { pageApp, type PageVisitor, visit } from "../../../support/browser/page_visitor.ts";
import { campaign, give } from "../../../support/worlds/credit_world.ts";
import { topupSettings } from "../../../support/worlds/topup_settings.ts";
import {
  notice,
  receivingAccount,
  type TopupWorld,
  topupWorld,
} from "../../../support/worlds/topup_world.ts";

interface Walleted {
  readonly world: TopupWorld;
  readonly wallet: WalletEngine;
  readonly ann: Account;
  readonly browser: PageVisitor;
  as(account: Account | undefined, locale?: "vi" | "en"): Promise<PageVisitor>;
}

async function walleted(
  run: (walleted: Walleted) => Promise<void>,
  change: Partial<TopupSettings> = {},
): Promise<void> {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const clock = { nowMs: () => world.nowMs, monotonicMs: () => world.nowMs };
  const wallet = await openWalletEngine(kv, { clock });
  const deps: WalletDeps = {
    hintMail: () => {},
    kv,
    clock,
    baseUrl: "https://gateway.example",
    operators: [],
    sandbox: false,
    wallet,
    topup: topupSettings(change),
  };
  try {
    const app = pageApp(deps, createWalletPages(deps));
    const ann = await world.customer("ann");
    const as: Walleted["as"] = (account, locale) => visit(app, deps, account, locale);
    await run({ world, wallet, ann, as, browser: await as(ann) });
  } finally {
    await wallet.close();
  }
}

Deno.test("a top-up form sent twice leads to one order", () =>
  walleted(async ({ world, ann, browser }) => {
    const form = /name="form" value="([^"]+)"/.exec((await browser.get("/wallet")).text)![1]!;
    const send = () => browser.post("/wallet/orders", { amount: "200.000", form });
    assertEquals((await send()).location, (await send()).location);
    assertEquals((await listTopupOrders(world.kv, ann.id, { count: 10 })).length, 1);
  }));

Deno.test("an order is made, shown with its QR code, and turns to paid on the open page", () =>
  walleted(async ({ world, ann, browser }) => {
    const made = await browser.post("/wallet/orders", { amount: "200.000" });
    assertEquals(made.status, 303);
    const code = parseOrderCode(made.location?.split("/").at(-1) ?? "");
    assert(code !== undefined);
    const page = await browser.get(made.location!);
    assertEquals(page.status, 200);
    assertStringIncludes(page.text, "<svg");
    for (const shown of [receivingAccount.account, receivingAccount.holder, "MB Bank", code]) {
      assertStringIncludes(page.text, shown);
    }
    for (const copied of [code, "200000", receivingAccount.account]) {
      assertStringIncludes(page.text, `data-copy="${copied}"`);
    }
    const poll = /hx-get="([^"]+)"/.exec(page.text)?.[1]?.replaceAll("&amp;", "&");
    assert(poll !== undefined);
    assertEquals((await browser.get(poll)).status, 204);

    await world.intake.take(notice(code), "{}");
    const changed = await browser.get(poll);
    assertEquals(changed.status, 200);
    assertStringIncludes(changed.text, "₫200,000 has arrived");
    assertStringIncludes(changed.text, "Your balance is now ₫200,000");
    assert(!changed.text.includes("hx-get") && !changed.text.includes("<html"));
    assertStringIncludes(changed.text, `/invoices/new?order=${code}`);
    assertEquals(await world.balanceVnd(ann.id), 200_000);
  }));

Deno.test("an expired order hides its QR code and still turns to paid", () =>
  walleted(async ({ world, ann, browser }) => {
    const order = await world.order(ann);
    world.nowMs += 3_600_000;
    const page = await browser.get(`/wallet/orders/${order.code}`);
    assert(!page.text.includes('class="qr"'));
    assertStringIncludes(page.text, "every 15s");
    await world.intake.take(notice(order.code), "{}");
    assertStringIncludes((await browser.get(`/wallet/orders/${order.code}`)).text, "has arrived");
  }));

Deno.test("an order that is paid in part says what is missing, on its page and in the list", () =>
  walleted(async ({ world, ann, browser }) => {
    const order = await world.order(ann, 1_000_000);
    await world.intake.take(notice(order.code, { amountVnd: 990_000 }), "{}");
    const { text } = await browser.get(`/wallet/orders/${order.code}`);
    assertStringIncludes(text, "₫990,000 of ₫1,000,000 has arrived");
    assertStringIncludes(text, "₫10,000 is missing");
    const list = (await browser.get("/wallet")).text;
    assertStringIncludes(list, "Received less");
    assertStringIncludes(list, "of ₫1,000,000");
  }));

Deno.test("the bonus of an offer is named beside each amount that gets it, and on the order", () =>
  walleted(async ({ world, ann, browser }) => {
    const { kv } = world;
    const terms = { kind: "bonus", name: "Tết", minTopupMicroVnd: fromVnd(500_000) } as const;
    const { id } = await campaign(kv, { ...terms, startsAtMs: world.nowMs });
    const bonuses = async () =>
      (await browser.get("/wallet")).text.match(/\+₫20,000 bonus/g)?.length ?? 0;
    assertEquals(await bonuses(), 3, "of 500,000, a million, and two");
    const order = await world.order(ann, 500_000);
    const { text } = await browser.get(`/wallet/orders/${order.code}`);
    assertStringIncludes(text, "You get +₫20,000 on top");
    // Whoever has had it is promised nothing.
    const given = await give(kv, id, ann.id, { kind: "bonus", nowMs: world.nowMs });
    assert(given.ok);
    assertEquals(await bonuses(), 0);
  }));

Deno.test("an order can be typed short, and paid from the same phone", () =>
  walleted(async ({ browser }) => {
    const made = await browser.post("/wallet/orders", { amount: "1tr5" });
    const page = await browser.get(made.location ?? "");
    assertStringIncludes(page.text, "₫1,500,000");
    assertMatch(
      page.text,
      /https:\/\/dl\.vietqr\.io\/pay\?app=vcb&amp;ba=\d+%40mb&amp;am=1500000&amp;/,
    );
    const picture = await browser.get(`${made.location}/qr.png`);
    assertEquals(picture.status, 200);
    assertEquals(picture.headers.get("content-type"), "image/png");
    assertStringIncludes(picture.headers.get("content-disposition") ?? "", "attachment");
  }));

Deno.test("invalid amounts are refused with the reason beside the field", () =>
  walleted(async ({ world, ann, browser }) => {
    for (
      const amount of ["", "0", "9999", "abc", "-50000", "1e9", "10000.5", "499000001", "0x99999"]
    ) {
      const page = await browser.post("/wallet/orders", { amount });
      assertEquals(page.status, 400, amount);
      assertStringIncludes(page.text, 'id="amount-error"');
    }
    assertEquals(await listTopupOrders(world.kv, ann.id, { count: 10 }), []);
  }));

Deno.test("orders are limited per hour", () =>
  walleted(async ({ world, ann, browser }) => {
    for (let count = 0; count < 30; count++) {
      const made = await browser.post("/wallet/orders", { amount: "10000" });
      if (made.status === 303) await browser.post(`${made.location}/cancel`);
    }
    const refused = await browser.post("/wallet/orders", { amount: "10000" });
    assertEquals(refused.status, 400);
    assertStringIncludes(refused.text, "Too many actions");
    assertEquals((await listTopupOrders(world.kv, ann.id, { count: 100 })).length, 30);
  }));

Deno.test("the order of another account does not exist, on every path", () =>
  walleted(async ({ world, ann, as }) => {
    const order = await world.order(ann);
    const bob = await as(await world.customer("bob"));
    assertEquals((await bob.get(`/wallet/orders/${order.code}`)).status, 404);
    assertEquals((await bob.get(`/wallet/orders/${order.code}/panel`)).status, 404);
    assertEquals((await bob.get(`/wallet/orders/${order.code}/qr.png`)).status, 404);
    assertEquals((await bob.post(`/wallet/orders/${order.code}/cancel`)).status, 404);
    assertEquals((await listTopupOrders(world.kv, ann.id, { count: 1 }))[0]?.state, "pending");
    for (const code of ["ST7K2M9QXJ", "ST", "..%2f..", "%00"]) {
      assertEquals((await bob.get(`/wallet/orders/${code}`)).status, 404, code);
    }
  }));

Deno.test("without a session every page redirects to the sign-in; without the token nothing is changed", () =>
  walleted(async ({ world, ann, as, browser }) => {
    const order = await world.order(ann);
    const stranger = await as(undefined);
    const paths = [
      "/wallet",
      "/wallet/statement",
      "/wallet/statement.csv",
      `/wallet/orders/${order.code}`,
    ];
    for (const path of paths) {
      const page = await stranger.get(path);
      assertEquals(page.status, 303, path);
      assertMatch(page.location ?? "", /^\/sign-in/);
    }
    for (
      const path of ["/wallet/orders", `/wallet/orders/${order.code}/cancel`, "/wallet/low-balance"]
    ) {
      assertEquals((await browser.postForged(path, { amount: "10000", mark: "1" })).status, 403);
    }
    assertEquals((await listTopupOrders(world.kv, ann.id, { count: 9 })).length, 1);
  }));

Deno.test("without a receiving account the page says so and creates no order", () =>
  walleted(async ({ world, ann, browser }) => {
    assertStringIncludes((await browser.get("/wallet")).text, "not set up here yet");
    await browser.post("/wallet/orders", { amount: "200000" });
    assertEquals(await listTopupOrders(world.kv, ann.id, { count: 9 }), []);
  }, { receivingAccounts: [] }));

Deno.test("the wallet page calls no balance in the middle of the month its opening balance", () =>
  walleted(async ({ world, ann, as }) => {
    for (let i = 1; i <= 12; i++) {
      await credit(world.kv, {
        accountId: ann.id,
        amountMicroVnd: fromVnd(1_000),
        kind: "topup",
        operationId: `line-${i}`,
        reason: `line ${i}`,
        atMs: Date.parse(`2026-11-${String(i + 2).padStart(2, "0")}T09:00:00+07:00`),
      });
    }
    const edges = async (locale: "en" | "vi") => {
      const { text } = await (await as(ann, locale)).get("/wallet");
      const rows = [...text.matchAll(/<tr>(?:(?!<\/tr>).)*<th scope="row"[^>]*>.*?<\/tr>/gs)];
      return rows.map(([row]) => row.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ").trim());
    };
    // Lines 1 and 2, of 3 and 4 November, are not shown: 2,000 is what there was before line 3, on the fifth.
    const [, before] = await edges("en");
    assertEquals(before, "05 Nov 2026 Balance before these lines ₫2,000");
    assertEquals((await edges("vi"))[1], "05/11/2026 Số dư trước các dòng này 2.000 ₫");
    const { text } = await (await as(ann)).get("/wallet/statement?from=2026-11-01&to=2026-11-20");
    assertStringIncludes(text, "Opening balance");
  }));

Deno.test("the statement adds up to the balance, line by line and as CSV", () =>
  walleted(async ({ world, wallet, ann, browser }) => {
    const day = 86_400_000;
    world.nowMs -= 40 * day;
    await world.intake.take(notice((await world.order(ann)).code, { amountVnd: 1_000_000 }), "{}");
    world.nowMs += 40 * day;
    await world.intake.take(
      notice((await world.order(ann)).code, { amountVnd: 350_001, at: "2026-11-20 14:00:00" }),
      "{}",
    );
    await credit(world.kv, {
      accountId: ann.id,
      amountMicroVnd: 1_245_000n,
      kind: "refund",
      operationId: "refund:video_1",
      reason: "=cmd|' /C calc'!A0",
      atMs: world.nowMs,
    });
    const { totalMicroVnd } = await wallet.balance(ann.id);
    assertEquals(totalMicroVnd, fromVnd(1_350_001) + 1_245_000n);

    const page = await browser.get("/wallet/statement");
    assertStringIncludes(page.text, `value="${totalMicroVnd}"`);
    assertStringIncludes(page.text, `value="${fromVnd(1_000_000)}"`);
    const csv = await browser.get("/wallet/statement.csv?from=2026-01-01&to=2026-11-20");
    assertEquals(csv.headers.get("content-type"), "text/csv; charset=utf-8");
    assertMatch(csv.headers.get("content-disposition") ?? "", /^attachment/);
    const [header, ...rows] = parseCsv(csv.text.slice(1));
    const [change, balance] = ["change_vnd", "balance_vnd"].map((name) => header!.indexOf(name));
    const micro = (text: string) => BigInt(Math.round(Number(text) * 1_000_000));
    const [opening, closing] = [rows[0]!, rows.at(-1)!];
    const changes = rows.slice(1, -1).map((row) => micro(row[change!]!));
    const sum = changes.reduce((total, change) => total + change, micro(opening[balance!]!));
    assertEquals([changes.length, sum, micro(closing[balance!]!)], [
      3,
      totalMicroVnd,
      totalMicroVnd,
    ]);
    assertStringIncludes(csv.text, "'=cmd");
  }));

Deno.test("the low-balance limit is stored, shown, cleared, and refused when it is no amount", () =>
  walleted(async ({ world, ann, browser }) => {
    const mark = async () => (await getAccount(world.kv, ann.id))?.lowBalanceMicroVnd;
    assertStringIncludes(
      (await browser.post("/wallet/low-balance", { mark: "50.000" })).text,
      "Saved.",
    );
    assertEquals(await mark(), fromVnd(50_000));
    assertEquals((await browser.post("/wallet/low-balance", { mark: "-5" })).status, 400);
    assertEquals(await mark(), fromVnd(50_000));
    await browser.post("/wallet/low-balance", { mark: "" });
    assertEquals(await mark(), undefined);
  }));

Deno.test("the pages speak Vietnamese and let no inline style or script in", () =>
  walleted(async ({ world, ann, as }) => {
    const order = await world.order(ann);
    const browser = await as(ann, "vi");
    for (const path of ["/wallet", "/wallet/statement", `/wallet/orders/${order.code}`]) {
      const page = await browser.get(path);
      assertStringIncludes(page.text, '<html lang="vi"');
      assert(!/ style=| on[a-z]+="/.test(page.text), path);
      assert(!/<script(?![^>]* src=)/.test(page.text), path);
      assertStringIncludes(page.headers.get("content-security-policy") ?? "", "default-src 'none'");
    }
    assertStringIncludes((await browser.get("/wallet")).text, "Nạp tiền");
  }));

Deno.test("the page of the statement offers the files of each month, and says why there is none", () =>
  walleted(async ({ world, browser }) => {
    const month = new Date(world.nowMs).toISOString().slice(0, 7);
    const page = (await browser.get("/wallet/statement")).text;
    for (const kind of ["pdf", "xlsx", "csv"]) {
      assertStringIncludes(page, `href="/wallet/statements/${month}.${kind}"`);
    }
    // No day of the month is signed: what is no link leads to no page of an error.
    assert(!page.includes(`${month}.json`), "a proof that there is not");
    assertEquals((await browser.get(`/wallet/statements/${month}.csv`)).status, 200);
    for (const file of ["2999-01.pdf", `${month}.json`, `${month}.doc`, "x.pdf"]) {
      assertEquals((await browser.get(`/wallet/statements/${file}`)).status, 404, file);
    }
  }));
