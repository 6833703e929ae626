/**
 * Reads the messages of a Chat request as turns.
 *
 * See docs/internals/WIRE_FORMATS.md#chat-messages.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import {
  fileBlock,
  instructionTexts,
  isPdfUrl,
  type PartBlock,
  readContent,
} from "../../fields/content_parts.ts";
import type {
  Block,
  CacheMark,
  DocumentBlock,
  ImageBlock,
  ReasoningBlock,
  TextBlock,
  ToolCallBlock,
  Turn,
} from "../../conversation/mod.ts";
import {
  invalid,
  oneOf,
  optionalList,
  optionalString,
  refuse,
  requiredObject,
  requiredString,
} from "../../fields/fields.ts";
import type { Warnings } from "../../contract/warnings.ts";
import { unsealProof } from "../../fields/reasoning_seal.ts";
import { thinkingText } from "../answer/decode_answer.ts";
import { readDetail } from "../answer/reasoning_details.ts";
import { readInputAudio } from "../../fields/audio.ts";
import { dataUrl } from "../../content/citations.ts";

// Reads Chat content: strings and lists of parts.

/** Reads a `content` field; absent and null mean no content. */
function decodeChatContent(content: Json | undefined, path: string): PartBlock[] {
  return readContent(content, path, decodePart);
}

/** Reads one part of a list. */
function decodeChatPart(value: Json, path: string): PartBlock {
  return decodePart(requiredObject(value, path), path);
}

function decodePart(part: JsonObject, path: string): PartBlock {
  const cache = decodeChatMark(part, path);
  switch (part.type) {
    case "text":
      return { type: "text", path, text: requiredString(part, "text", `${path}.text`), ...cache };
    case "refusal": {
      const text = requiredString(part, "refusal", `${path}.refusal`);
      return { type: "text", path, text, refusal: true, ...cache };
    }
    case "image_url":
      return { ...decodeImage(part, path), ...cache };
    case "file":
      return { ...decodeFile(part, path), ...cache };
    // The forms of Mistral and Z.ai.
    case "document_url":
    case "file_url":
      return { ...decodeDocumentUrl(part, part.type, path), ...cache };
    case "input_audio":
      return { ...readInputAudio(part, path), ...cache };
    default:
      return invalid(
        `${path}.type`,
        "must be one of text, image_url, file, document_url, file_url, input_audio, refusal",
      );
  }
}

/** The two members for cache marks that Chat clients send: the vendor's, and that of other gateways. */
const markMembers = ["cache_control", "prompt_cache_breakpoint"] as const;

/** Reads the cache mark of a part, message or tool, as an object to spread. */
export function decodeChatMark(part: JsonObject, path: string): { readonly cache?: CacheMark } {
  for (const member of markMembers) {
    const mark = part[member];
    if (!isJsonObject(mark)) continue;
    const { ttl } = mark;
    const place = { path: `${path}.${member}` };
    return { cache: ttl === "5m" || ttl === "1h" ? { ...place, ttl } : place };
  }
  return {};
}

function decodeImage(part: JsonObject, path: string): ImageBlock | DocumentBlock {
  // Some clients write the URL itself instead of the object around it.
  const holder = typeof part.image_url === "string" ? { url: part.image_url } : part.image_url;
  const image = requiredObject(holder, `${path}.image_url`);
  const url = requiredString(image, "url", `${path}.image_url.url`);
  const detail = optionalString(image, "detail", `${path}.image_url.detail`);
  const data = dataUrl(url);
  if (data === undefined) {
    if (/^data:/i.test(url)) invalid(`${path}.image_url.url`, "must be a base64 data URL");
    return isPdfUrl(url)
      ? { type: "document", path, source: { kind: "url", url } }
      : { type: "image", path, source: { kind: "url", url }, ...(detail && { detail }) };
  }
  if (data.mediaType === "application/pdf") {
    return { type: "document", path, source: { kind: "base64", ...data } };
  }
  return { type: "image", path, source: { kind: "base64", ...data }, ...(detail && { detail }) };
}

function decodeFile(part: JsonObject, path: string): ImageBlock | DocumentBlock {
  const file = requiredObject(part.file, `${path}.file`);
  const titlePath = `${path}.file.filename`;
  const title = optionalString(file, "filename", titlePath);
  const named = { path, title, titlePath };
  const url = optionalString(file, "file_url", `${path}.file.file_url`);
  if (url !== undefined) return urlDocument(url, `${path}.file.file_url`, named);
  const content = optionalString(file, "file_data", `${path}.file.file_data`);
  if (content === undefined) {
    return refuse(`${path}.file.file_id`, "the file belongs to another provider; send its data");
  }
  // Aggregators take a URL in the place of the data, and the data itself without the URL around it.
  const isBare = title !== undefined && /\.pdf$/i.test(title) && !/^\w+:/.test(content);
  if (!isBare) return urlDocument(content, `${path}.file.file_data`, named);
  const data = { mediaType: "application/pdf", data: content };
  return fileBlock(data, { path, dataPath: `${path}.file.file_data`, title });
}

