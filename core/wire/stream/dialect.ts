/**
 * The interface that a wire style implements for conversion. A new style is a new folder that implements it, and entries
 * in the tables by style, which the compiler then requires.
 *
 * All methods are pure and synchronous. Inside a dialect a wrong field throws a `GatewayError` that names the field;
 * `core/wire/convert/convert.ts` turns it into a value.
 *
 * - Folder `core/wire/stream/`: what the streams of all styles share: the interface of a style, reading usage, the
 *   client's name of the model, the order of blocks.
 * - In: upstream bytes, piece by piece, and events of a conversation.
 * - Out: client bytes, events in a legal order, usage and state of an answer.
 * - Never: awaits, or imports the folder of a style.
 */
import type { ToolUses } from "../../billing/usage/hosted_tools.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type {
  AnswerReading,
  ConversionMemory,
  ConversionOptions,
  PipeContext,
  ProviderStyle,
  Style,
} from "../contract/contract.ts";
import type { Answer, Conversation, StreamEvent } from "../conversation/mod.ts";
import type { UnknownNames } from "./answer_shape.ts";

/** A whole answer in the form of its style, and what was read of it for the charge. */
export interface ReadAnswer {
  readonly body: JsonObject;
  /** Without an error. */
  readonly reading: AnswerReading;
}

/** The provider's side of a wire style: requests to a provider, and its answers. */
export interface ProviderDialect {
  readonly style: ProviderStyle;
  /**
   * Writes a conversation as a request of this style. The conversation went through
   * `core/wire/fields/normalize_turns.ts` before (turns merged, every call answered by a result at the start of the next
   * turn, ids unique) and through `core/wire/tools/tool_preparation.ts` (names, ids and schemas legal at the route,
   * free-text tools turned into functions if the route has none). `core/wire/convert/convert.ts` reverses the
   * latter, so decoders and encoders need not.
   *
   * @throws {GatewayError} `conversion_refused` naming the field, in the client's path, that cannot be carried
   */
  encodeRequest(conversation: Conversation, options: ConversionOptions): EncodedRequest;
  /**
   * Reads a whole answer of an upstream of this style.
   *
   * @throws {GatewayError} `upstream_unreachable` if it is not an answer
   */
  decodeAnswer(answer: ReadAnswer, memory: ConversionMemory): Answer;
  /** Reads the frames of one stream of an upstream of this style. */
  createStreamDecoder(memory: ConversionMemory): StreamDecoder;
}

/** The implementation of a wire style that clients speak too: decoders, encoders, streams. */
export interface Dialect extends ProviderDialect {
  readonly style: Style;
  /**
   * Reads a request of this style.
   *
   * @throws {GatewayError} `invalid_request` naming the field that is wrong, `conversion_refused` naming the one
   *   that no other style can carry
   */
  decodeRequest(body: JsonObject): Conversation;
  /** Writes an answer for a client of this style. */
  encodeAnswer(answer: Answer, context: PipeContext, memory: ConversionMemory): JsonObject;
  /** Writes one stream for a client of this style. */
  createStreamEncoder(context: PipeContext, memory: ConversionMemory): StreamEncoder;
}

/** A request as an encoder wrote it. */
export interface EncodedRequest {
  readonly body: JsonObject;
  /** Paths that the encoder dropped or approximated; the caller adds the conversation's own warnings. */
  readonly warnings: readonly string[];
  readonly memory: ConversionMemory;
  /** Values of `anthropic-beta` that the body needs at a Messages vendor. */
  readonly betas?: readonly string[];
}

/** Place of a text in the data of a frame. */
export interface RepeatableText {
  readonly kind: "text" | "reasoning";
  /** Offset of the opening quote of its literal. */
  readonly at: number;
}

/** Bytes that are written around the literal of a text. */
export interface TextFrame {
  readonly before: string;
  readonly after: string;
}

/** Takes the events of a stream in order. */
export type EventSink = (event: StreamEvent) => void;

/** Reads the frames of an upstream into events of the conversation. One per stream. */
export interface StreamDecoder {
  /** Runs of its tools by the provider so far; `undefined` if nothing tells. */
  readonly toolUses?: ToolUses | undefined;
  /** Names of what the events so far have beside the shape of the style. */
  readonly unknown?: UnknownNames;
  /**
   * Takes one SSE event: the value of its `event:` line if it had one, and its data.
   *
   * @throws {GatewayError} `upstream_unreachable` if the frame is not an event of this style or a bound is exceeded
   */
  frame(event: string | undefined, data: string, emit: EventSink): void;
  /**
   * The text of the last frame, if a frame that differs from it in nothing else would give the same event with another
   * text. Absent in decoders without such frames.
   */
  readonly repeatableText?: RepeatableText | undefined;
  /** Counts a frame with a text of so many UTF-16 units that was not given to {@linkcode frame}. */
  passed?(kind: RepeatableText["kind"], units: number): void;
  /** Ends the stream: emits `end` if the end of the body is a clean end in this style and none was emitted before. */
  bodyEnd(emit: EventSink): void;
}

/** Writes events of the conversation as text of SSE frames. One per stream. */
export interface StreamEncoder {
  /**
   * Writes one event; returns an empty string if the client gets nothing now. `end` returns everything that is held back
   * and closes the stream cleanly; `error` closes it with an error of the style and drops what is held back.
   *
   * @throws {GatewayError} `upstream_unreachable` if the bound on buffered tool calls is exceeded
   */
  encode(event: StreamEvent): string;
  /**
   * Bytes that would be written around the text of another event of this kind in this block, if that depends on nothing
   * else. Absent in encoders that write each event in another way.
   */
  textFrame?(kind: RepeatableText["kind"], block: number): TextFrame | undefined;
  /** Counts a text of so many UTF-16 units that was written without {@linkcode encode}. */
  passed?(kind: RepeatableText["kind"], block: number, units: number): void;
}
