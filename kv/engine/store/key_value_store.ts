/**
 * The interface that every engine of the store implements: the seven methods of `Deno.Kv` that this project uses, with
 * the meaning that https://docs.deno.com/api/deno/~/Deno.Kv gives them.
 *
 * An engine is atomic and strictly serializable for {@linkcode KeyValueStore.atomic}: of two commits that check the
 * same row, one sees what the other wrote. Rows sort by the tuple encoding of their keys. A call that rejects may still
 * take effect, since an answer can be lost after the commit; callers decide by rereading, never by the error.
 *
 * - Folder `kv/engine/store/`: the one interface of the store, and the ways to use it: check-and-set, batch rows,
 *   reading ahead, deadlines.
 * - In: an open store of any engine.
 * - Out: commits that are repeated within a bound, pages of rows, notices of changes, errors as one of a few kinds.
 * - Never: names an engine, or decides from an error whether a commit took effect.
 */

/** KV keys of one `getMany`: the store's own bound. */
export const keysPerRead = 10;

/** A bounded read of rows in key order, whose {@linkcode cursor} continues it later. */
export interface RowIterator<Value> extends AsyncIterableIterator<Deno.KvEntry<Value>> {
  /** Where the row that was read last lies. An empty text before the first row. */
  readonly cursor: string;
}

/** How rows are listed. */
export interface RowListOptions extends Deno.KvListOptions {
  /**
   * Leaves out rows that have left the store for an archive. Whoever finds nothing this way has to list again without
   * it: a row may leave while it is looked for.
   */
  readonly isWithoutArchive?: boolean;
}

/** Checks and writes that take effect together or not at all. */
export interface AtomicWrite {
  /** The commit fails unless each row still has the versionstamp; `null` stands for a row that is absent. */
  check(...checks: Deno.AtomicCheck[]): this;
  /** @param options `expireIn` in milliseconds */
  set(key: Deno.KvKey, value: unknown, options?: { expireIn?: number }): this;
  delete(key: Deno.KvKey): this;
  /**
   * `ok` is false if a check failed. Over KV Connect that may be a check against what this very commit has written:
   * the client repeats an unanswered call. Whoever has to know reads the rows again.
   */
  commit(): Promise<Deno.KvCommitResult | Deno.KvCommitError>;
}

/** The versionstamps of a row may be compared for equality, never for age. */
export interface KeyValueStore extends Disposable {
  get<Value = unknown>(key: Deno.KvKey): Promise<Deno.KvEntryMaybe<Value>>;
  getMany<Values extends readonly unknown[]>(
    keys: readonly [...{ [Index in keyof Values]: Deno.KvKey }],
  ): Promise<{ [Index in keyof Values]: Deno.KvEntryMaybe<Values[Index]> }>;
  list<Value = unknown>(
    selector: Deno.KvListSelector,
    options?: RowListOptions,
  ): RowIterator<Value>;
  /** Reads the first rows of each of several ranges, where an engine does so in one round; see `firstRowsOf` of `read_ahead.ts`. */
  firstRows?(
    selectors: readonly Deno.KvListSelector[],
    limit: number,
  ): Promise<readonly (readonly Deno.KvEntry<unknown>[])[]>;
  /** @param options `expireIn` in milliseconds */
  set(
    key: Deno.KvKey,
    value: unknown,
    options?: { expireIn?: number },
  ): Promise<Deno.KvCommitResult>;
  delete(key: Deno.KvKey): Promise<void>;
  atomic(): AtomicWrite;
  /** Ends the connection. Calls under way reject. */
  close(): void;
}
