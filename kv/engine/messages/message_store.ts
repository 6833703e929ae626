/**
 * The store that another thread of this process has open.
 *
 * - Folder `kv/engine/messages/`: the store of another thread of this process, by messages.
 * - In: an open store on one side, calls of {@linkcode KeyValueStore} on the other.
 * - Out: rows and results of commits, as the open store gives them.
 * - Never: repeats a call, or answers one from memory.
 */
import { LinkEndedError, type MessageLink } from "../../../core/lib/threads/message_link.ts";
import type {
  AddedRead,
  ArchivedCallsAsked,
  ArchivedCallsRead,
  AtomicWrite,
  KeyValueStore,
  RowIterator,
  RowListOptions,
  WholeStore,
} from "../store/key_value_store.ts";
import type { CommitResult } from "../parts/collected_write.ts";
import { StoreTimeoutError } from "../store/store_deadlines.ts";
import { StoreUnavailableError } from "../store/store_unavailable.ts";

// Lets other threads of the process call an open store. The embedded file belongs to one connection, so serving threads
// reach it through the thread that has it open.

/** A write of a commit; one without a value deletes the row. */
export type PassedWrite =
  | { readonly key: Deno.KvKey; readonly value: unknown; readonly options?: { expireIn?: number } }
  | { readonly key: Deno.KvKey };

/** A commit as it travels. */
export interface PassedCommit {
  readonly checks: readonly Deno.AtomicCheck[];
  readonly writes: readonly PassedWrite[];
}

/** A page of a list. */
interface PassedPage {
  readonly entries: readonly Deno.KvEntry<unknown>[];
  /** The cursor behind each entry. */
  readonly cursors: readonly string[];
}

/** The calls of a store as they travel. */
export type StoreServices = {
  get(key: Deno.KvKey): Promise<Deno.KvEntryMaybe<unknown>>;
  getMany(keys: readonly Deno.KvKey[]): Promise<readonly Deno.KvEntryMaybe<unknown>[]>;
  list(
    page: { readonly selector: Deno.KvListSelector; readonly options: RowListOptions },
  ): Promise<PassedPage>;
  commit(commit: PassedCommit): Promise<CommitResult>;
  firstRows(asked: {
    readonly selectors: readonly Deno.KvListSelector[];
    readonly limit: number;
    readonly reverse: boolean;
  }): Promise<readonly (readonly Deno.KvEntry<unknown>[])[]>;
  archivedRows(
    keys: readonly Deno.KvKey[],
  ): Promise<readonly (Deno.KvEntry<unknown> | undefined)[]>;
  archivedCalls(asked: ArchivedCallsAsked): Promise<ArchivedCallsRead>;
};

/** Readings that the store of a thread adds where the open store does: those of all rows are for jobs of its owner. */
const passedReads = ["firstRows", "archivedRows", "archivedCalls"] as const satisfies AddedRead[];

/** Name of a reading that is passed between threads. */
export type PassedRead = typeof passedReads[number];

/** Returns which of these readings a store has, for the stores of other threads. */
export function passedReadsOf(kv: KeyValueStore): readonly PassedRead[] {
  return passedReads.filter((name) => kv[name] !== undefined);
}

function missing(name: PassedRead): never {
  throw new TypeError(`The open store has no ${name}`);
}

/** Serves a store. `onWrite` is called with the key of each write before its commit. */
export function storeServices(
  kv: KeyValueStore,
  onWrite: (key: Deno.KvKey, isDeletion: boolean) => void = () => {},
): StoreServices {
  return {
    get: (key) => kv.get(key),
    getMany: (keys) => kv.getMany<unknown[]>([...keys]),
    async list({ selector, options }) {
      const rows = kv.list(selector, options);
      const entries: Deno.KvEntry<unknown>[] = [];
      const cursors: string[] = [];
      for await (const entry of rows) {
        entries.push(entry);
        cursors.push(rows.cursor);
      }
      return { entries, cursors };
    },
    commit({ checks, writes }) {
      const operation = kv.atomic();
      for (const check of checks) operation.check(check);
      for (const write of writes) {
        const isDeletion = !("value" in write);
        onWrite(write.key, isDeletion);
        if (!isDeletion) operation.set(write.key, write.value, write.options);
        else operation.delete(write.key);
      }
      return operation.commit();
    },
    firstRows: ({ selectors, limit, reverse }) =>
      kv.firstRows?.(selectors, limit, reverse) ?? missing("firstRows"),
    archivedRows: (keys) => kv.archivedRows?.(keys) ?? missing("archivedRows"),
    archivedCalls: (asked) => kv.archivedCalls?.(asked) ?? missing("archivedCalls"),
  };
}

/** Makes the errors of a store again whose class callers look at. */
export function storeErrorOf(name: string, message: string): Error | undefined {
  if (name === "StoreTimeoutError") return new StoreTimeoutError();
  if (name === "StoreUnavailableError") return new StoreUnavailableError("elsewhere");
  if (name === "TypeError") return new TypeError(message);
  return undefined;
}

/** Rows of a page unless the caller asks for another number, as in Deno KV. */
const pageRows = 100;

type StoreLink = MessageLink<StoreServices>;

/** A view of a longer buffer would travel with all of that buffer. */
function withoutRest(value: unknown): unknown {
  return value instanceof Uint8Array && value.byteLength < value.buffer.byteLength
    ? value.slice()
    : value;
}

