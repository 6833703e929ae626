/**
 * Writes the turns of a conversation as Chat messages.
 *
 * See docs/internals/WIRE_FORMATS.md#chat-messages.
 */
import { noneUnhandled } from "../../../lib/base/every_member.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type {
  Block,
  Conversation,
  Placed,
  ReasoningBlock,
  ToolCallBlock,
  ToolResultBlock,
  Turn,
} from "../../conversation/mod.ts";
import { warnOfMark } from "../../fields/cache_marks.ts";
import { renderForeign } from "../../fields/extras.ts";
import type { ResolvedCapabilities } from "../../contract/capabilities.ts";
import { renderHostedCall } from "../../tools/hosted_calls.ts";
import type { Warnings } from "../../contract/warnings.ts";
import { withInstructions } from "../../fields/output_format.ts";
import { requirePrefill } from "../../fields/prefill.ts";
import { type MediaPart, type Part, PartWriter, type TextPart } from "./encode_parts.ts";
import { argumentsText } from "../../tools/tool_arguments.ts";
import { replayReasoning, thoughtSignatures } from "../answer/reasoning_details.ts";

// What becomes of each member of a block here. A new member does not compile until it has a row.
noneUnhandled<Exclude<keyof Turn, "role" | "blocks" | "path">>();
noneUnhandled<Exclude<keyof ReasoningBlock, keyof Placed | "type" | "text" | "proof">>();
noneUnhandled<
  Exclude<
    keyof ToolCallBlock,
    | keyof Placed
    | "type"
    | "id"
    | "name"
    | "input"
    // Of the Responses style only.
    | "itemId"
  >
>();
noneUnhandled<
  Exclude<
    keyof ToolResultBlock,
    | keyof Placed
    | "type"
    | "callId"
    | "content"
    | "isError"
    // normalizeTurns() found the call by it.
    | "name"
    // One role holds the results of all kinds of tools.
    | "custom"
  >
>();

/** Writes all messages of a conversation, instructions first. */
export function encodeChatMessages(
  { system: instructions, turns }: Pick<Conversation, "system" | "turns">,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  moreInstructions: readonly string[],
): JsonObject[] {
  const writer = new MessageWriter(capabilities, warnings);
  const system = withInstructions(instructions, moreInstructions);
  const messages = writer.system(system);
  for (const turn of turns) messages.push(...writer.turn(turn));
  const lastTurn = turns.at(-1);
  if (lastTurn?.role === "assistant") writer.prefill(lastTurn, messages.at(-1));
  return messages;
}

class MessageWriter {
  readonly #capabilities: ResolvedCapabilities;
  readonly #warnings: Warnings;
  readonly #parts: PartWriter;

  constructor(capabilities: ResolvedCapabilities, warnings: Warnings) {
    this.#capabilities = capabilities;
    this.#warnings = warnings;
    this.#parts = new PartWriter(capabilities, warnings);
  }

