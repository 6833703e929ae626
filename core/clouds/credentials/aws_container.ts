/** Keys that the platform of a container of AWS gives at an address: EKS Pod Identity, ECS. */
import type { CloudAuth } from "../../catalog/entries/cloud_schema.ts";
import type { Authorizer, AuthorizerTools, IssuedToken } from "./authorizer.ts";
import { keysFrom, temporaryKeys } from "./temporary_keys.ts";
import { readTokenFile } from "./token_file.ts";
import { askIssuer, issuerFailure, parsedObject } from "./token_request.ts";

/** The host of ECS, whose variable has only a path. */
const ecsHost = "http://169.254.170.2";

/** Makes the credential of the keys at `address`. */
export function awsContainerAuthorizer(
  auth: Extract<CloudAuth, { kind: "aws-container" }>,
  address: string,
  tools: AuthorizerTools,
): Authorizer {
  const url = address.startsWith("/") ? ecsHost + address : address;
  const issue = async (): Promise<IssuedToken> => {
    const { tokenFile } = auth;
    const token = tokenFile === undefined ? undefined : await readTokenFile(tools, tokenFile);
    const { status, text, date } = await askIssuer(tools, {
      method: "GET",
      url,
      headers: [
        ["accept", "application/json"],
        ...token === undefined ? [] : [["authorization", token] as const],
      ],
      body: null,
    });
    if (status !== 200) throw issuerFailure(status, "");
    const { AccessKeyId, SecretAccessKey, Token, Expiration } = parsedObject(text);
    const written = {
      id: AccessKeyId,
      secret: SecretAccessKey,
      session: Token,
      expires: Expiration,
    };
    return keysFrom(written, Date.parse(date ?? "") || tools.clock.nowMs());
  };
  return temporaryKeys(auth, tools, issue);
}
