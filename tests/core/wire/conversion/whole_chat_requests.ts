/** Chat requests for {@linkcode wholeRequests}. */
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { mark, png, schema } from "./whole_requests_parts.ts";

const chatBase = { model: "m", messages: [{ role: "user", content: "Hi" }] };
const breakpoint = { mode: "explicit" };
const chatTool = { type: "function", function: { name: "f" } };

const chatMessages: JsonObject[] = [
  {
    role: "system",
    content: [{ type: "text", text: "s", prompt_cache_breakpoint: breakpoint }],
    name: "n",
  },
  { role: "developer", content: "d", name: "n", cache_control: mark },
  {
    role: "user",
    content: [
      { type: "text", text: "a", prompt_cache_breakpoint: breakpoint },
      { type: "text", text: "b", cache_control: mark },
      {
        type: "image_url",
        image_url: { url: `data:image/png;base64,${png}`, detail: "low" },
      },
      {
        type: "file",
        file: { file_data: "data:application/pdf;base64,JVBERg==", filename: "Plan.pdf" },
        prompt_cache_breakpoint: breakpoint,
      },
    ],
    name: "n",
  },
  {
    role: "assistant",
    content: [
      { type: "text", text: "c", prompt_cache_breakpoint: breakpoint },
      { type: "refusal", refusal: "no" },
    ],
    refusal: "never",
    name: "n",
    annotations: [{ type: "url_citation" }],
    tool_calls: [
      { id: "call_1", type: "function", function: { name: "f", arguments: '{"a":"1"}' } },
      { id: "call_2", type: "custom", custom: { name: "g", input: "x" } },
    ],
  },
  {
    role: "tool",
    tool_call_id: "call_1",
    content: [{ type: "text", text: "1", prompt_cache_breakpoint: breakpoint }],
  },
  { role: "tool", tool_call_id: "call_2", name: "f", content: "2", cache_control: mark },
  { role: "user", content: "e", cache_control: mark },
];

export const wholeChatRequests: readonly JsonObject[] = [
  {
    ...chatBase,
    messages: chatMessages,
    max_completion_tokens: 100,
    temperature: 0.5,
    top_p: 0.5,
    frequency_penalty: 1,
    presence_penalty: 1,
    logit_bias: { "1": 1 },
    top_logprobs: 1,
    seed: 1,
    stop: ["END"],
    stream: true,
    stream_options: { include_usage: true, include_obfuscation: true },
    tools: [
      {
        type: "function",
        function: { name: "f", description: "d", parameters: schema, strict: true },
        cache_control: mark,
      },
      {
        type: "custom",
        custom: {
          name: "g",
          description: "d",
          format: { type: "grammar", grammar: { syntax: "lark", definition: "x" } },
        },
      },
      { type: "custom", custom: { name: "h", format: { type: "text" } } },
    ],
    tool_choice: "required",
    parallel_tool_calls: false,
    functions: [{ name: "old" }],
    function_call: { name: "old" },
    response_format: {
      type: "json_schema",
      json_schema: { name: "n", description: "d", schema, strict: true },
    },
    reasoning_effort: "low",
    reasoning: { summary: "detailed", exclude: true },
    verbosity: "low",
    prediction: { type: "content", content: "x" },
    web_search_options: {
      search_context_size: "low",
      user_location: { type: "approximate", approximate: { city: "Huế", timezone: "t" } },
    },
    moderation: { model: "x" },
    service_tier: "flex",
    store: true,
    metadata: { a: "b" },
    user: "u",
    prompt_cache_key: "k",
    prompt_cache_options: { mode: "explicit", ttl: "30m" },
    prompt_cache_retention: "24h",
  },
  { ...chatBase, max_tokens: 100, safety_identifier: "u", thinking: { type: "adaptive" } },
  {
    ...chatBase,
    tools: [chatTool],
    tool_choice: { type: "function", function: { name: "f" } },
    response_format: { type: "json_object" },
    thinking: { type: "enabled", budget_tokens: 20_000 },
  },
  {
    ...chatBase,
    tools: [{ type: "custom", custom: { name: "g" } }],
    tool_choice: { type: "custom", custom: { name: "g" } },
    reasoning: { max_tokens: 2000, summary: "concise" },
  },
  {
    ...chatBase,
    tools: [chatTool, { type: "custom", custom: { name: "g" } }, {
      type: "function",
      function: { name: "h" },
    }],
    tool_choice: {
      type: "allowed_tools",
      allowed_tools: {
        mode: "required",
        tools: [chatTool, { type: "custom", custom: { name: "g" } }],
      },
    },
    thinking: { type: "auto" },
  },
  {
    ...chatBase,
    messages: [
      { role: "user", content: "a" },
      { role: "assistant", content: null, function_call: { name: "old", arguments: '{"a":1}' } },
      { role: "function", name: "old", content: "1" },
    ],
    functions: [{ name: "old", description: "d", parameters: schema }],
    function_call: { name: "old" },
    tool_choice: "required",
  },
  { ...chatBase, tool_choice: "required" },
  { ...chatBase, function_call: { name: "old" } },
  { ...chatBase, n: 2 },
  { ...chatBase, logprobs: true },
  { ...chatBase, modalities: ["text", "audio"] },
  { ...chatBase, audio: { voice: "v", format: "mp3" } },
  {
    ...chatBase,
    messages: [{
      role: "user",
      content: [{
        type: "input_audio",
        input_audio: { data: "x", format: "wav" },
        prompt_cache_breakpoint: breakpoint,
      }],
    }],
  },
  {
    ...chatBase,
    messages: [{ role: "user", content: [{ type: "file", file: { file_id: "file_1" } }] }],
  },
  { ...chatBase, messages: [...chatBase.messages, { role: "assistant", audio: { id: "a" } }] },
];
