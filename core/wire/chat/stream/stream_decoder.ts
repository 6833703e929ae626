/**
 * Reads a Chat stream as conversation events. Its tool calls are assembled from their deltas, with the known deviations
 * of servers.
 *
 * See docs/internals/WIRE_FORMATS.md#chat-stream and docs/internals/WIRE_FORMATS.md#chat-stream-deviations.
 *
 * - Folder `core/wire/chat/stream/`: streams of the Chat style.
 * - In: frames of Chat servers, or events of a conversation.
 * - Out: events of a conversation, or frames for Chat clients; usage and state of native streams.
 * - Never: awaits, or imports the folder of another style.
 */
import { GatewayError } from "../../../lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import {
  bufferedBlockBytes,
  maxRefusalChars,
  maxToolCallsPerAnswer,
  streamCitationChars,
} from "../../contract/limits.ts";
import type { EventSink, RepeatableText, StreamDecoder } from "../../stream/dialect.ts";
import { FrameTemplate, JsonProgress, literalLength } from "../../../lib/json/json_literal.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import {
  hasSources,
  isZeroCall,
  readChatUsage,
  readTier,
  unknownPart,
} from "../answer/answer_reading.ts";
import {
  isCustomCall,
  movedBack,
  picturesOf,
  readAnnotations,
  readCallId,
  readFinishReason,
  readListedSources,
  textLogprobs,
  thinkingText,
  unplacedSources,
} from "../answer/decode_answer.ts";
import { readDetail, readThoughtSignature } from "../answer/reasoning_details.ts";
import { citationChars, readModeration } from "../../content/citations.ts";
import type { Citation, Moderation } from "../../conversation/mod.ts";
import type { ToolUses } from "../../../billing/usage/hosted_tools.ts";
import type { ConversionMemory } from "../../contract/contract.ts";
import { shapedEvent, UnknownNames } from "../../stream/answer_shape.ts";
import { eventJson, eventObject, type UsageReport } from "../../stream/reading.ts";
import { readProviderError } from "../../errors/provider_error.ts";
import { mediaTypeOfSound } from "../../fields/sound.ts";
import { indexedChoices } from "../../stream/choices.ts";
import { countReportedUses, ToolUseCount } from "../../tools/tool_fields.ts";

// Assigns the web sources of one Chat stream to the text they belong to, wherever in the stream they come.

/** Characters that a buffered source takes beside its texts. */
const overheadChars = 128;

/**
 * Collects the sources of a Chat stream.
 *
 * Servers send annotations before the text, within it or after it, once or with every chunk, and
 * count positions from the beginning of the whole text, which may be several blocks here.
 */
class StreamSources {
  /** Length of all text so far, and of the text before the open block. */
  #chars = 0;
  #blockStart = 0;
  /** The sources already sent, by URL and range. */
  readonly #told = new Set<string>();
  readonly #placedUrls = new Set<string>();
  #keptChars = 0;
  #waiting: Citation[] = [];
  /** The last list beside the choices: each replaces the one before. */
  #listed: Citation[] = [];

  /** Takes a piece of text as a JSON literal. */
  text(json: string): void {
    this.#chars += literalLength(json);
  }

  /** Text of so many characters passed. */
  passed(chars: number): void {
    this.#chars += chars;
  }

  /** Whether the next text has no source before it. */
  get isQuiet(): boolean {
    return this.#waiting.length === 0;
  }

  /** Begins a block of text. */
  begin(): void {
    this.#blockStart = this.#chars;
  }

