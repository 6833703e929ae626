/** A web identity of a workload, such as a service account of Kubernetes, that takes on a role of AWS. */
import type { CloudAuth } from "../../catalog/entries/cloud_schema.ts";
import type { Authorizer, AuthorizerTools, IssuedToken } from "./authorizer.ts";
import { keysFrom, temporaryKeys } from "./temporary_keys.ts";
import { askIssuer, formRequest, issuerFailure } from "./token_request.ts";
import { readTokenFile } from "./token_file.ts";

/** The form of error codes of the service. */
const errorCode = /<Code>([A-Za-z]{1,64})<\/Code>/;

function element(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]+)</${name}>`).exec(xml)?.[1];
}

/** Makes the credential of the identity whose token is in the file at `path`, which its platform renews. */
export function awsWebIdentityAuthorizer(
  auth: Extract<CloudAuth, { kind: "aws-web-identity" }>,
  path: string,
  tools: AuthorizerTools,
): Authorizer {
  const { role, region, sessionName, sts = `https://sts.${region}.amazonaws.com` } = auth;
  const issue = async (): Promise<IssuedToken> => {
    const form = formRequest({
      Action: "AssumeRoleWithWebIdentity",
      Version: "2011-06-15",
      RoleArn: role,
      RoleSessionName: sessionName,
      WebIdentityToken: await readTokenFile(tools, path),
    });
    const headers = [["accept", "application/xml"], ...form.headers.slice(1)] as const;
    const { status, text, date } = await askIssuer(tools, { ...form, headers, url: `${sts}/` });
    if (status !== 200) throw issuerFailure(status, errorCode.exec(text)?.[1] ?? "");
    const written = {
      id: element(text, "AccessKeyId"),
      secret: element(text, "SecretAccessKey"),
      session: element(text, "SessionToken"),
      expires: element(text, "Expiration"),
    };
    return keysFrom(written, Date.parse(date ?? "") || tools.clock.nowMs());
  };
  return temporaryKeys(auth, tools, issue);
}
