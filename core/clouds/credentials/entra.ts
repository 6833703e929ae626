/** Client credentials of Microsoft Entra ID, for Azure. */
import type { CloudAuth } from "../../catalog/entries/cloud_schema.ts";
import type { Authorizer, AuthorizerTools } from "./authorizer.ts";
import { bearerToken } from "./access_token.ts";
import { readTokenFile, requestToken } from "./token_request.ts";

// A federated identity of a workload at Microsoft Entra ID, for Azure.

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** Makes the credential of the identity whose token is in the file at `path`, which its platform renews. */
export function entraFederatedAuthorizer(
  { tenant, clientId, scope, authority }: Extract<CloudAuth, { kind: "entra-federated" }>,
  path: string,
  tools: AuthorizerTools,
): Authorizer {
  const url = `${authority.replace(/\/+$/, "")}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`;
  return bearerToken(tools, async () =>
    await requestToken(tools, url, {
      grant_type: "client_credentials",
      client_id: clientId,
      client_assertion_type: assertionType,
      client_assertion: await readTokenFile(tools, path),
      scope,
    }));
}

/** Makes the credential of an application that is registered in a directory. */
export function entraAuthorizer(
  { tenant, clientId, scope, authority }: Extract<CloudAuth, { kind: "entra" }>,
  secret: string,
  tools: AuthorizerTools,
): Authorizer {
  const url = `${authority.replace(/\/+$/, "")}/${encodeURIComponent(tenant)}/oauth2/v2.0/token`;
  const form = {
    grant_type: "client_credentials",
    client_id: clientId,
    client_secret: secret,
    scope,
  };
  return bearerToken(tools, () => requestToken(tools, url, form));
}