  /** Takes the annotations of a delta. */
  place(delta: JsonObject): void {
    for (const citation of readAnnotations(delta)) {
      const { url, span } = citation;
      const key = `${span?.start} ${span?.end} ${url}`;
      if (this.#told.has(key) || !this.#fits(citation)) continue;
      this.#told.add(key);
      this.#placedUrls.add(url);
      this.#waiting.push(citation);
    }
  }

  /** Takes the lists beside the choices. */
  list(chunk: JsonObject): void {
    if (!Array.isArray(chunk.search_results) && !Array.isArray(chunk.citations)) return;
    let chars = 0;
    const listed = readListedSources(chunk)
      .filter((citation) => (chars += charsOf(citation)) <= streamCitationChars);
    if (listed.length > 0) this.#listed = listed;
  }

  /** Sends the waiting annotations of an open block of text. */
  cite(block: number, emit: EventSink): void {
    if (this.#waiting.length === 0) return;
    for (const citation of this.#waiting) {
      emit({ type: "citation", block, citation: movedBack(citation, this.#blockStart) });
    }
    this.#waiting = [];
  }

  /** Ends a block of text: sends the sources that belong to it. */
  end(block: number, emit: EventSink): void {
    this.cite(block, emit);
    for (const citation of unplacedSources(this.#listed, this.#placedUrls)) {
      this.#placedUrls.add(citation.url);
      emit({ type: "citation", block, citation });
    }
  }

  #fits(citation: Citation): boolean {
    const chars = this.#keptChars + charsOf(citation);
    if (chars > streamCitationChars) return false;
    this.#keptChars = chars;
    return true;
  }
}

function charsOf(citation: Citation): number {
  return overheadChars + citationChars(citation);
}

interface Call {
  readonly block: number;
  id: string;
  name: string;
  readonly custom: boolean;
  progress: JsonProgress;
  /** Whether the `call` event was sent: id and name can no longer change. */
  told: boolean;
  /**
   * State of the arguments. A `{}` that comes first is buffered, because some servers send it as a placeholder; after
   * other text a `{}` is a piece of the arguments.
   */
  text: "none" | "placeholder" | "begun";
  /** Arguments that came before the name. */
  early: string;
  ended: boolean;
}

/** The position of a delta in the list of its chunk. */
interface Place {
  readonly position: number;
  readonly alone: boolean;
}

/** The members of a delta that identify its call, beside its key. */
interface Said {
  readonly id: string;
  readonly name: string;
  readonly alone: boolean;
}

/** Input of the reader of tool calls, from the decoder. */
interface StreamCallsInput {
  readonly emit: EventSink;
  readonly takeBlock: () => number;
  /** Called for arguments of a call that never got a name. */
  readonly onNameless: () => void;
  /** Names of the tools that the upstream was offered, if that is known. */
  readonly toolNames: ReadonlySet<string>;
}

/**
 * Identifies calls by `index`, else by id, else by their position in the list; a delta with none of these belongs to the
 * call before it. A new id under a known index begins a new call (servers that send whole calls number them all 0), and
 * so does the name of another tool; repeated ids and names are ignored. A call that never gets a name is dropped.
 */
class StreamCalls {
  readonly #emit: EventSink;
  readonly #takeBlock: () => number;
  readonly #onNameless: () => void;
  readonly #toolNames: ReadonlySet<string>;
  /** The current call of each key. */
  readonly #calls = new Map<string, Call>();
  /** The number of calls that began, with or without a name. */
  #begun = 0;
  #count = 0;
  /** Characters of arguments whose call has no name yet. */
  #earlyChars = 0;
  /** The call of the last delta, and so of {@linkcode lastPiece}. */
  #current: Call | undefined;
  #lastPiece: string | undefined;

  constructor({ emit, takeBlock, onNameless, toolNames }: StreamCallsInput) {
    this.#onNameless = onNameless;
    this.#emit = emit;
    this.#takeBlock = takeBlock;
    this.#toolNames = toolNames;
  }

  /** The number of calls that were sent. */
  get count(): number {
    return this.#count;
  }

  /**
   * The argument text of the last delta, when that delta brought nothing else: one piece of a function's arguments,
   * for a call that was sent. The next delta of the same shape may go to {@linkcode takePiece}.
   */
  get lastPiece(): string | undefined {
    return this.#lastPiece;
  }

  /** Takes the `tool_calls` list of one delta. */
  take(deltas: readonly Json[]): void {
    deltas.forEach((delta, position) => {
      if (!isJsonObject(delta)) return;
      if (isZeroCall(delta)) this.#lastPiece = undefined;
      else this.#delta(delta, { position, alone: deltas.length === 1 });
    });
    if (deltas.length !== 1) this.#lastPiece = undefined;
  }

  /** Takes one more piece for the call of {@linkcode lastPiece}; `false` if the delta must be parsed. */
  takePiece(json: string): boolean {
    const call = this.#current;
    if (call === undefined || this.#lastPiece === undefined || call.ended) return false;
    const text: string = JSON.parse(json);
    call.progress.take(text);
    this.#emit({ type: "arguments", block: call.block, json });
    return true;
  }

  /** Takes the old `function_call` of one delta. */
  takeFunction(delta: JsonObject): void {
    this.#delta({ index: 0, function: delta }, { position: 0, alone: true });
  }

  /** Prepares for other output: ends complete calls and sends those whose name is known. */
  settle(): void {
    for (const call of this.#calls.values()) {
      this.#tell(call);
      if (call.progress.isWhole) this.#end(call);
    }
  }

  /** Ends all calls: no more deltas follow. */
  finish(): void {
    for (const call of this.#calls.values()) {
      this.#tell(call);
      this.#end(call);
    }
  }

  #delta(delta: JsonObject, place: Place): void {
    const isCustom = isCustomCall(delta);
    const holder = isCustom ? delta.custom : delta.function;
    const inner = isJsonObject(holder) ? holder : {};
    const id = readCallId(delta.id);
    const name = typeof inner.name === "string" ? inner.name : "";
    const key = keyOf(delta, id, place.position);
    let call = this.#find(key, { id, name, alone: place.alone });
    if (call === undefined || this.#isAnother(call, id, name)) {
      call = this.#begin(key, isCustom, delta);
    }
    this.#name(call, id, name);
    const text = isCustom ? inner.input : inner.arguments;
    const isPiece = !isCustom && id === "" && name === "" && call.told && !call.ended &&
      typeof text === "string" && text !== "" &&
      (call.text === "begun" || (call.text === "none" && text !== "{}"));
    this.#lastPiece = isPiece ? text : undefined;
    this.#current = call;
    if (typeof text === "string") this.#arguments(call, text);
    else if (isJsonObject(text) || (Array.isArray(text) && text.length > 0)) {
      this.#arguments(call, stringifyExactly(text));
    }
  }

  /** Returns the call that a delta continues. */
  #find(key: string, said: Said): Call | undefined {
    const call = this.#calls.get(key);
    if (key.startsWith("i")) {
      // A piece of a call under an index that no call has continues the one before.
      const isPiece = call === undefined && said.id === "" && said.name === "" && said.alone;
      return isPiece && this.#current?.ended === false ? this.#current : call;
    }
    if (said.id !== "") {
      // The id of a call that began without one.
      return call ?? (said.name === "" && this.#current?.id === "" ? this.#current : undefined);
    }
    if (!said.alone) return call ?? (said.name === "" ? this.#current : undefined);
    return said.name !== "" && call?.name === said.name ? call : this.#current;
  }

  /** Whether a delta that would continue a call begins a new one. */
  #isAnother(call: Call, id: string, name: string): boolean {
    if (id !== "" && call.id !== "") return id !== call.id;
    if (name === "") return false;
    // A whole call is followed by another one that names its function; without ids that may be the same function.
    if (call.progress.isWhole) return (id === "" && call.id === "") || name !== call.name;
    if (call.name === "" || name === call.name) return false;
    // A name may come in pieces, but the name of another tool is not a piece.
    if (this.#toolNames.size > 0) {
      return this.#toolNames.has(call.name) && this.#toolNames.has(name);
    }
    return call.told || call.id === "";
  }

  #begin(key: string, custom: boolean, delta: JsonObject): Call {
    if (++this.#begun > maxToolCallsPerAnswer) {
      throw new GatewayError("upstream_unreachable", "The model makes too many tool calls at once");
    }
    // Earlier calls keep their order: they are sent before this one.
    this.settle();
    const proof = readThoughtSignature(delta);
    if (proof !== undefined) {
      const block = this.#takeBlock();
      this.#emit({ type: "reasoning_proof", block, proof });
      this.#emit({ type: "block_end", block });
    }
    const call: Call = {
      block: this.#takeBlock(),
      id: "",
      name: "",
      custom,
      progress: new JsonProgress(),
      told: false,
      text: "none",
      early: "",
      ended: false,
    };
    const replaced = this.#calls.get(key);
    if (replaced !== undefined) {
      this.#tell(replaced);
      this.#end(replaced);
    }
    this.#calls.set(key, call);
    return call;
  }

  #name(call: Call, id: string, name: string): void {
    if (call.told) return;
    if (call.id === "") call.id = id;
    // A name in pieces: a piece that is already there is a repetition.
    if (name !== "" && name !== call.name) call.name += name;
  }

  #arguments(call: Call, text: string): void {
    if (text === "" || call.ended) return;
    this.#tell(call);
    if (!call.told) return this.#keepEarly(call, text);
    this.#take(call, text);
  }

  #keepEarly(call: Call, text: string): void {
    this.#earlyChars += text.length;
    if (this.#earlyChars > bufferedBlockBytes) {
      throw new GatewayError(
        "upstream_unreachable",
        "The model's tool call is too long",
      );
    }
    call.early += text;
  }

  #take(call: Call, text: string): void {
    if (call.custom) return this.#emitText(call, text);
    if (call.text === "placeholder") {
      if (text.trim() === "") return;
      // Other text follows: the `{}` was a placeholder.
      call.progress = new JsonProgress();
    } else if (call.text === "none" && text === "{}") {
      call.text = "placeholder";
      call.progress.take(text);
      return;
    }
    call.text = "begun";
    call.progress.take(text);
    this.#emitText(call, text);
  }

