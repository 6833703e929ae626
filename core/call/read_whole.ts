import { type ByteReader, UpstreamFailure } from "../upstream/transport.ts";

/**
 * Reads a body to its end.
 *
 * @throws {UpstreamFailure} `too_large` when it has more than `maxBytes`
 */
export async function readWhole(body: ByteReader, maxBytes: number): Promise<Uint8Array> {
  let buffer = new Uint8Array(4096);
  let length = 0;
  for (;;) {
    const chunk = await body.read();
    if (chunk === null) return buffer.subarray(0, length);
    if (length + chunk.length > maxBytes) {
      throw new UpstreamFailure("too_large", `The body has more than ${maxBytes} bytes`);
    }
    if (length + chunk.length > buffer.length) {
      const larger = new Uint8Array(Math.max(buffer.length * 2, length + chunk.length));
      larger.set(buffer.subarray(0, length));
      buffer = larger;
    }
    buffer.set(chunk, length);
    length += chunk.length;
  }
}
