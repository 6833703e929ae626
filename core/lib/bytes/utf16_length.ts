/**
 * Counts the UTF-16 units of UTF-8 bytes, or returns -1 if the bytes are no valid UTF-8 (table 3-7 of the Unicode
 * standard), which a decoder would replace.
 *
 * @example
 * ```ts
 * import { utf16Length } from "./utf16_length.ts";
 * const bytes = new TextEncoder().encode("aé\u{1f600}");
 * if (utf16Length(bytes, 0, bytes.length) !== 4) throw new Error("miscounted");
 * if (utf16Length(bytes, 0, bytes.length - 1) !== -1) throw new Error("half a character");
 * ```
 */
export function utf16Length(bytes: Uint8Array, from: number, to: number): number {
  let units = 0;
  for (let at = from; at < to; at++) {
    const lead = bytes[at]!;
    units++;
    if (lead < 0x80) continue;
    const following = followingBytes(lead);
    if (following === 0 || at + following >= to) return -1;
    const second = bytes[at + 1]!;
    if (second < leastSecond(lead) || second > mostSecond(lead)) return -1;
    for (let index = 2; index <= following; index++) {
      if ((bytes[at + index]! & 0xc0) !== 0x80) return -1;
    }
    if (following === 3) units++;
    at += following;
  }
  return units;
}

/** Bytes that follow the first byte of a character; 0 if no character begins with it. */
function followingBytes(lead: number): number {
  if (lead < 0xc2 || lead > 0xf4) return 0;
  return lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
}

/** Bounds of the second byte: they exclude longer forms, halves of surrogate pairs, and what is beyond the last character. */
function leastSecond(lead: number): number {
  return lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
}

function mostSecond(lead: number): number {
  return lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
}
