/** Arrays as PostgreSQL reads them from text. The driver would need a query for the types of arrays first. */

/** The text of a `bytea[]`. */
export function byteArrays(rows: readonly Uint8Array[]): string {
  return `{${rows.map((bytes) => `"\\\\x${bytes.toHex()}"`).join(",")}}`;
}

/** The text of a `bigint[]`; `null` stands for no number. */
export function numbers(values: readonly (bigint | number | null)[]): string {
  return `{${values.map((value) => value === null ? "null" : String(value)).join(",")}}`;
}

/** The text of a `text[]` of names that need no quotes. */
export function names(values: readonly string[]): string {
  return `{${values.join(",")}}`;
}
