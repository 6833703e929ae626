/** The two kinds of protocol buffer fields that KV Connect has: numbers and bytes. */
import { joined } from "../../../core/lib/bytes/byte_parts.ts";

export interface Field {
  readonly number: number;
  /** Of a field that holds bytes, text or a message; empty for a number. */
  readonly bytes: Uint8Array;
  /** Of a number; 0 for bytes. */
  readonly value: number;
}

/** Reads a message. Numbers above 2^53 lose their last digits, which no number of the protocol needs. */
export function* readFields(message: Uint8Array): Generator<Field> {
  let at = 0;
  const readNumber = () => {
    let value = 0;
    for (let factor = 1;; factor *= 128) {
      const byte = message[at++];
      if (byte === undefined) throw new Error("the message ends within a number");
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const tag = readNumber();
    const kind = tag & 7;
    if (kind !== 0 && kind !== 2) throw new Error(`a field of kind ${kind}`);
    const value = readNumber();
    if (kind === 0) {
      yield { number: tag >> 3, bytes: new Uint8Array(), value };
      continue;
    }
    if (at + value > message.length) throw new Error("the message ends within a field");
    yield { number: tag >> 3, bytes: message.subarray(at, at += value), value: 0 };
  }
}

/** Writes a message. */
export class FieldWriter {
  readonly #parts: Uint8Array[] = [];

  #number(value: number): void {
    const bytes: number[] = [];
    for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) bytes.push(rest % 128 + 128);
    bytes.push(Math.floor(value / 128 ** bytes.length));
    this.#parts.push(Uint8Array.from(bytes));
  }

  number(field: number, value: number): this {
    this.#number(field << 3);
    this.#number(value);
    return this;
  }

  bytes(field: number, bytes: Uint8Array): this {
    this.#number(field << 3 | 2);
    this.#number(bytes.length);
    this.#parts.push(bytes);
    return this;
  }

  finish(): Uint8Array {
    return joined(this.#parts);
  }
}
