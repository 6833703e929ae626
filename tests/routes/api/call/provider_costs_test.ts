/** What calls cost the operator: on receipts and in sums, and never on anything that a customer sees. */
import { assert, assertEquals } from "../../../support/assert.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { marginMicroVnd, readMargins, unknownCalls } from "../../../../kv/money/costs/margins.ts";
import { readRateCards } from "../../../../kv/money/costs/provider_sheet.ts";
import { listReceipts } from "../../../../kv/money/receipts/receipts.ts";
import { rebuildDaySums } from "../../../../kv/money/receipts/rebuild_sums.ts";
import { verifyBooks, verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { createUsageApi } from "../../../../routes/usage_api/usage_api.ts";
import { openTestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { mockProvider } from "../gateway/media_world.ts";
import { apiPost } from "../../../support/api_post.ts";

const chunk = (more: object) =>
  `data: ${
    JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", ...more })
  }\n\n`;
const usage = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 60 },
};

/** A provider that streams a text with a report, or breaks off before the report. */
async function openWorld() {
  let isBroken = false;
  const provider = mockProvider((request) => {
    const { stream } = request.json();
    const delta = { role: "assistant", content: "Hello there" };
    if (stream !== true) {
      const message = { role: "assistant", content: "Hello there" };
      const choices = [{ index: 0, message, finish_reason: "stop" }];
      return Response.json({
        id: "c",
        object: "chat.completion",
        created: 1,
        model: "m",
        choices,
        usage,
      });
    }
    const body = chunk({ choices: [{ index: 0, delta, finish_reason: null }] }) +
      (isBroken ? "" : chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) +
        chunk({ choices: [], usage }) + "data: [DONE]\n\n");
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  });
  const model = (id: string, cost: object | undefined) => ({
    id,
    kind: "chat",
    family: "test",
    price: { unit: "token", vndPerMtok: 10_000 },
    maxOutputTokens: 100,
    routes: [{ provider: "p", style: "chat", model: id, cost }],
  });
  const gateway = await openTestGateway({
    env: { PROVIDER_KEY: "provider-secret-1234567890" },
    file: () => ({
      defaultModel: "costed",
      currencies: { USD: "25400.5" },
      providers: {
        p: {
          baseUrl: `http://127.0.0.1:${provider.port}`,
          apiKeyEnv: "PROVIDER_KEY",
          currency: "USD",
        },
      },
      models: [
        model("costed", {
          unit: "token",
          perMtok: "0.15",
          outputPerMtok: 0.6,
          cacheReadPerMtok: "0.0375",
        }),
        model("per-call", { unit: "request", amount: "0.0123" }),
        model("uncosted", undefined),
      ],
    }),
  });
  const { key, accountId } = await gateway.customer(100_000);
  const ask = async (model: string, stream = false) => {
    const answer = await gateway.fetch(apiPost("http://gateway/v1/chat/completions", key, {
      model,
      stream,
      max_tokens: 50,
      messages: [{ role: "user", content: "Hi" }],
    }));
    const text = await answer.text();
    const [receipt] = (await listReceipts(gateway.kv, accountId, { limit: 1 })).receipts;
    assert(receipt !== undefined);
    return { receipt, text, answer };
  };
  return {
    gateway,
    key,
    accountId,
    ask,
    break() {
      isBroken = true;
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

/** 40 tokens at 0.15, 60 at 0.0375 and 20 at 0.6 USD a million, at 25,400.5 VND, rounded up to a µVND. */
const costMicroVnd = (40n * 150_000n + 60n * 37_500n + 20n * 600_000n) * 254_005n / 10_000_000n +
  1n;

function known({ providerCost }: Receipt) {
  assert(providerCost?.kind === "known");
  return providerCost;
}

Deno.test("a call costs what its provider reports, at the rates of its route, whole and streamed", async () => {
  await using world = await openWorld();
  for (const stream of [false, true]) {
    const { receipt } = await world.ask("costed", stream);
    const cost = known(receipt);
    assertEquals(cost.units, { input: 40, cache_read: 60, output: 20 });
    assertEquals(cost.costMicroVnd, costMicroVnd);
    assertEquals((await readRateCards(world.gateway.kv)).get(cost.card)?.terms.currency, {
      code: "USD",
      vndPerUnit: "25400.5",
    });
  }
  const perCall = known((await world.ask("per-call")).receipt);
  assertEquals(perCall.units, { request: 1 });
  assertEquals(perCall.costMicroVnd, 312_426_150n);
  assertEquals((await world.ask("uncosted")).receipt.providerCost, { kind: "unknown" });
});

Deno.test("a stream that breaks off has consumed what arrived", async () => {
  await using world = await openWorld();
  world.break();
  const { receipt } = await world.ask("costed", true);
  assertEquals(receipt.outcome, "broken");
  const { units } = known(receipt);
  assert((units["output"] ?? 0) > 0 && (units["cache_read"] ?? 0) + (units["input"] ?? 0) > 0);
});

Deno.test("margins add up to the receipts, and calls without a known cost have none", async () => {
  await using world = await openWorld();
  const { gateway, accountId } = world;
  const receipts = [];
  for (const model of ["costed", "costed", "per-call", "uncosted"]) {
    receipts.push((await world.ask(model, model === "costed")).receipt);
  }
  await gateway.assembled.gateway.wallet.indexOnce();
  assert((await verifyStore(gateway.kv)).ok);
  const day = vietnamDay(receipts[0]!.startedAtMs);
  const range = { fromDay: day, toDay: vietnamDay(receipts.at(-1)!.startedAtMs) };
  const { total, by } = await readMargins(gateway.kv, range);
  const revenue = receipts.reduce((sum, receipt) => sum + receipt.costMicroVnd, 0n);
  assertEquals([total.calls, total.revenueMicroVnd], [4, revenue]);
  assertEquals(total.costMicroVnd, 2n * costMicroVnd + 312_426_150n);
  assertEquals(unknownCalls(total), 1);
  const uncosted = receipts[3]!.costMicroVnd;
  assertEquals(marginMicroVnd(total), revenue - uncosted - total.costMicroVnd);
  assertEquals(marginMicroVnd(by.model.get("uncosted")!), undefined, "not 100 %");
  assertEquals([...by.route.keys()].sort(), [
    "costed p/costed",
    "per-call p/per-call",
    "uncosted p/uncosted",
  ]);
  for (const group of ["model", "account", "key", "day"] as const) {
    const sum = [...by[group].values()].reduce((cost, one) => cost + one.costMicroVnd, 0n);
    assertEquals(sum, total.costMicroVnd, group);
  }
  assertEquals(
    (await rebuildDaySums(gateway.kv, accountId, {
      nowMs: gateway.time.nowMs(),
      afterDay: undefined,
    })).corrected,
    0,
  );
});

Deno.test("verification finds a wrong, a missing and a surplus copy of a day sum, and rebuilding mends them", async () => {
  await using world = await openWorld();
  const { gateway: { kv, assembled }, accountId } = world;
  await world.ask("costed");
  await world.ask("per-call");
  await assembled.gateway.wallet.indexOnce();
  const copies = await Array.fromAsync(kv.list<Record<string, unknown>>({
    prefix: ["usage_by_day"],
  }));
  assertEquals(copies.length, 2);
  const [first, second] = copies;
  await kv.set(first!.key, { ...first!.value, calls: 7 });
  await kv.delete(second!.key);
  await kv.set(["usage_by_day", "2020-01-01", ...first!.key.slice(2)], first!.value);
  const report = await verifyStore(kv);
  assertEquals(report.problems.map(({ kind }) => kind), ["rollup", "rollup", "rollup"]);
  const books = await verifyBooks(kv, {
    masterKeys: world.gateway.masterKeys,
    nowMs: world.gateway.time.nowMs(),
  });
  assertEquals(books.problems.map(({ kind }) => kind), ["rollup", "rollup", "rollup"], "by day");
  await kv.delete(["usage_by_day", "2020-01-01", ...first!.key.slice(2)]);
  assertEquals(
    (await rebuildDaySums(kv, accountId, {
      nowMs: world.gateway.time.nowMs(),
      afterDay: undefined,
    })).corrected,
    2,
  );
  assert((await verifyStore(kv)).ok);
});

Deno.test("no answer of the API and no line of the log tells a customer what a call cost the operator", async () => {
  await using world = await openWorld();
  const { gateway, key } = world;
  const { kv, clock, directory, wallet } = gateway.assembled.gateway;
  const asked = [
    await world.ask("costed"),
    await world.ask("costed", true),
    await world.ask("per-call"),
  ];
  await wallet.indexOnce();
  const secrets = asked.flatMap(({ receipt }) => {
    const { card, costMicroVnd } = known(receipt);
    const vnd = `${costMicroVnd / 1_000_000n}.${
      (costMicroVnd % 1_000_000n).toString().padStart(6, "0")
    }`;
    return [card, costMicroVnd.toString(), vnd.replace(/0+$/, "")];
  });
  const words = ["provider_cost", "providerCost", "margin", "rate_card", "25400", "providers"];
  const texts = asked.map(({ text, answer }) => text + JSON.stringify([...answer.headers]));
  const app = createUsageApi({
    baseUrl: "http://localhost",
    vatRates: [],
    seller: undefined,
    kv,
    clock,
    directory,
    wallet,
  });
  const { receipt } = asked[0]!;
  const query = "?group_by=model";
  for (
    const path of [
      "/v1/usage" + query,
      "/v1/receipts",
      `/v1/receipts/${receipt.requestId}`,
      "/v1/calls",
      `/v1/calls/${receipt.requestId}`,
      "/v1/balance",
    ]
  ) {
    const answer = await app.request(path, { headers: { "x-api-key": key } });
    assertEquals(answer.status, 200, path);
    texts.push(await answer.text());
  }
  texts.push(...gateway.log);
  for (const text of texts) {
    for (const secret of [...secrets, ...words]) {
      assert(!text.includes(secret), `${secret}: ${text}`);
    }
  }
});
