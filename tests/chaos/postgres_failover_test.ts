/** A primary of PostgreSQL crashes under load, and its synchronous standby takes over. */
import { assert, assertEquals } from "../support/assert.ts";
import { systemClock } from "../../core/lib/time/clock.ts";
import { sleep } from "../../core/lib/time/sleep.ts";
import { openPostgres } from "../../kv/engine/postgres/open_postgres.ts";
import type { KeyValueStore } from "../../kv/engine/store/key_value_store.ts";
import { postgresPrograms, startPostgres } from "../support/servers/postgres_server.ts";
import { restartSynchronous } from "../support/servers/synchronous_standby.ts";
import { until } from "../support/until.ts";

const programs = await postgresPrograms();

/** Commits on each side of the crash: enough for it to hit some of them, and to show that all writers go on. */
const commitsOfPhase = 200;

type Phase = "before the crash" | "during the fail-over" | "after it";

/** Commits rows one after the other and remembers in which phase each began that the store confirmed. */
async function commitUntil(
  kv: KeyValueStore,
  writer: number,
  confirmed: Map<string, Phase>,
  phase: () => Phase,
  isOver: () => boolean,
): Promise<void> {
  for (let number = 0; !isOver(); number++) {
    const begunIn = phase();
    try {
      const write = kv.atomic().check({ key: ["receipt", writer, number], versionstamp: null });
      const { ok } = await write.set(["receipt", writer, number], number).commit();
      if (ok) confirmed.set(`${writer}/${number}`, begunIn);
    } catch {
      // The outcome is unknown; only what was confirmed has to be there. The pause leaves the processor to the servers.
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

    const confirmed = new Map<string, Phase>();
    let phase: Phase = "before the crash";
    let isOver = false;
    const writers = Array.from(
      { length: 8 },
      (_, writer) => commitUntil(kv, writer, confirmed, () => phase, () => isOver),
    );
    const commits = (of: Phase) => [...confirmed.values()].filter((begunIn) => begunIn === of);
    await until(() => confirmed.size > commitsOfPhase, "the primary confirms commits");
    phase = "during the fail-over";
    await primary.kill();
    await standby.promote();
    // Nobody follows the new primary: it must not wait for a standby.
    await standby.set("synchronous_standby_names", "");
    phase = "after it";
    await until(
      () => commits("after it").length > commitsOfPhase,
      "the new primary confirms commits",
    );
    isOver = true;
    await Promise.all(writers);

    const rows = new Set<string>();
    for await (const { key } of kv.list({ prefix: ["receipt"] }, { batchSize: 1_000 })) {
      rows.add(`${String(key[1])}/${String(key[2])}`);
    }
    assertEquals([...confirmed.keys()].filter((name) => !rows.has(name)), []);
    await kv.end();
  },
});
