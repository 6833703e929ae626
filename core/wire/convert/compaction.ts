/**
 * Compacts a conversation by a call of the gateway's own, for models whose vendor has no such request: the model is
 * asked for a summary in words, and its answer becomes what the client's vendor would send. Only this gateway reads the
 * result, which is text for every model.
 */
import { GatewayError } from "../../lib/errors/errors.ts";
import {
  isJsonObject,
  type Json,
  type JsonObject,
  type OutlineObject,
} from "../../lib/json/json.ts";
import type { Style } from "../contract/contract.ts";
import { unsealedMark, writeSealedText } from "../fields/reasoning_seal.ts";

/** The item of a Responses request that asks to compact what is before it. */
const trigger = "compaction_trigger";

const instruction =
  "Write a summary of the conversation so far. It replaces the conversation for the model that goes on " +
  "with the work, which sees nothing else of it. Keep what was asked for and decided, what was done and found, names of " +
  "files, commands, errors and values that matter, what is open, and the next step. Call no tools. Answer with the " +
  "summary alone.";

/**
 * Whether a request asks its vendor to compact the conversation: `compaction` of Messages, and an item of Responses.
 *
 * @example
 * ```ts
 * import { asksForCompaction } from "./compaction.ts";
 * if (!asksForCompaction("messages", { compaction: { type: "summarize" } })) throw new Error("not seen");
 * if (asksForCompaction("chat", { compaction: { type: "summarize" } })) throw new Error("no such field");
 * ```
 */
export function asksForCompaction(style: Style, body: OutlineObject): boolean {
  if (style === "messages") return isJsonObject(body["compaction"]);
  const { input } = body;
  return style === "responses" && Array.isArray(input) &&
    input.some((item) => isJsonObject(item) && item["type"] === trigger);
}

/** Fields that an answer in words has no use for. */
const formatFields = ["compaction", "output_config", "output_format", "text", "stream"] as const;

/**
 * Returns the request for the summary, in the client's style and not streamed.
 *
 * @throws {GatewayError} `invalid_request` for another kind of compaction
 */
export function compactionRequest(style: Style, body: JsonObject): JsonObject {
  const { compaction } = body;
  const rest: JsonObject = { ...body };
  for (const name of formatFields) delete rest[name];
  if (Array.isArray(rest["tools"]) && rest["tools"].length > 0) {
    rest["tool_choice"] = style === "messages" ? { type: "none" } : "none";
  } else delete rest["tool_choice"];
  if (style === "messages") {
    const { type, instructions } = isJsonObject(compaction) ? compaction : {};
    if (type !== "summarize") {
      const param = "compaction.type";
      throw new GatewayError("invalid_request", `${param}: must be summarize`, { param });
    }
    const own = typeof instructions === "string" && instructions !== ""
      ? instructions
      : instruction;
    return { ...rest, messages: [...listOf(body["messages"]), { role: "user", content: own }] };
  }
  const items = listOf(body["input"]).filter((item) =>
    !isJsonObject(item) || item["type"] !== trigger
  );
  const given: readonly Json[] = typeof body["input"] === "string"
    ? [{ role: "user", content: body["input"] }]
    : items;
  return { ...rest, input: [...given, { role: "user", content: instruction }] };
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

/**
 * Turns the answer to such a request into the compacted conversation, as the client's vendor writes it.
 *
 * @throws {GatewayError} `upstream_unreachable` if the model wrote no whole summary
 */
export function compactedAnswer(style: Style, answer: JsonObject): JsonObject {
  const summary = style === "messages" ? messagesText(answer) : responsesText(answer);
  if (summary === "") {
    throw new GatewayError(
      "upstream_unreachable",
      "The model wrote no summary of the conversation",
    );
  }
  if (style === "messages") {
    const block = { type: "compaction", content: summary, signature: unsealedMark };
    return { ...answer, content: [block], stop_reason: "compaction", stop_sequence: null };
  }
  const id = `cmp_${String(answer["id"] ?? "").replace(/^resp_/, "")}`;
  const item = { type: "compaction", id, encrypted_content: writeSealedText(summary) };
  return { ...answer, output: [item] };
}

/**
 * Turns such an answer into what `/v1/responses/compact` gives: the messages of the user, and the compacted rest.
 *
 * @param asked the request for the summary, whose last item asks for it
 * @throws {GatewayError} as {@linkcode compactedAnswer}
 */
export function compactedConversation(asked: JsonObject, answer: JsonObject): JsonObject {
  const { id = null, created_at = null, usage = null, output } = compactedAnswer(
    "responses",
    answer,
  );
  const said = listOf(asked["input"]).slice(0, -1).filter((item) =>
    isJsonObject(item) && item["role"] === "user"
  );
  return {
    id,
    object: "response.compaction",
    created_at,
    output: [...said.map(asMessage), ...listOf(output)],
    usage,
  };
}

/** A message of the input as an item of an output: with its type, and parts instead of a text. */
function asMessage(item: Json): Json {
  if (!isJsonObject(item)) return item;
  const { content } = item;
  return {
    type: "message",
    status: "completed",
    ...item,
    content: typeof content === "string" ? [{ type: "input_text", text: content }] : content ?? [],
  };
}

function messagesText({ content, stop_reason: reason }: JsonObject): string {
  return reason === "end_turn" || reason === "stop_sequence" ? joinedTexts(content) : "";
}

function responsesText({ output, status }: JsonObject): string {
  if (status !== "completed") return "";
  return listOf(output).map((item) => isJsonObject(item) ? joinedTexts(item["content"]) : "").join(
    "",
  );
}

function joinedTexts(parts: Json | undefined): string {
  return listOf(parts)
    .map((part) => isJsonObject(part) && typeof part["text"] === "string" ? part["text"] : "")
    .join("");
}
