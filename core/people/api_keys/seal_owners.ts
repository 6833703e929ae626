/**
 * Owners of sealed secrets, by the kind of row: a ciphertext that is moved to another record does not open.
 * `kv/services/vault/reseal_secrets.ts` must handle every kind here, or it does not compile.
 */
import type { AccountId, ApiKeyId } from "../../lib/ids/ids.ts";

/** The owner of a secret, from its record. */
export const sealOwners = {
  api_key: (accountId: AccountId, keyId: ApiKeyId) => `${accountId}/${keyId}` as const,
  webhook_endpoints: (accountId: AccountId, endpointId: string) =>
    `webhook/${accountId}/${endpointId}` as const,
  company_openid: (organisationId: AccountId) => `company_openid/${organisationId}` as const,
  own_keys: (organisationId: AccountId, provider: string) =>
    `own_key/${organisationId}/${provider}` as const,
  second_factor: (accountId: AccountId) => `second_factor/${accountId}` as const,
  provider_key: (name: string) => `provider_key/${name}` as const,
  preset: (organisationId: AccountId, name: string, version: number) =>
    `preset/${organisationId}/${name}@${version}` as const,
  proof_key: (keyId: string) => `proof_key/${keyId}` as const,
  management_answer: (organisationId: AccountId, requestHash: string) =>
    `answer/${organisationId}/${requestHash}` as const,
};

/** A kind of row with sealed secrets. */
export type SealedRow = keyof typeof sealOwners;

/** The text that a secret is bound to. What one instance asks another at its address is in no row. */
export type SealOwner = ReturnType<(typeof sealOwners)[SealedRow]> | `peer/${string}`;
