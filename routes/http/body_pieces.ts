/** Reads a request body piece by piece. */

/** Bytes of the buffer for a piece, as much as a socket brings at once; room for a body is taken in steps of it. */
export const countedStepBytes = 64 * 1024;

/** A body as pieces. */
export interface Pieces {
  /** The next piece; `undefined` at the end. Valid until the next read. */
  read(): Promise<Uint8Array | undefined>;
  cancel(): Promise<void>;
}

/**
 * Opens a body for reading. The server gives larger pieces to a reader with a buffer of its own; a body that is
 * already in memory does not support such a reader.
 */
export function piecesOf(body: ReadableStream<Uint8Array>): Pieces {
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
