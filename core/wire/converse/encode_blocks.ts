/**
 * Writes content blocks as Converse blocks. A cache mark is a block of its own, after the one that it belongs to.
 *
 * See docs/internals/WIRE_FORMATS.md#converse-messages.
 */
import { refuseAudio } from "../fields/audio.ts";
import { defined } from "../../lib/base/defined.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { JsonCount } from "../../lib/errors/json_bounds.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import type { ResolvedCapabilities } from "../contract/capabilities.ts";
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
} from "../conversation/mod.ts";
import { CacheMarkCounter, type Markable, refuse, warnOfMark } from "../fields/fields.ts";
import { renderForeign } from "../fields/field_table.ts";
import {
  carriedImage,
  documentHeading,
  refuseForeignFile,
  requireDocuments,
  searchResultText,
} from "../fields/content_parts.ts";
import { renderHostedCall } from "../tools/hosted_calls.ts";
import { argumentsObject } from "../tools/tool_fields.ts";
import type { Warnings } from "../contract/warnings.ts";
import { systemAsUser } from "../content/citations.ts";
import { requirePrefill } from "../fields/output_format.ts";
import { mergeTurns } from "../fields/normalize_turns.ts";

// Formats of pictures and documents, and names of documents, as Converse takes them.

/** Formats of documents by media type. */
const documentFormats: ReadonlyMap<string, string> = new Map([
  ["application/pdf", "pdf"],
  ["text/csv", "csv"],
  ["application/msword", "doc"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
  ["application/vnd.ms-excel", "xls"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"],
  ["text/html", "html"],
  ["text/plain", "txt"],
  ["text/markdown", "md"],
]);

/** Formats of pictures by media type. */
const imageFormats: ReadonlyMap<string, string> = new Map([
  ["image/png", "png"],
  ["image/jpeg", "jpeg"],
  ["image/gif", "gif"],
  ["image/webp", "webp"],
]);

/** Most characters of a document's name. */
const nameChars = 200;

/** Gives each document of a request a name that the vendor takes, and that no other document has. */
export class DocumentNames {
  readonly #used = new Set<string>();

  /**
   * Returns a name near a title: letters without their marks, digits, single spaces, hyphens, parentheses and square
   * brackets.
   *
   * @example
   * ```ts
   * import { DocumentNames } from "./encode_blocks.ts";
   * const names = new DocumentNames();
   * const made = ["Báo cáo_2026.pdf", "Báo cáo 2026", undefined].map((title) => names.nameFor(title));
   * if (made.join() !== "Bao cao-2026-pdf,Bao cao 2026,document") throw new Error(made.join());
   * if (names.nameFor(undefined) !== "document (2)") throw new Error("two documents of one name");
   * ```
   */
  nameFor(title: string | undefined): string {
    const base = (title ?? "").slice(0, nameChars).normalize("NFD").replace(/\p{M}/gu, "")
      .replaceAll("đ", "d").replaceAll("Đ", "D")
      .replace(/[^A-Za-z0-9\s()[\]-]+/g, "-").replace(/\s+/g, " ").trim()
      .slice(0, nameChars - longestSuffix) || "document";
    let name = base;
    for (let count = 2; this.#used.has(name); count++) name = `${base} (${count})`;
    this.#used.add(name);
    return name;
  }
}

/** Characters of ` (n)` with as many digits as a count of documents can have. */
const longestSuffix = 10;

/** Writes the blocks of one request. */
export class BlockWriter {
  readonly #capabilities: ResolvedCapabilities;
  readonly #warnings: Warnings;
  readonly #marks: CacheMarkCounter;
  readonly #names = new DocumentNames();
  /** Counts the parsed arguments of calls, which other styles write as text. */
  readonly #count = new JsonCount();

  constructor(capabilities: ResolvedCapabilities, warnings: Warnings) {
    this.#capabilities = capabilities;
    this.#warnings = warnings;
    this.#marks = new CacheMarkCounter(warnings);
  }

  /** Writes a block of a turn and its cache mark; nothing if none of it can or need be carried. */
  blocks(block: Block): JsonObject[] {
    const written = this.#block(block);
    if (written.length > 0) return [...written, ...this.mark(block)];
    warnOfMark(block, this.#warnings);
    return [];
  }

  /** Writes the cache mark of a block or tool; warns if the route has none, or there are too many. */
  mark(part: Markable): JsonObject[] {
    const mark = this.#marks.take(part, this.#capabilities.cache_marks === "cache_point");
    if (mark === undefined) return [];
    return [{ cachePoint: { type: "default", ...defined({ ttl: mark.ttl }) } }];
  }

  /** Writes a call or a result as text, for requests without tools. */
  callAsText(block: ToolCallBlock | ToolResultBlock): JsonObject[] {
    this.#warnings.add(block.path);
    warnOfMark(block, this.#warnings);
    if (block.type === "tool_call") {
      const { input } = argumentsObject(block.input, this.#count);
      return [{ text: `[Called tool ${block.name} with ${stringifyExactly(input)}]` }];
    }
    const kind = block.isError ? "Error" : "Result";
    return [{ text: `[${kind} of the tool call]` }, ...this.#resultContent(block)];
  }

  #block(block: Block): JsonObject[] {
    switch (block.type) {
      case "reasoning":
        return this.#reasoning(block);
      case "tool_call":
        return [{ toolUse: this.#toolUse(block) }];
      case "tool_result":
        return [{ toolResult: this.#toolResult(block) }];
      case "hosted_call":
        return [{ text: renderHostedCall(block, this.#warnings).trimEnd() }];
      default:
        return this.#plain(block);
    }
  }

  #plain(block: ToolResultContent): JsonObject[] {
    switch (block.type) {
      case "text":
        return block.text.trim() === "" ? [] : [{ text: block.text }];
      case "image":
        return [{ image: this.#image(block) }];
      case "audio":
        return refuseAudio(block.path);
      case "document":
        return this.#document(block);
      case "search_result":
        if (block.citations === true) this.#warnings.add(`${block.path}.citations`);
        return [{ text: searchResultText(block) }];
      case "foreign": {
        const text = renderForeign(block, this.#warnings);
        return text === undefined || text.trim() === "" ? [] : [{ text }];
      }
    }
  }

  #image(block: ImageBlock): JsonObject {
    const { path } = block;
    const source = carriedImage(block, this.#capabilities);
    if (source.kind === "url") refuse(path, "this model takes images only as data, not by URL");
    const format = imageFormats.get(source.mediaType);
    if (format === undefined) {
      refuse(path, `this model takes JPEG, PNG, GIF and WebP images, not ${source.mediaType}`);
    }
    return { format, source: { bytes: source.data } };
  }

  #document(block: DocumentBlock): JsonObject[] {
    const { source, path, title } = block;
    if (block.citations === true) this.#warnings.add(`${path}.citations`);
    switch (source.kind) {
      case "text":
        return withText(documentHeading(block) + source.text);
      case "blocks":
        return [
          ...heading(block),
          ...source.blocks.flatMap((inner) => this.#nested(inner)),
        ];
      case "file":
        return refuseForeignFile(path);
      case "url":
        requireDocuments(path, this.#capabilities);
        return refuse(path, "this model takes documents only as data, not by URL");
      case "base64": {
        requireDocuments(path, this.#capabilities);
        const format = documentFormats.get(source.mediaType);
        if (format === undefined) {
          refuse(path, `this model takes no documents of type ${source.mediaType}`);
        }
        const name = this.#names.nameFor(title);
        const { title: _, ...untitled } = block;
        return [
          ...heading(name === title ? untitled : block),
          { document: { format, name, source: { bytes: source.data } } },
        ];
      }
    }
  }

  /** Writes a block inside another, where no cache mark can be. */
  #nested(block: ToolResultContent): JsonObject[] {
    if (block.type !== "foreign") warnOfMark(block, this.#warnings);
    return this.#plain(block);
  }

  /** Writes reasoning that the model behind the route signed, unchanged; drops any other. */
  #reasoning({ proof, text }: ReasoningBlock): JsonObject[] {
    if (proof === undefined || proof.signer !== this.#capabilities.reasoning_signer) return [];
    if (proof.kind === "signature") {
      const reasoningText = { text, signature: proof.signature };
      return [{ reasoningContent: { reasoningText } }];
    }
    return proof.kind === "redacted" ? [{ reasoningContent: { redactedContent: proof.data } }] : [];
  }

  #toolUse(block: ToolCallBlock): JsonObject {
    const { input, exact } = argumentsObject(block.input, this.#count);
    if (!exact) this.#warnings.add(block.path);
    return { toolUseId: block.id, name: block.name, input };
  }

  #toolResult(block: ToolResultBlock): JsonObject {
    return {
      toolUseId: block.callId,
      content: this.#resultContent(block),
      ...(block.isError ? { status: "error" } : {}),
    };
  }

  #resultContent(block: ToolResultBlock): JsonObject[] {
    const content = block.content.flatMap((inner) => this.#nested(inner));
    if (content.length > 0) return content;
    const said = this.#capabilities.empty_tool_result;
    return [{ text: said.trim() === "" ? noOutput : said }];
  }
}

/** The vendor refuses a result without content, and an empty text. */
const noOutput = "(no output)";

function heading(block: DocumentBlock): JsonObject[] {
  return withText(documentHeading(block).trimEnd());
}

/** A text, unless it is blank, which the vendor refuses. */
function withText(text: string): JsonObject[] {
  return text.trim() === "" ? [] : [{ text }];
}

// Writes system texts and turns as Converse messages.
//
// See docs/internals/WIRE_FORMATS.md#converse-messages.

/** A first user turn for conversations that begin with the assistant: the vendor requires one. */
const opening = "(The conversation begins with your message.)";

/** Text beside documents: the vendor refuses a message that has only documents. */
const besideDocuments = "See the attached document.";

/** Writes the instructions before the first turn. */
export function encodeSystem(
  { system }: Pick<Conversation, "system">,
  writer: BlockWriter,
): JsonObject[] {
  return system.flatMap((block) => writer.blocks(block));
}

/**
 * Writes all messages, without the leading instructions.
 *
 * @param hasTools whether tools go out: without them the vendor refuses calls and results, which become text
 */
export function encodeTurns(
  { turns }: Pick<Conversation, "turns">,
  capabilities: ResolvedCapabilities,
  writer: BlockWriter,
  warnings: Warnings,
  hasTools: boolean,
): JsonObject[] {
  const end = turns.at(-1);
  if (end?.role === "assistant") requirePrefill(end.path, capabilities);
  const asked = turns.map((turn) => turn.role === "system" ? systemAsUser(turn, warnings) : turn);
  const messages: { role: "user" | "assistant"; content: JsonObject[] }[] = [];
  for (const turn of mergeTurns(asked)) {
    const role = turn.role === "assistant" ? "assistant" : "user";
    const content = contentOf(turn, writer, hasTools);
    const last = messages.at(-1);
    if (content.length === 0) continue;
    // A turn that lost all its blocks leaves two neighbours of one role.
    if (last?.role === role) last.content.push(...content);
    else messages.push({ role, content });
  }
  if (messages[0]?.role !== "user") {
    warnings.add(turns[0]?.path ?? "messages");
    messages.unshift({ role: "user", content: [{ text: opening }] });
  }
  trimEnd(messages.at(-1));
  return messages.map(({ role, content }): JsonObject => ({
    role,
    content: hasOnlyDocuments(content) ? [...content, { text: besideDocuments }] : content,
  }));
}

function contentOf(turn: Turn, writer: BlockWriter, hasTools: boolean): JsonObject[] {
  return turn.blocks.flatMap((block) => {
    const isCall = block.type === "tool_call" || block.type === "tool_result";
    return isCall && !hasTools ? writer.callAsText(block) : writer.blocks(block);
  });
}

function hasOnlyDocuments(content: readonly JsonObject[]): boolean {
  return content.some((block) => block.document !== undefined) &&
    content.every((block) => block.text === undefined);
}

/** Trims the end of a final text of the assistant, which may not end in white space. */
function trimEnd(last: { readonly role: string; readonly content: JsonObject[] } | undefined) {
  if (last?.role !== "assistant") return;
  const block = last.content.at(-1);
  if (typeof block?.text === "string") block.text = block.text.trimEnd();
}