  system(blocks: readonly Block[]): JsonObject[] {
    const parts = blocks.flatMap((block) =>
      block.type === "text" || block.type === "foreign" ? this.#parts.parts(block) : []
    );
    if (parts.length === 0) return [];
    return [{ role: this.#capabilities.system_role, content: this.#parts.content(parts) }];
  }

  turn(turn: Turn): JsonObject[] {
    if (turn.role === "system") return this.system(turn.blocks);
    return turn.role === "user" ? this.#user(turn) : this.#assistant(turn);
  }

  /** Adds what the server needs to continue a trailing assistant message. */
  prefill(turn: Turn, message: JsonObject | undefined): void {
    requirePrefill(turn.path, this.#capabilities);
    if (this.#capabilities.prefill === "plain") this.#warnings.add(turn.path);
    if (this.#capabilities.prefill === "prefix" && message?.role === "assistant") {
      message.prefix = true;
    }
  }

  /** Writes all tool messages, then one user message with their attachments and the rest of the turn. */
  #user(turn: Turn): JsonObject[] {
    const messages: JsonObject[] = [];
    const rest: Part[] = [];
    for (const block of turn.blocks) {
      if (block.type === "tool_result") messages.push(this.#toolResult(block, rest));
    }
    for (const block of turn.blocks) {
      if (block.type === "tool_result" || block.type === "tool_call") continue;
      if (block.type === "hosted_call") {
        rest.push({ type: "text", text: renderHostedCall(block, this.#warnings) });
      } else if (block.type !== "reasoning") rest.push(...this.#parts.parts(block));
    }
    if (rest.length > 0) messages.push({ role: "user", content: this.#parts.content(rest) });
    return messages;
  }

  /** Tool messages hold only text: images and files go to `attachments`, which follow the last tool message. */
  #toolResult(block: ToolResultBlock, attachments: Part[]): JsonObject {
    const texts: TextPart[] = [];
    const media: Part[] = [];
    for (const part of block.content.flatMap((content) => this.#parts.parts(content))) {
      if (part.type === "text") {
        if (part.text !== "") texts.push(part);
        continue;
      }
      media.push(part);
      texts.push({ type: "text", text: `[${attachmentName(part)} attached below]` });
    }
    if (media.length > 0) {
      const label = `Attached to the result of tool call ${block.callId}:`;
      attachments.push({ type: "text", text: label }, ...media);
    }
    if (block.isError) this.#markError(block, texts);
    if (texts.length === 0) {
      texts.push({ type: "text", text: this.#capabilities.empty_tool_result });
    }
    this.#parts.markLast(block, texts);
    return {
      role: "tool",
      tool_call_id: block.callId,
      content: this.#parts.joinTexts(texts),
    };
  }

  /** Marks a failed call in the text, because Chat has no field for it: the model would repeat the call. */
  #markError(block: ToolResultBlock, texts: TextPart[]): void {
    this.#warnings.add(`${block.path}.is_error`);
    const first = texts[0];
    if (first === undefined) texts.push({ type: "text", text: "Error" });
    else if (!/^\W*error/i.test(first.text)) first.text = `Error: ${first.text}`;
  }

  #assistant(turn: Turn): JsonObject[] {
    const reasoning: ReasoningBlock[] = [];
    const calls: ToolCallBlock[] = [];
    let text = "";
    for (const block of turn.blocks) {
      if (block.type === "reasoning") reasoning.push(block);
      else if (block.type === "tool_call") calls.push(block);
      else text += this.#assistantText(block);
      warnOfMark(block, this.#warnings);
    }
    const replayed = replayReasoning(reasoning, calls.length > 0, this.#capabilities);
    if (text === "" && calls.length === 0 && replayed === undefined) return [];
    const signatures = thoughtSignatures(turn.blocks, this.#capabilities);
    const empty = calls.length > 0 && this.#capabilities.tool_call_content === "null" ? null : "";
    const message: JsonObject = { role: "assistant", content: text === "" ? empty : text };
    if (replayed !== undefined) message[replayed.field] = replayed.value;
    if (calls.length > 0) {
      message.tool_calls = calls.map((call) => encodeCall(call, signatures.get(call)));
    }
    return [message];
  }

  /** Joins the texts of an assistant message into one string: many servers refuse parts there. */
  #assistantText(block: Block): string {
    if (block.type === "text") return block.text;
    if (block.type === "hosted_call") return renderHostedCall(block, this.#warnings);
    if (block.type === "foreign") {
      const rendered = renderForeign(block, this.#warnings);
      return rendered === undefined ? "" : `${rendered}\n\n`;
    }
    // No vendor takes images from the assistant, and no style sends one.
    this.#warnings.add(block.path);
    return "";
  }
}

/** Names the attachment of a tool message for the model, which may know a file by its name. */
function attachmentName(part: MediaPart): string {
  if (part.type === "image_url") return "image";
  if (part.type === "input_audio") return "sound";
  const name = isJsonObject(part.file) ? part.file.filename : undefined;
  return typeof name === "string" ? `file ${name}` : "file";
}

/** Writes a call of the history. `extra` is what the route's vendor attached to it. */
function encodeCall(call: ToolCallBlock, extra: Json | undefined): JsonObject {
  const more = extra === undefined ? {} : { extra_content: extra };
  if (call.input.kind === "text") {
    const custom = { name: call.name, input: call.input.text };
    return { id: call.id, type: "custom", custom, ...more };
  }
  return {
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: argumentsText(call) },
    ...more,
  };
}
