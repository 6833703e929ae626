/** Tools that the provider runs are asked for in the words of the route's style, where the route allows them. */
import { assertEquals } from "../../../support/assert.ts";
import type {
  ConversionOptions,
  RouteCapabilities,
  Style,
} from "../../../../core/wire/contract/contract.ts";
import { validateRequest } from "../../../../sandbox/vendor_validators/validators.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";
import { type Converted, converted, refusal } from "./converting.ts";

const location = { type: "approximate", city: "Huế", country: "VN" };
const place = { city: "Huế", country: "VN" };

function asked(style: Style, more: JsonObject): JsonObject {
  if (style === "responses") return { model: "m", input: "Hi", ...more };
  const messages = [{ role: "user", content: "Hi" }];
  return { model: "m", messages, ...(style === "messages" ? { max_tokens: 100 } : {}), ...more };
}

/** Converts, and the real vendor must accept the result. */
function sent(
  from: Style,
  to: Style,
  more: JsonObject,
  capabilities: RouteCapabilities = {},
  allow?: ConversionOptions["allow"],
): Converted {
  const request = converted(from, to, asked(from, more), capabilities, 64_000, allow);
  assertEquals(validateRequest(to, request.body), undefined, JSON.stringify(request.body));
  return request;
}

const searchable: RouteCapabilities = { extra_fields: ["web_search_options"] };

Deno.test("a Messages search becomes a Responses search, with its options", () => {
  const search = {
    type: "web_search_20250305",
    name: "web_search",
    max_uses: 3,
    allowed_domains: ["example.com"],
    blocked_domains: null,
    user_location: location,
  };
  const tool_choice = { type: "tool", name: "web_search" };
  const { body, dropped } = sent("messages", "responses", { tools: [search], tool_choice });
  assertEquals(body["tools"], [{
    type: "web_search",
    filters: { allowed_domains: ["example.com"] },
    user_location: location,
  }]);
  assertEquals(body["tool_choice"], { type: "web_search" });
  assertEquals(body["max_tool_calls"], 3);
  assertEquals(body["include"], ["reasoning.encrypted_content", "web_search_call.action.sources"]);
  assertEquals(dropped, []);
});

Deno.test("a Responses search becomes a Messages search, with its options", () => {
  const search = {
    type: "web_search",
    filters: { allowed_domains: ["example.com"] },
    user_location: { ...location, region: null },
    search_context_size: "medium",
    external_web_access: true,
  };
  const { body, dropped } = sent("responses", "messages", {
    tools: [search],
    tool_choice: { type: "web_search" },
  });
  assertEquals(body["tools"], [{
    type: "web_search_20250305",
    name: "web_search",
    allowed_domains: ["example.com"],
    user_location: location,
  }]);
  assertEquals(body["tool_choice"], { type: "tool", name: "web_search" });
  assertEquals(dropped, []);
});

Deno.test("asking for what hosted tools found is met: other styles tell it unasked", () => {
  const include = ["web_search_call.action.sources", "code_interpreter_call.outputs"];
  const tools = [{ type: "web_search" }];
  assertEquals(sent("responses", "messages", { tools, include }).dropped, []);
  const files = [...include, "file_search_call.results"];
  assertEquals(sent("responses", "messages", { tools, include: files }).dropped, ["include"]);
});

Deno.test("the search of a Chat request is a tool elsewhere, and back", () => {
  const web_search_options = {
    search_context_size: "high",
    user_location: { type: "approximate", approximate: place },
  };
  const there = sent("chat", "responses", { web_search_options });
  const tool = { type: "web_search", search_context_size: "high", user_location: location };
  assertEquals(there.body["tools"], [tool]);
  assertEquals(there.dropped, []);
  const back = sent("responses", "chat", { tools: [tool] }, searchable);
  assertEquals(back.body["web_search_options"], web_search_options);
  assertEquals(back.dropped, []);
  const messages = sent("chat", "messages", { web_search_options });
  assertEquals(messages.dropped, ["web_search_options.search_context_size"]);
  assertEquals(messages.body["tools"], [
    { type: "web_search_20250305", name: "web_search", user_location: location },
  ]);
});

