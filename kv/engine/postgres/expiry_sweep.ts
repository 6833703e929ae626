/**
 * Deletes rows that have expired. Reads leave them out in any case, so a sweep only frees their space. Every instance
 * tries each minute; one at a time sweeps, by a lock that ends with its statement.
 */
import type { Pool } from "./pool.ts";

/** Pause between two sweeps of an instance. */
const sweepEveryMs = 60_000;

/** Rows of one statement: it holds their locks for a few milliseconds. */
const sweepRows = 500;

/** Statements of one sweep, so that a backlog is worked off over several without keeping others waiting. */
const maxStatements = 20;

/** The advisory lock of the sweep: "gateway sweep" in no other program's numbers. */
export const sweepLock = 7_306_915_113;

/**
 * A row that just expired is left alone: a commit may be about to write it again. `now()` is the same throughout the
 * statement, so that the index on `expires_at` serves the comparison; with `clock_timestamp()` the planner reads the
 * whole table in the order of its keys.
 */
const deleteExpired = `
  with turn as materialized (
    select pg_try_advisory_xact_lock(${sweepLock}) as is_ours
  ), expired as (
    select key from gateway_kv
    where expires_at < now() - interval '1 second' and (select is_ours from turn)
    order by expires_at limit ${sweepRows} for update skip locked
  ), gone as (
    delete from gateway_kv where key in (select key from expired) returning 1
  )
  select count(*)::int as count from gone`;

/**
 * Deletes expired rows, a bounded number.
 *
 * @returns how many were deleted
 */
export async function sweepExpired(pool: Pool): Promise<number> {
  let deleted = 0;
  for (let statement = 0; statement < maxStatements; statement++) {
    const [row] = await pool.query(deleteExpired, []);
    const count = Number(row?.["count"]);
    deleted += count;
    if (count < sweepRows) break;
  }
  return deleted;
}

/** Sweeps every minute until it is disposed of. A sweep that fails is made up for by the next one. */
export class ExpirySweep implements Disposable {
  readonly #timer: ReturnType<typeof setInterval>;
  #isSweeping = false;

  constructor(pool: Pool) {
    this.#timer = setInterval(() => void this.#sweep(pool), sweepEveryMs);
    Deno.unrefTimer(Number(this.#timer));
  }

  async #sweep(pool: Pool): Promise<void> {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    try {
      await sweepExpired(pool);
    } catch {
      // The store is away; reads say so where it matters.
    } finally {
      this.#isSweeping = false;
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
