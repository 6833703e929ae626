import { joinAs } from "../../../support/worlds/company_world.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { livePath } from "../../../support/browser/live_log.ts";
import type { AccountId, ApiKeyId, RequestId } from "../../../../core/lib/ids/ids.ts";
import { createApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { createTeam } from "../../../../kv/people/organisations/teams.ts";
import { refundCall } from "../../../../kv/money/ledger/refunds.ts";
import {
  type DashboardWorld,
  openDashboardWorld,
  requestIdAt,
} from "../../../support/worlds/dashboard_world.ts";
import {
  draftOf,
  mustReserve,
  receiptOf,
  storeReceipts,
  topUp,
} from "../../../support/worlds/money_world.ts";
import { receiptColumns, receiptJson } from "../../../../routes/usage_api/receipt_json.ts";
import { hourMs } from "../../../../core/lib/time/durations.ts";

interface Call {
  readonly agoMs: number;
  readonly model?: string;
  readonly priceMicroVnd?: bigint;
}

async function customer(world: DashboardWorld, email = "ann@example.com") {
  const { browser, account } = await world.signIn(email);
  await topUp(world.kv, account.id, 1_000_000_000_000n);
  const made = await createApiKey(world.kv, world.deps.masterKeys, account.id, {
    name: "=cmd|calc",
    nowMs: world.time.nowMs(),
  });
  if (!made.ok) throw new Error(made.reason);
  return { browser, account, keyId: made.record.id };
}

async function call(
  world: DashboardWorld,
  accountId: AccountId,
  keyId: ApiKeyId,
  { agoMs, model = "premium-1", priceMicroVnd = 1_245_000n }: Call,
): Promise<RequestId> {
  const startedAtMs = world.time.nowMs() - agoMs;
  const requestId = requestIdAt(startedAtMs);
  await world.wallet.settle(
    await mustReserve(world.wallet, accountId, priceMicroVnd),
    draftOf(priceMicroVnd, { requestId, keyId, model, startedAtMs }),
  );
  return requestId;
}

Deno.test("a new account sees its next steps; after the first call the overview shows the call", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn("new@example.com");
  const fresh = await browser.get("/");
  assertStringIncludes(fresh.text, "Three steps to your first answer");
  const { browser: ann, account, keyId } = await customer(world);
  const requestId = await call(world, account.id, keyId, { agoMs: 1000 });
  const home = await ann.get("/");
  assert(!home.text.includes("Three steps"));
  assertStringIncludes(home.text, `/receipts/${requestId}`);
  assertStringIncludes(home.text, "₫1.245");
  assertStringIncludes(home.text, "1 call<");
});

Deno.test("the chart is stacked by member and team where an organisation has several", async () => {
  await using world = await openDashboardWorld();
  const { browser, account, keyId } = await customer(world);
  await call(world, account.id, keyId, { agoMs: 1000 });
  const chips = async (by: string) => {
    const { text } = await browser.get(`/usage?by=${by}`);
    return { text, found: ["By member", "By team"].filter((chip) => text.includes(`>${chip}<`)) };
  };
  assertEquals((await chips("key")).found, [], "alone and without teams");
  const nowMs = world.time.nowMs();
  const { account: bob } = await world.signIn("bob@example.com");
  await joinAs(world.kv, account.id, bob, { role: "viewer", nowMs });
  await createTeam(world.kv, account.id, { name: "Search", nowMs });
  const byMember = await chips("member");
  assertEquals(byMember.found, ["By member", "By team"]);
  assertStringIncludes(byMember.text, "ann@example.com");
  assertStringIncludes((await chips("team")).text, "No team");
});

Deno.test("figures of the overview are of today, a week and a month", async () => {
  await using world = await openDashboardWorld();
  const { browser, account, keyId } = await customer(world);
  for (const agoMs of [0, 2 * 24 * hourMs, 20 * 24 * hourMs, 40 * 24 * hourMs]) {
    await call(world, account.id, keyId, { agoMs, priceMicroVnd: 1_000_000_000n });
  }
  const { text } = await browser.get("/");
  const figures = [...text.matchAll(/<dt>([^<]+)<\/dt>.*?<data[^>]*>([^<]+)<\/data>/gs)]
    .map(([, name, value]) => `${name} ${value}`);
  assertEquals(figures, [
    "Balance ₫996,000",
    "Today ₫1,000",
    "Last 7 days ₫2,000",
    "Last 30 days ₫3,000",
  ]);
});

