import { newId } from "../../../core/lib/ids/ids.ts";
import { listReviews, listUnreadable } from "../../../kv/money/payments/bank_notices.ts";
import { assertEquals, assertStringIncludes } from "../../support/assert.ts";
import { parseStatement } from "../../../core/trade/statements/statement_csv.ts";
import { importStatement, pollSepay } from "../../../routes/payments/sepay_poll.ts";
import {
  notice,
  receivingAccount,
  type TopupWorld,
  topupWorld,
} from "../../support/worlds/topup_world.ts";

const staff = { accountId: newId("account", 0), email: "staff@example.com" };

function row(id: string, memo: string, change: Record<string, unknown> = {}) {
  return {
    id,
    transaction_date: "2026-11-20 14:02:37",
    account_number: receivingAccount.account,
    va: null,
    transfer_type: "in",
    amount_in: 200_000,
    amount_out: 0,
    accumulated: 0,
    transaction_content: memo,
    reference_number: `REF-${id}`,
    code: null,
    ...change,
  };
}

function pages(...all: unknown[][]) {
  const asked: string[] = [];
  const fetchPage = (url: string, init: RequestInit): Promise<Response> => {
    asked.push(url);
    assertEquals(new Headers(init.headers).get("authorization"), "Bearer token-1");
    assertEquals(init.redirect, "error");
    const page = Number(new URL(url).searchParams.get("page"));
    return Promise.resolve(Response.json({
      status: "success",
      data: all[page - 1] ?? [],
      meta: { pagination: { has_more: page < all.length } },
    }));
  };
  return { fetchPage, asked };
}

const poll = (
  world: TopupWorld,
  fetchPage: (url: string, init: RequestInit) => Promise<Response>,
) =>
  pollSepay({
    intake: world.intake,
    nowMs: () => world.nowMs,
    apiToken: "token-1",
    fetch: fetchPage,
  }, 2 * 86_400_000);

Deno.test("pollSepay() reads all pages of the window and credits what no webhook reported", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const { code } = await world.order(ann);
  const { fetchPage, asked } = pages([row("a", code)], [
    row("b", "x", { id: "?" }),
    row("c", "hi"),
  ]);
  assertEquals(await poll(world, fetchPage), { ok: true, seen: 2, fresh: 2, unreadable: 1 });
  assertEquals(await world.balanceVnd(ann.id), 200_000);
  assertEquals(asked.length, 2);
  const query = new URL(asked[0]!).searchParams;
  assertEquals(query.get("transaction_date_from"), "2026-11-18 14:00:00");
  // The next poll sees the same movements again.
  assertEquals(await poll(world, fetchPage), { ok: true, seen: 2, fresh: 0, unreadable: 1 });
  // It may stand for money: it waits for a person, once.
  const waiting = await listUnreadable(world.kv);
  assertEquals(waiting.map(({ source, reason }) => [source, reason]), [["sepay-poll", "field id"]]);
  assertEquals(await world.balanceVnd(ann.id), 200_000);
  assertEquals(await world.findings(), []);
});

Deno.test("pollSepay() returns what went wrong and when to retry", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const limited = () =>
    Promise.resolve(new Response("slow down", { status: 429, headers: { "retry-after": "3" } }));
  assertEquals(await poll(world, limited), {
    ok: false,
    why: "refused",
    status: 429,
    retryAfterSeconds: 3,
  });
  assertEquals(await poll(world, () => Promise.reject(new TypeError("no route"))), {
    ok: false,
    why: "unreachable",
  });
  assertEquals(await poll(world, () => Promise.resolve(new Response("<html>"))), {
    ok: false,
    why: "malformed",
  });
  assertEquals(await poll(world, () => Promise.resolve(Response.json({ data: 1 }))), {
    ok: false,
    why: "malformed",
    status: 200,
  });
});

Deno.test("pollSepay() reads no endless page", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  let sent = 0;
  const flood = () =>
    Promise.resolve(
      new Response(
        new ReadableStream({
          pull(controller) {
            sent++;
            controller.enqueue(new Uint8Array(64 * 1024).fill(32));
          },
        }),
      ),
    );
  assertEquals(await poll(world, flood), { ok: false, why: "malformed" });
  assertEquals(sent < 30, true);
});

Deno.test("pollSepay() does not follow endless pages", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  let calls = 0;
  const endless = () => {
    calls++;
    return Promise.resolve(Response.json({ data: [], meta: { pagination: { has_more: true } } }));
  };
  await poll(world, endless);
  assertEquals(calls, 50);
});

