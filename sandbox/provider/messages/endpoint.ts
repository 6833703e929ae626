/**
 * Answers Messages requests in the sandbox.
 *
 * - Folder `sandbox/provider/messages/`: Messages in the sandbox, with its token
 *   counter.
 * - In: the JSON body of a request.
 * - Out: a reply, whole or as events, or a count of tokens.
 * - Never: uses the conversion of `core/wire/`: the sandbox has its own reader and writer.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { compose } from "../base/compose.ts";
import { jsonReply, type Reply, type StreamEvent, streamReply } from "../base/reply.ts";
import { troubleReply, vendorErrorBody } from "../base/vendor_error.ts";
import { messagesAnswer, messagesEvents } from "./write_answer.ts";
import { countPrompt } from "../base/tokens.ts";
import {
  commonFields,
  emptyTurn,
  lastTurnStart,
  objects,
  type OutputFormat,
  type PromptTokens,
  requiredList,
  SandboxRefusal,
  type SandboxRequest,
  stopList,
  textOf,
  tokenBound,
  type ToolChoice,
  toolOf,
  type Turn,
} from "../base/request.ts";

/** Reads a Messages request. @throws {SandboxRefusal} */
function readMessagesRequest(body: JsonObject): SandboxRequest {
  const maxTokens = tokenBound(body, "max_tokens", 0);
  if (maxTokens === undefined) throw new SandboxRefusal("max_tokens: Field required");
  const turn = lastTurn(requiredList(body, "messages"));
  const thinking = body["thinking"];
  const choice = body["tool_choice"];
  return {
    ...commonFields(body, turn),
    includeUsage: true,
    choices: 1,
    tools: objects(body["tools"])
      // Typed tools of the vendor have no schema; the sandbox does not run them.
      .filter((tool) => tool["type"] === undefined || tool["type"] === "custom")
      .flatMap((tool) => toolOf(tool["name"], tool["input_schema"])),
    toolChoice: toolChoiceOf(choice),
    parallelTools: !(isJsonObject(choice) && choice["disable_parallel_tool_use"] === true),
    maxTokens,
    stopSequences: stopList(body["stop_sequences"]),
    reasoning: isJsonObject(thinking) &&
      (thinking["type"] === "enabled" || thinking["type"] === "adaptive"),
    format: formatOf(body),
    prompt: countMessagesPrompt(body),
  };
}

/** Counts the prompt tokens of a Messages request, also for `count_tokens`. */
function countMessagesPrompt(body: JsonObject): PromptTokens {
  return countPrompt(body["tools"] ?? [], body["system"] ?? "", body["messages"] ?? []);
}

function lastTurn(messages: readonly Json[]): Turn {
  const turn = emptyTurn();
  const list = messages.filter(isJsonObject);
  for (const message of list.slice(lastTurnStart(list))) {
    if (message["role"] !== "user") continue;
    if (typeof message["content"] === "string") turn.texts.push(message["content"]);
    for (const block of objects(message["content"])) addBlock(turn, block);
  }
  return turn;
}

function addBlock(turn: Turn, block: JsonObject): void {
  switch (block["type"]) {
    case "text":
      turn.texts.push(String(block["text"] ?? ""));
      break;
    case "image":
    case "document":
      turn.attachments++;
      break;
    case "tool_result":
      turn.toolResults.push(textOf(block["content"]));
      turn.attachments += objects(block["content"])
        .filter((part) => part["type"] === "image" || part["type"] === "document").length;
      break;
  }
}

function toolChoiceOf(choice: Json | undefined): ToolChoice {
  if (!isJsonObject(choice)) return { type: "auto" };
  const { type, name } = choice;
  if (type === "tool" && typeof name === "string") return { type, name };
  return { type: type === "any" || type === "none" ? type : "auto" };
}

function formatOf(body: JsonObject): OutputFormat {
  const config = body["output_config"];
  const format = isJsonObject(config) ? config["format"] : body["output_format"];
  if (!isJsonObject(format) || !isJsonObject(format["schema"])) return { type: "text" };
  return { type: "json", schema: format["schema"] };
}

const errorEvent: StreamEvent = {
  event: "error",
  data: JSON.stringify(vendorErrorBody("messages", 529)),
  delta: false,
};

/** Answers `POST /v1/messages`. @throws {SandboxRefusal} */
export function answerMessages(body: JsonObject): Reply {
  const request = readMessagesRequest(body);
  const { triggers } = request;
  const trouble = troubleReply("messages", triggers);
  if (trouble !== undefined) return trouble;
  const answer = compose(request);
  if (!request.stream) {
    if (triggers.errorIn200 || triggers.errorAfter !== undefined) {
      const status = triggers.errorIn200 ? 200 : 529;
      return jsonReply(status, vendorErrorBody("messages", 529), triggers);
    }
    return jsonReply(200, messagesAnswer(request, answer), triggers);
  }
  const events = triggers.errorIn200 ? [errorEvent] : messagesEvents(request, answer);
  return streamReply(events, triggers, errorEvent);
}

/** Answers `POST /v1/messages/count_tokens`, with the count that usage reports. @throws {SandboxRefusal} */
export function answerCountTokens(body: JsonObject): Reply {
  const request = readMessagesRequest({ ...body, max_tokens: 1 });
  const trouble = troubleReply("messages", request.triggers);
  if (trouble !== undefined) return trouble;
  const { input, cacheRead, cacheWrite } = countMessagesPrompt(body);
  return jsonReply(200, { input_tokens: input + cacheRead + cacheWrite }, request.triggers);
}
