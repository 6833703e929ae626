/** Messages requests for {@linkcode wholeRequests}. */
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { mark, png, schema } from "./whole_requests_parts.ts";

const messagesBase = { model: "m", max_tokens: 4000, messages: [{ role: "user", content: "Hi" }] };

const messagesUserBlocks: JsonObject[] = [
  { type: "text", text: "a", cache_control: mark },
  {
    type: "image",
    source: { type: "base64", media_type: "image/png", data: png },
    transformations: { oversized_image: "error" },
    cache_control: mark,
  },
  {
    type: "image",
    source: { type: "url", url: "https://example.com/a.png" },
  },
  {
    type: "document",
    source: { type: "base64", media_type: "application/pdf", data: "JVBERg==" },
    title: "Plan.pdf",
    context: "A plan.",
    citations: { enabled: true },
    cache_control: mark,
  },
  {
    type: "document",
    source: { type: "text", media_type: "text/plain", data: "words" },
    title: "Words",
    context: "Some words.",
    citations: { enabled: true },
    cache_control: mark,
  },
  {
    type: "document",
    source: {
      type: "content",
      content: [
        { type: "text", text: "inner", cache_control: mark },
        {
          type: "image",
          source: { type: "url", url: "https://example.com/b.png" },
          transformations: { oversized_image: "error" },
          cache_control: mark,
        },
        { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
      ],
    },
    title: "Parts",
    context: "Several parts.",
    citations: { enabled: true },
    cache_control: mark,
  },
  {
    type: "search_result",
    source: "https://example.com",
    title: "Found",
    content: [{ type: "text", text: "found", cache_control: mark }],
    citations: { enabled: true },
    cache_control: mark,
  },
  { type: "container_upload", file_id: "file_1" },
];

const messagesAssistantBlocks: JsonObject[] = [
  { type: "thinking", thinking: "hm", signature: "c2ln" },
  { type: "redacted_thinking", data: "c2ln" },
  {
    type: "text",
    text: "b",
    citations: [{ type: "web_search_result_location", url: "https://example.com" }],
    cache_control: mark,
  },
  {
    type: "server_tool_use",
    id: "srvtoolu_1",
    name: "web_search",
    input: { query: "x" },
    caller: { type: "code_execution_20250825" },
    cache_control: mark,
  },
  {
    type: "web_search_tool_result",
    tool_use_id: "srvtoolu_1",
    content: [{ type: "web_search_result", url: "https://example.com", title: "T" }],
    caller: { type: "code_execution_20250825" },
    cache_control: mark,
  },
  { type: "container_upload", file_id: "file_1", cache_control: mark },
  {
    type: "tool_use",
    id: "toolu_1",
    name: "f",
    input: { a: "1" },
    caller: { type: "code_execution_20250825" },
    toolset_name: "set",
    cache_control: mark,
  },
  { type: "tool_use", id: "toolu_2", name: "f", input: { a: "2" } },
];

const messagesResults: JsonObject[] = [
  {
    type: "tool_result",
    tool_use_id: "toolu_1",
    is_error: true,
    content: [{ type: "text", text: "failed", cache_control: mark }],
    toolset_name: "set",
    cache_control: mark,
  },
  {
    type: "tool_result",
    tool_use_id: "toolu_2",
    content: [
      { type: "tool_reference", tool_name: "f", cache_control: mark },
      { type: "browser_state" },
    ],
  },
];

/** A result may hold most of what a user may say. */
const richResult: JsonObject = {
  type: "tool_result",
  tool_use_id: "toolu_1",
  content: messagesUserBlocks.filter((block) => block.type !== "container_upload"),
};

/** Tools that the provider runs, with all their options, and calls of them. */
const hostedRequest: JsonObject = {
  ...messagesBase,
  messages: [
    { role: "user", content: "a" },
    {
      role: "assistant",
      content: [
        {
          type: "mcp_tool_use",
          id: "mcptoolu_1",
          name: "f",
          server_name: "s",
          input: { a: "1" },
          cache_control: mark,
        },
        {
          type: "mcp_tool_result",
          tool_use_id: "mcptoolu_1",
          is_error: true,
          content: [{ type: "text", text: "t" }],
          cache_control: mark,
        },
      ],
    },
    { role: "user", content: "b" },
  ],
  mcp_servers: [{
    type: "url",
    name: "s",
    url: "https://mcp.example",
    authorization_token: "t",
  }],
  tools: [
    {
      type: "mcp_toolset",
      mcp_server_name: "s",
      default_config: { enabled: false },
      configs: { f: { enabled: true } },
      cache_control: mark,
    },
    {
      type: "web_search_20250305",
      name: "web_search",
      max_uses: 3,
      allowed_domains: ["example.com"],
      user_location: { type: "approximate", city: "Huế", country: "VN" },
      cache_control: mark,
    },
  ],
};

/** The older form, in which the server says itself what may be called. */
const configuredServer: JsonObject = {
  ...messagesBase,
  mcp_servers: [{
    type: "url",
    name: "s",
    url: "https://mcp.example",
    tool_configuration: { enabled: true, allowed_tools: ["f"] },
  }],
};

export const wholeMessagesRequests: readonly JsonObject[] = [
  hostedRequest,
  configuredServer,
  {
    ...messagesBase,
    system: [{
      type: "text",
      text: "s",
      citations: [{ type: "char_location" }],
      cache_control: mark,
    }],
    messages: [
      { role: "user", content: messagesUserBlocks },
      { role: "system", content: [{ type: "text", text: "t", cache_control: mark }] },
      { role: "assistant", content: messagesAssistantBlocks },
      { role: "user", content: messagesResults },
      { role: "user", content: "c" },
    ],
    tools: [
      {
        type: "custom",
        name: "f",
        description: "d",
        input_schema: schema,
        strict: true,
        cache_control: mark,
        defer_loading: true,
        eager_input_streaming: true,
        input_examples: [{ a: "1" }],
        allowed_callers: ["direct"],
      },
      { type: "web_search_20250305", name: "web_search" },
    ],
    tool_choice: { type: "auto", disable_parallel_tool_use: true },
    stop_sequences: ["END"],
    stream: true,
    temperature: 0.5,
    top_p: 0.5,
    top_k: 5,
    thinking: { type: "enabled", budget_tokens: 2000, display: "omitted" },
    output_config: { format: { type: "json_schema", schema } },
    metadata: { user_id: "u" },
    service_tier: "standard_only",
    cache_control: mark,
    inference_geo: "us",
    context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
  },
  {
    ...messagesBase,
    messages: [
      { role: "user", content: "a" },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "toolu_1", name: "f", input: { a: "1" } }],
      },
      { role: "user", content: [richResult] },
    ],
  },
  {
    ...messagesBase,
    tools: [{ name: "f", input_schema: schema }],
    tool_choice: { type: "tool", name: "f", disable_parallel_tool_use: true },
    thinking: { type: "adaptive", display: "omitted" },
    output_config: { effort: "low" },
  },
  {
    ...messagesBase,
    tools: [{ name: "f", input_schema: schema }],
    tool_choice: { type: "any", disable_parallel_tool_use: true },
    thinking: { type: "disabled" },
  },
  { ...messagesBase, tools: [{ name: "f", input_schema: schema }], tool_choice: { type: "none" } },
  { ...messagesBase, thinking: { type: "between_tools", display: "omitted" } },
  { ...messagesBase, tool_choice: { type: "any" } },
  { ...messagesBase, container: "c" },
  ...["image", "document"].map((type): JsonObject => ({
    ...messagesBase,
    messages: [{ role: "user", content: [{ type, source: { type: "file", file_id: "file_1" } }] }],
  })),
  {
    ...messagesBase,
    messages: [{
      role: "user",
      content: [{ type: "document", source: { type: "url", url: "https://example.com/a.pdf" } }],
    }],
  },
];
