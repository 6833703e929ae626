/** From the key in a request to who is calling: in memory while warm, so that a call costs no store round trip. */
import type { Clock } from "../../core/lib/time/clock.ts";
import type { AccountId } from "../../core/lib/ids.ts";
import { hashApiKey, isWellFormedApiKey } from "../../core/api_keys/api_key.ts";
import { getAccount } from "../accounts/accounts.ts";
import { type ApiKeyRecord, findApiKeyByHash, getApiKey, isUsableSecret } from "./api_keys.ts";
import type { Control } from "../operators/control.ts";
import type { KeyValueStore } from "../store/key_value_store.ts";

/** Callers remembered per instance, at about 1 KB each. */
const maxAuthCacheEntries = 50_000;

/** Who is calling. */
export interface Principal {
  readonly accountId: AccountId;
  readonly key: ApiKeyRecord;
  readonly secretHash: string;
  /** Catalogue ids as a set, made once; `undefined` = every model. */
  readonly allowedModels: ReadonlySet<string> | undefined;
}

export interface KeyDirectory {
  /**
   * The caller behind a key, or `undefined` if the key is unknown, revoked, expired or its account is blocked.
   * Answers without a promise while the cache is warm.
   */
  lookup(secret: string): Principal | undefined | Promise<Principal | undefined>;
  /** Whether a caller that was let in may still call, by the clock alone. */
  isUsableNow(principal: Principal): boolean;
  /**
   * The caller as the store has it now; `undefined` if it may not call any more.
   *
   * @throws if the store does not answer
   */
  reread(principal: Principal): Promise<Principal | undefined>;
}

/**
 * Opens the directory. A revocation holds at once on this instance (after `control.refresh()`) and within
 * `controlStaleMs` on all others, also when the store does not answer: then nothing is served from memory.
 */
export function openKeyDirectory(kv: KeyValueStore, control: Control, clock: Clock): KeyDirectory {
  const cache = new Map<string, Principal>();
  let cacheEpoch: string | undefined;

  function usable(principal: Principal): Principal | undefined {
    return isUsableSecret(principal.key, principal.secretHash, clock.nowMs())
      ? principal
      : undefined;
  }

  async function load(secret: string): Promise<Principal | undefined> {
    // The epoch is read before the record: a change in between leaves an entry under an old epoch, never a stale one.
    if (control.freshKeysEpoch() === undefined) await control.catchUp();
    const epoch = control.freshKeysEpoch();
    const secretHash = await hashApiKey(secret);
    const key = await findApiKeyByHash(kv, secretHash);
    if (key === undefined) return undefined;
    const account = await getAccount(kv, key.accountId);
    if (account === undefined || account.blockedAtMs !== undefined) return undefined;
    const principal: Principal = {
      accountId: key.accountId,
      key,
      secretHash,
      allowedModels: key.allowedModels === undefined ? undefined : new Set(key.allowedModels),
    };
    if (epoch !== undefined && epoch === cacheEpoch) {
      if (cache.size >= maxAuthCacheEntries) {
        const oldest = cache.keys().next();
        if (!oldest.done) cache.delete(oldest.value);
      }
      cache.set(secret, principal);
    }
    return usable(principal);
  }

  return {
    isUsableNow: (principal) => usable(principal) !== undefined,
    async reread(principal) {
      const { accountId, key: { id } } = principal;
      const [key, account] = await Promise.all([
        getApiKey(kv, accountId, id),
        getAccount(kv, accountId),
      ]);
      if (key === undefined || account === undefined) return undefined;
      return account.blockedAtMs === undefined ? usable({ ...principal, key }) : undefined;
    },
    lookup(secret) {
      const epoch = control.freshKeysEpoch();
      if (epoch !== undefined) {
        if (epoch !== cacheEpoch) {
          cache.clear();
          cacheEpoch = epoch;
        }
        const cached = cache.get(secret);
        if (cached !== undefined) return usable(cached);
      }
      return isWellFormedApiKey(secret) ? load(secret) : undefined;
    },
  };
}
