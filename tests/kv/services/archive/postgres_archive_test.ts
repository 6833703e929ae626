import { systemClock } from "../../../../core/lib/time/clock.ts";
import { PostgresArchive } from "../../../../kv/money/archive/postgres_archive.ts";
import { Pool } from "../../../../kv/engine/postgres/pool.ts";
import { postgresPrograms, startPostgres } from "../../../support/servers/postgres_server.ts";
import { testMoving } from "./moving.ts";

const programs = await postgresPrograms();

if (programs === undefined) {
  Deno.test({
    name: "PostgreSQL is not installed here: its archive is not tested",
    ignore: true,
    fn() {},
  });
} else {
  const server = await startPostgres(programs);
  Deno.test.afterAll(async () => await server[Symbol.asyncDispose]());
  // The driver's timers outlive a connection by some milliseconds.
  testMoving("PostgreSQL", async () => {
    const url = await server.makeDatabase();
    const archive = await PostgresArchive.open({ url, clock: systemClock });
    return {
      archive,
      async change(sql) {
        const pool = await Pool.open({ url, clock: systemClock });
        await pool.query(sql.replace("receipts", "archive_receipts"), []);
        await pool.end();
      },
      [Symbol.asyncDispose]: () => archive.close(),
    };
  }, { sanitizeOps: false, sanitizeResources: false });
}
