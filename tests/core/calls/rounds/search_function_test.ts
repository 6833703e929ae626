/** A web search is offered as a function: its name, the choice, the history, and what follows a search. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { offerSearch } from "../../../../core/calls/rounds/search_function.ts";
import { continued } from "../../../../core/calls/rounds/tool_rounds.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import type { ProviderStyle, Style } from "../../../../core/wire/contract/contract.ts";
import { readConversation, writeConversation } from "../../../../core/wire/convert/convert.ts";
import { validateRequest } from "../../../../sandbox/vendor_validators/validators.ts";

const options = { capabilities: {}, upstreamModel: "m", maxOutputTokens: 4_096 };
const styles: readonly ProviderStyle[] = ["messages", "chat", "responses", "gemini", "converse"];

function offered(from: Style, body: JsonObject) {
  const offer = offerSearch(readConversation(from, { model: "m", ...body }, {}));
  assert(offer !== undefined, JSON.stringify(body));
  return offer;
}

const messages: JsonObject[] = [{ role: "user", content: "Hi" }];
const search: JsonObject = { type: "web_search_20250305", name: "web_search", page_size: 9 };
const f: JsonObject = { name: "f", input_schema: { type: "object" } };

Deno.test("the rounds of a search are what each vendor accepts, and the last one may not search", () => {
  const { conversation, name } = offered("messages", {
    max_tokens: 500,
    messages,
    tools: [search, f],
    tool_choice: { type: "any" },
  });
  const next = (isLast: boolean) =>
    continued(conversation, {
      written: [
        { type: "text", path: "", text: "Let me look." },
        {
          type: "tool_call",
          path: "",
          id: "a",
          name,
          input: { kind: "json_text", text: '{"query":"q"}' },
        },
      ],
      results: [{
        type: "tool_result",
        path: "",
        callId: "a",
        content: [{ type: "text", path: "", text: "Found." }],
        isError: false,
      }],
      maxTokens: 300,
      isLast,
    });
  for (const style of styles) {
    for (const round of [conversation, next(false), next(true)]) {
      const { body, dropped } = writeConversation(round, style, options);
      assertEquals(validateRequest(style, body), undefined, JSON.stringify(body));
      assertEquals(dropped.includes("tools.0.page_size"), true, style);
    }
  }
  assertEquals(next(false).toolChoice?.type, "auto");
  assertEquals([next(true).toolChoice?.type, next(true).maxTokens], ["none", 300]);
});

Deno.test("a choice follows the search to its function, whose name no tool of the client has", () => {
  const own = { type: "function", name: "web_search", parameters: { type: "object" } };
  const cases: [tools: JsonObject[], choice: JsonObject, name: string, chosen: JsonObject][] = [
    [[{ type: "web_search" }], { type: "web_search" }, "web_search", {
      type: "tool",
      name: "web_search",
    }],
    [
      [{ type: "web_search" }, own],
      { type: "function", name: "web_search" },
      "gateway_web_search",
      {
        type: "tool",
        name: "gateway_web_search",
      },
    ],
  ];
  for (const [tools, tool_choice, name, chosen] of cases) {
    const { conversation, ...offer } = offered("responses", { input: "Hi", tools, tool_choice });
    assertEquals(offer.name, name);
    const { path: _, ...choice } = conversation.toolChoice ?? { path: "" };
    assertEquals(choice, chosen);
  }
});

Deno.test("only one search is offered, others are named; requests without one have nothing to offer", () => {
  const tools: JsonObject[] = [search, { ...search, name: "again" }, f];
  const { conversation } = offered("messages", { max_tokens: 9, messages, tools });
  assertEquals(conversation.tools.map(({ type }) => type), ["function", "function"]);
  assert(conversation.warnings.includes("tools.1"));
  const read = readConversation(
    "messages",
    { model: "m", max_tokens: 9, messages, tools: [f] },
    {},
  );
  assertEquals(offerSearch(read), undefined);
});

Deno.test("searches that the gateway ran are read as text, and the bound of Responses is one of searches", () => {
  const { conversation, request } = offered("responses", {
    input: [
      { role: "user", content: "Hi" },
      {
        type: "web_search_call",
        id: "ws_ugw1_req_1",
        status: "completed",
        action: {
          type: "search",
          query: "q",
          queries: ["q"],
          sources: [{ type: "url", url: "https://example.com" }],
        },
      },
      { role: "assistant", content: "So." },
      { role: "user", content: "And now?" },
    ],
    tools: [{ type: "web_search" }, { type: "function", name: "f" }],
    max_tool_calls: 2,
  });
  assertEquals(request.maxUses?.value, 2);
  for (const style of styles) {
    const { body, dropped } = writeConversation(conversation, style, options);
    assertEquals(validateRequest(style, body), undefined, JSON.stringify(body));
    assert(JSON.stringify(body).includes("https://example.com"), style);
    assert(!JSON.stringify(body).includes("web_search_call"), style);
    assertEquals(dropped, ["input.1"], style);
  }
});
