/**
 * SHA-256, for indexes by content and for secrets with enough entropy of their own.
 *
 * - Folder `core/lib/hash/`: hashes: SHA-256, CRC-32, and a short fingerprint that is computed synchronously.
 * - In: texts and bytes.
 * - Out: hashes as bytes, numbers or text.
 * - Never: hashes passwords: `routes/auth/` does.
 */
import { encodeHex } from "../runtime/built_ins.ts";

/** Computes the hash of bytes, or of a text in UTF-8. */
export async function sha256(content: Uint8Array | string): Promise<Uint8Array> {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  // The type excludes memory shared between threads, which the gateway does not use.
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes as BufferSource));
}

/** Computes the hash as 64 hexadecimal digits. */
export async function sha256Hex(content: Uint8Array | string): Promise<string> {
  return encodeHex(await sha256(content));
}

/**
 * Compares two secrets in a time that does not depend on where they differ: their hashes are
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