  #emitText(call: Call, text: string): void {
    this.#emit({ type: "arguments", block: call.block, json: stringifyExactly(text) });
  }

  #tell(call: Call): void {
    if (call.told || call.ended || call.name === "") return;
    call.told = true;
    this.#count++;
    const { block, id, name, custom, early } = call;
    this.#emit({ type: "call", block, id, name, ...(custom ? { custom } : {}) });
    if (early === "") return;
    this.#earlyChars -= early.length;
    call.early = "";
    this.#take(call, early);
  }

  #end(call: Call): void {
    if (call.ended) return;
    call.ended = true;
    if (!call.told) {
      if (call.early !== "") this.#onNameless();
      return;
    }
    if (call.text === "placeholder") this.#emitText(call, "{}");
    this.#emit({ type: "block_end", block: call.block });
  }
}

function keyOf(delta: JsonObject, id: string, position: number): string {
  if (typeof delta.index === "number") return `i${delta.index}`;
  return id === "" ? `p${position}` : `d${id}`;
}

// Recognizes chunks that differ from an earlier one in a single piece of text. Most chunks of a stream do: reading only
// the piece is several times faster than parsing the chunk.

/** Kind of the one piece of text in a chunk. */
type PieceKind = "text" | "reasoning" | "arguments";

const reasoningKeys: ReadonlySet<string> = new Set(["reasoning_content", "reasoning"]);