Deno.test("filters by key, model and day narrow sums and calls", async () => {
  await using world = await openDashboardWorld();
  const { browser, account, keyId } = await customer(world);
  const early = await call(world, account.id, keyId, { agoMs: 72 * hourMs });
  const image = await call(world, account.id, keyId, { agoMs: 2000, model: "image-1" });
  const late = await call(world, account.id, keyId, { agoMs: 1000 });
  const shown = async (query: string) => {
    const { text } = await browser.get(`/usage${query}`);
    return [early, image, late].map((id) => text.includes(`/receipts/${id}`));
  };
  assertEquals(await shown(""), [true, true, true]);
  assertEquals(await shown("?model=image-1"), [false, true, false]);
  assertEquals(await shown("?from=2026-11-20"), [false, true, true]);
  assertEquals(await shown("?from=2026-11-17&to=2026-11-17"), [true, false, false]);
  assertEquals(await shown("?key=key_other"), [false, false, false]);
  assertEquals(await shown("?from=nonsense&to=2099-01-01"), [true, true, true]);
});

Deno.test("a day is a day in Vietnam", async () => {
  await using world = await openDashboardWorld();
  const { browser, account, keyId } = await customer(world);
  // Now it is 10:00 on the 20th in Vietnam; 10 hours ago it was midnight.
  const first = await call(world, account.id, keyId, { agoMs: 10 * hourMs });
  const before = await call(world, account.id, keyId, { agoMs: 10 * hourMs + 1 });
  const { text } = await browser.get("/usage?from=2026-11-20&to=2026-11-20");
  assert(text.includes(`/receipts/${first}`));
  assert(!text.includes(`/receipts/${before}`));
});

Deno.test("all calls can be paged through, each shown once", async () => {
  await using world = await openDashboardWorld();
  const { browser, account, keyId } = await customer(world);
  const made: string[] = [];
  for (let i = 0; i < 120; i++) {
    made.push(await call(world, account.id, keyId, { agoMs: i * 1000 }));
  }
  const seen: string[] = [];
  let path: string | undefined = "/usage";
  while (path !== undefined) {
    const { text } = await browser.get(path);
    seen.push(...[...text.matchAll(/\/receipts\/(req_\w+)/g)].map(([, id]) => id!));
    path = /href="(\/usage\?[^"]+)" rel="next"/.exec(text)?.[1]?.replaceAll("&amp;", "&");
  }
  assertEquals(seen, made);
});

Deno.test("a receipt shows every field exactly, and only to its owner", async () => {
  await using world = await openDashboardWorld();
  const { browser, account, keyId } = await customer(world);
  const id = await call(world, account.id, keyId, { agoMs: 1000, priceMicroVnd: 1_000_001n });
  const { text, status } = await browser.get(`/receipts/${id}`);
  assertEquals(status, 200);
  for (
    const part of [id, "₫1.000001", "premium-1", "Completed", "Input tokens", "10\u00a0ms"]
  ) {
    assertStringIncludes(text, part);
  }
  const { browser: bob } = await customer(world, "bob@example.com");
  assertEquals((await bob.get(`/receipts/${id}`)).status, 404);
  assertEquals((await browser.get("/receipts/req_0000")).status, 404);
  assertEquals((await world.browser().get(`/receipts/${id}`)).status, 303);
});

