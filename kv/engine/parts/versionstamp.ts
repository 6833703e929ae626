/** Versionstamps as Deno KV writes them: twenty hexadecimal digits. */

const digits = 20;

/** @param version a number that no other commit has */
export function versionstampOf(version: bigint): string {
  return version.toString(16).padStart(digits, "0");
}

/**
 * Reads the number back.
 *
 * @throws {TypeError} if the text is not a versionstamp
 */
export function versionOf(versionstamp: string): bigint {
  if (!/^[0-9a-f]{20}$/.test(versionstamp)) throw new TypeError("Not a versionstamp");
  return BigInt(`0x${versionstamp}`);
}
