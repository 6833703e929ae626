/** Web searches for models that have none: the model that the operator names runs them, as calls of their own. */
import { assert, assertEquals } from "../../support/assert.ts";
import { readGatewayFile } from "../../../core/catalog/read_file.ts";
import { isJsonObject, type Json } from "../../../core/lib/json/json.ts";
import type { Style } from "../../../core/wire/contract.ts";
import { listReceipts } from "../../../kv/receipts/receipts.ts";
import { verifyStore } from "../../../kv/verify/verify.ts";
import { openTestGateway } from "../../support/gateways/gateway_in_process.ts";
import { answerOf, streamOf } from "../../support/hosted_answers.ts";
import { mockProvider } from "./media/media_world.ts";

const styles: readonly Style[] = ["messages", "chat", "responses", "gemini"];
const creditVnd = 100_000;
/** The search model costs twice as much as the others; every answer has 10 tokens in and 20 out. */
const searchMicroVnd = 60_000n;

const price = (vndPerMtok: number) => ({ unit: "token", vndPerMtok });

function styleOf(path: string): Style {
  if (path.startsWith("/v1beta")) return "gemini";
  if (path.startsWith("/v1/messages")) return "messages";
  return path.startsWith("/v1/responses") ? "responses" : "chat";
}

const route = (style: Style, model: string, more: object = {}) => ({
  provider: "p",
  style,
  model,
  ...more,
});

const searchModel = (style: Style) => ({
  id: "searcher",
  kind: "chat",
  family: "test",
  price: price(2_000),
  aliases: ["searcher-alias"],
  routes: [route(style, "vendor-searcher", {
    allow: ["web_search"],
    ...(style === "chat" && { capabilities: { extra_fields: ["web_search_options"] } }),
  })],
});

const file = (port: number, searcher: Style, webSearchModel: string | undefined) => ({
  defaultModel: "plain-chat",
  ...(webSearchModel !== undefined && { webSearchModel }),
  providers: {
    p: { kind: "http", baseUrl: `http://127.0.0.1:${port}`, apiKeyEnv: "PROVIDER_KEY" },
  },
  models: [
    ...styles.map((style) => ({
      id: `plain-${style}`,
      kind: "chat",
      family: "test",
      price: price(1_000),
      routes: [route(style, "vendor-plain")],
    })),
    searchModel(searcher),
  ],
});

const only = {
  messages: [{ tools: [{ type: "web_search_20250305", name: "web_search", max_uses: 8 }] }, {
    tools: [{ type: "web_search_20250305", name: "web_search" }],
    tool_choice: { type: "tool", name: "web_search" },
  }],
  chat: [{ web_search_options: {} }, { tools: [{ type: "openrouter:web_search" }] }],
  responses: [{ tools: [{ type: "web_search" }] }, { tools: [{ type: "web_search_preview" }] }],
  gemini: [{ tools: [{ googleSearch: {} }] }],
} satisfies Record<Style, object[]>;

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

