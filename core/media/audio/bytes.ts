/** Reads numbers and marks of binary files. */

/** Whether the file has these characters, one byte each, at a place. */
export function asciiAt(bytes: Uint8Array, at: number, text: string): boolean {
  if (at + text.length > bytes.length) return false;
  for (let i = 0; i < text.length; i++) {
    if (bytes[at + i] !== text.charCodeAt(i)) return false;
  }
  return true;
}

/** Makes a view of a part of the file. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Reads bits from the most significant one of each byte; past the end they are 0. */
export class BitReader {
  readonly #bytes: Uint8Array;
  #at: number;

  constructor(bytes: Uint8Array, startByte = 0) {
    this.#bytes = bytes;
    this.#at = startByte * 8;
  }

  /** Reads up to 32 bits. */
  read(bits: number): number {
    let value = 0;
    for (let i = 0; i < bits; i++, this.#at++) {
      const byte = this.#bytes[this.#at >> 3] ?? 0;
      value = value * 2 + ((byte >> (7 - (this.#at & 7))) & 1);
    }
    return value;
  }
}
