// Shared buffers for small pieces of bytes: a buffer per event of a stream costs more than all other work on the event.

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
const maxBytesPerUnit = 3;

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
 * import { copyOf } from "./byte_ranges.ts";
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
function lentRoom(length: number): Uint8Array {
  return length > lentBytes ? new Uint8Array(length) : lent.subarray(0, length);
}

/** Encodes a text as UTF-8 into lent memory; see {@linkcode lentRoom}. */
export function encodedLent(text: string): Uint8Array {
  if (text.length * maxBytesPerUnit > lentBytes) return encoder.encode(text);
  return lent.subarray(0, encoder.encodeInto(text, lent).written);
}

/**
 * Encodes a text as UTF-8; small ones share buffers like the copies of {@linkcode copyOf}.
 */
export function encoded(text: string): Uint8Array {
  const maxBytes = text.length * maxBytesPerUnit;
  if (maxBytes > maxPooledCopyBytes) return encoder.encode(text);
  const place = room(maxBytes);
  const { written } = encoder.encodeInto(text, place);
  used += written;
  return place.subarray(0, written);
}

const nothing = new Uint8Array(0);

/** Entries kept for the next use: a read of a burst has a few dozen events with two or three ranges each. */
const entriesKept = 64;

interface Entry {
  bytes: Uint8Array;
  start: number;
  end: number;
}

/**
 * Ranges of bytes that are sent one behind the other. Neighbours in the same buffer become one range, and entries are used
 * again, so that passing on what was read allocates nothing.
 *
 * @example
 * ```ts
 * import { ByteRanges } from "./byte_ranges.ts";
 * const bytes = new TextEncoder().encode("one two three");
 * const ranges = new ByteRanges();
 * ranges.add(bytes, 0, 4);
 * ranges.add(bytes, 8, 11);
 * ranges.add(bytes, 11, 13);
 * if (new TextDecoder().decode(ranges.take(bytes)) !== "one three") throw new Error("wrong");
 * ```
 */
export class ByteRanges {
  readonly #entries: Entry[] = [];
  #count = 0;

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  add(bytes: Uint8Array, start: number, end: number): void {
    const last = this.#count === 0 ? undefined : this.#entries[this.#count - 1];
    if (last !== undefined && last.bytes === bytes && last.end === start) {
      last.end = end;
      return;
    }
    const entry = this.#entries[this.#count++];
    if (entry === undefined) {
      this.#entries.push({ bytes, start, end });
      return;
    }
    entry.bytes = bytes;
    entry.start = start;
    entry.end = end;
  }

  /** Joins the ranges into bytes that the caller owns: `lent` is used again by its owner, other buffers are not. */
  take(lent: Uint8Array | undefined): Uint8Array {
    const [first] = this.#entries;
    let out: Uint8Array = nothing;
    if (this.#count === 1 && first !== undefined) {
      out = first.bytes === lent
        ? copyOf(first.bytes, first.start, first.end)
        : first.bytes.subarray(first.start, first.end);
    } else if (this.#count > 1) out = this.#joined(new Uint8Array(this.#length()));
    this.#clear();
    return out;
  }

  /** Joins the ranges into bytes that are valid until any buffer is used again; see {@linkcode lentRoom}. */
  lend(): Uint8Array {
    const [first] = this.#entries;
    let out: Uint8Array = nothing;
    if (this.#count === 1 && first !== undefined) {
      const { bytes, start, end } = first;
      out = start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end);
    } else if (this.#count > 1) out = this.#joined(lentRoom(this.#length()));
    this.#clear();
    return out;
  }

  #length(): number {
    let length = 0;
    for (let index = 0; index < this.#count; index++) {
      const { start, end } = this.#entries[index]!;
      length += end - start;
    }
    return length;
  }

  #joined(out: Uint8Array): Uint8Array {
    let at = 0;
    for (let index = 0; index < this.#count; index++) {
      const { bytes, start, end } = this.#entries[index]!;
      out.set(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end), at);
      at += end - start;
    }
    return out;
  }

  /** Lets go of all buffers, and of entries beyond those of a usual read. */
  #clear(): void {
    for (let index = 0; index < this.#count; index++) this.#entries[index]!.bytes = nothing;
    this.#count = 0;
    if (this.#entries.length > entriesKept) this.#entries.length = 0;
  }
}
