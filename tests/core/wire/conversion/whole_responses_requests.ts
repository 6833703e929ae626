/** Responses requests for {@linkcode wholeRequests}. */
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { png, schema } from "./whole_requests_parts.ts";

const responsesBase = { model: "m", input: "Hi" };
const breakpoint = { mode: "explicit" };
const responsesTool = { type: "function", name: "f", parameters: schema };

const responsesItems: JsonObject[] = [
  {
    type: "message",
    id: "msg_s",
    role: "developer",
    content: [{ type: "input_text", text: "s", prompt_cache_breakpoint: breakpoint }],
    status: "completed",
  },
  {
    type: "message",
    id: "msg_a",
    role: "user",
    content: [
      { type: "input_text", text: "a", prompt_cache_breakpoint: breakpoint },
      { type: "input_image", image_url: `data:image/png;base64,${png}`, detail: "low" },
      {
        type: "input_file",
        file_data: "data:application/pdf;base64,JVBERg==",
        filename: "Plan.pdf",
      },
    ],
    status: "completed",
  },
  {
    type: "reasoning",
    id: "rs_1",
    summary: [{ type: "summary_text", text: "hm" }],
    content: [{ type: "reasoning_text", text: "hm" }],
    encrypted_content: "gAAA",
    status: "completed",
  },
  {
    type: "message",
    role: "assistant",
    id: "msg_1",
    content: [
      {
        type: "output_text",
        text: "b",
        annotations: [{ type: "url_citation" }],
        logprobs: [{ token: "b" }],
      },
      { type: "refusal", refusal: "no" },
    ],
    status: "completed",
    phase: "commentary",
  },
  {
    type: "function_call",
    id: "fc_1",
    call_id: "call_1",
    name: "f",
    arguments: '{"a":"1"}',
    status: "completed",
    namespace: "n",
  },
  {
    type: "custom_tool_call",
    id: "ctc_1",
    call_id: "call_2",
    name: "g",
    input: "x",
    status: "completed",
    namespace: "n",
  },
  {
    type: "function_call_output",
    id: "fc_2",
    call_id: "call_1",
    output: [
      { type: "input_text", text: "1", prompt_cache_breakpoint: breakpoint },
      { type: "input_image", image_url: `data:image/png;base64,${png}`, detail: "low" },
      {
        type: "input_file",
        file_data: "data:application/pdf;base64,JVBERg==",
        filename: "Plan.pdf",
      },
    ],
    status: "completed",
  },
  {
    type: "custom_tool_call_output",
    id: "ctc_2",
    call_id: "call_2",
    output: [
      { type: "input_text", text: "2", prompt_cache_breakpoint: breakpoint },
      { type: "input_image", image_url: `data:image/png;base64,${png}`, detail: "low" },
      {
        type: "input_file",
        file_data: "data:application/pdf;base64,JVBERg==",
        filename: "Plan.pdf",
      },
    ],
    status: "completed",
  },
  { type: "web_search_call", id: "ws_1", status: "completed" },
  { role: "user", content: "c" },
];

export const wholeResponsesRequests: readonly JsonObject[] = [
  {
    model: "m",
    input: responsesItems,
    instructions: "i",
    max_output_tokens: 100,
    max_tool_calls: 2,
    temperature: 0.5,
    top_p: 0.5,
    stream: true,
    stream_options: { include_obfuscation: true },
    tools: [
      { ...responsesTool, description: "d", strict: true, defer_loading: true },
      {
        type: "custom",
        name: "g",
        description: "d",
        format: { type: "grammar", syntax: "lark", definition: "x" },
        defer_loading: true,
      },
      { type: "custom", name: "h", format: { type: "text" } },
      { type: "web_search" },
    ],
    tool_choice: "required",
    parallel_tool_calls: false,
    text: {
      format: { type: "json_schema", name: "n", description: "d", schema, strict: true },
      verbosity: "low",
    },
    reasoning: { effort: "low", summary: "detailed", context: "all_turns", mode: "x" },
    include: ["web_search_call.results"],
    truncation: "auto",
    context_management: [{ type: "compaction" }],
    client_metadata: { session: "s" },
    service_tier: "flex",
    metadata: { a: "b" },
    user: "u",
    prompt_cache_key: "k",
    prompt_cache_options: { mode: "explicit", ttl: "30m" },
    prompt_cache_retention: "24h",
    moderation: { model: "x" },
  },
  {
    ...responsesBase,
    tools: [
      {
        type: "web_search",
        filters: { allowed_domains: ["example.com"] },
        user_location: { type: "approximate", city: "Huế", region: "r" },
        search_context_size: "low",
        external_web_access: false,
      },
      { type: "code_interpreter", container: { type: "auto", memory_limit: "4g" } },
      {
        type: "mcp",
        server_label: "s",
        server_url: "https://mcp.example",
        server_description: "d",
        authorization: "t",
        headers: { a: "b" },
        allowed_tools: { tool_names: ["f"], read_only: true },
        require_approval: "never",
      },
    ],
  },
  {
    ...responsesBase,
    tools: [responsesTool],
    tool_choice: { type: "function", name: "f" },
    text: { format: { type: "json_object" } },
    reasoning: { generate_summary: "concise" },
    safety_identifier: "u",
  },
  {
    ...responsesBase,
    tools: [responsesTool, { type: "function", name: "h" }],
    tool_choice: {
      type: "allowed_tools",
      mode: "required",
      tools: [{ type: "function", name: "f" }],
    },
  },
  { ...responsesBase, tool_choice: "required" },
  { ...responsesBase, top_logprobs: 2 },
  { ...responsesBase, store: true },
  { ...responsesBase, background: true },
  { ...responsesBase, conversation: { id: "conv_1" } },
  { ...responsesBase, previous_response_id: "resp_1" },
  { ...responsesBase, prompt: { id: "p" } },
  ...[
    [{ type: "item_reference", id: "msg_1" }],
    [{
      role: "user",
      content: [{ type: "input_audio", input_audio: { data: "x", format: "wav" } }],
    }],
    ...[
      { type: "input_image", file_id: "file_1" },
      { type: "input_file", file_id: "file_1" },
      { type: "input_file", file_url: "https://example.com/a.pdf" },
    ].flatMap((part): JsonObject[][] => [
      [{ role: "user", content: [part] }],
      [
        { type: "function_call", call_id: "call_1", name: "f", arguments: '{"a":1}' },
        { type: "function_call_output", call_id: "call_1", output: [part] },
      ],
    ]),
  ].map((input): JsonObject => ({ model: "m", input })),
];