Deno.test("a receipt, its exports and its JSON say what ended a stream", async () => {
  await using world = await openDashboardWorld();
  const { browser, account, keyId } = await customer(world);
  const ends = [
    ["call_timeout", "15 minutes", "15 phút"],
    ["upstream_timeout", "stopped sending", "ngừng gửi dữ liệu"],
    ["insufficient_balance", "balance was used up", "Số dư đã hết"],
    ["overloaded", "with an error", "bằng một lỗi"],
  ] as const;
  const receipts = ends.map(([endCode], index) =>
    receiptOf(account.id, {
      requestId: requestIdAt(world.time.nowMs() - index * 1_000),
      keyId,
      startedAtMs: world.time.nowMs() - index * 1_000,
      stream: true,
      outcome: "broken",
      attempts: [{ route: "p/m", outcome: "ok", ms: 1 }],
      endCode,
    })
  );
  await storeReceipts(world.kv, receipts);
  for (const [index, [endCode, english, vietnamese]] of ends.entries()) {
    const path = `/receipts/${receipts[index]?.requestId}`;
    for (const [locale, text] of [["en", english], ["vi", vietnamese]] as const) {
      browser.cookies.set("locale", locale);
      const page = await browser.get(path);
      assertStringIncludes(page.text, text);
      assertStringIncludes(page.text, `<code>${endCode}</code>`);
    }
  }
  const whole = receiptJson({ receipt: receiptOf(account.id), refund: undefined });
  assertEquals(whole["ended_by"], null);
  const json = receipts.map((receipt) => receiptJson({ receipt, refund: undefined })["ended_by"]);
  assertEquals(json[0], {
    code: "call_timeout",
    message: "The call reached its bound of 15 minutes",
  });
  const column = receiptColumns.find(({ name }) => name === "ended_by");
  const cells = receipts.map((receipt) => column?.cell({ receipt, refund: undefined }));
  assertEquals(cells, ends.map(([endCode]) => endCode));
});

Deno.test("the export has every call once, exact money, and no formula for a spreadsheet", async () => {
  await using world = await openDashboardWorld();
  const { browser, account, keyId } = await customer(world);
  const ids: string[] = [];
  for (let i = 0; i < 450; i++) {
    ids.push(await call(world, account.id, keyId, { agoMs: i * 1000, priceMicroVnd: BigInt(i) }));
  }
  const csv = await browser.get("/usage/export.csv");
  assertStringIncludes(
    csv.headers.get("content-disposition")!,
    "calls-2026-10-22-to-2026-11-20.csv",
  );
  const lines = csv.text.trimEnd().split("\r\n");
  assertEquals(lines.length, 451);
  assertEquals(lines.slice(1).map((line) => line.split(",")[0]), ids);
  assertStringIncludes(lines[1 + 449]!, ",0.000449,");
  assertStringIncludes(lines[1]!, ",'=cmd|calc,");

  const json = await browser.get("/usage/export.json");
  const rows: { request_id: string; cost_vnd: string; key_name: string }[] = JSON.parse(json.text);
  assertEquals(rows.map((row) => row.request_id), ids);
  assertEquals(rows[449]!.cost_vnd, "0.000449");

  const nothing = await browser.get("/usage/export.json?model=none");
  assertEquals(JSON.parse(nothing.text), []);
  assertEquals((await world.browser().get("/usage/export.csv")).status, 303);
});

