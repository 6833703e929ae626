/** Opaque secrets that only their holder knows: session cookies, tokens in mails. */

/** 256 bits: cannot be guessed, so one fast hash is enough to store them. */
const tokenBytes = 32;

/** A new secret in base64url. Always the machine's own randomness: a test has no reason to choose a secret. */
export function newSecretToken(): string {
  return crypto.getRandomValues(new Uint8Array(tokenBytes))
    .toBase64({ alphabet: "base64url", omitPadding: true });
}

/**
 * What the store keeps instead of the secret: SHA-256 in base64url.
 *
 * @param purpose separates kinds of secrets: the hash of a session cookie never matches a mail token
 *
 * @example
 * ```ts
 * import { hashSecret, newSecretToken } from "./secret_token.ts";
 * const token = newSecretToken();
 * if (await hashSecret("session", token) === await hashSecret("csrf", token)) throw new Error();
 * ```
 */
export async function hashSecret(purpose: string, secret: string): Promise<string> {
  const bytes = new TextEncoder().encode(`${purpose}\0${secret}`);
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return new Uint8Array(digest).toBase64({ alphabet: "base64url", omitPadding: true });
}

/** Compares two short texts in a time that does not tell where they differ. */
export function sameSecret(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0;
}
