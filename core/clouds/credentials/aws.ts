/** Access keys of AWS. */
import type { CloudAuth } from "../../catalog/entries/cloud_schema.ts";
import type { Authorizer, AuthorizerTools } from "./authorizer.ts";
import { AwsSignature } from "./aws_signature.ts";

/** Makes the credential of an access key, which is `secret`. */
export function awsAuthorizer(
  auth: Extract<CloudAuth, { kind: "aws" }>,
  secret: string,
  tools: Pick<AuthorizerTools, "clock">,
): Authorizer {
  return new AwsSignature(auth, { get: () => Promise.resolve(secret) }, tools);
}
