/**
 * The connections to PostgreSQL, and the end of those that lead nowhere.
 *
 * The driver connects again after a broken connection, to the first of several hosts that takes writes. Two cases it
 * leaves to us: a host that went silent without closing its connections, and one that became a standby while we were
 * connected. Both end the pool; the next query opens a new one.
 */
import { Socket } from "node:net";
import { pipeline } from "node:stream/promises";
import postgres from "postgres";
import type { Clock } from "../../../core/lib/time/clock.ts";
import { sleep } from "../../../core/lib/time/sleep.ts";
import { StoreUnavailableError } from "../store/store_unavailable.ts";

/** Connections of one instance. Eight carry 4,000 commits a second; a server has about a hundred for all instances. */
const connectionsDefault = 8;

/** Queries that wait or run. Behind a server that no longer answers the queue must end somewhere. */
const pendingQueriesMax = 20_000;

/** A server that answers nothing for this long while queries wait is taken for gone. */
const silenceMs = 8_000;

/** Milliseconds between two looks at the silence. */
const silenceCheckMs = 1_000;

/** Milliseconds before it is tried again to listen where the server could not be reached. */
const listenAgainMs = 1_000;

/** Seconds that a connection may take to be made: the next host of the list is tried then. */
const connectSeconds = 3;

/** State of a server that takes no writes: SQLSTATE read_only_sql_transaction. */
const readOnlyState = "25006";

export type Row = Readonly<Record<string, unknown>>;

/** Statements of one transaction, on a connection of its own. */
export interface Transaction {
  query(text: string, parameters?: (string | Uint8Array | number | null)[]): Promise<Row[]>;
  /** Runs a `COPY … FROM STDIN` with the bytes of its rows. */
  copyFrom(text: string, bytes: AsyncIterable<Uint8Array>): Promise<void>;
}

export interface PoolOptions {
  /** The address, also with several hosts: `postgres://user:password@one,two:5433/name?sslmode=require`. */
  readonly url: string;
  readonly clock: Clock;
  /** Unless the address says another number. */
  readonly maxConnections?: number;
  /** For connections that copy rows into tables: see {@linkcode promptSocket}. */
  readonly isForCopies?: boolean;
}

/** The type `bytea`, which comes as `\x` and hexadecimal digits. */
const byteaOid = 17;

/** Reads bytes by the engine's own decoder: the driver's goes digit by digit, a seventh of the time of a verification. */
function withBytes(sql: postgres.Sql): postgres.Sql {
  sql.options.parsers[byteaOid] = (text: string) => Uint8Array.fromHex(text.slice(2));
  return sql;
}

/**
 * Connects a socket that sends everything at once. The driver ends a copy with a short message that else waits for the
 * receipt of the rows before it, which the server's side confirms 40 ms later, and the statement behind it waits alike.
 * The driver writes before the connection is made, which the socket keeps.
 */
function promptSocket({ host: [host], port: [port] }: { host: string[]; port: number[] }): Socket {
  const socket = new Socket();
  socket.setNoDelay(true);
  socket.connect(port ?? 0, host ?? "");
  // For the name in the certificate of the server.
  return Object.assign(socket, { host, port });
}

/** @returns the SQLSTATE of an error that the server reported */
export function stateOf(error: unknown): string | undefined {
  return error instanceof postgres.PostgresError ? error.code : undefined;
}

/** Whether the address lets the driver keep prepared statements. */
function mayPrepare(url: string): boolean {
  return !/[?&]prepare=false\b/.test(url);
}

/** Runs queries over a bounded number of connections. */
export class Pool {
  readonly #options: PoolOptions;
  readonly #watch: ReturnType<typeof setInterval>;
  #sql: postgres.Sql;
  #isPooled = true;
  #pending = 0;
  #answeredAtMs: number;
  #isClosed = false;
  /** Resolves when the driver's pool is replaced, or closed. */
  #replaced: Promise<void>;
  #onReplaced: () => void;

  private constructor(options: PoolOptions) {
    this.#options = options;
    this.#sql = this.#connect();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#replaced = promise;
    this.#onReplaced = resolve;
    this.#answeredAtMs = options.clock.monotonicMs();
    this.#watch = setInterval(() => this.#endIfSilent(), silenceCheckMs);
    Deno.unrefTimer(Number(this.#watch));
  }

  /** Opens the connections and finds out what they lead to. */
  static async open(options: PoolOptions): Promise<Pool> {
    const pool = new Pool(options);
    try {
      pool.#isPooled = await pool.#findPooler();
      return pool;
    } catch (error) {
      await pool.end();
      throw error;
    }
  }

  /**
   * Whether a pooler such as PgBouncer stands before the server. It may give each transaction another connection to the
   * server, so nothing that belongs to a connection may be used: named statements answer with the rows of another
   * query there, and notices do not arrive.
   */
  get isPooled(): boolean {
    return this.#isPooled;
  }

  /** A pooler makes up the process id that a server sends at the begin of a connection. */
  async #findPooler(): Promise<boolean> {
    const rows = await this.#sql.unsafe("select pg_backend_pid() as pid");
    return rows[0]?.["pid"] !== rows.state.pid;
  }

  #connect(): postgres.Sql {
    const { url, maxConnections = connectionsDefault, isForCopies = false } = this.#options;
    const settings = {
      ...(/[?&]max=\d/.test(url) ? {} : { max: maxConnections }),
      prepare: mayPrepare(url),
      fetch_types: false,
      connect_timeout: connectSeconds,
      backoff: (tries: number) => Math.min(0.05 * 2 ** tries, 1),
      // A standby counts as "read-write" for this driver: what it asks of the server is only the default of transactions.
      target_session_attrs: "primary" as const,
      connection: { application_name: "model-gateway" },
      // What the server remarks, such as that a table is already there, is no concern of an operator.
      onnotice: () => {},
    };
    const sql = withBytes(postgres(url, settings));
    // Among several hosts only the driver's own sockets choose, and none of them has connected yet.
    const mayHaveSocket = isForCopies && sql.options.host.length === 1 && !sql.options.path;
    if (!mayHaveSocket) return sql;
    return withBytes(postgres(url, { ...settings, ...{ socket: promptSocket } }));
  }

