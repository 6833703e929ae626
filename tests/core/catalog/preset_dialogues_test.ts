/**
 * A tool loop with each provider whose answers have a form of their own, as its documentation or its public transcripts
 * show it: what a client of another style reads, what is billed, and what the provider gets back in the next request.
 */
import { assert, assertEquals } from "../../support/assert.ts";
import { type PresetName, presetOf } from "../../../core/catalog/presets/presets.ts";
import { isJsonObject, type JsonObject } from "../../../core/lib/json/json.ts";
import { convertRequest } from "../../../core/wire/convert/convert.ts";
import { decodeProviderError } from "../../../core/wire/convert/provider_errors.ts";
import { createConvertingPipe } from "../../../core/wire/convert/converting_pipe.ts";
import { createNativePipe } from "../../../core/wire/convert/dialects.ts";
import { context, list, readStream } from "../../conformance/clients.ts";

interface Dialogue {
  readonly presets: readonly PresetName[];
  /** The page that shows the form; by default the source of the preset. */
  readonly source?: string;
  readonly stream: string;
  /** Prompt tokens by full price, from the cache and into it, and output tokens. */
  readonly tokens: readonly [input: number, cacheRead: number, cacheWrite: number, output: number];
  /** Members in which the thinking goes back with its call; none where the server wants none. */
  readonly goesBackAs?: JsonObject;
}

const chunk = (value: object) =>
  `data: ${
    JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", ...value })
  }\n\n`;
const delta = (value: object, finish: string | null = null, more: object = {}) =>
  chunk({ choices: [{ index: 0, delta: value, finish_reason: finish }], ...more });
const done = "data: [DONE]\n\n";

const named = (id: string) => ({
  index: 0,
  id,
  type: "function",
  function: { name: "f", arguments: "" },
});
const args = (text: string, more: object = {}) => ({
  index: 0,
  ...more,
  function: { ...("id" in more ? { name: "" } : {}), arguments: text },
});
const whole = (id: string, more: object = {}) => ({
  index: 0,
  id,
  type: "function",
  function: { name: "f", arguments: '{"a":1}' },
  ...more,
});
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

