/**
 * Keeps keys of providers in the store, each under a name that the catalogue refers to. A row has the secret sealed with
 * a master key, bound to its name; nothing shows it again.
 *
 * - Folder `kv/services/vault/`: keys of providers, sealed in the store.
 * - In: secrets that operators add or replace, who does it, the master keys.
 * - Out: rows without a readable secret, and the opened secrets in the memory of a process that follows the store.
 * - Never: writes a secret in plain text, or any part of one to the audit log but its fingerprint.
 */
import { sha256Hex } from "../../../core/lib/hash/sha256.ts";
import { providersByStoredKey } from "../../../core/catalog/read_file.ts";
import { type MasterKeys, open, seal, sealingKeyId } from "../../../core/people/api_keys/seal.ts";
import { sealOwners } from "../../../core/people/api_keys/seal_owners.ts";
import {
  catalogHeadKey,
  storedKeyKey,
  storedKeysPrefix,
  vaultEpochKey,
} from "../../engine/schema/keys.ts";
import type { CatalogHead } from "../../engine/control/catalog_head.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { type Actor, addAuditLine, type OperatorAct } from "../../people/audit/operator_audit.ts";
import { readVersionContents } from "../catalog/versions.ts";

/** Keys in the store: each provider may use sixteen, and every process reads and opens all of them at its start. */
export const maxStoredKeys = 100;

/** Characters of a secret: the JSON key of a service account has 2,400, temporary keys of AWS up to 2,000. */
export const maxSecretChars = 8_192;

/** Attempts of one write; only other operators compete for the rows. */
const writeAttempts = 5;

/** Characters of a secret from which on its last four tell it apart and help nobody to guess the rest. */
const minCharsToShowEnd = 20;

/** A row. */
export interface StoredKey {
  readonly name: string;
  /** With the id of the master key, and bound to the name. */
  readonly sealed: string;
  /** Text that tells the secret from another: its last four characters, or the begin of its digest. */
  readonly fingerprint: string;
  readonly addedAtMs: number;
  /** The address of the operator at that time. */
  readonly addedBy: string;
  readonly replacedAtMs?: number;
  readonly replacedBy?: string;
}

/** Actor who changes a key, and the time. */
export interface StoredKeyAct {
  readonly operator: Actor;
  readonly nowMs: number;
}

/** The result of a change. */
export type StoredKeyChange =
  | { readonly ok: true; readonly key: StoredKey }
  | { readonly ok: false; readonly reason: "missing" | "exists" | "full" | "conflict" }
  /** Providers of the catalogue in force, or of the one that waits, name it. */
  | { readonly ok: false; readonly reason: "in_use"; readonly providers: readonly string[] };

/**
 * Describes a secret without telling it.
 *
 * @example
 * ```ts
 * import { fingerprintOf } from "./stored_keys.ts";
 * if (await fingerprintOf("sk-proj-0123456789abcdef") !== "…cdef") throw new Error("not its end");
 * if (await fingerprintOf("short") !== "sha256:f9b0078b") throw new Error("shown in part");
 * ```
 */
export async function fingerprintOf(secret: string): Promise<string> {
  // The end of a JSON key says nothing: it is a bracket.
  return secret.length >= minCharsToShowEnd && !secret.trimStart().startsWith("{")
    ? `…${secret.slice(-4)}`
    : `sha256:${(await sha256Hex(secret)).slice(0, 8)}`;
}

/** Lists the keys by name. */
export async function listStoredKeys(kv: KeyValueStore): Promise<StoredKey[]> {
  const rows = kv.list<StoredKey>({ prefix: storedKeysPrefix() }, {
    limit: maxStoredKeys,
    batchSize: maxStoredKeys,
  });
  return await Array.fromAsync(rows, ({ value }) => value);
}

/** Decrypts a key, or says why it cannot be. */
export async function openStoredKey(
  masterKeys: MasterKeys,
  { name, sealed }: Pick<StoredKey, "name" | "sealed">,
): Promise<
  | { readonly ok: true; readonly secret: string }
  | { readonly ok: false; readonly problem: string }
