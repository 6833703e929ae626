/** Client credentials of Microsoft Entra ID, for Azure. */
import type { CloudAuth } from "../../catalog/entries/cloud_schema.ts";
import type { Authorizer, AuthorizerTools } from "./authorizer.ts";
import { bearerToken } from "./bearer_token.ts";
import { requestToken } from "./token_request.ts";

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
