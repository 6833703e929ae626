/** The reversed polynomial of CRC-32 (ISO 3309, as in gzip and PNG). */
const polynomial = 0xedb88320;

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte;
  for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? polynomial : 0);
  return sum;
});

/**
 * Computes the CRC-32 of bytes, as an unsigned number.
 *
 * @example
 * ```ts
 * import { crc32 } from "./crc32.ts";
 * if (crc32(new TextEncoder().encode("123456789")) !== 0xcbf43926) throw new Error("wrong");
 * ```
 */
export function crc32(bytes: Uint8Array): number {
  let sum = 0xffffffff;
  for (let i = 0; i < bytes.length; i++) {
    sum = (sum >>> 8) ^ (table[(sum ^ (bytes[i] ?? 0)) & 0xff] ?? 0);
  }
  return (sum ^ 0xffffffff) >>> 0;
}
