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

/** First room for a body that does not say how long it is. */
const undeclaredBytes = 64 * 1024;

/**
 * Reads into one buffer as the bytes come, so that a large body is in memory once. Its declared length is room set
 * aside, not trusted: pages that nothing is written to cost nothing.
 */
async function readChunks(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  declaredBytes: number | undefined,
  onReader: (reader: ReadableStreamDefaultReader<Uint8Array>) => void,
): Promise<Uint8Array> {
  const reader = body.getReader();
  onReader(reader);
  let whole = new Uint8Array(
    declaredBytes !== undefined && declaredBytes <= maxBytes ? declaredBytes : undeclaredBytes,
  );
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return whole.subarray(0, length);
    if (length + value.length > maxBytes) {
      whole = new Uint8Array(0);
      await discard(reader);
      throw tooLarge(maxBytes);
    }
    if (length + value.length > whole.length) {
      const larger = new Uint8Array(
        Math.min(maxBytes, Math.max(whole.length * 2, length + value.length)),
      );
      larger.set(whole.subarray(0, length));
      whole = larger;
    }
    whole.set(value, length);
    length += value.length;
  }
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
    const declaredBytes = /^\d{1,15}$/.test(declared ?? "") ? Number(declared) : undefined;
    return await readChunks(body, maxBytes, declaredBytes, (opened) => reader = opened);
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    if (timedOut) throw new GatewayError("request_timeout", "The request body came too slowly");
    throw new GatewayError("invalid_request", "The request body broke off", { cause: error });
  } finally {
    patience.disarm();
    timedOutEarly.promise.catch(() => {});
  }
}
