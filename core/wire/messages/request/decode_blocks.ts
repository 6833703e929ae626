/** Reads the content blocks of a Messages request. */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import type {
  Block,
  CacheMark,
  DocumentBlock,
  ForeignBlock,
  ImageBlock,
  MediaSource,
  ReasoningBlock,
  SearchResultBlock,
  TextBlock,
  ToolCallBlock,
  ToolResultBlock,
  ToolResultContent,
  Turn,
} from "../../conversation/mod.ts";
import {
  invalid,
  optionalBoolean,
  optionalList,
  optionalString,
  requiredObject,
  requiredString,
} from "../../fields/fields.ts";
import type { Warnings } from "../../contract/warnings.ts";
import { sealPrefix, toldSummary, unsealProof } from "../../fields/reasoning_seal.ts";
import { HostedCallReader, isForeignHosted } from "../answer/hosted_calls.ts";
import { defined } from "../../../lib/base/defined.ts";

// Removes from a native Messages request what models of other styles left in the history: the vendor refuses proofs that
// it did not make. This gateway wrote all such parts, with {@linkcode sealPrefix} or {@linkcode hostedIdMark}; callers
// search the bytes for these first.

/**
 * Returns the body without thinking that the vendor did not sign, hosted calls that it did not run, and sources that its
 * search did not find. `undefined` if there are none, so that the bytes can pass unchanged.
 */
export function withoutForeignBlocks(body: JsonObject): JsonObject | undefined {
  const messages = body["messages"];
  if (!Array.isArray(messages)) return undefined;
  let changed = false;
  const kept: Json[] = [];
  for (const message of messages) {
    const content = isJsonObject(message) ? message["content"] : undefined;
    if (!isJsonObject(message) || !Array.isArray(content)) {
      kept.push(message);
      continue;
    }
    const rest = content.filter((block) => !isForeign(block)).map(withOwnSources);
    const isOwn = rest.length === content.length && rest.every((block, i) => block === content[i]);
    if (isOwn && !content.some(isOwnSummary)) {
      kept.push(message);
      continue;
    }
    changed = true;
    if (rest.length > 0) kept.push(...withSummaryApart(message, rest, content.some(isOwnSummary)));
  }
  return changed ? { ...body, messages: kept } : undefined;
}

function isSealed(value: Json | undefined): boolean {
  return typeof value === "string" && value.startsWith(sealPrefix);
}

function isForeign(block: Json): boolean {
  if (!isJsonObject(block)) return false;
  if (block["type"] === "thinking") return isSealed(block["signature"]);
  return block["type"] !== "tool_result" && block["type"] !== "tool_use" && isForeignHosted(block);
}

/** Whether a block is a summary that this gateway had written, which the vendor would refuse. */
function isOwnSummary(block: Json | undefined): boolean {
  return isJsonObject(block) && block["type"] === "compaction" && isSealed(block["signature"]);
}

/** Puts a summary that this gateway had written into a message of the user, as text before the rest. */
function withSummaryApart(message: JsonObject, content: Json[], hasSummary: boolean): Json[] {
  if (!hasSummary) return [{ ...message, content }];
  const rest = content.filter((block) => !isOwnSummary(block));
  const texts = content.filter(isOwnSummary).map((block): Json => {
    const summary = isJsonObject(block) ? block["content"] : undefined;
    return { type: "text", text: toldSummary(typeof summary === "string" ? summary : "") };
  });
  const told: Json = { ...message, role: "user", content: texts };
  return rest.length === 0 ? [told] : [told, { ...message, content: rest }];
}

function withOwnSources(block: Json): Json {
  if (!isJsonObject(block) || block["type"] !== "text") return block;
  const { citations, ...rest } = block;
  if (!Array.isArray(citations)) return block;
  const own = citations.filter((one) => !isJsonObject(one) || !isSealed(one["encrypted_index"]));
  if (own.length === citations.length) return block;
  return own.length === 0 ? rest : { ...rest, citations: own };
}

/** Reads a `content` field: a string or a list of blocks. */
export function decodeContent(content: Json | undefined, path: string): Block[] {
  if (typeof content === "string") return [{ type: "text", text: content, path }];
  if (!Array.isArray(content)) invalid(path, "must be a string or a list of blocks");
  const hosted = new HostedCallReader(content, path);
  return content.flatMap((value, i): Block[] => {
    const blockPath = `${path}.${i}`;
    const block = requiredObject(value, blockPath);
    const call = hosted.call(block, blockPath);
    if (call !== undefined) return [call];
    return hosted.isTold(block) ? [] : [decodeBlock(block, blockPath)];
  });
}

