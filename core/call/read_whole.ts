import { type ByteReader, UpstreamFailure } from "../upstream/transport.ts";

/** Bytes that grow: a body of one piece is copied once, others double their room. */
class Gathering {
  #buffer: Uint8Array | undefined;
  length = 0;

  /** Takes a copy: pieces are views into a buffer that is used again. */
  add(chunk: Uint8Array): void {
    const length = this.length + chunk.length;
    const buffer = this.#buffer;
    if (buffer === undefined) {
      this.#buffer = chunk.slice();
    } else if (length <= buffer.length) {
      buffer.set(chunk, this.length);
    } else {
      const larger = new Uint8Array(Math.max(buffer.length * 2, length));
      larger.set(this.bytes());
      larger.set(chunk, this.length);
      this.#buffer = larger;
    }
    this.length = length;
  }

  bytes(): Uint8Array {
    return this.#buffer?.subarray(0, this.length) ?? new Uint8Array(0);
  }
}

/**
 * Reads a body to its end.
 *
 * @throws {UpstreamFailure} `too_large` when it has more than `maxBytes`
 */
export async function readWhole(body: ByteReader, maxBytes: number): Promise<Uint8Array> {
  const gathering = new Gathering();
  for (;;) {
    const chunk = await body.read();
    if (chunk === null) return gathering.bytes();
    if (gathering.length + chunk.length > maxBytes) {
      throw new UpstreamFailure("too_large", `The body has more than ${maxBytes} bytes`);
    }
    gathering.add(chunk);
  }
}

/**
 * Reads what can be had of a body: up to its end, to `maxBytes`, or to where it breaks. For the text of refusals,
 * whose status speaks even when the rest does not come.
 */
export async function readBeginning(body: ByteReader, maxBytes: number): Promise<Uint8Array> {
  const gathering = new Gathering();
  try {
    while (gathering.length < maxBytes) {
      const chunk = await body.read();
      if (chunk === null) break;
      gathering.add(chunk.subarray(0, maxBytes - gathering.length));
    }
  } catch (failure) {
    if (!(failure instanceof UpstreamFailure)) throw failure;
  }
  return gathering.bytes();
}
