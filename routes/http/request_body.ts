/** Reads a request body within bounds of size and time, whatever its framing says. */
import type { Deadlines } from "../../core/deadlines.ts";
import { GatewayError } from "../../core/errors.ts";
import { limits } from "../../core/limits.ts";

function tooLarge(maxBytes: number): GatewayError {
  const megabytes = Math.round(maxBytes / (1024 * 1024));
  return new GatewayError("request_too_large", `The request body has more than ${megabytes} MB`);
}

/**
 * Reads on and throws away, so that the client can finish sending and read our answer: the server would otherwise
 * reset the connection under it. Bounded: past that the reset is the client's own doing.
 */
async function discard(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  let discardedBytes = 0;
  while (discardedBytes < limits.discardedBodyBytes) {
    const { done, value } = await reader.read();
    if (done) return;
    discardedBytes += value.length;
  }
  await reader.cancel();
}

async function readChunks(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  onReader: (reader: ReadableStreamDefaultReader<Uint8Array>) => void,
): Promise<Uint8Array> {
  const reader = body.getReader();
  onReader(reader);
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > maxBytes) {
      chunks.length = 0;
      await discard(reader);
      throw tooLarge(maxBytes);
    }
    chunks.push(value);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/**
 * Reads the body of a request.
 *
 * @throws {GatewayError} `request_too_large` above `maxBytes` (also for chunked bodies), `request_timeout` when the
 * client sends too slowly, `invalid_request` when it breaks off
 */
export async function readRequestBody(
  request: Request,
  deadlines: Deadlines,
  maxBytes: number = limits.requestBodyBytes,
): Promise<Uint8Array> {
  const { body } = request;
  if (body === null) return new Uint8Array(0);
  const declared = request.headers.get("content-length");
  let timedOut = false;
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  const timedOutEarly = Promise.withResolvers<never>();
  const patience = deadlines.create(() => {
    timedOut = true;
    timedOutEarly.reject(new Error("timed out"));
    reader?.cancel().catch(() => {});
  });
  patience.arm(limits.requestBodyMs);
  try {
    if (declared !== null && Number(declared) <= limits.bodyAtOnceBytes) {
      // The server holds the client to its content-length, so this is bounded; and it is the cheapest way.
      return await Promise.race([request.bytes(), timedOutEarly.promise]);
    }
    return await readChunks(body, maxBytes, (opened) => reader = opened);
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    if (timedOut) throw new GatewayError("request_timeout", "The request body came too slowly");
    throw new GatewayError("invalid_request", "The request body broke off", { cause: error });
  } finally {
    patience.disarm();
    timedOutEarly.promise.catch(() => {});
  }
}
