/** Converts a `ReadableStream` as it arrives: the counterpart of `convertAnswer` for streams. */
import { GatewayError } from "../../lib/errors/errors.ts";
import { invariant } from "../../lib/base/assert.ts";
import type {
  ConversionMemory,
  PipeContext,
  StreamPipe,
  StreamReading,
} from "../contract/contract.ts";
import { createConvertingPipe } from "./converting_pipe.ts";
import type { ProviderStyle, Style } from "../contract/style.ts";

/** A stream in the client's style, with its usage and state. */
export interface ConvertedStream {
  /**
   * Ends with the terminal event of the client's style, or with its error event if the upstream failed. Cancelling it
   * cancels the upstream's body.
   */
  readonly body: ReadableStream<Uint8Array>;
  /** Usage, stop reason and state; complete once `body` has been read to its end. */
  readonly reading: Readonly<StreamReading>;
}

/**
 * Converts the stream of an upstream into the client's style.
 *
 * Buffers no more than the event that is being assembled, reads only when the client does, and stops reading at the
 * upstream's terminal event. A failure of the upstream becomes an error event of the client's style; `body` itself
 * fails only because of a bug.
 *
 * @param body the bytes of the upstream's event stream, in pieces of any size
 * @param memory what `convertRequest` returned with the request that this answers
 *
 * @example
 * ```ts
 * import { convertStream } from "./convert_stream.ts";
 * const upstream = new Blob(['data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n', "data: [DONE]\n\n"]);
 * const context = { clientModel: "m", requestId: "req_1", clientWantsUsage: false, nowSeconds: 0 };
 * const { body, reading } = convertStream("chat", "messages", upstream.stream(), context, {});
 * const text = await new Response(body).text();
 * if (!text.includes('{"type":"text_delta","text":"Hi"}')) throw new Error(text);
 * if (!text.includes("event: message_stop") || reading.state !== "completed") throw new Error("no end");
 * ```
 */
export function convertStream(
  upstreamStyle: ProviderStyle,
  clientStyle: Style,
  body: ReadableStream<Uint8Array>,
  context: PipeContext,
  memory: ConversionMemory,
): ConvertedStream {
  invariant(upstreamStyle !== clientStyle, "a stream of the client's own style passes unconverted");
  const pipe = createConvertingPipe(upstreamStyle, clientStyle, context, memory);
  const source = body.getReader();
  const pieces = convertedPieces(source, pipe);
  let isCancelled = false;
  const converted = new ReadableStream<Uint8Array>({
    async pull(controller) {
      let next: IteratorResult<Uint8Array, void>;
      do next = await pieces.next(); while (next.done !== true && next.value.length === 0);
      if (isCancelled) return;
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel(reason) {
      isCancelled = true;
      await source.cancel(reason);
    },
  }, { highWaterMark: 0 });
  return { body: converted, reading: pipe.reading };
}

/** The client's bytes, piece by piece; some pieces are empty. */
async function* convertedPieces(
  source: ReadableStreamDefaultReader<Uint8Array>,
  pipe: StreamPipe,
): AsyncGenerator<Uint8Array, void> {
  try {
    while (pipe.reading.state === "open") {
      const bytes = await nextBytes(source);
      if (bytes === undefined) break;
      yield pipe.push(bytes);
    }
    yield pipe.end();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    yield pipe.fail(error);
  } finally {
    // The rest is not needed. If cancelling fails, the client's stream is complete all the same.
    source.cancel().catch(() => {});
  }
}

async function nextBytes(
  source: ReadableStreamDefaultReader<Uint8Array>,
): Promise<Uint8Array | undefined> {
  try {
    const { value } = await source.read();
    return value;
  } catch (cause) {
    throw new GatewayError("upstream_unreachable", "The provider's answer broke off", { cause });
  }
}
