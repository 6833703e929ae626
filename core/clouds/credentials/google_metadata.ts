/** The service account that Google Cloud attaches to a machine or a workload, by its metadata server. */
import type { CloudAuth } from "../../catalog/entries/cloud_schema.ts";
import type { Authorizer, AuthorizerTools } from "./authorizer.ts";
import { bearerToken } from "./bearer_token.ts";
import { askIssuer, readToken } from "./token_request.ts";

/** Makes the credential of an attached account: `default`, or its email. */
export function googleMetadataAuthorizer(
  { scope, metadata }: Extract<CloudAuth, { kind: "google-metadata" }>,
  account: string,
  tools: AuthorizerTools,
): Authorizer {
  const path = `/computeMetadata/v1/instance/service-accounts/${encodeURIComponent(account)}/token`;
  const url = `${metadata.replace(/\/+$/, "")}${path}?scopes=${encodeURIComponent(scope)}`;
  return bearerToken(tools, async () =>
    readToken(
      await askIssuer(tools, {
        method: "GET",
        url,
        headers: [["accept", "application/json"], ["metadata-flavor", "Google"]],
        body: null,
      }),
    ));
}
