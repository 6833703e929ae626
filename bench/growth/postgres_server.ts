/** Use of this machine by a PostgreSQL server as the store of a benchmark: CPU time, and room on the disk. */
import { systemClock } from "../../core/lib/time/clock.ts";
import { Pool } from "../../kv/engine/postgres/pool.ts";
import { cpuMicros } from "../process_stats.ts";

/** The fields behind the name in `/proc/PID/stat`; see proc(5). */
function statFields(pid: number): string[] {
  return Deno.readTextFileSync(`/proc/${pid}/stat`).split(") ").at(-1)?.split(" ") ?? [];
}

/** A server, by its first process. */
export class PostgresServer {
  readonly #pid: number;
  readonly #pool: Pool;

  private constructor(pid: number, pool: Pool) {
    this.#pid = pid;
    this.#pool = pool;
  }

  static async of(url: string): Promise<PostgresServer> {
    const pool = await Pool.open({ url, clock: systemClock, maxConnections: 1 });
    const [row] = await pool.query("select pg_backend_pid() as pid", []);
    return new PostgresServer(Number(statFields(Number(row?.["pid"]))[1]), pool);
  }

  /** User and system time of its processes so far, in µs. Those that have ended count once they are waited for. */
  cpuMicros(): number {
    const children = Deno.readTextFileSync(`/proc/${this.#pid}/task/${this.#pid}/children`);
    const [, , , , , , , , , , , , , endedUser, endedSystem] = statFields(this.#pid);
    let sum = cpuMicros(this.#pid) + (Number(endedUser) + Number(endedSystem)) * 10_000;
    for (const child of children.trim().split(" ")) sum += cpuMicros(Number(child));
    return sum;
  }

  /** Gives the room of deleted rows back to the tables, as autovacuum has done by the morning. */
  async vacuum(): Promise<void> {
    await this.#pool.query("vacuum", []);
  }

  /** Bytes of the tables of store and archive with their indexes. */
  async bytes(): Promise<{ readonly store: number; readonly archive: number }> {
    const [row] = await this.#pool.query(
      `select pg_total_relation_size('gateway_kv')::float8 as store,
        (select sum(pg_total_relation_size(oid))::float8 from pg_class
          where relname like 'archive\\_%' and relkind = 'r') as archive`,
      [],
    );
    return { store: Number(row?.["store"]), archive: Number(row?.["archive"]) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end();
  }
}
