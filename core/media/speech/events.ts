/**
 * Speech as events (`stream_format: "sse"`): the provider's own events, or events made of plain
 * audio if the provider ignores the request for a stream.
 */
import { encodeBase64 } from "../../lib/runtime/mod.ts";
import { BytePipe } from "../../wire/stream/byte_pipe.ts";
import type { StreamPipe } from "../../wire/contract/contract.ts";
import { type FrameFate, newStreamReading } from "../../wire/stream/reading.ts";
import type { GatewayError } from "../../lib/errors/errors.ts";
import { mediaErrorEvent, MediaMeter } from "../base/events.ts";
import { encodeSseEvent } from "../../lib/sse/writer.ts";

const nothing = new Uint8Array(0);

class SpeechMeter extends MediaMeter {
  protected override readEvent(type: string): FrameFate {
    if (type === "speech.audio.done") {
      this.reading.state = "completed";
      return "last";
    }
    this.reading.sawOutput = true;
    return "pass";
  }
}

/**
 * Creates a pipe for a stream of `speech.audio.*` events. A stream that ends cleanly after some
 * audio has finished too.
 */
export function createSpeechPipe(requestId: string): StreamPipe {
  const meter = new SpeechMeter();
  return new BytePipe(meter, {
    errorEvent: (error) => mediaErrorEvent(error, requestId),
    missingEnd: () => meter.reading.sawOutput ? nothing : undefined,
  });
}

/** Creates from plain audio the events that the client requested. */
export class AudioAsEvents implements StreamPipe {
  readonly reading = newStreamReading();
  readonly #requestId: string;

  constructor(requestId: string) {
    this.#requestId = requestId;
  }

  push(bytes: Uint8Array): Uint8Array {
    if (bytes.length === 0) return nothing;
    this.reading.sawOutput = true;
    return encodeSseEvent(`{"type":"speech.audio.delta","audio":"${encodeBase64(bytes)}"}`);
  }

  end(): Uint8Array {
    this.reading.state = "completed";
    return encodeSseEvent('{"type":"speech.audio.done"}');
  }

  fail(error: GatewayError): Uint8Array {
    return mediaErrorEvent(error, this.#requestId);
  }

  stopForLength(): undefined {
    return undefined;
  }
}