function decodeBlock(block: JsonObject, path: string): Block {
  switch (block.type) {
    case "thinking":
      return decodeThinking(block, path);
    case "redacted_thinking":
      return {
        type: "reasoning",
        path,
        text: "",
        proof: {
          kind: "redacted",
          signer: "messages",
          data: requiredString(block, "data", `${path}.data`),
        },
      };
    case "tool_use":
      return decodeToolUse(block, path);
    case "tool_result":
      return decodeToolResult(block, path);
    case "compaction":
      return decodeCompaction(block, path);
    default:
      return decodePlain(block, path);
  }
}

/** Reads the summary of all earlier turns. The vendor writes `null` where it could not make one. */
function decodeCompaction(block: JsonObject, path: string): ForeignBlock {
  const { content } = block;
  const parts = Array.isArray(content) ? content : [content];
  const texts = parts.map((part) => isJsonObject(part) ? part.text : part)
    .filter((text) => typeof text === "string");
  const summary = texts.join("\n\n").trim();
  const foreign = decodeForeign("compaction", block, path);
  if (summary === "") return foreign;
  return { ...foreign, text: toldSummary(summary) };
}

/**
 * Returns the turns that the vendor reads of a compacted conversation: the last summary, as a turn of the user, and
 * what follows it. Warns of the others.
 */
export function sinceCompaction(turns: readonly Turn[], warnings: Warnings): readonly Turn[] {
  const at = turns.findLastIndex(({ blocks }) => blocks.some(isSummary));
  const turn = turns[at];
  if (turn === undefined) return turns;
  const inside = turn.blocks.findLastIndex(isSummary);
  for (const { path } of [...turns.slice(0, at), ...turn.blocks.slice(0, inside)]) {
    warnings.add(path);
  }
  const summary = turn.blocks.slice(inside, inside + 1);
  const rest = turn.blocks.slice(inside + 1);
  return [
    { ...turn, role: "user", blocks: summary },
    ...(rest.length === 0 ? [] : [{ ...turn, blocks: rest }]),
    ...turns.slice(at + 1),
  ];
}

function isSummary(block: Block): boolean {
  return block.type === "foreign" && block.kind === "compaction" && block.text !== undefined;
}

/** Reads a block that both messages and tool results may contain. */
function decodePlain(block: JsonObject, path: string): ToolResultContent {
  const type = requiredString(block, "type", `${path}.type`);
  switch (type) {
    case "text":
      return decodeText(block, path);
    case "image":
      return decodeImage(block, path);
    case "document":
      return decodeDocument(block, path);
    case "search_result":
      return decodeSearchResult(block, path);
    case "tool_reference":
      return decodeReference(block, path);
    default:
      return decodeForeign(type, block, path);
  }
}

/** Reads what a search for tools found, in words: the model can call the tool from now on. */
function decodeReference(block: JsonObject, path: string): TextBlock {
  const name = requiredString(block, "tool_name", `${path}.tool_name`);
  return { type: "text", path, text: `Loaded tool: ${name}`, ...decodeCache(block, path) };
}

/** Reads a text block of a Messages request. */
export function decodeText(block: JsonObject, path: string): TextBlock {
  return {
    type: "text",
    path,
    text: requiredString(block, "text", `${path}.text`),
    ...decodeCache(block, path),
  };
}

/** Reads the `cache_control` of a block, or of the request itself (no path), as an object to spread. */
export function decodeCache(block: JsonObject, path: string): { readonly cache?: CacheMark } {
  const mark = block.cache_control;
  if (mark === undefined || mark === null) return {};
  const markPath = path === "" ? "cache_control" : `${path}.cache_control`;
  const { type = "ephemeral", ttl } = requiredObject(mark, markPath);
  if (type !== "ephemeral") invalid(`${markPath}.type`, "must be ephemeral");
  if (ttl === undefined || ttl === null) return { cache: { path: markPath } };
  if (ttl !== "5m" && ttl !== "1h") invalid(`${markPath}.ttl`, "must be 5m or 1h");
  return { cache: { path: markPath, ttl } };
}

function decodeImage(block: JsonObject, path: string): ImageBlock {
  const source = requiredObject(block.source, `${path}.source`);
  return {
    type: "image",
    path,
    source: decodeMedia(source, `${path}.source`),
    ...decodeCache(block, path),
  };
}

