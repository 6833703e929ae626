/**
 * What the facts of each preset make of the same requests: one line for each provider of the Chat style, so that a
 * change of a preset shows as a change of what its servers get.
 */
import { assert, assertEquals } from "../../support/assert.ts";
import { type PresetName, presetNames, presetOf } from "../../../core/catalog/presets/presets.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { convertRequest } from "../../../core/wire/convert/convert.ts";
import type { Style } from "../../../core/wire/contract/contract.ts";

function sent(preset: PresetName, from: Style, body: JsonObject): JsonObject {
  const conversion = convertRequest(from, "chat", body, {
    capabilities: presetOf(preset).facts?.chat ?? {},
    upstreamModel: "m",
    maxOutputTokens: 9_000,
  });
  assert(conversion.ok, preset);
  return conversion.request.body;
}

function inside(value: Json | undefined, ...path: readonly (string | number)[]): Json | undefined {
  return path.reduce<Json | undefined>(
    (found, name) =>
      Array.isArray(found)
        ? found.at(Number(name))
        : isJsonObject(found)
        ? found[String(name)]
        : undefined,
    value,
  );
}

const question = { role: "user", content: [{ type: "text", text: "Hi" }] };

/** Tools that must be called one at a time, with a schema that is followed strictly. */
const withTools: JsonObject = {
  model: "m",
  max_tokens: 5_000,
  tools: [{
    name: "f",
    strict: true,
    input_schema: {
      type: "object",
      properties: { a: { type: "string" } },
      required: ["a"],
      additionalProperties: false,
    },
  }],
  tool_choice: { type: "any", disable_parallel_tool_use: true },
  messages: [{
    role: "user",
    content: [{ type: "text", text: "Hi", cache_control: { type: "ephemeral" } }],
  }],
};

/** An answer by schema, with much thinking. */
const bySchema: JsonObject = {
  model: "m",
  max_tokens: 5_000,
  thinking: { type: "adaptive" },
  output_config: {
    effort: "medium",
    format: { type: "json_schema", schema: { type: "object", properties: {} } },
  },
  messages: [question],
};

/** An answer whose beginning is given. */
const begun: JsonObject = {
  model: "m",
  max_tokens: 9,
  messages: [question, { role: "assistant", content: "{" }],
};

/** Fields that only the vendor of the style defined. */
const vendorFields: JsonObject = {
  model: "m",
  input: "Hi",
  metadata: { a: "b" },
  prompt_cache_key: "k",
  prompt_cache_retention: "24h",
  safety_identifier: "s",
  service_tier: "flex",
  user: "u",
  text: { verbosity: "low" },
};

function word(value: Json | undefined): string {
  return value === undefined || value === null ? "-" : String(value);
}

/** One line: cap, choice, parallel, strict, schema, effort, cache marks, beginning, vendor fields. */
function lineOf(preset: PresetName): string {
  const tools = sent(preset, "messages", withTools);
  const schema = sent(preset, "messages", bySchema);
  const prefilled = inside(sent(preset, "messages", begun), "messages", -1);
  const beginning = sent(preset, "messages", begun);
  const shared = sent(preset, "responses", vendorFields);
  return [
    preset,
    tools["max_tokens"] === undefined ? "max_completion_tokens" : "max_tokens",
    typeof tools["tool_choice"] === "string" ? tools["tool_choice"] : word(undefined),
    tools["parallel_tool_calls"] === false ? "one" : "-",
    inside(tools, "tools", 0, "function", "strict") === true ? "strict" : "-",
    word(inside(schema, "response_format", "type")),
    word(schema["reasoning_effort"]),
    inside(tools, "messages", -1, "content", 0, "cache_control") === undefined ? "-" : "marks",
    inside(prefilled, "prefix") === true
      ? "prefix"
      : beginning["continue_final_message"] === true
      ? "continue"
      : "-",
    Object.keys(shared).filter((name) =>
      vendorFields[name] !== undefined && !["model", "input"].includes(name)
    ).toSorted().join(",") || "-",
  ].join(" ");
}

