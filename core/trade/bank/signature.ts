/** Checks signatures in constant time, over the bytes as received. */
import { decodeHex } from "../../lib/runtime/mod.ts";

/**
 * Milliseconds by which the time of a signed notice may differ from this clock in either direction:
 * SePay's own rule. Later repeats come through the dashboard or the poll.
 */
export const bankNoticeSkewMs = 5 * 60_000;

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
  return /^(?:[0-9a-fA-F]{2}){16,64}$/.test(text) ? decodeHex(text) : undefined;
}

/** Prepends text to bytes, for signatures over `timestamp.body`. */
export function prefixed(text: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(text);
  const joined = new Uint8Array(head.length + body.length);
  joined.set(head, 0);
  joined.set(body, head.length);
  return joined;
}