const dialogues: readonly Dialogue[] = [
  {
    presets: ["qwen", "qwen-cn"],
    source: "https://www.alibabacloud.com/help/en/model-studio/context-cache",
    // Later pieces of a call repeat its id and name as empty texts; written tokens have the name of another style.
    stream: delta({ role: "assistant", content: null, reasoning_content: "Hm" }) +
      delta({ content: null, tool_calls: [named("call_9a")] }) +
      delta({ content: null, tool_calls: [args('{"a"', { id: "", type: "function" })] }) +
      delta({ content: null, tool_calls: [args(":1}", { id: "", type: "function" })] }) +
      delta({ content: "" }, "tool_calls") +
      chunk({
        choices: [],
        usage: {
          ...usage,
          prompt_tokens_details: {
            cached_tokens: 3,
            cache_creation_input_tokens: 4,
            cache_creation: { ephemeral_5m_input_tokens: 4 },
            cache_type: "ephemeral",
          },
        },
      }) + done,
    tokens: [3, 3, 4, 5],
  },
  {
    presets: ["zai", "zhipu"],
    source: "https://docs.z.ai/guides/capabilities/streaming",
    // Usage comes with the finish reason, and the call in pieces without a type.
    stream: delta({ role: "assistant", reasoning_content: "Hm" }) +
      delta({ tool_calls: [{ index: 0, id: "call_81", function: { name: "f", arguments: "" } }] }) +
      delta({ tool_calls: [args('{"a":1}')] }) +
      delta({ role: "assistant", content: "" }, "tool_calls", {
        usage: { ...usage, prompt_tokens_details: { cached_tokens: 2 } },
      }) + done,
    tokens: [8, 2, 0, 5],
    goesBackAs: { reasoning_content: "Hm" },
  },
  {
    presets: ["fireworks"],
    stream: delta({ role: "assistant" }) + delta({ reasoning_content: "Hm" }) +
      delta({ tool_calls: [named("call_x1")] }) + delta({ tool_calls: [args('{"a":1}')] }) +
      delta({}, "tool_calls", {
        usage: { ...usage, prompt_tokens_details: { cached_tokens: 6 } },
      }) +
      done,
    tokens: [4, 6, 0, 5],
    goesBackAs: { reasoning_content: "Hm" },
  },
  {
    presets: ["siliconflow", "siliconflow-cn"],
    // Every chunk has the usage so far: the last one counts, and they are not added.
    stream: delta({ role: "assistant", content: null, reasoning_content: "Hm" }, null, {
      usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 },
    }) +
      delta({ content: null, reasoning_content: null, tool_calls: [named("019a")] }, null, {
        usage: { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 },
      }) + delta({ tool_calls: [args('{"a":1}')] }, null, { usage }) +
      delta({ content: "" }, "tool_calls", {
        usage: { ...usage, completion_tokens_details: { reasoning_tokens: 2 } },
      }) + done,
    tokens: [10, 0, 0, 5],
    goesBackAs: { reasoning_content: "Hm" },
  },
  {
    presets: ["volcengine"],
    stream: delta({ role: "assistant", content: "", reasoning_content: "Hm" }, null, {
      service_tier: "default",
    }) + delta({ content: "", tool_calls: [named("call_pp")], role: "assistant" }) +
      delta({ content: "", tool_calls: [args('{"a":1}')], role: "assistant" }) +
      delta({ content: "", role: "assistant" }, "tool_calls") +
      chunk({
        choices: [],
        usage: {
          ...usage,
          prompt_tokens_details: { cached_tokens: 1 },
          completion_tokens_details: { reasoning_tokens: 2 },
        },
      }) + done,
    tokens: [9, 1, 0, 5],
    goesBackAs: { reasoning_content: "Hm" },
  },
  {
    presets: ["stepfun"],
    source: "https://platform.stepfun.com/docs/zh/guides/developer/reasoning",
    stream: delta({ role: "assistant", content: "", reasoning: "Hm" }) +
      delta({ tool_calls: [whole("call_s")] }) +
      delta({}, "tool_calls", { usage: { ...usage, cached_tokens: 7 } }) + done,
    tokens: [3, 7, 0, 5],
    goesBackAs: { reasoning: "Hm" },
  },
  {
    presets: ["xai"],
    // Reasoning is not part of the completion, only of the total; calls come whole.
    stream: delta({ role: "assistant", reasoning_content: "Hm" }) +
      delta({ tool_calls: [whole("call_10")] }) + delta({}, "tool_calls") +
      chunk({
        choices: [],
        usage: {
          prompt_tokens: 10,
          completion_tokens: 5,
          total_tokens: 115,
          prompt_tokens_details: { text_tokens: 10, cached_tokens: 2 },
          completion_tokens_details: { reasoning_tokens: 100 },
          num_sources_used: 0,
        },
      }) + done,
    tokens: [8, 2, 0, 105],
  },
  {
    presets: ["cerebras"],
    source: "https://inference-docs.cerebras.ai/capabilities/streaming",
    stream: delta({ role: "assistant" }) + delta({ reasoning: "Hm" }) +
      delta({ tool_calls: [whole("7f3c1")] }) +
      delta({}, "tool_calls", {
        usage: { ...usage, prompt_tokens_details: { cached_tokens: 0 } },
        time_info: { queue_time: 0.1, total_time: 0.4 },
      }) + done,
    tokens: [10, 0, 0, 5],
  },
  {
    presets: ["sambanova"],
    stream: delta({ role: "assistant", reasoning: "Hm" }) +
      delta({ tool_calls: [whole("call_sn")] }) + delta({}, "tool_calls") +
      chunk({
        choices: [],
        usage: { ...usage, is_last_response: true, total_latency: 0.2, acceptance_rate: 3.1 },
      }) + done,
    tokens: [10, 0, 0, 5],
  },
  {
    presets: ["deepinfra"],
    stream: delta({ role: "assistant", content: "", reasoning_content: "Hm" }) +
      delta({ tool_calls: [whole("call_di")] }) + delta({ content: "" }, "tool_calls") +
      chunk({
        choices: [],
        usage: { ...usage, prompt_tokens_details: null, estimated_cost: 0.0001 },
      }) + done,
    tokens: [10, 0, 0, 5],
  },
  {
    presets: ["together"],
    source: "https://docs.together.ai/docs/inference/openai-compatibility",
    // Usage comes with the finish reason; chunks repeat the text in a member of an older form.
    stream: delta({ role: "assistant", content: "", reasoning: "Hm", token_id: 1 }) +
      delta({ tool_calls: [whole("call_tg")], content: "" }) +
      delta({ content: "", token_id: 2 }, "tool_calls", { usage }) + done,
    tokens: [10, 0, 0, 5],
  },
  {
    presets: ["vercel"],
    stream: delta({
      role: "assistant",
      reasoning: "Hm",
      reasoning_details: [{ type: "reasoning.text", text: "Hm", index: 0 }],
    }) + delta({ tool_calls: [whole("call_vc")] }) +
      delta({ provider_metadata: { gateway: { cost: "0.01" } } }, "tool_calls", {
        usage: { ...usage, cost: 0.01 },
      }) + done,
    tokens: [10, 0, 0, 5],
  },
  {
    presets: ["nvidia"],
    stream: delta({ role: "assistant", content: null, reasoning_content: "Hm" }) +
      delta({ content: null, tool_calls: [whole("chatcmpl-tool-1")] }) +
      delta({ content: "" }, "tool_calls", { usage: null }) + chunk({ choices: [], usage }) + done,
    tokens: [10, 0, 0, 5],
  },
  {
    presets: ["sglang"],
    // Members that have no value are there as null.
    stream: delta({ role: "assistant", content: "", reasoning_content: null, tool_calls: null }) +
      delta({ content: null, reasoning_content: "Hm", tool_calls: null }) +
      delta({ content: null, reasoning_content: null, tool_calls: [named("call_0a")] }) +
      delta({ tool_calls: [{ ...args('{"a":1}'), id: null, type: "function" }] }) +
      delta({ content: null }, "tool_calls", { usage: null }) +
      chunk({
        choices: [],
        usage: { ...usage, reasoning_tokens: 2, prompt_tokens_details: null },
      }) +
      done,
    tokens: [10, 0, 0, 5],
  },
  {
    presets: ["vllm"],
    stream: delta({ role: "assistant", content: "" }) + delta({ reasoning: "Hm" }) +
      delta({ tool_calls: [named("chatcmpl-tool-2")] }) + delta({ tool_calls: [args('{"a":1}')] }) +
      delta({ content: "" }, "tool_calls", { stop_reason: null }) + chunk({ choices: [], usage }) +
      done,
    tokens: [10, 0, 0, 5],
    goesBackAs: { reasoning: "Hm" },
  },
  {
    presets: ["lm-studio"],
    stream: delta({ role: "assistant", reasoning: "Hm" }) +
      delta({ tool_calls: [named("365174485")] }) + delta({ tool_calls: [args('{"a":1}')] }) +
      delta({}, "tool_calls", { system_fingerprint: "m" }) +
      chunk({ choices: [], usage, stats: {} }) + done,
    tokens: [10, 0, 0, 5],
  },
  {
    presets: ["cohere"],
    stream: delta({ role: "assistant", content: null, reasoning_content: "Hm" }) +
      delta({ tool_calls: [named("f_k3v")] }) + delta({ tool_calls: [args('{"a":')] }) +
      delta({ tool_calls: [args("1}")] }) + delta({}, "tool_calls") +
      chunk({ choices: [], usage }) + done,
    tokens: [10, 0, 0, 5],
  },
];