function decodeMedia(source: JsonObject, path: string): MediaSource {
  switch (source.type) {
    case "base64":
      return {
        kind: "base64",
        mediaType: requiredString(source, "media_type", `${path}.media_type`).toLowerCase(),
        data: requiredString(source, "data", `${path}.data`),
      };
    case "url":
      return { kind: "url", url: requiredString(source, "url", `${path}.url`) };
    case "file":
      return {
        kind: "file",
        style: "messages",
        id: requiredString(source, "file_id", `${path}.file_id`),
      };
    default:
      return invalid(`${path}.type`, "must be base64, url or file");
  }
}

function decodeDocument(block: JsonObject, path: string): DocumentBlock {
  const source = requiredObject(block.source, `${path}.source`);
  const title = optionalString(block, "title", `${path}.title`);
  const context = optionalString(block, "context", `${path}.context`);
  return {
    type: "document",
    path,
    source: decodeDocumentSource(source, `${path}.source`),
    ...defined({ title, context }),
    ...decodeCitations(block),
    ...decodeCache(block, path),
  };
}

function decodeCitations(block: JsonObject): { readonly citations?: boolean } {
  return isJsonObject(block.citations) && block.citations.enabled === true
    ? { citations: true }
    : {};
}

function decodeDocumentSource(source: JsonObject, path: string): DocumentBlock["source"] {
  if (source.type === "text") {
    return { kind: "text", text: requiredString(source, "data", `${path}.data`) };
  }
  if (source.type !== "content") return decodeMedia(source, path);
  const blocks = decodeContent(source.content, `${path}.content`);
  return {
    kind: "blocks",
    blocks: blocks.map((block) =>
      block.type === "text" || block.type === "image"
        ? block
        : invalid(block.path, "must be text or an image")
    ),
  };
}

function decodeSearchResult(block: JsonObject, path: string): SearchResultBlock {
  const content = optionalList(block, "content", `${path}.content`) ?? [];
  return {
    type: "search_result",
    path,
    source: requiredString(block, "source", `${path}.source`),
    title: requiredString(block, "title", `${path}.title`),
    texts: content.map((part, i) => {
      const partPath = `${path}.content.${i}`;
      const given = requiredObject(part, partPath);
      if ((given.type ?? "text") !== "text") invalid(`${partPath}.type`, "must be text");
      return requiredString(given, "text", `${partPath}.text`);
    }),
    ...decodeCitations(block),
    ...decodeCache(block, path),
  };
}

function decodeThinking(block: JsonObject, path: string): ReasoningBlock {
  const text = requiredString(block, "thinking", `${path}.thinking`);
  const signature = optionalString(block, "signature", `${path}.signature`) ?? "";
  if (signature === "") return { type: "reasoning", path, text };
  const sealed = unsealProof(signature);
  if (sealed === undefined) return { type: "reasoning", path, text };
  const proof = sealed === "foreign"
    ? { kind: "signature" as const, signer: "messages", signature }
    : sealed;
  return { type: "reasoning", path, text, proof };
}

function decodeToolUse(block: JsonObject, path: string): ToolCallBlock {
  const input = block.input;
  return {
    type: "tool_call",
    path,
    id: requiredString(block, "id", `${path}.id`),
    name: requiredString(block, "name", `${path}.name`),
    input: input === undefined || input === null
      ? { kind: "object", value: {} }
      : { kind: "object", value: requiredObject(input, `${path}.input`) },
    ...decodeCache(block, path),
  };
}

function decodeToolResult(block: JsonObject, path: string): ToolResultBlock {
  const content = block.content;
  return {
    type: "tool_result",
    path,
    callId: requiredString(block, "tool_use_id", `${path}.tool_use_id`),
    content: content === undefined || content === null
      ? []
      : decodeResultContent(content, `${path}.content`),
    isError: optionalBoolean(block, "is_error", `${path}.is_error`) ?? false,
    ...decodeCache(block, path),
  };
}

function decodeResultContent(content: Json, path: string): ToolResultContent[] {
  if (typeof content === "string") {
    return content === "" ? [] : [{ type: "text", text: content, path }];
  }
  if (!Array.isArray(content)) invalid(path, "must be a string or a list of blocks");
  return content.map((block, i) =>
    decodePlain(requiredObject(block, `${path}.${i}`), `${path}.${i}`)
  );
}

/** Reads blocks of tools that only this vendor has, and results without their call. */
function decodeForeign(kind: string, raw: JsonObject, path: string): ForeignBlock {
  return { type: "foreign", style: "messages", path, kind, raw, otherwise: "warn" };
}
