/**
 * What one wire style must be able to do for conversion. A new style is one new folder that implements this, and
 * its lines in the tables by style, which the compiler then asks for.
 *
 * All of it is pure and synchronous. Inside a dialect a wrong field ends in a thrown `GatewayError` that
 * names the field; `convert.ts` turns it into a value.
 *
 * - Folder `core/wire/stream/`: streams: the table of styles, native and converting pipes, the
 *   name of the model, block order.
 * - In: upstream bytes, piece by piece.
 * - Out: client bytes, and what was read of usage and output on the way.
 * - Never: awaits, or makes an answer that broke off look complete: its stream ends with an error
 *   event.
 */
import type { JsonObject } from "../../lib/json/json.ts";
import type { ConversionMemory, ConversionOptions, PipeContext, Style } from "../contract.ts";
import type { Answer, Conversation, StreamEvent } from "../conversation/mod.ts";

/** The implementation of one wire style: decoders, encoders, streams. */
export interface Dialect {
  readonly style: Style;
  /**
   * Reads a request of this style.
   *
   * @throws {GatewayError} `invalid_request` naming the field that is wrong, `conversion_refused` naming the one
   *   that no other style can carry
   */
  decodeRequest(body: JsonObject): Conversation;
  /**
   * Writes a conversation as a request of this style. The conversation went through `normalize_turns.ts` before (turns
   * merged, every call answered by a result that stands first in the next turn, ids unique) and through
   * `tool_preparation.ts` (names, ids and schemas legal at the route, free-text tools turned into functions where
   * the route has none; undone in the answer by `answer_restoration.ts`, so neither decoder nor encoder cares).
   *
   * @throws {GatewayError} `conversion_refused` naming the field, in the client's path, that cannot be carried
   */
  encodeRequest(conversation: Conversation, options: ConversionOptions): EncodedRequest;
  /**
   * Reads a whole answer of an upstream of this style.
   *
   * @throws {GatewayError} the provider's error when a 200 holds one; `upstream_unreachable` when it is no answer
   */
  decodeAnswer(body: JsonObject, memory: ConversionMemory): Answer;
  /** Writes an answer for a client of this style. */
  encodeAnswer(answer: Answer, context: PipeContext, memory: ConversionMemory): JsonObject;
  /** Reads the frames of one stream of an upstream of this style. */
  createStreamDecoder(memory: ConversionMemory): StreamDecoder;
  /** Writes one stream for a client of this style. */
  createStreamEncoder(context: PipeContext, memory: ConversionMemory): StreamEncoder;
}

/** A request as an encoder wrote it. */
export interface EncodedRequest {
  readonly body: JsonObject;
  /** Paths that this style could not carry or had to approximate; the conversation's own warnings are added by the caller. */
  readonly warnings: readonly string[];
  readonly memory: ConversionMemory;
  /** Values of `anthropic-beta` that the body needs at a Messages vendor. */
  readonly betas?: readonly string[];
}

/** Takes the events of a stream in order. */
export type EventSink = (event: StreamEvent) => void;

/** Upstream frames in, conversation events out. One per stream. */
export interface StreamDecoder {
  /**
   * Takes one SSE event: the value of its `event:` line if it had one, and its data.
   *
   * @throws {GatewayError} `upstream_unreachable` when the frame is no event of this style or a bound is passed
   */
  frame(event: string | undefined, data: string, emit: EventSink): void;
  /** The body ended. Emits `end` if that is a clean end in this style and none was emitted yet. */
  bodyEnd(emit: EventSink): void;
}

/** Conversation events in, text of SSE frames out. One per stream. */
export interface StreamEncoder {
  /**
   * The text for one event; empty when the client need not see it (yet). `end` returns everything that is still held
   * back and closes the stream cleanly; `error` closes it with an error of the style and drops what is held back.
   *
   * @throws {GatewayError} `upstream_unreachable` when a bound on buffered tool calls is passed
   */
  encode(event: StreamEvent): string;
}
