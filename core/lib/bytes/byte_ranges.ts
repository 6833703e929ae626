import { copyOf, lentRoom } from "./buffer_pool.ts";

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
