/** Writes the turns of a conversation as Responses input items. */
import type { JsonObject } from "../../../lib/json/json.ts";
import { JsonCount } from "../../../lib/errors/json_bounds.ts";
import type {
  Block,
  Conversation,
  DocumentBlock,
  ImageBlock,
  ReasoningBlock,
  ToolCallBlock,
  ToolResultBlock,
  ToolResultContent,
  Turn,
} from "../../conversation/mod.ts";
import { CacheMarkCounter, type Markable, warnOfMark } from "../../fields/fields.ts";
import { renderForeign } from "../../fields/field_table.ts";
import type { ResolvedCapabilities } from "../../contract/capabilities.ts";
import { renderHostedCall } from "../../tools/hosted_calls.ts";
import type { Warnings } from "../../contract/warnings.ts";
import { requirePrefill, withInstructions } from "../../fields/output_format.ts";
import { hashHex } from "../../../lib/hash/short_hash.ts";
import { replayedItem } from "../items/hosted_items.ts";
import { historyArguments } from "../../tools/tool_fields.ts";
import { replayItem } from "../items/output_items.ts";
import { refuseAudio } from "../../fields/audio.ts";
import { writeDataUrl } from "../../content/citations.ts";
import {
  documentFileName,
  documentHeading,
  imageUrl,
  refuseForeignFile,
  requireDocuments,
  searchResultText,
} from "../../fields/content_parts.ts";

// Writes content blocks as Responses content parts.

/** A content part of a Responses input item. */
export interface InputPart extends JsonObject {
  type: "input_text" | "input_image" | "input_file";
}

/** Detail in which the model looks at a picture. */
const details: ReadonlySet<string> = new Set(["auto", "low", "high", "original"]);

/** Writes the parts of one request. */
class InputPartWriter {
  readonly #capabilities: ResolvedCapabilities;
  readonly #warnings: Warnings;
  readonly #marks: CacheMarkCounter;

  constructor(capabilities: ResolvedCapabilities, warnings: Warnings) {
    this.#capabilities = capabilities;
    this.#warnings = warnings;
    this.#marks = new CacheMarkCounter(warnings);
  }

