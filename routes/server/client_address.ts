/** Who is at the other end: the socket's address, or what a trusted proxy says. */

/**
 * The client's address. Behind a proxy every socket is the proxy's, so the operator may name the header it sets
 * (`GATEWAY_CLIENT_ADDRESS_HEADER`); of a list the last entry counts, since only that one the proxy wrote itself.
 */
export function clientAddressOf(
  request: Request,
  remote: Deno.Addr,
  headerName: string | undefined,
): string {
  if (headerName !== undefined) {
    const last = request.headers.get(headerName)?.split(",").at(-1)?.trim();
    if (last !== undefined && last !== "") return last;
  }
  return "hostname" in remote ? remote.hostname : "127.0.0.1";
}
