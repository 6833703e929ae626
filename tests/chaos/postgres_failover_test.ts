/** A primary of PostgreSQL crashes under load, and its synchronous standby takes over. */
import { assert, assertEquals } from "../support/assert.ts";
import { systemClock } from "../../core/lib/time/clock.ts";
import { sleep } from "../../core/lib/time/sleep.ts";
import { openPostgres } from "../../kv/store/postgres/open_postgres.ts";
import type { KeyValueStore } from "../../kv/store/key_value_store.ts";
import { postgresPrograms, startPostgres } from "../support/servers/postgres_server.ts";
import { restartSynchronous } from "../support/servers/synchronous_standby.ts";

const programs = await postgresPrograms();

/** Commits rows one after the other and remembers those that the store confirmed. */
async function commitUntil(
  kv: KeyValueStore,
  writer: number,
  confirmed: Map<string, number>,
  isOver: () => boolean,
): Promise<void> {
  for (let number = 0; !isOver(); number++) {
    try {
      const write = kv.atomic().check({ key: ["receipt", writer, number], versionstamp: null });
      const { ok } = await write.set(["receipt", writer, number], number).commit();
      if (ok) confirmed.set(`${writer}/${number}`, performance.now());
    } catch {
      // The outcome is unknown; only what was confirmed has to be there.
      await sleep(20);
    }
  }
}

Deno.test({
  name: "PostgreSQL fails over to a synchronous standby: nothing that was confirmed is missing",
  ignore: programs === undefined,
  // The driver's timers outlive a connection by some milliseconds.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using primary = await startPostgres(programs ?? "", { synchronous_commit: "on" });
    await using standby = await primary.startStandby();
    const hosts = `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`;
    const url = `postgres://gateway@${hosts}/postgres`;
    const asynchronous = await openPostgres({ url, clock: systemClock, announcedKinds: new Set() });
    await asynchronous.kv.end();
    assertEquals(asynchronous.warnings.length, 1, "a standby that may lag is named at the start");

    await primary.kill();
    const synchronous = await restartSynchronous(primary);
    assert(synchronous, "the standby has become synchronous");
    const { kv, warnings } = await openPostgres({
      url,
      clock: systemClock,
      announcedKinds: new Set(),
    });
    assertEquals(warnings, []);

    const confirmed = new Map<string, number>();
    let isOver = false;
    const writers = Array.from(
      { length: 8 },
      (_, writer) => commitUntil(kv, writer, confirmed, () => isOver),
    );
    await sleep(1_500);
    await primary.kill();
    const crashedAtMs = performance.now();
    await standby.promote();
    // Nobody follows the new primary: it must not wait for a standby.
    await standby.set("synchronous_standby_names", "");
    await sleep(4_000);
    isOver = true;
    await Promise.all(writers);

    const after = [...confirmed.values()].filter((atMs) => atMs > crashedAtMs + 500);
    assert(after.length > 50, `only ${after.length} commits after the fail-over`);
    const rows = new Set<string>();
    for await (const { key } of kv.list({ prefix: ["receipt"] }, { batchSize: 1_000 })) {
      rows.add(`${String(key[1])}/${String(key[2])}`);
    }
    assertEquals([...confirmed.keys()].filter((name) => !rows.has(name)), []);
    await kv.end();
  },
});
