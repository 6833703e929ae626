/** Reads a Chat request into a conversation (wire notes, table B). */
import { isJsonObject, type Json, type JsonObject } from "../../json.ts";
import {
  readEffort,
  readEndUser,
  readOutputFormat,
  readServiceTier,
  readTemperatureAndTopP,
} from "../common_fields.ts";
import type {
  Conversation,
  Extra,
  OutputFormat,
  ReasoningWish,
  Sampling,
} from "../conversation/mod.ts";
import {
  invalid,
  optionalBoolean,
  optionalCount,
  optionalList,
  optionalObject,
  optionalString,
  refuse,
  requiredObject,
  requiredString,
} from "../fields.ts";
import { decodeChatMessages } from "./decode_messages.ts";
import { decodeChatTools } from "./decode_tools.ts";

/** Fields that are read below, by name. Anything else becomes an extra. */
const known = new Set([
  "model",
  "messages",
  "max_completion_tokens",
  "max_tokens",
  "temperature",
  "top_p",
  "top_k",
  "stop",
  "n",
  "best_of",
  "logprobs",
  "modalities",
  "audio",
  "stream",
  "stream_options",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "functions",
  "function_call",
  "response_format",
  "reasoning_effort",
  "reasoning",
  "thinking",
  "user",
  "safety_identifier",
  "service_tier",
]);

export function decodeChatRequest(body: JsonObject): Conversation {
  refuseUncarried(body);
  const reasoning = decodeReasoning(body);
  const output = decodeFormat(body);
  const maxTokens = optionalCount(body, "max_completion_tokens", "max_completion_tokens", 1) ??
    optionalCount(body, "max_tokens", "max_tokens", 1);
  const options = optionalObject(body, "stream_options", "stream_options");
  const tier = readServiceTier(body);
  const messages = optionalList(body, "messages", "messages") ?? invalid("messages", "is required");
  return {
    from: "chat",
    model: requiredString(body, "model", "model"),
    ...decodeChatMessages(messages),
    ...decodeChatTools(body),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    sampling: decodeSampling(body),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(output === undefined ? {} : { output }),
    stream: optionalBoolean(body, "stream", "stream") ?? false,
    streamUsage: options?.include_usage === true,
    ...readEndUser(body),
    ...tier,
    extras: decodeExtras(body),
    notes: [],
  };
}

/** What clients rely on and no other style can give. */
function refuseUncarried(body: JsonObject): void {
  for (const field of ["n", "best_of"]) {
    if ((optionalCount(body, field, field, 1) ?? 1) > 1) {
      refuse(field, "this model gives one answer per call");
    }
  }
  if (body.logprobs === true) refuse("logprobs", "this model gives no log probabilities");
  const modalities = optionalList(body, "modalities", "modalities") ?? [];
  if (modalities.includes("audio")) refuse("modalities", "this model does not speak");
  if (isJsonObject(body.audio)) refuse("audio", "this model does not speak");
}

function decodeSampling(body: JsonObject): Sampling {
  const shared = readTemperatureAndTopP(body);
  const topK = optionalCount(body, "top_k", "top_k");
  const stop = decodeStop(body.stop);
  return {
    ...shared,
    ...(topK === undefined ? {} : { topK }),
    ...(stop.length === 0 ? {} : { stop }),
  };
}

function decodeStop(stop: Json | undefined): string[] {
  if (stop === undefined || stop === null) return [];
  const list = Array.isArray(stop) ? stop : [stop];
  return list.map((value) =>
    typeof value === "string" ? value : invalid("stop", "must be a string or a list of strings")
  );
}

function decodeReasoning(body: JsonObject): ReasoningWish | undefined {
  const word = optionalString(body, "reasoning_effort", "reasoning_effort");
  if (word !== undefined) {
    return { effort: readEffort(word, "reasoning_effort"), path: "reasoning_effort" };
  }
  return decodeReasoningObject(body) ?? decodeThinking(body);
}

/** The form that aggregators give to the same wish. */
function decodeReasoningObject(body: JsonObject): ReasoningWish | undefined {
  const reasoning = optionalObject(body, "reasoning", "reasoning");
  if (reasoning === undefined) return undefined;
  const effort = optionalString(reasoning, "effort", "reasoning.effort");
  if (effort !== undefined) {
    return { effort: readEffort(effort, "reasoning.effort"), path: "reasoning" };
  }
  const budgetTokens = optionalCount(reasoning, "max_tokens", "reasoning.max_tokens", 1);
  if (budgetTokens !== undefined) return { mode: "on", budgetTokens, path: "reasoning" };
  if (reasoning.enabled === false) return { mode: "off", path: "reasoning" };
  return reasoning.enabled === true ? { mode: "adaptive", path: "reasoning" } : undefined;
}

/** The form that several other vendors of this style give to it. */
function decodeThinking(body: JsonObject): ReasoningWish | undefined {
  const path = "thinking";
  const thinking = optionalObject(body, path, path);
  if (thinking?.type === "disabled") return { mode: "off", path };
  if (thinking?.type !== "enabled") return undefined;
  const budgetTokens = optionalCount(thinking, "budget_tokens", `${path}.budget_tokens`, 1);
  return budgetTokens === undefined
    ? { mode: "adaptive", path }
    : { mode: "on", budgetTokens, path };
}

function decodeFormat(body: JsonObject): OutputFormat | undefined {
  const path = "response_format";
  return readOutputFormat(
    optionalObject(body, path, path),
    path,
    (format) => decodeSchema(requiredObject(format.json_schema, `${path}.json_schema`), path),
  );
}

function decodeSchema(given: JsonObject, path: string): OutputFormat {
  const name = optionalString(given, "name", `${path}.json_schema.name`);
  const description = optionalString(given, "description", `${path}.json_schema.description`);
  const schema = optionalObject(given, "schema", `${path}.json_schema.schema`);
  const strict = optionalBoolean(given, "strict", `${path}.json_schema.strict`);
  if (schema === undefined) return { type: "json_object", path };
  return {
    type: "json_schema",
    path,
    schema,
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(strict === undefined ? {} : { strict }),
  };
}

/** Values that ask for nothing: they change no answer when they are left out. */
function asksForNothing(name: string, value: Json): boolean {
  switch (name) {
    case "store":
      return value === false;
    case "frequency_penalty":
    case "presence_penalty":
    case "top_logprobs":
      return value === 0;
    default:
      return isJsonObject(value) && Object.keys(value).length === 0;
  }
}

function decodeExtras(body: JsonObject): Extra[] {
  const extras: Extra[] = [];
  for (const [name, value] of Object.entries(body)) {
    if (known.has(name) || value === undefined || value === null) continue;
    const otherwise = asksForNothing(name, value) ? "ignore" : "note";
    extras.push({ name, path: name, value, otherwise });
  }
  return extras;
}
