/** Bounds of the HTTP/1.1 driver that its callers use too. */

/**
 * Milliseconds to open a connection unless a provider is configured otherwise: TCP and TLS take under 3 s
 * over a bad line.
 */
export const defaultConnectMs = 5_000;

/**
 * Milliseconds of silence within an answer. Models think between two pieces of output for minutes, not always
 * with pings; the vendors' own SDKs wait 10 minutes.
 */
export const defaultIdleMs = 600_000;

/**
 * Bytes of a request body that is copied behind the head to make one write; copying more costs more than a
 * second write.
 */
export const singleWriteBytes = 16 * 1024;

// Buffers in which heads and small bodies are put together: making one for each costs a fifth of an exchange.

/** Bytes of a head of usual size: credentials take the most of it. */
const usualHeadBytes = 4 * 1024;

/** Bytes of a buffer: one write, with its head. */
const bufferBytes = singleWriteBytes + usualHeadBytes;

/** Buffers kept: as many messages as are usually being written, or wait for the head of their answer. 1.3 MB. */
const buffersKept = 64;

/** Buffers that the messages of one transport, or of one server, use again. */
export class WriteBuffers {
  readonly #free: ArrayBuffer[] = [];

  /** Returns so many bytes to be filled completely: what an earlier message left is still in them. */
  take(bytes: number): Uint8Array<ArrayBuffer> {
    if (bytes > bufferBytes) return new Uint8Array(bytes);
    return new Uint8Array(this.#free.pop() ?? new ArrayBuffer(bufferBytes), 0, bytes);
  }

  /** Takes back bytes that nothing reads any more. Not to be called for a request that may be sent again. */
  give(bytes: Uint8Array<ArrayBuffer>): void {
    const { buffer } = bytes;
    if (buffer.byteLength === bufferBytes && this.#free.length < buffersKept) {
      this.#free.push(buffer);
    }
  }
}