const request: JsonObject = {
  model: "m",
  max_tokens: 100,
  tools: [{ name: "f", input_schema: { type: "object" } }],
  messages: [{ role: "user", content: "Hi" }],
};

function converted(preset: PresetName, body: JsonObject) {
  const conversion = convertRequest("messages", "chat", body, {
    capabilities: presetOf(preset).facts?.chat ?? {},
    upstreamModel: "m",
    maxOutputTokens: 100,
  });
  assert(conversion.ok, preset);
  return conversion.request;
}

for (const { presets, source, stream, tokens, goesBackAs = {} } of dialogues) {
  for (const preset of presets) {
    Deno.test(`${preset}: a call after thinking, what it costs, and what goes back (${source ?? presetOf(preset).source})`, () => {
      const bytes = new TextEncoder().encode(stream);
      const pipe = createConvertingPipe(
        "chat",
        "messages",
        context,
        converted(preset, request).memory,
      );
      const pieces = [pipe.push(bytes), pipe.end()];
      const read = readStream(
        "messages",
        pieces.reduce((all, piece) => new Uint8Array([...all, ...piece])),
      );
      assert(read.kind === "answer", JSON.stringify(read));
      const content = list(read.answer["content"]);
      const call = content.find(({ type }) => type === "tool_use");
      assertEquals([call?.["name"], call?.["input"]], ["f", { a: 1 }]);
      assertEquals(
        content.filter(({ type }) => type === "thinking").map(({ thinking }) => thinking).join(""),
        "Hm",
      );
      const native = createNativePipe("chat", { ...context, injectedUsage: false });
      native.push(bytes);
      native.end();
      for (const { usage } of [native.reading, pipe.reading]) {
        assertEquals(
          [usage?.input, usage?.cacheRead, usage?.cacheWrite, usage?.output],
          [...tokens],
        );
      }
      const { body } = converted(preset, {
        ...request,
        messages: [
          ...list(request["messages"]),
          { role: "assistant", content },
          {
            role: "user",
            content: [{ type: "tool_result", tool_use_id: String(call?.["id"]), content: "x" }],
          },
        ],
      });
      const [, assistant, result] = list(body["messages"]);
      const [again] = list(assistant?.["tool_calls"]);
      assertEquals(result?.["tool_call_id"], again?.["id"]);
      assertEquals(isJsonObject(again?.["function"]) && again["function"]["arguments"], '{"a":1}');
      const thinking = ["reasoning_content", "reasoning", "reasoning_details"]
        .flatMap((name) => assistant?.[name] === undefined ? [] : [[name, assistant[name]]]);
      assertEquals(Object.fromEntries(thinking), goesBackAs);
    });
  }
}

