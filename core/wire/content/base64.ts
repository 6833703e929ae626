import { joined } from "../../lib/bytes/byte_parts.ts";
import { decodeBase64, encodeBase64 } from "../../lib/runtime/built_ins.ts";

/** Joins pieces of base64, of which each may have its own padding; empty if they are none. */
export function joinedBase64(pieces: readonly string[]): string {
  if (pieces.slice(0, -1).every((piece) => piece.length % 4 === 0 && !piece.endsWith("="))) {
    return pieces.join("");
  }
  const decoded = pieces.map(decodeBase64);
  const parts = decoded.filter((part) => part !== undefined);
  return parts.length < decoded.length ? "" : encodeBase64(joined(parts));
}
