import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import type { BodyStyle } from "../../../support/body_style.ts";
import { type BillableFeature, billableFeatures } from "../../../../core/wire/contract/features.ts";
import {
  billableFieldNames,
  findBillableFeatures,
} from "../../../../core/wire/billable_features/asked_for.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";

const styles: readonly BodyStyle[] = ["messages", "chat", "responses"];

const plain: Readonly<Record<BodyStyle, JsonObject>> = {
  messages: { model: "m", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] },
  chat: { model: "m", messages: [{ role: "user", content: "Hi" }] },
  responses: { model: "m", input: "Hi" },
};

const found = (style: BodyStyle, body: JsonObject) =>
  findBillableFeatures(style, { ...plain[style], ...body }).map((
    { feature, path },
  ) => [feature, path]);

const custom: JsonObject = { name: "f", input_schema: { type: "object" } };

/** Wherever it is said, it costs the same. */
const billableFields: readonly (readonly [BillableFeature, JsonObject])[] = [
  ["service_tier", { service_tier: "priority" }],
  ["service_tier", { service_tier: "fast" }],
  ["service_tier", { service_tier: "ultrafast" }],
  ["service_tier", { service_tier: "scale" }],
  ["service_tier", { service_tier: "Priority" }],
  ["service_tier", { service_tier: ["priority"] }],
  ["fast_mode", { speed: "fast" }],
  ["inference_geo", { inference_geo: "us" }],
  ["web_search", { web_search_options: {} }],
  ["web_search", { web_search_options: { search_context_size: "high" } }],
  ["web_search", { enable_search: true }],
  ["web_search", { search_parameters: { mode: "auto" } }],
  ["code_execution", { container: "container_1" }],
  ["code_execution", { container: { skills: [{ type: "custom", skill_id: "s" }] } }],
  ["mcp", { mcp_servers: [{ type: "url", url: "https://mcp.example", name: "m" }] }],
  ["plugins", { plugins: [{ id: "web" }] }],
  ["other_models", { models: ["vendor/dear"] }],
  ["other_models", { provider: { order: ["dear"] } }],
  ["other_models", { providerOptions: { gateway: { models: ["dear"] } } }],
  ["other_models", { preset: "dear" }],
  ["fallbacks", { fallbacks: "default" }],
  ["fallbacks", { fallbacks: [{ model: "dear" }] }],
  ["media_output", { modalities: ["text", "audio"] }],
  ["media_output", { modalities: ["image"] }],
  ["media_output", { audio: { voice: "alloy", format: "mp3" } }],
  ["long_context", { betas: ["files-api-2025-04-14", "context-1m-2025-08-07"] }],
  ["long_context", { anthropic_beta: "context-1m-2025-08-07" }],
];

Deno.test("fields that cost more than tokens are found in every style, also where a server merges them", () => {
  for (const style of styles) {
    for (const [feature, body] of billableFields) {
      const [name] = Object.keys(body);
      assertEquals(found(style, body), [[feature, name]], `${style} ${JSON.stringify(body)}`);
      const merged = { extra_body: body };
      assertEquals(found(style, merged), [[feature, `extra_body.${name}`]]);
    }
  }
});

Deno.test("values that ask for nothing pass", () => {
  const harmless: readonly JsonObject[] = [
    ...["auto", "default", "standard", "standard_only", "flex"].map((service_tier) => ({
      service_tier,
    })),
    { speed: "standard" },
    { inference_geo: "global" },
    { enable_search: false },
    { search_parameters: { mode: "off" } },
    { mcp_servers: [], plugins: [], models: [], provider: {}, providerOptions: {}, fallbacks: [] },
    { modalities: ["text"] },
    { betas: ["files-api-2025-04-14"], anthropic_beta: "fast-mode-2026-02-01" },
    { extra_body: { service_tier: "auto" } },
    { tools: [] },
    // Rejected tokens of a prediction are part of the reported output.
    { prediction: { type: "content", content: "x" } },
    { store: true, metadata: { a: "b" }, prompt_cache_retention: "24h", moderation: {} },
    Object.fromEntries(billableFieldNames.map((name) => [name, null])),
  ];
  for (const style of styles) {
    for (const body of harmless) assertEquals(found(style, body), [], JSON.stringify(body));
  }
});

