/**
 * Signs texts in the store with a key derived from a master key (HMAC-SHA-256), so that who can
 * write the store but has no master key cannot change such a text unnoticed.
 *
 * Text form: `v1.<masterKeyId>.<signature>`, base64url.
 */
import { decodeBase64Url, encodeBase64Url } from "../../lib/runtime/mod.ts";
import type { MasterKeys } from "./seal.ts";

/** What a signature says about its text. */
export type SignatureCheck =
  | { readonly kind: "valid" }
  /** The text or its signature was changed. */
  | { readonly kind: "invalid" }
  /** The master key is not among those that are configured. */
  | { readonly kind: "unknown_key"; readonly keyId: string };

/**
 * Signs a text with the newest master key.
 *
 * @example
 * ```ts
 * import { newMasterKey, readMasterKeys } from "./seal.ts";
 * import { checkSignature, signText } from "./signature.ts";
 * const keys = await readMasterKeys(newMasterKey());
 * const signature = await signText(keys, "a sum");
 * if ((await checkSignature(keys, "a sum", signature)).kind !== "valid") throw new Error("refused");
 * if ((await checkSignature(keys, "a bum", signature)).kind !== "invalid") throw new Error("accepted");
 * ```
 */
export async function signText(keys: MasterKeys, text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  const signature = await crypto.subtle.sign("HMAC", keys.sealing.signing, bytes);
  return `v1.${keys.sealing.id}.${encodeBase64Url(new Uint8Array(signature))}`;
}

/** Checks the signature of a text against all configured master keys. */
export async function checkSignature(
  keys: MasterKeys,
  text: string,
  signature: string,
): Promise<SignatureCheck> {
  const [version, keyId = "", encoded = "", ...rest] = signature.split(".");
  const bytes = /^[A-Za-z0-9_-]+$/.test(encoded) ? decodeBase64Url(encoded) : undefined;
  if (version !== "v1" || rest.length > 0 || bytes === undefined) return { kind: "invalid" };
  const masterKey = keys.byId.get(keyId);
  if (masterKey === undefined) return { kind: "unknown_key", keyId };
  const content = new TextEncoder().encode(text);
  const isValid = await crypto.subtle.verify("HMAC", masterKey.signing, bytes, content);
  return { kind: isValid ? "valid" : "invalid" };
}