/** Whether a member of a chunk holds anything. */
function holds(value: Json | undefined): boolean {
  if (value === undefined || value === null || value === "") return false;
  if (isJsonObject(value) && isZeroCall(value)) return false;
  return !Array.isArray(value) || value.length > 0;
}

/** Whether a chunk has nothing beside the delta of its choice. */
function isQuiet(chunk: JsonObject, choice: JsonObject): boolean {
  return !holds(chunk.usage) && !holds(chunk.x_groq) && !holds(choice.usage) &&
    !holds(choice.finish_reason) && !holds(choice.logprobs) && !holds(chunk.moderation);
}

/** The shape of the last chunk, if the chunk had nothing but one piece of text. */
class ChunkShape {
  readonly #template = new FrameTemplate();
  #kind: PieceKind | undefined;

  /** Kind of the piece; `undefined` while no shape is learnt. */
  get kind(): PieceKind | undefined {
    return this.#kind;
  }

  /** Offset of the piece's literal in a chunk of this shape; 0 if none matches. */
  get pieceAt(): number {
    return this.#template.textAt;
  }

  /** The piece of a chunk of this shape as a JSON literal; `undefined` if the chunk has another shape or no text. */
  match(data: string): string | undefined {
    if (this.#kind === undefined) return undefined;
    const json = this.#template.match(data);
    return json === '""' ? undefined : json;
  }

  forget(): void {
    this.#kind = undefined;
  }

  /** Learns the shape of a chunk with one choice. `piece` is what the chunk brought of a call's arguments. */
  learn(
    { chunk, choice, delta }: {
      readonly chunk: JsonObject;
      readonly choice: JsonObject;
      readonly delta: JsonObject;
    },
    data: string,
    piece: string | undefined,
  ): void {
    if (!isQuiet(chunk, choice)) return;
    const [only, ...more] = Object.entries(delta)
      .filter(([key, value]) => key !== "role" && holds(value));
    if (only === undefined || more.length > 0) return;
    const [key, value] = only;
    if (key === "tool_calls") {
      if (piece !== undefined) this.#take("arguments", data, "arguments", piece);
      return;
    }
    if (typeof value !== "string" || (delta.role !== undefined && delta.role !== "assistant")) {
      return;
    }
    if (key === "content") this.#take("text", data, key, value);
    else if (reasoningKeys.has(key)) this.#take("reasoning", data, key, value);
  }

  #take(kind: PieceKind, data: string, key: string, piece: string): void {
    this.#template.learn(data, key, piece);
    this.#kind = kind;
  }
}

