/**
 * Whether bytes contain a short text of ASCII. It searches for a digit of the text, if it has one: in prose digits are
 * rarer than letters, so the engine skips most of it.
 *
 * @example
 * ```ts
 * import { holdsAscii } from "./holds_ascii.ts";
 * const bytes = new TextEncoder().encode("a1 ab1");
 * if (!holdsAscii(bytes, "ab1") || holdsAscii(bytes, "ab2")) throw new Error("wrong");
 * ```
 */
export function holdsAscii(bytes: Uint8Array, text: string): boolean {
  const part = new TextEncoder().encode(text);
  const rarestAt = Math.max(text.search(/\d/), 0);
  const rarest = part[rarestAt]!;
  for (let at = bytes.indexOf(rarest); at !== -1; at = bytes.indexOf(rarest, at + 1)) {
    if (part.every((byte, i) => bytes[at - rarestAt + i] === byte)) return true;
  }
  return false;
}
