import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { countPrompt } from "../prompt_tokens.ts";
import {
  commonFields,
  objects,
  requiredList,
  stopList,
  textOf,
  tokenBound,
  toolOf,
} from "../read_fields.ts";
import {
  emptyTurn,
  type OutputFormat,
  type SandboxRequest,
  type SandboxTool,
  type ToolChoice,
  type Turn,
} from "../request.ts";

/** Schema of the answer to `json_object`, which names none. */
const anyObject = { type: "object", properties: { answer: { type: "string" } } };

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
  // A vendor's own form of the same request.
  const reasoning = body["reasoning"];
  return isJsonObject(reasoning) && reasoning["enabled"] !== false &&
    reasoning["effort"] !== "none";
}

function lastTurn(messages: readonly JsonObject[]): Turn {
  const turn = emptyTurn();
  const lastAnswer = messages.findLastIndex((message) => message["role"] === "assistant");
  // A trailing assistant message is followed by a new answer, about the turn before it.
  const start = lastAnswer === messages.length - 1
    ? messages.slice(0, lastAnswer).findLastIndex((message) => message["role"] === "assistant")
    : lastAnswer;
  for (const message of messages.slice(start + 1)) {
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

function toolsOf(body: JsonObject): { choice: ToolChoice; tools: readonly SandboxTool[] } {
  const all = objects(body["tools"]).flatMap(toolFrom);
  const choice: Json | undefined = body["tool_choice"];
  if (choice === "none") return { choice: { type: "none" }, tools: all };
  if (choice === "required") return { choice: { type: "any" }, tools: all };
  if (!isJsonObject(choice)) return { choice: { type: "auto" }, tools: all };
  const allowed = choice["allowed_tools"];
  if (isJsonObject(allowed)) {
    const names = objects(allowed["tools"]).map(nameOf);
    return {
      choice: { type: allowed["mode"] === "required" ? "any" : "auto" },
      tools: all.filter((tool) => names.includes(tool.name)),
    };
  }
  const name = nameOf(choice);
  return {
    choice: typeof name === "string" ? { type: "tool", name } : { type: "auto" },
    tools: all,
  };
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
