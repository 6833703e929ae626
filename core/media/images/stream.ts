/** Pipes streamed images: bytes pass unchanged, previews and finished images are counted. */
import { BytePipe } from "../../wire/stream/byte_pipe.ts";
import type { StreamPipe } from "../../wire/contract/contract.ts";
import type { FrameFate } from "../../wire/stream/reading.ts";
import { mediaErrorEvent, MediaMeter } from "../base/events.ts";

const nothing = new Uint8Array(0);

interface ImageStreamCounts {
  /** Images that arrived completely. */
  readonly finished: number;
  /** Images of which at least a preview arrived. */
  readonly begun: number;
}

/** A pipe and what it has counted so far. */
export interface ImagePipe {
  readonly pipe: StreamPipe;
  readonly counts: () => ImageStreamCounts;
}

class ImageMeter extends MediaMeter {
  readonly #expected: number;
  finished = 0;
  #previewOpen = false;

  constructor(expected: number) {
    super();
    this.#expected = expected;
  }

  get begun(): number {
    return this.finished + (this.#previewOpen ? 1 : 0);
  }

  protected override readEvent(type: string): FrameFate {
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
}

/**
 * Creates a pipe for a stream of `image_generation.*` or `image_edit.*` events.
 *
 * The stream is complete when as many images arrived as were requested; its last event is held back
 * until the caller has settled. A provider that ends cleanly with fewer images has finished too:
 * the charge follows what arrived.
 *
 * @param expected images requested
 */
export function createImagePipe(expected: number, requestId: string): ImagePipe {
  const meter = new ImageMeter(expected);
  const pipe = new BytePipe(meter, {
    errorEvent: (error) => mediaErrorEvent(error, requestId),
    missingEnd: () => meter.finished > 0 ? nothing : undefined,
  });
  return { pipe, counts: () => ({ finished: meter.finished, begun: meter.begun }) };
}
