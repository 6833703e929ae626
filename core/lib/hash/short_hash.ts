/**
 * A 64-bit fingerprint of a text, synchronous and the same on every machine.
 *
 * It keeps shortened ids and names distinct. It does not resist an attacker, who could only confuse their own
 * conversation. (Web Crypto's SHA-256 is asynchronous, conversion is not.)
 *
 * Two 32-bit FNV-1a lanes with different seeds and primes run over the UTF-16 code units; the final mixing is the
 * usual multiply-and-shift avalanche, crossed between the lanes so that both halves depend on every unit.
 */
function lanes(text: string): readonly [number, number] {
  let a = 0x811c9dc5;
  let b = 0x9747b28c ^ text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit, 0x85ebca6b);
  }
  a = mix(a ^ (b >>> 15));
  b = mix(b ^ (a >>> 13));
  return [a, b];
}

function mix(value: number): number {
  value = Math.imul(value ^ (value >>> 16), 0x7feb352d);
  value = Math.imul(value ^ (value >>> 15), 0x846ca68b);
  return (value ^ (value >>> 16)) >>> 0;
}

/**
 * Hashes a text to sixteen hexadecimal digits.
 *
 * @example
 * ```ts
 * import { hashHex } from "./short_hash.ts";
 * if (!/^[0-9a-f]{16}$/.test(hashHex("call_1")) || hashHex("a") === hashHex("b")) throw new Error("no hash");
 * ```
 */
export function hashHex(text: string): string {
  const [a, b] = lanes(text);
  return a.toString(16).padStart(8, "0") + b.toString(16).padStart(8, "0");
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Hashes a text to `length` characters of `[0-9A-Za-z]`; at most 9 carry information (53 of the 64 bits). */
export function hashBase62(text: string, length: number): string {
  const [a, b] = lanes(text);
  let rest = (b & 0x1fffff) * 2 ** 32 + a;
  let out = "";
  for (let i = 0; i < length; i++) {
    out += alphabet[rest % 62];
    rest = Math.floor(rest / 62);
  }
  return out;
}