/** Reads a document by its URL: a string, or an object around it. */
function decodeDocumentUrl(
  part: JsonObject,
  member: "document_url" | "file_url",
  path: string,
): ImageBlock | DocumentBlock {
  const held = part[member];
  const titlePath = `${path}.document_name`;
  const named = { path, title: optionalString(part, "document_name", titlePath), titlePath };
  if (typeof held === "string") return urlDocument(held, `${path}.${member}`, named);
  const url = requiredString(
    requiredObject(held, `${path}.${member}`),
    "url",
    `${path}.${member}.url`,
  );
  return urlDocument(url, `${path}.${member}.url`, named);
}

/** Reads a file by its URL: a data URL, or an address. */
function urlDocument(
  url: string,
  dataPath: string,
  { path, title, titlePath }: {
    readonly path: string;
    readonly title: string | undefined;
    readonly titlePath: string;
  },
): ImageBlock | DocumentBlock {
  const data = dataUrl(url);
  if (data !== undefined) return fileBlock(data, { path, dataPath, title });
  if (!/^https?:/i.test(url)) invalid(dataPath, "must be a base64 data URL or an https URL");
  const named = title === undefined ? {} : { title, titlePath };
  return { type: "document", path, source: { kind: "url", url }, ...named };
}

/** The messages of a Chat request, as turns. */
export interface DecodedMessages {
  /** Instructions before the first other message, in order. */
  readonly system: readonly TextBlock[];
  readonly turns: readonly Turn[];
}

/** Reads the messages of a Chat request. */
export function decodeChatMessages(messages: readonly Json[], warnings: Warnings): DecodedMessages {
  const system: TextBlock[] = [];
  const turns: Turn[] = [];
  messages.forEach((value, i) => {
    const path = `messages.${i}`;
    const message = requiredObject(value, path);
    const role = requiredString(message, "role", `${path}.role`);
    const instructs = role === "system" || role === "developer";
    const turn: Turn = instructs
      ? {
        role: "system",
        path,
        blocks: instructionTexts(decodeChatContent(message.content, `${path}.content`)),
      }
      : decodeTurn(role, message, path);
    const marked = withMessageMark(turn, message, warnings);
    if (instructs && turns.length === 0) system.push(...marked.blocks.filter(isText));
    else turns.push(marked);
  });
  return { system, turns };
}

function isText(block: Block): block is TextBlock {
  return block.type === "text";
}

/** Moves a cache mark beside the content, where some clients put it, to the message's last block. */
function withMessageMark(turn: Turn, message: JsonObject, warnings: Warnings): Turn {
  const mark = decodeChatMark(message, turn.path);
  const last = turn.blocks.at(-1);
  if (mark.cache === undefined) return turn;
  if (last === undefined || last.cache !== undefined) {
    warnings.add(mark.cache.path);
    return turn;
  }
  return { ...turn, blocks: turn.blocks.with(-1, { ...last, ...mark }) };
}

function decodeTurn(role: string, message: JsonObject, path: string): Turn {
  switch (role) {
    case "user":
      return { role, path, blocks: decodeChatContent(message.content, `${path}.content`) };
    case "assistant":
      return { role, path, blocks: decodeAssistant(message, path) };
    case "tool":
    case "function":
      return { role: "user", path, blocks: [decodeResult(role, message, path)] };
    default:
      return invalid(
        `${path}.role`,
        "must be one of system, developer, user, assistant, tool, function",
      );
  }
}

function decodeResult(role: "tool" | "function", message: JsonObject, path: string): Block {
  const content = decodeChatContent(message.content, `${path}.content`);
  const shared = { type: "tool_result" as const, path, content, isError: false };
  if (role === "function") {
    return { ...shared, callId: "", name: requiredString(message, "name", `${path}.name`) };
  }
  return {
    ...shared,
    callId: optionalString(message, "tool_call_id", `${path}.tool_call_id`) ?? "",
  };
}

/** Reads reasoning, then text, then calls: the order in which models produce them. */
function decodeAssistant(message: JsonObject, path: string): Block[] {
  if (isJsonObject(message.audio)) refuse(`${path}.audio`, "audio cannot be carried to this model");
  const thought = decodeReasoning(message, path);
  const blocks: Block[] = [
    ...thought,
    ...decodeSaid(message.content, `${path}.content`, thought.length > 0),
  ];
  const refusal = optionalString(message, "refusal", `${path}.refusal`);
  if (refusal !== undefined && refusal !== "") {
    blocks.push({ type: "text", path: `${path}.refusal`, text: refusal, refusal: true });
  }
  const calls = optionalList(message, "tool_calls", `${path}.tool_calls`) ?? [];
  calls.forEach((call, i) => {
    const callPath = `${path}.tool_calls.${i}`;
    blocks.push(decodeCall(requiredObject(call, callPath), callPath));
  });
  if (isJsonObject(message.function_call)) {
    blocks.push(decodeFunction("", message.function_call, `${path}.function_call`));
  }
  return blocks;
}

