/**
 * Masks the CSRF token with a new random pad in every response. Pages are compressed, and the length of a compressed
 * page that contains both a fixed secret and an attacker's text reveals the secret (BREACH, CVE-2013-3587).
 */
import { sameSecret } from "../../../core/lib/hash/sha256.ts";

function xor(one: Uint8Array, other: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(one, (byte, i) => byte ^ (other[i] ?? 0));
}

/**
 * Masks a token: a random pad, then the token under it, in base64url.
 *
 * @example
 * ```ts
 * import { maskCsrfToken, sameCsrfToken } from "./csrf_token.ts";
 * const shown = maskCsrfToken("token");
 * if (shown === maskCsrfToken("token")) throw new Error("the same twice");
 * if (!await sameCsrfToken(shown, maskCsrfToken("token"))) throw new Error("not recognised");
 * if (await sameCsrfToken(shown, maskCsrfToken("tokem"))) throw new Error("too much recognised");
 * ```
 */
export function maskCsrfToken(token: string): string {
  const bytes = new TextEncoder().encode(token);
  const pad = crypto.getRandomValues(new Uint8Array(bytes.length));
  const masked = new Uint8Array(bytes.length * 2);
  masked.set(pad);
  masked.set(xor(bytes, pad), bytes.length);
  return masked.toBase64({ alphabet: "base64url", omitPadding: true });
}

/** Unmasks a token; `undefined` for any other text. */
function unmasked(shown: string): string | undefined {
  let masked;
  try {
    masked = Uint8Array.fromBase64(shown, { alphabet: "base64url" });
  } catch {
    return undefined;
  }
  const half = masked.length / 2;
  if (!Number.isInteger(half)) return undefined;
  return new TextDecoder().decode(xor(masked.subarray(half), masked.subarray(0, half)));
}

/** Whether two masked texts hold the same token. */
export async function sameCsrfToken(one: string, other: string): Promise<boolean> {
  const [left, right] = [unmasked(one), unmasked(other)];
  return left !== undefined && right !== undefined && await sameSecret(left, right);
}