Deno.test("importStatement() feeds a file into the same intake, any number of times", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const [ann, bob] = [await world.customer("ann"), await world.customer("bob")];
  const [annOrder, bobOrder] = [await world.order(ann), await world.order(bob)];
  // A webhook has told of the first.
  await world.intake.take(notice(annOrder.code, { reference: "FT1" }), "{}");
  const file = "Ngày giao dịch,Ghi nợ,Ghi có,Nội dung,Số tham chiếu\n" +
    `20/11/2026 14:02:37,,"200,000",${annOrder.code} x,FT1\n` +
    `20/11/2026 16:00:00,,"300,000",${bobOrder.code} y,FT2\n` +
    "20/11/2026 17:00:00,11000,,Phi,FT3\n" +
    "xx/11/2026,,1,z,FT4\n" +
    "99/11/2026,,1,z,FT5\n";
  const first = await importStatement(world.intake, file, receivingAccount.account, staff);
  assertEquals([first.rows, first.fresh, first.problems.length], [3, 3, 1]);
  const again = await importStatement(world.intake, file, receivingAccount.account, staff);
  assertEquals([again.rows, again.fresh], [3, 0]);
  assertEquals([await world.balanceVnd(ann.id), await world.balanceVnd(bob.id)], [
    200_000,
    300_000,
  ]);
  assertEquals(await world.findings(), []);
});

Deno.test("a statement that was saved again or exported with other columns credits nothing twice", async () => {
  const plain = "Ngày,Số tiền,Nội dung";
  const referenced = `${plain},Số tham chiếu`;
  const cases: readonly {
    readonly name: string;
    readonly first: (code: string) => string;
    readonly second: (code: string) => string;
    /** The second row is the first one by its id; otherwise it waits for a person. */
    readonly known?: true;
  }[] = [
    {
      name: "the same file",
      first: (code) => `${plain}\n20/11/2026 14:02:37,"200,000",${code} nap\n`,
      second: (code) => `${plain}\n20/11/2026 14:02:37,"200,000",${code} nap\n`,
      known: true,
    },
    {
      name: "the seconds are gone",
      first: (code) => `${plain}\n20/11/2026 14:02:37,"200,000",${code} nap\n`,
      second: (code) => `${plain}\n20/11/2026 14:02,200000,${code} nap\n`,
    },
    {
      name: "only the day is left",
      first: (code) => `${plain}\n20/11/2026 14:02:37,"200,000",${code} nap\n`,
      second: (code) => `${plain}\n20/11/2026,200000,${code}  NAP\n`,
    },
    {
      name: "days only, then with a balance",
      first: (code) => `${plain}\n20/11/2026,"200,000",${code} nap\n`,
      second: (code) => `${plain},Số dư\n20/11/2026,"200,000",${code} nap,"1,200,000"\n`,
      known: true,
    },
    {
      name: "another balance",
      first: (code) => `${plain},Số dư\n20/11/2026,"200,000",${code} nap,"1,200,000"\n`,
      second: (code) => `${plain},Số dư\n20/11/2026,"200,000",${code} nap,"1,300,000"\n`,
      known: true,
    },
    {
      name: "the reference is rounded",
      first: (code) => `${referenced}\n20/11/2026 14:02:37,"200,000",${code},5123456789012345\n`,
      second: (code) => `${referenced}\n20/11/2026 14:02:37,"200,000",${code},5.12346E+15\n`,
    },
    {
      name: "the reference column is gone",
      first: (code) => `${referenced}\n20/11/2026 14:02:37,"200,000",${code},FT1\n`,
      second: (code) => `${plain}\n20/11/2026 14:02,"200,000",${code}\n`,
    },
    {
      name: "the reference stayed",
      first: (code) => `${referenced}\n20/11/2026 14:02:37,"200,000",${code},FT1\n`,
      second: (code) => `${referenced}\n20/11/2026 14:02,"200,000",${code},FT1\n`,
    },
  ];
  for (const { name, first, second, known } of cases) {
    using kv = await Deno.openKv(":memory:");
    const world = topupWorld(kv);
    const ann = await world.customer("ann");
    const { code } = await world.order(ann);
    await importStatement(world.intake, first(code), receivingAccount.account, staff);
    assertEquals(await world.balanceVnd(ann.id), 200_000, name);
    const again = await importStatement(
      world.intake,
      second(code),
      receivingAccount.account,
      staff,
    );
    assertEquals(await world.balanceVnd(ann.id), 200_000, name);
    assertEquals([again.rows, again.fresh], [1, known ? 0 : 1], name);
    assertEquals((await listReviews(kv, 9)).length, known ? 0 : 1, name);
    assertEquals(await world.findings(), [], name);
  }
});

Deno.test("two equal rows of one statement are two transfers, also when it is imported again", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const { code } = await world.order(ann);
  const row = `20/11/2026,"200,000",${code} nap\n`;
  const file = `Ngày,Số tiền,Nội dung\n${row}${row}`;
  for (let time = 0; time < 2; time++) {
    await importStatement(world.intake, file, receivingAccount.account, staff);
    assertEquals(await world.balanceVnd(ann.id), 400_000);
  }
  assertEquals((await listReviews(kv, 9)).length, 0);
  // The reference column of this one is rounded: both rows show the same number.
  const rounded = `20/11/2026,"300,000",${code} nap,5.12346E+15\n`;
  const damaged = `Ngày,Số tiền,Nội dung,Số tham chiếu\n${rounded}${rounded}`;
  await importStatement(world.intake, damaged, receivingAccount.account, staff);
  assertEquals(await world.balanceVnd(ann.id), 1_000_000);
  assertEquals(await world.findings(), []);
});

