/** Recognises the first request of a connection. */

/** Connections that are remembered for having brought a request; each entry is a port number. */
const maxSeenConnections = 4_096;

/**
 * Distinguishes the first request of a connection from later ones, by the client's port. It may
 * err: a reused port counts as seen, and when too many are known all are forgotten. Used only as a
 * hint for speed.
 *
 * @example
 * ```ts
 * import { SeenConnections } from "./seen_connections.ts";
 * const connections = new SeenConnections();
 * const client = { transport: "tcp", hostname: "127.0.0.1", port: 50_000 } as const;
 * if (!connections.isFirst(client)) throw new Error("nobody was there");
 * if (connections.isFirst(client)) throw new Error("it was");
 * ```
 */
export class SeenConnections {
  readonly #ports = new Set<number>();

  /** Whether this is the first request from an address and port; later calls return `false`. */
  isFirst({ port }: Deno.NetAddr): boolean {
    if (this.#ports.has(port)) return false;
    if (this.#ports.size >= maxSeenConnections) this.#ports.clear();
    this.#ports.add(port);
    return true;
  }
}
