import type { ByteReader } from "./transport.ts";

/**
 * Makes a body of bytes that have already arrived.
 *
 * @example
 * ```ts
 * import { bodyOf } from "./given_body.ts";
 * const body = bodyOf(new Uint8Array([1, 2]));
 * if ((await body.read())?.length !== 2 || await body.read() !== null) throw new Error("wrong");
 * ```
 */
export function bodyOf(bytes: Uint8Array): ByteReader {
  let rest: Uint8Array | null = bytes.length === 0 ? null : bytes;
  return {
    read() {
      const read = rest;
      rest = null;
      return Promise.resolve(read);
    },
  };
}
