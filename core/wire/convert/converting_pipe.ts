/**
 * Converts a stream from one style to another, and reads its usage and state on the way.
 *
 * Surrogate pairs that a provider split over two pieces of the stream are joined. Each half is legal JSON (`\ud83d`),
 * but strict readers refuse a stream with a piece that ends in half a character.
 */
import type { StreamEvent } from "../conversation/mod.ts";
import type { EventSink, RepeatableText, StreamDecoder, StreamEncoder } from "../stream/dialect.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { maxSseEventBytes } from "../contract/limits.ts";
import { noTokens, type TokenUsage } from "../../billing/tokens/token_bounds.ts";
import { estimateOutputTokens } from "../../billing/tokens/rough_estimate.ts";
import { ByteRanges, encoded, encodedLent, utf16Length } from "../../lib/bytes/byte_parts.ts";
import {
  type KnownFrames,
  RepeatedFrame,
  type SseFrame,
  SseFrameTooLargeError,
  SseSplitter,
} from "../../lib/sse/frame.ts";
import { needsRestoring, restoringSink } from "./convert.ts";
import { inClientTerms } from "../stream/client_model.ts";
import type {
  ConversionMemory,
  PipeContext,
  ProviderStyle,
  StreamPipe,
  StreamReading,
  Style,
} from "../contract/contract.ts";
import { ChoiceEnds } from "../stream/choices.ts";
import { dialectOf, providerDialectOf } from "./dialects.ts";
import { literalBytes } from "../../lib/json/json_literal.ts";
import { enterText, joinReports, newStreamReading } from "../stream/reading.ts";
import { stopFailure } from "../fields/stop_words.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import { pictureOutputBytes, withoutMedia } from "../fields/pictures.ts";
import { type AnswerClient, loneFailure, type LostPart, lostPart } from "./lost_parts.ts";
import { clientPlaces, streamFailure, unknownFailure } from "../stream/answer_gate.ts";
import { sseComment } from "../../lib/sse/writer.ts";
import { searchOfSourcesSink } from "../tools/hosted_calls.ts";
import { thinkingSink } from "./think_tags.ts";

type Piece = Extract<StreamEvent, { readonly json: string }>;

/** The first half of a pair, as the last escape of the literal: ten bits of a character beyond the 65,536th. */
const firstHalf = /\\u[dD][89abAB][0-9a-fA-F]{2}"$/;
const secondHalf = /^"\\u[dD][c-fC-F][0-9a-fA-F]{2}/;
/** Characters of one escape. */
const escapeChars = 6;
/** Replaces half a character whose other half never came (U+FFFD). */
const replacement = "\\ufffd";

/**
 * Passes events on. The first half of a pair at the end of a piece waits for the next piece of its block: six characters
 * for each open block. A half without its partner becomes U+FFFD.
 *
 * @example
 * ```ts
 * import { joiningSink } from "./converting_pipe.ts";
 * const out: string[] = [];
 * const sink = joiningSink((event) => "json" in event && out.push(event.json));
 * sink({ type: "text", block: 0, json: '"a\\ud83d"' });
 * sink({ type: "text", block: 0, json: '"\\ude00b"' });
 * if (out.join() !== '"a","\\ud83d\\ude00b"') throw new Error(out.join());
 * ```
 */
export function joiningSink(emit: EventSink): EventSink {
  const joining = new Joining(emit);
  return (event) => joining.take(event);
}

/** Whether a literal begins or ends with an escape that may be half a pair, which is rare. */
function mayBeSplit(json: string): boolean {
  return json.charCodeAt(json.length - 1 - escapeChars) === 0x5c || json.charCodeAt(1) === 0x5c;
}

class Joining {
  readonly #emit: EventSink;
  /** First halves that wait, by block. */
  readonly #held = new Map<number, Piece>();

  constructor(emit: EventSink) {
    this.#emit = emit;
  }

