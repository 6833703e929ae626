/**
 * The store over KV Connect, the protocol of denokv: a client of the project's own, since that of the runtime leaves
 * Nagle's algorithm on.
 *
 * - Folder `kv/engine/kv_connect/`: the engine for denokv: messages, connections, reads, commits.
 * - In: the address of a server and its token, calls of {@linkcode KeyValueStore}.
 * - Out: rows and results of commits, in the form in which the runtime's client writes and reads them.
 * - Never: reads from an endpoint that may lag behind, or decides from an error whether a commit took effect.
 */
import type { Clock } from "../../../core/lib/time/clock.ts";
import { CollectedWrite, type Commit, type CommitResult } from "../parts/collected_write.ts";
import { type KeyRange, PagedRows, type ReadRow } from "../parts/key_range.ts";
import {
  type AtomicWrite,
  keysPerRead,
  type KeyValueStore,
  type RowIterator,
} from "../store/key_value_store.ts";
import {
  checkedBytes,
  decodeKey,
  decodeValue,
  encodeKey,
  encodeValue,
} from "../parts/tuple_key.ts";
import { KvConnectClient, type KvConnectClientOptions } from "./client.ts";
import {
  decodeReads,
  decodeWrite,
  encodeReads,
  encodeWrite,
  KvConnectError,
  type RangeRead,
  type SentRow,
  valueEncoding,
} from "./messages.ts";

/** Endpoints that are asked in turn when one says that another one is responsible. */
const endpointTries = 3;

const noRow: readonly SentRow[] = [];

/** Binary values stay as they are, as the runtime's client does it: its decoder knows no binary parts of this one's. */
function encode(value: unknown): Uint8Array {
  return value instanceof Uint8Array ? checkedBytes(value) : encodeValue(value);
}

function valueOf({ value, encoding }: SentRow): unknown {
  if (encoding === valueEncoding.v8) return decodeValue(value);
  if (encoding === valueEncoding.bytes) return value;
  throw new KvConnectError(`A row has a value of encoding ${encoding}`);
}

function entryOf<Value>(key: Deno.KvKey, row: SentRow): Deno.KvEntry<Value> {
  // What a row holds is known only to whoever wrote it, as with Deno KV.
  return { key, value: valueOf(row) as Value, versionstamp: row.versionstamp };
}

/** The range that holds one key and no other. */
function onlyKey(key: Uint8Array): RangeRead {
  const end = new Uint8Array(key.length + 1);
  end.set(key);
  return { start: key, end, limit: 1, reverse: false };
}

/** A {@linkcode KeyValueStore} over a {@linkcode KvConnectClient}, which it closes. */
export class KvConnectStore implements KeyValueStore {
  readonly #client: KvConnectClient;
  readonly #clock: Clock;

  private constructor(client: KvConnectClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** @throws {KvConnectError} if the server refuses the token or does not speak the protocol */
  static async open(options: KvConnectClientOptions): Promise<KvConnectStore> {
    return new KvConnectStore(await KvConnectClient.open(options), options.clock);
  }

  async get<Value = unknown>(key: Deno.KvKey): Promise<Deno.KvEntryMaybe<Value>> {
    const [rows = noRow] = await this.#read([onlyKey(encodeKey(key))]);
    const [row] = rows;
    return row === undefined ? { key, value: null, versionstamp: null } : entryOf<Value>(key, row);
  }

  async getMany<Values extends readonly unknown[]>(
    keys: readonly [...{ [Index in keyof Values]: Deno.KvKey }],
  ): Promise<{ [Index in keyof Values]: Deno.KvEntryMaybe<Values[Index]> }> {
    if (keys.length > keysPerRead) throw new TypeError(`Too many ranges (max ${keysPerRead})`);
    const found = keys.length === 0
      ? []
      : await this.#read(keys.map((key: Deno.KvKey) => onlyKey(encodeKey(key))));
    const entries = keys.map((key: Deno.KvKey, at) => {
      const row = found[at]?.[0];
      return row === undefined ? { key, value: null, versionstamp: null } : entryOf(key, row);
    });
    // One entry for each key, in their order; a mapped tuple type cannot be built by `map`.
    return entries as { [Index in keyof Values]: Deno.KvEntryMaybe<Values[Index]> };
  }

  list<Value = unknown>(
    selector: Deno.KvListSelector,
    options: Deno.KvListOptions = {},
  ): RowIterator<Value> {
    return new PagedRows<Value>(selector, options, (...page) => this.#readPage(...page));
  }

  async #readPage<Value>(
    range: KeyRange,
    limit: number,
    reverse: boolean,
  ): Promise<ReadRow<Value>[]> {
    const [rows = noRow] = await this.#read([{ ...range, limit, reverse }]);
    return rows.map((row) => ({
      encodedKey: row.key,
      entry: entryOf<Value>(decodeKey(row.key), row),
    }));
  }

  async #read(reads: readonly RangeRead[]): Promise<readonly (readonly SentRow[])[]> {
    return await this.#follow(async () => {
      const output = decodeReads(await this.#client.call("snapshot_read", encodeReads(reads)));
      if (output !== "moved" && output.length !== reads.length) {
        throw new KvConnectError("The store left ranges out");
      }
      return output;
    });
  }

  /** Repeats a call at the endpoint that is responsible now. */
  async #follow<Output>(call: () => Promise<Output | "moved">): Promise<Output> {
    for (let tries = 0; tries < endpointTries; tries++) {
      if (tries > 0) await this.#client.renew();
      const output = await call();
      if (output !== "moved") return output;
    }
    throw new KvConnectError("No endpoint of the store is responsible");
  }

  async set(
    key: Deno.KvKey,
    value: unknown,
    options?: { expireIn?: number },
  ): Promise<Deno.KvCommitResult> {
    const written = await this.atomic().set(key, value, options).commit();
    if (!written.ok) throw new KvConnectError("A commit without checks failed a check");
    return written;
  }

  async delete(key: Deno.KvKey): Promise<void> {
    await this.atomic().delete(key).commit();
  }

  atomic(): AtomicWrite {
    return new CollectedWrite((commit) => this.#commit(commit), encode);
  }

  async #commit({ checks, writes }: Commit): Promise<CommitResult> {
    const message = encodeWrite(checks, writes, this.#clock.nowMs());
    return await this.#follow(async () =>
      decodeWrite(await this.#client.call("atomic_write", message))
    );
  }

  close(): void {
    this.#client.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
