/**
 * Connects only to public addresses, and to exactly the address that was checked.
 *
 * The name is resolved once. Every address of the answer must be public, else none is used: a name
 * with both public and private addresses is an attack. The socket is then opened to the checked
 * address, not to the name, so a name server that would answer differently the second time (DNS
 * rebinding) is not asked again. TLS still verifies the name.
 */
import { isPublicAddress, maxResolvedAddresses } from "./address.ts";
import type { Connect, Connection } from "../transport/connection.ts";
import { UpstreamFailure } from "../transport/transport.ts";
import { parseIpAddress } from "../addresses/ip_address.ts";

/** Resolves all addresses of a name, of both families; empty or rejected if there are none. */
export type Resolve = (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;

/** The address to which a socket is opened. */
export interface DialTarget {
  /** An IP address, never a name. */
  readonly address: string;
  readonly port: number;
  /** For TLS: the name to send and to verify. `undefined` for plain connections. */
  readonly serverName: string | undefined;
}

/** Opens a socket to an address; with TLS, completes the handshake. */
export type Dial = (target: DialTarget, signal: AbortSignal) => Promise<Connection>;

/**
 * Creates a {@linkcode Connect} for URLs that clients name.
 *
 * @example
 * ```ts
 * import { createGuardedConnect } from "./guarded_connect.ts";
 * const connect = createGuardedConnect({
 *   resolve: () => Promise.resolve(["10.0.0.1"]),
 *   dial: () => Promise.reject(new Error("never dialled")),
 * });
 * const target = { hostname: "inside.example", port: 80, tls: false };
 * const failure = await connect(target, new AbortController().signal).catch((error) => error.message);
 * if (failure !== "The address is not public") throw new Error(failure);
 * ```
 */
export function createGuardedConnect(
  world: { readonly resolve: Resolve; readonly dial: Dial },
): Connect {
  return async (target, signal) => {
    const literal = parseIpAddress(target.hostname) !== undefined;
    const addresses = literal
      ? [target.hostname]
      : (await world.resolve(target.hostname, signal)).slice(0, maxResolvedAddresses);
    if (addresses.length === 0) throw new UpstreamFailure("connect", "The name has no address");
    if (!addresses.every(isPublicAddress)) {
      throw new UpstreamFailure("refused", "The address is not public");
    }
    let failure: unknown;
    for (const address of addresses) {
      if (signal.aborted) break;
      try {
        const serverName = target.tls ? target.hostname : undefined;
        return await world.dial({ address, port: target.port, serverName }, signal);
      } catch (error) {
        failure = error;
      }
    }
    throw new UpstreamFailure("connect", "No address could be reached", { cause: failure });
  };
}