const billableTools: readonly (readonly [BillableFeature, Json])[] = [
  ["web_search", { type: "web_search_20250305", name: "web_search" }],
  ["web_search", { type: "web_search_20260318", name: "web_search", max_uses: 1 }],
  ["web_search", { type: "web_search" }],
  ["web_search", { type: "web_search", external_web_access: false }],
  ["web_search", { type: "web_search_preview_2025_03_11" }],
  ["web_search", { type: "openrouter:web_search" }],
  ["web_search", { type: "x_search" }],
  ["web_fetch", { type: "web_fetch_20260309", name: "web_fetch" }],
  ["code_execution", { type: "code_execution_20260521", name: "code_execution" }],
  ["code_execution", { type: "code_interpreter", container: { type: "auto" } }],
  ["code_execution", { type: "programmatic_tool_calling" }],
  ["code_execution", { type: "shell", environment: { type: "container_auto" } }],
  ["code_execution", { type: "shell", environment: { type: "container_reference" } }],
  ["file_search", { type: "file_search", vector_store_ids: ["vs_1"] }],
  ["image_generation", { type: "image_generation" }],
  ["mcp", { type: "mcp", server_label: "m", server_url: "https://mcp.example" }],
  ["mcp", { type: "mcp_toolset", mcp_server_name: "m" }],
  ["other_tools", { type: "advisor_20260301", name: "advisor", model: "dear" }],
  ["other_tools", { type: "builtin_function", function: { name: "$web_search" } }],
  ["other_tools", { type: "what_will_come", name: "x" }],
  ["other_tools", { google_search: {} }],
  ["other_tools", { type: "custom", Type: "web_search", name: "x" }],
  ["other_tools", { type: ["web_search"] }],
  ["other_tools", "web_search"],
];

Deno.test("tools that the provider runs are found and named by their place", () => {
  for (const style of styles) {
    for (const [feature, tool] of billableTools) {
      const tools = [custom, tool];
      assertEquals(found(style, { tools }), [[feature, "tools.1"]], JSON.stringify(tool));
    }
  }
});

const freeTools: readonly JsonObject[] = [
  custom,
  { ...custom, type: "custom", defer_loading: true, strict: true },
  { ...custom, type: null },
  { type: "bash_20250124", name: "bash" },
  { type: "text_editor_20250728", name: "str_replace_based_edit_tool" },
  { type: "memory_20250818", name: "memory" },
  { type: "computer_20251124", name: "computer", display_width_px: 1, display_height_px: 1 },
  { type: "computer_toolset_20260801" },
  { type: "browser_toolset_20260801" },
  { type: "tool_search_tool_regex_20251119", name: "tool_search_tool_regex" },
  { type: "tool_search_tool_bm25", name: "tool_search_tool_bm25" },
  { type: "function", function: { name: "web_search" } },
  { function: { name: "f" } },
  { type: "function", name: "web_search", parameters: {} },
  { type: "custom", name: "apply_patch", format: { type: "text" } },
  { type: "custom", custom: { name: "grep" } },
  { type: "local_shell" },
  { type: "apply_patch" },
  { type: "shell" },
  { type: "shell", environment: { type: "local" } },
  { type: "computer" },
  { type: "computer_use_preview", display_width: 1, display_height: 1, environment: "linux" },
  { type: "tool_search", execution: "client" },
  { type: "namespace", name: "mcp__files", tools: [{ type: "function", name: "read" }] },
];

Deno.test("tools that the caller runs, and those that cost only tokens, pass", () => {
  for (const style of styles) {
    for (const tool of freeTools) {
      assertEquals(found(style, { tools: [tool] }), [], JSON.stringify(tool));
    }
  }
});

Deno.test("tools that come in later are found as well", () => {
  const search = { type: "web_search", name: "web_search" };
  const definition = (tool: JsonObject): JsonObject => ({
    type: "tool_addition",
    tool: { type: "tool_definition", definition: tool },
  });
  const says = (...content: Json[]): JsonObject => ({
    messages: [{ role: "user", content: "Hi" }, { role: "system", content }],
  });
  const text = { type: "text", text: "Use this" };
  assertEquals(found("messages", says(text, definition(search))), [
    ["web_search", "messages.1.content.1"],
  ]);
  assertEquals(
    found("messages", says({ type: "compaction", tool_changes: [definition(search)] })),
    [
      ["web_search", "messages.1.content.0"],
    ],
  );
  assertEquals(found("messages", says(definition(custom))), []);
  const reference = { type: "tool_addition", tool: { type: "tool_reference", name: "web_search" } };
  assertEquals(found("messages", says(reference)), []);

  const own = { type: "function", name: "web_search", parameters: {} };
  for (const type of ["additional_tools", "tool_search_output"]) {
    const input = [{ role: "user", content: "Hi" }, { type, tools: [own, search] }];
    assertEquals(found("responses", { input }), [["web_search", "input.1.tools.1"]]);
  }
  const listed = { type: "mcp_list_tools", tools: [{ name: "read", input_schema: {} }] };
  assertEquals(found("responses", { input: [listed] }), []);
  const group = { type: "namespace", name: "n", tools: [{ type: "namespace", tools: [search] }] };
  assertEquals(found("responses", { tools: [custom, group] }), [
    ["web_search", "tools.1.tools.0.tools.0"],
  ]);
});

