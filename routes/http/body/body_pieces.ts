/** Reads a request body piece by piece. */

import type { HttpRequest, Pieces } from "./http_request.ts";

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