> {
  const secret = await open(masterKeys, sealed, sealOwners.provider_key(name));
  if (secret !== undefined) return { ok: true, secret };
  const id = sealingKeyId(sealed);
  const problem = masterKeys.byId.has(id)
    ? `the stored key ${name} cannot be opened: its row was changed`
    : `the stored key ${name} is sealed with the master key ${id}, which is not configured`;
  return { ok: false, problem };
}

/** Whether a key was sealed with the newest master key. */
export function isSealedWithNewest(
  { sealing }: MasterKeys,
  { sealed }: Pick<StoredKey, "sealed">,
): boolean {
  return sealingKeyId(sealed) === sealing.id;
}

/** Lets every process read the keys again. */
function bumpVaultEpoch(operation: AtomicWrite): AtomicWrite {
  return operation.set(vaultEpochKey(), crypto.randomUUID());
}

function addLine(
  operation: AtomicWrite,
  act: OperatorAct,
  { name, fingerprint }: StoredKey,
  { operator, nowMs }: StoredKeyAct,
  addition = "",
): void {
  const detail = `${fingerprint}${addition}`;
  addAuditLine(operation, operator, { act, subject: name, detail, atMs: nowMs });
}

/** Adds a key under a name that none has. */
export async function addStoredKey(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  { name, secret }: { readonly name: string; readonly secret: string },
  act: StoredKeyAct,
): Promise<StoredKeyChange> {
  const key: StoredKey = {
    name,
    sealed: await seal(masterKeys, secret, sealOwners.provider_key(name)),
    fingerprint: await fingerprintOf(secret),
    addedAtMs: act.nowMs,
    addedBy: act.operator.email,
  };
  const outcome = await compareAndSet<StoredKeyChange>(async () => {
    const epoch = await kv.get(vaultEpochKey());
    const keys = await listStoredKeys(kv);
    const known = keys.find((one) => one.name === name);
    // The commit may have been repeated by the store's client, and have met what it wrote itself.
    if (known?.sealed === key.sealed) return { done: { ok: true, key } };
    if (known !== undefined) return { done: { ok: false, reason: "exists" } };
    if (keys.length >= maxStoredKeys) return { done: { ok: false, reason: "full" } };
    const operation = kv.atomic().check(epoch, { key: storedKeyKey(name), versionstamp: null })
      .set(storedKeyKey(name), key);
    addLine(bumpVaultEpoch(operation), "provider_key_added", key, act);
    return (await operation.commit()).ok ? { done: { ok: true, key } } : "again";
  }, { attempts: writeAttempts });
  return outcome === "conflict" ? { ok: false, reason: "conflict" } : outcome.done;
}

/** Writes the row of a key anew, with its audit line. */
async function changeStoredKey(
  kv: KeyValueStore,
  name: string,
  change: (key: StoredKey) => StoredKey,
  line: { readonly act: OperatorAct; readonly by: StoredKeyAct },
): Promise<StoredKeyChange> {
  const outcome = await compareAndSet<StoredKeyChange>(async () => {
    const entry = await kv.get<StoredKey>(storedKeyKey(name));
    if (entry.value === null) return { done: { ok: false, reason: "missing" } };
    const key = change(entry.value);
    if (entry.value.sealed === key.sealed) return { done: { ok: true, key: entry.value } };
    const operation = kv.atomic().check(entry).set(entry.key, key);
    addLine(bumpVaultEpoch(operation), line.act, key, line.by);
    return (await operation.commit()).ok ? { done: { ok: true, key } } : "again";
  }, { attempts: writeAttempts });
  return outcome === "conflict" ? { ok: false, reason: "conflict" } : outcome.done;
}

