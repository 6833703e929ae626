/**
 * Writes content blocks as Messages blocks.
 *
 * See docs/internals/WIRE_FORMATS.md#messages-content-blocks.
 */
import { refuseAudio } from "../../fields/audio.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { JsonCount } from "../../../lib/errors/json_bounds.ts";
import { CacheMarkCounter, ephemeralMark, type Markable, refuse } from "../../fields/fields.ts";
import type {
  Block,
  DocumentBlock,
  ImageBlock,
  ReasoningBlock,
  SearchResultBlock,
  ToolCallBlock,
  ToolResultBlock,
  ToolResultContent,
} from "../../conversation/mod.ts";
import { renderForeign } from "../../fields/field_table.ts";
import type { ResolvedCapabilities } from "../../contract/capabilities.ts";
import { renderHostedCall } from "../../tools/hosted_calls.ts";
import { carriedImage, refuseForeignFile, requireDocuments } from "../../fields/content_parts.ts";
import type { Warnings } from "../../contract/warnings.ts";
import { argumentsObject } from "../../tools/tool_fields.ts";
import { defined } from "../../../lib/base/defined.ts";

const imageTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** Writes the blocks of one request. */
export class BlockWriter {
  readonly #capabilities: ResolvedCapabilities;
  readonly #warnings: Warnings;
  readonly #marks: CacheMarkCounter;
  /** Counts the parsed arguments of calls, which other styles write as text. */
  readonly #count = new JsonCount();

  constructor(capabilities: ResolvedCapabilities, warnings: Warnings) {
    this.#capabilities = capabilities;
    this.#warnings = warnings;
    this.#marks = new CacheMarkCounter(warnings);
  }

  /** Writes a block of a turn; `undefined` if none of it can or need be carried. */
  block(block: Block): JsonObject | undefined {
    switch (block.type) {
      case "reasoning":
        return this.#reasoning(block);
      case "tool_call":
        return this.#toolCall(block);
      case "tool_result":
        return this.#toolResult(block);
      case "hosted_call":
        return { type: "text", text: renderHostedCall(block, this.#warnings).trimEnd() };
      default:
        return this.#plain(block);
    }
  }

  /** Whether the request has marks of the client's own. */
  get hasMarks(): boolean {
    return this.#marks.taken > 0;
  }

  /** Writes the cache mark of a block or tool, as an object to spread; warns if there are too many. */
  mark(part: Markable): JsonObject {
    const mark = this.#marks.take(part, this.#capabilities.cache_marks !== "none");
    return mark === undefined ? {} : { cache_control: ephemeralMark(mark) };
  }

  #plain(block: ToolResultContent): JsonObject | undefined {
    switch (block.type) {
      case "text":
        if (block.text.trim() === "") return undefined;
        return { type: "text", text: block.text, ...this.mark(block) };
      case "image":
        return this.#image(block);
      case "audio":
        return refuseAudio(block.path);
      case "document":
        return this.#document(block);
      case "search_result":
        return this.#searchResult(block);
      case "foreign": {
        const text = renderForeign(block, this.#warnings);
        return text === undefined ? undefined : { type: "text", text };
      }
    }
  }

  #image(block: ImageBlock): JsonObject {
    const { path } = block;
    const source = carriedImage(block, this.#capabilities);
    if (source.kind === "url") {
      this.#checkUrl(source.url, path);
      return { type: "image", source: { type: "url", url: source.url }, ...this.mark(block) };
    }
    if (!imageTypes.includes(source.mediaType)) {
      refuse(path, `this model takes JPEG, PNG, GIF and WebP images, not ${source.mediaType}`);
    }
    return {
      type: "image",
      source: { type: "base64", media_type: source.mediaType, data: source.data },
      ...this.mark(block),
    };
  }

  /** Writes a URL, which the vendor fetches itself, and only over TLS. */
  #checkUrl(url: string, path: string): void {
    if (this.#capabilities.images === "base64") refuse(path, "this model takes media only as data");
    if (!/^https:\/\//i.test(url)) refuse(path, "this model takes only https URLs");
  }

  #document(block: DocumentBlock): JsonObject {
    return {
      type: "document",
      source: this.#documentSource(block),
      ...defined({ title: block.title, context: block.context }),
      ...(block.citations === true ? { citations: { enabled: true } } : {}),
      ...this.mark(block),
    };
  }

  #documentSource(block: DocumentBlock): JsonObject {
    const { source, path } = block;
    switch (source.kind) {
      case "text":
        return { type: "text", media_type: "text/plain", data: source.text };
      case "blocks":
        return {
          type: "content",
          content: source.blocks.map((inner) => this.#plain(inner)).filter((b) => b !== undefined),
        };
      case "file":
        return refuseForeignFile(path);
      case "url":
        this.#checkUrl(source.url, path);
        return { type: "url", url: source.url };
      case "base64":
        requireDocuments(path, this.#capabilities);
        if (source.mediaType !== "application/pdf") {
          refuse(path, `this model takes PDF and plain text documents, not ${source.mediaType}`);
        }
        return { type: "base64", media_type: source.mediaType, data: source.data };
    }
  }

  #searchResult(block: SearchResultBlock): JsonObject {
    return {
      type: "search_result",
      source: block.source,
      title: block.title,
      content: block.texts.map((text) => ({ type: "text", text })),
      ...(block.citations === true ? { citations: { enabled: true } } : {}),
      ...this.mark(block),
    };
  }

  /** Writes thinking that the vendor signed, unchanged; drops other thinking, which it refuses. */
  #reasoning(block: ReasoningBlock): JsonObject | undefined {
    const { proof, text } = block;
    if (proof === undefined || proof.signer !== this.#capabilities.reasoning_signer) {
      return undefined;
    }
    if (proof.kind === "signature") {
      return { type: "thinking", thinking: text, signature: proof.signature };
    }
    return proof.kind === "redacted" ? { type: "redacted_thinking", data: proof.data } : undefined;
  }

  #toolCall(block: ToolCallBlock): JsonObject {
    const { input, exact } = argumentsObject(block.input, this.#count);
    if (!exact) this.#warnings.add(block.path);
    return { type: "tool_use", id: block.id, name: block.name, input, ...this.mark(block) };
  }

  #toolResult(block: ToolResultBlock): JsonObject {
    const content = block.content
      .map((inner) => this.#plain(inner))
      .filter((inner) => inner !== undefined);
    const [first] = content;
    const plain = content.length === 1 && first?.type === "text" &&
      first.cache_control === undefined;
    return {
      type: "tool_result",
      tool_use_id: block.callId,
      content: first === undefined ? "" : plain ? first.text : content,
      ...(block.isError ? { is_error: true } : {}),
      ...this.mark(block),
    };
  }
}
