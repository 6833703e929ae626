/** Events that streams of pictures and of speech have in common. */
import type { Span } from "../../calls/body/json_body.ts";
import type { StreamPipe, StreamReading } from "../../wire/contract/contract.ts";
import {
  type FrameFate,
  frameJson,
  newStreamReading,
  type StreamMeter,
} from "../../wire/stream/reading.ts";
import { readProviderError } from "../../wire/errors/provider_error.ts";
import { errorBody, GatewayError } from "../../lib/errors/errors.ts";
import { FrameEdits, type SseFrame } from "../../lib/sse/frame.ts";
import { JsonCursor, type JsonKey, jsonKey } from "../../lib/json/json_cursor.ts";
import { encodeSseEvent } from "../../lib/sse/writer.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";

const typeKey = jsonKey("type");
const errorKey = jsonKey("error");

/** Encodes an error event of a media stream. */
export function mediaErrorEvent(error: GatewayError, requestId: string): Uint8Array {
  return encodeSseEvent(stringifyExactly(errorBody(error, "chat", requestId)), "error");
}

/** An event that is not an error, as far as meters read it. */
export interface MediaEvent {
  readonly type: string;
  /** Bytes of the members that hold output; `undefined` if none of them is a text. */
  readonly contentBytes: number | undefined;
}

/**
 * The common part of meters of media streams: bytes pass unchanged, and an error is taken out of
 * the stream.
 *
 * Only the few members that identify an event are read; its contents may be a whole picture and are
 * skipped.
 */
export abstract class MediaMeter implements StreamMeter {
  readonly reading: StreamReading = newStreamReading();
  readonly edits = new FrameEdits();
  readonly #cursor = new JsonCursor();
  readonly #contentKeys: readonly JsonKey[];
  /** The place of the value of `error` in the payload of an event that is one. */
  protected errorPlace: Span = { start: 0, end: 0 };

  /** @param contents the members of events that hold output: text, base64 or an address */
  constructor(contents: readonly string[]) {
    this.#contentKeys = contents.map(jsonKey);
  }

  read(frame: SseFrame): FrameFate {
    if (frame.dataLines === 0 || frame.payloadIs("[DONE]")) return "pass";
    let named = "";
    let contentBytes: number | undefined;
    let hasError = false;
    const cursor = this.#cursor;
    cursor.reset(frame.payload, frame.payloadStart, frame.payloadEnd);
    const isObject = cursor.enterObject();
    while (isObject && cursor.nextMember()) {
      if (cursor.keyIs(typeKey) && cursor.isString) named = String(cursor.takeValue());
      else if (this.#contentKeys.some((key) => cursor.keyIs(key))) {
        const { isString } = cursor;
        const length = cursor.takeTextLength();
        if (isString) contentBytes = (contentBytes ?? 0) + length;
      } else {
        const isError = cursor.keyIs(errorKey) && !cursor.isNull;
        const start = cursor.at;
        cursor.skip();
        if (isError) {
          hasError = true;
          this.errorPlace = { start, end: cursor.at };
        }
      }
    }
    const type = frame.event === "" ? named : frame.event;
    if (hasError || type === "error") return this.readError(type, frame);
    return this.readEvent({ type, contentBytes });
  }

  /** Reads an event that is not an error. */
  protected abstract readEvent(event: MediaEvent): FrameFate;

  /** Reads an error, which ends the stream. */
  protected readError(_type: string, frame: SseFrame): FrameFate {
    return this.failWith(readProviderError(frameJson(frame)));
  }

  /** Ends the stream by its last event: a failure if it had no output. */
  protected end(missing: string): FrameFate {
    if (!this.reading.sawOutput) return this.failWith(noOutput(missing));
    this.reading.state = "completed";
    return "last";
  }

  protected failWith(error: GatewayError): FrameFate {
    this.reading.state = "error";
    this.reading.error = error;
    return "drop";
  }
}

/** The error of a route whose answer has nothing in it. */
export function noOutput(missing: string): GatewayError {
  return new GatewayError("upstream_unreachable", `The provider of this model sent no ${missing}`);
}

/** Events that servers of any style send to keep a connection open; they are no output. */
const keepAliveTypes: ReadonlySet<string> = new Set(["", "ping", "keepalive", "keep_alive"]);

/** Whether an event of a type that is not known here may be output: clients may know it. */
export function mayBeOutput({ type }: MediaEvent): boolean {
  return !keepAliveTypes.has(type);
}

// A stream of events that the gateway writes from a whole answer.

const nothing = new Uint8Array(0);

/** A pipe without input: only the last event waits for settlement. */
export class WrittenPipe implements StreamPipe {
  readonly reading = { ...newStreamReading(), sawOutput: true, state: "completed" as const };
  readonly #last: Uint8Array;
  readonly #requestId: string;
  /** Whether the last event was written. */
  isWhole = false;

  constructor(last: Uint8Array, requestId: string) {
    this.#last = last;
    this.#requestId = requestId;
  }

  push(): Uint8Array {
    return nothing;
  }

  end(): Uint8Array {
    this.isWhole = true;
    return this.#last;
  }

  fail(error: GatewayError): Uint8Array {
    return mediaErrorEvent(error, this.#requestId);
  }

  stopForLength(): undefined {
    return undefined;
  }
}