Deno.test("a refunded call is marked wherever its cost is shown, and sums are without it", async () => {
  await using world = await openDashboardWorld();
  const { browser, account, keyId } = await customer(world);
  const priceMicroVnd = 3_000_000_000n;
  const kept = await call(world, account.id, keyId, { agoMs: 2000, priceMicroVnd });
  const requestId = requestIdAt(world.time.nowMs() - 1000);
  const failed = await world.wallet.settle(
    await mustReserve(world.wallet, account.id, priceMicroVnd),
    draftOf(priceMicroVnd, {
      requestId,
      keyId,
      kind: "video",
      model: "video-a",
      startedAtMs: world.time.nowMs() - 1000,
    }),
  );
  const result = await refundCall(world.kv, failed, { reason: "", atMs: world.time.nowMs() });
  assertEquals(result.status, "applied");

  const home = await browser.get("/");
  assertStringIncludes(home.text, "Refunded");
  assertEquals(
    [...home.text.matchAll(/<data[^>]*>₫3,000<\/data>/g)].length,
    6,
    "three sums, a model, two calls",
  );
  const usage = await browser.get("/usage");
  assertStringIncludes(usage.text, "after ₫3,000 of refunds");
  assertEquals([...usage.text.matchAll(/Refunded/g)].length, 1);
  assert(!usage.text.includes("₫6,000"));
  for (const path of ["/keys", `/keys/${keyId}`]) {
    const { text } = await browser.get(path);
    assert(text.includes("₫3,000") && !text.includes("₫6,000"), path);
  }
  assertStringIncludes((await browser.get(`/receipts/${requestId}`)).text, "Refunded");
  assert(!(await browser.get(`/receipts/${kept}`)).text.includes("Refunded"));
  const csv = (await browser.get("/usage/export.csv")).text.trimEnd().split("\r\n");
  const column = csv[0]?.split(",").indexOf("refunded_vnd") ?? -1;
  assertEquals(csv.map((line) => line.split(",")[column]), ["refunded_vnd", "3000", "0"]);
  const rows = JSON.parse((await browser.get("/usage/export.json")).text);
  assertEquals(rows.map((row: { refunded_vnd: string }) => row.refunded_vnd), ["3000", "0"]);
});

Deno.test("an export of one account never holds calls of another", async () => {
  await using world = await openDashboardWorld();
  const ann = await customer(world);
  const bob = await customer(world, "bob@example.com");
  const anns = await call(world, ann.account.id, ann.keyId, { agoMs: 1000 });
  const bobs = await call(world, bob.account.id, bob.keyId, { agoMs: 1000 });
  const { text } = await ann.browser.get("/usage/export.csv");
  assert(text.includes(anns) && !text.includes(bobs));
  const page = await ann.browser.get(`/usage?key=${bob.keyId}`);
  assert(!page.text.includes(bobs));
});

Deno.test("an open usage page polls, and gets content only when something is new", async () => {
  await using world = await openDashboardWorld();
  const { browser, account, keyId } = await customer(world);
  await call(world, account.id, keyId, { agoMs: 2_000 });
  const live = await livePath(browser, "/usage");
  assertEquals((await browser.get(live)).status, 204);
  const requestId = await call(world, account.id, keyId, { agoMs: 1_000 });
  await world.wallet.indexOnce();
  const newer = await browser.get(live);
  assertEquals(newer.status, 200);
  assertStringIncludes(newer.text, `/receipts/${requestId}`);
  assert(!newer.text.includes("<html"), "rows, and no page around them");
  const mark = /data-mark="([^"]+)"/.exec(newer.text)?.[1] ?? "";
  const seen = live.replace(/seen=.*/, `seen=${mark}`);
  assertEquals((await browser.get(seen)).status, 204, "it names the new state");
  assertEquals((await world.browser().get(live)).status, 303, "only for its account");
});

Deno.test("the receipt of a failed call explains the failure, and no receipt why there is none", async () => {
  await using world = await openDashboardWorld();
  const { browser, account, keyId } = await customer(world);
  const failWith = async (outcome: string, agoMs: number) => {
    const startedAtMs = world.time.nowMs() - agoMs;
    const requestId = requestIdAt(startedAtMs);
    const attempts = [{ route: "secret-vendor/x", outcome, ms: 5 }];
    await world.wallet.settle(
      await mustReserve(world.wallet, account.id, 1n),
      draftOf(0n, { requestId, keyId, startedAtMs, outcome: "failed", status: 504, attempts }),
    );
    return (await browser.get(`/receipts/${requestId}`)).text;
  };
  const slow = await failWith("upstream_timeout", 1_000);
  assertStringIncludes(slow, "The provider did not answer in time.");
  assert(!slow.includes("secret-vendor"));
  assertStringIncludes(await failWith("a_new_code", 2_000), "a_new_code");
  assertStringIncludes(await failWith("__proto__", 3_000), "__proto__");
  const none = await browser.get(`/receipts/${requestIdAt(world.time.nowMs())}`);
  assertEquals(none.status, 404);
  assertStringIncludes(none.text, "refused long ago");
});

