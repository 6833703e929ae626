import { type ByteReader, UpstreamFailure } from "../upstream/transport.ts";

/** Bytes that grow: each doubling copies once. */
class Gathering {
  #buffer = new Uint8Array(4096);
  length = 0;

  add(chunk: Uint8Array): void {
    if (this.length + chunk.length > this.#buffer.length) {
      const larger = new Uint8Array(
        Math.max(this.#buffer.length * 2, this.length + chunk.length),
      );
      larger.set(this.bytes());
      this.#buffer = larger;
    }
    this.#buffer.set(chunk, this.length);
    this.length += chunk.length;
  }

  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.length);
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
