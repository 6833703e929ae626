/** Opaque secrets that only their holder has: session cookies, tokens in mails. */
import { encodeBase64Url } from "../../lib/runtime/built_ins.ts";
import { sha256 } from "../../lib/hash/sha256.ts";

/** 256 bits cannot be guessed, so one fast hash is enough to store them. */
const tokenBytes = 32;

/**
 * Creates a secret in base64url, always from the machine's own random source: a test has no reason
 * to choose one.
 */
export function newSecretToken(): string {
  return encodeBase64Url(crypto.getRandomValues(new Uint8Array(tokenBytes)));
}

/**
 * Hashes a secret for the store: SHA-256 in base64url.
 *
 * @param purpose separates kinds of secrets: the hash of a session cookie never matches a mail
 * token
 *
 * @example
 * ```ts
 * import { hashSecret, newSecretToken } from "./secret_token.ts";
 * const token = newSecretToken();
 * if (await hashSecret("session", token) === await hashSecret("csrf", token)) throw new Error();
 * ```
 */
export async function hashSecret(purpose: string, secret: string): Promise<string> {
  return encodeBase64Url(await sha256(`${purpose}\0${secret}`));
}
