/**
 * The interface between calls and the drivers that reach providers.
 *
 * - Folder `core/net/transport/`: the interface of every driver that reaches a provider, and reading bodies through
 *   it.
 * - In: an `UpstreamRequest`, and a signal or deadline to stop it.
 * - Out: an `UpstreamExchange`: head and body of the answer, or a failure as a value.
 * - Never: knows wire styles, models or money.
 */
import type { ByteParts } from "../../lib/bytes/byte_parts.ts";

/** Drivers that reach peers over the network: the gateway's HTTP/1.1 client on sockets, and the runtime's `fetch`. */
export const drivers = ["http1", "fetch"] as const;

/** A driver that reaches peers over the network. */
export type Driver = typeof drivers[number];

/** A driver that reaches providers: the HTTP/1.1 client, `fetch`, or the sandbox (no network at all). */
export interface Transport {
  /** Starts an exchange. Never throws: failures arrive through {@linkcode UpstreamExchange.response}. */
  open(request: UpstreamRequest): UpstreamExchange;
}

/** A request to a provider. */
export interface UpstreamRequest {
  readonly method: "GET" | "POST" | "DELETE";
  /** Absolute `http:` or `https:` URL. */
  readonly url: string;
  /** Lower-case names. `host`, `content-length` and `connection` are the driver's own. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: ByteParts | null;
  /**
   * Allows a POST to be sent twice, and is called when it was. A kept connection can end without a byte of an answer
   * to a request that was sent whole, and it is unknown whether the peer acted on it (RFC 9110 section 9.2.2). A POST
   * without this fails then. GET and DELETE are always sent again, and so is a request that cannot have arrived
   * whole.
   */
  readonly onSentAgain?: (() => void) | undefined;
}

/** A request that was sent, with its pending response. */
export interface UpstreamExchange {
  /** Resolves when status and headers have arrived; rejects with {@linkcode UpstreamFailure}. */
  readonly response: Promise<UpstreamResponse>;
  /** Closes the connection at once, whatever the state. May be called more than once; never throws. */
  cancel(): void;
}

/** The head of a response, with a reader of its body. */
export interface UpstreamResponse {
  readonly status: number;
  /** Value of a header by lower-case name, joined by `, ` where repeated. */
  header(name: string): string | undefined;
  readonly body: ByteReader;
}

/** Takes the next piece of a body; one of its methods is called once for each read. */
export interface PieceReceiver {
  /** The next bytes, valid until the next read, or `null` at the clean end of the body. */
  onPiece(bytes: Uint8Array | null): void;
  /** The body broke before its clean end, with an {@linkcode UpstreamFailure}. */
  onFailure(failure: unknown): void;
}

/** Reads a body piece by piece. */
export interface ByteReader {
  /**
   * The next bytes, or `null` at the clean end of the body.
   * The view is valid until the next call only: the driver reuses its buffer.
   * Rejects with {@linkcode UpstreamFailure} when the connection breaks before the clean end.
   */
  read(): Promise<Uint8Array | null>;
  /**
   * The same without promises, which cost as much as all else that is done with an event of a stream. The receiver may
   * be called before this returns. Absent where a driver has only promises.
   */
  readTo?(receiver: PieceReceiver): void;
  /**
   * Takes a copy of the rest of the body, without a promise, if all of it has arrived and it has at most `maxBytes`.
   * Absent where a driver cannot say.
   */
  arrived?(maxBytes: number): Uint8Array | undefined;
}

/** The reason of an {@linkcode UpstreamFailure}. */
export type UpstreamFailureCode =
  /** No connection: refused, unreachable, name not found, TLS failed. Nothing was sent. */
  | "connect"
  /** Our own machine is out of descriptors, ports or memory. No fault of the peer. */
  | "shortage"
  /** The connection ended or broke before the response was whole. */
  | "cut"
  /** The peer does not speak HTTP/1.1 as it must. */
  | "protocol"
  /** A bound of the driver was passed (header bytes, line length). */
  | "too_large"
  /** The peer was silent for longer than the driver allows, after the connection was up. */
  | "timeout"
  /** Our own request cannot be sent (URL or header not allowed). Nothing was sent; a defect or a bad configuration. */
  | "refused"
  /** {@linkcode UpstreamExchange.cancel} was called. */
  | "cancelled";

/** Why an exchange failed. The message names no host, header or body, so it may be logged. */
export class UpstreamFailure extends Error {
  override name = "UpstreamFailure";
  readonly code: UpstreamFailureCode;
  constructor(code: UpstreamFailureCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
