/** A primary whose commits wait for its standby, so that a fail-over loses none that was confirmed. */
import { sleep } from "../../../core/lib/time/sleep.ts";
import type { PostgresServer } from "./postgres_server.ts";

/** Starts a primary again so that each commit waits for its standby; `true` once it does. */
export async function restartSynchronous(server: PostgresServer): Promise<boolean> {
  await server.start();
  await server.set("synchronous_standby_names", "*");
  for (let tries = 0; tries < 100; tries++) {
    const states = await server.query("select sync_state from pg_stat_replication");
    if (states.includes("sync")) return true;
    await sleep(100);
  }
  return false;
}
