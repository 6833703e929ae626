/**
 * Computes CRC-16/CCITT-FALSE (polynomial 1021, initial value FFFF, not reflected, no final xor)
 * for EMVCo QR field 63.
 *
 * @example
 * ```ts
 * import { crc16 } from "./crc16.ts";
 * if (crc16("123456789") !== "29B1") throw new Error("the standard check value is wrong");
 * ```
 *
 * @param ascii text of characters below 128; one byte each
 * @returns four upper-case hexadecimal digits
 */
export function crc16(ascii: string): string {
  let crc = 0xffff;
  for (let at = 0; at < ascii.length; at++) {
    crc ^= ascii.charCodeAt(at) << 8;
    for (let bit = 0; bit < 8; bit++) {
      crc = (crc & 0x8000) === 0 ? (crc << 1) & 0xffff : ((crc << 1) ^ 0x1021) & 0xffff;
    }
  }
  return crc.toString(16).toUpperCase().padStart(4, "0");
}