  /**
   * Runs one statement.
   *
   * @throws {postgres.PostgresError} if the server refuses it
   * @throws {Error} if its outcome is unknown since the connection broke
   */
  async query(text: string, parameters: (string | Uint8Array | number | null)[]): Promise<Row[]> {
    if (this.#pending >= pendingQueriesMax) {
      throw new StoreUnavailableError("overloaded");
    }
    if (this.#pending === 0) this.#answeredAtMs = this.#options.clock.monotonicMs();
    this.#pending++;
    const sql = this.#sql;
    try {
      return await sql.unsafe(text, parameters, { prepare: !this.#isPooled });
    } catch (error) {
      if (stateOf(error) === readOnlyState) this.#replace(sql);
      throw error;
    } finally {
      this.#pending--;
      this.#answeredAtMs = this.#options.clock.monotonicMs();
    }
  }

  /** Runs several statements, which hold no values of a caller. */
  async script(text: string): Promise<void> {
    const sql = await this.#sql.reserve();
    try {
      await sql.unsafe(text).simple();
    } catch (error) {
      await sql.unsafe("rollback").simple();
      throw error;
    } finally {
      sql.release();
    }
  }

  /**
   * Runs statements one after the other on one connection, each by itself, however long they take. They hold no values
   * of a caller.
   *
   * @param lockTimeout how long each may wait for locks, such as `10s`
   */
  async apart(texts: readonly string[], lockTimeout: string): Promise<void> {
    const sql = await this.#sql.reserve();
    try {
      await sql.unsafe(`set lock_timeout = '${lockTimeout}'`).simple();
      for (const text of texts) await sql.unsafe(text).simple();
    } finally {
      await sql.unsafe("reset lock_timeout").simple().catch(() => {});
      sql.release();
    }
  }

  /**
   * Runs a transaction, which is rolled back unless `act` returns true.
   *
   * @throws what `act` throws, or an error of the driver if it is not known whether the transaction took effect
   */
  async transaction(act: (transaction: Transaction) => Promise<boolean>): Promise<boolean> {
    const sql = await this.#sql.reserve();
    try {
      await sql.unsafe("begin").simple();
      const isDone = await act({
        query: async (text, parameters = []) => await sql.unsafe(text, parameters),
        copyFrom: async (text, bytes) => {
          const rows = await sql.unsafe(text).writable();
          await pipeline(bytes, rows);
        },
      });
      await sql.unsafe(isDone ? "commit" : "rollback").simple();
      return isDone;
    } catch (error) {
      await sql.unsafe("rollback").simple().catch(() => {});
      throw error;
    } finally {
      sql.release();
    }
  }

  /** Reads the rows of queries, one after the other, as of one moment, a page at a time. They hold no values of a caller. */
  async *readSnapshot(texts: readonly string[], pageRows: number): AsyncGenerator<Row[]> {
    const sql = await this.#sql.reserve();
    try {
      await sql.unsafe("begin isolation level repeatable read read only").simple();
      for (const text of texts) {
        await sql.unsafe(`declare snapshot_rows no scroll cursor for ${text}`).simple();
        for (;;) {
          const rows = await sql.unsafe(`fetch ${pageRows} from snapshot_rows`);
          if (rows.length === 0) break;
          yield rows;
        }
        await sql.unsafe("close snapshot_rows").simple();
      }
    } finally {
      await sql.unsafe("rollback").simple().catch(() => {});
      sql.release();
    }
  }

  /**
   * Calls back with what `pg_notify` sends on a channel, on a connection of its own, and with `onListening` whenever
   * that was made: notices before it are lost. Returns a function that ends it.
   */
  listen(
    channel: string,
    onPayload: (payload: string) => void,
    onListening: () => void,
  ): () => Promise<void> {
    let isOver = false;
    const listenOn = async (): Promise<void> => {
      while (!isOver && !this.#isClosed) {
        const sql = this.#sql;
        try {
          await sql.listen(channel, onPayload, onListening);
          // The driver connects again by itself, until the pool is replaced.
          await this.#replaced;
        } catch {
          await sleep(listenAgainMs);
        }
      }
    };
    const listening = listenOn();
    return async () => {
      isOver = true;
      await Promise.race([listening, Promise.resolve()]);
    };
  }

  #endIfSilent(): void {
    if (this.#pending === 0) return;
    if (this.#options.clock.monotonicMs() - this.#answeredAtMs < silenceMs) return;
    this.#replace(this.#sql);
  }

  #replace(sql: postgres.Sql): void {
    if (this.#isClosed || sql !== this.#sql) return;
    this.#sql = this.#connect();
    this.#onReplaced();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#replaced = promise;
    this.#onReplaced = resolve;
    this.#answeredAtMs = this.#options.clock.monotonicMs();
    void sql.end({ timeout: 0 }).catch(() => {});
  }

  /** Ends all connections; queries under way reject. */
  async end(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#watch);
    this.#onReplaced();
    await this.#sql.end({ timeout: 0 });
  }
}
