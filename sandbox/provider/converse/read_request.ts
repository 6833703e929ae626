import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { countPrompt } from "../base/prompt_tokens.ts";
import {
  anyObject,
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
  type SandboxRequest,
  type ToolChoice,
  type Turn,
} from "../base/request.ts";

/** Reads a Converse request. @throws {SandboxRefusal} */
export function readConverseRequest(body: JsonObject): SandboxRequest {
  const messages = requiredList(body, "messages").filter(isJsonObject);
  const config = objectOf(body["inferenceConfig"]);
  const { tools, toolChoice } = objectOf(body["toolConfig"]);
  const specs = objects(tools).flatMap(({ toolSpec }) => isJsonObject(toolSpec) ? [toolSpec] : []);
  return {
    ...commonFields(body, lastTurn(messages)),
    includeUsage: true,
    choices: 1,
    tools: specs.flatMap((spec) => toolOf(spec["name"], objectOf(spec["inputSchema"])["json"])),
    toolChoice: choiceOf(toolChoice),
    parallelTools: true,
    maxTokens: tokenBound(config, "maxTokens", 1) ?? Infinity,
    stopSequences: stopList(config["stopSequences"]),
    reasoning: thinks(objectOf(body["additionalModelRequestFields"])),
    format: formatOf(body["outputConfig"]),
    prompt: countPrompt(specs, body["system"] ?? null, messages),
  };
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function thinks({ reasoning_effort, reasoningConfig, thinking }: JsonObject): boolean {
  return reasoning_effort !== undefined ||
    [reasoningConfig, thinking].some((asked) =>
      isJsonObject(asked) && asked["type"] !== "disabled"
    );
}

function lastTurn(messages: readonly JsonObject[]): Turn {
  const turn = emptyTurn();
  for (const message of messages.slice(lastTurnStart(messages))) {
    if (message["role"] !== "user") continue;
    for (const block of objects(message["content"])) addBlock(turn, block);
  }
  return turn;
}

function addBlock(turn: Turn, block: JsonObject): void {
  const { text, toolResult } = block;
  if (typeof text === "string") turn.texts.push(text);
  else if (isJsonObject(toolResult)) {
    const content = objects(toolResult["content"]);
    turn.toolResults.push(textOf(content.filter((part) => typeof part["text"] === "string")));
    turn.attachments += content.filter(isFile).length;
  } else if (isFile(block)) turn.attachments++;
}

function isFile({ image, document }: JsonObject): boolean {
  return image !== undefined || document !== undefined;
}

function choiceOf(choice: Json | undefined): ToolChoice {
  const { any, tool } = objectOf(choice);
  const name = objectOf(tool)["name"];
  if (typeof name === "string") return { type: "tool", name };
  return { type: any === undefined ? "auto" : "any" };
}

function formatOf(config: Json | undefined): OutputFormat {
  const { structure } = objectOf(objectOf(config)["textFormat"]);
  const text = objectOf(objectOf(structure)["jsonSchema"])["schema"];
  if (typeof text !== "string") return { type: "text" };
  const schema: Json = JSON.parse(text);
  return { type: "json", schema: isJsonObject(schema) ? schema : anyObject };
}
