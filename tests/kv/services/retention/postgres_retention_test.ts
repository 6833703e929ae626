import { systemClock } from "../../../../core/lib/time/clock.ts";
import { openPostgres } from "../../../../kv/engine/postgres/open_postgres.ts";
import { openPostgresArchive } from "../../../../kv/money/archive/postgres_archive.ts";
import { postgresPrograms, startPostgres } from "../../../support/servers/postgres_server.ts";
import { testRetention } from "./retaining.ts";

// The driver's timers outlive a connection by some milliseconds.
const processes = { sanitizeOps: false, sanitizeResources: false };

const programs = await postgresPrograms();

if (programs === undefined) {
  Deno.test({
    name: "PostgreSQL is not installed here: retention on it is not tested",
    ignore: true,
    fn() {},
  });
} else {
  const server = await startPostgres(programs);
  Deno.test.afterAll(async () => await server[Symbol.asyncDispose]());
  testRetention("PostgreSQL", async () => {
    const url = await server.makeDatabase();
    const { kv } = await openPostgres({ url, clock: systemClock, announcedKinds: new Set() });
    const archive = await openPostgresArchive({ url, clock: systemClock });
    return {
      kv,
      archive: {
        archive,
        [Symbol.asyncDispose]: () => archive.close(),
      },
    };
  }, processes);
}
