/** Encodes values as the embedded engine does: by the structured clone of V8, which keeps `bigint` and binary parts. */
import { deserialize, serialize } from "node:v8";

/** The bound that Deno KV puts on a value. Every engine keeps it, so that a store can move to any other. */
const valueBytes = 65_536;

/** @throws {TypeError} if the value cannot be cloned or is longer than 65,536 bytes */
export function encodeValue(value: unknown): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes = serialize(value);
  } catch (error) {
    throw new TypeError("The value cannot be stored", { cause: error });
  }
  return checkedBytes(bytes);
}

/** @throws {TypeError} if the bytes of a value are more than 65,536 */
export function checkedBytes(bytes: Uint8Array): Uint8Array {
  if (bytes.length > valueBytes) throw new TypeError(`A value has at most ${valueBytes} bytes`);
  return bytes;
}

/** The engine that reads decides the type: what a row holds is known only to whoever wrote it. */
export function decodeValue(bytes: Uint8Array): unknown {
  return deserialize(bytes);
}
