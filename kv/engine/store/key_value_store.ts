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
import type { AccountId, RequestId } from "../../../core/lib/ids/ids.ts";

/** KV keys of one `getMany`: the store's own bound. */
export const keysPerRead = 10;

/** A bounded read of rows in key order, whose {@linkcode cursor} continues it later. */
export interface RowIterator<Value> extends AsyncIterableIterator<Deno.KvEntry<Value>> {
  /** Place of the row that was read last. An empty text before the first row. */
  readonly cursor: string;
}

/** Options for listing rows. */
export interface RowListOptions extends Deno.KvListOptions {
  /**
   * Leaves out rows that have left the store for an archive. Whoever finds nothing this way has to list again without
   * it: a row may leave while it is looked for.
   */
  readonly isWithoutArchive?: boolean;
}

/** Calls of an archive that are asked for, by what it has in columns: the latest first. */
export interface ArchivedCallsAsked {
  /** Absent: those of all accounts. */
  readonly accountId?: string | undefined;
  /** Ids from this one on, */
  readonly from: string;
  /** and before this one. */
  readonly before: string;
  readonly keyId?: string | undefined;
  readonly model?: string | undefined;
  readonly onlyFailed?: boolean | undefined;
  /** The least status, and the first one that is too large. */
  readonly statusFrom?: number | undefined;
  readonly statusBefore?: number | undefined;
  /** A text that their tags contain. */
  readonly tag?: string | undefined;
  readonly limit: number;
}

/** Calls of an archive. Some may not be what was asked for: columns do not have every member. */
export interface ArchivedCallsRead {
  /** In the order of their ids, the latest first: an id, and the stored text of its receipt. */
  readonly calls: readonly (readonly [requestId: string, text: string])[];
  /** Down to this id everything was read, itself included. */
  readonly reached: string;
  /** Calls that the database looked at to find these. */
  readonly scanned: number;
}

/** A day sum in an archive. */
export interface ArchivedDaySum extends Deno.KvEntry<unknown> {
  /** Whether the archive has sums by tag of the same calls. */
  readonly hasTags: boolean;
}

/** Calls of an account in an archive, in the order of their ids. */
export interface ArchivedIds {
  readonly accountId: AccountId;
  readonly requestIds: readonly RequestId[];
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
  /**
   * Reads the first rows of each of several ranges, or the last ones first, where an engine does so in one round; see
   * `firstRowsOf` of `read_ahead.ts`. Leaves out rows that have left the store for an archive.
   */
  firstRows?:
    | ((
      selectors: readonly Deno.KvListSelector[],
      limit: number,
      reverse?: boolean,
    ) => Promise<readonly (readonly Deno.KvEntry<unknown>[])[]>)
    | undefined;
  /**
   * Reads rows by their keys that are read one by one and have left the store for an archive, in the order of the keys;
   * absent where there is none. `rowsOfKeys` of `read_ahead.ts` asks for those that it does not find.
   */
  archivedRows?:
    | ((keys: readonly Deno.KvKey[]) => Promise<readonly (Deno.KvEntry<unknown> | undefined)[]>)
    | undefined;
  /**
   * Reads calls that have left the store for an archive, in one or two statements; absent where there is none. Whoever
   * reads both asks the store first: a call is in the archive before it leaves.
   */
  archivedCalls?: ((asked: ArchivedCallsAsked) => Promise<ArchivedCallsRead>) | undefined;
  /**
   * Reads which calls of each account have left the store for an archive, in the order of accounts and ids, many at a
   * time; absent where there is none. A call on its way is also in the index of the store.
   */
  archivedIndex?: (() => AsyncIterable<ArchivedIds>) | undefined;
  /**
   * Reads all day sums that are in an archive, in the order that it has them in: each of its pages once, where a list in
   * the order of accounts reads them many times. Absent where there is none. The store may have newer ones of some: a
   * reader of both asks the store first.
   */
  archivedDaySums?: (() => AsyncIterable<ArchivedDaySum>) | undefined;
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

/** Names of the readings that an engine or an archive adds to those that every store has. */
export type AddedRead = {
  [Name in keyof KeyValueStore]-?: object extends Pick<KeyValueStore, Name> ? Name : never;
}[keyof KeyValueStore];

/**
 * A store whose members are all there, be it as `undefined`. Stores that wrap another one have this type: a reading that
 * one of them forgets would be made row by row in the running server, as slowly as if no engine could do better.
 */
export type WholeStore = { [Name in keyof Required<KeyValueStore>]: KeyValueStore[Name] };

/** Work of a wrapping store around each call of a reading. */
export interface AroundReads {
  readonly call: <Result>(call: Promise<Result>) => Promise<Result>;
  readonly rows: <Row>(rows: AsyncIterable<Row>) => AsyncIterable<Row>;
}

const asTheyAre: AroundReads = { call: (call) => call, rows: (rows) => rows };

/** Returns the readings that the wrapped store adds, for the store that wraps it. */
export function addedReads(
  kv: KeyValueStore,
  around: AroundReads = asTheyAre,
): Pick<WholeStore, AddedRead> {
  const firstRows = kv.firstRows?.bind(kv);
  const archivedRows = kv.archivedRows?.bind(kv);
  const archivedCalls = kv.archivedCalls?.bind(kv);
  const archivedIndex = kv.archivedIndex?.bind(kv);
  const archivedDaySums = kv.archivedDaySums?.bind(kv);
  return {
    firstRows: firstRows && ((...call) => around.call(firstRows(...call))),
    archivedRows: archivedRows && ((keys) => around.call(archivedRows(keys))),
    archivedCalls: archivedCalls && ((asked) => around.call(archivedCalls(asked))),
    archivedIndex: archivedIndex && (() => around.rows(archivedIndex())),
    archivedDaySums: archivedDaySums && (() => around.rows(archivedDaySums())),
  };
}
