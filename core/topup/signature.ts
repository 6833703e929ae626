/** Checks of shared secrets, in constant time, over the bytes as they arrived. */

/**
 * Checks an HMAC given in hexadecimal. Web Crypto compares in constant time.
 *
 * @param secret must not be empty: a provider without a secret has no endpoint at all
 */
export async function verifyHmacHex(
  hash: "SHA-256" | "SHA-512",
  secret: string,
  signed: Uint8Array<ArrayBuffer>,
  signatureHex: string,
): Promise<boolean> {
  const signature = bytesOfHex(signatureHex);
  if (secret === "" || signature === undefined) return false;
  const key = await crypto.subtle.importKey(
    "raw",
    new TextEncoder().encode(secret),
    { name: "HMAC", hash },
    false,
    ["verify"],
  );
  return await crypto.subtle.verify("HMAC", key, signature, signed);
}

function bytesOfHex(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^(?:[0-9a-fA-F]{2}){16,64}$/.test(text)) return undefined;
  const bytes = new Uint8Array(text.length / 2);
  for (let at = 0; at < bytes.length; at++) {
    bytes[at] = Number.parseInt(text.slice(2 * at, 2 * at + 2), 16);
  }
  return bytes;
}

/** Compares two secrets by their hashes, so that the time taken tells nothing about either. */
export async function sameSecret(expected: string, given: string): Promise<boolean> {
  const encoder = new TextEncoder();
  const [left, right] = await Promise.all([
    crypto.subtle.digest("SHA-256", encoder.encode(expected)),
    crypto.subtle.digest("SHA-256", encoder.encode(given)),
  ]);
  const leftBytes = new Uint8Array(left);
  const rightBytes = new Uint8Array(right);
  let difference = 0;
  leftBytes.forEach((byte, at) => difference |= byte ^ rightBytes[at]!);
  return difference === 0;
}

/** Puts text in front of bytes, for signatures over `timestamp.body`. */
export function prefixed(text: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(text);
  const joined = new Uint8Array(head.length + body.length);
  joined.set(head, 0);
  joined.set(body, head.length);
  return joined;
}
