import { systemClock } from "../../../../core/lib/time/clock.ts";
import { PostgresArchive } from "../../../../kv/money/archive/postgres_archive.ts";
import { Pool } from "../../../../kv/engine/postgres/pool.ts";
import { postgresPrograms, startPostgres } from "../../../support/servers/postgres_server.ts";
import { testDropping } from "./dropping.ts";
import { type TestArchive, testMoving } from "./moving.ts";

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
  const open = async (): Promise<TestArchive> => {
    const url = await server.makeDatabase();
    const archive = await PostgresArchive.open({ url, clock: systemClock });
    return {
      archive,
      async change(sql) {
        const pool = await Pool.open({ url, clock: systemClock });
        await pool.query(sql.replace(/update /, "update archive_"), []);
        await pool.end();
      },
      [Symbol.asyncDispose]: () => archive.close(),
    };
  };
  // The driver's timers outlive a connection by some milliseconds.
  const processes = { sanitizeOps: false, sanitizeResources: false };
  testMoving("PostgreSQL", open, processes);
  testDropping("PostgreSQL", open, processes);
}