Deno.test("a receipt says what was held, charged and returned, in both languages", async () => {
  await using world = await openDashboardWorld();
  const { browser, account, keyId } = await customer(world);
  const attempts = [{ route: "one/x", outcome: "ok", ms: 5 }];
  const shown = async (held: bigint, some: Parameters<typeof draftOf>[1], price: bigint) => {
    const startedAtMs = world.time.nowMs();
    const requestId = requestIdAt(startedAtMs);
    const draft = draftOf(price, { requestId, keyId, startedAtMs, attempts, ...some });
    await world.wallet.settle(await mustReserve(world.wallet, account.id, held), draft);
    return await Promise.all(["en", "vi"].map(async (language) => {
      const { text } = await browser.get(`/receipts/${requestId}`, { "accept-language": language });
      const [, hold = ""] = /<dl class="bill-hold">(.*?)<\/dl>/s.exec(text) ?? [];
      const [, free] = /<p class="muted">([^<]* is free again\.)/.exec(text) ?? [];
      return free ?? hold.replace(/<[^>]+>/g, "|").replace(/\|+/g, "|");
    }));
  };
  const dong = 1_000_000n;
  const [english = "", vietnamese = ""] = await shown(360n * dong, {}, 66n * dong);
  assertEquals(
    english,
    "|Held for the call|₫360|Charged|−₫66|Returned to the wallet|₫294|",
  );
  assertStringIncludes(vietnamese, "|Tạm giữ cho lượt gọi|360");
  assertStringIncludes(vietnamese, "|Trả lại ví|294");
  const [beyond = ""] = await shown(50n * dong, {}, 66n * dong);
  assertEquals(
    beyond,
    "|Held for the call|₫50|Taken in addition|₫16|Charged|−₫66|Returned to the wallet|₫0|",
  );
  const failed = { outcome: "failed", status: 502 } as const;
  assertEquals(
    (await shown(360n * dong, failed, 0n))[0],
    "₫360 was held for 10\u00a0ms and is free again.",
  );
  const requestId = await call(world, account.id, keyId, { agoMs: 1_000 });
  assert(!(await browser.get(`/receipts/${requestId}`)).text.includes("bill-hold"));
});

Deno.test("a receipt shows the fees of hosted tools, the tier of service, and sound apart from text", async () => {
  await using world = await openDashboardWorld();
  const { browser, account, keyId } = await customer(world);
  const startedAtMs = world.time.nowMs();
  const requestId = requestIdAt(startedAtMs);
  const rate = 750_000n;
  await world.wallet.settle(
    await mustReserve(world.wallet, account.id, 501_000_000n),
    draftOf(501_000_000n, {
      requestId,
      keyId,
      startedAtMs,
      usage: { input: 90, inputAudio: 60, cacheRead: 0, cacheWrite: 0, output: 5, reasoning: 0 },
      price: {
        unit: "token",
        inputPerMtokMicroVnd: rate,
        outputPerMtokMicroVnd: rate,
        cacheReadPerMtokMicroVnd: rate,
        cacheWritePerMtokMicroVnd: rate,
      },
      serviceTier: "priority",
      toolCharges: [{ tool: "web_search", uses: 2, perUseMicroVnd: 250_500_000n }],
    }),
  );
  const { text } = await browser.get(`/receipts/${requestId}`);
  const lines = [...text.matchAll(/<tr[^>]*>(.*?)<\/tr>/gs)].map(([, row]) =>
    [...row!.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell]) =>
      cell!.replace(/<[^>]+>/g, "").trim()
    ).join(" ")
  );
  for (
    const line of [
      "Uncached input tokens 90 × ₫0.75 ₫0.000067",
      "Output tokens 5 × ₫0.75 ₫0.000003",
      "Web search 2 × ₫250.50 ₫501.000000",
      "Charged ₫501.000000",
    ]
  ) assert(lines.includes(line), `${line} is not in ${lines.join("; ")}`);
  assertStringIncludes(text, "Service tier priority.");
});
