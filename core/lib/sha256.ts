/** SHA-256: for indexes by content, and for secrets that have enough bits of their own. */
import { encodeHex } from "./runtime/mod.ts";

/** The hash of bytes, or of a text in UTF-8. */
export async function sha256(content: Uint8Array | string): Promise<Uint8Array> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  // The type only keeps memory out that threads share, of which we have none.
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as BufferSource));
}

/** The hash as 64 hexadecimal digits. */
export async function sha256Hex(content: Uint8Array | string): Promise<string> {
  return encodeHex(await sha256(content));
}

/**
 * Compares secrets without telling by time how much of them agrees: both are hashed, and hashes of equal length are
 * compared in full.
 *
 * @example
 * ```ts
 * import { sameSecret } from "./sha256.ts";
 * if (!await sameSecret("s3cret", "s3cret") || await sameSecret("s3cret", "s3cre")) throw new Error();
 * ```
 */
export async function sameSecret(one: string, other: string): Promise<boolean> {
  const [left, right] = await Promise.all([sha256(one), sha256(other)]);
  let difference = 0;
  for (const [at, byte] of left.entries()) difference |= byte ^ right[at]!;
  return difference === 0;
}
