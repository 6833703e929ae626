/** Which connections have brought a request before. */

/** Connections that are remembered for having brought a request; each entry is a port number. */
const maxSeenConnections = 4_096;

/**
 * Tells the first request of a connection from later ones, by the client's port, and may err: a port that was used
 * before passes for seen, and when too many are known all are forgotten. A hint for speed, nothing else.
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

  /** Whether this is the first request from there; the next is not. */
  isFirst({ port }: Deno.NetAddr): boolean {
    if (this.#ports.has(port)) return false;
    if (this.#ports.size >= maxSeenConnections) this.#ports.clear();
    this.#ports.add(port);
    return true;
  }
}
