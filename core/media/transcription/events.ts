/** Transcripts as events (`stream: true`): the provider's own, or events made of a whole answer. */
import type { StartedStream } from "../../calls/attempts/attempt.ts";
import { defined } from "../../lib/base/defined.ts";
import type { Json } from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/mod.ts";
import { encodeSseEvent } from "../../lib/sse/writer.ts";
import type { StreamPipe } from "../../wire/contract/contract.ts";
import { BytePipe } from "../../wire/stream/byte_pipe.ts";
import type { FrameFate } from "../../wire/stream/reading.ts";
import { mediaErrorEvent, MediaMeter } from "../base/events.ts";
import { WrittenPipe } from "../base/written_pipe.ts";

const nothing = new Uint8Array(0);

class TranscriptMeter extends MediaMeter {
  protected override readEvent(type: string): FrameFate {
    if (type === "transcript.text.done") {
      this.reading.state = "completed";
      return "last";
    }
    this.reading.sawOutput = true;
    return "pass";
  }
}

/**
 * Creates a pipe for a stream of `transcript.text.*` events. Servers without the last event end the body after the
 * text.
 */
export function createTranscriptPipe(requestId: string): StreamPipe {
  const meter = new TranscriptMeter();
  return new BytePipe(meter, {
    errorEvent: (error) => mediaErrorEvent(error, requestId),
    missingEnd: () => meter.reading.sawOutput ? nothing : undefined,
  });
}

/** Creates the events of a whole transcript, for providers that ignore the request for a stream. */
export function transcriptAsEvents(
  text: string,
  usage: Json | undefined,
  requestId: string,
): Pick<StartedStream, "pipe" | "preamble"> {
  const event = (value: Record<string, Json>) => encodeSseEvent(stringifyExactly(value));
  const done = { type: "transcript.text.done", text, ...defined({ usage }) };
  return {
    preamble: event({ type: "transcript.text.delta", delta: text }),
    pipe: new WrittenPipe(event(done), requestId),
  };
}
