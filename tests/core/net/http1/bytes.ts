/** Byte arrays for the tests of the HTTP/1.1 driver. */

export function concat(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Cuts bytes at the given positions modulo the length, in any order; no piece is empty. */
export function splitAt(whole: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  if (whole.length === 0) return [];
  const places = [...new Set(cuts.map((cut) => cut % whole.length)), whole.length]
    .filter((place) => place > 0)
    .toSorted((a, b) => a - b);
  let from = 0;
  return places.map((place) => {
    const piece = whole.slice(from, place);
    from = place;
    return piece;
  });
}
