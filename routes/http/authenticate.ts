/** Finds the caller of a request by the API key in one of four headers. */
import { GatewayError } from "../../core/lib/errors/errors.ts";
import { isAddressAllowed, isWellFormedApiKey } from "../../core/people/api_keys/api_key.ts";
import type { HttpRequest } from "./body/http_request.ts";
import type {
  KeyDirectory,
  Principal,
  RefusedCaller,
} from "../../kv/people/api_keys/key_directory.ts";

/** Headers that carry nothing but a key, as the libraries of three vendors send it. */
export const keyHeaders = ["x-api-key", "x-goog-api-key", "api-key"] as const;

/** Returns the token of an `Authorization: Bearer` header (RFC 6750, section 2.1). */
export function bearerOf(authorization: string): string | undefined {
  return /^bearer +(\S+)$/i.exec(authorization)?.[1];
}

/** All credentials of a request, in the order of their headers. A header that was sent twice has commas. */
function credentialsOf(headers: HttpRequest["headers"]): string[] {
  const found: string[] = [];
  for (const name of keyHeaders) {
    for (const value of headers.get(name)?.split(",") ?? []) {
      const key = value.trim();
      if (key !== "") found.push(key);
    }
  }
  for (const value of headers.get("authorization")?.split(",") ?? []) {
    const key = bearerOf(value.trim());
    if (key !== undefined) found.push(key);
  }
  return found;
}

/**
 * Chooses the credential to look up. Agents send the key of a vendor from their environment beside the one of the
 * gateway; which is which shows in the form of the gateway's keys.
 *
 * @throws {GatewayError} `invalid_api_key` if the request has two keys of the gateway that differ
 */
function apiKeyOf(headers: HttpRequest["headers"]): string | undefined {
  const credentials = credentialsOf(headers);
  const [first] = credentials;
  if (credentials.length < 2) return first;
  const own = new Set(credentials.filter((key) => isWellFormedApiKey(key)));
  if (own.size > 1) {
    throw new GatewayError(
      "invalid_api_key",
      "The request has two different API keys of this gateway: send one of them",
    );
  }
  const [key] = own;
  return key ?? first;
}

/** The error of a key whose organisation an operator has blocked. */
export function blockedError(kindOfKey: string): GatewayError {
  return new GatewayError(
    "organisation_blocked",
    `The organisation of this ${kindOfKey} is blocked. Its owner can contact support`,
  );
}

function allowed(
  principal: Principal | undefined,
  clientAddress: string,
  refused: RefusedCaller,
): Principal {
  if (principal === undefined) {
    if (refused.isBlocked === true) throw blockedError("API key");
    throw new GatewayError("invalid_api_key", "The API key is wrong, revoked or expired");
  }
  const { allowedIps } = principal.key;
  if (allowedIps !== undefined && !isAddressAllowed(clientAddress, allowedIps)) {
    const { accountId, key: { id: keyId } } = principal;
    refused.refusedKey = { accountId, keyId };
    throw new GatewayError("permission_denied", "This API key may not be used from your address");
  }
  return principal;
}

/**
 * Finds the caller; without a promise if the key is in memory.
 *
 * @param refused is told the key if it exists, but may not be used here and now
 * @throws {GatewayError} (or rejects with it) `invalid_api_key` without a valid key or with two, `permission_denied` from an
 * address that the owner did not allow, `organisation_blocked`
 */
export function authenticate(
  headers: HttpRequest["headers"],
  directory: KeyDirectory,
  clientAddress: string,
  refused: RefusedCaller = {},
): Principal | Promise<Principal> {
  const secret = apiKeyOf(headers);
  if (secret === undefined) {
    throw new GatewayError(
      "invalid_api_key",
      "No API key: send it as `x-api-key` or as `Authorization: Bearer`",
    );
  }
  const found = directory.lookup(secret, refused);
  return found instanceof Promise
    ? found.then((principal) => allowed(principal, clientAddress, refused))
    : allowed(found, clientAddress, refused);
}
