/**
 * Writes the turns of a conversation as Chat messages.
 *
 * See docs/internals/WIRE_FORMATS.md#chat-messages.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { JsonCount } from "../../../lib/errors/json_bounds.ts";
import type {
  Block,
  Conversation,
  DocumentBlock,
  ImageBlock,
  ReasoningBlock,
  TextBlock,
  ToolCallBlock,
  ToolResultBlock,
  ToolResultContent,
  Turn,
} from "../../conversation/mod.ts";
import {
  CacheMarkCounter,
  ephemeralMark,
  type Markable,
  refuse,
  warnOfMark,
} from "../../fields/fields.ts";
import { renderForeign } from "../../fields/field_table.ts";
import type { ResolvedCapabilities } from "../../contract/capabilities.ts";
import { renderHostedCall } from "../../tools/hosted_calls.ts";
import type { Warnings } from "../../contract/warnings.ts";
import { requirePrefill, withInstructions } from "../../fields/output_format.ts";
import { historyArguments } from "../../tools/tool_fields.ts";
import { replayReasoning, thoughtSignatures } from "../answer/reasoning_details.ts";
import { writeInputAudio } from "../../fields/audio.ts";
import { writeDataUrl } from "../../content/citations.ts";
import {
  documentFileName,
  documentHeading,
  imageUrl,
  refuseForeignFile,
  requireDocuments,
  searchResultText,
} from "../../fields/content_parts.ts";
import { defined } from "../../../lib/base/defined.ts";

// Writes content blocks as Chat content: strings, text parts, images, files.

/** A text part of a Chat message. */
export interface TextPart extends JsonObject {
  type: "text";
  text: string;
}
/** An image, sound or file part of a Chat message. */
export interface MediaPart extends JsonObject {
  type: "image_url" | "file" | "input_audio";
}
/** A content part of a Chat message. */
export type Part = TextPart | MediaPart;

/** How closely the model looks at a picture; `original` is a word of Responses. */
const details: ReadonlyMap<string, string> = new Map([
  ["auto", "auto"],
  ["low", "low"],
  ["high", "high"],
  ["original", "high"],
]);

/** Writes the parts of one request. */
class PartWriter {
  readonly #capabilities: ResolvedCapabilities;
  readonly #warnings: Warnings;
  readonly #marks: CacheMarkCounter;

  constructor(capabilities: ResolvedCapabilities, warnings: Warnings) {
    this.#capabilities = capabilities;
    this.#warnings = warnings;
    this.#marks = new CacheMarkCounter(warnings);
  }

  /** Writes texts: as a string if the route takes no parts or one is enough, else as parts. */
  joinTexts(parts: readonly TextPart[]): string | TextPart[] {
    const [first] = parts;
    if (first === undefined) return "";
    if (parts.length === 1 && !isMarked(first)) return first.text;
    return this.#capabilities.text_parts ? [...parts] : parts.map((part) => part.text).join("\n\n");
  }

  /** Writes any content: as a string if it is one plain text, else as parts. */
  content(parts: readonly Part[]): string | Part[] {
    return parts.every((part) => part.type === "text") ? this.joinTexts(parts) : [...parts];
  }

  parts(block: ToolResultContent): Part[] {
    switch (block.type) {
      case "text":
        return [this.#text(block)];
      case "image":
        return [this.#image(block)];
      case "audio":
        return [{ ...writeInputAudio(block, this.#capabilities), ...this.mark(block) }];
      case "document":
        return this.#document(block);
      case "search_result":
        if (block.citations === true) this.#warnings.add(`${block.path}.citations`);
        return [{ type: "text", text: searchResultText(block), ...this.mark(block) }];
      case "foreign": {
        const text = renderForeign(block, this.#warnings);
        return text === undefined ? [] : [{ type: "text", text }];
      }
    }
  }

  /** Writes the cache mark of a block in the route's form, as an object to spread; warns if the route has none. */
  mark(block: Markable): JsonObject {
    const kind = this.#capabilities.cache_marks;
    // A string cannot be marked.
    const mark = this.#marks.take(block, kind !== "none" && this.#capabilities.text_parts);
    if (mark === undefined) return {};
    if (kind === "breakpoint") return { prompt_cache_breakpoint: { mode: "explicit" } };
    return { cache_control: ephemeralMark(mark) };
  }

  #text(block: TextBlock): TextPart {
    return { type: "text", text: block.text, ...this.mark(block) };
  }

  #image(block: ImageBlock): MediaPart {
    const detail = details.get(block.detail ?? "");
    const url = imageUrl(block, this.#capabilities);
    return {
      type: "image_url",
      image_url: { url, ...defined({ detail }) },
      // The vendor refuses breakpoints on images.
      ...(this.#capabilities.cache_marks === "cache_control"
        ? this.mark(block)
        : this.#unmarked(block)),
    };
  }

  #unmarked(block: ImageBlock): JsonObject {
    warnOfMark(block, this.#warnings);
    return {};
  }

  /** Moves the mark of a block that became several parts to the last of them. */
  markLast(block: Markable, parts: readonly Part[]): void {
    if (block.cache === undefined) return;
    const last = parts.at(-1);
    const cannotHold = last?.type === "image_url" &&
      this.#capabilities.cache_marks !== "cache_control";
    if (last === undefined || cannotHold) warnOfMark(block, this.#warnings);
    else if (!isMarked(last)) Object.assign(last, this.mark(block));
  }

  #document(block: DocumentBlock): Part[] {
    const { source, path } = block;
    if (block.citations === true) this.#warnings.add(`${path}.citations`);
    switch (source.kind) {
      case "text":
        return [{ type: "text", text: documentHeading(block) + source.text, ...this.mark(block) }];
      case "blocks": {
        const head = documentHeading(block);
        const parts = source.blocks.flatMap((inner) => this.parts(inner));
        if (head !== "") parts.unshift({ type: "text", text: head.trimEnd() });
        this.markLast(block, parts);
        return parts;
      }
      case "file":
        return refuseForeignFile(path);
      case "url":
        return refuse(path, "this model takes documents only as data, not by URL");
      case "base64":
        return [this.#file(block, source.mediaType, source.data)];
    }
  }

  #file(block: DocumentBlock, mediaType: string, data: string): MediaPart {
    requireDocuments(block.path, this.#capabilities);
    // The part has a member only for a name.
    if (block.context !== undefined) this.#warnings.add(`${block.path}.context`);
    return {
      type: "file",
      file: {
        filename: documentFileName(block, mediaType),
        file_data: writeDataUrl(mediaType, data),
      },
      ...this.mark(block),
    };
  }
}

function isMarked(part: Part): boolean {
  return part.cache_control !== undefined || part.prompt_cache_breakpoint !== undefined;
}

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
  /** Counts the parsed arguments of calls. */
  readonly #count = new JsonCount();

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
      message.tool_calls = calls.map((call) => this.#call(call, signatures.get(call)));
    }
    return [message];
  }

  /** Writes a call of the history. `extra` is what the route's vendor attached to it. */
  #call(call: ToolCallBlock, extra: Json | undefined): JsonObject {
    const { id, name, input } = call;
    const more = extra === undefined ? {} : { extra_content: extra };
    if (input.kind === "text") {
      return { id, type: "custom", custom: { name, input: input.text }, ...more };
    }
    const given = historyArguments(call, this.#count, this.#warnings);
    return { id, type: "function", function: { name, arguments: given }, ...more };
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
