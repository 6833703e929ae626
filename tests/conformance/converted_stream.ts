/** Recorded streams, converted and as whole answers. */
import { assert } from "../support/assert.ts";
import type { ProviderStyle, StreamReading, Style } from "../../core/wire/contract/contract.ts";
import { createConvertingPipe } from "../../core/wire/convert/converting_pipe.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import { concatBytes } from "../support/strict_client/strict_client.ts";
import { context, readStream } from "./clients.ts";
import { wholeChatAnswer } from "./lenient_chat.ts";
import type { Recording } from "./recordings.ts";

export interface ConvertedStream {
  readonly bytes: Uint8Array;
  readonly reading: StreamReading;
}

/** Converts a stream that arrives in `chunks`, as a call does. */
export function convertStream(
  from: ProviderStyle,
  to: Style,
  chunks: readonly Uint8Array[],
): ConvertedStream {
  const pipe = createConvertingPipe(from, to, context, {});
  const out: Uint8Array[] = [];
  for (const chunk of chunks) {
    // The owner of the bytes may reuse them, so the pipe must copy what it keeps.
    const lent = chunk.slice();
    out.push(pipe.push(lent));
    lent.fill(0);
    if (pipe.reading.state !== "open") break;
  }
  out.push(pipe.end());
  return { bytes: concatBytes(out), reading: pipe.reading };
}

/** Returns the content of a recorded stream as a whole answer of its own style. */
export function contentOf({ style, stream }: Recording): JsonObject {
  assert(stream !== undefined);
  if (style === "chat") return wholeChatAnswer(stream);
  const outcome = readStream(style, stream);
  assert(outcome.kind === "answer");
  return outcome.answer;
}
