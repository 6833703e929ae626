/**
 * Writes a conversation as a Messages request.
 *
 * See docs/internals/WIRE_FORMATS.md#messages-request and docs/conversion.md#requests-chat-client-messages-model.
 */
import { type MembersRead, noneUnhandled } from "../../../lib/base/assert.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { ephemeralMark, invalid } from "../../fields/fields.ts";
import { refuseChoices, refusePictures, writeLogprobs } from "../../fields/common_fields.ts";
import type { ConversionMemory, ConversionOptions } from "../../contract/contract.ts";
import type { Conversation, OutputFormat, Turn } from "../../conversation/mod.ts";
import type { EncodedRequest } from "../../stream/dialect.ts";
import type { FieldOfNoEncoder } from "../../fields/member_fates.ts";
import { carryExtras } from "../../fields/field_table.ts";
import { systemAsUser, warnOfTier } from "../../content/citations.ts";
import { resolveCapabilities, type ResolvedCapabilities } from "../../contract/capabilities.ts";
import { answerTool, isToolSchema, withAnswerTool } from "../../tools/answer_tool.ts";
import { messagesFormatSchema } from "../../tools/schemas/json_schema.ts";
import { Warnings } from "../../contract/warnings.ts";
import { formatInWords, requirePrefill } from "../../fields/output_format.ts";
import { BlockWriter } from "./encode_blocks.ts";
import { encodeMessagesSampling, encodeThinking } from "./encode_thinking.ts";
import { encodeMessagesTools } from "./encode_tools.ts";
import { mergeTurns } from "../../fields/normalize_turns.ts";

// Places cache marks for clients whose style has none. A Messages vendor caches only up to a mark: without marks every
// turn of an agent's conversation would be charged in full for all earlier turns.
//
// The marks follow the order in which the vendor caches (tools, system, messages). One is after tools and instructions,
// which all conversations of a client share. One is at the end of each of the last two user turns: the next request
// reads what this one wrote, and this one what the previous one wrote.

/**
 * Shorter prompts get no marks. No vendor caches below 1,024 tokens, at about four characters each; a mark on less would
 * be ignored.
 */
const leastChars = 4_096;

const markedTurns = 2;

const mark = { cache_control: { type: "ephemeral" } };

/** Blocks that may have a mark. */
const markable: ReadonlySet<string> = new Set([
  "text",
  "image",
  "document",
  "search_result",
  "tool_use",
  "tool_result",
]);

/** Adds marks to a request of the Messages style that has none. */
function placeCacheMarks(body: JsonObject): void {
  const { tools, system, messages } = body;
  if (!holdsChars([tools, system, messages])) return;
  if (Array.isArray(system) && markLast(system)) {
    // Tools come before the instructions, so one mark covers both.
  } else if (Array.isArray(tools)) {
    markLast(tools);
  }
  if (!Array.isArray(messages)) return;
  // A single question without tools or history is not repeated: writing it to the cache would only cost.
  if (tools === undefined && messages.length < 2) return;
  let left = markedTurns;
  for (let at = messages.length - 1; at >= 0 && left > 0; at--) {
    const message = messages[at];
    if (!isJsonObject(message) || message["role"] !== "user") continue;
    left--;
    const content = contentOf(message);
    if (markLast(content)) message["content"] = content;
  }
}

function contentOf(message: JsonObject): Json[] {
  const content = message["content"];
  if (Array.isArray(content)) return content;
  return typeof content === "string" ? [{ type: "text", text: content }] : [];
}

/** Marks the last entry if it can have a mark; a tool has no block type. */
function markLast(entries: Json[]): boolean {
  const last = entries.at(-1);
  if (!isJsonObject(last) || !canHold(last)) return false;
  entries[entries.length - 1] = { ...last, ...mark };
  return true;
}

function canHold(entry: JsonObject): boolean {
  const { type, text } = entry;
  if (type === "text") return typeof text === "string" && text.trim() !== "";
  return entry["input_schema"] !== undefined || markable.has(String(type));
}

/** Whether the strings within these values have enough characters; stops once they have. */
function holdsChars(values: readonly (Json | undefined)[]): boolean {
  let chars = 0;
  const rest: (Json | undefined)[] = [...values];
  while (rest.length > 0 && chars < leastChars) {
    const value = rest.pop();
    if (typeof value === "string") chars += value.length;
    else if (Array.isArray(value)) { for (const element of value) rest.push(element); }
    else if (isJsonObject(value)) {
      for (const [name, member] of Object.entries(value)) {
        chars += name.length;
        rest.push(member);
      }
    }
  }
  return chars >= leastChars;
}

