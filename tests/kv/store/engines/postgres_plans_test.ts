/** The plans of all statements of the engine on a large table: each finds its rows by an index. */
import postgres from "postgres";
import { systemClock } from "../../../../core/lib/time/clock.ts";
import { sweepExpired, sweepLock } from "../../../../kv/engine/postgres/postgres_store.ts";
import { openPostgres } from "../../../../kv/engine/postgres/open_postgres.ts";
import { Pool } from "../../../../kv/engine/postgres/pool.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { postgresPrograms, startPostgres } from "../../../support/servers/postgres_server.ts";

const programs = await postgresPrograms();

/** Rows of a table that is read in no other way than by an index, where the planner is sound. */
const tableRows = 100_000;

/** The server writes the plan of each statement into its log, those inside of functions included. */
const explained = {
  "session_preload_libraries": "auto_explain",
  "auto_explain.log_min_duration": "0",
  "auto_explain.log_nested_statements": "on",
};

/** The driver's timers outlive a connection by some milliseconds. */
const processes = { sanitizeOps: false, sanitizeResources: false };

/** Lines of plans that read more of the table than they give: a scan of it all, or rows of the key's index dropped. */
function costlyLines(log: string): string[] {
  const plans = log.split(/^.*duration: [\d.]+ ms {2}plan:/mu).slice(1);
  return plans.flatMap((plan) => {
    const lines = plan.split("\n");
    return lines.filter((line, i) => {
      if (/Seq Scan on gateway_kv\b/u.test(line)) return true;
      if (!/Index Scan using gateway_kv_pkey\b/u.test(line)) return false;
      const next = lines[i + 1] ?? "";
      return !next.includes("Index Cond");
    });
  });
}

if (programs === undefined) {
  Deno.test.ignore("PostgreSQL is not installed: plans of its statements", () => {});
} else {
  Deno.test("every statement of the engine finds its rows by an index", processes, async () => {
    await using server = await startPostgres(programs, explained);
    const url = await server.makeDatabase();
    const options = { url, clock: systemClock, announcedKinds: new Set<string>() };
    const { kv } = await openPostgres(options);
    const pool = await Pool.open({ url, clock: systemClock });
    try {
      await pool.query(
        `insert into gateway_kv (key, value, version, expires_at)
        select int8send(i), '', i,
          case when i % 2 = 0 then now() - interval '1 hour' + i * interval '1 microsecond' end
        from generate_series(1, ${tableRows}) as i`,
        [],
      );
      await pool.query("analyze gateway_kv", []);
      const before = (await server.log()).length;
      await kv.set(["a"], 1);
      await kv.get(["a"]);
      await kv.getMany([["a"], ["b"]]);
      for (const reverse of [false, true]) {
        await Array.fromAsync(kv.list({ prefix: ["a"] }, { limit: 10, reverse }));
      }
      const absent = { key: ["b"], versionstamp: null };
      assert((await kv.atomic().check(absent).set(["b"], 1).delete(["a"]).commit()).ok);
      assert((await sweepExpired(pool)) > 0);
      const log = (await server.log()).slice(before);
      const statements = log.match(/^.*duration: /gmu)?.length ?? 0;
      assert(statements > 10, `${statements} plans`);
      assertEquals(costlyLines(log), []);
    } finally {
      await kv.end();
      await pool.end();
    }
  });

  Deno.test("one instance sweeps at a time", processes, async () => {
    await using server = await startPostgres(programs);
    const url = await server.makeDatabase();
    const { kv } = await openPostgres({ url, clock: systemClock, announcedKinds: new Set() });
    const pool = await Pool.open({ url, clock: systemClock });
    const other = postgres(url, { max: 1 });
    try {
      await pool.query(
        `insert into gateway_kv (key, value, version, expires_at)
        select int4send(i), '', 1, now() - interval '1 hour' from generate_series(1, 10) as i`,
        [],
      );
      await other.begin(async (transaction) => {
        await transaction`select pg_advisory_xact_lock(${sweepLock})`;
        assertEquals(await sweepExpired(pool), 0);
      });
      assertEquals(await sweepExpired(pool), 10);
    } finally {
      await kv.end();
      await pool.end();
      await other.end();
    }
  });
}
