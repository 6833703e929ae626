/**
 * Keeps the keys that sign days: Ed25519 (RFC 8032), the private part sealed with a master key. A key that was replaced
 * stays published, since the days that it signed stay.
 *
 * - Folder `kv/services/proofs/`: signed days, and proofs that a receipt or a balance is in one.
 * - In: sealed days, receipts, balances, the master keys.
 * - Out: signed texts in a chain, paths to their roots.
 * - Never: is on the way of a call, or changes a day that was signed.
 */
import {
  decodeBase64Url,
  encodeBase64Url,
  encodeHex,
} from "../../../core/lib/runtime/built_ins.ts";
import { invariant } from "../../../core/lib/base/assert.ts";
import { sha256 } from "../../../core/lib/hash/sha256.ts";
import { type MasterKeys, open, seal } from "../../../core/people/api_keys/seal.ts";
import { sealOwners } from "../../../core/people/api_keys/seal_owners.ts";
import type { KeySet } from "../../../core/trade/proofs/check_proof.ts";
import { proofKeyKey, proofKeysPrefix } from "../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";

/** Keys that are read at most: a service that changes its key each week has them for nineteen years. */
const maxKeys = 1_000;

/** Hexadecimal digits of the id of a key: enough that no two of a service are the same. */
const keyIdChars = 16;

/** A stored key. */
export interface ProofKeyRow {
  readonly id: string;
  /** The public key, 32 bytes in base64url. */
  readonly publicKey: string;
  /** The private key as PKCS #8 in base64url, sealed for `proof_key/<id>`. */
  readonly sealed: string;
  readonly createdAtMs: number;
}

/** A key that signs. */
export interface SigningKey {
  readonly id: string;
  sign(text: string): Promise<string>;
}

async function readRows(kv: KeyValueStore): Promise<readonly ProofKeyRow[]> {
  const rows: ProofKeyRow[] = [];
  for await (
    const { value } of kv.list<ProofKeyRow>({ prefix: proofKeysPrefix() }, { limit: maxKeys })
  ) {
    rows.push(value);
  }
  return rows.sort((one, other) => one.createdAtMs - other.createdAtMs);
}

/** Reads the published keys, the oldest first. */
export async function readKeySet(kv: KeyValueStore): Promise<KeySet> {
  const keys = (await readRows(kv)).map(({ id, publicKey }) => ({
    kty: "OKP" as const,
    crv: "Ed25519" as const,
    kid: id,
    x: publicKey,
  }));
  return { keys };
}

/** Lists the keys that no master key opens, or whose public part is not the one that was made with them. */
export async function foreignKeys(kv: KeyValueStore, masterKeys: MasterKeys): Promise<string[]> {
  const foreign: string[] = [];
  for (const { id, publicKey, sealed } of await readRows(kv)) {
    const raw = decodeBase64Url(publicKey);
    const isOwn = raw !== undefined && await keyIdOf(raw) === id &&
      await open(masterKeys, sealed, sealOwners.proof_key(id)) !== undefined;
    if (!isOwn) foreign.push(id);
  }
  return foreign;
}

async function keyIdOf(publicKey: Uint8Array<ArrayBuffer>): Promise<string> {
  return encodeHex(await sha256(publicKey)).slice(0, keyIdChars);
}

async function signingKeyOf(id: string, pkcs8: Uint8Array<ArrayBuffer>): Promise<SigningKey> {
  const key = await crypto.subtle.importKey("pkcs8", pkcs8, "Ed25519", false, ["sign"]);
  return {
    id,
    async sign(text) {
      const bytes = new TextEncoder().encode(text);
      return encodeBase64Url(new Uint8Array(await crypto.subtle.sign("Ed25519", key, bytes)));
    },
  };
}

/**
 * Makes a new key, which signs from now on.
 *
 * @param attach adds rows of the caller to the commit
 */
export async function makeSigningKey(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  nowMs: number,
  attach: (op: AtomicWrite, keyId: string) => void = () => {},
): Promise<SigningKey> {
  const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
  invariant("privateKey" in pair, "Ed25519 has two keys");
  const raw = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
  const pkcs8 = new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey));
  const id = await keyIdOf(raw);
  const row: ProofKeyRow = {
    id,
    publicKey: encodeBase64Url(raw),
    sealed: await seal(masterKeys, encodeBase64Url(pkcs8), sealOwners.proof_key(id)),
    createdAtMs: nowMs,
  };
  const op = kv.atomic().set(proofKeyKey(id), row);
  attach(op, id);
  await op.commit();
  return await signingKeyOf(id, pkcs8);
}

/**
 * Opens the newest key. Where there is none, or none that these master keys open, a new one is made: what the lost one
 * signed stays valid.
 */
export async function openSigningKey(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  nowMs: number,
): Promise<SigningKey> {
  const newest = (await readRows(kv)).at(-1);
  const secret = newest && await open(masterKeys, newest.sealed, sealOwners.proof_key(newest.id));
  const pkcs8 = secret === undefined ? undefined : decodeBase64Url(secret);
  return newest === undefined || pkcs8 === undefined
    ? await makeSigningKey(kv, masterKeys, nowMs)
    : await signingKeyOf(newest.id, pkcs8);
}
