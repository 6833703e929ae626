import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { countPrompt } from "../base/prompt_tokens.ts";
import {
  anyObject,
  commonFields,
  objects,
  type OfferedTools,
  offeredTools,
  textOf,
  tokenBound,
  toolOf,
} from "../base/read_fields.ts";
import {
  emptyTurn,
  type OutputFormat,
  SandboxRefusal,
  type SandboxRequest,
  type Turn,
} from "../base/request.ts";

/** Reads a Responses request. @throws {SandboxRefusal} */
export function readResponsesRequest(body: JsonObject): SandboxRequest {
  const items = itemsOf(body["input"]);
  const isSystem = (item: JsonObject) => item["role"] === "system" || item["role"] === "developer";
  const reasoning = body["reasoning"];
  const { choice, tools } = toolsOf(body);
  return {
    ...commonFields(body, lastTurn(items)),
    includeUsage: true,
    choices: 1,
    tools,
    toolChoice: choice,
    parallelTools: body["parallel_tool_calls"] !== false,
    maxTokens: tokenBound(body, "max_output_tokens", 1) ?? Infinity,
    stopSequences: [],
    reasoning: isJsonObject(reasoning) && reasoning["effort"] !== "none",
    format: formatOf(body["text"]),
    prompt: countPrompt(
      body["tools"] ?? [],
      [body["instructions"] ?? "", ...items.filter(isSystem)],
      items.filter((item) => !isSystem(item)),
    ),
  };
}

function itemsOf(input: Json | undefined): readonly JsonObject[] {
  if (typeof input === "string" && input !== "") return [{ role: "user", content: input }];
  const items = objects(input);
  if (items.length === 0) throw new SandboxRefusal("input: must be a text or a list of items");
  return items;
}

function lastTurn(items: readonly JsonObject[]): Turn {
  const turn = emptyTurn();
  const isAnswer = (item: JsonObject) =>
    item["role"] === "assistant" || item["type"] === "function_call" ||
    item["type"] === "custom_tool_call" || item["type"] === "reasoning";
  for (const item of items.slice(items.findLastIndex(isAnswer) + 1)) {
    if (item["type"] === "function_call_output" || item["type"] === "custom_tool_call_output") {
      turn.toolResults.push(textOf(item["output"]));
    } else if (item["role"] === "user") {
      const text = textOf(item["content"]);
      if (text !== "") turn.texts.push(text);
      turn.attachments += objects(item["content"])
        .filter((part) => part["type"] !== "input_text").length;
    }
  }
  return turn;
}

function toolsOf(body: JsonObject): OfferedTools {
  const tools = objects(body["tools"]).flatMap((tool) => {
    if (tool["type"] === "function") return toolOf(tool["name"], tool["parameters"]);
    if (tool["type"] !== "custom") return [];
    return toolOf(tool["name"], {}).map((one) => ({ ...one, custom: true }));
  });
  const choice = body["tool_choice"];
  const allowed = isJsonObject(choice) && choice["type"] === "allowed_tools" ? choice : undefined;
  return offeredTools(tools, choice, allowed, (tool) => tool["name"]);
}

function formatOf(text: Json | undefined): OutputFormat {
  const format = isJsonObject(text) ? text["format"] : undefined;
  if (!isJsonObject(format)) return { type: "text" };
  if (format["type"] === "json_object") return { type: "json", schema: anyObject };
  if (format["type"] !== "json_schema") return { type: "text" };
  return {
    type: "json",
    schema: isJsonObject(format["schema"]) ? format["schema"] : anyObject,
  };
}
