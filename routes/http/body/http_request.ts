/** The part of a request that endpoints read. A standard `Request` is one. */
export interface HttpRequest extends Pick<Request, "method" | "url" | "body" | "signal" | "bytes"> {
  /** By lower-case names. */
  readonly headers: Pick<Headers, "get" | "has">;
  /** Takes the whole body if it has arrived; it cannot be read again then. Absent where a server cannot say. */
  arrivedBody?(): Uint8Array | undefined;
  /** Whether the client sends the body only when it is read (`expect: 100-continue`). Absent where a server cannot say. */
  readonly isBodyHeldBack?: boolean;
  /** Reads the body without a stream; `undefined` if there is none. Absent where a server has only the stream. */
  pieces?(): Pieces | undefined;
}

/** A body as pieces. */
export interface Pieces {
  /** The next piece; `undefined` at the end, and possibly after `cancel`. Valid until the next read. */
  read(): Promise<Uint8Array | undefined>;
  /**
   * Reads what comes next into `view`, without a piece in between: how many bytes, or `undefined` at the end. Absent
   * where the length is not known or a server cannot.
   */
  readonly readInto?: (view: Uint8Array<ArrayBuffer>) => Promise<number | undefined>;
  cancel(): Promise<void>;
}
