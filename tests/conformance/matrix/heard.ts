/** What a provider reads in a request of its style. */
import type { ProviderStyle } from "../../../core/wire/contract/contract.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { list } from "../clients.ts";

/** A request as a provider understands it. */
export interface Heard {
  readonly tools: readonly Json[];
  readonly choice: "any" | "f" | "none" | undefined;
  readonly oneAtATime: boolean;
  readonly schema: Json;
  readonly thinks: boolean;
  readonly calls: readonly string[];
  readonly bounds: readonly (Json | undefined)[];
}

const object = (value: Json | undefined): JsonObject => isJsonObject(value) ? value : {};
const called = (name: Json | undefined, input: Json | undefined) =>
  `${String(name)} ${typeof input === "string" ? input : JSON.stringify(input)}`;

function choiceOf(type: Json | undefined, name: Json | undefined): Heard["choice"] {
  if (name !== undefined) return name === "f" ? "f" : undefined;
  return type === "any" || type === "required" || type === "ANY"
    ? "any"
    : type === "none" || type === "NONE"
    ? "none"
    : undefined;
}

/** Reads a request of each style that providers speak. */
export const readers: Readonly<Record<ProviderStyle, (body: JsonObject) => Heard>> = {
  messages: (body) => {
    const choice = object(body["tool_choice"]);
    const format = object(object(body["output_config"])["format"]);
    const blocks = list(body["messages"]).flatMap((message) => list(message["content"]));
    return {
      tools: list(body["tools"]).map(({ name }) => name ?? null),
      choice: choiceOf(choice["type"], choice["name"]),
      oneAtATime: choice["disable_parallel_tool_use"] === true,
      schema: format["schema"] ?? null,
      thinks: ["adaptive", "enabled"].includes(String(object(body["thinking"])["type"])),
      calls: blocks.filter(({ type }) => type === "tool_use")
        .map(({ name, input }) => called(name, input)),
      bounds: [body["max_tokens"], listOf(body["stop_sequences"]), body["temperature"]],
    };
  },
  chat: (body) => {
    const { tool_choice: choice } = body;
    const format = object(object(body["response_format"])["json_schema"]);
    const calls = list(body["messages"]).flatMap((message) => list(message["tool_calls"]));
    return {
      tools: list(body["tools"]).map((tool) => object(tool["function"])["name"] ?? null),
      choice: isJsonObject(choice)
        ? choiceOf("tool", object(choice["function"])["name"])
        : choiceOf(choice, undefined),
      oneAtATime: body["parallel_tool_calls"] === false,
      schema: format["schema"] ?? null,
      thinks: body["reasoning_effort"] === "high",
      calls: calls.map((call) => {
        const { name, arguments: input } = object(call["function"]);
        return called(name, input);
      }),
      bounds: [body["max_completion_tokens"], listOf(body["stop"]), body["temperature"]],
    };
  },
  responses: (body) => {
    const { tool_choice: choice } = body;
    const format = object(object(body["text"])["format"]);
    return {
      tools: list(body["tools"]).map(({ name }) => name ?? null),
      choice: isJsonObject(choice) ? choiceOf("tool", choice["name"]) : choiceOf(choice, undefined),
      oneAtATime: body["parallel_tool_calls"] === false,
      schema: format["schema"] ?? null,
      thinks: object(body["reasoning"])["effort"] === "high",
      calls: list(body["input"]).filter(({ type }) => type === "function_call")
        .map(({ name, arguments: input }) => called(name, input)),
      bounds: [body["max_output_tokens"], null, body["temperature"]],
    };
  },
  gemini: (body) => {
    const calling = object(object(body["toolConfig"])["functionCallingConfig"]);
    const { allowedFunctionNames: names } = calling;
    const config = object(body["generationConfig"]);
    const parts = list(body["contents"]).flatMap((content) => list(content["parts"]));
    const declared = list(body["tools"]).flatMap((tool) => list(tool["functionDeclarations"]));
    return {
      tools: declared.map(({ name }) => name ?? null),
      choice: choiceOf(calling["mode"], Array.isArray(names) ? names[0] : undefined),
      oneAtATime: false,
      schema: config["responseJsonSchema"] ?? config["responseSchema"] ?? null,
      thinks: object(config["thinkingConfig"])["thinkingLevel"] === "HIGH",
      calls: parts.flatMap(({ functionCall: made }) =>
        isJsonObject(made) ? [called(made["name"], made["args"])] : []
      ),
      bounds: [config["maxOutputTokens"], listOf(config["stopSequences"]), config["temperature"]],
    };
  },
  converse: (body) => {
    const config = object(body["toolConfig"]);
    const choice = object(config["toolChoice"]);
    const sampling = object(body["inferenceConfig"]);
    const output = object(body["outputConfig"]);
    const format = object(object(object(output["textFormat"])["structure"])["jsonSchema"]);
    const blocks = list(body["messages"]).flatMap((message) => list(message["content"]));
    const { schema } = format;
    const more = object(body["additionalModelRequestFields"]);
    return {
      tools: list(config["tools"]).map((tool) => object(tool["toolSpec"])["name"] ?? null),
      choice: choiceOf(Object.keys(choice)[0], object(choice["tool"])["name"]),
      oneAtATime: false,
      schema: typeof schema === "string" ? JSON.parse(schema) : null,
      thinks: object(more["thinking"])["type"] === "adaptive",
      calls: blocks.flatMap(({ toolUse }) =>
        isJsonObject(toolUse) ? [called(toolUse["name"], toolUse["input"])] : []
      ),
      bounds: [sampling["maxTokens"], listOf(sampling["stopSequences"]), sampling["temperature"]],
    };
  },
};

function listOf(value: Json | undefined): Json {
  return Array.isArray(value) ? value : null;
}