// Arranges the turns of a conversation in the order that Messages requires.

/** Writes all messages of a conversation, without the leading instructions, which are in `system`. */
function encodeMessagesTurns(
  conversation: Pick<Conversation, "from" | "turns">,
  capabilities: ResolvedCapabilities,
  writer: BlockWriter,
  warnings: Warnings,
): JsonObject[] {
  const placed = capabilities.mid_system
    ? placeSystem(conversation.turns, warnings)
    : conversation.turns.map((turn) =>
      turn.role === "system" ? systemAsUser(turn, warnings) : turn
    );
  const written: { role: Turn["role"]; path: string; content: JsonObject[] }[] = [];
  for (const turn of mergeTurns(placed)) {
    const blocks = turn.blocks.map((block) => writer.block(block));
    const content = blocks.filter((block) => block !== undefined);
    const previous = written.at(-1);
    if (content.length === 0) continue;
    // A turn that lost all its blocks leaves two neighbours of one role.
    if (previous !== undefined && previous.role === turn.role) previous.content.push(...content);
    else written.push({ role: turn.role, path: turn.path, content: resultsFirst(content) });
  }
  const last = written.at(-1);
  if (last === undefined) {
    invalid(conversation.from === "responses" ? "input" : "messages", "hold nothing to answer");
  }
  if (last.role === "assistant") trimPrefill(last, capabilities);
  const messages = written
    .filter((turn) => turn.content.length > 0)
    .map(({ role, content }): JsonObject => ({ role, content: plainest(content) }));
  if (messages[0]?.role === "assistant") {
    warnings.add(written[0]?.path ?? "messages");
    messages.unshift({ role: "user", content: opening });
  }
  return messages;
}

/** A first user turn for conversations that begin with the assistant: older APIs require one. */
const opening = "(The conversation begins with your message.)";

/** Writes a single text as a string, as the vendor's examples do. */
function plainest(content: JsonObject[]): string | JsonObject[] {
  const [first] = content;
  if (content.length !== 1 || first?.type !== "text" || first.cache_control !== undefined) {
    return content;
  }
  return typeof first.text === "string" ? first.text : content;
}

function resultsFirst(content: JsonObject[]): JsonObject[] {
  if (content[0]?.type === "tool_result" || content.every((b) => b.type !== "tool_result")) {
    return content;
  }
  return [
    ...content.filter((block) => block.type === "tool_result"),
    ...content.filter((block) => block.type !== "tool_result"),
  ];
}

/** Trims the end of a final assistant text, which may not end in white space. */
function trimPrefill(
  last: { path: string; content: JsonObject[] },
  capabilities: ResolvedCapabilities,
): void {
  requirePrefill(last.path, capabilities);
  const block = last.content.at(-1);
  if (block?.type !== "text" || typeof block.text !== "string") return;
  block.text = block.text.trimEnd();
}

/**
 * Arranges system turns: each must follow a user turn, be last or before an assistant turn, and never follow another.
 */
function placeSystem(turns: readonly Turn[], warnings: Warnings): Turn[] {
  const out: Turn[] = [];
  for (let i = 0; i < turns.length; i++) {
    const turn = turns[i];
    if (turn === undefined) continue;
    if (turn.role !== "system") {
      out.push(turn);
      continue;
    }
    const blocks = [...turn.blocks];
    // Neighbouring instructions become one; user turns that follow go before it.
    const users: Turn[] = [];
    for (
      let next = turns[i + 1];
      next !== undefined && next.role !== "assistant";
      next = turns[i + 1]
    ) {
      if (next.role === "system") blocks.push(...next.blocks);
      else users.push(next);
      i++;
    }
    out.push(...users);
    const afterUser = out.at(-1)?.role === "user";
    out.push(afterUser ? { ...turn, blocks } : systemAsUser({ ...turn, blocks }, warnings));
  }
  return out;
}

/**
 * Output tokens set in `max_tokens`, which Messages requires, for an answer that is not streamed. Above this
 * the vendor's SDKs refuse to wait for it.
 */
const maxUnstreamedOutputTokens = 21_333;

/**
 * The fields of a conversation that go into a Messages request. A new field does not compile until a step below reads
 * it, or the last rows say why it goes no further.
 */
type CarriedField =
  | MembersRead<
    | typeof outputCap
    | typeof encodeMessagesTools
    | typeof encodeMessagesTurns
    | typeof encodeThinking
    | typeof encodeMessagesSampling
    | typeof encodeUserTierAndCache
    | typeof writeLogprobs
    | typeof refuseChoices
    | typeof refusePictures
    | typeof carryExtras
  >
  | "system"
  // encodeFormat()
  | "output"
  | FieldOfNoEncoder;