  take(event: StreamEvent): void {
    if ("json" in event) {
      if (this.#held.size === 0 && !mayBeSplit(event.json)) this.#emit(event);
      else this.#piece(event);
      return;
    }
    if (this.#held.size > 0) this.#settle(event);
    this.#emit(event);
  }

  /** Replaces the halves that no partner can follow after this event. */
  #settle(event: Exclude<StreamEvent, Piece>): void {
    if (event.type === "citation") return;
    if ("block" in event) this.#release(event.block);
    else if (event.type === "stop" || event.type === "end" || event.type === "error") {
      for (const block of [...this.#held.keys()]) this.#release(block);
    }
  }

  #piece(event: Piece): void {
    const { block } = event;
    const held = this.#held.get(block);
    if (held !== undefined && held.type !== event.type) this.#release(block);
    const half = this.#held.get(block);
    this.#held.delete(block);
    const whole = this.#joined(half, event);
    if (!endsInHalf(whole.json)) return this.#emit(whole);
    const at = whole.json.length - 1 - escapeChars;
    this.#held.set(block, { ...whole, json: `"${whole.json.slice(at)}` });
    if (at > 1) this.#emit(withoutLogprobs({ ...whole, json: `${whole.json.slice(0, at)}"` }));
  }

  #joined(half: Piece | undefined, event: Piece): Piece {
    const followed = secondHalf.test(event.json);
    if (half === undefined) {
      if (!followed) return event;
      return { ...event, json: `"${replacement}${event.json.slice(1 + escapeChars)}` };
    }
    const first = followed ? half.json.slice(1, -1) : replacement;
    const joined = { ...event, json: `"${first}${event.json.slice(1)}` };
    if (half.type !== "text" || joined.type !== "text") return joined;
    const logprobs = [half.logprobs, joined.logprobs].filter((list) => list !== undefined);
    return logprobs.length === 0
      ? joined
      : { ...joined, logprobs: `[${logprobs.map((list) => list.slice(1, -1)).join()}]` };
  }

  /** Replaces the waiting half of a block: no more of its text can follow. */
  #release(block: number): void {
    const half = this.#held.get(block);
    if (half === undefined) return;
    this.#held.delete(block);
    this.#emit({ ...half, json: `"${replacement}"` });
  }
}

/** Keeps log probabilities with the waiting half: their token may be the one that was split. */
function withoutLogprobs(piece: Piece): Piece {
  if (piece.type !== "text") return piece;
  const { logprobs: _, ...rest } = piece;
  return rest;
}

function endsInHalf(json: string): boolean {
  if (!firstHalf.test(json)) return false;
  // An even number of backslashes before the `u` are backslashes themselves.
  let at = json.length - 1 - escapeChars;
  let slashes = 0;
  for (; json.charCodeAt(at) === 0x5c; at--) slashes++;
  return slashes % 2 === 1;
}

// Converts frames that differ from the one before in a text only: the text moves from the bytes around it to the bytes that
// the client's style has around it, without being decoded.

/** Events that a client reads something of. */
const isOutput: ReadonlySet<StreamEvent["type"]> = new Set<StreamEvent["type"]>([
  "text",
  "refusal",
  "reasoning",
  "call",
  "hosted_call",
]);

/** Most names of one stream that are told with its end. */
const maxLostNames = 16;

const encoder = new TextEncoder();
const nothing = new Uint8Array(0);

/** Options of the conversion of a repeated frame. */
interface RepeatedTextOptions {
  readonly decoder: StreamDecoder;
  readonly encoder: StreamEncoder;
  readonly reading: StreamReading;
}

/** The repeated texts of one converted stream. */
class RepeatedText {
  readonly #options: RepeatedTextOptions;
  readonly #repeated = new RepeatedFrame();
  #kind: RepeatableText["kind"] = "text";
  #block = 0;
  #before: Uint8Array = nothing;
  #after: Uint8Array = nothing;

  constructor(options: RepeatedTextOptions) {
    this.#options = options;
  }

  get isKnown(): boolean {
    return this.#repeated.isKnown;
  }

  forget(): void {
    this.#repeated.forget();
  }

