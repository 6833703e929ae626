/** The rows of a shared store, in memory, with the bounds that a denokv server sets (0.14, `proto/limits.rs`). */
import { type AtomicWrite, ProtocolError, type ReadRange, type Row } from "./messages.ts";

const most = {
  readRanges: 10,
  readRows: 1_000,
  checks: 10,
  mutations: 1_000,
  keyBytes: 2_048,
  valueBytes: 65_536,
  writeBytes: 819_200,
};

function within(is: number, bound: number, what: string): void {
  if (is > bound) throw new ProtocolError(`${is} ${what}, and ${bound} at most`);
}

/** Text that sorts as the bytes do. */
function textOf(key: Uint8Array): string {
  let text = "";
  for (const byte of key) text += String.fromCharCode(byte);
  return text;
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, i) => byte === other[i]);
}

/** Nothing expires: a store may keep expired rows for a while, and no code may rely on their absence. */
export class SharedRows {
  /** Sorted. */
  readonly #keys: string[] = [];
  readonly #rows = new Map<string, Row>();
  #commits = 0;

  /** Where a key is, or would be. */
  #placeOf(text: string): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#keys[middle]! < text) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** @throws {ProtocolError} beyond the server's bounds */
  read(ranges: readonly ReadRange[]): Row[][] {
    within(ranges.length, most.readRanges, "ranges");
    return ranges.map(({ start, end, limit, reverse }) => {
      within(limit, most.readRows, "rows");
      const [from, to] = [this.#placeOf(textOf(start)), this.#placeOf(textOf(end))];
      const keys = reverse
        ? this.#keys.slice(Math.max(from, to - limit), to).reverse()
        : this.#keys.slice(from, Math.min(to, from + limit));
      return keys.map((key) => this.#rows.get(key)!);
    });
  }

  /**
   * @returns the versionstamp of the commit, or `undefined` if a check failed
   * @throws {ProtocolError} beyond the server's bounds
   */
  write({ checks, mutations }: AtomicWrite): Uint8Array | undefined {
    within(checks.length, most.checks, "checks");
    within(mutations.length, most.mutations, "mutations");
    let writeBytes = 0;
    for (const { key, value } of mutations) {
      within(key.length, most.keyBytes, "bytes in a key");
      within(value?.bytes.length ?? 0, most.valueBytes, "bytes in a value");
      writeBytes += key.length + (value?.bytes.length ?? 0);
    }
    within(writeBytes, most.writeBytes, "bytes in a write");
    const isAsChecked = checks.every(({ key, versionstamp }) =>
      isSame(this.#rows.get(textOf(key))?.versionstamp ?? new Uint8Array(), versionstamp)
    );
    if (!isAsChecked) return undefined;
    const versionstamp = new Uint8Array(10);
    new DataView(versionstamp.buffer).setBigUint64(0, BigInt(++this.#commits));
    for (const { key, value } of mutations) {
      const text = textOf(key);
      const place = this.#placeOf(text);
      const isThere = this.#keys[place] === text;
      if (value === undefined) {
        if (isThere) this.#keys.splice(place, 1);
        this.#rows.delete(text);
        continue;
      }
      if (!isThere) this.#keys.splice(place, 0, text);
      const { bytes, encoding } = value;
      this.#rows.set(text, { key, value: bytes, encoding, versionstamp });
    }
    return versionstamp;
  }
}
