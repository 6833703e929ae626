/** The OpenID client of an organisation: its secret is opened for one sign-in. */
import { type MasterKeys, open, seal } from "../../core/people/api_keys/seal.ts";
import { sealOwners } from "../../core/people/api_keys/seal_owners.ts";
import type { AccountId } from "../../core/lib/ids/ids.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import type { CompanyOpenId } from "../../kv/people/organisations/company_sign_in.ts";
import { createOpenIdClient, type OpenIdClient } from "./openid.ts";

/** Characters of a client secret: far more than those of any provider. */
export const maxClientSecretChars = 1_000;

/** Seals the client secret of an organisation's provider. */
export function sealClientSecret(
  masterKeys: MasterKeys,
  organisationId: AccountId,
  secret: string,
): Promise<string> {
  return seal(masterKeys, secret, sealOwners.company_openid(organisationId));
}

/** Builds the client; `undefined` if the secret is sealed with a master key that is gone. */
export async function companyClient(
  { masterKeys, clock, fetch }: {
    readonly masterKeys: MasterKeys;
    readonly clock: Clock;
    /** Reaches public addresses only. */
    readonly fetch: typeof globalThis.fetch;
  },
  organisationId: AccountId,
  { issuer, clientId, sealedSecret }: CompanyOpenId,
): Promise<OpenIdClient | undefined> {
  const clientSecret = await open(
    masterKeys,
    sealedSecret,
    sealOwners.company_openid(organisationId),
  );
  if (clientSecret === undefined) return undefined;
  const label = new URL(issuer).host;
  return createOpenIdClient({ issuer, clientId, clientSecret, label }, { fetch, clock });
}
