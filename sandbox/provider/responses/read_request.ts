import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { countPrompt } from "../prompt_tokens.ts";
import { commonFields, objects, textOf, tokenBound, toolOf } from "../read_fields.ts";
import {
  emptyTurn,
  type OutputFormat,
  SandboxRefusal,
  type SandboxRequest,
  type SandboxTool,
  type ToolChoice,
  type Turn,
} from "../request.ts";

const anyObject = { type: "object", properties: { answer: { type: "string" } } };

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

function toolsOf(body: JsonObject): { choice: ToolChoice; tools: readonly SandboxTool[] } {
  const all = objects(body["tools"]).flatMap((tool) => {
    if (tool["type"] === "function") return toolOf(tool["name"], tool["parameters"]);
    if (tool["type"] !== "custom") return [];
    return toolOf(tool["name"], {}).map((one) => ({ ...one, custom: true }));
  });
  const choice = body["tool_choice"];
  if (choice === "none") return { choice: { type: "none" }, tools: all };
  if (choice === "required") return { choice: { type: "any" }, tools: all };
  if (!isJsonObject(choice)) return { choice: { type: "auto" }, tools: all };
  if (choice["type"] === "allowed_tools") {
    const names = objects(choice["tools"]).map((tool) => tool["name"]);
    return {
      choice: { type: choice["mode"] === "required" ? "any" : "auto" },
      tools: all.filter((tool) => names.includes(tool.name)),
    };
  }
  const name = choice["name"];
  return {
    choice: typeof name === "string" ? { type: "tool", name } : { type: "auto" },
    tools: all,
  };
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
