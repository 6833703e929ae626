/**
 * Collects the rows that the engine's own writers make, and copies them into a store on PostgreSQL: a commit for each
 * few sums would take most of the time of a store that is only filled. What is written is what commits would leave.
 */
import { systemClock } from "../../core/lib/time/clock.ts";
import { sleep } from "../../core/lib/time/sleep.ts";
import { CollectedWrite, type RowWrite } from "../../kv/engine/parts/collected_write.ts";
import { versionstampOf } from "../../kv/engine/parts/tuple_key.ts";
import { Pool } from "../../kv/engine/postgres/pool.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";

/** Commits that are collected without a pause. */
const commitsAtOnce = 50;

/** Characters that are sent at once. */
const partChars = 262_144;

const copyRows = "copy gateway_kv (key, value, version, expires_at) from stdin";

function refuse(): never {
  throw new Error("rows that are collected are only written");
}

/** Collects rows that the store does not have yet. */
export class FilledRows implements AsyncDisposable {
  readonly #pool: Pool;
  #rows = new Map<string, RowWrite>();
  #commits = 0;

  private constructor(pool: Pool) {
    this.#pool = pool;
  }

  static async of(url: string): Promise<FilledRows> {
    const options = { url, clock: systemClock, maxConnections: 1, isForCopies: true };
    return new FilledRows(await Pool.open(options));
  }

  /** Store as writers see it: one that has no rows, and takes all. */
  readonly kv: KeyValueStore = {
    get: refuse,
    getMany<Values extends readonly unknown[]>(
      keys: readonly [...{ [Index in keyof Values]: Deno.KvKey }],
    ) {
      const absent = keys.map((key: Deno.KvKey) => ({ key, value: null, versionstamp: null }));
      // One entry for each key, in their order; a mapped tuple type cannot be built by `map`.
      return Promise.resolve(
        absent as unknown as { [Index in keyof Values]: Deno.KvEntryMaybe<Values[Index]> },
      );
    },
    list: refuse,
    set: refuse,
    delete: refuse,
    atomic: () =>
      new CollectedWrite(async ({ writes }) => {
        for (const write of writes) this.#rows.set(write.key.toHex(), write);
        // Timers of the store, such as deadlines, would be late for seconds otherwise.
        if (++this.#commits % commitsAtOnce === 0) await sleep(0);
        return { ok: true, versionstamp: versionstampOf(1n) };
      }),
    close: refuse,
    [Symbol.dispose]: refuse,
  };

  /** Writes what was collected. */
  async flush(): Promise<void> {
    const rows = [...this.#rows].sort(([one], [other]) => one < other ? -1 : 1);
    this.#rows = new Map();
    const [next] = await this.#pool.query("select nextval('gateway_kv_version') as version", []);
    const version = String(next?.["version"]);
    await this.#pool.transaction(async ({ copyFrom }) => {
      await copyFrom(copyRows, linesOf(rows, version));
      return true;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end();
  }
}

/** The rows in the text format of `COPY`. */
async function* linesOf(
  rows: readonly (readonly [hex: string, row: RowWrite])[],
  version: string,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  const nowMs = Date.now();
  let text = "";
  for (const [key, { value, lifeMs }] of rows) {
    if (value === null) continue;
    const expires = lifeMs === null ? "\\N" : new Date(nowMs + lifeMs).toISOString();
    text += `\\\\x${key}\t\\\\x${value.toHex()}\t${version}\t${expires}\n`;
    if (text.length < partChars) continue;
    yield encoder.encode(text);
    text = "";
  }
  yield encoder.encode(text);
}