/** Bodies of errors outside the form that defined the style, with what they mean. */
const errors: readonly (readonly [PresetName, number, object, string])[] = [
  [
    "zai",
    429,
    { error: { code: "1302", message: "High concurrency usage of this API" } },
    "rate_limit_exceeded",
  ],
  [
    "qwen",
    400,
    {
      error: {
        code: "data_inspection_failed",
        message: "Input data may contain bad content",
        type: "data_inspection_failed",
        param: null,
      },
      request_id: "1",
    },
    "content_policy_violation",
  ],
  [
    "cloudflare",
    400,
    {
      errors: [{ message: "AiError: bad input", code: 5006 }],
      success: false,
      result: {},
      messages: [],
    },
    "invalid_request",
  ],
  [
    "volcengine",
    429,
    {
      error: {
        code: "AccountRateLimitExceeded",
        message: "slow down",
        param: "",
        type: "TooManyRequests",
      },
    },
    "rate_limit_exceeded",
  ],
  [
    "siliconflow",
    503,
    { code: 50505, message: "Model service overloaded. Please try again later.", data: null },
    "overloaded",
  ],
  [
    "ollama",
    404,
    { error: { message: "model 'm' not found", type: "not_found_error", param: null, code: null } },
    "model_not_found",
  ],
];

for (const [preset, status, body, code] of errors) {
  Deno.test(`${preset}: an error of status ${status} in its own form`, () => {
    assertEquals(decodeProviderError("chat", status, JSON.stringify(body)).code, code);
  });
}
