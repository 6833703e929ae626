import { assert, assertEquals } from "../../../support/assert.ts";
import { systemClock } from "../../../../core/lib/time/clock.ts";
import { vietnamDayStartMs } from "../../../../core/lib/time/vietnam_time.ts";
import { PostgresArchive } from "../../../../kv/money/archive/postgres_archive.ts";
import { Pool } from "../../../../kv/engine/postgres/pool.ts";
import { postgresPrograms, startPostgres } from "../../../support/servers/postgres_server.ts";
import { testDropping } from "./dropping.ts";
import { type TestArchive, testMoving } from "./moving.ts";

// The driver's timers outlive a connection by some milliseconds.
const processes = { sanitizeOps: false, sanitizeResources: false };

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
  testMoving("PostgreSQL", open, processes);
  testDropping("PostgreSQL", open, processes);

  Deno.test(
    "PostgreSQL: a report that stays open holds up neither a new month nor its readers",
    processes,
    async () => {
      const url = await server.makeDatabase();
      // What would wait for the report fails.
      const archive = await PostgresArchive.open({
        url: `${url}?lock_timeout=5s`,
        clock: systemClock,
      });
      const reports = await Pool.open({ url, clock: systemClock });
      const startMs = vietnamDayStartMs("2026-11-01");
      const mark = { startMs, pages: 0, receipts: 0, chargedMicroVnd: 0n, digest: "d" };
      await reports.transaction(async ({ query }) => {
        await query("select count(*) from receipts_v1");
        const calls = (async function* () {})();
        assert(
          await archive.writeHour({ startMs, digest: "d", calls, mark: () => mark }),
          "it is there",
        );
        assertEquals((await archive.months()).map(({ month }) => month), ["2026-11"]);
        const range = { fromMs: 0, toMs: startMs + 1, limit: 1, reverse: false };
        assertEquals(await archive.callsBetween(range), []);
        return true;
      });
      await reports.end();
      await archive.close();
    },
  );
}
