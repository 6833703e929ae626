/** A byte stream to a peer: plain TCP or TLS. Code of the runtime opens it, so the HTTP client needs no sockets. */
export interface Connection {
  /**
   * Reads at least one byte into `into`, which must not be empty.
   *
   * @returns how many bytes came, or `null` when the peer has ended its side
   * @throws when the connection breaks, or after {@linkcode close}
   */
  read(into: Uint8Array<ArrayBuffer>): Promise<number | null>;
  /**
   * Writes some or all of `bytes`.
   *
   * @returns how many bytes were taken
   * @throws when the connection breaks, or after {@linkcode close}
   */
  write(bytes: Uint8Array): Promise<number>;
  /** Frees the socket at once; running reads and writes reject. May be called more than once. */
  close(): void;
}

/** The host, port and protocol to connect to. */
export interface ConnectTarget {
  /** A name or an address; IPv6 addresses without brackets. */
  readonly hostname: string;
  readonly port: number;
  readonly tls: boolean;
}

/**
 * Opens a connection; for TLS with the handshake done.
 *
 * An aborted `signal` should end the attempt early. If a runtime cannot do that, the caller closes a connection that
 * opens too late.
 */
export type Connect = (target: ConnectTarget, signal: AbortSignal) => Promise<Connection>;
