/**
 * Answers Responses requests in the sandbox.
 *
 * - Folder `sandbox/provider/responses/`: Responses in the sandbox.
 * - In: the JSON body of a request.
 * - Out: a reply, whole or as events.
 * - Never: uses the conversion of `core/wire/`: the sandbox has its own reader and writer.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { compose } from "../base/compose.ts";
import { jsonReply, type Reply, type StreamEvent, streamReply } from "../base/reply.ts";
import { troubleReply, vendorErrorBody } from "../base/vendor_error.ts";
import { compactedAnswer, responsesAnswer, responsesEvents } from "./write_answer.ts";
import { countPrompt } from "../base/tokens.ts";
import {
  anyObject,
  commonFields,
  emptyTurn,
  objects,
  type OfferedTools,
  offeredTools,
  type OutputFormat,
  SandboxRefusal,
  type SandboxRequest,
  type SandboxTool,
  textOf,
  tokenBound,
  toolOf,
  type Turn,
} from "../base/request.ts";

/** Reads a Responses request. @throws {SandboxRefusal} */
function readResponsesRequest(body: JsonObject): SandboxRequest {
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

function toolsAt(tool: JsonObject): readonly SandboxTool[] {
  if (tool["type"] === "function") return toolOf(tool["name"], tool["parameters"]);
  if (tool["type"] !== "custom") return [];
  return toolOf(tool["name"], {}).map((one) => ({ ...one, custom: true }));
}

function toolsOf(body: JsonObject): OfferedTools {
  const tools = objects(body["tools"]).flatMap((tool) => {
    const { type, name: namespace } = tool;
    if (type !== "namespace" || typeof namespace !== "string") return toolsAt(tool);
    return objects(tool["tools"]).flatMap(toolsAt).map((one) => ({ ...one, namespace }));
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

const errorEvent: StreamEvent = {
  event: "error",
  data: JSON.stringify({
    type: "error",
    sequence_number: 0,
    ...vendorErrorBody("chat", 529),
  }),
  delta: false,
};

/** Answers `POST /v1/responses`. @throws {SandboxRefusal} */
export function answerResponses(body: JsonObject, nowSeconds: number): Reply {
  const request = readResponsesRequest(body);
  const { triggers } = request;
  const trouble = troubleReply("chat", triggers);
  if (trouble !== undefined) return trouble;
  const answer = compose(request);
  if (!request.stream) {
    if (triggers.errorIn200 || triggers.errorAfter !== undefined) {
      const status = triggers.errorIn200 ? 200 : 503;
      return jsonReply(status, vendorErrorBody("chat", 503), triggers);
    }
    return jsonReply(200, responsesAnswer(request, answer, nowSeconds), triggers);
  }
  const events = triggers.errorIn200 ? [errorEvent] : responsesEvents(request, answer, nowSeconds);
  return streamReply(events, triggers, errorEvent);
}

/** Answers `POST /v1/responses/compact`. @throws {SandboxRefusal} */
export function answerCompact(body: JsonObject, nowSeconds: number): Reply {
  const request = readResponsesRequest(body);
  const { triggers } = request;
  const trouble = troubleReply("chat", triggers);
  if (trouble !== undefined) return trouble;
  const answer = compactedAnswer(request, compose(request), body["input"], nowSeconds);
  return jsonReply(200, answer, triggers);
}
