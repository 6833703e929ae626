/** Finds the caller of a request by the API key in either header. */
import { GatewayError } from "../../core/errors.ts";
import { isAddressAllowed } from "../../core/api_keys/address_ranges.ts";
import type { HttpRequest } from "./http_request.ts";
import type { KeyDirectory, Principal } from "../../kv/api_keys/key_directory.ts";

function apiKeyOf(headers: HttpRequest["headers"]): string | undefined {
  const own = headers.get("x-api-key");
  if (own !== null && own !== "") return own;
  const authorization = headers.get("authorization");
  if (authorization === null) return undefined;
  const match = /^bearer +(\S+)$/i.exec(authorization);
  return match?.[1];
}

function allowed(principal: Principal | undefined, clientAddress: string): Principal {
  if (principal === undefined) {
    throw new GatewayError("invalid_api_key", "The API key is wrong, revoked or expired");
  }
  const { allowedIps } = principal.key;
  if (allowedIps !== undefined && !isAddressAllowed(clientAddress, allowedIps)) {
    throw new GatewayError("permission_denied", "This API key may not be used from your address");
  }
  return principal;
}

/**
 * Finds the caller; without a promise if the key is in memory.
 *
 * @throws {GatewayError} (or rejects with it) `invalid_api_key` without a valid key, `permission_denied` from an
 * address that the owner did not allow
 */
export function authenticate(
  headers: HttpRequest["headers"],
  directory: KeyDirectory,
  clientAddress: string,
): Principal | Promise<Principal> {
  const secret = apiKeyOf(headers);
  if (secret === undefined) {
    throw new GatewayError(
      "invalid_api_key",
      "No API key: send it as `x-api-key` or as `Authorization: Bearer`",
    );
  }
  const found = directory.lookup(secret);
  return found instanceof Promise
    ? found.then((principal) => allowed(principal, clientAddress))
    : allowed(found, clientAddress);
}
