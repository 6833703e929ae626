import { decodeBase64, encodeBase64 } from "../../lib/runtime/mod.ts";

/** Joins pieces of base64, of which each may have its own padding; empty if they are none. */
export function joinedBase64(pieces: readonly string[]): string {
  const joined = pieces.join("");
  if (pieces.slice(0, -1).every((piece) => piece.length % 4 === 0 && !piece.endsWith("="))) {
    return joined;
  }
  const decoded = pieces.map(decodeBase64);
  const parts = decoded.filter((part) => part !== undefined);
  if (parts.length < decoded.length) return "";
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return encodeBase64(bytes);
}