  parts(block: ToolResultContent): InputPart[] {
    switch (block.type) {
      case "text":
        return [this.#text(block.text, block)];
      case "image":
        return [this.#image(block)];
      case "audio":
        return refuseAudio(block.path);
      case "document":
        return this.#document(block);
      case "search_result":
        if (block.citations === true) this.#warnings.add(`${block.path}.citations`);
        return [this.#text(searchResultText(block), block)];
      case "foreign": {
        const text = renderForeign(block, this.#warnings);
        return text === undefined ? [] : [{ type: "input_text", text }];
      }
    }
  }

  /** Writes a string if that is enough, else the parts. */
  plainest(parts: readonly InputPart[]): string | InputPart[] {
    const [first] = parts;
    if (first === undefined) return "";
    const isPlain = parts.length === 1 && first["prompt_cache_breakpoint"] === undefined;
    return isPlain && typeof first["text"] === "string" ? first["text"] : [...parts];
  }

  /** Whether cache marks can be carried at all. */
  get marksBlocks(): boolean {
    return this.#capabilities.cache_marks === "breakpoint";
  }

  #text(text: string, block: Markable): InputPart {
    return { type: "input_text", text, ...this.mark(block) };
  }

  /** Writes the cache mark of a block, as an object to spread; warns if the route has none, or none left. */
  mark(block: Markable): JsonObject {
    const mark = this.#marks.take(block, this.marksBlocks);
    return mark === undefined ? {} : { prompt_cache_breakpoint: { mode: "explicit" } };
  }

  #image(block: ImageBlock): InputPart {
    const image_url = imageUrl(block, this.#capabilities);
    // The vendor refuses breakpoints on images.
    warnOfMark(block, this.#warnings);
    const { detail = "auto" } = block;
    return { type: "input_image", image_url, detail: details.has(detail) ? detail : "auto" };
  }

  #document(block: DocumentBlock): InputPart[] {
    const { source, path } = block;
    if (block.citations === true) this.#warnings.add(`${path}.citations`);
    switch (source.kind) {
      case "text":
        return [this.#text(documentHeading(block) + source.text, block)];
      case "blocks": {
        const head = documentHeading(block).trimEnd();
        const parts = source.blocks.flatMap((inner) => this.parts(inner));
        if (head !== "") parts.unshift({ type: "input_text", text: head });
        this.markLast(block, parts);
        return parts;
      }
      case "file":
        return refuseForeignFile(path);
      case "url":
        if (block.title !== undefined) this.#warnings.add(block.titlePath ?? `${path}.title`);
        return [this.#file(block, { file_url: source.url })];
      case "base64":
        return [this.#file(block, {
          filename: documentFileName(block, source.mediaType),
          file_data: writeDataUrl(source.mediaType, source.data),
        })];
    }
  }

  /** Writes a file; warns of a cache mark and a context, which it cannot have. */
  #file(block: DocumentBlock, file: JsonObject): InputPart {
    requireDocuments(block.path, this.#capabilities);
    warnOfMark(block, this.#warnings);
    if (block.context !== undefined) this.#warnings.add(`${block.path}.context`);
    return { type: "input_file", ...file };
  }

  /** Moves the mark of a block that became several parts to the last of them, if that is text. */
  markLast(block: Markable, parts: readonly InputPart[]): void {
    if (block.cache === undefined) return;
    const last = parts.at(-1);
    if (last?.type !== "input_text") warnOfMark(block, this.#warnings);
    else if (last["prompt_cache_breakpoint"] === undefined) Object.assign(last, this.mark(block));
  }
}

/** The most characters of a call id that the vendor takes. */
const callIdChars = 64;

/** The turns of a conversation, as input items of a Responses request. */
export interface EncodedInput {
  readonly instructions?: string;
  readonly input: JsonObject[];
}

/**
 * Writes all items of a conversation. The leading instructions become `instructions`, unless they must be an item: if
 * they have cache marks, which a string cannot have, or if the vendor requires the word JSON in the input.
 */
export function encodeInput(
  { system: own, turns, output }: Pick<Conversation, "system" | "turns" | "output">,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  moreInstructions: readonly string[],
): EncodedInput {
  const writer = new ItemWriter(capabilities, warnings);
  const system = withInstructions(own, moreInstructions);
  const asItem = output?.type === "json_object" ||
    (capabilities.cache_marks === "breakpoint" &&
      system.some((block) => block.cache !== undefined));
  const input = asItem ? writer.system(system) : [];
  for (const turn of turns) input.push(...writer.turn(turn));
  const lastTurn = turns.at(-1);
  if (lastTurn?.role === "assistant") {
    requirePrefill(lastTurn.path, capabilities);
    warnings.add(lastTurn.path);
  }
  if (system.length === 0 || asItem) return { input };
  writer.unmarked(system);
  return { instructions: system.map((block) => block.text).join("\n\n"), input };
}

class ItemWriter {
  readonly #capabilities: ResolvedCapabilities;
  readonly #warnings: Warnings;
  readonly #parts: InputPartWriter;
  /** Counts the parsed arguments of calls. */
  readonly #count = new JsonCount();

  constructor(capabilities: ResolvedCapabilities, warnings: Warnings) {
    this.#capabilities = capabilities;
    this.#warnings = warnings;
    this.#parts = new InputPartWriter(capabilities, warnings);
  }

  system(blocks: readonly Block[]): JsonObject[] {
    const parts = blocks.flatMap((block) =>
      block.type === "text" || block.type === "foreign" ? this.#parts.parts(block) : []
    );
    if (parts.length === 0) return [];
    return [{ role: this.#capabilities.system_role, content: this.#parts.plainest(parts) }];
  }

  /** Warns of the marks of blocks that become plain text. */
  unmarked(blocks: readonly Block[]): void {
    for (const block of blocks) warnOfMark(block, this.#warnings);
  }

  turn(turn: Turn): JsonObject[] {
    if (turn.role === "system") return this.system(turn.blocks);
    return turn.role === "user" ? this.#user(turn) : this.#assistant(turn);
  }

  #user(turn: Turn): JsonObject[] {
    const items: JsonObject[] = [];
    const parts: InputPart[] = [];
    for (const block of turn.blocks) {
      if (block.type === "tool_result") items.push(this.#output(block));
      else if (block.type === "hosted_call") {
        parts.push({ type: "input_text", text: renderHostedCall(block, this.#warnings) });
      } else if (block.type !== "reasoning" && block.type !== "tool_call") {
        parts.push(...this.#parts.parts(block));
      }
    }
    if (parts.length > 0) items.push({ role: "user", content: this.#parts.plainest(parts) });
    return items;
  }

  #output(block: ToolResultBlock): JsonObject {
    const parts = block.content.flatMap((content) => this.#parts.parts(content));
    if (block.isError) this.#markError(block, parts);
    this.#parts.markLast(block, parts);
    return {
      type: block.custom === true ? "custom_tool_call_output" : "function_call_output",
      call_id: callIdFor(block.callId),
      output: parts.length === 0
        ? this.#capabilities.empty_tool_result
        : this.#parts.plainest(parts),
    };
  }

  /** Marks a failed call in the text, because the style has no field for it: the model would repeat the call. */
  #markError(block: ToolResultBlock, parts: InputPart[]): void {
    this.#warnings.add(`${block.path}.is_error`);
    const first = parts[0];
    const text = first?.["text"];
    if (first === undefined || typeof text !== "string") {
      parts.unshift({ type: "input_text", text: "Error" });
    } else if (!/^\W*error/i.test(text)) {
      parts[0] = { ...first, text: `Error: ${text}` };
    }
  }

  /** Writes items in the order of the blocks: the vendor requires reasoning before its output. */
  #assistant(turn: Turn): JsonObject[] {
    const items: JsonObject[] = [];
    let text = "";
    const flushText = () => {
      if (text !== "") items.push({ role: "assistant", content: text });
      text = "";
    };
    for (const block of turn.blocks) {
      warnOfMark(block, this.#warnings);
      if (block.type === "reasoning") {
        flushText();
        items.push(...this.#reasoning(block));
      } else if (block.type === "tool_call") {
        flushText();
        items.push(this.#call(block));
      } else if (block.type === "hosted_call") {
        const item = replayedItem(block);
        if (item === undefined) text += renderHostedCall(block, this.#warnings);
        else {
          flushText();
          items.push(item);
        }
      } else {
        text += this.#assistantText(block);
      }
    }
    flushText();
    // The vendor refuses reasoning without output.
    while (items.at(-1)?.["type"] === "reasoning") items.pop();
    return items;
  }

  /** Writes a call without its item id: with it the vendor requires the reasoning item that belonged to it. */
  #call(call: ToolCallBlock): JsonObject {
    const shared = { call_id: callIdFor(call.id), name: call.name };
    if (call.input.kind === "text") {
      return { type: "custom_tool_call", ...shared, input: call.input.text };
    }
    const given = historyArguments(call, this.#count, this.#warnings);
    return { type: "function_call", ...shared, arguments: given };
  }

  #reasoning(block: ReasoningBlock): JsonObject[] {
    const item = replayItem(block, this.#capabilities);
    return item === undefined ? [] : [item];
  }

  #assistantText(block: Block): string {
    if (block.type === "text") return block.text;
    if (block.type === "foreign") return renderForeign(block, this.#warnings) ?? "";
    this.#warnings.add(block.path);
    return "";
  }
}

/** Maps a call id by a pure function, so that call and output agree in every request. */
function callIdFor(id: string): string {
  return id.length <= callIdChars ? id : `call_${hashHex(id)}`;
}