/** Reads content of the assistant. Mistral has thinking among the parts, others in a field of its own. */
function decodeSaid(content: Json | undefined, path: string, isTold: boolean): Block[] {
  if (!Array.isArray(content)) return decodeChatContent(content, path);
  return content.flatMap((part, i): Block[] => {
    const partPath = `${path}.${i}`;
    if (isJsonObject(part) && part.type === "reference") {
      // Numbers of sources (Mistral), which have no meaning without the search that found them.
      const kind = part.type;
      return [{
        type: "foreign",
        style: "chat",
        path: partPath,
        kind,
        raw: part,
        otherwise: "warn",
      }];
    }
    if (!isJsonObject(part) || part.type !== "thinking") return [decodeChatPart(part, partPath)];
    const text = thinkingText(part);
    return text === "" || isTold ? [] : [{ type: "reasoning", path: partPath, text }];
  });
}

function decodeCall(call: JsonObject, path: string): ToolCallBlock {
  const id = optionalString(call, "id", `${path}.id`) ?? "";
  const type = optionalString(call, "type", `${path}.type`) ?? "function";
  // Zero values, as some servers hand them out.
  if (type !== "") oneOf(type, ["function", "custom"], `${path}.type`);
  if (type !== "custom") {
    return decodeFunction(id, requiredObject(call.function, `${path}.function`), path);
  }
  const custom = requiredObject(call.custom, `${path}.custom`);
  return {
    type: "tool_call",
    path,
    id,
    name: requiredString(custom, "name", `${path}.custom.name`),
    input: { kind: "text", text: optionalString(custom, "input", `${path}.custom.input`) ?? "" },
  };
}

function decodeFunction(id: string, call: JsonObject, path: string): ToolCallBlock {
  const args = call.arguments;
  // Clients send back what their server left at zero values: no call at all (see
  // `core/wire/fields/normalize_turns.ts`).
  const name = optionalString(call, "name", `${path}.name`) ??
    (args === undefined || args === null || args === ""
      ? ""
      : invalid(`${path}.name`, "is required"));
  // Some servers hand out an object, and clients send it back.
  const input = isJsonObject(args)
    ? { kind: "object" as const, value: args }
    : { kind: "json_text" as const, text: argumentText(args) };
  return { type: "tool_call", path, id, name, input };
}

function argumentText(args: Json | undefined): string {
  if (typeof args === "string") return args;
  return args === undefined || args === null ? "" : stringifyExactly(args);
}

/**
 * Reads the earlier reasoning that the client sends back. Forms with proofs win; plain text is kept for routes that want
 * it back, and never becomes text of the assistant.
 */
function decodeReasoning(message: JsonObject, path: string): ReasoningBlock[] {
  const signed = Array.isArray(message.thinking_blocks)
    ? message.thinking_blocks.map((block, i) =>
      decodeThinkingBlock(block, `${path}.thinking_blocks.${i}`)
    ).filter((block) => block !== undefined)
    : [];
  if (signed.length > 0) return signed;
  if (Array.isArray(message.reasoning_details)) {
    const read = mergeDetails(message.reasoning_details, `${path}.reasoning_details`);
    if (read.length > 0) return read;
  }
  const text = message.reasoning_content ?? message.reasoning;
  if (typeof text !== "string" || text === "") return [];
  return [{ type: "reasoning", path: `${path}.reasoning_content`, text }];
}

function decodeThinkingBlock(block: Json, path: string): ReasoningBlock | undefined {
  if (!isJsonObject(block)) return undefined;
  const { type, thinking, signature, data } = block;
  if (type === "redacted_thinking" && typeof data === "string") {
    return {
      type: "reasoning",
      path,
      text: "",
      proof: { kind: "redacted", signer: "messages", data },
    };
  }
  if (typeof thinking !== "string" || typeof signature !== "string") return undefined;
  const sealed = unsealProof(signature);
  if (sealed === undefined) return { type: "reasoning", path, text: thinking };
  const proof = sealed === "foreign"
    ? { kind: "signature" as const, signer: "messages", signature }
    : sealed;
  return { type: "reasoning", path, text: thinking, proof };
}

/**
 * Joins entries with one `index` into one block: clients that collect a stream may send one reasoning text in several
 * entries, with the proof in the last.
 */
function mergeDetails(details: readonly Json[], path: string): ReasoningBlock[] {
  const blocks: ReasoningBlock[] = [];
  let lastIndex: Json | undefined;
  for (const detail of details) {
    const read = readDetail(detail, "chat");
    if (read === undefined || !isJsonObject(detail)) continue;
    const previous = blocks.at(-1);
    const joins = previous !== undefined && previous.proof === undefined &&
      typeof detail.index === "number" && detail.index === lastIndex;
    lastIndex = detail.index;
    const block: ReasoningBlock = { type: "reasoning", path, ...read };
    if (joins) blocks[blocks.length - 1] = { ...block, text: previous.text + read.text };
    else blocks.push(block);
  }
  return blocks;
}
