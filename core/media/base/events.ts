/** What streams of pictures and of speech have in common. */
import type { StreamPipe, StreamReading } from "../../wire/contract/contract.ts";
import {
  type FrameFate,
  frameJson,
  newStreamReading,
  type StreamMeter,
} from "../../wire/stream/reading.ts";
import { readProviderError } from "../../wire/errors/provider_error.ts";
import { errorBody, type GatewayError } from "../../lib/errors/errors.ts";
import { FrameEdits, type SseFrame } from "../../lib/sse/frame.ts";
import { JsonCursor, jsonKey } from "../../lib/json/json_cursor.ts";
import { encodeSseEvent } from "../../lib/sse/writer.ts";
import { stringifyExactly } from "../../lib/runtime/mod.ts";

const typeKey = jsonKey("type");
const errorKey = jsonKey("error");

/** Encodes an error event of a media stream. */
export function mediaErrorEvent(error: GatewayError, requestId: string): Uint8Array {
  return encodeSseEvent(stringifyExactly(errorBody(error, "chat", requestId)), "error");
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

  read(frame: SseFrame): FrameFate {
    if (frame.dataLines === 0 || frame.payloadIs("[DONE]")) return "pass";
    const type = this.#typeOf(frame);
    const error = this.#member(frame, errorKey);
    if (type !== "error" && (error === undefined || error === null)) return this.readEvent(type);
    this.reading.state = "error";
    this.reading.error = readProviderError(frameJson(frame));
    return "drop";
  }

  /** Reads an event that is not an error. */
  protected abstract readEvent(type: string): FrameFate;

  #typeOf(frame: SseFrame): string {
    if (frame.event !== "") return frame.event;
    const type = this.#member(frame, typeKey);
    return typeof type === "string" ? type : "";
  }

  #member(frame: SseFrame, key: Uint8Array): unknown {
    const cursor = this.#cursor;
    cursor.reset(frame.payload, frame.payloadStart, frame.payloadEnd);
    if (!cursor.enterObject()) return undefined;
    while (cursor.nextMember()) {
      if (cursor.keyIs(key)) return cursor.takeValue();
      cursor.skip();
    }
    return undefined;
  }
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
