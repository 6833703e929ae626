import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { countPrompt } from "../base/prompt_tokens.ts";
import {
  commonFields,
  lastTurnStart,
  objects,
  requiredList,
  stopList,
  textOf,
  tokenBound,
  toolOf,
} from "../base/read_fields.ts";
import {
  emptyTurn,
  type OutputFormat,
  type PromptTokens,
  SandboxRefusal,
  type SandboxRequest,
  type ToolChoice,
  type Turn,
} from "../base/request.ts";

/** Reads a Messages request. @throws {SandboxRefusal} */
export function readMessagesRequest(body: JsonObject): SandboxRequest {
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
export function countMessagesPrompt(body: JsonObject): PromptTokens {
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
