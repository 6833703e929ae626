/** Hosted tools with a fee: reserved, counted, charged, on the receipt and in exports, natively and converted. */
import { assert, assertEquals, assertMatch } from "../../../support/assert.ts";
import type { Style } from "../../../../core/wire/contract/contract.ts";
import { listReceipts } from "../../../../kv/money/receipts/receipts.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { receiptColumns, receiptJson } from "../../../../routes/usage_api/receipt_json.ts";
import { openTestGateway, servedBy } from "../../../support/gateways/gateway_in_process.ts";
import { answerOf, type HostedAnswer, streamOf } from "../../../support/hosted_answers.ts";
import { mockProvider } from "../gateway/media_world.ts";
import { apiPost } from "../../../support/api_post.ts";

const price = {
  unit: "token",
  vndPerMtok: 1_000,
  hostedTools: {
    web_search: { vndPerUse: 250.5, mostUses: 4 },
    code_execution: { vndPerCall: 800 },
  },
};
/** The tokens of every answer of the provider here: 10 in, 20 out. */
const tokensMicroVnd = 30_000n;
const searchMicroVnd = 250_500_000n;
const creditVnd = 100_000;

const search = {
  messages: { tools: [{ type: "web_search_20250305", name: "web_search" }] },
  chat: { web_search_options: {} },
  responses: { tools: [{ type: "web_search" }] },
  gemini: { tools: [{ googleSearch: {} }] },
} satisfies Record<Style, object>;

const plain = {
  messages: { messages: [{ role: "user", content: "hi" }], max_tokens: 50 },
  chat: { messages: [{ role: "user", content: "hi" }], max_tokens: 50 },
  responses: { input: "hi", max_output_tokens: 50 },
  gemini: {
    contents: [{ role: "user", parts: [{ text: "hi" }] }],
    generationConfig: { maxOutputTokens: 50 },
  },
} satisfies Record<Style, object>;

function pathOf(style: Style, model: string, stream: boolean): string {
  switch (style) {
    case "messages":
      return "/v1/messages";
    case "chat":
      return "/v1/chat/completions";
    case "responses":
      return "/v1/responses";
    case "gemini":
      return `/v1beta/models/${model}:${
        stream ? "streamGenerateContent?alt=sse" : "generateContent"
      }`;
  }
}

const styles: readonly Style[] = ["messages", "chat", "responses", "gemini"];