Deno.test("an aggregator's search is the search of the other styles, with its options", () => {
  const parameters = {
    engine: "exa",
    max_results: 5,
    search_context_size: "low",
    allowed_domains: ["example.com"],
    excluded_domains: ["example.net"],
    user_location: location,
  };
  const search = { type: "openrouter:web_search", parameters };
  const cases: [Style, JsonObject, string[]][] = [
    ["messages", {
      type: "web_search_20250305",
      name: "web_search",
      allowed_domains: ["example.com"],
      user_location: location,
    }, ["engine", "max_results", "excluded_domains", "search_context_size"]],
    ["responses", {
      type: "web_search",
      filters: { allowed_domains: ["example.com"] },
      user_location: location,
      search_context_size: "low",
    }, ["engine", "max_results", "excluded_domains"]],
    ["gemini", { googleSearch: {} }, Object.keys(parameters)],
  ];
  for (const [to, tool, lost] of cases) {
    const { body, dropped } = sent("chat", to, { tools: [search] });
    assertEquals(body["tools"], [tool], to);
    assertEquals(
      dropped.toSorted(),
      lost.map((name) => `tools.0.parameters.${name}`).toSorted(),
      to,
    );
    assertEquals(sent("chat", to, { tools: [{ type: search.type }] }).dropped, [], to);
  }
});

Deno.test("options of a search that the other vendor does not know are named", () => {
  const cases: [Style, Style, JsonObject, string[]][] = [
    ["messages", "responses", { blocked_domains: ["a.example"] }, ["tools.0.blocked_domains"]],
    ["messages", "responses", { response_inclusion: "full" }, ["tools.0.response_inclusion"]],
    ["messages", "chat", { max_uses: 2, allowed_domains: ["a.example"] }, [
      "tools.0.allowed_domains",
      "tools.0.max_uses",
    ]],
    ["responses", "messages", { external_web_access: false }, ["tools.0.external_web_access"]],
    ["responses", "messages", { search_context_size: "low" }, ["tools.0.search_context_size"]],
  ];
  for (const [from, to, requests, names] of cases) {
    const type = from === "messages" ? "web_search_20250305" : "web_search";
    const name: JsonObject = from === "messages" ? { name: "web_search" } : {};
    const { dropped } = sent(from, to, { tools: [{ type, ...name, ...requests }] }, searchable);
    assertEquals(dropped, names);
  }
});

Deno.test("code runs at either vendor; a container of the client's own is named", () => {
  const run = { type: "code_execution_20250825", name: "code_execution" };
  const there = sent("messages", "responses", { tools: [run] });
  const interpreter = { type: "code_interpreter", container: { type: "auto" } };
  assertEquals([there.body["tools"], there.dropped], [[interpreter], []]);
  const back = sent("responses", "messages", { tools: [interpreter] });
  assertEquals([back.body["tools"], back.dropped], [[run], []]);
  const own = [{ type: "code_interpreter", container: "cntr_1" }];
  assertEquals(sent("responses", "messages", { tools: own }).dropped, ["tools.0.container"]);
});

const mcp_servers = [
  { type: "url", name: "s", url: "https://mcp.example", authorization_token: "t" },
];
const toolset = {
  type: "mcp_toolset",
  mcp_server_name: "s",
  default_config: { enabled: false },
  configs: { f: { enabled: true } },
};
const mcp = {
  type: "mcp",
  server_label: "s",
  server_url: "https://mcp.example",
  authorization: "t",
  allowed_tools: ["f"],
  require_approval: "never",
};

