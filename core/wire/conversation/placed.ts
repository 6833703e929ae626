/** Where the parts of a conversation stood in the request of the client. */

/** A prompt-cache mark on a block or tool. */
export interface CacheMark {
  /** Where the client wrote it; not every client writes it onto the block itself. */
  readonly path: string;
  /** Absent: the vendor's default (5 minutes at Messages). */
  readonly ttl?: "5m" | "1h";
}

/** Where a part stood in the request, and whether the prompt cache may end there. */
export interface Placed {
  readonly path: string;
  readonly cache?: CacheMark;
}
