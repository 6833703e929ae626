/** Reads whole numbers as people write them in either language. */

/**
 * Returns the digits of a whole number with or without separators: `100000`, `100.000`, `100,000`, `100 000`.
 *
 * @returns `undefined` for anything else, and for 0
 */
export function typedDigits(text: string, mostDigits: number): string | undefined {
  const written = text.replace(/[\s\u00a0]/g, "");
  if (!/^\d+$|^\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*$/.test(written)) return undefined;
  const plain = written.replace(/[.,]/g, "").replace(/^0+/, "");
  return plain === "" || plain.length > mostDigits ? undefined : plain;
}

/** Digits of the largest rate limit: a thousand million. */
const mostLimitDigits = 9;

/** Reads a rate limit. */
export function parseTypedLimit(text: string): number | undefined {
  const digits = typedDigits(text, mostLimitDigits);
  return digits === undefined ? undefined : Number(digits);
}