const noTools: ReadonlySet<string> = new Set();

type TextKind = "text" | "refusal" | "reasoning";

/** Reads a Chat stream. */
export class ChatStreamDecoder implements StreamDecoder {
  readonly unknown = new UnknownNames();
  readonly #signer: string;
  readonly #toolNames: ReadonlySet<string>;
  readonly #shape = new ChunkShape();
  #blocks = 0;
  /** The text block that deltas of its kind go to. */
  #open: { readonly kind: TextKind; readonly block: number } | undefined;
  #calls: StreamCalls | undefined;
  readonly #sources = new StreamSources();
  readonly #toolUses: ToolUseCount;
  readonly #memory: ConversionMemory;
  /** Decoders of further choices, by their index. */
  readonly #others = new Map<number, ChatStreamDecoder>();
  #began = false;
  #started = false;
  #finished = false;
  #finish: string | undefined;
  #refusal = "";
  /** The type of the sound, by its beginning. */
  #soundType: string | undefined;
  #tier: { readonly serviceTier?: string } = {};
  #moderation: { readonly moderation?: Moderation } = {};
  /** Log probabilities of the text of the chunk that is being read, as JSON text. */
  #logprobs: string | undefined;
  #emit: EventSink = () => {};

  constructor(memory: ConversionMemory, toolUses = new ToolUseCount(false)) {
    this.#memory = memory;
    this.#toolUses = toolUses;
    this.#signer = memory.reasoningSigner ?? "chat";
    this.#toolNames = memory.offeredTools ?? noTools;
  }

  get toolUses(): ToolUses | undefined {
    return this.#toolUses.uses;
  }

