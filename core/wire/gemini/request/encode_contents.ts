/**
 * Writes the turns of a conversation as Gemini contents.
 *
 * See docs/internals/WIRE_FORMATS.md#gemini-contents.
 */
import type { JsonObject } from "../../../lib/json/json.ts";
import { JsonCount } from "../../../lib/errors/json_bounds.ts";
import type { ResolvedCapabilities } from "../../contract/capabilities.ts";
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
import { refuse, warnOfMark } from "../../fields/fields.ts";
import { renderForeign } from "../../fields/field_table.ts";
import { systemAsUser } from "../../content/citations.ts";
import { requirePrefill, withInstructions } from "../../fields/output_format.ts";
import { mergeTurns } from "../../fields/normalize_turns.ts";
import { argumentsObject } from "../../tools/tool_fields.ts";
import { renderHostedCall } from "../../tools/hosted_calls.ts";
import type { Warnings } from "../../contract/warnings.ts";
import { signatureOf, skippedSignature } from "../answer/thought_signatures.ts";
import { requireAudio } from "../../fields/audio.ts";
import {
  carriedImage,
  documentHeading,
  refuseForeignFile,
  requireDocuments,
  searchResultText,
} from "../../fields/content_parts.ts";

// Writes content blocks as Gemini parts: texts, data, files.

/** Writes the parts of users and of results of tools. */
class GeminiPartWriter {
  readonly #capabilities: ResolvedCapabilities;
  readonly #warnings: Warnings;

  constructor(capabilities: ResolvedCapabilities, warnings: Warnings) {
    this.#capabilities = capabilities;
    this.#warnings = warnings;
  }

