/** Shared buffers for small pieces of bytes: a buffer per event of a stream costs more than all other work on the event. */

/** Bytes of one shared buffer for small copies, and so the memory that one held copy can keep alive. */
export const pooledBufferBytes = 8 * 1024;

/**
 * Bytes of the largest copy in a shared buffer: a larger one would leave much of it unused, and has a buffer
 * of its own.
 */
export const maxPooledCopyBytes = 2 * 1024;

const encoder = new TextEncoder();
let buffer = new Uint8Array(0);
let used = 0;

/** Returns a place of `length` bytes that is not in use yet. */
function room(length: number): Uint8Array {
  if (used + length > buffer.length) {
    buffer = new Uint8Array(pooledBufferBytes);
    used = 0;
  }
  return buffer.subarray(used, used + length);
}

/**
 * Copies `bytes[start, end)`; small copies share a buffer.
 *
 * A buffer lives as long as any of its copies, so one that is kept holds on to at most
 * `pooledBufferBytes`. The copy is for reading: its `buffer` holds other copies too and must
 * not be transferred.
 *
 * @example
 * ```ts
 * import { copyOf } from "./buffer_pool.ts";
 * const lent = new Uint8Array([1, 2, 3, 4]);
 * const [one, two] = [copyOf(lent, 0, 2), copyOf(lent, 1, 4)];
 * lent.fill(0);
 * if (one.join() !== "1,2" || two.join() !== "2,3,4") throw new Error("not copies");
 * ```
 */
export function copyOf(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const length = end - start;
  if (length > maxPooledCopyBytes) return bytes.slice(start, end);
  const copy = room(length);
  copy.set(bytes.subarray(start, end));
  used += length;
  return copy;
}

/**
 * Encodes a text as UTF-8; small ones share buffers like the copies of {@linkcode copyOf}.
 */
export function encoded(text: string): Uint8Array {
  // A UTF-16 unit takes three bytes at most.
  const mostBytes = text.length * 3;
  if (mostBytes > maxPooledCopyBytes) return encoder.encode(text);
  const place = room(mostBytes);
  const { written } = encoder.encodeInto(text, place);
  used += written;
  return place.subarray(0, written);
}