/** A gateway whose provider answers in the style of each request, and searches where it is asked to. */
async function openWorld(searcher: Style, webSearchModel: string | undefined) {
  const provider = mockProvider((request) => {
    const style = styleOf(request.path);
    const isStream = /streamGenerate/.test(request.path) ||
      (style !== "gemini" && request.json()["stream"] === true);
    const answer = { searches: 1 };
    return isStream
      ? new Response(streamOf(style, answer), { headers: { "content-type": "text/event-stream" } })
      : Response.json(answerOf(style, answer));
  });
  const gateway = await openTestGateway({
    env: { PROVIDER_KEY: "provider-secret-1234567890" },
    file: () => file(provider.port, searcher, webSearchModel),
  });
  const { key, accountId } = await gateway.customer(creditVnd);
  return {
    gateway,
    provider,
    accountId,
    async send(caller: Style, model: string, stream: boolean, body: object, ownKey = key) {
      const response = await gateway.fetch(
        new Request(`http://gateway${pathOf(caller, model, stream)}`, {
          method: "POST",
          headers: {
            "x-api-key": ownKey,
            "x-goog-api-key": ownKey,
            "content-type": "application/json",
          },
          body: JSON.stringify({
            ...(caller === "gemini" ? {} : { model, stream }),
            ...plain[caller],
            ...body,
          }),
        }),
      );
      const text = await response.text();
      return { status: response.status, headers: response.headers, text };
    },
    async receipts() {
      return (await listReceipts(gateway.kv, accountId, { limit: 200 })).receipts;
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

function messageOf(text: string): string {
  const body: Json = JSON.parse(text);
  const error = isJsonObject(body) && isJsonObject(body["error"]) ? body["error"] : {};
  return String(error["message"]);
}

Deno.test("a request for nothing but a search is answered by the search model: one call, one receipt", async () => {
  for (const searcher of styles) {
    await using world = await openWorld(searcher, "searcher-alias");
    let calls = 0n;
    for (const caller of styles) {
      for (const [i, body] of only[caller].entries()) {
        for (const target of styles) {
          const stream = (i + styles.indexOf(target)) % 2 === 0;
          const name = `${caller} to ${target}, searched by ${searcher}, ${JSON.stringify(body)}`;
          const { status, headers, text } = await world.send(
            caller,
            `plain-${target}`,
            stream,
            body,
          );
          assertEquals(status, 200, `${name}: ${text}`);
          assert(text.includes("is the capital."), `${name}: ${text}`);
          assertEquals(headers.get("x-gateway-model"), "searcher", name);
          assertEquals(headers.get("x-gateway-model-mapped-from"), `plain-${target}`, name);
          calls++;
        }
      }
    }
    assert(world.provider.seen.every(({ path }) => styleOf(path) === searcher));
    const receipts = await world.receipts();
    assertEquals(BigInt(receipts.length), calls);
    for (const { model, mappedFrom, costMicroVnd } of receipts) {
      assertEquals([model, costMicroVnd], ["searcher", searchMicroVnd]);
      assert(mappedFrom?.startsWith("plain-"), mappedFrom);
    }
    assertEquals(await world.spentMicroVnd(), calls * searchMicroVnd);
  }
});

Deno.test("without a search model the refusal names the setting, and costs nothing", async () => {
  await using world = await openWorld("messages", undefined);
  for (const caller of styles) {
    for (const target of styles) {
      for (const stream of [false, true]) {
        const name = `${caller} to ${target}`;
        const [body = {}] = only[caller];
        const { status, text } = await world.send(caller, `plain-${target}`, stream, body);
        // An option of Chat is dropped by name where no route takes it.
        if (caller === "chat" && target !== "chat") {
          assertEquals(status, 200, `${name}: ${text}`);
          continue;
        }
        assertEquals(status, 400, `${name}: ${text}`);
        assert(messageOf(text).includes("webSearchModel"), `${name}: ${text}`);
      }
    }
  }
  const free = (await world.receipts()).filter(({ outcome }) => outcome === "failed");
  assert(free.every(({ costMicroVnd }) => costMicroVnd === 0n));
});

Deno.test("other requests keep their model: no search, a tool that is not to be called, a search of its own", async () => {
  await using world = await openWorld("messages", "searcher");
  const search = only.messages[0]?.tools ?? [];
  const cases: [string, object, string][] = [
    ["plain-messages", {}, "plain-messages"],
    ["plain-chat", { tools: search, tool_choice: { type: "none" } }, "plain-chat"],
    ["searcher", { tools: search }, "searcher"],
  ];
  for (const [model, body, served] of cases) {
    const { status, headers, text } = await world.send("messages", model, false, body);
    assertEquals([status, headers.get("x-gateway-model")], [200, served], text);
    assertEquals(headers.get("x-gateway-model-mapped-from"), null);
  }
});

Deno.test("a catalogue names a search model that is there and can search", () => {
  const problemsOf = (webSearchModel: string, searcher: object = searchModel("messages")) => {
    const { models, ...rest } = file(1, "messages", webSearchModel);
    const text = JSON.stringify({ ...rest, models: [...models.slice(0, -1), searcher] });
    return readGatewayFile(text).problems;
  };
  assertEquals(problemsOf("searcher"), []);
  for (const name of ["nowhere", "plain-chat"]) {
    const [problem = "none", ...others] = problemsOf(name);
    assert(problem.startsWith(`gateway.json webSearchModel: `), problem);
    assert(problem.includes(`"${name}"`), problem);
    assertEquals(others, []);
  }
  const withoutOption = { ...searchModel("chat"), routes: [route("chat", "m")] };
  assertEquals(problemsOf("searcher", withoutOption).length, 1);
});
