/** A byte stream to a peer: plain TCP or TLS. The runtime's glue makes them; the HTTP client knows no sockets. */
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
 * An aborted `signal` should end the attempt early. Where a runtime cannot, the caller closes what comes late.
 */
export type Connect = (target: ConnectTarget, signal: AbortSignal) => Promise<Connection>;
