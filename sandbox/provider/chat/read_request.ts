import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { countPrompt } from "../base/prompt_tokens.ts";
import {
  anyObject,
  commonFields,
  lastTurnStart,
  objects,
  type OfferedTools,
  offeredTools,
  requiredList,
  stopList,
  textOf,
  tokenBound,
  toolOf,
} from "../base/read_fields.ts";
import {
  emptyTurn,
  type OutputFormat,
  type SandboxRequest,
  type SandboxTool,
  type Turn,
} from "../base/request.ts";

/** Reads a Chat Completions request. @throws {SandboxRefusal} */
export function readChatRequest(body: JsonObject): SandboxRequest {
  const messages = requiredList(body, "messages").filter(isJsonObject);
  const isSystem = (message: JsonObject) =>
    message["role"] === "system" || message["role"] === "developer";
  const streamOptions = body["stream_options"];
  const { choice, tools } = toolsOf(body);
  return {
    ...commonFields(body, lastTurn(messages)),
    includeUsage: isJsonObject(streamOptions) && streamOptions["include_usage"] === true,
    choices: tokenBound(body, "n", 1) ?? 1,
    tools,
    toolChoice: choice,
    parallelTools: body["parallel_tool_calls"] !== false,
    maxTokens: tokenBound(body, "max_completion_tokens", 1) ?? tokenBound(body, "max_tokens", 1) ??
      Infinity,
    stopSequences: stopList(body["stop"]),
    reasoning: wantsReasoning(body),
    format: formatOf(body["response_format"]),
    prompt: countPrompt(
      body["tools"] ?? [],
      messages.filter(isSystem),
      messages.filter((message) => !isSystem(message)),
    ),
  };
}

function wantsReasoning(body: JsonObject): boolean {
  const effort = body["reasoning_effort"];
  if (typeof effort === "string") return effort !== "none";
  // Some vendors have this form of the same setting.
  const reasoning = body["reasoning"];
  return isJsonObject(reasoning) && reasoning["enabled"] !== false &&
    reasoning["effort"] !== "none";
}

function lastTurn(messages: readonly JsonObject[]): Turn {
  const turn = emptyTurn();
  for (const message of messages.slice(lastTurnStart(messages))) {
    const content = message["content"];
    if (message["role"] === "tool" || message["role"] === "function") {
      turn.toolResults.push(textOf(content));
    } else if (message["role"] === "user") {
      const text = textOf(content);
      if (text !== "") turn.texts.push(text);
      turn.attachments += objects(content).filter((part) => part["type"] !== "text").length;
    }
  }
  return turn;
}

function toolsOf(body: JsonObject): OfferedTools {
  const choice = body["tool_choice"];
  const allowed = isJsonObject(choice) ? choice["allowed_tools"] : undefined;
  return offeredTools(objects(body["tools"]).flatMap(toolFrom), choice, allowed, nameOf);
}

function nameOf(tool: JsonObject): Json | undefined {
  const inner = tool["function"] ?? tool["custom"];
  return isJsonObject(inner) ? inner["name"] : undefined;
}

function toolFrom(tool: JsonObject): readonly SandboxTool[] {
  const declared = tool["function"];
  if (isJsonObject(declared)) return toolOf(declared["name"], declared["parameters"]);
  const custom = tool["custom"];
  if (!isJsonObject(custom)) return [];
  return toolOf(custom["name"], {}).map((one) => ({ ...one, custom: true }));
}

function formatOf(format: Json | undefined): OutputFormat {
  if (!isJsonObject(format)) return { type: "text" };
  if (format["type"] === "json_object") return { type: "json", schema: anyObject };
  const wrapped = format["json_schema"];
  if (format["type"] !== "json_schema" || !isJsonObject(wrapped)) return { type: "text" };
  const schema = wrapped["schema"];
  return { type: "json", schema: isJsonObject(schema) ? schema : anyObject };
}
