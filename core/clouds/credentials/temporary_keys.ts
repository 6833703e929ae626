/** Temporary keys of AWS, which are renewed like tokens. */
import { AccessToken } from "./access_token.ts";
import {
  type Authorizer,
  type AuthorizerTools,
  CredentialFailure,
  type IssuedToken,
} from "./authorizer.ts";
import { AwsSignature, type SignedPlace } from "./aws_signature.ts";
import { renewingToken } from "./bearer_token.ts";

/** Temporary keys as their issuers name the parts. */
export interface WrittenKeys {
  readonly id: unknown;
  readonly secret: unknown;
  readonly session: unknown;
  /** A time by ISO 8601. */
  readonly expires: unknown;
}

/**
 * Joins the parts of temporary keys into the one text that {@linkcode AwsSignature} takes.
 *
 * @param nowMs the time of the issuer
 * @throws {CredentialFailure} if a part is missing
 */
export function keysFrom(
  { id, secret, session, expires }: WrittenKeys,
  nowMs: number,
): IssuedToken {
  const parts = [id, secret, session];
  const endMs = typeof expires === "string" ? Date.parse(expires) : NaN;
  if (Number.isNaN(endMs) || !parts.every((part) => typeof part === "string" && part !== "")) {
    throw new CredentialFailure("keys_missing", false);
  }
  return { token: parts.join(":"), lifeSeconds: Math.max(0, (endMs - nowMs) / 1000) };
}

/** Makes the credential of keys that `issue` gets from their issuer. */
export function temporaryKeys(
  place: SignedPlace,
  tools: AuthorizerTools,
  issue: () => Promise<IssuedToken>,
): Authorizer {
  const token: AccessToken = renewingToken(tools, issue);
  let current = "";
  const signature = new AwsSignature(place, {
    async get() {
      current = await token.get();
      return current;
    },
    // Another call may have got new keys meanwhile.
    refused: (session) => !current.endsWith(`:${session}`) || token.forget(current),
  }, tools);
  return {
    authorize: (request) => signature.authorize(request),
    refused: (request, response) => signature.refused(request, response),
    issued: (refused) => token.issued(refused),
  };
}
