/** Reads a request body piece by piece. */
import type { HttpRequest, Pieces } from "./http_request.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { Deadlines } from "../../../core/lib/time/deadlines.ts";

// The errors that a request body can be refused with.

/** Makes the error for a body above its bound. */
export function tooLarge(maxBytes: number): GatewayError {
  const kilobytes = Math.floor(maxBytes / 1024);
  const size = kilobytes < 1024 ? `${kilobytes} KB` : `${Math.floor(kilobytes / 1024)} MB`;
  return new GatewayError("request_too_large", `The request body has more than ${size}`);
}

/** Makes the error for a body that came too slowly. */
export function tooSlow(): GatewayError {
  return new GatewayError("request_timeout", "The request body came too slowly");
}

/** Makes the error for a body that ended before it was complete. */
export function brokenOff(cause: unknown): GatewayError {
  return new GatewayError("invalid_request", "The request body broke off", { cause });
}

/** Bytes of the buffer for a piece, as much as a socket brings at once; room for a body is taken in steps of it. */
export const countedStepBytes = 64 * 1024;

/**
 * Opens the body of a request for reading; `undefined` if it has none. The runtime's server gives larger pieces to a
 * reader with a buffer of its own; a body that is already in memory does not support such a reader.
 */
export function piecesOf(request: Pick<HttpRequest, "body" | "pieces">): Pieces | undefined {
  if (request.pieces !== undefined) return request.pieces();
  const { body } = request;
  if (body === null) return undefined;
  let reader: ReadableStreamBYOBReader;
  try {
    reader = body.getReader({ mode: "byob" });
  } catch {
    const whole = body.getReader();
    return { read: async () => (await whole.read()).value, cancel: () => whole.cancel() };
  }
  let buffer = new ArrayBuffer(countedStepBytes);
  return {
    async read() {
      const { done, value } = await reader.read(new Uint8Array(buffer));
      if (done) return undefined;
      buffer = value.buffer;
      return value;
    },
    cancel: () => reader.cancel(),
  };
}

// Reads and throws away the body of a refused request, so that its client can finish sending and read the answer.

/** Most bytes of a refused body that are read; then the connection is reset. */
const discardedBodyBytes = 64 * 1024 * 1024;

/** Milliseconds for which a refused body is read; a client that still sends is cut off. */
const discardMs = 30_000;

/**
 * Reads and discards the rest of a body. Otherwise the server would reset the connection before the client has read
 * the answer.
 */
export async function discard(pieces: Pieces, onPiece = () => {}): Promise<void> {
  let discardedBytes = 0;
  while (discardedBytes < discardedBodyBytes) {
    const piece = await pieces.read();
    if (piece === undefined) return;
    onPiece();
    discardedBytes += piece.length;
  }
  await pieces.cancel();
}

/** Milliseconds without a byte after which a refused client gets its answer: it may have nothing more to send. */
const refusedStallMs = 3_000;

/** Discards the body of a refused request, within bounds of size and time. Never throws. */
export async function discardRequestBody(
  request: Pick<HttpRequest, "body" | "pieces" | "isBodyHeldBack">,
  deadlines: Deadlines,
): Promise<void> {
  // Reading it would ask for it. Its client reads the answer first.
  if (request.isBodyHeldBack === true) return;
  if (request.pieces === undefined && request.body?.locked === true) return;
  const pieces = piecesOf(request);
  if (pieces === undefined) return;
  const cutOff = () => void pieces.cancel().catch(() => {});
  const deadline = deadlines.create(cutOff);
  const stall = deadlines.create(cutOff);
  deadline.arm(discardMs);
  stall.arm(refusedStallMs);
  try {
    await discard(pieces, () => stall.arm(refusedStallMs));
  } catch {
    // The client broke off: no answer is needed.
  } finally {
    deadline.disarm();
    stall.disarm();
  }
}