Deno.test("rows that an older version imported with their balance are known", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const { code } = await world.order(ann);
  const row = (balance: string) => `20/11/2026,"200,000",${code} nap,"${balance}"\n`;
  const file = `Ngày,Số tiền,Nội dung,Số dư\n${row("1,200,000")}${row("1,400,000")}`;
  const { events, formerIds } = await parseStatement(file, receivingAccount.account);
  // As they stand in the store of the older version: other ids, no import.
  const second = await world.order(ann);
  for (const [at, { importId: _, ...event }] of events.entries()) {
    const memo = at === 0 ? event.memo : second.code;
    await world.intake.take({ ...event, id: formerIds.get(event.id)!, memo }, "{}");
  }
  assertEquals(await world.balanceVnd(ann.id), 400_000);
  const again = await importStatement(world.intake, file, receivingAccount.account, staff);
  assertEquals([again.rows, again.fresh], [2, 0]);
  // Without the balance their former ids cannot be known: people decide, nothing is credited.
  const bare = file.replaceAll(/,(?:Số dư|"1,.00,000")$/gm, "");
  const third = await importStatement(world.intake, bare, receivingAccount.account, staff);
  assertEquals([third.rows, third.fresh], [2, 2]);
  assertEquals(await world.balanceVnd(ann.id), 400_000);
  assertEquals(await world.findings(), []);
});

Deno.test("a statement with a webhook's movement, saved again, still credits once", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const { code } = await world.order(ann);
  await world.intake.take(notice(code, { reference: "5123456789012345" }), "{}");
  const file = (at: string, reference: string) =>
    `Ngày,Số tiền,Nội dung,Số tham chiếu\n20/11/2026 ${at},"200,000",${code},${reference}\n`;
  for (const text of [file("14:02:37", "5123456789012345"), file("14:02", "5.12346E+15")]) {
    await importStatement(world.intake, text, receivingAccount.account, staff);
    assertEquals(await world.balanceVnd(ann.id), 200_000);
  }
  assertEquals((await listReviews(kv, 9)).length, 1);
});

Deno.test("importStatement() refuses a file that is no statement", async () => {
  using kv = await Deno.openKv(":memory:");
  const result = await importStatement(topupWorld(kv).intake, "hello", "1", staff);
  assertStringIncludes(result.problems[0]?.what ?? "", "no header");
});

const rowOf = (code: string, amountVnd: number, reference: string) =>
  `Ngày,Số tiền,Nội dung,Số tham chiếu\n20/11/2026,${amountVnd},${code} nap,${reference}\n`;

Deno.test("a file proves nothing by itself: it credits no order of its importer, and no more than one may move", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const person = await world.customer("staff");
  const importer = { accountId: person.id, email: "staff@example.com" };
  const [own, first, second] = [
    await world.order(person),
    await world.order(ann, 3_000_000),
    await world.order(ann, 3_000_000),
  ];
  const files = [
    rowOf(own.code, 200_000, "FT1"),
    rowOf(first.code, 3_000_000, "FT2"),
    rowOf(second.code, 3_000_000, "FT3"),
  ];
  for (let time = 0; time < 2; time++) {
    for (const file of files) {
      await importStatement(world.intake, file, receivingAccount.account, importer);
    }
  }
  assertEquals([await world.balanceVnd(person.id), await world.balanceVnd(ann.id)], [0, 3_000_000]);
  const reviews = await listReviews(kv, 9);
  const reasons = reviews.map(({ state }) => state.kind === "review" ? state.reason : state.kind);
  assertEquals(reasons.toSorted(), ["import_over_limit", "import_own_account"]);
  assertEquals(reviews[0]?.importedBy, importer);
  // The same operator does not get further with it by hand, and another importer has a sum of their own.
  await importStatement(
    world.intake,
    rowOf(first.code, 3_000_000, "FT4"),
    receivingAccount.account,
    {
      accountId: newId("account", 1),
      email: "second@example.com",
    },
  );
  assertEquals(await world.balanceVnd(ann.id), 6_000_000);
  assertEquals(await world.findings(), []);
});

Deno.test("a row of a file that a provider has reported joins its notice, whoever imports it and whatever the amount", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const ann = await world.customer("ann");
  const { code } = await world.order(ann, 9_000_000);
  const at = "2026-11-20 14:02:37";
  await world.intake.take(notice(code, { amountVnd: 9_000_000, reference: "FT1", at }), "{}");
  const file = rowOf(code, 9_000_000, "FT1");
  await importStatement(world.intake, file, receivingAccount.account, {
    accountId: ann.id,
    email: "ann@example.com",
  });
  assertEquals([await world.balanceVnd(ann.id), (await listReviews(kv, 9)).length], [9_000_000, 0]);
});