Deno.test("an MCP server is told to the other vendor; one that asks before each call is not", () => {
  const there = sent("messages", "responses", { mcp_servers, tools: [toolset] });
  assertEquals([there.body["tools"], there.dropped], [[mcp], []]);
  const back = sent("responses", "messages", { tools: [mcp] });
  assertEquals(back.body["mcp_servers"], mcp_servers);
  assertEquals<Json | undefined>(back.body["tools"], [toolset]);
  assertEquals(back.betas, ["mcp-client-2025-11-20"]);
  const asking = asked("responses", { tools: [{ ...mcp, require_approval: "always" }] });
  assertEquals(refusal("responses", "messages", asking).param, "tools.0");
  const servers = asked("messages", { mcp_servers, tools: [toolset] });
  assertEquals(refusal("messages", "chat", servers).param, "mcp_servers.0");
  // A list of what must not be called cannot be told.
  const but = { ...toolset, default_config: {}, configs: { f: { enabled: false } } };
  const except = asked("messages", { mcp_servers, tools: [but] });
  assertEquals(refusal("messages", "responses", except).param, "tools.0");
});

Deno.test("what the route does not allow is left out by name, or refused, as where no vendor has it", () => {
  const f = { type: "function", name: "f", parameters: { type: "object", properties: {} } };
  const none = new Set<never>();
  const { body, dropped } = sent(
    "responses",
    "messages",
    {
      tools: [f, { type: "web_search" }],
    },
    {},
    none,
  );
  assertEquals([(body["tools"] as Json[]).length, dropped], [1, ["tools.1"]]);
  const alone = asked("responses", { tools: [{ type: "web_search" }] });
  assertEquals(refusal("responses", "messages", alone, {}, none).param, "tools.0");
  const fetching = { type: "web_fetch_20250910", name: "web_fetch" };
  const search = { type: "web_search_20250305", name: "web_search" };
  const both = sent("messages", "responses", { tools: [fetching, search] });
  assertEquals([both.body["tools"], both.dropped], [[{ type: "web_search" }], ["tools.0"]]);
});

Deno.test("the limits of a fetching tool are named where the vendor's own has none", () => {
  const limits = {
    allowed_domains: ["example.com"],
    blocked_domains: ["example.org"],
    max_uses: 2,
    max_content_tokens: 1_000,
    citations: { enabled: true },
  };
  const fetching = { type: "web_fetch_20250910", name: "web_fetch", ...limits };
  const { body, dropped } = sent("messages", "gemini", { tools: [fetching] });
  assertEquals(body["tools"], [{ urlContext: {} }]);
  assertEquals(dropped, Object.keys(limits).map((name) => `tools.0.${name}`));
});

Deno.test("a toolset that the caller runs is refused, not left out as if the vendor ran it", () => {
  const f = { name: "f", input_schema: { type: "object" } };
  for (const type of ["browser_toolset_20260801", "computer_toolset_20260801"]) {
    const tools = [{ type }, f];
    for (const to of ["chat", "responses", "gemini", "converse"] as const) {
      const { code, param } = refusal("messages", to, asked("messages", { tools }));
      assertEquals([code, param], ["conversion_refused", "tools.0"]);
    }
  }
});

Deno.test("a function that bears the name of a hosted tool keeps it", () => {
  const f = { type: "function", name: "web_search", parameters: { type: "object" } };
  const { body, dropped } = sent("responses", "messages", { tools: [{ type: "web_search" }, f] });
  assertEquals([(body["tools"] as Json[]).length, dropped], [1, ["tools.0"]]);
});

Deno.test("a forced search is carried where it is the only tool, the choice is named; beside others it is refused", () => {
  const search = { type: "web_search_20250305", name: "web_search" };
  const f = { name: "f", input_schema: { type: "object" } };
  const tool_choice = { type: "tool", name: "web_search" };
  for (const to of ["chat", "gemini"] as const) {
    const { body, dropped } = sent("messages", to, { tools: [search], tool_choice }, searchable);
    assertEquals([body["tool_choice"], body["toolConfig"]], [undefined, undefined], to);
    assertEquals(dropped, ["tool_choice"], to);
    const beside = asked("messages", { tools: [search, f], tool_choice });
    assertEquals(refusal("messages", to, beside, searchable).param, "tool_choice", to);
  }
});
