/**
 * Finds the caller behind the key of a request. Cached, so that a call usually needs no store
 * access.
 */
import { makeRoom } from "../../../core/lib/base/make_room.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import type { AccountId, ApiKeyId } from "../../../core/lib/ids/ids.ts";
import type { AccountRateLimits } from "../../../core/limits/rate_limits.ts";
import { hashApiKey, isWellFormedApiKey } from "../../../core/people/api_keys/api_key.ts";
import {
  allowedModelsOf,
  type CallRules,
  callRulesOf,
} from "../../../core/calls/request/call_settings.ts";
import type { Budget } from "../../../core/limits/budgets.ts";
import { listBudgets } from "../accounts/budgets.ts";
import { accountKey, memberKey, teamKey } from "../../engine/schema/keys.ts";
import { type Account, hasOnlyBooks } from "../accounts/accounts.ts";
import { listOwnKeys, type OwnKey } from "./own_keys.ts";
import { type ApiKeyRecord, findApiKeyByHash, getApiKey, isUsableSecret } from "./api_keys.ts";
import type { Control } from "../../engine/control/control.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";

/** Callers cached per instance, at about 1 KB each. */
const maxAuthCacheEntries = 50_000;

/** The caller behind a key. */
export interface Principal {
  readonly accountId: AccountId;
  readonly key: ApiKeyRecord;
  readonly secretHash: string;
  /** The ids of allowed models as a set, built once; `undefined` allows every model. */
  readonly allowedModels: ReadonlySet<string> | undefined;
  /** The rate limits that an operator set for the account. */
  readonly accountRateLimits?: AccountRateLimits | undefined;
  /** Keys of tags that each call of the account must have. */
  readonly requiredTags?: readonly string[] | undefined;
  /** The budgets of the account; absent: none. */
  readonly budgets?: readonly Budget[] | undefined;
  /** Settings of the calls of the key, its team and the account, merged; absent: none. */
  readonly callRules?: CallRules | undefined;
  /** Provider keys of the account, sealed; absent: none. */
  readonly ownKeys?: readonly OwnKey[] | undefined;
}

/** A key that exists, whether or not it may be used. */
export interface KnownKey {
  readonly accountId: AccountId;
  readonly keyId: ApiKeyId;
}

/** Gets the key of a caller that is refused. */
export interface RefusedCaller {
  /** The key that was sent, if it exists but may not be used. */
  refusedKey?: KnownKey;
  /** Only the block of its organisation keeps the key from calling. */
  isBlocked?: true;
}

/** Finds callers by their API keys. */
export interface KeyDirectory {
  /**
   * Returns the caller behind a key, or `undefined` if the key is unknown, revoked or expired, or
   * its account is blocked. Synchronous on a cache hit.
   *
   * @param refused gets the key if it exists but may not be used, and whether only the block of its organisation is why
   */
  lookup(
    secret: string,
    refused?: RefusedCaller,
  ): Principal | undefined | Promise<Principal | undefined>;
  /** Whether a caller that was admitted may still call, judged by the clock alone. */
  isUsableNow(principal: Principal): boolean;
  /**
   * Reads the caller from the store; `undefined` if it may not call any more.
   *
   * @throws if the store does not answer
   */
  reread(principal: Principal): Promise<Principal | undefined>;
}

/**
 * Reads the account of a key, if the key may call: its organisation goes on, and the member who made it still is one. So
 * the commit that removes a member or ends an organisation ends the keys, however many there are; that they are revoked
 * follows. A key without a member calls for the organisation itself.
 *
 * @returns `blocked`: only that keeps it from calling
 */
async function readCallingAccount(
  kv: KeyValueStore,
  { accountId, memberId }: Pick<ApiKeyRecord, "accountId" | "memberId">,
): Promise<Account | "blocked" | undefined> {
  const [{ value: account }, member] = await kv.getMany<[Account, unknown]>([
    accountKey(accountId),
    memberKey(accountId, memberId ?? accountId),
  ]);
  if (account === null || hasOnlyBooks(account)) return undefined;
  const ownerId = account.organisation?.ownerId ?? accountId;
  const isMembers = memberId === undefined || memberId === ownerId || member.versionstamp !== null;
  if (!isMembers) return undefined;
  return account.blockedAtMs === undefined ? account : "blocked";
}

/**
 * Opens the directory. A revocation takes effect at once on this instance (after
 * `control.refresh()`) and within `controlStaleMs` on all others. If the store does not answer that
 * long, the cache is not used.
 */
export function openKeyDirectory(kv: KeyValueStore, control: Control, clock: Clock): KeyDirectory {
  const cache = new Map<string, Principal>();
  let cacheEpoch: string | undefined;

  function usable(principal: Principal, refused?: RefusedCaller): Principal | undefined {
    if (isUsableSecret(principal.key, principal.secretHash, clock.nowMs())) return principal;
    const { accountId, key: { id: keyId } } = principal;
    if (refused !== undefined) refused.refusedKey = { accountId, keyId };
    return undefined;
  }

  async function load(secret: string, refused?: RefusedCaller): Promise<Principal | undefined> {
    // The epoch is read before the record, so a change in between leaves an entry with an old
    // epoch, which is never used.
    if (control.freshKeysEpoch() === undefined) await control.catchUp();
    const epoch = control.freshKeysEpoch();
    const secretHash = await hashApiKey(secret);
    const key = await findApiKeyByHash(kv, secretHash);
    if (key === undefined) return undefined;
    const { accountId, teamId } = key;
    const [account, budgets, team] = await Promise.all([
      readCallingAccount(kv, key),
      listBudgets(kv, accountId),
      teamId === undefined
        ? undefined
        : kv.get<Pick<ApiKeyRecord, "calls">>(teamKey(accountId, teamId)),
    ]);
    if (account === undefined || account === "blocked") {
      if (refused === undefined) return undefined;
      refused.refusedKey = { accountId, keyId: key.id };
      const isUsable = isUsableSecret(key, secretHash, clock.nowMs());
      if (account === "blocked" && isUsable) refused.isBlocked = true;
      return undefined;
    }
    const settings = [account.calls, team?.value?.calls, key.calls];
    const principal: Principal = {
      accountId,
      key,
      secretHash,
      allowedModels: allowedModelsOf(key.allowedModels, settings),
      accountRateLimits: account.rateLimits,
      requiredTags: account.requiredTags,
      budgets: budgets.length === 0 ? undefined : budgets,
      callRules: callRulesOf(settings),
      ownKeys: account.hasOwnKeys && await listOwnKeys(kv, accountId),
    };
    if (epoch !== undefined && epoch === cacheEpoch) {
      makeRoom(cache, maxAuthCacheEntries);
      cache.set(secret, principal);
    }
    return usable(principal, refused);
  }

  return {
    isUsableNow: (principal) => usable(principal) !== undefined,
    async reread(principal) {
      const { accountId, key: { id } } = principal;
      const [key, account] = await Promise.all([
        getApiKey(kv, accountId, id),
        readCallingAccount(kv, principal.key),
      ]);
      if (key === undefined || account === undefined || account === "blocked") return undefined;
      return usable({ ...principal, key });
    },
    lookup(secret, refused) {
      const epoch = control.freshKeysEpoch();
      if (epoch !== undefined) {
        if (epoch !== cacheEpoch) {
          cache.clear();
          cacheEpoch = epoch;
        }
        const cached = cache.get(secret);
        if (cached !== undefined) return usable(cached, refused);
      }
      return isWellFormedApiKey(secret) ? load(secret, refused) : undefined;
    },
  };
}
