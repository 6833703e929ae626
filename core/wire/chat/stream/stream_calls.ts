/** Assembles the tool calls of one Chat stream from their deltas, with the known deviations of servers. */
import { GatewayError } from "../../../lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import {
  bufferedBlockBytes,
  maxToolCallsPerAnswer,
  streamCitationChars,
} from "../../contract/limits.ts";
import type { EventSink } from "../../stream/dialect.ts";
import { JsonProgress, literalLength } from "../../../lib/json/json_literal.ts";
import { stringifyExactly } from "../../../lib/runtime/mod.ts";
import { isZeroCall } from "../answer/answer_reading.ts";
import { isCustomCall, readCallId } from "../answer/decode_answer.ts";
import { readThoughtSignature } from "../answer/reasoning_details.ts";
import { citationChars } from "../../content/citations.ts";
import type { Citation } from "../../conversation/mod.ts";
import {
  movedBack,
  readAnnotations,
  readListedSources,
  unplacedSources,
} from "../answer/sources.ts";

// Assigns the web sources of one Chat stream to the text they belong to, wherever in the stream they come.

/** Characters that a buffered source takes beside its texts. */
const overheadChars = 128;

/**
 * Collects the sources of a Chat stream.
 *
 * Servers send annotations before the text, within it or after it, once or with every chunk, and
 * count positions from the beginning of the whole text, which may be several blocks here.
 */
export class StreamSources {
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

/** What the decoder gives to the reader of its tool calls. */
export interface StreamCallsInput {
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
export class StreamCalls {
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
