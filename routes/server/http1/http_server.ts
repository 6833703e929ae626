/**
 * The gateway's own server for HTTP/1.1.
 *
 * - Folder `routes/server/http1/`: connections of clients, read and written without streams and without standard
 *   requests and responses where the handler needs none.
 * - In: a listening address, a handler, bounds.
 * - Out: requests for the handler in the order of their connection; its answers to the clients.
 * - Never: passes a request on that two readers could understand in different ways.
 */
import { sleep } from "../../../core/lib/time/sleep.ts";
import { ClientConnection, type ConnectionSetting } from "./client_connection.ts";
import { connectionsToEvict } from "./eviction.ts";

/** Milliseconds until accepting is tried again after it failed: calls that end free sockets. */
const acceptAgainMs = 200;

/** Address and options of a listening server. */
export interface HttpServerOptions extends ConnectionSetting {
  readonly hostname: string;
  /** 0: one that the system chooses. */
  readonly port: number;
  /** Whether other threads listen at the same address. */
  readonly isShared: boolean;
  /** Replaced in tests, which break what it returns. */
  readonly open?: (options: Deno.TcpListenOptions) => Deno.TcpListener;
  /** Called with the reason why no connection can be accepted, at most once in each pause. */
  readonly onTrouble: (error: unknown) => void;
}

/** A server that is listening. */
export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #connections = new Set<ClientConnection>();
  readonly #ended = Promise.withResolvers<void>();
  readonly address: Deno.NetAddr;
  #listener: Deno.TcpListener;
  #isStopped = false;
  /** Connections beyond which new ones take the place of others: fewer than the bound after a shortage. */
  #room: number;

  /** @throws when the address cannot be used */
  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#room = options.bounds.connections;
    this.#listener = this.#listen(options.port);
    this.address = this.#listener.addr;
    void this.#accept();
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#connections.size;
  }

  /**
   * Stops accepting and closes idle connections at once; others end with their answer. Resolves when all have ended.
   */
  shutdown(): Promise<void> {
    if (!this.#isStopped) {
      this.#isStopped = true;
      closeQuietly(this.#listener);
      for (const connection of this.#connections) connection.stop();
      this.#endIfEmpty();
    }
    return this.#ended.promise;
  }

  #listen(port: number): Deno.TcpListener {
    const { hostname, isShared, open = Deno.listen } = this.#options;
    return open({ hostname, port, reusePort: isShared });
  }

  async #accept(): Promise<void> {
    while (!this.#isStopped) {
      try {
        this.#serve(await this.#listener.accept());
      } catch (error) {
        if (this.#isStopped) return;
        await this.#recover(error);
      }
    }
  }

  /**
   * Frees resources of the system where none are left: connections that wait for their clients give theirs back, such
   * as file descriptors, and so that calls have some for providers, no more are used from then on; otherwise the
   * listener is replaced after a pause.
   */
  async #recover(error: unknown): Promise<void> {
    const isShort = isShortage(error);
    const wasKnown = this.#room < this.#options.bounds.connections;
    if (isShort && this.#evict()) {
      this.#room = Math.max(1, Math.min(this.#room, this.#connections.size));
      if (!wasKnown) this.#options.onTrouble(error);
      return;
    }
    this.#options.onTrouble(error);
    await sleep(acceptAgainMs);
    if (this.#isStopped || isShort) return;
    closeQuietly(this.#listener);
    try {
      this.#listener = this.#listen(this.address.port);
    } catch (failure) {
      this.#options.onTrouble(failure);
    }
  }

  #serve(socket: Deno.TcpConn): void {
    try {
      socket.setNoDelay(true);
    } catch {
      // The client has left already, which the first read shows.
    }
    const isFull = this.#connections.size >= this.#room;
    if (isFull && !this.#evict() && this.#connections.size >= this.#options.bounds.connections) {
      return socket.close();
    }
    const connection = new ClientConnection(this.#options, socket, socket.remoteAddr);
    this.#connections.add(connection);
    void connection.run().then(() => {
      this.#connections.delete(connection);
      // The shortage is over.
      if (this.#connections.size < this.#room / 2) this.#room = this.#options.bounds.connections;
      this.#endIfEmpty();
    });
  }

  /** Closes connections that wait for their clients; returns whether there were any. */
  #evict(): boolean {
    const evicted = connectionsToEvict(this.#connections);
    for (const connection of evicted) {
      connection.close();
      this.#connections.delete(connection);
    }
    return evicted.length > 0;
  }

  #endIfEmpty(): void {
    if (this.#isStopped && this.#connections.size === 0) this.#ended.resolve();
  }
}

/** Codes of systems that have no resources left for one more connection; the listener is sound. */
const shortages: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE", "ENOBUFS", "ENOMEM"]);

function isShortage(error: unknown): boolean {
  return error instanceof Error && "code" in error && shortages.has(error.code);
}

function closeQuietly(listener: Deno.TcpListener): void {
  try {
    listener.close();
  } catch {
    // It is closed.
  }
}