  parts(block: ToolResultContent): JsonObject[] {
    if (block.type !== "foreign") warnOfMark(block, this.#warnings);
    switch (block.type) {
      case "text":
        return [{ text: block.text }];
      case "image":
        return [this.#image(block)];
      case "audio":
        requireAudio(block.path, this.#capabilities);
        return [inlineData(block.source)];
      case "document":
        return this.#document(block);
      case "search_result":
        if (block.citations === true) this.#warnings.add(`${block.path}.citations`);
        return [{ text: searchResultText(block) }];
      case "foreign": {
        const text = renderForeign(block, this.#warnings);
        return text === undefined ? [] : [{ text }];
      }
    }
  }

  #image(block: ImageBlock): JsonObject {
    const source = carriedImage(block, this.#capabilities);
    if (source.kind === "base64") return inlineData(source);
    if (this.#capabilities.images === "base64") {
      refuse(block.path, "this model takes images only as data, not by URL");
    }
    return { fileData: { fileUri: source.url, mimeType: imageType(source.url) } };
  }

  #document(block: DocumentBlock): JsonObject[] {
    const { source, path } = block;
    if (block.citations === true) this.#warnings.add(`${path}.citations`);
    const heading = documentHeading(block);
    if (source.kind === "text") return [{ text: heading + source.text }];
    const head = heading === "" ? [] : [{ text: heading.trimEnd() }];
    switch (source.kind) {
      case "blocks":
        return [...head, ...source.blocks.flatMap((inner) => this.parts(inner))];
      case "file":
        return refuseForeignFile(path);
      case "url":
        requireDocuments(path, this.#capabilities);
        if (this.#capabilities.images === "base64") {
          refuse(path, "this model takes documents only as data, not by URL");
        }
        return [...head, { fileData: { fileUri: source.url, mimeType: "application/pdf" } }];
      case "base64":
        requireDocuments(path, this.#capabilities);
        return [...head, inlineData(source)];
    }
  }
}

function inlineData(
  { mediaType, data }: { readonly mediaType: string; readonly data: string },
): JsonObject {
  return { inlineData: { mimeType: mediaType, data } };
}

/** The type of a picture by the end of its address; the vendor requires one. */
function imageType(url: string): string {
  const end = /\.(png|gif|webp)(?:[?#]|$)/i.exec(url)?.[1];
  return end === undefined ? "image/jpeg" : `image/${end.toLowerCase()}`;
}

/** A first turn for conversations that begin with the model: the vendor wants calls to follow a turn of the user. */
const opening = "(The conversation begins with your message.)";

/** Writes all contents, with the instructions beside them. */
export function encodeGeminiContents(
  { system, turns }: Pick<Conversation, "system" | "turns">,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  moreInstructions: readonly string[],
): JsonObject {
  const writer = new ContentWriter(capabilities, warnings);
  const instructions = withInstructions(system, moreInstructions)
    .map((block) => {
      warnOfMark(block, warnings);
      return { text: block.text };
    });
  const asked = turns.map((turn) => turn.role === "system" ? systemAsUser(turn, warnings) : turn);
  const contents: { role: string; parts: JsonObject[] }[] = [];
  for (const turn of mergeTurns(asked)) {
    const role = turn.role === "assistant" ? "model" : "user";
    const parts = role === "model" ? writer.model(turn) : writer.user(turn);
    const last = contents.at(-1);
    if (parts.length === 0) continue;
    // A turn that lost all its blocks leaves two neighbours of one role.
    if (last?.role === role) last.parts.push(...parts);
    else contents.push({ role, parts });
  }
  const end = turns.at(-1);
  if (end?.role === "assistant") requirePrefill(end.path, capabilities);
  if (contents[0]?.role !== "user") {
    warnings.add(turns[0]?.path ?? "contents");
    contents.unshift({ role: "user", parts: [{ text: opening }] });
  }
  return {
    ...(instructions.length === 0 ? {} : { systemInstruction: { parts: instructions } }),
    contents,
  };
}

class ContentWriter {
  readonly #capabilities: ResolvedCapabilities;
  readonly #warnings: Warnings;
  readonly #parts: GeminiPartWriter;
  /** The names of the tools that were called, by the id of the call. */
  readonly #names = new Map<string, string>();
  readonly #count = new JsonCount();

  constructor(capabilities: ResolvedCapabilities, warnings: Warnings) {
    this.#capabilities = capabilities;
    this.#warnings = warnings;
    this.#parts = new GeminiPartWriter(capabilities, warnings);
  }

  /** Writes the results first, then their pictures and files, then the rest of the turn. */
  user(turn: Turn): JsonObject[] {
    const results: JsonObject[] = [];
    const attached: JsonObject[] = [];
    const rest: JsonObject[] = [];
    for (const block of turn.blocks) {
      warnOfMark(block, this.#warnings);
      switch (block.type) {
        case "tool_result":
          results.push(this.#result(block, attached));
          break;
        case "hosted_call":
          rest.push({ text: renderHostedCall(block, this.#warnings) });
          break;
        case "tool_call":
        case "reasoning":
          break;
        default:
          rest.push(...this.#parts.parts(block));
      }
    }
    return [...results, ...attached, ...rest];
  }

  #result(block: ToolResultBlock, attached: JsonObject[]): JsonObject {
    const texts: string[] = [];
    const media: JsonObject[] = [];
    for (const content of block.content) {
      for (const part of this.#parts.parts(content)) {
        if (typeof part.text === "string") texts.push(part.text);
        else media.push(part);
      }
    }
    if (media.length > 0) {
      texts.push("[attached below]");
      attached.push({ text: `Attached to the result of tool call ${block.callId}:` }, ...media);
    }
    const said = texts.join("\n\n") || this.#capabilities.empty_tool_result;
    const name = this.#names.get(block.callId) ?? block.name ?? block.callId;
    return {
      functionResponse: {
        id: block.callId,
        name,
        response: block.isError ? { error: said === "" ? "Error" : said } : { output: said },
      },
    };
  }

  /** Writes a turn of the model. Signatures go back to the parts that they came with. */
  model(turn: Turn): JsonObject[] {
    const parts: JsonObject[] = [];
    const waiting = new WaitingSignatures(this.#capabilities.reasoning_signer);
    let isFirstCall = true;
    for (const block of turn.blocks) {
      warnOfMark(block, this.#warnings);
      if (block.type === "reasoning") {
        parts.push(...waiting.reasoning(block, parts.at(-1)));
      } else if (block.type === "tool_call") {
        const signature = waiting.ofCall() ?? (isFirstCall ? this.#missingSignature() : undefined);
        isFirstCall = false;
        parts.push({
          functionCall: this.#call(block),
          ...(signature === undefined ? {} : { thoughtSignature: signature }),
        });
      } else {
        const text = this.#said(block);
        if (text !== "") parts.push({ text, ...waiting.ofText() });
      }
    }
    parts.push(...waiting.rest());
    return parts;
  }

  #missingSignature(): string | undefined {
    return this.#capabilities.thinking === "adaptive" ? skippedSignature : undefined;
  }

  #call(call: ToolCallBlock): JsonObject {
    this.#names.set(call.id, call.name);
    const { input, exact } = argumentsObject(call.input, this.#count);
    if (!exact) this.#warnings.add(call.path);
    return { id: call.id, name: call.name, args: input };
  }

  #said(block: Exclude<Block, ReasoningBlock | ToolCallBlock>): string {
    if (block.type === "text") return block.text;
    if (block.type === "hosted_call") return renderHostedCall(block, this.#warnings);
    if (block.type === "foreign") return renderForeign(block, this.#warnings) ?? "";
    // No style sends other blocks in a turn of the model.
    this.#warnings.add(block.path);
    return "";
  }
}

/** Signatures of one turn that wait for their part: clients may have moved all reasoning to the turn's beginning. */
class WaitingSignatures {
  readonly #signer: string;
  readonly #calls: string[] = [];
  #text: string | undefined;

  constructor(signer: string) {
    this.#signer = signer;
  }

  /** Takes reasoning; returns the parts that it becomes by itself. `last`: the part before it. */
  reasoning({ text, proof }: ReasoningBlock, last: JsonObject | undefined): JsonObject[] {
    const ofCall = signatureOf(proof, this.#signer, true);
    if (ofCall !== undefined) this.#calls.push(ofCall);
    const signature = signatureOf(proof, this.#signer, false);
    // Thoughts without a signature, and those of other vendors, are not sent back.
    if (signature === undefined) return [];
    if (text !== "") return [{ text, thought: true, thoughtSignature: signature }];
    const isOfLast = last?.text !== undefined && last.thoughtSignature === undefined;
    if (isOfLast) last.thoughtSignature = signature;
    else this.#text ??= signature;
    return [];
  }

  ofCall(): string | undefined {
    return this.#calls.shift();
  }

  ofText(): { readonly thoughtSignature?: string } {
    const signature = this.#text;
    this.#text = undefined;
    return signature === undefined ? {} : { thoughtSignature: signature };
  }

  /** A signature of a text that is not there. */
  rest(): JsonObject[] {
    const left = this.ofText();
    return left.thoughtSignature === undefined ? [] : [{ text: "", ...left }];
  }
}