/** Puts another secret in the place of the one that a key has, which is gone then. */
export async function replaceStoredKey(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  { name, secret }: { readonly name: string; readonly secret: string },
  act: StoredKeyAct,
): Promise<StoredKeyChange> {
  const changed = {
    sealed: await seal(masterKeys, secret, sealOwners.provider_key(name)),
    fingerprint: await fingerprintOf(secret),
    replacedAtMs: act.nowMs,
    replacedBy: act.operator.email,
  };
  const line = { act: "provider_key_replaced", by: act } as const;
  return await changeStoredKey(kv, name, (key) => ({ ...key, ...changed }), line);
}

/** Seals the keys anew that an older master key sealed, so that it can be given up; those that do not open stay. */
export async function resealStoredKeys(
  kv: KeyValueStore,
  masterKeys: MasterKeys,
  act: StoredKeyAct,
): Promise<{ readonly resealed: readonly string[]; readonly problems: readonly string[] }> {
  const resealed: string[] = [];
  const problems: string[] = [];
  for (const key of await listStoredKeys(kv)) {
    if (isSealedWithNewest(masterKeys, key)) continue;
    const opened = await openStoredKey(masterKeys, key);
    if (!opened.ok) {
      problems.push(opened.problem);
      continue;
    }
    const sealed = await seal(masterKeys, opened.secret, sealOwners.provider_key(key.name));
    // Another secret that somebody has stored meanwhile is sealed with the newest one already.
    const change = (now: StoredKey) => now.sealed === key.sealed ? { ...now, sealed } : now;
    const line = { act: "provider_key_resealed", by: act } as const;
    const changed = await changeStoredKey(kv, key.name, change, line);
    if (changed.ok) resealed.push(key.name);
    else if (changed.reason === "conflict") problems.push(`${key.name} is being changed by others`);
  }
  return { resealed, problems };
}

/** The providers of the catalogue in force, and of the one that waits, by the stored keys that they name. */
async function providersUsing(
  kv: KeyValueStore,
  head: CatalogHead | null,
): Promise<ReadonlyMap<string, readonly string[]>> {
  if (head === null) return new Map();
  const versions = new Set([head.version, head.scheduled?.version ?? head.version]);
  const all = new Map<string, string[]>();
  for (const version of versions) {
    for (const [key, providers] of providersByStoredKey(await readVersionContents(kv, version))) {
      all.set(key, [...new Set([...all.get(key) ?? [], ...providers])]);
    }
  }
  return all;
}

/** The same of the catalogue as it is now. */
export async function providersOfStoredKeys(
  kv: KeyValueStore,
): Promise<ReadonlyMap<string, readonly string[]>> {
  return await providersUsing(kv, (await kv.get<CatalogHead>(catalogHeadKey())).value);
}

/**
 * Removes a key for good.
 *
 * @param options.isForced also while providers of the catalogue name it: they are out of use then
 */
export async function removeStoredKey(
  kv: KeyValueStore,
  name: string,
  { isForced, ...act }: StoredKeyAct & { readonly isForced: boolean },
): Promise<StoredKeyChange> {
  let sent: StoredKey | undefined;
  const outcome = await compareAndSet<StoredKeyChange>(async () => {
    const [entry, head] = await kv.getMany<[StoredKey, CatalogHead]>([
      storedKeyKey(name),
      catalogHeadKey(),
    ]);
    if (entry.value === null) {
      return {
        done: sent === undefined ? { ok: false, reason: "missing" } : { ok: true, key: sent },
      };
    }
    const providers = (await providersUsing(kv, head.value)).get(name) ?? [];
    if (providers.length > 0 && !isForced) {
      return { done: { ok: false, reason: "in_use", providers } };
    }
    // A version that names the key must not be published beside this.
    const operation = kv.atomic().check(entry, head).delete(entry.key);
    const addition = providers.length === 0 ? "" : `, although in use by ${providers.join(", ")}`;
    addLine(bumpVaultEpoch(operation), "provider_key_removed", entry.value, act, addition);
    sent = entry.value;
    return (await operation.commit()).ok ? { done: { ok: true, key: entry.value } } : "again";
  }, { attempts: writeAttempts });
  return outcome === "conflict" ? { ok: false, reason: "conflict" } : outcome.done;
}
