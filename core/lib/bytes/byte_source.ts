/**
 * Takes what a {@linkcode ByteSource} produces. The controller of a `ReadableStream` is one, and so
 * is the writer of the server's connections.
 */
export interface ByteSink {
  /** 0 or more while the sink has passed everything on, negative while bytes wait; `null` after a failure. */
  readonly desiredSize: number | null;
  /** Takes bytes, which must not change afterwards. */
  enqueue(bytes: Uint8Array): void;
  /**
   * Takes bytes that may change after the call, and passes them on at once. Absent where a sink keeps what it takes. A
   * source that uses it may return from `pull` before it has bytes.
   */
  lend?(bytes: Uint8Array): void;
  /** Ends the bytes; they are whole. */
  close(): void;
  /** Breaks off: whoever reads learns that the bytes are not whole. */
  error(reason: unknown): void;
}

/**
 * Produces bytes when they are asked for: the underlying source of a `ReadableStream`.
 *
 * The same object can be the body of a `Response`, or be written to a connection without a stream in between.
 *
 * The rules are those of a stream without a queue: `pull` is called when the reader waits and nothing
 * is enqueued, and not again while its promise is pending.
 */
export interface ByteSource {
  start?(sink: ByteSink): void;
  pull(sink: ByteSink): Promise<void> | undefined | void;
  /** The reader has left. */
  cancel(): Promise<void> | void;
}
