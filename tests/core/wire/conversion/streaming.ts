/** Shared by the tests of converting pipes: transcripts in, text out, by any split. */
import { createConvertingPipe } from "../../../../core/wire/convert/converting_pipe.ts";
import type {
  ConversionMemory,
  PipeContext,
  ProviderStyle,
  StreamReading,
  Style,
} from "../../../../core/wire/contract/contract.ts";
import type { Json } from "../../../../core/lib/json/json.ts";
import { context } from "./converting.ts";

/** Chat frames, one per chunk. */
export function chatFrames(chunks: readonly Json[], done = true): string {
  const frames = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
  return frames.join("") + (done ? "data: [DONE]\n\n" : "");
}

/** A Chat chunk with one delta. */
export function chunk(delta: Json, finish_reason: Json = null, more: object = {}): Json {
  return {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    ...more,
  };
}

/** Messages frames, one per event, as the vendor writes them. */
export function messagesFrames(events: readonly { readonly type: string }[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

export interface Streamed {
  readonly text: string;
  /** What came out before `end()`. */
  readonly early: string;
  readonly reading: StreamReading;
}

export interface StreamCall {
  readonly memory?: ConversionMemory;
  readonly context?: PipeContext;
  /** Sizes of the pieces in which the bytes arrive, over and over; absent: all at once. */
  readonly sizes?: readonly number[];
}

/** Runs a transcript through a pipe, as the relay does. */
export function streamed(
  from: ProviderStyle,
  to: Style,
  transcript: string | Uint8Array,
  call: StreamCall = {},
): Streamed {
  const bytes = typeof transcript === "string" ? new TextEncoder().encode(transcript) : transcript;
  const pipe = createConvertingPipe(from, to, call.context ?? context, call.memory ?? {});
  const decoder = new TextDecoder();
  // One small buffer for all reads: a pipe that kept a view of its input would read garbage later.
  const buffer = new Uint8Array(Math.max(1, ...call.sizes ?? [bytes.length]));
  let early = "";
  for (const [start, end] of pieces(bytes.length, call.sizes)) {
    buffer.set(bytes.subarray(start, end));
    early += decoder.decode(pipe.push(buffer.subarray(0, end - start)), { stream: true });
    buffer.fill(0x21);
  }
  const text = early + decoder.decode(pipe.end());
  return { text, early, reading: pipe.reading };
}

function* pieces(length: number, sizes: readonly number[] = [length]): Generator<[number, number]> {
  let turn = 0;
  for (let at = 0; at < length;) {
    const end = Math.min(length, at + Math.max(1, sizes[turn++ % sizes.length] ?? 1));
    yield [at, end];
    at = end;
  }
}
