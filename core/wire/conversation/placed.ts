/** Paths of the parts of a conversation in the client's request. */

/** A prompt-cache mark on a block or tool. */
export interface CacheMark {
  /** The path of the mark, which need not be a member of the block. */
  readonly path: string;
  /** Absent: the vendor's default (5 minutes at Messages). */
  readonly ttl?: "5m" | "1h";
}

/** The path of a part in the request, and its prompt-cache mark. */
export interface Placed {
  readonly path: string;
  readonly cache?: CacheMark;
}
