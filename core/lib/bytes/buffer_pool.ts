/** Shared buffers for small pieces of bytes: a buffer per event of a stream costs more than all other work on the event. */

/** Bytes of one shared buffer for small copies, and so the memory that one held copy can keep alive. */
export const pooledBufferBytes = 8 * 1024;

/**
 * Bytes of the largest copy in a shared buffer: a larger one would leave much of it unused, and has a buffer
 * of its own.
 */
export const maxPooledCopyBytes = 2 * 1024;

/** Bytes of the memory that is lent; a usual event has a few hundred, and a read of a burst up to this. */
const lentBytes = 64 * 1024;

/** Most UTF-8 bytes of a UTF-16 unit. */
const mostBytesPerUnit = 3;

const encoder = new TextEncoder();
const lent = new Uint8Array(lentBytes);
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

/** Lends memory that is valid until the next call of this or of {@linkcode encodedLent}. */
export function lentRoom(length: number): Uint8Array {
  return length > lentBytes ? new Uint8Array(length) : lent.subarray(0, length);
}

/** Encodes a text as UTF-8 into lent memory; see {@linkcode lentRoom}. */
export function encodedLent(text: string): Uint8Array {
  if (text.length * mostBytesPerUnit > lentBytes) return encoder.encode(text);
  return lent.subarray(0, encoder.encodeInto(text, lent).written);
}

/**
 * Encodes a text as UTF-8; small ones share buffers like the copies of {@linkcode copyOf}.
 */
export function encoded(text: string): Uint8Array {
  const mostBytes = text.length * mostBytesPerUnit;
  if (mostBytes > maxPooledCopyBytes) return encoder.encode(text);
  const place = room(mostBytes);
  const { written } = encoder.encodeInto(text, place);
  used += written;
  return place.subarray(0, written);
}
