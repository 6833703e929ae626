/**
 * Bytes in one piece or in several consecutive ones, so that large pieces need no copy to lie
 * together.
 */
export type ByteParts = Uint8Array | readonly Uint8Array[];

/** Returns the pieces in their order. */
export function piecesOf(bytes: ByteParts): readonly Uint8Array[] {
  return bytes instanceof Uint8Array ? [bytes] : bytes;
}

/** Counts the bytes of all pieces. */
export function lengthOf(bytes: ByteParts): number {
  if (bytes instanceof Uint8Array) return bytes.length;
  let length = 0;
  for (const piece of bytes) length += piece.length;
  return length;
}

/** Joins the pieces; copies only if there are several. */
export function joined(bytes: ByteParts): Uint8Array {
  const pieces = piecesOf(bytes);
  const [only] = pieces;
  if (pieces.length === 1 && only !== undefined) return only;
  const whole = new Uint8Array(lengthOf(pieces));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/**
 * Joins neighbouring pieces of up to `copiedBytes` each, so that fewer are left.
 *
 * @example
 * ```ts
 * import { withFewPieces } from "./byte_parts.ts";
 * const pieces = [1, 2, 100, 3, 4].map((length) => new Uint8Array(length));
 * const lengths = withFewPieces(pieces, 50).map(({ length }) => length);
 * if (lengths.join() !== "3,100,7") throw new Error(lengths.join());
 * ```
 */
export function withFewPieces(
  pieces: readonly Uint8Array[],
  copiedBytes: number,
): readonly Uint8Array[] {
  const few: Uint8Array[] = [];
  let small: Uint8Array[] = [];
  const flush = () => {
    if (small.length > 0) few.push(joined(small));
    small = [];
  };
  for (const piece of pieces) {
    if (piece.length <= copiedBytes) {
      if (piece.length > 0) small.push(piece);
      continue;
    }
    flush();
    few.push(piece);
  }
  flush();
  return few;
}
