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
import { parseDestination } from "../http1/heads.ts";
import {
  type Transport,
  type UpstreamExchange,
  UpstreamFailure,
  type UpstreamRequest,
  type UpstreamResponse,
} from "../transport/transport.ts";
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

/** Resolves a name, or rejects with {@linkcode UpstreamFailure} unless all of its addresses are public. */
async function publicAddressesOf(
  hostname: string,
  resolve: Resolve,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const isLiteral = parseIpAddress(hostname) !== undefined;
  const addresses = isLiteral
    ? [hostname]
    : (await resolve(hostname, signal)).slice(0, maxResolvedAddresses);
  if (addresses.length === 0) throw new UpstreamFailure("connect", "The name has no address");
  if (!addresses.every(isPublicAddress)) {
    throw new UpstreamFailure("refused", "The address is not public");
  }
  return addresses;
}

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
    const addresses = await publicAddressesOf(target.hostname, world.resolve, signal);
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

/**
 * Checks the names of requests before a transport that resolves them itself sends them.
 *
 * For platforms where no socket can be opened to a checked address, and from which no private network can be reached:
 * the transport asks a name server again, so that one that answers differently the second time is not stopped.
 */
export function createGuardedTransport(transport: Transport, resolve: Resolve): Transport {
  return { open: (request) => new GuardedExchange(transport, resolve, request) };
}

class GuardedExchange implements UpstreamExchange {
  readonly response: Promise<UpstreamResponse>;
  readonly #aborter = new AbortController();
  #sent: UpstreamExchange | undefined;

  constructor(transport: Transport, resolve: Resolve, request: UpstreamRequest) {
    this.response = this.#run(transport, resolve, request);
    // A caller that cancels may ignore the response.
    this.response.catch(() => {});
  }

  cancel(): void {
    this.#aborter.abort();
    this.#sent?.cancel();
  }

  async #run(
    transport: Transport,
    resolve: Resolve,
    request: UpstreamRequest,
  ): Promise<UpstreamResponse> {
    const { signal } = this.#aborter;
    const { target } = parseDestination(request.url);
    await publicAddressesOf(target.hostname, resolve, signal).catch((cause: unknown) => {
      if (cause instanceof UpstreamFailure) throw cause;
      throw new UpstreamFailure("connect", "The name could not be resolved", { cause });
    });
    if (signal.aborted) throw new UpstreamFailure("cancelled", "The exchange was cancelled");
    this.#sent = transport.open(request);
    return await this.#sent.response;
  }
}
