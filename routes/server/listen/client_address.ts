/** Determines the IP address of a client: the socket's, or the one that a trusted proxy reports. */

import type { HttpRequest } from "../../http/body/http_request.ts";

/**
 * Returns the client's address. Behind a proxy every socket belongs to the proxy, so the operator
 * can name the header that it sets (`GATEWAY_CLIENT_ADDRESS_HEADER`). Of a list the last entry
 * counts: only that one was written by the proxy itself.
 */
export function clientAddressOf(
  request: Pick<HttpRequest, "headers">,
  remote: Deno.Addr,
  headerName: string | undefined,
): string {
  if (headerName !== undefined) {
    const last = request.headers.get(headerName)?.split(",").at(-1)?.trim();
    if (last !== undefined && last !== "") return last;
  }
  return "hostname" in remote ? remote.hostname : "127.0.0.1";
}