const lines = `
openai max_completion_tokens required one strict json_schema medium - - prompt_cache_key,prompt_cache_retention,safety_identifier,service_tier,user
google max_completion_tokens required one strict json_schema medium - - -
mistral max_tokens required one strict json_schema medium - prefix -
xai max_completion_tokens required one strict json_schema medium - - -
groq max_completion_tokens required one strict json_schema medium - - service_tier,user
cerebras max_completion_tokens required one strict json_schema medium - - prompt_cache_key,user
sambanova max_tokens required one strict json_schema medium - - -
cohere max_tokens required one strict json_schema high - - -
nvidia max_tokens required - - json_schema medium - - -
azure max_completion_tokens required one strict json_schema medium - - prompt_cache_key,prompt_cache_retention,safety_identifier,service_tier,user
azure-deployments max_completion_tokens required one strict json_schema medium - - prompt_cache_key,prompt_cache_retention,safety_identifier,service_tier,user
vertex max_completion_tokens required one strict json_schema medium - - -
bedrock max_completion_tokens required one strict json_schema medium - - -
bedrock-key max_completion_tokens required one strict json_schema medium - - -
openrouter max_tokens required one strict json_schema medium marks - -
together max_tokens required one strict json_schema medium - - -
fireworks max_tokens required one strict json_schema medium - - prompt_cache_key,user
deepinfra max_tokens required one strict json_schema medium - - prompt_cache_key
novita max_tokens required one strict json_schema medium - - -
nebius max_tokens required one strict json_schema medium - - -
baseten max_tokens required one strict json_schema medium - - -
huggingface max_tokens required one strict json_schema medium - - -
vercel max_completion_tokens required one strict json_schema medium - - -
cloudflare max_tokens required one strict json_schema medium - - -
digitalocean max_completion_tokens required one strict json_schema medium - - prompt_cache_retention
scaleway max_tokens required one strict json_schema medium - - -
ovhcloud max_tokens required one strict json_schema medium - - -
friendli max_tokens required one strict json_schema medium - - -
chutes max_tokens required one strict json_schema medium - - -
poe max_tokens required one strict json_schema medium - - -
aihubmix max_tokens required one strict json_schema medium - - -
deepseek max_tokens required one strict json_object low - - -
moonshot max_tokens required one strict json_schema medium - - prompt_cache_key
moonshot-cn max_tokens required one strict json_schema medium - - prompt_cache_key
zai max_tokens auto one strict json_object medium - - -
zhipu max_tokens auto one strict json_object medium - - -
qwen max_tokens required one strict json_schema medium marks - -
qwen-cn max_tokens required one strict json_schema medium marks - -
minimax max_tokens required one strict json_schema medium - - -
minimax-cn max_tokens required one strict json_schema medium - - -
siliconflow max_tokens required one strict json_schema medium - - -
siliconflow-cn max_tokens required one strict json_schema medium - - -
volcengine max_tokens required one strict json_schema medium - - -
stepfun max_tokens required one strict json_schema medium - - -
modelscope max_tokens required one strict json_schema medium - - -
xiaomi max_tokens required one strict json_schema medium - - -
greennode max_tokens required one strict json_schema medium - - -
fpt max_tokens required one strict json_schema medium - - -
vllm max_tokens required one strict json_schema medium - continue -
sglang max_tokens required one strict json_schema medium - continue -
ollama max_tokens auto one strict json_schema medium - - -
llama-cpp max_tokens required one strict json_schema medium - - -
lm-studio max_tokens required one strict json_schema medium - - -
`;

Deno.test("the facts of each preset shape the same requests as the table says", () => {
  const chat = presetNames.filter((name) => presetOf(name).styles.includes("chat"));
  const found = chat.map(lineOf);
  assertEquals(found, lines.trim().split("\n"));
});
