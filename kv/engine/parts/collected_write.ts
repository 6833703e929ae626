/** Collects the checks and writes of one commit, within the bounds that Deno KV has. */
import { kindOfKey } from "../schema/keys.ts";
import type { AtomicWrite } from "../store/key_value_store.ts";
import { encodeKey, encodeValue, versionOf } from "./tuple_key.ts";

/** The bounds of Deno KV, kept on every engine: what one takes, all take. */
const checksMax = 100;
const mutationsMax = 1_000;
const mutationBytesMax = 819_200;

/** A row to write; `null` deletes it. */
export interface RowWrite {
  readonly key: Uint8Array;
  readonly value: Uint8Array | null;
  /** The value was binary as a whole, which some engines keep as it is. */
  readonly isBinary: boolean;
  readonly lifeMs: number | null;
}

/** A row that must have a version; 0 stands for absent. */
export interface RowCheck {
  readonly key: Uint8Array;
  readonly version: bigint;
}

/** One commit, ready to be sent. */
export interface Commit {
  readonly checks: readonly RowCheck[];
  /** Each key once: the last write of it. */
  readonly writes: readonly RowWrite[];
  /** The first parts of the keys that are written. */
  readonly kinds: ReadonlySet<string>;
}

export type CommitResult = Deno.KvCommitResult | Deno.KvCommitError;

function lifeOf(options: { expireIn?: number } | undefined): number | null {
  const lifeMs = options?.expireIn;
  if (lifeMs === undefined) return null;
  if (!Number.isInteger(lifeMs) || lifeMs < 0) {
    throw new TypeError("expireIn must be a non-negative integer");
  }
  return lifeMs;
}

function keyOfRow(key: Deno.KvKey): Uint8Array {
  if (key.length === 0) throw new TypeError("key cannot be empty");
  return encodeKey(key);
}

/** An {@linkcode AtomicWrite} that hands its commit to a function. */
export class CollectedWrite implements AtomicWrite {
  readonly #commit: (commit: Commit) => Promise<CommitResult>;
  readonly #checks: RowCheck[] = [];
  readonly #writes = new Map<string, RowWrite>();
  readonly #kinds = new Set<string>();
  #mutations = 0;
  #bytes = 0;
  readonly #encode: (value: unknown) => Uint8Array;

  constructor(
    commit: (commit: Commit) => Promise<CommitResult>,
    encode: (value: unknown) => Uint8Array = encodeValue,
  ) {
    this.#commit = commit;
    this.#encode = encode;
  }

  check(...checks: Deno.AtomicCheck[]): this {
    for (const { key, versionstamp } of checks) {
      if (this.#checks.length >= checksMax) {
        throw new TypeError(`Too many checks (max ${checksMax})`);
      }
      const version = versionstamp === null ? 0n : versionOf(versionstamp);
      this.#checks.push({ key: keyOfRow(key), version });
    }
    return this;
  }

  set(key: Deno.KvKey, value: unknown, options?: { expireIn?: number }): this {
    return this.#write(key, this.#encode(value), {
      isBinary: value instanceof Uint8Array,
      lifeMs: lifeOf(options),
    });
  }

  delete(key: Deno.KvKey): this {
    return this.#write(key, null, { isBinary: false, lifeMs: null });
  }

  #write(
    key: Deno.KvKey,
    value: Uint8Array | null,
    traits: Pick<RowWrite, "isBinary" | "lifeMs">,
  ): this {
    const encoded = keyOfRow(key);
    this.#bytes += encoded.length + (value?.length ?? 0);
    if (++this.#mutations > mutationsMax) {
      throw new TypeError(`Too many mutations (max ${mutationsMax})`);
    }
    if (this.#bytes > mutationBytesMax) {
      throw new TypeError(`Total mutation size too large (max ${mutationBytesMax} bytes)`);
    }
    this.#writes.set(encoded.toHex(), { key: encoded, value, ...traits });
    this.#kinds.add(kindOfKey(key));
    return this;
  }

  commit(): Promise<CommitResult> {
    return this.#commit({
      checks: this.#checks,
      writes: [...this.#writes.values()],
      kinds: this.#kinds,
    });
  }
}