Deno.test("only what matters when the model declines can be spared, and only where it can be taken out", () => {
  const spare = (body: JsonObject) =>
    findBillableFeatures("messages", body).map((found) => found.spare);
  assertEquals(spare({ fallbacks: "default" }), [true]);
  assertEquals(spare({ extra_body: { fallbacks: "default" } }), [false]);
  for (const [feature, body] of billableFields) {
    assertEquals(spare(body), [feature === "fallbacks"], JSON.stringify(body));
  }
});

Deno.test("every feature can be asked for", () => {
  const asked = new Set([...billableFields, ...billableTools].map(([feature]) => feature));
  assertEquals(billableFeatures.filter((feature) => !asked.has(feature)), []);
});

/** What agents send with their default settings, as far as it could be taken for something dear. */
const agents: Readonly<Record<string, readonly [BodyStyle, JsonObject]>> = {
  "Claude Code": ["messages", {
    system: [{ type: "text", text: "s", cache_control: { type: "ephemeral", ttl: "1h" } }],
    tools: [custom, { ...custom, eager_input_streaming: true }],
    thinking: { type: "adaptive" },
    output_config: { effort: "high" },
    context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
    metadata: { user_id: "u" },
    diagnostics: { previous_message_id: "msg_1" },
    temperature: 1,
    stream: true,
  }],
  "Codex without its search": ["responses", {
    instructions: "i",
    input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "Hi" }] }],
    tools: [
      { type: "function", name: "shell" },
      { type: "custom", name: "apply_patch", format: { type: "grammar" } },
      { type: "tool_search", execution: "client" },
      { type: "namespace", name: "mcp__files", tools: [{ type: "function", name: "read" }] },
    ],
    tool_choice: "auto",
    parallel_tool_calls: true,
    reasoning: { effort: "medium", summary: "auto" },
    store: false,
    stream: true,
    include: ["reasoning.encrypted_content"],
    prompt_cache_key: "k",
    text: { verbosity: "medium" },
    client_metadata: { a: "b" },
  }],
};

for (const [agent, [style, body]] of Object.entries(agents)) {
  Deno.test(`nothing that ${agent} sends by itself is dear`, () => {
    assertEquals(found(style, body), []);
  });
}

const strange = fc.jsonValue({ maxDepth: 4 }).map((value): Json =>
  JSON.parse(JSON.stringify(value))
);

Deno.test("fields that nobody knows never cost the caller the call", () => {
  const names = fc.string().filter((name) =>
    !billableFieldNames.includes(name) && name !== "__proto__"
  );
  const keys = fc.string().filter((key) => key.toLowerCase() !== "type" && key !== "__proto__");
  fc.assert(fc.property(
    fc.constantFrom(...styles),
    fc.dictionary(names, strange),
    fc.dictionary(keys, strange),
    (style, fields, extras) => {
      const tools = [{ ...extras, name: "f" }, { ...extras, type: "function" }];
      assertEquals(found(style, { ...fields, tools }), []);
    },
  ));
});

Deno.test("whatever comes in is judged without a bug, and named in words that may stand in a header", () => {
  const bodies = fc.record(
    Object.fromEntries(billableFieldNames.map((name) => [
      name,
      fc.oneof(strange, fc.array(fc.record({ type: strange, tools: fc.array(strange) }))),
    ])),
    { requiredKeys: [] },
  );
  fc.assert(fc.property(fc.constantFrom(...styles), bodies, (style, body) => {
    for (const { path } of findBillableFeatures(style, body as JsonObject)) {
      assert(/^[a-zA-Z0-9_.]+$/.test(path), path);
    }
  }));
});
