/** Service accounts of Google Cloud: a signed assertion (RFC 7523) is exchanged for an access token. */
import { z } from "zod";
import type { CloudAuth } from "../../catalog/entries/cloud_schema.ts";
import { decodeBase64, encodeBase64Url } from "../../lib/runtime/built_ins.ts";
import {
  type Authorizer,
  type AuthorizerTools,
  CredentialFailure,
  type IssuedToken,
} from "./authorizer.ts";
import { bearerToken } from "./access_token.ts";
import { askIssuer, ClockOffset, readToken, requestToken } from "./token_request.ts";

// The service account that Google Cloud attaches to a machine or a workload, by its metadata server.

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

/** Seconds for which an assertion is valid: the longest that the issuer accepts. */
const assertionSeconds = 3600;

const grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer";

const accountSchema = z.object({
  client_email: z.string().min(1),
  private_key: z.string().min(1),
  private_key_id: z.string().optional(),
  token_uri: z.url({ protocol: /^https?$/ }).default("https://oauth2.googleapis.com/token"),
});
type Account = z.infer<typeof accountSchema>;

/** Reads the JSON key, as it is or in base64, which fits on one line of any file of variables. */
function readAccount(secret: string): Account {
  try {
    const bytes = secret.trimStart().startsWith("{") ? undefined : decodeBase64(secret);
    const text = bytes === undefined ? secret : new TextDecoder().decode(bytes);
    return accountSchema.parse(JSON.parse(text));
  } catch {
    // The parsers' messages quote the secret.
    throw new CredentialFailure("not_a_service_account_key", true);
  }
}

async function importKey(pem: string): Promise<CryptoKey> {
  const text = /-----BEGIN PRIVATE KEY-----([\s\S]+?)-----END PRIVATE KEY-----/.exec(pem)?.[1];
  const bytes = decodeBase64(text ?? "");
  if (text === undefined || bytes === undefined) throw wrongKey();
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  try {
    return await crypto.subtle.importKey("pkcs8", new Uint8Array(bytes), algorithm, false, [
      "sign",
    ]);
  } catch {
    throw wrongKey();
  }
}

function wrongKey(): CredentialFailure {
  return new CredentialFailure("private_key_not_readable", true);
}

const encoder = new TextEncoder();
const jsonPart = (value: unknown) => encodeBase64Url(encoder.encode(JSON.stringify(value)));

/** Signs the assertion with which the account asks for a token (RS256). */
async function signAssertion(
  account: Account,
  key: CryptoKey,
  { scope, nowMs }: { readonly scope: string; readonly nowMs: number },
): Promise<string> {
  const issuedAt = Math.floor(nowMs / 1000);
  const header = { alg: "RS256", typ: "JWT", kid: account.private_key_id };
  const claims = {
    iss: account.client_email,
    scope,
    aud: account.token_uri,
    iat: issuedAt,
    exp: issuedAt + assertionSeconds,
  };
  const signed = `${jsonPart(header)}.${jsonPart(claims)}`;
  const signature = await crypto.subtle.sign(key.algorithm.name, key, encoder.encode(signed));
  return `${signed}.${encodeBase64Url(new Uint8Array(signature))}`;
}

/** Makes the credential of a service account, whose JSON key is `secret`. */
export function googleAuthorizer(
  { scope }: Extract<CloudAuth, { kind: "google" }>,
  secret: string,
  tools: AuthorizerTools,
): Authorizer {
  const time = new ClockOffset(tools.clock);
  let key: Promise<CryptoKey> | undefined;
  const attempt = async (account: Account, onDate: (date: string | undefined) => void) => {
    key ??= importKey(account.private_key);
    const assertion = await signAssertion(account, await key, { scope, nowMs: time.nowMs() });
    return await requestToken(
      tools,
      account.token_uri,
      { grant_type: grantType, assertion },
      onDate,
    );
  };
  const issue = async (): Promise<IssuedToken> => {
    const account = readAccount(secret);
    let isCorrected = false;
    const onDate = (date: string | undefined) => {
      isCorrected = time.corrected(date);
    };
    try {
      return await attempt(account, onDate);
    } catch (error) {
      if (!isCorrected) throw error;
      return await attempt(account, onDate);
    }
  };
  return bearerToken(tools, issue);
}