/** A gateway with a model for each style of provider, all with fees, and some without. */
async function openWorld() {
  let now: { readonly style: Style; readonly answer: HostedAnswer } | undefined;
  const provider = mockProvider((request) => {
    assert(now !== undefined, "not expected to be asked");
    const { style, answer } = now;
    const isStream = /stream=true|streamGenerate/.test(request.path) ||
      (style !== "gemini" && request.json()["stream"] === true);
    return isStream
      ? new Response(streamOf(style, answer), { headers: { "content-type": "text/event-stream" } })
      : Response.json(answerOf(style, answer));
  });
  const model = (id: string, style: Style, more: object = {}, route: object = {}) => ({
    id,
    kind: "chat",
    family: "test",
    price,
    ...more,
    routes: [{
      provider: "p",
      style,
      model: "m",
      ...(style === "chat" && { facts: { extra_fields: ["web_search_options"] } }),
      ...route,
    }],
  });
  const gateway = await openTestGateway(servedBy(provider, {
    defaultModel: "chat",
    models: [
      ...styles.map((style) => model(style, style)),
      model("by-call", "messages", {
        price: {
          unit: "request",
          vnd: 100,
          hostedTools: { web_search: { vndPerUse: 10 } },
        },
      }),
      model("closed", "messages", {}, { allow: [] }),
      model("absorbed", "messages", { price: { unit: "token", vndPerMtok: 1_000 } }, {
        allow: ["web_search"],
      }),
    ],
  }));
  const { key, accountId } = await gateway.customer(creditVnd);
  const send = async (caller: Style, model: string, stream: boolean, body: object) =>
    await gateway.fetch(apiPost(`http://gateway${pathOf(caller, model, stream)}`, key, {
      ...(caller === "gemini" ? {} : { model, stream }),
      ...plain[caller],
      ...body,
    }, { "x-goog-api-key": key }));
  return {
    gateway,
    key,
    send,
    /** One call that is answered by `answer`, and its receipt. */
    async ask(
      caller: Style,
      style: Style,
      stream: boolean,
      answer: HostedAnswer,
      { model = style as string, body = search[caller] as object } = {},
    ) {
      now = { style, answer };
      const response = await send(caller, model, stream, body);
      const text = await response.text();
      assertEquals(response.status, 200, text);
      const [receipt] = (await listReceipts(gateway.kv, accountId, { limit: 1 })).receipts;
      assert(receipt !== undefined);
      assertEquals(receipt.requestId, response.headers.get("x-request-id"));
      return receipt;
    },
    async spentMicroVnd() {
      const balance = await gateway.assembled.gateway.wallet.balance(accountId);
      assertEquals(balance.reservedMicroVnd, 0n);
      const verified = await verifyStore(gateway.kv);
      assert(verified.ok, JSON.stringify(verified.problems));
      return BigInt(creditVnd) * 1_000_000n - balance.totalMicroVnd;
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

/** What each style of provider shows of two searches. */
const twoSearches: Record<Style, HostedAnswer> = {
  messages: { searches: 2, usage: { server_tool_use: { web_search_requests: 2 } } },
  chat: { searches: 1, usage: { server_tool_use: { web_search_requests: 2 } } },
  responses: { searches: 2, pages: 3 },
  gemini: { searches: 2 },
};

/** Directions in which a search is carried. */
const directions: readonly (readonly [caller: Style, provider: Style])[] = [
  ...styles.map((style) => [style, style] as const),
  ["messages", "responses"],
  ["responses", "messages"],
  ["chat", "messages"],
  ["chat", "responses"],
  ["messages", "chat"],
  ["gemini", "messages"],
  ["responses", "gemini"],
];

Deno.test("searches are charged by the provider's count, in each style, whole and streamed", async () => {
  await using world = await openWorld();
  let spent = 0n;
  for (const [caller, style] of directions) {
    for (const stream of [false, true]) {
      const name = `${caller} to ${style}, ${stream ? "streamed" : "whole"}`;
      const receipt = await world.ask(caller, style, stream, twoSearches[style]);
      assertEquals(receipt.toolCharges, [{
        tool: "web_search",
        uses: 2,
        perUseMicroVnd: searchMicroVnd,
      }], name);
      assertEquals(receipt.costMicroVnd, tokensMicroVnd + 2n * searchMicroVnd, name);
      assertEquals(receipt.claimMicroVnd, undefined, name);
      spent += receipt.costMicroVnd;
    }
  }
  assertEquals(await world.spentMicroVnd(), spent);
});

Deno.test("more searches than were reserved are a claim, and a fee per call pays for all of them", async () => {
  await using world = await openWorld();
  const many = { searches: 9, usage: { server_tool_use: { web_search_requests: 9 } } };
  const configured = await world.ask("messages", "messages", true, many);
  assertEquals(configured.toolCharges?.[0]?.uses, 4);
  assertEquals(configured.claimMicroVnd, 5n * searchMicroVnd);
  const bounded = await world.ask("messages", "messages", false, many, {
    body: { tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 2 }] },
  });
  assertEquals(bounded.costMicroVnd, tokensMicroVnd + 2n * searchMicroVnd);
  assertEquals(bounded.claimMicroVnd, 7n * searchMicroVnd);
  const code = await world.ask("responses", "responses", true, { codeRuns: 3 }, {
    body: { tools: [{ type: "code_interpreter", container: { type: "auto" } }] },
  });
  assertEquals(code.toolCharges, [{
    tool: "code_execution",
    uses: 1,
    perUseMicroVnd: 800_000_000n,
  }]);
  const spent = [configured, bounded, code].reduce(
    (sum, { costMicroVnd }) => sum + costMicroVnd,
    0n,
  );
  assertEquals(await world.spentMicroVnd(), spent);
});

Deno.test("what was not asked for, not run, or has no fee costs nothing; an option of Chat searches once", async () => {
  await using world = await openWorld();
  const unasked = await world.ask("messages", "messages", false, twoSearches.messages, {
    body: {},
  });
  const unused = await world.ask("messages", "messages", true, {});
  const absorbed = await world.ask("messages", "messages", true, twoSearches.messages, {
    model: "absorbed",
  });
  for (const { toolCharges, costMicroVnd } of [unasked, unused, absorbed]) {
    assertEquals([toolCharges, costMicroVnd], [undefined, tokensMicroVnd]);
  }
  const uncounted = await world.ask("chat", "chat", true, {});
  assertEquals(uncounted.toolCharges?.[0]?.uses, 1);
  const byCall = await world.ask("messages", "messages", true, twoSearches.messages, {
    model: "by-call",
  });
  assertEquals(byCall.costMicroVnd, 120_000_000n);
});

Deno.test("a route that lists what it allows offers no other tool, whatever has a fee", async () => {
  await using world = await openWorld();
  const refused = await world.send("messages", "closed", false, search.messages);
  assertEquals(refused.status, 400);
  assertMatch(await refused.text(), /tools\.0: searching the web costs extra/);
  const other = await world.send("messages", "messages", false, {
    tools: [{ type: "web_fetch_20250910", name: "web_fetch" }],
  });
  assertEquals(other.status, 400);
  await other.body?.cancel();
  assertEquals(await world.spentMicroVnd(), 0n);
});

Deno.test("the fees of the bound are reserved before a call", async () => {
  await using world = await openWorld();
  const refused = await world.send("messages", "messages", false, {
    tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 400 }],
  });
  assertEquals(refused.status, 402);
  assertMatch(await refused.text(), /this call needs 100300\.\d+ VND/);
  assertEquals(await world.spentMicroVnd(), 0n);
});

Deno.test("receipts, exports and the list of models show the fees", async () => {
  await using world = await openWorld();
  const receipt = await world.ask("messages", "messages", false, twoSearches.messages);
  const row = { receipt, refund: undefined };
  const shown = receiptJson(row);
  assertEquals([shown["hosted_tools"], shown["cost_vnd"]], [[{
    tool: "web_search",
    uses: 2,
    vnd_per_use: "250.5",
    cost_vnd: "501",
  }], "501.03"]);
  const cells = new Map(receiptColumns.map(({ name, cell }) => [name, cell(row)]));
  assertEquals(cells.get("hosted_tools"), "web_search 2");
  assertEquals(cells.get("hosted_tools_vnd"), "501");
  const headers = { "x-api-key": world.key };
  const listed = await world.gateway.fetch(
    new Request("http://gateway/v1/models/messages", { headers }),
  );
  const { price } = await listed.json();
  assertEquals(price.hosted_tools, {
    web_search: { vnd_per_use: 250.5, most_uses: 4 },
    code_execution: { vnd_per_call: 800 },
  });
});