noneUnhandled<Exclude<keyof Conversation, CarriedField>>();

/** Writes a Messages request. */
export function encodeMessagesRequest(
  given: Conversation,
  options: ConversionOptions,
): EncodedRequest {
  const capabilities = resolveCapabilities("messages", options.capabilities);
  const warnings = new Warnings();
  const writer = new BlockWriter(capabilities, warnings);
  const { conversation, memory, format } = encodeFormat(given, capabilities, warnings);
  const body: JsonObject = { model: options.upstreamModel };
  const maxTokens = outputCap(conversation, capabilities, options);
  body.max_tokens = maxTokens;
  // In the vendor's order of caching (tools, system, messages), so that the first four marks are the outer ones.
  const fields: JsonObject = {};
  const betas = encodeMessagesTools(conversation, capabilities, options, writer, warnings, fields);
  const system = conversation.system.map((block) => writer.block(block)).filter((b) =>
    b !== undefined
  );
  if (system.length > 0) body.system = system;
  body.messages = encodeMessagesTurns(conversation, capabilities, writer, warnings);
  Object.assign(body, fields);
  const thinks = encodeThinking(conversation, capabilities, warnings, body, maxTokens);
  encodeMessagesSampling(conversation, capabilities, warnings, body, thinks);
  if (format !== undefined) {
    body.output_config = {
      ...(isJsonObject(body.output_config) ? body.output_config : {}),
      format,
    };
  }
  encodeUserTierAndCache(conversation, warnings, body);
  writeLogprobs(conversation, capabilities, () => {});
  refusePictures(conversation);
  refuseChoices(conversation);
  carryExtras(conversation, capabilities, body, warnings);
  if (conversation.stream) body.stream = true;
  const wantsMarks = capabilities.auto_cache && capabilities.cache_marks !== "none";
  if (wantsMarks && !writer.hasMarks && conversation.automaticCache === undefined) {
    placeCacheMarks(body);
  }
  return {
    body,
    warnings: warnings.list(),
    memory: { ...memory, reasoningSigner: capabilities.reasoning_signer },
    betas,
  };
}

/** Returns the cap on output, which Messages requires: the client's, or the model's maximum. */
function outputCap(
  conversation: Pick<Conversation, "maxTokens" | "stream">,
  capabilities: ResolvedCapabilities,
  options: ConversionOptions,
): number {
  const most = Math.min(capabilities.max_output ?? Infinity, options.maxOutputTokens);
  if (conversation.maxTokens !== undefined) return Math.min(conversation.maxTokens, most);
  return conversation.stream ? most : Math.min(most, maxUnstreamedOutputTokens);
}

interface FormatPlan {
  readonly conversation: Conversation;
  readonly format?: JsonObject;
  readonly memory: ConversionMemory;
}

function encodeFormat(
  conversation: Conversation,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
): FormatPlan {
  const output = describedInSchema(conversation.output);
  if (output === undefined) return { conversation, memory: {} };
  if (output.type === "json_schema" && capabilities.structured === "format") {
    const format = { type: "json_schema", schema: messagesFormatSchema(output.schema) };
    return { conversation, format, memory: {} };
  }
  if (isToolSchema(output) && capabilities.structured === "tool") {
    return {
      conversation: withAnswerTool(conversation, output.schema, capabilities, warnings),
      memory: { answerTool },
    };
  }
  warnings.add(output.path);
  const instruction = { type: "text" as const, text: formatInWords(output), path: output.path };
  return {
    conversation: { ...conversation, system: [...conversation.system, instruction] },
    memory: {},
  };
}

/** Moves the description of a schema into the schema: the style has no other member for it. */
function describedInSchema(output: OutputFormat | undefined): OutputFormat | undefined {
  if (output?.type !== "json_schema" || output.description === undefined) return output;
  const { description, schema } = output;
  return { ...output, schema: { description, ...schema } };
}

function encodeUserTierAndCache(
  { endUser, serviceTier, automaticCache }: Pick<
    Conversation,
    "endUser" | "serviceTier" | "automaticCache"
  >,
  warnings: Warnings,
  body: JsonObject,
): void {
  if (endUser !== undefined) body.metadata = { user_id: endUser.id };
  if (serviceTier?.tier === "auto") body.service_tier = "auto";
  else if (serviceTier?.tier === "default") body.service_tier = "standard_only";
  else if (serviceTier !== undefined) warnOfTier(serviceTier, warnings);
  if (automaticCache !== undefined) body.cache_control = ephemeralMark(automaticCache);
}
