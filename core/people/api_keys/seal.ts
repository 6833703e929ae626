/**
 * Encrypts secrets at rest (AES-256-GCM under a master key), so that an owner can see a key again
 * and the store alone reveals nothing.
 *
 * Text form: `v1.<masterKeyId>.<iv>.<ciphertext>`, base64url. The additional data names the owner,
 * so a ciphertext moved to another record does not decrypt.
 */
import { decodeBase64Url, encodeBase64Url } from "../../lib/runtime/built_ins.ts";
import { sha256 } from "../../lib/hash/sha256.ts";
import type { SealOwner } from "./seal_owners.ts";

/** The master keys, newest first: the first encrypts, all decrypt. */
export interface MasterKeys {
  readonly sealing: MasterKey;
  readonly byId: ReadonlyMap<string, MasterKey>;
}

interface MasterKey {
  readonly id: string;
  readonly key: CryptoKey;
  /** Derived from the master key: signs texts in the store, so that a change of them is found. */
  readonly signing: CryptoKey;
}

const ivBytes = 12; // NIST SP 800-38D: 96 bits, random; far below 2^32 seals per key

/** Reads base64url without white space and padding. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> | undefined {
  return /^[A-Za-z0-9_-]*$/.test(text) ? decodeBase64Url(text) : undefined;
}

/** Creates the text of a new master key: 32 random bytes in base64url. */
export function newMasterKey(): string {
  return encodeBase64Url(crypto.getRandomValues(new Uint8Array(32)));
}

type MasterKeyBytes =
  | { readonly ok: true; readonly keys: readonly Uint8Array<ArrayBuffer>[] }
  | { readonly ok: false; readonly problem: string };

function masterKeyBytes(text: string): MasterKeyBytes {
  const parts = text.split(",").map((part) => part.trim()).filter((part) => part !== "");
  const keys: Uint8Array<ArrayBuffer>[] = [];
  for (const [i, part] of parts.entries()) {
    const raw = bytesOf(part);
    if (raw?.length !== 32) {
      return { ok: false, problem: `key ${i + 1} must be 32 bytes in base64url` };
    }
    keys.push(raw);
  }
  return keys.length === 0 ? { ok: false, problem: "there is no key in it" } : { ok: true, keys };
}

/**
 * Describes why a list of master keys cannot be read; `undefined` if it can. Never contains a key.
 *
 * @example
 * ```ts
 * import { masterKeysProblem, newMasterKey } from "./seal.ts";
 * if (masterKeysProblem(`${newMasterKey()}, ${newMasterKey()}`) !== undefined) throw new Error("refused");
 * if (masterKeysProblem("abc") !== "key 1 must be 32 bytes in base64url") throw new Error("accepted");
 * ```
 */
export function masterKeysProblem(text: string): string | undefined {
  const read = masterKeyBytes(text);
  return read.ok ? undefined : read.problem;
}

/**
 * Reads `GATEWAY_MASTER_KEYS`: one or more keys of 32 bytes in base64url, separated by commas, newest first.
 *
 * @throws {RangeError} if there is a {@linkcode masterKeysProblem}
 */
export async function readMasterKeys(text: string): Promise<MasterKeys> {
  const read = masterKeyBytes(text);
  if (!read.ok) throw new RangeError(`Cannot read master keys: ${read.problem}`);
  const keys = await Promise.all(read.keys.map(async (raw): Promise<MasterKey> => {
    const digest = await sha256(raw);
    const key = await crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]);
    return { id: encodeBase64Url(digest.subarray(0, 6)), key, signing: await signingKey(raw) };
  }));
  return { sealing: keys[0]!, byId: new Map(keys.map((entry) => [entry.id, entry])) };
}

/** Derives a key for signatures, so that no key serves two algorithms. */
async function signingKey(raw: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  const source = await crypto.subtle.importKey("raw", raw, "HKDF", false, ["deriveKey"]);
  const info = new TextEncoder().encode("gateway signature v1");
  return await crypto.subtle.deriveKey(
    { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info },
    source,
    { name: "HMAC", hash: "SHA-256", length: 256 },
    false,
    ["sign", "verify"],
  );
}

/**
 * Encrypts `secret` for the record named by `owner`.
 *
 * @example
 * ```ts
 * import { newMasterKey, open, readMasterKeys, seal } from "./seal.ts";
 * import { sealOwners } from "./seal_owners.ts";
 * const [one, other] = ["main", "spare"].map(sealOwners.provider_key);
 * if (one === undefined || other === undefined) throw new Error();
 * const keys = await readMasterKeys(newMasterKey());
 * const sealed = await seal(keys, "sk-1", one);
 * if (await open(keys, sealed, one) !== "sk-1") throw new Error("lost");
 * if (await open(keys, sealed, other) !== undefined) throw new Error("swapped");
 * ```
 */
export async function seal(
  keys: MasterKeys,
  secret: string,
  owner: SealOwner,
): Promise<string> {
  const iv = crypto.getRandomValues(new Uint8Array(ivBytes));
  const ciphertext = await crypto.subtle.encrypt(
    { name: "AES-GCM", iv, additionalData: new TextEncoder().encode(owner) },
    keys.sealing.key,
    new TextEncoder().encode(secret),
  );
  return `v1.${keys.sealing.id}.${encodeBase64Url(iv)}.${
    encodeBase64Url(new Uint8Array(ciphertext))
  }`;
}

/** The id of the master key that sealed a text, as the text names it. */
export function sealingKeyId(sealed: string): string {
  return sealed.split(".")[1] ?? "";
}

/** Whether one of the master keys sealed a text, by the id that the text names. */
export function isSealedByAny(keys: MasterKeys, sealed: string): boolean {
  return keys.byId.has(sealingKeyId(sealed));
}

/**
 * Decrypts a sealed secret; `undefined` if the master key is gone, the text was changed, or it
 * belongs to another owner.
 */
export async function open(
  keys: MasterKeys,
  sealed: string,
  owner: SealOwner,
): Promise<string | undefined> {
  const [version, keyId, ivText, ciphertextText, ...rest] = sealed.split(".");
  if (version !== "v1" || rest.length > 0) return undefined;
  const masterKey = keys.byId.get(keyId ?? "");
  const iv = bytesOf(ivText ?? "");
  const ciphertext = bytesOf(ciphertextText ?? "");
  if (masterKey === undefined || iv?.length !== ivBytes || ciphertext === undefined) {
    return undefined;
  }
  try {
    const plain = await crypto.subtle.decrypt(
      { name: "AES-GCM", iv, additionalData: new TextEncoder().encode(owner) },
      masterKey.key,
      ciphertext,
    );
    return new TextDecoder().decode(plain);
  } catch {
    return undefined; // authentication failed: changed or swapped
  }
}

// Signs texts in the store with a key derived from a master key (HMAC-SHA-256), so that who can
// write the store but has no master key cannot change such a text unnoticed.
//
// Text form: `v1.<masterKeyId>.<signature>`, base64url.

/** Verdict of a signature about its text. */
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
 * import { checkSignature, signText } from "./seal.ts";
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