class MessageWrite implements AtomicWrite {
  readonly #link: StoreLink;
  readonly #checks: Deno.AtomicCheck[] = [];
  readonly #writes: PassedWrite[] = [];

  constructor(link: StoreLink) {
    this.#link = link;
  }

  check(...checks: Deno.AtomicCheck[]): this {
    for (const { key, versionstamp } of checks) this.#checks.push({ key, versionstamp });
    return this;
  }

  set(key: Deno.KvKey, value: unknown, options?: { expireIn?: number }): this {
    const whole = withoutRest(value);
    this.#writes.push(
      options === undefined ? { key, value: whole } : { key, value: whole, options },
    );
    return this;
  }

  delete(key: Deno.KvKey): this {
    this.#writes.push({ key });
    return this;
  }

  commit(): Promise<CommitResult> {
    return this.#link.call("commit", { checks: this.#checks, writes: this.#writes });
  }
}

/** Reads a page when the one before is used up. */
class MessageRows<Value> implements RowIterator<Value> {
  readonly #link: StoreLink;
  readonly #selector: Deno.KvListSelector;
  readonly #options: RowListOptions;
  #entries: readonly Deno.KvEntry<unknown>[] = [];
  #cursors: readonly string[] = [];
  #at = 0;
  #left: number;
  #isLast = false;

  constructor(link: StoreLink, selector: Deno.KvListSelector, options: RowListOptions) {
    this.#link = link;
    this.#selector = selector;
    this.#options = options;
    this.#left = options.limit ?? Infinity;
  }

  get cursor(): string {
    return this.#cursors[this.#at - 1] ?? "";
  }

  async next(): Promise<IteratorResult<Deno.KvEntry<Value>, undefined>> {
    if (this.#at >= this.#entries.length && !this.#isLast) await this.#turnPage();
    const entry = this.#entries[this.#at];
    if (entry === undefined) return { done: true, value: undefined };
    this.#at++;
    // What a row holds is known only to whoever wrote it, as with Deno KV.
    return { done: false, value: entry as Deno.KvEntry<Value> };
  }

  async #turnPage(): Promise<void> {
    const limit = Math.min(this.#options.batchSize ?? pageRows, this.#left);
    const cursor = this.cursor === "" ? this.#options.cursor : this.cursor;
    const { entries, cursors } = await this.#link.call("list", {
      selector: this.#selector,
      options: {
        ...this.#options,
        limit,
        batchSize: limit,
        ...(cursor === undefined ? {} : { cursor }),
      },
    });
    this.#left -= entries.length;
    this.#isLast = entries.length < limit || this.#left <= 0;
    // The cursor of the last row stays where a page is empty.
    if (entries.length === 0) return;
    this.#entries = entries;
    this.#cursors = cursors;
    this.#at = 0;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/** A {@linkcode KeyValueStore} over a link to the thread that has the store open. Its deadlines hold there. */
export class MessageStore implements WholeStore {
  readonly firstRows: WholeStore["firstRows"];
  readonly archivedRows: WholeStore["archivedRows"];
  readonly archivedCalls: WholeStore["archivedCalls"];
  readonly archivedIndex = undefined;
  readonly archivedDaySums = undefined;
  readonly #link: StoreLink;
  #isClosed = false;

  /** @param reads what {@linkcode passedReadsOf} says of the open store */
  constructor(link: StoreLink, reads: readonly PassedRead[]) {
    this.#link = link;
    const has = (name: PassedRead) => reads.includes(name) || undefined;
    this.firstRows = has("firstRows") &&
      ((selectors, limit, reverse = false) =>
        this.#open().call("firstRows", { selectors, limit, reverse }));
    this.archivedRows = has("archivedRows") && ((keys) => this.#open().call("archivedRows", keys));
    this.archivedCalls = has("archivedCalls") &&
      ((asked) => this.#open().call("archivedCalls", asked));
  }

  async get<Value>(key: Deno.KvKey): Promise<Deno.KvEntryMaybe<Value>> {
    // What a row holds is known only to whoever wrote it, as with Deno KV.
    return await this.#open().call("get", key) as Deno.KvEntryMaybe<Value>;
  }

  async getMany<Values extends readonly unknown[]>(
    keys: readonly [...{ [Index in keyof Values]: Deno.KvKey }],
  ): Promise<{ [Index in keyof Values]: Deno.KvEntryMaybe<Values[Index]> }> {
    const entries = await this.#open().call("getMany", keys);
    return entries as { [Index in keyof Values]: Deno.KvEntryMaybe<Values[Index]> };
  }

  list<Value>(
    selector: Deno.KvListSelector,
    options: RowListOptions = {},
  ): RowIterator<Value> {
    return new MessageRows<Value>(this.#open(), selector, options);
  }

  async set(
    key: Deno.KvKey,
    value: unknown,
    options?: { expireIn?: number },
  ): Promise<Deno.KvCommitResult> {
    const result = await this.atomic().set(key, value, options).commit();
    if (!result.ok) throw new Error("A write without checks was refused");
    return result;
  }

  async delete(key: Deno.KvKey): Promise<void> {
    await this.atomic().delete(key).commit();
  }

  atomic(): AtomicWrite {
    return new MessageWrite(this.#open());
  }

  /** Calls of this store throw from now on. The link stays open: other services may use it. */
  close(): void {
    this.#isClosed = true;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #open(): StoreLink {
    if (this.#isClosed) throw new LinkEndedError();
    return this.#link;
  }
}
