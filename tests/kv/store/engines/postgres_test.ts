import { systemClock } from "../../../../core/lib/time/clock.ts";
import { openPostgres } from "../../../../kv/engine/postgres/open_postgres.ts";
import { postgresPrograms, startPostgres } from "../../../support/servers/postgres_server.ts";
import { testEngine, testExpiry } from "./conformance.ts";

const programs = await postgresPrograms();

if (programs === undefined) {
  Deno.test({
    name: "PostgreSQL is not installed here: its engine is not tested",
    ignore: true,
    fn() {},
  });
} else {
  const server = await startPostgres(programs);
  Deno.test.afterAll(async () => await server[Symbol.asyncDispose]());
  const open = async () => {
    const url = await server.makeDatabase();
    const opened = await Promise.all(
      [1, 2, 3].map(() => openPostgres({ url, clock: systemClock, announcedKinds: new Set() })),
    );
    const clients = opened.map(({ kv }) => kv);
    return {
      clients,
      async [Symbol.asyncDispose]() {
        for (const kv of clients) await kv.end();
      },
    };
  };
  // The driver's timers outlive a connection by some milliseconds.
  const processes = { sanitizeOps: false, sanitizeResources: false };
  testEngine("PostgreSQL", open, processes);
  testExpiry("PostgreSQL", 60_000, open, processes);
}