  frame(event: string | undefined, data: string, emit: EventSink): void {
    if (this.#finished) return;
    this.#emit = emit;
    if (event !== "error" && this.#takeKnown(data)) return;
    const text = data.trim();
    if (text === "") return;
    if (text === "[DONE]") return this.#end();
    const chunk = eventJson(event, text);
    if (event === "error" || isError(chunk)) {
      return this.#fail(chunk);
    }
    const given = eventObject(chunk);
    if (given === undefined) return;
    const shaped = shapedEvent("chat", undefined, given, this.unknown);
    // What had to be put into form is no example for the chunks that follow.
    this.#chunk(shaped, shaped === chunk ? data : undefined);
  }

  get repeatableText(): RepeatableText | undefined {
    const { kind, pieceAt } = this.#shape;
    if (kind === undefined || kind === "arguments" || pieceAt === 0 || this.#finished) {
      return undefined;
    }
    const isQuiet = this.#open?.kind === kind && this.#logprobs === undefined &&
      (kind !== "text" || this.#sources.isQuiet);
    return isQuiet ? { kind, at: pieceAt } : undefined;
  }

  passed(kind: RepeatableText["kind"], units: number): void {
    if (kind === "text") this.#sources.passed(units);
  }

  bodyEnd(emit: EventSink): void {
    // Some servers omit `[DONE]`; after a finish reason the answer is complete without it.
    this.#emit = emit;
    const isWhole = this.#begun.every((choice) => choice.#finish !== undefined);
    if (!this.#finished && isWhole) this.#end();
  }

  /** The hot path: a chunk of the learnt shape differs only in its piece of text. */
  #takeKnown(data: string): boolean {
    const { kind } = this.#shape;
    const json = this.#shape.match(data);
    if (kind === undefined || json === undefined) return false;
    if (kind === "arguments") return this.#open === undefined && this.#callsOf().takePiece(json);
    this.#text(kind, json);
    return true;
  }

  #fail(holder: Json): void {
    this.#finished = true;
    this.#emit({ type: "error", error: readProviderError(holder) });
  }

  #end(): void {
    this.#finished = true;
    for (const choice of this.#begun) {
      choice.#closeAll();
      choice.#tellStop();
    }
    this.#emit({ type: "end" });
  }

  /** The choices that began; the first if none did. */
  get #begun(): ChatStreamDecoder[] {
    const others = [...this.#others.values()];
    return this.#began || others.length === 0 ? [this, ...others] : others;
  }

  /** Returns the decoder of a choice. */
  #choiceOf(index: number): ChatStreamDecoder {
    if (index === 0) return this;
    const known = this.#others.get(index);
    if (known !== undefined) return known;
    const made = new ChatStreamDecoder(this.#memory, this.#toolUses);
    made.#emit = (event) => this.#emit({ type: "choice", choice: index, event });
    this.#others.set(index, made);
    return made;
  }

  #tellStop(): void {
    const hasCalls = (this.#calls?.count ?? 0) > 0;
    this.#emit({
      type: "stop",
      stop: readFinishReason(this.#finish, hasCalls, this.#refusal),
      ...(this.#finish === undefined ? {} : { raw: this.#finish }),
      ...this.#tier,
      ...this.#moderation,
    });
  }

  #chunk(chunk: JsonObject, data: string | undefined): void {
    // The learnt shape depends on the state before this chunk.
    this.#shape.forget();
    if (!this.#started) {
      this.#started = true;
      this.#emit({ type: "start", ...(typeof chunk.id === "string" ? { id: chunk.id } : {}) });
    }
    if (holds(chunk.service_tier)) this.#tier = readTier(chunk.service_tier);
    if (holds(chunk.moderation)) this.#moderation = readModeration(chunk.moderation);
    const choices = Array.isArray(chunk.choices) ? chunk.choices.filter(isJsonObject) : [];
    const indexed = indexedChoices(choices, this.#memory.choices ?? 1);
    for (const [index] of indexed) this.#choiceOf(index);
    // The lists beside the choices are of all of them.
    this.#sources.list(chunk);
    for (const other of this.#others.values()) other.#sources.list(chunk);
    for (const [index, choice] of indexed) {
      const decoder = this.#choiceOf(index);
      // Aggregators report here that the provider of the answer failed.
      if (isJsonObject(choice.error)) return this.#fail(choice);
      const delta = decoder.#take(choice);
      const isExample = data !== undefined && decoder === this && choices.length === 1;
      if (delta !== undefined && isExample) {
        this.#shape.learn({ chunk, choice, delta }, data, this.#calls?.lastPiece);
      }
      decoder.#finishReason(choice.finish_reason);
      this.#report(readChatUsage(choice.usage));
    }
    if (isJsonObject(chunk.x_groq)) this.#report(readChatUsage(chunk.x_groq.usage));
    this.#report(readChatUsage(chunk.usage));
    countReportedUses(this.#toolUses, chunk.usage);
  }

  /** Takes a choice of a chunk; returns its delta if it has one. */
  #take(choice: JsonObject): JsonObject | undefined {
    this.#began = true;
    const delta = choice.delta ?? choice.message;
    if (!isJsonObject(delta)) return undefined;
    const logprobs = holds(choice.logprobs) ? textLogprobs(choice.logprobs) : [];
    this.#logprobs = logprobs.length === 0 ? undefined : stringifyExactly(logprobs);
    this.#delta(delta);
    return delta;
  }

  #finishReason(reason: Json | undefined): void {
    if (typeof reason !== "string" || reason === "") return;
    // A second reason counts only if the first was `stop` and a call followed.
    if (this.#finish !== undefined && !(this.#finish === "stop" && reason === "tool_calls")) return;
    this.#finish = reason;
    this.#calls?.finish();
    // Text stays open: its sources may follow the finish reason.
    if (this.#open?.kind !== "text") this.#closeText();
    this.#tellStop();
  }

  #delta(delta: JsonObject): void {
    this.#reasoning(delta);
    if (typeof delta.content === "string") this.#string("text", delta.content);
    else if (Array.isArray(delta.content)) this.#parts(delta.content);
    if (typeof delta.refusal === "string" && delta.refusal !== "") {
      this.#refusal = (this.#refusal + delta.refusal).slice(0, maxRefusalChars);
      this.#string("refusal", delta.refusal);
    }
    this.#sound(delta.audio);
    for (const url of picturesOf(delta)) {
      this.#closeText();
      this.#calls?.settle();
      this.#emit({ type: "picture", block: this.#blocks, url });
      this.#emit({ type: "block_end", block: this.#blocks++ });
    }
    if (Array.isArray(delta.tool_calls) && delta.tool_calls.some(isCall)) {
      this.#closeText();
      this.#callsOf().take(delta.tool_calls);
    }
    if (isJsonObject(delta.function_call) && isCall(delta.function_call)) {
      this.#closeText();
      this.#callsOf().takeFunction(delta.function_call);
    }
    if (hasSources(delta.annotations)) this.#toolUses.reported("web_search", 1);
    this.#sources.place(delta);
    if (this.#open?.kind === "text") this.#sources.cite(this.#open.block, this.#emit);
  }

  /** Takes a piece of sound, and what is said in it. */
  #sound(audio: Json | undefined): void {
    if (!isJsonObject(audio)) return;
    const { transcript, data } = audio;
    if (typeof transcript === "string") this.#string("text", transcript);
    if (typeof data !== "string" || data === "") return;
    this.#soundType ??= mediaTypeOfSound(data);
    this.#closeText();
    const block = this.#blocks++;
    this.#emit({ type: "sound", block, mediaType: this.#soundType, data });
    this.#emit({ type: "block_end", block });
  }

  #callsOf(): StreamCalls {
    return this.#calls ??= new StreamCalls({
      emit: (event) => this.#emit(event),
      takeBlock: () => this.#blocks++,
      onNameless: () => this.unknown.add("tool_calls"),
      toolNames: this.#toolNames,
    });
  }

  #reasoning(delta: JsonObject): void {
    const plain = [delta.reasoning_content, delta.reasoning]
      .find((value) => typeof value === "string" && value !== "");
    let shown = false;
    const details = Array.isArray(delta.reasoning_details) ? delta.reasoning_details : [];
    for (const detail of details) {
      const read = readDetail(detail, this.#signer);
      if (read === undefined) continue;
      if (read.text !== "") {
        shown = true;
        this.#string("reasoning", read.text);
      }
      if (read.proof !== undefined) {
        // Details may have only the proof, with the text in the plain field.
        if (!shown && typeof plain === "string") this.#string("reasoning", plain);
        shown ||= typeof plain === "string";
        // Encrypted reasoning is a block of its own beside the text that was shown.
        if (isJsonObject(detail) && detail.type === "reasoning.encrypted") this.#closeText();
        const block = this.#blockOf("reasoning");
        this.#emit({ type: "reasoning_proof", block, proof: read.proof });
        this.#closeText();
      }
    }
    if (!shown && typeof plain === "string") this.#string("reasoning", plain);
  }

  /** Takes content that a few servers stream as parts, with thinking among them. */
  #parts(parts: readonly Json[]): void {
    for (const part of parts) {
      if (!isJsonObject(part)) continue;
      this.#string("reasoning", thinkingText(part));
      if (typeof part.text === "string") this.#string("text", part.text);
      if (typeof part.refusal === "string") this.#string("refusal", part.refusal);
      const kind = unknownPart(part);
      if (kind === undefined) continue;
      this.#closeText();
      this.#emit({ type: "foreign", block: this.#blocks, kind, isLost: true });
      this.#emit({ type: "block_end", block: this.#blocks++ });
    }
  }

  #string(kind: TextKind, text: string): void {
    if (text !== "") this.#text(kind, stringifyExactly(text));
  }

  #text(kind: TextKind, json: string): void {
    const block = this.#blockOf(kind);
    if (kind === "text") {
      this.#sources.cite(block, this.#emit);
      this.#sources.text(json);
    }
    const logprobs = this.#logprobs;
    if (kind !== "text" || logprobs === undefined) return this.#emit({ type: kind, block, json });
    this.#logprobs = undefined;
    this.#emit({ type: kind, block, json, logprobs });
  }

  /** Returns the open block of a kind; ends an open block of another kind. */
  #blockOf(kind: TextKind): number {
    if (this.#open?.kind === kind) return this.#open.block;
    this.#closeText();
    this.#calls?.settle();
    const block = this.#blocks++;
    this.#open = { kind, block };
    if (kind === "text") this.#sources.begin();
    return block;
  }

  #closeText(): void {
    if (this.#open === undefined) return;
    const { kind, block } = this.#open;
    if (kind === "text") this.#sources.end(block, this.#emit);
    this.#emit({ type: "block_end", block });
    this.#open = undefined;
  }

  #closeAll(): void {
    this.#closeText();
    this.#calls?.finish();
  }

  #report(usage: UsageReport): void {
    if (usage.kind === "counts") this.#emit({ type: "usage", usage: usage.usage });
    else if (usage.kind === "absurd") this.#emit({ type: "usage_rejected" });
  }
}

/** Whether a delta brings something of a call. */
function isCall(delta: Json): boolean {
  return isJsonObject(delta) && !isZeroCall(delta);
}

function isError(chunk: Json): boolean {
  if (!isJsonObject(chunk)) return false;
  const { error } = chunk;
  if (isJsonObject(error) || (typeof error === "string" && error !== "")) return true;
  if (chunk.choices !== undefined || chunk.usage !== undefined) return false;
  return chunk.object === "error" || chunk.type === "error" || typeof chunk.detail === "string";
}
