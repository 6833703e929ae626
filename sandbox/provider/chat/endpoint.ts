/**
 * Answers Chat Completions requests in the sandbox.
 *
 * - Folder `sandbox/provider/chat/`: Chat Completions in the sandbox.
 * - In: the JSON body of a request.
 * - Out: a reply, whole or as events.
 * - Never: uses the conversion of `core/wire/`: the sandbox has its own reader and writer.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { maxChoices } from "../../../core/wire/contract/limits.ts";
import { compose } from "../base/compose.ts";
import { jsonReply, type Reply, type StreamEvent, streamReply } from "../base/reply.ts";
import {
  anyObject,
  commonFields,
  emptyTurn,
  lastTurnStart,
  objects,
  type OfferedTools,
  offeredTools,
  type OutputFormat,
  requiredList,
  SandboxRefusal,
  type SandboxRequest,
  type SandboxTool,
  stopList,
  textOf,
  tokenBound,
  toolOf,
  type Turn,
} from "../base/request.ts";
import { troubleReply, vendorErrorBody } from "../base/vendor_error.ts";
import { chatAnswer, chatEvents } from "./write_answer.ts";
import { countPrompt } from "../base/tokens.ts";

/** Reads a Chat Completions request. @throws {SandboxRefusal} */
function readChatRequest(body: JsonObject): SandboxRequest {
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

const errorEvent: StreamEvent = {
  data: JSON.stringify(vendorErrorBody("chat", 529)),
  delta: false,
};

/** Answers `POST /v1/chat/completions`. @throws {SandboxRefusal} */
export function answerChat(body: JsonObject, nowSeconds: number): Reply {
  const request = readChatRequest(body);
  const { triggers } = request;
  if (request.choices > maxChoices) {
    throw new SandboxRefusal(`n: must be at most ${maxChoices}`);
  }
  const trouble = troubleReply("chat", triggers);
  if (trouble !== undefined) return trouble;
  const answers = Array.from({ length: request.choices }, (_, choice) => compose(request, choice));
  if (!request.stream) {
    if (triggers.errorIn200 || triggers.errorAfter !== undefined) {
      const status = triggers.errorIn200 ? 200 : 503;
      return jsonReply(status, vendorErrorBody("chat", 503), triggers);
    }
    return jsonReply(200, chatAnswer(request, answers, nowSeconds), triggers);
  }
  const events = triggers.errorIn200 ? [errorEvent] : chatEvents(request, answers, nowSeconds);
  return streamReply(events, triggers, errorEvent);
}
