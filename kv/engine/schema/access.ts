/** Builds keys of authentication: sessions, single-use secrets, attempt counters, API keys. */
import type { AccountId, ApiKeyId } from "../../../core/lib/ids/ids.ts";
import type { StoreKey } from "./store_key.ts";

// Sessions of the dashboard: by the hash of the cookie's token, with an index per account for the list.

export function sessionKey(tokenHash: string): StoreKey {
  return ["session", tokenHash];
}

export function accountSessionsPrefix(accountId: AccountId): StoreKey {
  return ["account_session", accountId];
}

export function accountSessionKey(accountId: AccountId, sessionId: string): StoreKey {
  return ["account_session", accountId, sessionId];
}

/** Returns the session of a row in the list of an account. */
export function sessionIdOf(key: Deno.KvKey): string {
  return String(key[2]);
}

// Single-use secrets: tokens sent by mail and the state of a sign-in at an OpenID provider.

export function mailTokenKey(tokenHash: string): StoreKey {
  return ["mail_token", tokenHash];
}

export function signInFlowKey(stateHash: string): StoreKey {
  return ["sign_in_flow", stateHash];
}

// Known places: hashes of browsers and addresses from which an account has signed in.

export function knownPlacesPrefix(accountId: AccountId): StoreKey {
  return ["known_place", accountId];
}

export function knownPlaceKey(accountId: AccountId, placeHash: string): StoreKey {
  return ["known_place", accountId, placeHash];
}

// Rate limits: the window is part of the key, so a counter never has to be reset.

export function rateLimitKey(rule: string, subjectHash: string, window: number): StoreKey {
  return ["rate_limit", rule, subjectHash, window];
}

// API keys: the record, the index by hash, and the list of active ids that bounds their number.

export function allApiKeysPrefix(): StoreKey {
  return ["api_key"];
}

export function apiKeysPrefix(accountId: AccountId): StoreKey {
  return ["api_key", accountId];
}

export function apiKeyKey(accountId: AccountId, keyId: ApiKeyId): StoreKey {
  return ["api_key", accountId, keyId];
}

export function apiKeyByHashKey(hash: string): StoreKey {
  return ["api_key_by_hash", hash];
}

export function activeApiKeysKey(accountId: AccountId): StoreKey {
  return ["active_api_keys", accountId];
}

/** Key of what a form created: an API key, or its new secret. */
export function apiKeyOfFormKey(accountId: AccountId, formId: string): StoreKey {
  return ["api_key_of_form", accountId, formId];
}
