import type { ProviderAuth } from "../../catalog/entries/cloud_schema.ts";
import type { Authorizer, AuthorizerTools } from "./authorizer.ts";
import { awsAuthorizer, awsContainerAuthorizer, awsWebIdentityAuthorizer } from "./aws.ts";
import { entraAuthorizer, entraFederatedAuthorizer } from "./entra.ts";
import { googleAuthorizer, googleMetadataAuthorizer } from "./google.ts";

/** Makes what adds a credential to requests; `undefined` for a key in a header, which is part of the request already. */
export function createAuthorizer(
  auth: ProviderAuth,
  secret: string,
  tools: AuthorizerTools,
): Authorizer | undefined {
  if (typeof auth === "string") return undefined;
  switch (auth.kind) {
    case "entra":
      return entraAuthorizer(auth, secret, tools);
    case "entra-federated":
      return entraFederatedAuthorizer(auth, secret, tools);
    case "google":
      return googleAuthorizer(auth, secret, tools);
    case "google-metadata":
      return googleMetadataAuthorizer(auth, secret, tools);
    case "aws":
      return awsAuthorizer(auth, secret, tools);
    case "aws-web-identity":
      return awsWebIdentityAuthorizer(auth, secret, tools);
    case "aws-container":
      return awsContainerAuthorizer(auth, secret, tools);
  }
}
