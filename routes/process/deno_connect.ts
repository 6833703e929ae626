/**
 * The network of this runtime: TCP and TLS connections for the HTTP/1.1 driver in `core/net/http1`, and `fetch`.
 * Which addresses are public is decided in `core/net/remote/`.
 */
import type { Connect, Connection } from "../../core/net/transport/connection.ts";
import {
  createFetchTransport,
  type FetchTransportOptions,
} from "../../core/net/fetch/fetch_transport.ts";
import { type Transport, UpstreamFailure } from "../../core/net/transport/transport.ts";
import {
  createGuardedConnect,
  type Dial,
  type Resolve,
} from "../../core/net/remote/guarded_connect.ts";

/** Settings of TLS connections. */
export interface DenoConnectOptions {
  /** PEM certificates that are trusted besides those of the machine. */
  readonly caCerts?: readonly string[];
}

/** Error codes of systems that cannot open one more connection, to any peer. */
const shortages: ReadonlySet<unknown> = new Set([
  "EMFILE",
  "ENFILE",
  "EADDRNOTAVAIL",
  "ENOBUFS",
  "ENOMEM",
]);

function isShortage(error: unknown): boolean {
  return error instanceof Error && "code" in error && shortages.has(error.code);
}

/**
 * Makes the {@linkcode Connect} of this runtime. It rejects with {@linkcode UpstreamFailure} `shortage` if our own
 * machine has no resources left.
 *
 * Nagle's algorithm is off: it would delay small requests by up to 40 ms. TLS offers only `http/1.1`, so that a peer
 * does not choose HTTP/2.
 */
export function denoConnect(options: DenoConnectOptions = {}): Connect {
  return async (target, signal) => {
    const { hostname, port } = target;
    const tcp = await Deno.connect({ hostname, port, signal }).catch((cause: unknown) => {
      if (!isShortage(cause)) throw cause;
      throw new UpstreamFailure("shortage", "No connection can be opened", { cause });
    });
    tcp.setNoDelay(true);
    return target.tls ? await startTls(tcp, { hostname, ...options }, signal) : tcp;
  };
}

/**
 * Starts TLS on a connection, with `http/1.1` only, and waits for the handshake.
 *
 * @throws when the handshake fails or `signal` aborts; the connection is closed then
 */
async function startTls(
  tcp: Deno.TcpConn,
  { hostname, caCerts = [] }: DenoConnectOptions & { readonly hostname: string },
  signal: AbortSignal,
): Promise<Connection> {
  const tls = await Deno.startTls(tcp, {
    hostname,
    caCerts: [...caCerts],
    alpnProtocols: ["http/1.1"],
  });
  const close = () => tls.close();
  signal.addEventListener("abort", close, { once: true });
  try {
    // An empty write waits for the handshake and ends with `close()`; `handshake()` itself would continue to wait.
    await tls.write(new Uint8Array());
    return tls;
  } catch (error) {
    if (!signal.aborted) tls.close();
    throw error;
  } finally {
    signal.removeEventListener("abort", close);
  }
}

/** Opens a transport on `fetch` with connections of its own. */
export function openFetchTransport(
  bounds: Pick<FetchTransportOptions, "deadlines" | "idleMs">,
): { readonly transport: Transport; readonly close: () => void } {
  const client = Deno.createHttpClient({});
  const onceClient = Deno.createHttpClient({ poolMaxIdlePerHost: 0 });
  return {
    transport: createFetchTransport({
      ...bounds,
      fetch: (url, init) => fetch(url, { ...init, client }),
      fetchOnce: (url, init) => fetch(url, { ...init, client: onceClient }),
    }),
    close() {
      client.close();
      onceClient.close();
    },
  };
}

// DNS and sockets of Deno for fetching URLs of callers; the rules are in `core/media`.

/** Resolves a name in both address families; a family without records is not a failure. */
export const resolveWithDeno: Resolve = async (hostname, signal) => {
  const lookups = await Promise.allSettled([
    Deno.resolveDns(hostname, "A", { signal }),
    Deno.resolveDns(hostname, "AAAA", { signal }),
  ]);
  return lookups.flatMap((lookup) => lookup.status === "fulfilled" ? lookup.value : []);
};

/** Milliseconds for the TXT records of a name: a person is waiting. */
const txtMs = 5_000;

/**
 * Reads the texts of the TXT records of a name; a text of several strings is one (RFC 7208, section 3.3). Rejects if the
 * resolver does not say what there is.
 */
export async function resolveTxtWithDeno(name: string): Promise<string[]> {
  try {
    const records = await Deno.resolveDns(name, "TXT", { signal: AbortSignal.timeout(txtMs) });
    return records.map((strings) => strings.join(""));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** Connects to the address; TLS sends and verifies the name. */
const dialWithDeno: Dial = async ({ address, port, serverName }, signal) => {
  const tcp = await Deno.connect({ hostname: address, port, signal });
  tcp.setNoDelay(true);
  return serverName === undefined ? tcp : await startTls(tcp, { hostname: serverName }, signal);
};

/** The guarded {@linkcode Connect} of this runtime; `world` is for tests. */
export function guardedConnect(
  world: { readonly resolve?: Resolve; readonly dial?: Dial } = {},
): Connect {
  return createGuardedConnect({
    resolve: world.resolve ?? resolveWithDeno,
    dial: world.dial ?? dialWithDeno,
  });
}
