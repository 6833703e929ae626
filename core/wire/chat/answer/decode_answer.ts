/**
 * Reads a whole Chat answer, with the deviations that servers are known for.
 *
 * Web sources are in the `annotations` of the message, and in lists that search providers put beside the choices
 * (`search_results`, `citations`), which apply to the whole text.
 *
 * See docs/internals/WIRE_FORMATS.md#chat-answer.
 *
 * - Folder `core/wire/chat/answer/`: whole answers of the Chat style, and the parts of an answer that streams have as
 *   well.
 * - In: answers of Chat servers, or answers in the typed form.
 * - Out: answers in the typed form, or for Chat clients; usage and tool uses; repaired tool calls.
 * - Never: reads or writes a request, or imports the folder of another style.
 */
import { idText, isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import {
  placeOf,
  readModeration,
  readUrlCitation,
  writeUrlCitation,
} from "../../content/citations.ts";
import type {
  Answer,
  AnswerBlock,
  AnswerText,
  Choice,
  Citation,
  ReasoningBlock,
  Stop,
  StopReason,
  TextSpan,
  ToolInput,
} from "../../conversation/mod.ts";
import { streamCitationChars } from "../../contract/limits.ts";
import { literalLength } from "../../../lib/json/json_literal.ts";
import { GatewayError } from "../../../lib/errors/errors.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import type { ConversionMemory } from "../../contract/contract.ts";
import type { ReadAnswer } from "../../stream/dialect.ts";
import { readImagePart } from "../../fields/pictures.ts";
import { mediaTypeOfSound } from "../../fields/sound.ts";
import { wholeChoices } from "../../stream/choices.ts";
import { readTier, unknownPart } from "./answer_reading.ts";
import { readDetail, readThoughtSignature } from "./reasoning_details.ts";
import { defined } from "../../../lib/base/defined.ts";
import { readStop } from "../../fields/stop_words.ts";

// Writes web sources as Chat annotations, with their ranges in the joined text.
//
// See docs/conversion.md#sources.

/** Writes a source of a block whose text reaches from `start` to `end`. */
export function writeAnnotation(citation: Citation, start: number, end: number): JsonObject {
  return {
    type: "url_citation",
    url_citation: writeUrlCitation(citation, placeOf(citation, start, end)),
  };
}

/**
 * Collects the annotations of one streamed answer. Official libraries keep only the last list of a delta's member
 * `annotations`, so all of them go out in one list at the end. Buffers up to {@linkcode streamCitationChars}; further
 * annotations are dropped.
 *
 * @example
 * ```ts
 * import { StreamAnnotations } from "./decode_answer.ts";
 * const annotations = new StreamAnnotations();
 * annotations.text(0, '"One. "');
 * annotations.endBlock(0);
 * annotations.cite(1, { url: "https://example.com", title: "T" });
 * annotations.text(1, '"Two."');
 * annotations.endBlock(1);
 * if (!JSON.stringify(annotations.list()).includes('"start_index":5,"end_index":9')) throw new Error("misplaced");
 * ```
 */
export class StreamAnnotations {
  /** Length of all text so far, as clients count it. */
  #chars = 0;
  /** The block whose text came last, and where it began. */
  #block = -1;
  #start = 0;
  /** Sources of blocks that have not ended. */
  #open: { readonly block: number; readonly citation: Citation }[] = [];
  readonly #placed: JsonObject[] = [];
  #keptChars = 0;

  /** Takes a piece of text as a JSON literal. */
  text(block: number, json: string): void {
    if (block !== this.#block) {
      this.#block = block;
      this.#start = this.#chars;
    }
    this.#chars += literalLength(json);
  }

  /** Text of so many characters of the block passed whose text came last. */
  passed(chars: number): void {
    this.#chars += chars;
  }

  cite(block: number, citation: Citation): void {
    const chars = citationOverheadChars + citation.url.length + citation.title.length;
    if (this.#keptChars + chars > streamCitationChars) return;
    this.#keptChars += chars;
    // The cited passage may be long, and the style has no member for it.
    const { citedText: _, ...kept } = citation;
    this.#open.push({ block, citation: kept });
  }

  /** Ends a block of any kind. A source of a block without text is dropped. */
  endBlock(block: number): void {
    if (this.#open.length === 0) return;
    const ended = this.#open.filter((entry) => entry.block === block);
    this.#open = this.#open.filter((entry) => entry.block !== block);
    if (block !== this.#block) return;
    for (const { citation } of ended) {
      this.#placed.push(writeAnnotation(citation, this.#start, this.#chars));
    }
  }

  /** Returns the annotations whose range is known. */
  list(): readonly JsonObject[] {
    return this.#placed;
  }
}

/** Characters that a buffered source takes beside its texts. */
const citationOverheadChars = 128;

/** Reads the annotations of a message or delta. Some servers omit the inner object. */
export function readAnnotations(message: JsonObject): Citation[] {
  const { annotations } = message;
  if (!Array.isArray(annotations)) return [];
  return annotations.flatMap((annotation): Citation[] => {
    if (!isJsonObject(annotation)) return [];
    const inner = annotation.url_citation ??
      (annotation.type === "url_citation" ? annotation : undefined);
    const citation = isJsonObject(inner) ? readUrlCitation(inner) : undefined;
    return citation === undefined ? [] : [citation];
  });
}

/**
 * Reads the sources beside the choices, each URL once. `search_results` has titles; `citations` is often only the URLs
 * of the same list.
 */
export function readListedSources(body: JsonObject): Citation[] {
  const found = new Map<string, Citation>();
  for (const list of [body.search_results, body.citations]) {
    for (const entry of Array.isArray(list) ? list : []) {
      const citation = listedSource(entry);
      if (citation !== undefined && !found.has(citation.url)) found.set(citation.url, citation);
    }
  }
  return [...found.values()];
}

function listedSource(entry: Json): Citation | undefined {
  const source = typeof entry === "string" ? { url: entry } : entry;
  if (!isJsonObject(source)) return undefined;
  const citation = readUrlCitation(source);
  if (citation === undefined || !/^https?:\/\//i.test(citation.url)) return undefined;
  return { url: citation.url, title: citation.title };
}

/** Returns the listed sources without those that an annotation names. */
export function unplacedSources(
  listed: readonly Citation[],
  placed: ReadonlySet<string>,
): Citation[] {
  return listed.filter(({ url }) => !placed.has(url));
}

/** Distributes sources with ranges in the joined text to the texts they belong to. */
function citeTexts(
  texts: readonly AnswerText[],
  sources: readonly Citation[],
): AnswerText[] {
  let start = 0;
  return texts.map((block, i) => {
    const end = start + block.text.length;
    const isLast = i === texts.length - 1;
    const own = sources.filter(({ span }) =>
      span === undefined ? isLast : span.start >= start && (span.start < end || isLast)
    ).map((citation) => movedBack(citation, start));
    start = end;
    return own.length === 0 ? block : { ...block, citations: own };
  });
}

/** Shifts the range of a source to count from `start`. */
export function movedBack(citation: Citation, start: number): Citation {
  if (citation.span === undefined || start === 0) return citation;
  const span: TextSpan = { start: citation.span.start - start, end: citation.span.end - start };
  return { ...citation, span };
}

// Reads and writes finish reasons of Chat.
//
// See docs/internals/WIRE_FORMATS.md#chat-answer and docs/conversion.md#answers.

/**
 * Reads a finish reason. An absent one means the plain end. If the answer has calls, a plain end becomes `tool_calls`,
 * whatever the server sent; with a refusal of the model it is a refusal.
 */
export function readFinishReason(
  reason: Json | undefined,
  hasCalls: boolean,
  refusal: string,
): Stop {
  const stop = readStop(reason, hasCalls);
  if (refusal === "") return stop;
  const { reason: kind } = stop;
  const isRefusal = kind === "end" || kind === "tool_calls";
  return { ...stop, ...(isRefusal ? { reason: "refusal" } : {}), explanation: refusal };
}

const words: Readonly<Record<Exclude<StopReason, "unknown">, string>> = {
  end: "stop",
  length: "length",
  stop_sequence: "stop",
  tool_calls: "tool_calls",
  pause: "stop",
  refusal: "content_filter",
};

/** Writes the finish reason for a Chat client. A refusal written by the model ends with `stop`, as at the vendor. */
export function writeFinishReason(
  stop: Stop,
  shape: { readonly legacyFunctions: boolean; readonly refusalText: boolean },
): string {
  if (stop.reason === "tool_calls" && shape.legacyFunctions) return "function_call";
  if (stop.reason === "unknown") return stop.name ?? stop.reason;
  return stop.reason === "refusal" && shape.refusalText ? "stop" : words[stop.reason];
}

/** Reads a whole Chat answer. */
export function decodeChatAnswer({ body, reading }: ReadAnswer, memory: ConversionMemory): Answer {
  const choices = Array.isArray(body.choices) ? body.choices.filter(isJsonObject) : [];
  const [first, ...others] = wholeChoices(choices, memory.choices ?? 1)
    .map(([index, choice]) => decodeChoice({ choice, index }, body, memory));
  if (first === undefined) {
    throw new GatewayError("upstream_unreachable", "The provider sent no answer");
  }
  return {
    ...(typeof body.id === "string" ? { id: body.id } : {}),
    ...first,
    ...(others.length === 0 ? {} : { others }),
    ...defined({ usage: reading.usage }),
    ...readTier(body.service_tier),
    ...readModeration(body.moderation),
  };
}

function decodeChoice(
  { choice, index }: { readonly choice: JsonObject; readonly index: number },
  body: JsonObject,
  memory: ConversionMemory,
): Choice {
  // Azure leaves the message out when its filter stopped the answer.
  const message = isJsonObject(choice.message) ? choice.message : {};
  const calls = decodeCalls(message);
  const refusal = typeof message.refusal === "string" ? message.refusal : "";
  const blocks: AnswerBlock[] = [
    ...decodeReasoning(message, memory.reasoningSigner ?? "chat"),
    ...withLogprobs(decodeContent(message, sourcesOf(message, body)), choice.logprobs),
    ...(refusal === ""
      ? []
      : [{ type: "text" as const, path: "refusal", text: refusal, refusal: true as const }]),
    ...decodeSound(message),
    ...decodePictures(message),
    ...calls,
  ];
  const hasCalls = calls.some((block) => block.type === "tool_call");
  return {
    ...(index === 0 ? {} : { index }),
    blocks,
    stop: readFinishReason(choice.finish_reason, hasCalls, refusal),
  };
}

function sourcesOf(message: JsonObject, body: JsonObject): Citation[] {
  const placed = readAnnotations(message);
  const urls = new Set(placed.map(({ url }) => url));
  return [...placed, ...unplacedSources(readListedSources(body), urls)];
}

/** Reads the log probabilities of the text of a choice or a chunk. */
export function textLogprobs(logprobs: Json | undefined): JsonObject[] {
  const content = isJsonObject(logprobs) ? logprobs.content : undefined;
  return Array.isArray(content) ? content.filter(isJsonObject) : [];
}

/** Adds log probabilities to the text, which is one piece at servers that send them. */
function withLogprobs(blocks: AnswerBlock[], given: Json | undefined): AnswerBlock[] {
  const logprobs = textLogprobs(given);
  const at = blocks.findIndex((block) => block.type === "text");
  const text = blocks[at];
  if (logprobs.length === 0 || text?.type !== "text") return blocks;
  return blocks.with(at, { ...text, logprobs });
}

/** Reads `content`: a string, or parts, with which a few servers also send thinking. */
function decodeContent(message: JsonObject, sources: readonly Citation[]): AnswerBlock[] {
  const { content } = message;
  if (typeof content === "string") {
    if (content === "") return [];
    return citeTexts([{ type: "text", path: "content", text: content }], sources);
  }
  if (!Array.isArray(content)) return [];
  const blocks: AnswerBlock[] = [];
  for (const part of content) {
    if (!isJsonObject(part)) continue;
    const thinking = thinkingText(part);
    if (thinking !== "") blocks.push({ type: "reasoning", path: "content", text: thinking });
    if (typeof part.text === "string" && part.text !== "") {
      blocks.push({ type: "text", path: "content", text: part.text });
    }
    if (typeof part.refusal === "string" && part.refusal !== "") {
      blocks.push({ type: "text", path: "content", text: part.refusal, refusal: true });
    }
    const kind = unknownPart(part);
    if (kind === undefined) continue;
    blocks.push({
      type: "foreign",
      style: "chat",
      path: "content",
      kind,
      raw: part,
      otherwise: "warn",
    });
  }
  if (sources.length === 0) return blocks;
  const cited = citeTexts(blocks.filter((block) => block.type === "text"), sources).values();
  return blocks.map((block) => block.type === "text" ? cited.next().value ?? block : block);
}

/** Reads sound, before which comes what is said in it unless the content says it. */
function decodeSound({ audio, content }: JsonObject): AnswerBlock[] {
  if (!isJsonObject(audio)) return [];
  const { data, transcript } = audio;
  const isSaid = content !== undefined && content !== null && content !== "";
  return [
    ...typeof transcript === "string" && transcript !== "" && !isSaid
      ? [{ type: "text" as const, path: "audio.transcript", text: transcript }]
      : [],
    ...typeof data === "string" && data !== ""
      ? [{ type: "sound" as const, path: "audio", mediaType: mediaTypeOfSound(data), data }]
      : [],
  ];
}

const noPictures: readonly string[] = [];

/** Reads the pictures of a message or a delta: in `images`, as aggregators send them, or as parts of the content. */
export function picturesOf({ images, content }: JsonObject): readonly string[] {
  if (!Array.isArray(images) && !Array.isArray(content)) return noPictures;
  return [images, content].flatMap((list) => Array.isArray(list) ? list : [])
    .flatMap((part) => readImagePart(part) ?? []);
}

function decodePictures(message: JsonObject): AnswerBlock[] {
  return picturesOf(message).map((url) => ({ type: "picture", path: "images", url }));
}

/** Reads the text of a `thinking` part, which is a string or a list of parts. */
export function thinkingText(part: JsonObject): string {
  if (part.type !== "thinking") return "";
  if (typeof part.thinking === "string") return part.thinking;
  if (!Array.isArray(part.thinking)) return "";
  return part.thinking.map((inner) =>
    isJsonObject(inner) && typeof inner.text === "string" ? inner.text : ""
  ).join("");
}

function decodeReasoning(message: JsonObject, signer: string): ReasoningBlock[] {
  const text = [message.reasoning_content, message.reasoning]
    .find((value) => typeof value === "string" && value !== "");
  const plain = typeof text === "string" ? text : "";
  const blocks: ReasoningBlock[] = [];
  for (const detail of Array.isArray(message.reasoning_details) ? message.reasoning_details : []) {
    const read = readDetail(detail, signer);
    if (read !== undefined && (read.text !== "" || read.proof !== undefined)) {
      blocks.push({ type: "reasoning", path: "reasoning_details", ...read });
    }
  }
  // Details may have only the proof, with the text in the plain field.
  const shown = blocks.some((block) => block.text !== "");
  if (plain !== "" && !shown) {
    const [first, ...rest] = blocks;
    if (blocks.length === 1 && first?.proof?.kind === "signature") {
      return [{ ...first, text: plain }, ...rest];
    }
    blocks.unshift({ type: "reasoning", path: "reasoning_content", text: plain });
  }
  return blocks;
}

function decodeCalls(message: JsonObject): AnswerBlock[] {
  const blocks: AnswerBlock[] = [];
  const list = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  for (const call of list) {
    if (!isJsonObject(call)) continue;
    const decoded = decodeCall(call, readCallId(call.id));
    if (decoded === undefined) continue;
    const proof = readThoughtSignature(call);
    if (proof !== undefined) {
      blocks.push({ type: "reasoning", path: "tool_calls", text: "", proof });
    }
    blocks.push(decoded);
  }
  if (blocks.length === 0 && isJsonObject(message.function_call)) {
    const decoded = decodeCall({ function: message.function_call }, "");
    if (decoded !== undefined) blocks.push(decoded);
  }
  return blocks;
}

/** Some servers number their calls. */
export function readCallId(id: Json | undefined): string {
  return idText(id) ?? "";
}

/** The text of arguments that are a text, or a list. */
function textOf(value: Json | undefined): string {
  if (typeof value === "string") return value;
  return Array.isArray(value) && value.length > 0 ? stringifyExactly(value) : "";
}

/** Whether a call is of a free-text tool. Some servers send an empty `custom` beside each function. */
export function isCustomCall({ custom, function: called }: JsonObject): boolean {
  if (!isJsonObject(custom)) return false;
  return !isJsonObject(called) || (Boolean(custom.name || custom.input) && !called.name);
}

/** Reads a call; `undefined` without a name, since no tool can answer it. */
function decodeCall(call: JsonObject, id: string): AnswerBlock | undefined {
  const isCustom = isCustomCall(call);
  const holder = isCustom ? call.custom : call.function;
  const inner = isJsonObject(holder) ? holder : {};
  const { name } = inner;
  if (typeof name !== "string" || name === "") return undefined;
  const text = isCustom ? inner.input : inner.arguments;
  const input: ToolInput = isJsonObject(text)
    ? { kind: "object", value: text }
    : { kind: isCustom ? "text" : "json_text", text: textOf(text) };
  return { type: "tool_call", path: "tool_calls", id, name, input };
}
