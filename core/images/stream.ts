/** Streamed images: bytes pass as they came; previews and finished images are counted on the way. */
import { BytePipe } from "../dialects/byte_pipe.ts";
import type { StreamPipe, StreamReading } from "../dialects/contract.ts";
import { readProviderError } from "../dialects/provider_error.ts";
import { type FrameFate, newStreamReading, type StreamMeter } from "../dialects/reading.ts";
import { errorBody, type GatewayError } from "../errors.ts";
import type { SseFrame } from "../sse/frame.ts";
import { JsonCursor, jsonKey } from "../sse/json_cursor.ts";

const nothing = new Uint8Array(0);
const typeKey = jsonKey("type");
const errorKey = jsonKey("error");

interface ImageStreamCounts {
  /** Images that came whole. */
  readonly finished: number;
  /** Images of which at least a preview came. */
  readonly begun: number;
}

/** A pipe and what it has counted so far. */
export interface ImagePipe {
  readonly pipe: StreamPipe;
  readonly counts: () => ImageStreamCounts;
}

class ImageMeter implements StreamMeter {
  readonly reading: StreamReading = newStreamReading();
  readonly cut = { start: 0, end: 0 };
  readonly replacement = nothing;
  readonly #expected: number;
  readonly #cursor = new JsonCursor();
  finished = 0;
  #previewOpen = false;

  constructor(expected: number) {
    this.#expected = expected;
  }

  get begun(): number {
    return this.finished + (this.#previewOpen ? 1 : 0);
  }

  read(frame: SseFrame): FrameFate {
    if (frame.dataLines === 0 || frame.payloadIs("[DONE]")) return "pass";
    const type = frame.event || this.#typeOf(frame);
    if (type === "error" || this.#hasError(frame)) {
      this.reading.state = "error";
      this.reading.error = readProviderError(JSON.parse(frame.data));
      return "drop";
    }
    if (type.endsWith(".partial_image")) {
      this.reading.sawOutput = true;
      this.#previewOpen = true;
    } else if (type.endsWith(".completed")) {
      this.reading.sawOutput = true;
      this.#previewOpen = false;
      this.finished++;
      if (this.finished >= this.#expected) {
        this.reading.state = "completed";
        return "last";
      }
    }
    return "pass";
  }

  #typeOf(frame: SseFrame): string {
    const type = this.#member(frame, typeKey);
    return typeof type === "string" ? type : "";
  }

  #hasError(frame: SseFrame): boolean {
    const error = this.#member(frame, errorKey);
    return error !== undefined && error !== null;
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

/** How a stream of images tells an error. */
export function imageErrorEvent(error: GatewayError, requestId: string): Uint8Array {
  const data = JSON.stringify(errorBody(error, "chat", requestId));
  return new TextEncoder().encode(`event: error\ndata: ${data}\n\n`);
}

/**
 * A pipe for a stream of `image_generation.*` or `image_edit.*` events.
 *
 * The stream is whole when as many images came as were asked for; its last event is held back until the caller has
 * settled. A provider that ends cleanly with fewer images has finished too: the charge goes by what came.
 *
 * @param expected images asked for
 */
export function createImagePipe(expected: number, requestId: string): ImagePipe {
  const meter = new ImageMeter(expected);
  const pipe = new BytePipe(meter, {
    errorEvent: (error) => imageErrorEvent(error, requestId),
    missingEnd: () => meter.finished > 0 ? nothing : undefined,
  });
  return { pipe, counts: () => ({ finished: meter.finished, begun: meter.begun }) };
}
