/** Finds the caller of a request by the API key in one of three headers. */
import { GatewayError } from "../../core/errors.ts";
import { isAddressAllowed } from "../../core/api_keys/address_ranges.ts";
import type { HttpRequest } from "./http_request.ts";
import type { KeyDirectory, Principal, RefusedCaller } from "../../kv/api_keys/key_directory.ts";

/** Headers that carry nothing but a key, as the libraries of two vendors send it. */
const keyHeaders = ["x-api-key", "x-goog-api-key"] as const;

function apiKeyOf(headers: HttpRequest["headers"]): string | undefined {
  for (const name of keyHeaders) {
    const own = headers.get(name);
    if (own !== null && own !== "") return own;
  }
  const authorization = headers.get("authorization");
  if (authorization === null) return undefined;
  const match = /^bearer +(\S+)$/i.exec(authorization);
  return match?.[1];
}

function allowed(
  principal: Principal | undefined,
  clientAddress: string,
  refused: RefusedCaller | undefined,
): Principal {
  if (principal === undefined) {
    throw new GatewayError("invalid_api_key", "The API key is wrong, revoked or expired");
  }
  const { allowedIps } = principal.key;
  if (allowedIps !== undefined && !isAddressAllowed(clientAddress, allowedIps)) {
    const { accountId, key: { id: keyId } } = principal;
    if (refused !== undefined) refused.refusedKey = { accountId, keyId };
    throw new GatewayError("permission_denied", "This API key may not be used from your address");
  }
  return principal;
}

/**
 * Finds the caller; without a promise if the key is in memory.
 *
 * @param refused is told the key if it exists, but may not be used here and now
 * @throws {GatewayError} (or rejects with it) `invalid_api_key` without a valid key, `permission_denied` from an
 * address that the owner did not allow
 */
export function authenticate(
  headers: HttpRequest["headers"],
  directory: KeyDirectory,
  clientAddress: string,
  refused?: RefusedCaller,
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