  /** Learns from a frame that gave only `event`, for which `written` was written. */
  learn(frame: SseFrame, data: string, event: StreamEvent, written: string): void {
    const text = this.#options.decoder.repeatableText;
    if (text === undefined || event.type !== text.kind || frame.dataLines !== 1) return;
    const around = this.#options.encoder.textFrame?.(text.kind, event.block);
    if (around === undefined || written !== around.before + event.json + around.after) return;
    const quoteAt = frame.payloadStart + encoder.encode(data.slice(0, text.at)).length;
    if (!this.#repeated.learnText(frame, quoteAt + 1)) return;
    this.#kind = text.kind;
    this.#block = event.block;
    this.#before = encoder.encode(around.before);
    this.#after = encoder.encode(around.after);
  }

  /** Converts the frame that begins at `from`; returns its end, or -1 if it is another one. */
  convert(bytes: Uint8Array, from: number, out: ByteRanges): number {
    const repeated = this.#repeated;
    const end = repeated.match(bytes, from, bytes.length);
    if (end === -1) return -1;
    const { textStart, textEnd, textLength } = repeated;
    const units = utf16Length(bytes, textStart, textEnd);
    if (units <= 0) return -1;
    const escapes = textEnd - textStart - textLength;
    const { decoder, encoder: writer, reading } = this.#options;
    decoder.passed?.(this.#kind, units - escapes);
    writer.passed?.(this.#kind, this.#block, units - escapes);
    enterText(reading, textLength, this.#kind === "text");
    out.add(this.#before, 0, this.#before.length);
    out.add(bytes, textStart - 1, textEnd + 1);
    out.add(this.#after, 0, this.#after.length);
    return end;
  }
}

/**
 * A pipe for a client that speaks another style than the upstream.
 *
 * The first bytes of an answer (its preamble) may come before any output of the model: a caller that may still move to
 * another route holds them until `reading.sawOutput`.
 *
 * @example
 * ```ts
 * import { createConvertingPipe } from "./converting_pipe.ts";
 * const context = { clientModel: "m", requestId: "req_1", clientWantsUsage: false, nowSeconds: 0 };
 * const pipe = createConvertingPipe("chat", "messages", context, {});
 * const chunk = 'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\ndata: [DONE]\n\n';
 * const out = new TextDecoder().decode(pipe.push(new TextEncoder().encode(chunk)));
 * if (!out.includes('{"type":"text_delta","text":"Hi"}') || out.includes("message_stop")) throw new Error(out);
 * if (!new TextDecoder().decode(pipe.end()).includes("message_stop")) throw new Error("no end");
 * ```
 */
export function createConvertingPipe(
  upstreamStyle: ProviderStyle,
  clientStyle: Style,
  context: PipeContext,
  memory: ConversionMemory,
  onLost?: (what: string) => void,
): StreamPipe {
  const encoder = dialectOf(clientStyle).createStreamEncoder(context, memory);
  const decoder = providerDialectOf(upstreamStyle).createStreamDecoder(memory);
  return pipeFrom(decoder, encoder, { clientStyle, memory, context, onLost });
}

/** The call whose answer a pipe brings. */
export interface PipedCall {
  readonly clientStyle: Style;
  readonly memory: ConversionMemory;
  readonly context: PipeContext;
  /** Gets the name of each part that the client's style has no place for; what it throws ends the stream. */
  readonly onLost?: ((what: string) => void) | undefined;
}

/** Creates a pipe from any decoder to any encoder. */
export function pipeFrom(
  decoder: StreamDecoder,
  encoder: StreamEncoder,
  call: PipedCall,
): StreamPipe {
  return new ConvertingPipe(decoder, encoder, call);
}

class ConvertingPipe implements StreamPipe {
  readonly reading: StreamReading = newStreamReading();
  readonly #decoder: StreamDecoder;
  readonly #encoder: StreamEncoder;
  readonly #context: PipeContext;
  readonly #splitter = new SseSplitter(maxSseEventBytes);
  /** The sink of decoded events: updates the reading, then encodes for the client. */
  readonly #onEvent: EventSink;
  /** The sink behind the steps that join characters, separate thinking and restore tools. */
  readonly #write: EventSink;
  readonly #memory: ConversionMemory;
  readonly #clientStyle: Style;
  readonly #client: AnswerClient;
  readonly #onLost: ((what: string) => void) | undefined;
  /** Notes of lost parts that wait until the client gets anything of the answer. */
  #heldNotes: { readonly choice: number; readonly block: number; readonly note: string }[] = [];
  /** Whether media was lost, whose tokens are not charged. */
  #lostMedia = false;
  #lostSound = false;
  /** Names that the client gets with the end: what events had beside the shape of their style. */
  #lostNames: Set<string> | undefined;
  #stop: Extract<StreamEvent, { readonly type: "stop" }> | undefined;
  /** The same sinks of further choices, by their index. */
  readonly #others = new Map<number, EventSink>();
  /** Absent unless the client asked for several choices. */
  readonly #ends: ChoiceEnds | undefined;
  readonly #visit = (frame: SseFrame): boolean => this.#frame(frame);
  /** Absent where steps between decoder and encoder depend on the text. */
  readonly #repeated: RepeatedText | undefined;
  readonly #known: KnownFrames | undefined;
  /** Output of this push: ranges of bytes, then text. */
  readonly #ranges = new ByteRanges();
  #out = "";
  /** The events of the frame that is being read: how many, and the last. */
  #eventCount = 0;
  #lastEvent: StreamEvent | undefined;
  #failure: GatewayError | undefined;

  constructor(
    decoder: StreamDecoder,
    encoder: StreamEncoder,
    { clientStyle, memory, context, onLost }: PipedCall,
  ) {
    this.#context = context;
    this.#clientStyle = clientStyle;
    this.#client = { style: clientStyle, wantsSound: memory.wantsSound === true };
    this.#onLost = onLost;
    this.#decoder = decoder;
    this.#encoder = encoder;
    this.#memory = memory;
    if ((memory.choices ?? 1) > 1) this.#ends = new ChoiceEnds();
    const write: EventSink = (event) => {
      this.#out += this.#encoder.encode(event);
    };
    const split = splitAndRestored(memory, write);
    this.#write = joiningSink(split);
    this.#onEvent = (event) => this.#take(event);
    if (split !== write) return;
    this.#repeated = new RepeatedText({ decoder, encoder, reading: this.reading });
    this.#known = (bytes, from) => this.#passRepeated(bytes, from);
  }

  push(bytes: Uint8Array): Uint8Array {
    this.#read(bytes);
    if (this.#ranges.isEmpty) return this.#takeOut();
    this.#moveOut();
    return this.#ranges.take(bytes);
  }

  pushLent(bytes: Uint8Array): Uint8Array {
    this.#read(bytes);
    if (!this.#ranges.isEmpty) {
      this.#moveOut();
      return this.#ranges.lend();
    }
    const text = this.#out;
    if (text === "") return nothing;
    this.#out = "";
    return encodedLent(text);
  }

  #read(bytes: Uint8Array): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.reading.state !== "open") return;
    this.#guarded(() => this.#splitter.push(bytes, this.#visit, this.#known));
    // The output before the failure still reaches the client; the next call reports the failure.
    const isEmpty = this.#out === "" && this.#ranges.isEmpty;
    if (this.#failure !== undefined && isEmpty) throw this.#failure;
  }

  #passRepeated(bytes: Uint8Array, from: number): number {
    // Nothing to compare with is the usual case of a stream that has just begun.
    if (this.#repeated?.isKnown !== true) return -1;
    this.#moveOut();
    return this.#repeated.convert(bytes, from, this.#ranges);
  }

  /** Moves what was written as text behind the ranges. */
  #moveOut(): void {
    if (this.#out === "") return;
    const text = encoder.encode(this.#out);
    this.#out = "";
    this.#ranges.add(text, 0, text.length);
  }

  end(): Uint8Array {
    if (this.reading.state === "open" && this.#failure === undefined) {
      this.#guarded(() => {
        const rest = this.#splitter.takeRest();
        if (rest !== undefined) this.#frame(rest);
        if (this.reading.state === "open") this.#decoder.bodyEnd(this.#onEvent);
      });
    }
    if (this.reading.state === "completed") {
      this.#guarded(() => this.#writeEnd());
      if (this.#failure === undefined) return this.#takeOut();
    }
    return this.fail(
      this.reading.error ?? this.#failure ??
        new GatewayError("upstream_unreachable", "The provider's answer broke off"),
    );
  }

  fail(error: GatewayError): Uint8Array {
    this.#out += this.#encoder.encode({ type: "error", error });
    return this.#takeOut();
  }

  stopForLength(usage: TokenUsage): Uint8Array {
    this.#guarded(() => {
      this.#write({ type: "usage", usage });
      // A stop reason that the provider already sent stays.
      const open = this.#ends?.open ?? (this.reading.stopReason === undefined ? [0] : []);
      for (const choice of open) {
        this.#sinkOf(choice)({ type: "stop", stop: { reason: "length" } });
      }
      this.#writeEnd();
    });
    return this.#failure === undefined ? this.#takeOut() : this.fail(this.#failure);
  }

  /** Ends all choices, the first one last: with it goes what they have in common. */
  #writeEnd(): void {
    if (this.#lostNames !== undefined) this.#writeLostNames(this.#lostNames);
    const { countedInput } = this.#context;
    if (countedInput !== undefined && this.reading.usage === undefined) {
      const output = estimateOutputTokens(this.reading.outputBytes);
      this.#write({ type: "usage", usage: { ...noTokens, input: countedInput, output } });
    }
    for (const sink of this.#others.values()) sink({ type: "end" });
    this.#write({ type: "end" });
  }

  /** The sink of a choice. */
  #sinkOf(choice: number): EventSink {
    if (choice === 0) return this.#write;
    const known = this.#others.get(choice);
    if (known !== undefined) return known;
    const made = joiningSink(splitAndRestored(this.#memory, (event) => {
      this.#out += this.#encoder.encode({ type: "choice", choice, event });
    }));
    this.#others.set(choice, made);
    return made;
  }

  #takeOut(): Uint8Array {
    const text = this.#out;
    if (text === "") return nothing;
    this.#out = "";
    return encoded(text);
  }

  /** Keeps an error of the upstream for the caller; rethrows bugs of the gateway. */
  #guarded(run: () => void): void {
    try {
      run();
    } catch (error) {
      if (error instanceof GatewayError) {
        this.#failure = error;
      } else if (error instanceof SseFrameTooLargeError) {
        this.#failure = new GatewayError(
          "upstream_unreachable",
          "The provider sent an event beyond the size limit",
          { cause: error },
        );
      } else throw error;
    }
  }

  #frame(frame: SseFrame): boolean {
    // Comments only keep the upstream connection alive; the caller keeps the client's alive.
    const data = frame.dataLines === 0 ? frame.bareObject : frame.data;
    if (data === undefined) return true;
    this.#repeated?.forget();
    this.#eventCount = 0;
    const written = this.#out.length;
    this.#decoder.frame(frame.event || undefined, data, this.#onEvent);
    this.reading.toolUses = this.#decoder.toolUses;
    const unknown = this.#decoder.unknown?.take();
    if (unknown !== undefined && unknown.length > 0) this.#nameUnknown(unknown);
    const event = this.#lastEvent;
    this.#lastEvent = undefined;
    if (this.#eventCount === 1 && event !== undefined) {
      this.#repeated?.learn(frame, data, event, this.#out.slice(written));
    }
    return this.reading.state === "open";
  }

