import type { ProviderAuth } from "../../catalog/auth_kinds.ts";
import type { Authorizer, AuthorizerTools } from "./authorizer.ts";
import { awsAuthorizer } from "./aws.ts";
import { entraAuthorizer } from "./entra.ts";
import { googleAuthorizer } from "./google.ts";

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
    case "google":
      return googleAuthorizer(auth, secret, tools);
    case "aws":
      return awsAuthorizer(auth, secret, tools);
  }
}
