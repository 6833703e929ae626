/**
 * Answers Converse requests in the sandbox.
 *
 * - Folder `sandbox/provider/converse/`: Converse in the sandbox.
 * - In: the JSON body of a request, with the model and the choice of streaming from its path.
 * - Out: a reply, whole or as events; the vendor's frames are the business of `core/clouds/`.
 * - Never: uses the conversion of `core/wire/`: the sandbox has its own reader and writer.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { compose } from "../base/compose.ts";
import { jsonReply, type Reply, type StreamEvent, streamReply } from "../base/reply.ts";
import { troubleReply, vendorErrorBody } from "../base/vendor_error.ts";
import { converseAnswer, converseEvents } from "./write_answer.ts";
import { countPrompt } from "../base/tokens.ts";
import {
  anyObject,
  commonFields,
  emptyTurn,
  lastTurnStart,
  objects,
  type OutputFormat,
  requiredList,
  type SandboxRequest,
  stopList,
  textOf,
  tokenBound,
  type ToolChoice,
  toolOf,
  type Turn,
} from "../base/request.ts";

/** Reads a Converse request. @throws {SandboxRefusal} */
function readConverseRequest(body: JsonObject): SandboxRequest {
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

const errorEvent: StreamEvent = {
  event: "error",
  data: JSON.stringify(vendorErrorBody("messages", 503)),
  delta: false,
};

/** Answers `/converse` and `/converse-stream`. @throws {SandboxRefusal} */
export function answerConverse(body: JsonObject): Reply {
  const request = readConverseRequest(body);
  const { triggers } = request;
  const trouble = troubleReply("messages", triggers);
  if (trouble !== undefined) return trouble;
  const answer = compose(request);
  if (!request.stream) {
    if (triggers.errorIn200 || triggers.errorAfter !== undefined) {
      const status = triggers.errorIn200 ? 200 : 503;
      return jsonReply(status, vendorErrorBody("messages", 503), triggers);
    }
    return jsonReply(200, converseAnswer(request, answer), triggers);
  }
  const events = triggers.errorIn200 ? [errorEvent] : converseEvents(request, answer);
  return streamReply(events, triggers, errorEvent);
}