  #measure(bytes: number, isAnswer: boolean): void {
    this.reading.outputBytes += bytes;
    if (isAnswer) this.reading.answerBytes += bytes;
  }

  #take(event: StreamEvent): void {
    // A decoder goes on after a stop that turned out to be a failure.
    if (this.reading.state !== "open") return;
    this.#eventCount++;
    this.#lastEvent = event;
    if (event.type === "choice") this.#takeOf(event.choice, event.event);
    else this.#takeOf(0, event);
  }

  #takeOf(choice: number, event: StreamEvent): void {
    const { reading } = this;
    if (this.#ends !== undefined && "block" in event) this.#note(choice, undefined);
    if (this.#heldNotes.length > 0 && isOutput.has(event.type)) this.#writeHeldNotes();
    switch (event.type) {
      case "text":
      case "refusal":
      case "reasoning":
      case "arguments":
        reading.sawOutput = true;
        this.#measure(literalBytes(event.json), event.type !== "reasoning");
        break;
      case "picture":
      case "sound": {
        const lost = lostPart(event, this.#client);
        if (lost !== undefined) return this.#lose(choice, event.block, lost);
        if (this.#heldNotes.length > 0) this.#writeHeldNotes();
        reading.sawOutput = true;
        this.#measure(pictureOutputBytes, true);
        break;
      }
      case "foreign": {
        const lost = lostPart(event, this.#client);
        if (lost !== undefined) return this.#lose(choice, event.block, lost);
        break;
      }
      case "call":
        reading.sawOutput = true;
        break;
      case "hosted_call":
        if (clientPlaces[this.#clientStyle].hosted_call === "read") reading.sawOutput = true;
        break;
      case "reasoning_proof":
        // A signature is for the provider: an answer of signatures alone says nothing.
        if (event.proof.kind === "redacted") {
          reading.sawOutput = true;
          reading.outputBytes += event.proof.data.length;
        }
        break;
      case "usage": {
        const reported = this.#lostMedia
          ? withoutMedia(event.usage, { bytes: reading.answerBytes })
          : event.usage;
        const usage = joinReports(reading.usage, reported);
        reading.usage = usage;
        reading.usageRejected = false;
        return this.#write({ type: "usage", usage });
      }
      case "usage_rejected":
        reading.usageRejected = true;
        break;
      case "stop":
        if (event.stop.reason === "unknown" && this.#ends === undefined) {
          const failure = stopFailure([event.raw], reading.sawOutput);
          if (failure !== undefined) return this.#take({ type: "error", error: failure });
        }
        this.#note(choice, event.raw);
        if (choice === 0) this.#stop = event;
        if (event.serviceTier !== undefined) reading.serviceTier = event.serviceTier;
        // A refusal without any block is output too.
        if (event.stop.reason === "refusal") reading.sawOutput = true;
        break;
      case "end": {
        // With several choices, an answer of which one is good is used.
        const failure = stopFailure(this.#ends?.reasons ?? [], reading.sawOutput) ??
          (reading.sawOutput ? undefined : streamFailure(reading));
        if (failure !== undefined) return this.#take({ type: "error", error: failure });
        // Kept for `end()`, so that the caller can settle before the client sees the answer complete.
        reading.state = "completed";
        return;
      }
      case "error":
        reading.state = "error";
        reading.error = inClientTerms(event.error, this.#context);
        return;
    }
    this.#sinkOf(choice)(event);
  }

  /** Puts a note in the place of a part that the client does not get, once it gets anything. */
  #lose(choice: number, block: number, lost: LostPart): void {
    const { reading } = this;
    // Sound comes in many pieces.
    if (lost.kind === "audio" && this.#lostSound) return;
    this.#lostSound ||= lost.kind === "audio";
    this.#onLost?.(`answer.${lost.kind}`);
    reading.lost ??= loneFailure(lost, this.#clientStyle);
    this.#lostMedia ||= lost.isMedia;
    this.#heldNotes.push({ choice, block, note: lost.note });
    if (reading.sawOutput) this.#writeHeldNotes();
  }

  #writeHeldNotes(): void {
    const held = this.#heldNotes;
    this.#heldNotes = [];
    for (const { choice, block, note } of held) {
      const sink = this.#sinkOf(choice);
      sink({ type: "text", block, json: stringifyExactly(note) });
      sink({ type: "block_end", block });
    }
  }

  /** Names what was lost since the header was sent: in a comment, or where the style explains its end. */
  #writeLostNames(lost: ReadonlySet<string>): void {
    const names = [...lost].map((name) => `answer.${name}`).join(",");
    if (this.#clientStyle !== "gemini") {
      this.#out += sseComment(`x-gateway-conversion: dropped=${names}`);
      return;
    }
    // Libraries of Gemini read any line without data as JSON.
    const told = this.#stop;
    if (told === undefined) return;
    const explanation = told.stop.explanation ?? `Left out: ${names}`;
    this.#write({ ...told, stop: { ...told.stop, explanation } });
  }

  /** Names what events had beside the shape of their style. */
  #nameUnknown(names: readonly string[]): void {
    const lost = this.#lostNames ??= new Set();
    for (const name of names) {
      if (lost.size >= maxLostNames || lost.has(name)) continue;
      lost.add(name);
      this.#onLost?.(`answer.${name}`);
      this.reading.lost ??= unknownFailure(name);
    }
  }

  /** Enters that a choice began, or why it stopped. */
  #note(choice: number, reason: string | undefined): void {
    if (this.#ends !== undefined) {
      this.#ends.note(choice, reason);
      this.reading.stopReason = this.#ends.reason;
    } else if (reason !== undefined) this.reading.stopReason = reason;
  }
}

/** The steps that separate thinking, restore tools and show searches. */
function splitAndRestored(memory: ConversionMemory, write: EventSink): EventSink {
  const shown = memory.sourcesAsSearch === true ? searchOfSourcesSink(write) : write;
  const restored = needsRestoring(memory) ? restoringSink(memory, shown) : shown;
  const { thinkTags } = memory;
  return thinkTags === undefined ? restored : thinkingSink(thinkTags, restored);
}
